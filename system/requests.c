/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests to stop, reset, power down and quit: see
 * include/system/runstate.h.
 *
 * Askers (any thread, signal handlers) set atomic fields and wake the main
 * loop by an eventfd; it acts on all that is pending, in the order below.
 */
#include "qemu/osdep.h"

#include <glib-unix.h>
#include <sys/eventfd.h>

#include "qapi/qapi-events-run-state.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/cpus.h"
#include "system/reset.h"
#include "system/ram-block.h"
#include "system/runstate.h"
#include "trace-system.h"

#define NO_VMSTOP RUN_STATE__MAX

/* One VM per process. */
static struct {
    int wake_fd; /* constant after runstate_init() */

    /* Atomic: written by askers, taken by the main loop. */
    _Atomic ShutdownCause shutdown;
    _Atomic ShutdownCause reset;
    _Atomic bool powerdown;
    _Atomic bool suspend;
    _Atomic RunState vmstop;
    _Atomic int exit_code;
    _Atomic int signal, signal_pid;
    _Atomic bool no_shutdown; /* a signal or `quit` overrides it */
    _Atomic bool no_reboot;

    /* Guarded by the BQL. */
    NotifierList powerdown_notifiers, shutdown_notifiers, exit_notifiers;
} req = { .wake_fd = -1, .vmstop = NO_VMSTOP };

/* Async-signal-safe. Release: pairs with the acquire of the exchanges. */
static void wake_main_loop(void)
{
    uint64_t one = 1;

    if (req.wake_fd >= 0) {
        (void)!write(req.wake_fd, &one, sizeof(one));
    }
}

/* A device's access, with the BQL held: its vCPU goes no further. */
static void stop_asking_vcpu(void)
{
    if (current_cpu && bql_locked()) {
        current_cpu->stop = true;
        cpu_exit(current_cpu);
    }
}

void qemu_system_vmstop_request(RunState state)
{
    atomic_store(&req.vmstop, state);
    wake_main_loop();
}

bool shutdown_caused_by_guest(ShutdownCause cause)
{
    return cause >= SHUTDOWN_CAUSE_GUEST_SHUTDOWN;
}

void qemu_system_shutdown_request(ShutdownCause reason)
{
    trace_qemu_system_shutdown_request(ShutdownCause_str(reason));
    atomic_store(&req.shutdown, reason);
    stop_asking_vcpu();
    wake_main_loop();
}

void qemu_system_shutdown_request_with_code(ShutdownCause reason, int exit_code)
{
    atomic_store(&req.exit_code, exit_code);
    qemu_system_shutdown_request(reason);
}

void qemu_system_reset_request(ShutdownCause reason)
{
    trace_system_reset_request(ShutdownCause_str(reason));
    if (atomic_load(&req.no_reboot) &&
        reason != SHUTDOWN_CAUSE_SUBSYSTEM_RESET) {
        qemu_system_shutdown_request(reason);
        return;
    }
    atomic_store(&req.reset, reason);
    stop_asking_vcpu();
    wake_main_loop();
}

void qemu_system_suspend_request(void)
{
    atomic_store(&req.suspend, true);
    stop_asking_vcpu();
    wake_main_loop();
}

void qemu_system_powerdown_request(void)
{
    trace_qemu_system_powerdown_request();
    atomic_store(&req.powerdown, true);
    wake_main_loop();
}

void qemu_system_killed(int signal, int pid)
{
    atomic_store(&req.signal, signal);
    atomic_store(&req.signal_pid, pid);
    atomic_store(&req.no_shutdown, false);
    atomic_store(&req.shutdown, SHUTDOWN_CAUSE_HOST_SIGNAL);
    wake_main_loop();
}

bool runstate_take_suspend_request(void)
{
    return atomic_exchange(&req.suspend, false);
}

void runstate_set_no_reboot(bool on)
{
    atomic_store(&req.no_reboot, on);
}

void runstate_set_no_shutdown(bool on)
{
    atomic_store(&req.no_shutdown, on);
}

void qemu_register_powerdown_notifier(Notifier *notifier)
{
    notifier_list_add(&req.powerdown_notifiers, notifier);
}

void qemu_register_shutdown_notifier(Notifier *notifier)
{
    notifier_list_add(&req.shutdown_notifiers, notifier);
}

void qemu_add_exit_notifier(Notifier *notifier)
{
    notifier_list_add(&req.exit_notifiers, notifier);
}

void qemu_remove_exit_notifier(Notifier *notifier)
{
    notifier_list_remove(&req.exit_notifiers, notifier);
}

void qemu_run_exit_notifiers(void)
{
    notifier_list_notify(&req.exit_notifiers, NULL);
}

int qemu_system_exit_code(void)
{
    return atomic_load(&req.exit_code);
}

static void report_signal(void)
{
    int sig = atomic_exchange(&req.signal, 0);
    int pid = atomic_load(&req.signal_pid);
    g_autofree char *path = NULL, *comm = NULL;

    if (!sig) {
        return;
    }
    if (pid == 0) {
        error_report("terminating on signal %d", sig);
        return;
    }
    path = g_strdup_printf("/proc/%d/comm", pid);
    if (g_file_get_contents(path, &comm, NULL, NULL)) {
        g_strchomp(comm);
    }
    error_report("terminating on signal %d from pid %d (%s)", sig, pid,
                 comm ? comm : "<unknown process>");
}

/* Returns whether the main loop shall end. */
static bool act_on_shutdown(ShutdownCause cause)
{
    report_signal();
    qapi_event_send_shutdown(shutdown_caused_by_guest(cause), cause);
    notifier_list_notify(&req.shutdown_notifiers, &cause);
    if (atomic_load(&req.no_shutdown)) {
        vm_stop(RUN_STATE_SHUTDOWN);
        return false;
    }
    return true;
}

static void act_on_reset(ShutdownCause cause)
{
    pause_all_vcpus();
    if (runstate_check(RUN_STATE_SUSPENDED)) {
        vm_stop(RUN_STATE_PRELAUNCH);
    }
    vm_set_suspended(false);
    qemu_system_reset(cause);
    resume_all_vcpus();
    if (!runstate_check(RUN_STATE_RUNNING) &&
        !runstate_check(RUN_STATE_INMIGRATE) &&
        !runstate_check(RUN_STATE_FINISH_MIGRATE)) {
        runstate_set(RUN_STATE_PRELAUNCH);
    }
}

void runstate_process_requests(void)
{
    ShutdownCause cause;
    RunState state;

    cause = atomic_exchange(&req.shutdown, SHUTDOWN_CAUSE_NONE);
    if (cause != SHUTDOWN_CAUSE_NONE && act_on_shutdown(cause)) {
        main_loop_quit();
        return;
    }
    if (runstate_is_running() && runstate_take_suspend_request()) {
        pause_all_vcpus();
        runstate_set(RUN_STATE_SUSPENDED);
        qapi_event_send_suspend();
    }
    cause = atomic_exchange(&req.reset, SHUTDOWN_CAUSE_NONE);
    if (cause != SHUTDOWN_CAUSE_NONE) {
        act_on_reset(cause);
    }
    if (atomic_exchange(&req.powerdown, false)) {
        qapi_event_send_powerdown();
        notifier_list_notify(&req.powerdown_notifiers, NULL);
    }
    state = atomic_exchange(&req.vmstop, NO_VMSTOP);
    if (state != NO_VMSTOP) {
        vm_stop(state);
    }
}

static gboolean requests_pending(gint fd, GIOCondition cond, gpointer opaque)
{
    uint64_t count;

    (void)!read(fd, &count, sizeof(count));
    runstate_process_requests();
    return G_SOURCE_CONTINUE;
}

/* Memory that the host could not give, see qemu_ram_mend(). */
static void stop_for_memory(bool lost)
{
    if (runstate_is_running()) {
        vm_stop(lost ? RUN_STATE_INTERNAL_ERROR : RUN_STATE_IO_ERROR);
    }
}

void runstate_init(void)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    if (fd < 0) {
        g_error("eventfd: %s", strerror(errno));
    }
    req.wake_fd = fd;
    qemu_ram_set_plug_hook(stop_for_memory);
    g_unix_fd_add(fd, G_IO_IN, requests_pending, NULL);
}
