/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters of the command line, and numbers on the console. */
#include "guest.h"

const char *param_find(const char *cmdline, const char *name)
{
    const char *p = cmdline;

    while (p && *p) {
        const char *q = name;

        while (*p == ' ') {
            p++;
        }
        while (*q && *p == *q) {
            p++;
            q++;
        }
        if (!*q && *p == '=') {
            return p + 1;
        }
        while (*p && *p != ' ') {
            p++;
        }
    }
    return 0;
}

uint64_t param_u64(const char *cmdline, const char *name, uint64_t otherwise)
{
    const char *p = param_find(cmdline, name);
    uint64_t v = 0;

    if (!p) {
        return otherwise;
    }
    for (; *p >= '0' && *p <= '9'; p++) {
        v = v * 10 + (uint64_t)(*p - '0');
    }
    return v;
}

void console_puts(const char *s)
{
    while (*s) {
        console_putc(*s++);
    }
}

void console_put_u64(uint64_t v)
{
    char digits[20];
    int n = 0;

    do {
        digits[n++] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    while (n) {
        console_putc(digits[--n]);
    }
}
