/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reset: see include/system/reset.h. */
#include "qemu/osdep.h"

#include "qapi/qapi-events-run-state.h"
#include "system/cpus.h"
#include "system/reset.h"
#include "system/runstate.h"

typedef struct ResetEntry {
    QEMUResetHandler *func;
    void *opaque;
} ResetEntry;

/* In order of registration; guarded by the BQL. One machine per process. */
static GList *reset_handlers;
static bool waking_up;

void qemu_register_reset(QEMUResetHandler *func, void *opaque)
{
    ResetEntry *re = g_new(ResetEntry, 1);

    *re = (ResetEntry){ func, opaque };
    reset_handlers = g_list_append(reset_handlers, re);
}

void qemu_unregister_reset(QEMUResetHandler *func, void *opaque)
{
    for (GList *l = reset_handlers; l; l = l->next) {
        ResetEntry *re = l->data;

        if (re->func == func && re->opaque == opaque) {
            reset_handlers = g_list_delete_link(reset_handlers, l);
            g_free(re);
            return;
        }
    }
}

void qemu_devices_reset(void)
{
    GList *next;

    for (GList *l = reset_handlers; l; l = next) {
        ResetEntry *re = l->data;

        next = l->next; /* a handler may remove itself */
        re->func(re->opaque);
    }
}

bool qemu_reset_must_spare_ram(void)
{
    return runstate_check(RUN_STATE_INMIGRATE);
}

void qemu_system_reset(ShutdownCause reason)
{
    cpu_synchronize_all_states();
    qemu_devices_reset();
    if (reason != SHUTDOWN_CAUSE_NONE) {
        qapi_event_send_reset(shutdown_caused_by_guest(reason), reason);
    }
    cpu_synchronize_all_post_reset();
}

bool qemu_reset_is_wakeup(void)
{
    return waking_up;
}

void qemu_system_wakeup_reset(void)
{
    waking_up = true;
    qemu_system_reset(SHUTDOWN_CAUSE_NONE);
    waking_up = false;
}
