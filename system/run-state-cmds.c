/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands about the run state and what the VM is: QMP and HMP. */
#include "qemu/osdep.h"

#include "qapi/qapi-commands-accelerator.h"
#include "qapi/qapi-commands-control.h"
#include "qapi/qapi-commands-machine.h"
#include "qapi/qapi-commands-misc.h"
#include "qapi/qapi-commands-run-state.h"
#include "qemu/cutils.h"
#include "qemu/monitor-sink.h"
#include "system/accel.h"
#include "system/machine-info.h"
#include "system/monitor-cmds.h"
#include "system/ram-block.h"
#include "system/runstate.h"

StatusInfo *qmp_query_status(Error **errp)
{
    StatusInfo *info = g_new0(StatusInfo, 1);

    info->running = runstate_is_running();
    info->status = runstate_get();
    return info;
}

void qmp_stop(Error **errp)
{
    if (runstate_check(RUN_STATE_INMIGRATE)) {
        runstate_set_autostart(false);
    } else {
        vm_stop(RUN_STATE_PAUSED);
    }
}

void qmp_cont(Error **errp)
{
    if (runstate_needs_reset()) {
        error_setg(errp, "Resetting the Virtual Machine is required");
    } else if (runstate_check(RUN_STATE_FINISH_MIGRATE)) {
        error_setg(errp, "Migration is not finalized yet");
    } else if (runstate_check(RUN_STATE_INMIGRATE)) {
        runstate_set_autostart(true);
    } else if (!runstate_check(RUN_STATE_SUSPENDED) && qemu_ram_mend(errp)) {
        vm_start();
    }
}

void qmp_system_reset(Error **errp)
{
    qemu_system_reset_request(SHUTDOWN_CAUSE_HOST_QMP_SYSTEM_RESET);
}

void qmp_system_powerdown(Error **errp)
{
    qemu_system_powerdown_request();
}

void qmp_system_wakeup(Error **errp)
{
    if (!qemu_wakeup_suspend_enabled()) {
        error_setg(errp, "wake-up from suspend is not supported by this guest");
        return;
    }
    qemu_system_wakeup_request(WAKEUP_REASON_OTHER, errp);
}

CurrentMachineParams *qmp_query_current_machine(Error **errp)
{
    CurrentMachineParams *info = g_new0(CurrentMachineParams, 1);

    info->wakeup_suspend_support = qemu_wakeup_suspend_enabled();
    return info;
}

void qmp_quit(Error **errp)
{
    runstate_set_no_shutdown(false);
    qemu_system_shutdown_request(SHUTDOWN_CAUSE_HOST_QMP_QUIT);
}

NameInfo *qmp_query_name(Error **errp)
{
    NameInfo *info = g_new0(NameInfo, 1);

    info->name = g_strdup(machine_info()->vm_name);
    return info;
}

UuidInfo *qmp_query_uuid(Error **errp)
{
    UuidInfo *info = g_new0(UuidInfo, 1);
    char text[UUID_STR_LEN];

    qemu_uuid_unparse(machine_info()->uuid, text);
    info->UUID = g_strdup(text);
    return info;
}

TargetInfo *qmp_query_target(Error **errp)
{
    TargetInfo *info = g_new0(TargetInfo, 1);

    info->arch = qapi_enum_parse(&SysEmuTarget_lookup,
                                 machine_info()->target_name, 0, &error_abort);
    return info;
}

MemoryInfo *qmp_query_memory_size_summary(Error **errp)
{
    MemoryInfo *info = g_new0(MemoryInfo, 1);

    info->base_memory = machine_info()->ram_size_bytes;
    info->has_plugged_memory = true;
    return info;
}

KvmInfo *qmp_query_kvm(Error **errp)
{
    KvmInfo *info = g_new0(KvmInfo, 1);

    info->enabled = g_str_equal(current_accel_name(), "kvm");
    info->present = accel_find("kvm") != NULL;
    return info;
}

AcceleratorInfo *qmp_query_accelerators(Error **errp)
{
    AcceleratorInfo *info = g_new0(AcceleratorInfo, 1);
    AcceleratorList **tail = &info->present;

    info->enabled = qapi_enum_parse(&Accelerator_lookup, current_accel_name(),
                                    0, &error_abort);
    for (int i = 0; i < ACCELERATOR__MAX; i++) {
        if (accel_find(Accelerator_str(i))) {
            QAPI_LIST_APPEND(tail, i);
        }
    }
    return info;
}

/* ---- HMP ---- */

static void hmp_stop(Monitor *mon, json_object *args)
{
    Error *err = NULL;

    qmp_stop(&err);
    hmp_handle_error(mon, err);
}

static void hmp_cont(Monitor *mon, json_object *args)
{
    Error *err = NULL;

    qmp_cont(&err);
    hmp_handle_error(mon, err);
}

static void hmp_system_reset(Monitor *mon, json_object *args)
{
    qmp_system_reset(NULL);
}

static void hmp_system_powerdown(Monitor *mon, json_object *args)
{
    qmp_system_powerdown(NULL);
}

static void hmp_system_wakeup(Monitor *mon, json_object *args)
{
    Error *err = NULL;

    qmp_system_wakeup(&err);
    hmp_handle_error(mon, err);
}

static void hmp_quit(Monitor *mon, json_object *args)
{
    qmp_quit(NULL);
}

static void hmp_info_status(Monitor *mon, json_object *args)
{
    RunState state = runstate_get();

    monitor_printf(mon, "VM status: %s",
                   runstate_is_running() ? "running" : "paused");
    if (!runstate_is_running() && state != RUN_STATE_PAUSED) {
        monitor_printf(mon, " (%s)", RunState_str(state));
    }
    monitor_puts(mon, "\n");
}

static void hmp_info_name(Monitor *mon, json_object *args)
{
    if (machine_info()->vm_name) {
        monitor_printf(mon, "%s\n", machine_info()->vm_name);
    }
}

static void hmp_info_uuid(Monitor *mon, json_object *args)
{
    char text[UUID_STR_LEN];

    qemu_uuid_unparse(machine_info()->uuid, text);
    monitor_printf(mon, "%s\n", text);
}

static void hmp_info_kvm(Monitor *mon, json_object *args)
{
    g_autoptr(KvmInfo) info = qmp_query_kvm(NULL);

    monitor_printf(mon, "kvm support: %s\n",
                   !info->present  ? "not compiled"
                   : info->enabled ? "enabled"
                                   : "disabled");
}

static void hmp_info_accelerators(Monitor *mon, json_object *args)
{
    g_autoptr(AcceleratorInfo) info = qmp_query_accelerators(NULL);

    for (AcceleratorList *l = info->present; l; l = l->next) {
        monitor_printf(mon, l->value == info->enabled ? "%s[%s]" : "%s%s",
                       l == info->present ? "" : " ",
                       Accelerator_str(l->value));
    }
    monitor_puts(mon, "\n");
}

const HMPCommand hmp_system_commands[] = {
    { .name = "stop|s",
      .args_type = "",
      .params = "",
      .help = "stop the virtual machine",
      .cmd = hmp_stop },
    { .name = "cont|c",
      .args_type = "",
      .params = "",
      .help = "let the virtual machine run (on)",
      .cmd = hmp_cont },
    { .name = "system_reset",
      .args_type = "",
      .params = "",
      .help = "reset the machine",
      .cmd = hmp_system_reset },
    { .name = "system_powerdown",
      .args_type = "",
      .params = "",
      .help = "press the power button",
      .cmd = hmp_system_powerdown },
    { .name = "system_wakeup",
      .args_type = "",
      .params = "",
      .help = "wake the guest from sleep",
      .cmd = hmp_system_wakeup },
    { .name = "quit|q",
      .args_type = "",
      .params = "",
      .help = "end this program",
      .cmd = hmp_quit },
    { .name = NULL },
};

const HMPCommand hmp_system_info_commands[] = {
    { .name = "status",
      .args_type = "",
      .params = "",
      .help = "show what the virtual machine is doing",
      .cmd = hmp_info_status },
    { .name = "name",
      .args_type = "",
      .params = "",
      .help = "show the name given with -name",
      .cmd = hmp_info_name },
    { .name = "uuid",
      .args_type = "",
      .params = "",
      .help = "show the UUID given with -uuid",
      .cmd = hmp_info_uuid },
    { .name = "kvm",
      .args_type = "",
      .params = "",
      .help = "show whether KVM is there and in use",
      .cmd = hmp_info_kvm },
    { .name = "accelerators",
      .args_type = "",
      .params = "",
      .help = "show the accelerators and which is in use",
      .cmd = hmp_info_accelerators },
    { .name = NULL },
};
