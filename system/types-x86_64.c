/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What qemu-system-x86_64 is made of. */
#include "qemu/osdep.h"

#include "accel/qtest.h"
#include "cmdline/target.h"
#include "hw/boards.h"
#include "hw/qdev.h"
#include "migration/migration.h"
#include "monitor/monitor.h"
#include "qom/object.h"
#include "system/accel.h"
#include "system/cpus.h"
#include "system/hostmem.h"
#include "target/i386/cpu-option.h"
#include "target/i386/x86-cpu.h"

static void register_types(void)
{
    qom_register_types();
    accel_register_types();
    qtest_accel_register_types();
    cpu_register_types();
    hostmem_register_types();
    x86_cpu_register_types();
    qdev_register_types();
    machine_register_types();
    null_machine_register_types();
    migration_register_types();
    monitor_register_types();
}

const TargetDesc target_desc = {
    .name = "x86_64",
    .page_bits_min = 12,
    .parse_cpu = x86_cpu_option_parse,
    .print_cpu_options = x86_cpu_print_features,
    .register_types = register_types,
};
