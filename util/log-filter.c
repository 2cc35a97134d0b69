/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -dfilter: see include/qemu/log.h. */
#include "qemu/osdep.h"

#include "qemu/cutils.h"
#include "qemu/error.h"
#include "qemu/log.h"

typedef struct AddrRange {
    uint64_t first, last; /* both included */
} AddrRange;

/* Of -dfilter; constant once threads run. NULL: everything. */
static struct {
    GArray *ranges; /* AddrRange */
} filter;

/* Where START ends in "START..END", "START+LEN", "START-LEN". */
static const char *operator_of(const char *text)
{
    return text + strcspn(text, ".+-");
}

static bool parse_range(const char *text, AddrRange *range, Error **errp)
{
    const char *op = operator_of(text);
    bool to = g_str_has_prefix(op, "..");
    g_autofree char *start = g_strndup(text, op - text);
    uint64_t first, second;

    if (!*op || (*op == '.' && !to) ||
        qemu_strtou64(start, NULL, 0, &first) < 0 ||
        qemu_strtou64(op + (to ? 2 : 1), NULL, 0, &second) < 0) {
        error_setg(errp,
                   "'%s' is no range of addresses: START..END, "
                   "START+LENGTH or START-LENGTH",
                   text);
        return false;
    }
    if (to) {
        *range = (AddrRange){ first, second };
    } else if (*op == '+') {
        *range = (AddrRange){ first, first + (second - 1) };
    } else {
        *range = (AddrRange){ first - (second - 1), first };
    }
    if (range->first > range->last || (!to && !second)) {
        error_setg(errp, "'%s' is an empty range, or goes beyond 2^64", text);
        return false;
    }
    return true;
}

bool qemu_set_dfilter_ranges(const char *ranges, Error **errp)
{
    g_auto(GStrv) parts = g_strsplit(*ranges ? ranges : ",", ",", -1);
    g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(AddrRange));

    for (char **p = parts; *p; p++) {
        AddrRange range;

        if (!parse_range(*p, &range, errp)) {
            return false;
        }
        g_array_append_val(list, range);
    }
    g_clear_pointer(&filter.ranges, g_array_unref);
    filter.ranges = g_steal_pointer(&list);
    return true;
}

bool qemu_log_in_addr_range(uint64_t addr)
{
    for (guint i = 0; filter.ranges && i < filter.ranges->len; i++) {
        const AddrRange *r = &g_array_index(filter.ranges, AddrRange, i);

        if (addr >= r->first && addr <= r->last) {
            return true;
        }
    }
    return !filter.ranges;
}
