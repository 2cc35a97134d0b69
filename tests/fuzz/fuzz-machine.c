/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz targets' machine: start-up as in system/main.c, but no main loop. */
#include "qemu/osdep.h"

#include <sys/mman.h>

#include "cmdline/cmdline.h"
#include "cmdline/target.h"
#include "fuzz.h"
#include "hw/boards.h"
#include "migration/migration.h"
#include "monitor/monitor.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "system/cpus.h"
#include "system/machine-info.h"
#include "system/reset.h"
#include "system/runstate.h"

static void fill_info(const Options *o)
{
    SystemMachineInfo *info = machine_info_for_update();
    const MachineClass *mc = MACHINE_GET_CLASS(current_machine());

    info->name = mc->name;
    info->target_name = target_desc.name;
    info->target_page_bits_min = target_desc.page_bits_min;
    info->target_page_bits = MAX(target_desc.page_bits_min,
                                 mc->minimum_page_bits);
    info->incoming = o->incoming->len > 0;
}

void TSA_NO_CHECK fuzz_machine_start(const char *args)
{
    g_autofree char *line = g_strconcat("fuzz ", args, NULL);
    g_auto(GStrv) argv = g_strsplit(line, " ", -1);
    static Options *o; /* machine_info() points into it: never freed */

    error_init("fuzz");
    target_desc.register_types();
    o = options_parse((int)g_strv_length(argv), argv, &error_fatal);
    main_loop_init();
    timers_init();
    runstate_init();
    monitor_init_globals();
    start_machine(o, &error_fatal);
    start_accel(o, &error_fatal);
    start_cpu(o, &error_fatal);
    fill_info(o);
    start_early_backends(o, &error_fatal);
    start_late_backends(o, &error_fatal);
    runstate_set_autostart(false);
    if (machine_info()->incoming) {
        runstate_set(RUN_STATE_INMIGRATE);
    }
    cpu_timers_register();
    machine_run_board_init(current_machine(), &error_fatal);
    start_devices(o, &error_fatal);
    migration_init(&error_fatal);
    qemu_system_reset(SHUTDOWN_CAUSE_NONE);
}

const char *fuzz_file(unsigned n, const void *data, size_t size)
{
    static struct {
        int fd;
        char name[32];
    } files[2];

    g_assert_cmpuint(n, <, ARRAY_SIZE(files));
    if (!files[n].name[0]) {
        files[n].fd = memfd_create("fuzz", MFD_CLOEXEC);
        g_assert_cmpint(files[n].fd, >=, 0);
        g_snprintf(files[n].name, sizeof(files[n].name), "/proc/self/fd/%d",
                   files[n].fd);
    }
    g_assert_cmpint(ftruncate(files[n].fd, 0), ==, 0);
    g_assert_cmpint(pwrite(files[n].fd, data, size, 0), ==, (ssize_t)size);
    return files[n].name;
}
