/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Run state: what the virtual machine is doing, who is told when that
 * changes, and requests to stop, reset, power down or quit.
 *
 * The state moves only along the transitions of one table (runstate.c,
 * QEMU's rules); any other is a bug and aborts. A request may come from any
 * thread; it is acted upon in the main loop.
 *
 * Threads: state and handlers are guarded by the BQL, unless marked "any".
 *
 * Used by: monitors, migration/, hw/, accel/. Uses: qapi (RunState).
 */
#ifndef SYSTEM_RUNSTATE_H
#define SYSTEM_RUNSTATE_H

#include "qapi/qapi-types-run-state.h"
#include "qemu/notify.h"

void runstate_init(void); /* state prelaunch; once, from main */

RunState runstate_get(void);         /* any */
bool runstate_check(RunState state); /* any */
bool runstate_is_running(void);      /* any */
/* running or suspended: vCPUs may be "live" as far as the user is concerned */
bool runstate_is_live(RunState state);
/* Must a `cont` be preceded by a reset (shutdown, internal-error)? */
bool runstate_needs_reset(void);
/* Change the state and nothing else. Aborts if the table forbids it. */
void runstate_set(RunState new_state);
bool runstate_transition_valid(RunState from, RunState to);
/* Name ↔ state as it travels in the stream; false: no such state. */
bool runstate_from_str(const char *name, RunState *state);

/* ---- VM change handlers ---- */
typedef void VMChangeStateHandler(void *opaque, bool running, RunState state);
typedef struct VMChangeStateEntry VMChangeStateEntry;

/*
 * Call @cb whenever the VM starts or stops. Lower @priority first at start,
 * last at stop; equal ones in the order they were added (start) or the
 * reverse (stop). At stop, all vCPUs are out of the guest already.
 */
VMChangeStateEntry *qemu_add_vm_change_state_handler_prio(
    VMChangeStateHandler *cb, void *opaque, int priority);
VMChangeStateEntry *qemu_add_vm_change_state_handler(VMChangeStateHandler *cb,
                                                     void *opaque);
void qemu_del_vm_change_state_handler(VMChangeStateEntry *e);
void vm_state_notify(bool running, RunState state);

/* ---- starting and stopping ---- */

/*
 * Stop the VM and go to @state: state set, guest time frozen, all vCPUs out
 * of the guest (signalled together, then waited for), handlers told, event
 * STOP. Does nothing if it is not running (or suspended). From a vCPU's own
 * thread it only asks for it and returns at once.
 */
void vm_stop(RunState state);
/* The same, and if the VM is not running still go to @state. */
void vm_stop_force_state(RunState state);
/* Everything vm_start() does but letting the vCPUs go. False: they shall not
 * go, as the VM runs already or sleeps (see vm_get_suspended()). */
bool vm_prepare_start(void);
void vm_start(void);
/*
 * Has someone called vm_stop() while a migration had the VM stopped? It must not
 * go on then, here or on the target, if that migration says so. BQL.
 */
bool vm_stop_is_wanted(void);
/* At exit: stop without the event. */
void vm_shutdown(void);
/* What vm_stop() took in its parts, for whoever stopped: ns. */
typedef struct VmStopTimes {
    int64_t drain_ns;    /* signal all vCPUs until the last one is out */
    int64_t handlers_ns; /* change handlers */
} VmStopTimes;
VmStopTimes vm_stop_last_times(void);

/*
 * ---- requests: any thread ----
 *
 * A vCPU that asks for a reset or shutdown with the BQL held (from a device)
 * runs no further before that is done.
 */
void qemu_system_vmstop_request(RunState state);
void qemu_system_reset_request(ShutdownCause reason);
void qemu_system_shutdown_request(ShutdownCause reason);
/* The same with the exit status this process ends with. */
void qemu_system_shutdown_request_with_code(ShutdownCause reason,
                                            int exit_code);
void qemu_system_powerdown_request(void);
/* Async-signal-safe: SIGTERM and kin. */
void qemu_system_killed(int signal, int pid);
void qemu_register_powerdown_notifier(Notifier *notifier);
void qemu_register_shutdown_notifier(Notifier *notifier);
/* Called in main with the BQL, after the main loop ended and the VM stopped, before
 * anything is torn down, vCPUs included: for threads that look at such. */
void qemu_add_exit_notifier(Notifier *notifier);
void qemu_remove_exit_notifier(Notifier *notifier);
void qemu_run_exit_notifiers(void);
int qemu_system_exit_code(void);
bool shutdown_caused_by_guest(ShutdownCause cause);

/* ---- guests that sleep (ACPI S3): suspend.c ---- */

/*
 * In state suspended all vCPUs stand still while guest time goes on. Waking
 * up is a reset of the machine that keeps RAM. `stop` (and a migration) may
 * stop a VM that sleeps; starting it again, here or on the target, lets it
 * sleep on.
 */
typedef enum WakeupReason {
    WAKEUP_REASON_OTHER, /* the user: always possible */
    WAKEUP_REASON_RTC,
    WAKEUP_REASON_PMTIMER,
} WakeupReason;

/* Any thread; a vCPU with the BQL, and it runs no further. */
void qemu_system_suspend_request(void);
/*
 * Wake it, at once. Nothing happens if @reason is not enabled; an error if it
 * does not sleep. Main loop, BQL.
 */
bool qemu_system_wakeup_request(WakeupReason reason, Error **errp);
/* All below: BQL. */
void qemu_system_wakeup_enable(WakeupReason reason, bool enabled);
/* By a machine whose firmware interface has S3. */
void qemu_register_wakeup_support(void);
bool qemu_wakeup_suspend_enabled(void);
/* Called between the reset and the first instruction; data: WakeupReason *. */
void qemu_register_wakeup_notifier(Notifier *notifier);
/* Is one pending? It is no longer then. For who stops the VM. */
bool runstate_take_suspend_request(void);

/* Does a stopped VM sleep on when it is started? BQL. */
bool vm_get_suspended(void);
void vm_set_suspended(bool suspended);

/* Act on pending requests; the main loop does so by itself. */
void runstate_process_requests(void);

/* -no-reboot / -no-shutdown and their kin `-action`. Main thread. */
void runstate_set_no_reboot(bool on);
void runstate_set_no_shutdown(bool on);

/*
 * -S and -incoming: shall the VM start by itself (after incoming)?
 * `cont` and `stop` change it while in state inmigrate.
 */
void runstate_set_autostart(bool on);
bool runstate_get_autostart(void);

#endif /* SYSTEM_RUNSTATE_H */
