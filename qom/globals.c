/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -global: see include/qom/object.h. */
#include "qemu/osdep.h"

#include "qom/object.h"

typedef struct GlobalProperty {
    char *driver, *property, *value;
    bool used;
} GlobalProperty;

/* What the command line said; there is one command line. */
static GPtrArray *globals; /* of GlobalProperty * */

void object_register_global(const char *driver, const char *property,
                            const char *value)
{
    GlobalProperty *g = g_new0(GlobalProperty, 1);

    g->driver = g_strdup(driver);
    g->property = g_strdup(property);
    g->value = g_strdup(value);
    if (!globals) {
        globals = g_ptr_array_new();
    }
    g_ptr_array_add(globals, g);
}

bool object_apply_globals(Object *obj, Error **errp)
{
    ERRP_GUARD();

    for (guint i = 0; globals && i < globals->len; i++) {
        GlobalProperty *g = g_ptr_array_index(globals, i);

        if (!object_dynamic_cast(obj, g->driver)) {
            continue;
        }
        g->used = true;
        if (!object_property_parse(obj, g->property, g->value, errp)) {
            error_prepend(errp, "can't apply global %s.%s=%s: ", g->driver,
                          g->property, g->value);
            return false;
        }
    }
    return true;
}

void object_check_globals(void)
{
    for (guint i = 0; globals && i < globals->len; i++) {
        GlobalProperty *g = g_ptr_array_index(globals, i);

        if (!object_class_by_name(g->driver)) {
            warn_report("global %s.%s: there is no type '%s'", g->driver,
                        g->property, g->driver);
        } else if (!g->used) {
            warn_report("global %s.%s=%s not used", g->driver, g->property,
                        g->value);
        }
    }
}
