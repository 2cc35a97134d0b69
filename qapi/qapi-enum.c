/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Enumerations by name: see include/qapi/qapi-types-support.h. */
#include "qemu/osdep.h"

#include "qapi/qapi-types-support.h"

const char *qapi_enum_lookup(const QEnumLookup *lookup, int val)
{
    assert(val >= 0 && val < lookup->size);
    return lookup->array[val];
}

void qapi_enum_append_names(Error **errp, const QEnumLookup *lookup)
{
    g_autoptr(GString) names = g_string_new("; accepted: ");
    Error *longer = NULL;

    if (!errp || !*errp) {
        return;
    }
    for (int i = 0; i < lookup->size; i++) {
        g_string_append_printf(names, "%s%s", i ? ", " : "", lookup->array[i]);
    }
    error_set(&longer, error_get_class(*errp), "%s%s", error_get_pretty(*errp),
              names->str);
    error_free(*errp);
    *errp = longer;
}

int qapi_enum_parse(const QEnumLookup *lookup, const char *buf, int def,
                    Error **errp)
{
    ERRP_GUARD();

    if (!buf) {
        return def;
    }
    for (int i = 0; i < lookup->size; i++) {
        if (strcmp(buf, lookup->array[i]) == 0) {
            return i;
        }
    }
    error_setg(errp, "Parameter value '%s' is not accepted", buf);
    qapi_enum_append_names(errp, lookup);
    return def;
}
