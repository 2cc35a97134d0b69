/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Benchmark of the sweep: ratios within one run, since times differ by host.
 *
 * The bitmap of a guest of 64 GiB is moved into a send set, as each sync of a
 * migration does; from clean to all dirty, with equal bit phases and others.
 * Three kinds of source: `kept` (a copy is made), `plain` (moved; the caller's
 * own, as the log that a kernel has copied), `atomic` (others may set bits
 * meanwhile, as in a block's bitmap). Beside it: memcpy() of the same bytes
 * between the same buffers; an exchange of each word, which is the least that
 * taking word by word from an atomic bitmap costs; and a loop with one atomic
 * operation for each page, which is what not having a sweep costs.
 *
 * Then a clean bitmap of 384 MiB (12 TiB of guest) is swept: by itself, and
 * through its summary.
 *
 * Vector instructions have to be warmed up, so what is short is run once before
 * it is timed. All take turns; medians, the least and the largest of --runs (9).
 */
#include "qemu/osdep.h"

#include <sys/mman.h>

#include "qemu/bitmap-summary.h"
#include "qemu/sweep.h"
#include "qemu/units.h"

#define PAGES    (UINT64_C(64) << (30 - 12))
#define WORDS    (PAGES / 64)
#define MAX_RUNS 99

typedef struct Sample {
    double us[MAX_RUNS];
    unsigned n;
} Sample;

static unsigned runs = 9;

static double now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1e6 + ts.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(Sample *s)
{
    qsort(s->us, s->n, sizeof(s->us[0]), by_size);
    return s->us[s->n / 2];
}

static const char *shown(Sample *s)
{
    static char text[8][48];
    static unsigned next;
    char *t = text[next++ % ARRAY_SIZE(text)];
    double m = median(s);

    snprintf(t, sizeof(text[0]), "%.0f (%.0f-%.0f)", m, s->us[0],
             s->us[s->n - 1]);
    return t;
}

typedef struct Density {
    const char *name;
    unsigned one_in; /* pages dirty at random; 0: none, 1: all */
} Density;

static const Density densities[] = {
    { "none", 0 },    { "1/10000", 10000 }, { "1/1000", 1000 },
    { "1/100", 100 }, { "1/2", 2 },         { "all", 1 },
};

typedef struct Kind {
    const char *name;
    unsigned flags;
} Kind;

static const Kind kinds[] = {
    { "kept", SWEEP_SRC_KEEP },
    { "plain", 0 },
    { "atomic", SWEEP_SRC_ATOMIC },
};

static const unsigned phases[] = { 0, 37 };

static uint64_t *src, *dest, *pristine[ARRAY_SIZE(densities)][2];

static void fill(uint64_t *map, unsigned one_in, unsigned phase)
{
    if (one_in == 1) {
        bitmap_set(map, phase, PAGES);
    } else if (one_in > 1) {
        GRand *rand = g_rand_new_with_seed(42);

        for (uint64_t i = 0; i < PAGES / one_in; i++) {
            set_bit(phase + g_rand_int(rand) % PAGES, map);
        }
        g_rand_free(rand);
    }
}

/* The same before each: both bitmaps written, so that both are as warm. */
static void prepare(size_t density, size_t phase)
{
    memcpy(src, pristine[density][phase], (WORDS + 1) * 8);
    memset(dest, 0, (WORDS + 1) * 8);
}

static void add(Sample *s, double begin_us)
{
    s->us[s->n++] = now_us() - begin_us;
}

/* What the sweep replaces: a look and an exchange per page. */
static uint64_t page_by_page(uint64_t src_first)
{
    uint64_t nr_new = 0;

    for (uint64_t i = 0; i < PAGES; i++) {
        if (test_and_clear_bit_atomic(src_first + i, src) &&
            !test_and_set_bit(i, dest)) {
            nr_new++;
        }
    }
    return nr_new;
}

static void exchange_words(void)
{
    for (uint64_t w = 0; w < WORDS; w++) {
        dest[w] = atomic_exchange(bitmap_atomic_word(src, w), 0);
    }
}

static Sample copy, words, by_page[ARRAY_SIZE(densities)];
static Sample sweeps[ARRAY_SIZE(kinds)][ARRAY_SIZE(densities)][2];
static Sample scalar[ARRAY_SIZE(densities)];

static void one_density(size_t d)
{
    double begin;

    for (size_t p = 0; p < 2; p++) {
        for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
            for (int timed = 0; timed <= 1; timed++) {
                prepare(d, p);
                begin = now_us();
                bitmap_sweep(dest, 0, src, phases[p], PAGES, kinds[k].flags,
                             NULL);
                if (timed) {
                    add(&sweeps[k][d][p], begin);
                }
            }
        }
    }
    prepare(d, 1);
    begin = now_us();
    bitmap_sweep_scalar(dest, 0, src, phases[1], PAGES, SWEEP_SRC_ATOMIC, NULL);
    add(&scalar[d], begin);
    prepare(d, 1);
    begin = now_us();
    page_by_page(phases[1]);
    add(&by_page[d], begin);
}

static void one_run(void)
{
    size_t all = ARRAY_SIZE(densities) - 1;
    double begin;

    for (int timed = 0; timed <= 1; timed++) {
        prepare(all, 0);
        begin = now_us();
        memcpy(dest, src, WORDS * 8);
        if (timed) {
            add(&copy, begin);
        }
    }
    prepare(all, 0);
    begin = now_us();
    exchange_words();
    add(&words, begin);
    for (size_t d = 0; d < ARRAY_SIZE(densities); d++) {
        one_density(d);
    }
}

static void moving(void)
{
    size_t words_of = (WORDS + 1) * 8;

    src = bitmap_new(PAGES + 64);
    dest = bitmap_new(PAGES + 64);
    for (size_t d = 0; d < ARRAY_SIZE(densities); d++) {
        for (size_t p = 0; p < 2; p++) {
            pristine[d][p] = g_malloc0(words_of);
            fill(pristine[d][p], densities[d].one_in, phases[p]);
        }
    }
    for (unsigned i = 0; i < runs; i++) {
        one_run();
    }
    printf("# bitmap of 64 GiB of guest (2 MiB), us: median (least-largest) "
           "of %u; variant %s\n",
           runs, bitmap_sweep_variant());
    printf("# memcpy of the same bytes: %s\n", shown(&copy));
    printf("# an exchange of each word: %s\n", shown(&words));
    printf("%-8s %-7s %-20s %-20s %12s %14s\n", "dirty", "source",
           "equal phases", "37 bits apart", "37 / equal", "speed/memcpy");
    for (size_t d = 0; d < ARRAY_SIZE(densities); d++) {
        for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
            Sample *s = sweeps[k][d];

            printf("%-8s %-7s %-20s %-20s %12.2f %7.2f %6.2f\n",
                   densities[d].name, kinds[k].name, shown(&s[0]), shown(&s[1]),
                   median(&s[1]) / median(&s[0]), median(&copy) / median(&s[0]),
                   median(&copy) / median(&s[1]));
        }
        printf("%-8s %-7s %-20s pages: %-20s %.0f times the sweep\n",
               densities[d].name, "scalar", shown(&scalar[d]),
               shown(&by_page[d]),
               median(&by_page[d]) / median(&sweeps[2][d][1]));
    }
    for (size_t d = 0; d < ARRAY_SIZE(densities); d++) {
        g_free(pristine[d][0]);
        g_free(pristine[d][1]);
    }
    g_free(src);
    g_free(dest);
}

/* ---- a large clean bitmap ---- */

#define LARGE_BYTES (384 * MiB)
#define LARGE_BITS  (LARGE_BYTES * 8)

typedef struct Large {
    uint64_t *map, *send;
    uint64_t found, words;
} Large;

static void take_large(void *opaque, uint64_t bit, uint64_t end)
{
    Large *l = opaque;

    l->found += bitmap_sweep(l->send, bit, l->map, bit, end - bit,
                             SWEEP_SRC_ATOMIC, NULL);
    l->words += (end - bit) / 64;
}

static uint64_t *large_map(void)
{
    void *p = mmap(NULL, LARGE_BYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return p;
}

static void clean_scan(void)
{
    static Sample plain, summed, some;
    Large l = { .map = large_map(), .send = large_map() };
    uint64_t *summary = bitmap_new(summary_bits(LARGE_BITS));
    uint64_t read = 0, read_some = 0;

    memset(l.map, 0, LARGE_BYTES); /* pages of its own */
    for (unsigned i = 0; i < runs; i++) {
        double begin = now_us();

        take_large(&l, 0, LARGE_BITS);
        add(&plain, begin);
        l.words = 0;
        begin = now_us();
        read = summary_walk(summary, 0, LARGE_BITS, take_large, &l) + l.words;
        add(&summed, begin);
        /* A thousand pages, evenly spread. */
        for (uint64_t n = 0; n < 1000; n++) {
            uint64_t bit = n * (LARGE_BITS / 1000);

            set_bit_atomic(bit, l.map);
            summary_mark(summary, bit, 1);
        }
        l.words = l.found = 0;
        begin = now_us();
        read_some = summary_walk(summary, 0, LARGE_BITS, take_large, &l) +
                    l.words;
        add(&some, begin);
        if (i == 0 && l.found != 1000) {
            printf("# %" PRIu64 " pages found of 1000\n", l.found);
            exit(1);
        }
    }
    printf("# clean bitmap of 12 TiB of guest (384 MiB), us\n");
    printf("%-24s %-24s %12s\n", "", "us", "words read");
    printf("%-24s %-24s %12" PRIu64 "\n", "sweep", shown(&plain),
           LARGE_BITS / 64);
    printf("%-24s %-24s %12" PRIu64 "\n", "by its summary", shown(&summed),
           read);
    printf("%-24s %-24s %12" PRIu64 "\n", ".. 1,000 pages dirty", shown(&some),
           read_some);
    munmap(l.map, LARGE_BYTES);
    munmap(l.send, LARGE_BYTES);
    g_free(summary);
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "--runs")) {
        runs = CLAMP(atoi(argv[2]), 1, MAX_RUNS);
    } else if (argc != 1) {
        fprintf(stderr, "usage: %s [--runs N]\n", argv[0]);
        return 2;
    }
    moving();
    clean_scan();
    return 0;
}
