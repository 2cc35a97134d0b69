/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Run state, and stopping and starting: see include/system/runstate.h. */
#include "qemu/osdep.h"

#include "qapi/qapi-events-run-state.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "system/cpus.h"
#include "system/runstate.h"
#include "trace-system.h"

/* One VM per process. */
static struct {
    _Atomic RunState state; /* written under the BQL, read by any thread */
    bool autostart;         /* guarded by the BQL, like all below */
    bool was_suspended;     /* when it was stopped */
    bool stop_wanted;       /* see vm_stop_is_wanted() */
    GList *handlers;        /* VMChangeStateEntry, by rising priority */
    VmStopTimes last_stop;
} vm = { .state = RUN_STATE_PRELAUNCH, .autostart = true };

struct VMChangeStateEntry {
    VMChangeStateHandler *cb;
    void *opaque;
    int priority;
};

/*
 * Where one may go from each state. Rows name the state left, the set holds
 * the states entered; they are QEMU's rules for the states we have a use for
 * and for those that a stream or a client may bring.
 */
#define TO(x) (UINT32_C(1) << RUN_STATE_##x)

static const uint32_t allowed[RUN_STATE__MAX] = {
    [RUN_STATE_PRELAUNCH] = TO(RUNNING) | TO(FINISH_MIGRATE) | TO(INMIGRATE) |
                            TO(SUSPENDED),
    [RUN_STATE_INMIGRATE] = TO(RUNNING) | TO(PAUSED) | TO(PRELAUNCH) |
                            TO(POSTMIGRATE) | TO(FINISH_MIGRATE) |
                            TO(SHUTDOWN) | TO(SUSPENDED) | TO(WATCHDOG) |
                            TO(GUEST_PANICKED) | TO(INTERNAL_ERROR) |
                            TO(IO_ERROR) | TO(COLO),
    [RUN_STATE_RUNNING] = TO(PAUSED) | TO(FINISH_MIGRATE) | TO(SHUTDOWN) |
                          TO(SUSPENDED) | TO(WATCHDOG) | TO(GUEST_PANICKED) |
                          TO(INTERNAL_ERROR) | TO(IO_ERROR) | TO(DEBUG) |
                          TO(SAVE_VM) | TO(RESTORE_VM) | TO(COLO),
    [RUN_STATE_PAUSED] = TO(RUNNING) | TO(FINISH_MIGRATE) | TO(POSTMIGRATE) |
                         TO(PRELAUNCH) | TO(SUSPENDED) | TO(COLO),
    [RUN_STATE_FINISH_MIGRATE] = TO(RUNNING) | TO(PAUSED) | TO(POSTMIGRATE) |
                                 TO(PRELAUNCH) | TO(SHUTDOWN) | TO(SUSPENDED) |
                                 TO(WATCHDOG) | TO(GUEST_PANICKED) |
                                 TO(INTERNAL_ERROR) | TO(IO_ERROR) | TO(COLO),
    [RUN_STATE_POSTMIGRATE] = TO(RUNNING) | TO(FINISH_MIGRATE) | TO(PRELAUNCH) |
                              TO(SUSPENDED),
    [RUN_STATE_SHUTDOWN] = TO(PAUSED) | TO(FINISH_MIGRATE) | TO(PRELAUNCH) |
                           TO(COLO),
    [RUN_STATE_SUSPENDED] = TO(RUNNING) | TO(PAUSED) | TO(FINISH_MIGRATE) |
                            TO(PRELAUNCH) | TO(SHUTDOWN) | TO(SAVE_VM) |
                            TO(RESTORE_VM) | TO(COLO),
    [RUN_STATE_WATCHDOG] = TO(RUNNING) | TO(FINISH_MIGRATE) | TO(PRELAUNCH) |
                           TO(COLO),
    [RUN_STATE_GUEST_PANICKED] = TO(RUNNING) | TO(FINISH_MIGRATE) |
                                 TO(PRELAUNCH),
    [RUN_STATE_INTERNAL_ERROR] = TO(PAUSED) | TO(FINISH_MIGRATE) |
                                 TO(PRELAUNCH),
    [RUN_STATE_IO_ERROR] = TO(RUNNING) | TO(FINISH_MIGRATE) | TO(PRELAUNCH),
    [RUN_STATE_DEBUG] = TO(RUNNING) | TO(SUSPENDED) | TO(FINISH_MIGRATE) |
                        TO(PRELAUNCH),
    [RUN_STATE_SAVE_VM] = TO(RUNNING) | TO(SUSPENDED),
    [RUN_STATE_RESTORE_VM] = TO(RUNNING) | TO(SUSPENDED) | TO(PRELAUNCH),
    [RUN_STATE_COLO] = TO(RUNNING) | TO(PRELAUNCH) | TO(SHUTDOWN),
};

#undef TO

RunState runstate_get(void)
{
    return atomic_load_explicit(&vm.state, memory_order_relaxed);
}

bool runstate_check(RunState state)
{
    return runstate_get() == state;
}

bool runstate_is_running(void)
{
    return runstate_check(RUN_STATE_RUNNING);
}

bool runstate_is_live(RunState state)
{
    return state == RUN_STATE_RUNNING || state == RUN_STATE_SUSPENDED;
}

bool runstate_needs_reset(void)
{
    return runstate_check(RUN_STATE_INTERNAL_ERROR) ||
           runstate_check(RUN_STATE_SHUTDOWN);
}

bool runstate_transition_valid(RunState from, RunState to)
{
    return (allowed[from] >> to) & 1;
}

bool runstate_from_str(const char *name, RunState *state)
{
    int v = qapi_enum_parse(&RunState_lookup, name, -1, NULL);

    if (v < 0) {
        return false;
    }
    *state = v;
    return true;
}

void runstate_set(RunState new_state)
{
    RunState old = runstate_get();

    if (new_state == old) {
        return;
    }
    if (!runstate_transition_valid(old, new_state)) {
        error_report("invalid runstate transition: '%s' -> '%s'",
                     RunState_str(old), RunState_str(new_state));
        abort();
    }
    trace_runstate_set(RunState_str(old), RunState_str(new_state));
    atomic_store_explicit(&vm.state, new_state, memory_order_relaxed);
}

void runstate_set_autostart(bool on)
{
    vm.autostart = on;
}

bool runstate_get_autostart(void)
{
    return vm.autostart;
}

/* ---- change handlers ---- */

VMChangeStateEntry *qemu_add_vm_change_state_handler_prio(
    VMChangeStateHandler *cb, void *opaque, int priority)
{
    VMChangeStateEntry *e = g_new(VMChangeStateEntry, 1);
    GList *l;

    *e = (VMChangeStateEntry){ cb, opaque, priority };
    for (l = vm.handlers; l; l = l->next) {
        if (((VMChangeStateEntry *)l->data)->priority > priority) {
            break;
        }
    }
    vm.handlers = g_list_insert_before(vm.handlers, l, e);
    return e;
}

VMChangeStateEntry *qemu_add_vm_change_state_handler(VMChangeStateHandler *cb,
                                                     void *opaque)
{
    return qemu_add_vm_change_state_handler_prio(cb, opaque, 0);
}

void qemu_del_vm_change_state_handler(VMChangeStateEntry *e)
{
    vm.handlers = g_list_remove(vm.handlers, e);
    g_free(e);
}

void vm_state_notify(bool running, RunState state)
{
    GList *l = running ? vm.handlers : g_list_last(vm.handlers);
    GList *next;

    trace_vm_state_notify(running, RunState_str(state));
    for (; l; l = next) {
        VMChangeStateEntry *e = l->data;

        next = running ? l->next : l->prev; /* it may remove itself */
        e->cb(e->opaque, running, state);
    }
}

/* ---- stopping and starting ---- */

VmStopTimes vm_stop_last_times(void)
{
    return vm.last_stop;
}

static void do_vm_stop(RunState state, bool tell)
{
    RunState old = runstate_get();
    int64_t t0_ns, t1_ns;

    if (!runstate_is_live(old)) {
        vm.stop_wanted |= old == RUN_STATE_FINISH_MIGRATE;
        return;
    }
    vm.stop_wanted = false;
    vm.was_suspended = old == RUN_STATE_SUSPENDED;
    runstate_set(state);
    t0_ns = get_clock();
    pause_all_vcpus();
    cpu_disable_ticks(); /* the guest's time goes on as long as it runs */
    if (runstate_take_suspend_request()) {
        vm.was_suspended = true;
        qapi_event_send_suspend();
    }
    t1_ns = get_clock();
    vm_state_notify(false, state);
    vm.last_stop = (VmStopTimes){
        .drain_ns = t1_ns - t0_ns,
        .handlers_ns = get_clock() - t1_ns,
    };
    trace_vm_stop_took(vm.last_stop.drain_ns, vm.last_stop.handlers_ns);
    if (tell) {
        qapi_event_send_stop();
    }
}

void vm_stop(RunState state)
{
    if (current_cpu) {
        /* It cannot wait for itself: the main loop does it soon. */
        qemu_system_vmstop_request(state);
        current_cpu->stop = true;
        cpu_exit(current_cpu);
        return;
    }
    do_vm_stop(state, true);
}

void vm_stop_force_state(RunState state)
{
    if (runstate_is_live(runstate_get())) {
        vm_stop(state);
    } else {
        runstate_set(state);
    }
}

void vm_shutdown(void)
{
    do_vm_stop(RUN_STATE_SHUTDOWN, false);
}

bool vm_stop_is_wanted(void)
{
    return vm.stop_wanted;
}

bool vm_get_suspended(void)
{
    return vm.was_suspended;
}

void vm_set_suspended(bool suspended)
{
    vm.was_suspended = suspended;
}

bool vm_prepare_start(void)
{
    RunState state = vm.was_suspended ? RUN_STATE_SUSPENDED : RUN_STATE_RUNNING;

    if (runstate_is_running()) {
        /* Whoever asked waits for news of both kinds. */
        qapi_event_send_stop();
        qapi_event_send_resume();
        return false;
    }
    qapi_event_send_resume();
    cpu_enable_ticks();
    runstate_set(state);
    vm_state_notify(true, state);
    vm.was_suspended = false;
    return state == RUN_STATE_RUNNING;
}

void vm_start(void)
{
    if (vm_prepare_start()) {
        resume_all_vcpus();
    }
}
