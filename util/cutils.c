/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers and text: see include/qemu/cutils.h. */
#include "qemu/osdep.h"

#include <math.h>

#include "qemu/cutils.h"
#include "qemu/error.h"
#include "qemu/units.h"

/* Hand out where the number ended, or insist that it was all there was. */
static int finish(const char *nptr, const char *stopped, const char **end,
                  int err)
{
    if (stopped == nptr) {
        err = -EINVAL;
    }
    if (end) {
        *end = stopped;
    } else if (!err && *stopped) {
        err = -EINVAL;
    }
    return err;
}

static const char *skip_space(const char *s)
{
    while (isspace((unsigned char)*s)) {
        s++;
    }
    return s;
}

int qemu_strtoi64(const char *nptr, const char **end, int base, int64_t *result)
{
    char *stopped;
    long long v;
    int err;

    if (!nptr) {
        *result = 0;
        if (end) {
            *end = nptr;
        }
        return -EINVAL;
    }
    errno = 0;
    v = strtoll(nptr, &stopped, base);
    err = finish(nptr, stopped, end, errno == ERANGE ? -ERANGE : 0);
    *result = err == -EINVAL ? 0 : v;
    if (err == -EINVAL && end) {
        *end = nptr;
    }
    return err;
}

int qemu_strtou64(const char *nptr, const char **end, int base,
                  uint64_t *result)
{
    char *stopped;
    unsigned long long v;
    int err;

    if (!nptr || *skip_space(nptr) == '-') {
        *result = 0;
        if (end) {
            *end = nptr;
        }
        return -EINVAL;
    }
    errno = 0;
    v = strtoull(nptr, &stopped, base);
    err = finish(nptr, stopped, end, errno == ERANGE ? -ERANGE : 0);
    *result = err == -EINVAL ? 0 : v;
    if (err == -EINVAL && end) {
        *end = nptr;
    }
    return err;
}

int qemu_strtoi(const char *nptr, const char **end, int base, int *result)
{
    int64_t v;
    int err = qemu_strtoi64(nptr, end, base, &v);

    if (v != (int)v) {
        v = v < 0 ? INT_MIN : INT_MAX;
        err = -ERANGE;
    }
    *result = v;
    return err;
}

int qemu_strtoui(const char *nptr, const char **end, int base, unsigned *result)
{
    uint64_t v;
    int err = qemu_strtou64(nptr, end, base, &v);

    if (v > UINT_MAX) {
        v = UINT_MAX;
        err = -ERANGE;
    }
    *result = v;
    return err;
}

int qemu_strtod(const char *nptr, const char **end, double *result)
{
    gchar *stopped;
    double v;
    int err;

    if (!nptr) {
        *result = 0;
        if (end) {
            *end = nptr;
        }
        return -EINVAL;
    }
    errno = 0;
    /* Not strtod(): a comma is no decimal point, whatever the locale. */
    v = g_ascii_strtod(nptr, &stopped);
    err = finish(nptr, stopped, end, errno == ERANGE ? -ERANGE : 0);
    *result = err == -EINVAL ? 0 : v;
    return err;
}

int parse_uint_full(const char *s, int base, uint64_t *value)
{
    if (!s || !isalnum((unsigned char)*s)) {
        *value = 0;
        return -EINVAL;
    }
    if (base == 10 && !isdigit((unsigned char)*s)) {
        *value = 0;
        return -EINVAL;
    }
    return qemu_strtou64(s, NULL, base, value);
}

/* Multiple of the suffix @c in a system of @base; 0 if it is none. */
static uint64_t suffix_multiple(char c, uint64_t base)
{
    static const char order[] = "BKMGTPE";
    const char *p = c ? strchr(order, g_ascii_toupper(c)) : NULL;
    uint64_t mul = 1;

    if (!p) {
        return 0;
    }
    for (; p > order; p--) {
        mul *= base;
    }
    return mul;
}

/*
 * "123.625k" in exact arithmetic: whole and fraction are kept apart, so that
 * large sizes lose no bits to a double.
 */
static int do_strtosz(const char *nptr, const char **end, char default_suffix,
                      uint64_t base, uint64_t *result)
{
    const char *p, *stopped;
    uint64_t whole = 0, mul, total;
    double fraction = 0;
    bool is_hex, has_fraction = false, has_digits = false;
    int err;

    *result = 0;
    if (!nptr) {
        goto invalid;
    }
    p = skip_space(nptr);
    if (!isdigit((unsigned char)*p) && *p != '.') {
        goto invalid;
    }
    is_hex = p[0] == '0' && (p[1] == 'x' || p[1] == 'X');
    if (is_hex) {
        err = qemu_strtou64(p, &stopped, 16, &whole);
        if (err || stopped == p + 1) {
            goto invalid;
        }
    } else if (isdigit((unsigned char)*p)) {
        err = qemu_strtou64(p, &stopped, 10, &whole);
        if (err == -ERANGE) {
            goto out_of_range;
        }
        has_digits = true;
    } else {
        stopped = p;
    }
    if (*stopped == '.' && !is_hex) {
        double scale = 0.1;

        has_fraction = true;
        for (stopped++; isdigit((unsigned char)*stopped); stopped++) {
            fraction += scale * (*stopped - '0');
            scale /= 10;
            has_digits = true;
        }
    }
    if (!is_hex && !has_digits) {
        goto invalid;
    }
    mul = suffix_multiple(*stopped, base);
    if (mul) {
        if (is_hex) {
            goto invalid; /* 0x1B would be read two ways */
        }
        stopped++;
    } else {
        mul = suffix_multiple(is_hex ? 'B' : default_suffix, base);
    }
    if (has_fraction && mul == 1 && fraction > 0) {
        goto invalid; /* part of a byte */
    }
    if (__builtin_mul_overflow(whole, mul, &total) ||
        __builtin_add_overflow(total, (uint64_t)(fraction * mul + 0.5),
                               &total)) {
        goto out_of_range;
    }
    if (end) {
        *end = stopped;
    } else if (*stopped) {
        goto invalid;
    }
    *result = total;
    return 0;

out_of_range:
    *result = UINT64_MAX;
    if (end) {
        *end = nptr + strlen(nptr);
    }
    return -ERANGE;
invalid:
    if (end) {
        *end = nptr;
    }
    return -EINVAL;
}

int qemu_strtosz(const char *nptr, const char **end, uint64_t *result)
{
    return do_strtosz(nptr, end, 'B', 1024, result);
}

int qemu_strtosz_MiB(const char *nptr, const char **end, uint64_t *result)
{
    return do_strtosz(nptr, end, 'M', 1024, result);
}

int qemu_strtosz_metric(const char *nptr, const char **end, uint64_t *result)
{
    return do_strtosz(nptr, end, 'B', 1000, result);
}

bool qemu_parse_bool(const char *name, const char *value, bool *result,
                     Error **errp)
{
    static const char *const yes[] = { "on", "yes", "true", "y", NULL };
    static const char *const no[] = { "off", "no", "false", "n", NULL };

    if (g_strv_contains(yes, value)) {
        *result = true;
        return true;
    }
    if (g_strv_contains(no, value)) {
        *result = false;
        return true;
    }
    error_setg(errp, "'%s=%s': the value must be 'on' or 'off'", name, value);
    return false;
}

static char *scaled(uint64_t v, unsigned base, const char *const *units)
{
    double d = v;
    int i = 0;

    /* 999.5 would be printed as 1e+03: go on to the next unit before that. */
    while (d >= 999.5 && units[i + 1]) {
        d /= base;
        i++;
    }
    return g_strdup_printf("%0.3g %s", d, units[i]);
}

char *size_to_str(uint64_t bytes)
{
    static const char *const units[] = { "B",   "KiB", "MiB", "GiB",
                                         "TiB", "PiB", "EiB", NULL };

    return scaled(bytes, 1024, units);
}

char *freq_to_str(uint64_t hz)
{
    static const char *const units[] = { "Hz",  "KHz", "MHz", "GHz",
                                         "THz", "PHz", "EHz", NULL };

    return scaled(hz, 1000, units);
}

void pstrcpy(char *buf, size_t buf_size, const char *str)
{
    if (buf_size) {
        g_strlcpy(buf, str, buf_size);
    }
}

char *pstrcat(char *buf, size_t buf_size, const char *s)
{
    g_strlcat(buf, s, buf_size);
    return buf;
}

bool strstart(const char *str, const char *val, const char **ptr)
{
    size_t len = strlen(val);

    if (strncmp(str, val, len) != 0) {
        return false;
    }
    if (ptr) {
        *ptr = str + len;
    }
    return true;
}

bool qemu_uuid_parse(const char *str, uint8_t uuid[16])
{
    uint8_t out[16];
    size_t n = 0;

    if (strlen(str) != UUID_STR_LEN - 1) {
        return false;
    }
    for (size_t i = 0; i < UUID_STR_LEN - 1; i++) {
        if (i == 8 || i == 13 || i == 18 || i == 23) {
            if (str[i] != '-') {
                return false;
            }
            continue;
        }
        if (!isxdigit((unsigned char)str[i]) ||
            !isxdigit((unsigned char)str[i + 1])) {
            return false;
        }
        out[n++] = g_ascii_xdigit_value(str[i]) * 16 +
                   g_ascii_xdigit_value(str[i + 1]);
        i++;
    }
    memcpy(uuid, out, sizeof(out));
    return true;
}

void qemu_uuid_unparse(const uint8_t u[16], char out[UUID_STR_LEN])
{
    snprintf(out, UUID_STR_LEN,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-"
             "%02x%02x-%02x%02x%02x%02x%02x%02x",
             u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10],
             u[11], u[12], u[13], u[14], u[15]);
}

bool qemu_uuid_is_null(const uint8_t uuid[16])
{
    static const uint8_t null[16];

    return memcmp(uuid, null, sizeof(null)) == 0;
}

void qemu_hexdump(FILE *f, const char *prefix, const void *buf, size_t size)
{
    const uint8_t *bytes = buf;

    for (size_t i = 0; i < size; i += 16) {
        size_t n = MIN(16, size - i);

        fprintf(f, "%s: %04zx:", prefix, i);
        for (size_t k = 0; k < 16; k++) {
            if (k < n) {
                fprintf(f, " %02x", bytes[i + k]);
            } else {
                fputs("   ", f);
            }
        }
        fputs("  ", f);
        for (size_t k = 0; k < n; k++) {
            fputc(isprint(bytes[i + k]) ? bytes[i + k] : '.', f);
        }
        fputc('\n', f);
    }
}

bool id_check(const char *id, Error **errp)
{
    const char *p = id;

    if (g_ascii_isalpha(*p)) {
        while (g_ascii_isalnum(*p) || (*p && strchr("-._", *p))) {
            p++;
        }
        if (!*p) {
            return true;
        }
    }
    error_setg(errp, "Parameter 'id' expects an identifier");
    error_append_hint(errp, "Identifiers consist of letters, digits, '-', "
                            "'.', '_', starting with a letter.\n");
    return false;
}
