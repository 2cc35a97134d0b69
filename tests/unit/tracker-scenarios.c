/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracker oracle: each scenario over each engine is a test. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "tracker-oracle.h"

static const char *skip_reason; /* NULL: they run */

typedef struct Pair {
    const TrackerEngine *e;
    const Scenario *s;
} Pair;

static void run_pair(gconstpointer opaque)
{
    const Pair *pair = opaque;
    g_autoptr(Error) err = NULL;

    const char *why = skip_reason;

    if (!why && pair->e->unusable) {
        why = pair->e->unusable();
    }
    if (why) {
        g_test_skip(why);
        return;
    }
    if (pair->e->configure) {
        pair->e->configure();
    }
    if (pair->e->ops->probe(&err)) {
        pair->s->func(pair->e);
    } else {
        g_test_skip(error_get_pretty(err));
    }
}

static void add_scenarios(const TrackerEngine *e, const Scenario *s)
{
    for (; s->name; s++) {
        g_autofree char *path = g_strdup_printf("/tracker/%s/%s", e->name,
                                                s->name);
        Pair *pair = g_new(Pair, 1);

        *pair = (Pair){ e, s };
        if (s->needs & ~e->can) {
            g_free(pair);
        } else {
            g_test_add_data_func_full(path, pair, run_pair, g_free);
        }
    }
}

void oracle_add_all(const char *skip)
{
    skip_reason = skip;
    for (const TrackerEngine *e = tracker_engines; e->name; e++) {
        add_scenarios(e, write_scenarios);
        add_scenarios(e, event_scenarios);
        add_scenarios(e, ring_scenarios);
        add_scenarios(e, replace_scenarios);
    }
}
