/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reset: whoever has state that a machine reset must bring to its beginning
 * registers here.
 *
 * Handlers run in the order they were registered, under the BQL, with all
 * vCPUs out of the guest.
 *
 * Used by: hw/, target/, migration tests. Uses: runstate.h.
 */
#ifndef SYSTEM_RESET_H
#define SYSTEM_RESET_H

#include "qapi/qapi-types-run-state.h"

typedef void QEMUResetHandler(void *opaque);

void qemu_register_reset(QEMUResetHandler *func, void *opaque);
void qemu_unregister_reset(QEMUResetHandler *func, void *opaque);

/* Call every handler. Nothing else: no event, no run state. */
void qemu_devices_reset(void);
/*
 * A whole reset: handlers, vCPU state to the accelerator, and the event
 * RESET unless @reason is SHUTDOWN_CAUSE_NONE. vCPUs must be stopped.
 */
void qemu_system_reset(ShutdownCause reason);
/*
 * True while the VM waits for an incoming stream: reset handlers must not
 * load anything into RAM then (it may be shared with the running source).
 */
bool qemu_reset_must_spare_ram(void);
/* True in handlers while the guest wakes from sleep. */
bool qemu_reset_is_wakeup(void);
/* Such a reset, without event: the whole of it. For suspend.c. */
void qemu_system_wakeup_reset(void);

#endif /* SYSTEM_RESET_H */
