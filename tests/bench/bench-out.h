/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Results of a benchmark: tables on stdout, and the same in files.
 *
 *   bench_out_begin(dir, "name");
 *   per row:  bench_row("table"); bench_text/num(...)...; bench_row_end();
 *   bench_out_end();
 *
 * The JSON is { "bench": NAME, "rows": [ { "table": TABLE, KEY: VALUE… } ] } in
 * DIR/NAME.json, what is printed in DIR/NAME.txt; DIR NULL: none. A table's header is printed before its first
 * row and whenever the table changes.
 *
 * Threads: one.
 */
#ifndef TESTS_BENCH_BENCH_OUT_H
#define TESTS_BENCH_BENCH_OUT_H

void bench_out_begin(const char *dir, const char *name);
void bench_say(const char *fmt, ...) G_GNUC_PRINTF(1, 2);
void bench_row(const char *table);
void bench_text(const char *key, const char *value);
/* @decimals: digits after the point in the table. */
void bench_num(const char *key, double value, int decimals);
void bench_row_end(void);
void bench_out_end(void);

double bench_now_s(void);
/* The middle one; sorts @values. */
double bench_median(double *values, unsigned n);
/* "--NAME VALUE" in @argv, else @def. Sizes take K, M, G, T. */
uint64_t bench_arg(int argc, char **argv, const char *name, uint64_t def);
const char *bench_arg_str(int argc, char **argv, const char *name);

#endif /* TESTS_BENCH_BENCH_OUT_H */
