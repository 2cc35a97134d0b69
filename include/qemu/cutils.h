/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cutils: numbers from text and text from numbers, strictly.
 *
 * The qemu_strto* functions take the whole string unless @end is given, in
 * which case *@end is where they stopped and trailing text is the caller's
 * matter. They return 0, -EINVAL (no number, or trailing text) or -ERANGE
 * (does not fit; *@result then holds the nearest value). On -EINVAL *@result
 * is 0 and *@end is @nptr. Leading white space is skipped; unsigned ones
 * accept no '-'.
 *
 * Threads: pure functions. Used by: all. Uses: units.h.
 */
#ifndef QEMU_CUTILS_H
#define QEMU_CUTILS_H

int qemu_strtoi(const char *nptr, const char **end, int base, int *result);
int qemu_strtoui(const char *nptr, const char **end, int base,
                 unsigned *result);
int qemu_strtoi64(const char *nptr, const char **end, int base,
                  int64_t *result);
int qemu_strtou64(const char *nptr, const char **end, int base,
                  uint64_t *result);
int qemu_strtod(const char *nptr, const char **end, double *result);

/*
 * A whole decimal number, nothing else: "12" but not "0x12", "+1", " 1".
 * For ids, ports and the like.
 */
int parse_uint_full(const char *s, int base, uint64_t *value);

/*
 * Sizes: a number with an optional fraction and an optional suffix B, K, M,
 * G, T, P, E (binary multiples, either case). Hexadecimal only without both.
 * Without a suffix the unit is bytes (qemu_strtosz) or MiB (_MiB).
 */
int qemu_strtosz(const char *nptr, const char **end, uint64_t *result);
int qemu_strtosz_MiB(const char *nptr, const char **end, uint64_t *result);
/* The same with decimal multiples (frequencies). */
int qemu_strtosz_metric(const char *nptr, const char **end, uint64_t *result);

/* "on|yes|true|y" and "off|no|false|n". */
bool qemu_parse_bool(const char *name, const char *value, bool *result,
                     Error **errp);

/* "1.5 GiB", three significant digits. Caller frees. */
char *size_to_str(uint64_t bytes);
/* "4.5 GHz". Caller frees. */
char *freq_to_str(uint64_t hz);

/* Copies at most @buf_size - 1 bytes and always ends the string. */
void pstrcpy(char *buf, size_t buf_size, const char *str);
/* Append; cut to @buf_size as pstrcpy() does. Returns @buf. */
char *pstrcat(char *buf, size_t buf_size, const char *s);
/* If @str begins with @val, sets *@ptr (may be NULL) behind it. */
bool strstart(const char *str, const char *val, const char **ptr);

/* UUID text with dashes ↔ 16 bytes in that order. */
bool qemu_uuid_parse(const char *str, uint8_t uuid[16]);
#define UUID_STR_LEN 37
void qemu_uuid_unparse(const uint8_t uuid[16], char out[UUID_STR_LEN]);
bool qemu_uuid_is_null(const uint8_t uuid[16]);

/* Hex dump lines "0000: 00 01 …  ..", to @f with @prefix. */
void qemu_hexdump(FILE *f, const char *prefix, const void *buf, size_t size);

/* May @id name an object or a device of the user's? False and @errp. */
bool id_check(const char *id, Error **errp);

#endif /* QEMU_CUTILS_H */
