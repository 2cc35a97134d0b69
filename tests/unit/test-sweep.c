/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of include/qemu/sweep.h and bitmap.h, one per promise.
 *
 * The oracle is the definition, bit by bit. Source and destination lie in
 * buffers with random bits around the ranges, which must come out unchanged.
 * The seed is glib's (printed by the harness; --seed repeats a run).
 */
#include "qemu/osdep.h"

#include <sched.h>
#include <sys/mman.h>

#include "qemu/error.h"
#include "qemu/sweep.h"
#include "qemu/thread.h"
#include "qemu/tsan.h"

#define WORDS 40

static const SweepVariant *variants; /* all of this host */
static size_t nr_variants;

static uint64_t random_word(void)
{
    return (uint64_t)(uint32_t)g_test_rand_int() << 32 |
           (uint32_t)g_test_rand_int();
}

/* Words with about @density / 8 of their bits set; 0 and 8 are exact. */
static void fill_random(uint64_t *map, unsigned density)
{
    for (int i = 0; i < WORDS; i++) {
        switch (density) {
        case 0:
            map[i] = 0;
            break;
        case 1: /* sparse: most words are zero */
            map[i] = g_test_rand_int_range(0, 12)
                         ? 0
                         : UINT64_C(1) << g_test_rand_int_range(0, 64);
            break;
        case 8:
            map[i] = ~UINT64_C(0);
            break;
        default:
            map[i] = random_word();
            if (density < 4) {
                map[i] &= random_word();
            }
        }
    }
}

static uint64_t oracle(uint64_t *dest, uint64_t dest_first, uint64_t *src,
                       uint64_t src_first, uint64_t nbits, unsigned flags,
                       uint64_t *moved)
{
    uint64_t nr_new = 0, nr_moved = 0;

    for (uint64_t i = 0; i < nbits; i++) {
        if (!test_bit(src_first + i, src)) {
            continue;
        }
        nr_moved++;
        if (!(flags & SWEEP_SRC_KEEP)) {
            clear_bit(src_first + i, src);
        }
        if (dest && !test_and_set_bit(dest_first + i, dest)) {
            nr_new++;
        }
    }
    *moved = nr_moved;
    return dest ? nr_new : nr_moved;
}

static void check_one(uint64_t dest_first, uint64_t src_first, uint64_t nbits,
                      unsigned density, unsigned flags, bool with_dest)
{
    uint64_t src[WORDS], dest[WORDS], src_want[WORDS], dest_want[WORDS];
    uint64_t src_got[WORDS], dest_got[WORDS];
    uint64_t want, want_moved, got, got_moved;

    fill_random(src, density);
    fill_random(dest, g_test_rand_int_range(0, 9));
    memcpy(src_want, src, sizeof(src));
    memcpy(dest_want, dest, sizeof(dest));
    want = oracle(with_dest ? dest_want : NULL, dest_first, src_want, src_first,
                  nbits, flags, &want_moved);

    for (size_t v = 0; v < nr_variants; v++) {
        memcpy(src_got, src, sizeof(src));
        memcpy(dest_got, dest, sizeof(dest));
        got_moved = 12345;
        got = variants[v].func(with_dest ? dest_got : NULL, dest_first, src_got,
                               src_first, nbits, flags, &got_moved);
        g_assert_cmpuint(got, ==, want);
        g_assert_cmpuint(got_moved, ==, want_moved);
        g_assert_cmpmem(src_got, sizeof(src), src_want, sizeof(src));
        g_assert_cmpmem(dest_got, sizeof(dest), dest_want, sizeof(dest));
    }
}

static const unsigned densities[] = { 0, 1, 3, 5, 8 };

/* All 64 x 64 pairs of phases, several lengths and densities each. */
static void test_all_phases(void)
{
    static const unsigned lengths[] = { 1,   2,   63,  64,  65,   127,
                                        128, 129, 191, 640, 1000, 2000 };

    for (unsigned sp = 0; sp < 64; sp++) {
        for (unsigned dp = 0; dp < 64; dp++) {
            for (size_t l = 0; l < ARRAY_SIZE(lengths); l++) {
                unsigned n = sp * 64 + dp + l;

                check_one(64 + dp, 128 + sp, lengths[l],
                          densities[n % ARRAY_SIZE(densities)], n % 8, true);
            }
        }
    }
}

/* All lengths 0..1300, random phases, all densities and flags. */
static void test_all_lengths(void)
{
    for (unsigned n = 0; n < 1300; n++) {
        for (size_t d = 0; d < ARRAY_SIZE(densities); d++) {
            for (unsigned flags = 0; flags < 8; flags++) {
                check_one(g_test_rand_int_range(0, 640),
                          g_test_rand_int_range(0, 640), n, densities[d], flags,
                          flags != 3);
            }
        }
    }
}

/* From bit 0, and to the very last bit: no word outside is touched (ASAN). */
static void test_edges(void)
{
    for (unsigned n = 1; n <= 130; n++) {
        for (unsigned sp = 0; sp < 64; sp += 7) {
            uint64_t *src = bitmap_new(sp + n), *dest = bitmap_new(n);

            bitmap_set(src, sp, n);
            g_assert_cmpuint(bitmap_sweep(dest, 0, src, sp, n, 0, NULL), ==, n);
            g_assert_true(bitmap_full(dest, n));
            g_assert_true(bitmap_empty(src, sp + n));
            bitmap_clear(dest, 0, n);

            /* And back: into the phase. */
            bitmap_set(dest, 0, n);
            g_assert_cmpuint(bitmap_sweep(src, sp, dest, 0, n, 0, NULL), ==, n);
            g_assert_cmpuint(bitmap_count_one(src, sp + n), ==, n);
            g_assert_cmpuint(bitmap_count_one_with_offset(src, sp, n), ==, n);
            g_free(src);
            g_free(dest);
        }
    }
}

/*
 * A source word that is clean in the range, and a destination word that gains
 * nothing, are not written: sweeping read-only memory does not fault.
 */
static void test_clean_words_not_written(void)
{
    size_t size = 65536, nbits = size * 8;
    uint64_t *src = mmap(NULL, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t *dest = mmap(NULL, size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t moved;

    g_assert_true(src != MAP_FAILED && dest != MAP_FAILED);
    for (size_t v = 0; v < nr_variants; v++) {
        g_assert_cmpint(mprotect(src, size, PROT_READ), ==, 0);
        g_assert_cmpint(mprotect(dest, size, PROT_READ), ==, 0);
        g_assert_cmpuint(variants[v].func(dest, 3, src, 5, nbits - 5,
                                          SWEEP_SRC_ATOMIC, NULL),
                         ==, 0);

        g_assert_cmpint(mprotect(src, size, PROT_READ | PROT_WRITE), ==, 0);
        g_assert_cmpint(mprotect(dest, size, PROT_READ | PROT_WRITE), ==, 0);
        bitmap_set(src, 1000, 500);
        bitmap_set(dest, 998, 500);
        g_assert_cmpint(mprotect(dest, size, PROT_READ), ==, 0);
        g_assert_cmpuint(variants[v].func(dest, 3, src, 5, nbits - 5,
                                          SWEEP_SRC_ATOMIC, &moved),
                         ==, 0);
        g_assert_cmpuint(moved, ==, 500);
        g_assert_cmpint(mprotect(dest, size, PROT_READ | PROT_WRITE), ==, 0);
        bitmap_clear(dest, 998, 500);
    }
    munmap(src, size);
    munmap(dest, size);
}

/*
 * Several threads set bits, one sweeps into a destination of another phase.
 * Each setter sets each of its bits once per round and waits until it was
 * taken; a bit that is lost hangs the test, one that is moved twice makes the
 * total differ from the number of sets.
 */
#define RACE_BITS    1000
#define RACE_SETTERS 3
#define RACE_ROUNDS  30

typedef struct Race {
    uint64_t *src;
    _Atomic unsigned running;
    unsigned dest_flags;
} Race;

typedef struct Setter {
    Race *race;
    unsigned id;
    QemuThread thread;
} Setter;

static void *race_setter(void *opaque)
{
    Setter *setter = opaque;
    Race *race = setter->race;

    for (int round = 0; round < RACE_ROUNDS; round++) {
        for (unsigned b = setter->id; b < RACE_BITS; b += RACE_SETTERS) {
            while (test_and_set_bit_atomic(b + 13, race->src)) {
                sched_yield();
            }
        }
    }
    atomic_fetch_sub(&race->running, 1);
    return NULL;
}

static void race(SweepFunc *func, unsigned dest_flags)
{
    Race race = { .src = bitmap_new(13 + RACE_BITS), .running = RACE_SETTERS };
    uint64_t *dest = bitmap_new(50 + RACE_BITS);
    Setter setters[RACE_SETTERS];
    uint64_t total = 0, moved, got;
    bool last;

    for (unsigned i = 0; i < RACE_SETTERS; i++) {
        setters[i] = (Setter){ .race = &race, .id = i };
        qemu_thread_create(&setters[i].thread, "setter", race_setter,
                           &setters[i], QEMU_THREAD_JOINABLE, &error_abort);
    }
    do {
        last = atomic_load(&race.running) == 0;
        bitmap_zero(dest, 50 + RACE_BITS);
        got = func(dest, 50, race.src, 13, RACE_BITS,
                   SWEEP_SRC_ATOMIC | dest_flags, &moved);
        g_assert_cmpuint(got, ==, moved);
        g_assert_cmpuint(bitmap_count_one(dest, 50 + RACE_BITS), ==, got);
        total += got;
        sched_yield();
    } while (!last);
    for (unsigned i = 0; i < RACE_SETTERS; i++) {
        qemu_thread_join(&setters[i].thread);
    }
    g_assert_cmpuint(total, ==, (uint64_t)RACE_BITS * RACE_ROUNDS);
    g_free(race.src);
    g_free(dest);
}

static void test_race_never_lost(void)
{
    race(bitmap_sweep, 0);
    race(bitmap_sweep, SWEEP_DEST_ATOMIC);
#ifdef QEMU_TSAN
    race(bitmap_sweep_scalar, 0); /* the others are not for its eyes */
#else
    for (size_t v = 0; v < nr_variants; v++) {
        race(variants[v].func, 0);
        race(variants[v].func, SWEEP_DEST_ATOMIC);
    }
#endif
}

/*
 * Two sweepers with sources of their own into one destination: the sum of
 * what they count as new is what is new there.
 */
typedef struct Sweeper {
    uint64_t *src, *dest;
    uint64_t nr_new;
    QemuThread thread;
} Sweeper;

static void *run_sweeper(void *opaque)
{
    Sweeper *s = opaque;

    s->nr_new = bitmap_sweep(s->dest, 7, s->src, 0, 64 * WORDS,
                             SWEEP_DEST_ATOMIC, NULL);
    return NULL;
}

static void test_race_counts_exact(void)
{
    for (int round = 0; round < 100; round++) {
        uint64_t *dest = bitmap_new(64 * (WORDS + 1));
        Sweeper s[2];

        for (int i = 0; i < 2; i++) {
            s[i] = (Sweeper){ .src = bitmap_new(64 * WORDS), .dest = dest };
            fill_random(s[i].src, 5);
        }
        for (int i = 0; i < 2; i++) {
            qemu_thread_create(&s[i].thread, "sweeper", run_sweeper, &s[i],
                               QEMU_THREAD_JOINABLE, &error_abort);
        }
        for (int i = 0; i < 2; i++) {
            qemu_thread_join(&s[i].thread);
            g_free(s[i].src);
        }
        g_assert_cmpuint(s[0].nr_new + s[1].nr_new, ==,
                         bitmap_count_one(dest, 64 * (WORDS + 1)));
        g_free(dest);
    }
}

static void test_find(void)
{
    uint64_t map[WORDS];

    for (int round = 0; round < 200; round++) {
        uint64_t size = g_test_rand_int_range(1, 64 * WORDS);
        uint64_t start = g_test_rand_int_range(0, 64 * WORDS), set, zero;
        uint64_t last = size;

        fill_random(map, round % 9);
        start = MIN(start, size);
        for (set = start; set < size && !test_bit(set, map); set++) {
        }
        for (zero = start; zero < size && test_bit(zero, map); zero++) {
        }
        for (uint64_t i = 0; i < size; i++) {
            if (test_bit(i, map)) {
                last = i;
            }
        }
        g_assert_cmpuint(find_next_bit(map, size, start), ==, set);
        g_assert_cmpuint(find_next_bit_atomic(map, size, start), ==, set);
        g_assert_cmpuint(find_next_zero_bit(map, size, start), ==, zero);
        g_assert_cmpuint(find_last_bit(map, size), ==, last);
    }
}

static void test_ranges(void)
{
    for (int round = 0; round < 300; round++) {
        uint64_t a[WORDS], b[WORDS];
        uint64_t start = g_test_rand_int_range(0, 1200);
        uint64_t nr = g_test_rand_int_range(0, 1200);
        uint64_t ones = 0;

        fill_random(a, round % 9);
        memcpy(b, a, sizeof(a));
        for (uint64_t i = start; i < start + nr; i++) {
            ones += test_bit(i, a);
        }
        g_assert_cmpuint(bitmap_count_one_with_offset(a, start, nr), ==, ones);
        g_assert_cmpuint(bitmap_count_one_atomic(a, start, nr), ==, ones);
        g_assert_true(bitmap_test_and_set_atomic(a, start, nr) == (ones < nr));
        bitmap_set(b, start, nr);
        for (uint64_t i = start; i < start + nr; i++) {
            g_assert_true(test_bit(i, b));
        }
        g_assert_cmpmem(a, sizeof(a), b, sizeof(b));
        g_assert_true(bitmap_test_and_clear_atomic(a, start, nr) == (nr > 0));
        g_assert_false(bitmap_test_and_clear_atomic(a, start, nr));
        bitmap_clear(b, start, nr);
        g_assert_cmpmem(a, sizeof(a), b, sizeof(b));
        g_assert_cmpuint(bitmap_count_one_with_offset(a, start, nr), ==, 0);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    variants = bitmap_sweep_variants(&nr_variants);
    g_test_message("sweep variant: %s", bitmap_sweep_variant());
    g_test_add_func("/bitmap/find", test_find);
    g_test_add_func("/bitmap/ranges", test_ranges);
    g_test_add_func("/sweep/all-phases", test_all_phases);
    g_test_add_func("/sweep/all-lengths", test_all_lengths);
    g_test_add_func("/sweep/edges", test_edges);
    g_test_add_func("/sweep/clean-words-not-written",
                    test_clean_words_not_written);
    g_test_add_func("/sweep/race/never-lost", test_race_never_lost);
    g_test_add_func("/sweep/race/counts-exact", test_race_counts_exact);
    return g_test_run();
}
