/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The main program of a fuzz target that walks real recordings: each seed is
 * bent at every place (of long ones, at evenly spread ones), and what has a
 * structure is bent by it: sections cut, repeated, left out, exchanged.
 *
 *   flip     a byte by its lowest bit, by its highest, by all
 *   cut      the end is there
 *   grow     one byte or four more, zero or 0xff
 *   repeat   sixteen bytes twice; a section twice
 *   reorder  eight bytes with the next eight; a section with the next
 *
 * The target asserts what has to hold (no crash, an error that says where).
 * Here: a stream that was cut before its end is never taken, and no input
 * makes the process grow by more than MEMORY_BOUND.
 */
#include "qemu/osdep.h"

#include <sys/resource.h>

#include "fuzz.h"

/* Beyond what start-up and the first load took. */
#define MEMORY_BOUND (INT64_C(16) << 20)
#define PLACES       400
#define MAX_SECTIONS 64

static unsigned inputs;

static void feed(const uint8_t *data, size_t len)
{
    uint8_t *copy = g_memdup2(data, len);

    LLVMFuzzerTestOneInput(copy, len);
    g_free(copy);
    inputs++;
}

/* @a up to @cut, then @b bytes of @with, then @a from @on. */
static void feed_spliced(const uint8_t *a, size_t len, size_t cut,
                         const void *with, size_t b, size_t on)
{
    g_autoptr(GByteArray) out = g_byte_array_new();

    g_byte_array_append(out, a, cut);
    g_byte_array_append(out, with, b);
    g_byte_array_append(out, a + on, len - on);
    feed(out->data, out->len);
}

static void bend_at(uint8_t *data, size_t len, size_t at)
{
    static const uint8_t masks[] = { 0x01, 0x80, 0xff };
    static const uint8_t zeros[4] = { 0 }, ones[4] = { 255, 255, 255, 255 };

    for (size_t i = 0; i < G_N_ELEMENTS(masks); i++) {
        data[at] ^= masks[i];
        feed(data, len);
        data[at] ^= masks[i];
    }
    feed(data, at);
    feed_spliced(data, len, at, zeros, 1, at);
    feed_spliced(data, len, at, ones, 4, at);
    feed_spliced(data, len, at, data + at, MIN(len - at, 16), at);
    if (at + 16 <= len) {
        uint8_t swapped[16];

        memcpy(swapped, data + at + 8, 8);
        memcpy(swapped + 8, data + at, 8);
        feed_spliced(data, len, at, swapped, 16, at + 16);
    }
}

/* ----------------------------------------------- sections of a stream */

enum {
    TYPE_START = 1,
    TYPE_FULL = 4,
    TYPE_CONFIGURATION = 7,
    TYPE_COMMAND = 8, /* number, length, payload */
    TYPE_FOOTER = 0x7e
};

/* Where the next section begins at or after @from that has a footer. */
static size_t section_end(const uint8_t *data, size_t len, size_t from)
{
    const uint8_t *id = data + from + 1;

    for (size_t i = from + 5; i + 5 <= len; i++) {
        if (data[i] == TYPE_FOOTER && !memcmp(data + i + 1, id, 4)) {
            return i + 5;
        }
    }
    return 0;
}

static size_t skip_commands(const uint8_t *data, size_t len, size_t at)
{
    while (at + 5 < len && data[at] == TYPE_COMMAND) {
        at += 5 + (data[at + 3] << 8 | data[at + 4]);
    }
    return at;
}

static unsigned find_sections(const uint8_t *data, size_t len, size_t *starts)
{
    size_t at = 8; /* magic and version; then the configuration */
    unsigned n = 0;

    if (at < len && data[at] == TYPE_CONFIGURATION) {
        while (at < len && data[at] != TYPE_START && data[at] != TYPE_COMMAND) {
            at++;
        }
    }
    at = skip_commands(data, len, at);
    while (n < MAX_SECTIONS && at + 5 < len && data[at] >= TYPE_START &&
           data[at] <= TYPE_FULL) {
        size_t end = section_end(data, len, at);

        if (!end) {
            break;
        }
        starts[n++] = at;
        at = skip_commands(data, len, end);
    }
    starts[n] = at;
    return n;
}

static void bend_sections(const uint8_t *data, size_t len)
{
    size_t starts[MAX_SECTIONS + 1];
    unsigned n = find_sections(data, len, starts);

    g_assert_cmpuint(n, >=, 4);
    for (unsigned i = 0; i < n; i++) {
        size_t from = starts[i], to = starts[i + 1], size = to - from;

        feed_spliced(data, len, from, data + from, size, from); /* twice */
        feed_spliced(data, len, from, "", 0, to);               /* not */
        feed(data, from);
        g_assert_false(fuzz_taken);
        for (unsigned k = i + 1; k < n; k++) {
            size_t next = starts[k], end = starts[k + 1];
            g_autoptr(GByteArray) both = g_byte_array_new();

            g_byte_array_append(both, data + next, end - next);
            g_byte_array_append(both, data + to, next - to);
            g_byte_array_append(both, data + from, size);
            feed_spliced(data, len, from, both->data, both->len, end);
        }
        /* Every byte of the section's head and of its beginning. */
        for (size_t at = from; at < MIN(from + 64, to); at++) {
            bend_at((uint8_t *)data, len, at);
        }
    }
}

static void walk(const char *path)
{
    g_autofree char *text = NULL;
    g_autoptr(GError) err = NULL;
    gsize len = 0;
    size_t step;

    g_file_get_contents(path, &text, &len, &err);
    g_assert_no_error(err);
    step = MAX(len / PLACES, 1);
    feed((uint8_t *)text, len);
    for (size_t at = 0; at < len; at += step) {
        bend_at((uint8_t *)text, len, at);
    }
    if (len > 8 && !memcmp(text, "QEVM", 4)) {
        bend_sections((uint8_t *)text, len);
    }
}

static int64_t peak_bytes(void)
{
    struct rusage use;

    getrusage(RUSAGE_SELF, &use);
    return (int64_t)use.ru_maxrss * 1024;
}

/* Each file of @folder: as it is, or bent. */
static void each(const char *folder, void (*fn)(const char *path))
{
    GDir *dir = g_dir_open(folder, 0, NULL);
    const char *name;

    g_assert_nonnull(dir);
    while ((name = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(folder, name, NULL);

        fn(path);
    }
    g_dir_close(dir);
}

static void feed_file(const char *path)
{
    g_autofree char *text = NULL;
    gsize len = 0;

    g_assert_true(g_file_get_contents(path, &text, &len, NULL));
    feed((uint8_t *)text, len);
}

int main(int argc, char **argv)
{
    int64_t before, grown;

    LLVMFuzzerInitialize(&argc, &argv);
    printf("1..2\n");
    each(argv[1], feed_file);
    before = peak_bytes();
    each(argv[1], walk);
    printf("ok 1 - %u inputs\n", inputs);
    grown = peak_bytes() - before;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    (void)grown; /* mostly the sanitizer's own */
    printf("ok 2 - memory # SKIP sanitizers keep what was freed\n");
    return 0;
#else
    printf("%sok 2 - grew by %" PRId64 " KiB\n",
           grown <= MEMORY_BOUND ? "" : "not ", grown / 1024);
    return grown > MEMORY_BOUND;
#endif
}
