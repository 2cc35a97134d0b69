/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Start-up and end of a process.
 *
 *  1. options are parsed; -help, -version and `help` arguments end here
 *  2. into the background (-daemonize: the parent waits), pid file, log,
 *     the filter of system calls
 *  3. machine object and accelerator, so that wrong settings end it early
 *  4. sockets: chardevs and monitors listen from here on
 *  5. memory back ends, qtest, serial lines
 *  6. RAM, the board, devices of the user's
 *  7. reset; another root and user; then the VM starts, waits (-S), or waits
 *     for a stream (-incoming)
 *  8. the waiting parent is let go, and the main loop runs until the end
 */
#include "qemu/osdep.h"

#include <signal.h>
#include <sys/prctl.h>

#include "chardev/char.h"
#include "cmdline/cmdline.h"
#include "cmdline/target.h"
#include "hw/boards.h"
#include "hw/hmp.h"
#include "hw/monitor-cmds.h"
#include "migration/migration.h"
#include "monitor/monitor.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "qom/hmp.h"
#include "qom/user-creatable.h"
#include "system/cpus.h"
#include "system/machine-info.h"
#include "system/monitor-cmds.h"
#include "system/own-files.h"
#include "system/reset.h"
#include "system/runstate.h"
#include "vmstate/savevm.h"

static bool start_process(Options *o, pid_t parent, Error **errp)
{
    if (o->daemonize && !daemonize_begin(errp)) {
        return false;
    }
    start_expect_files(o);
    if (o->process_name) {
        prctl(PR_SET_NAME, o->process_name); /* cut at 15 bytes */
    }
    return start_parent_watch(o, parent, errp) &&
           (!o->pidfile || pidfile_write(o->pidfile, errp)) &&
           start_log(o, errp) && start_sandbox(o, errp);
}

static void start_commands(void)
{
    monitor_init_globals();
    hmp_add_commands(hmp_system_commands);
    hmp_add_info_commands(hmp_system_info_commands);
    hmp_add_commands(hmp_cpu_commands);
    hmp_add_info_commands(hmp_cpu_info_commands);
    hmp_add_commands(hmp_log_commands);
    hmp_add_info_commands(hmp_log_info_commands);
    hmp_add_commands(hmp_memory_commands);
    hmp_add_info_commands(hmp_memory_info_commands);
    hmp_add_commands(hmp_dirty_rate_commands);
    hmp_add_info_commands(hmp_dirty_rate_info_commands);
    hmp_add_info_commands(hmp_dirty_info_commands);
    hmp_add_commands(hmp_qom_commands);
    hmp_add_info_commands(hmp_qom_info_commands);
    hmp_add_commands(hmp_machine_commands);
    hmp_add_info_commands(hmp_machine_info_commands);
    hmp_add_commands(hmp_hw_commands);
    hmp_add_info_commands(hmp_hw_info_commands);
    hmp_add_commands(hmp_migration_commands);
    hmp_add_info_commands(hmp_migration_info_commands);
}

static void fill_machine_info(const Options *o)
{
    SystemMachineInfo *info = machine_info_for_update();
    const MachineState *ms = current_machine();
    const MachineClass *mc = MACHINE_GET_CLASS(ms);

    info->name = mc->name;
    info->target_name = target_desc.name;
    info->target_page_bits_min = target_desc.page_bits_min;
    info->target_page_bits = MAX(target_desc.page_bits_min,
                                 mc->minimum_page_bits);
    info->vm_name = o->name;
    memcpy(info->uuid, o->uuid, sizeof(info->uuid));
    info->uuid_set = o->uuid_set;
    info->suppress_vmdesc = ms->suppress_vmdesc;
    info->only_migratable = o->only_migratable;
    info->incoming = o->incoming->len > 0;
}

static void end(void)
{
    if (bql_locked()) {
        vm_shutdown();
        /* Threads that look at vCPUs end before these do. The migration's may
         * have let the guest go on meanwhile. */
        qemu_run_exit_notifiers();
        vm_shutdown();
        cpus_shutdown();
        monitor_cleanup();
        qemu_chr_cleanup_all();
        user_creatable_cleanup();
    }
    pidfile_remove();
}

static bool start_vm(Options *o, Error **errp)
{
    if (!start_machine(o, errp) || !start_accel(o, errp) ||
        !start_cpu(o, errp)) {
        return false;
    }
    fill_machine_info(o);
    if (!start_early_backends(o, errp) || !start_late_backends(o, errp)) {
        return false;
    }
    runstate_set_autostart(!o->stopped);
    if (machine_info()->incoming) {
        /* Before the board: nothing may be loaded into RAM then. */
        runstate_set(RUN_STATE_INMIGRATE);
    }
    cpu_timers_register();
    if (!start_drives(o, errp) ||
        !machine_run_board_init(current_machine(), errp) ||
        !start_devices(o, errp)) {
        return false;
    }
    own_files_are_there();
    if (o->only_migratable && savevm_unmigratable()) {
        error_setg(errp,
                   "Device '%s' cannot migrate, and -only-migratable "
                   "was given",
                   savevm_unmigratable());
        return false;
    }
    if (current_machine()->dumpdtb) {
        if (machine_dump_dtb(current_machine(), current_machine()->dumpdtb,
                             errp)) {
            end();
            exit(0);
        }
        return false;
    }
    machine_info_for_update()->ram_size_bytes =
        current_machine()->ram_size_bytes;
    if (!migration_init(errp)) {
        return false;
    }
    object_check_globals();
    qemu_system_reset(SHUTDOWN_CAUSE_NONE);
    return true;
}

static bool let_go(const Options *o, pid_t parent, Error **errp)
{
    /* It listens; nothing is read before the main loop runs. */
    if (machine_info()->incoming && !start_incoming(o, errp)) {
        return false;
    }
    if (!start_confined(o, parent, errp)) {
        return false;
    }
    if (!machine_info()->incoming && runstate_get_autostart()) {
        vm_start();
    }
    return true;
}

static int fail(Error *err)
{
    error_report_err(err);
    end();
    return 1;
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    pid_t parent = getppid();
    Error *err = NULL;
    g_autoptr(Options) o = NULL; /* machine_info() points into it */

    error_init(argv[0]);
    target_desc.register_types();
    o = options_parse(argc, argv, &err);
    if (!o || !start_help(o, &err) || !start_process(o, parent, &err)) {
        return fail(err);
    }
    main_loop_init();
    timers_init();
    runstate_init();
    start_signals();
    start_qtest_irqs();
    runstate_set_no_reboot(o->no_reboot);
    runstate_set_no_shutdown(o->no_shutdown);
    start_commands();
    if (!start_vm(o, &err)) {
        return fail(err);
    }
    signals_started();
    if (!let_go(o, parent, &err) || !daemonize_finish(&err)) {
        return fail(err);
    }
    main_loop_run();
    end();
    return qemu_system_exit_code();
}
