/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See bench-out.h. */
#include "qemu/osdep.h"

#include "bench-out.h"
#include "qemu/cutils.h"

#define MAX_COLUMNS 24

static struct {
    FILE *json, *text;
    const char *table; /* whose header was printed last */
    unsigned nr_rows;
    unsigned n; /* columns of the present row */
    const char *keys[MAX_COLUMNS];
    char cells[MAX_COLUMNS][48];
} out;

static FILE *open_file(const char *dir, const char *name, const char *suffix)
{
    g_autofree char *path = g_strdup_printf("%s/%s.%s", dir, name, suffix);
    FILE *f;

    g_mkdir_with_parents(dir, 0777);
    f = fopen(path, "w");
    if (!f) {
        fprintf(stderr, "%s: %s\n", path, g_strerror(errno));
        exit(1);
    }
    return f;
}

void bench_say(const char *fmt, ...)
{
    va_list ap, again;

    va_start(ap, fmt);
    va_copy(again, ap);
    vprintf(fmt, ap);
    fflush(stdout);
    if (out.text) {
        vfprintf(out.text, fmt, again);
    }
    va_end(again);
    va_end(ap);
}

void bench_out_begin(const char *dir, const char *name)
{
    if (dir) {
        out.json = open_file(dir, name, "json");
        out.text = open_file(dir, name, "txt");
        fprintf(out.json, "{ \"bench\": \"%s\",\n  \"rows\": [", name);
    }
}

void bench_row(const char *table)
{
    if (g_strcmp0(out.table, table)) {
        out.nr_rows = 0;
    }
    if (out.json) {
        fprintf(out.json, "%s\n    { \"table\": \"%s\"", out.table ? "," : "",
                table);
    }
    out.table = table;
    out.n = 0;
}

static char *next_cell(const char *key)
{
    g_assert(out.n < MAX_COLUMNS);
    out.keys[out.n] = key;
    return out.cells[out.n++];
}

void bench_text(const char *key, const char *value)
{
    g_strlcpy(next_cell(key), value, sizeof(out.cells[0]));
    if (out.json) {
        fprintf(out.json, ", \"%s\": \"%s\"", key, value);
    }
}

void bench_num(const char *key, double value, int decimals)
{
    snprintf(next_cell(key), sizeof(out.cells[0]), "%.*f", decimals, value);
    if (out.json) {
        fprintf(out.json, ", \"%s\": %.9g", key, value);
    }
}

static int width(unsigned i)
{
    return MAX(strlen(out.keys[i]), i == 0 ? 22 : 9);
}

void bench_row_end(void)
{
    if (out.nr_rows++ == 0) {
        bench_say("\n# %s\n", out.table);
        for (unsigned i = 0; i < out.n; i++) {
            bench_say(i == 0 ? "%-*s" : " %*s", width(i), out.keys[i]);
        }
        bench_say("\n");
    }
    for (unsigned i = 0; i < out.n; i++) {
        bench_say(i == 0 ? "%-*s" : " %*s", width(i), out.cells[i]);
    }
    bench_say("\n");
    if (out.json) {
        fprintf(out.json, " }");
    }
}

void bench_out_end(void)
{
    if (out.json) {
        fprintf(out.json, "\n  ]\n}\n");
        fclose(out.json);
        fclose(out.text);
    }
}

double bench_now_s(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec + ts.tv_nsec / 1e9;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

double bench_median(double *values, unsigned n)
{
    qsort(values, n, sizeof(*values), compare);
    return n & 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

const char *bench_arg_str(int argc, char **argv, const char *name)
{
    for (int i = 1; i + 1 < argc; i++) {
        if (g_str_has_prefix(argv[i], "--") && g_str_equal(argv[i] + 2, name)) {
            return argv[i + 1];
        }
    }
    return NULL;
}

uint64_t bench_arg(int argc, char **argv, const char *name, uint64_t def)
{
    const char *value = bench_arg_str(argc, argv, name);
    uint64_t n;

    if (!value) {
        return def;
    }
    if (qemu_strtosz(value, NULL, &n) < 0) {
        fprintf(stderr, "--%s %s: not a number\n", name, value);
        exit(1);
    }
    return n;
}
