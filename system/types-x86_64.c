/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What qemu-system-x86_64 is made of. */
#include "qemu/osdep.h"

#include "accel/kvm.h"
#include "accel/qtest.h"
#include "cmdline/target.h"
#include "hw/acpi/pm.h"
#include "hw/block/drive.h"
#include "hw/boards.h"
#include "hw/char/serial.h"
#include "hw/i386/gsi-lines.h"
#include "hw/i386/host-bridge.h"
#include "hw/i386/pc.h"
#include "hw/intc/i8259.h"
#include "hw/intc/ioapic.h"
#include "hw/isa/isa.h"
#include "hw/isa/port92.h"
#include "hw/misc/debugexit.h"
#include "hw/qdev.h"
#include "hw/rtc/mc146818rtc.h"
#include "hw/timer/i8254.h"
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
#ifdef CONFIG_KVM /* the host is of this architecture */
    kvm_accel_register_types();
#endif
    cpu_register_types();
    hostmem_register_types();
    x86_cpu_register_types();
    qdev_register_types();
    isa_register_types();
    isa_serial_register_types();
    mc146818rtc_register_types();
    i8254_register_types();
    i8259_register_types();
    ioapic_register_types();
    port92_register_types();
    acpi_pm_register_types();
    debugexit_register_types();
    ide_hd_register_types();
    gsi_lines_register_types();
    host_bridge_register_types();
    machine_register_types();
    null_machine_register_types();
    pc_machine_register_types();
    migration_register_types();
    monitor_register_types();
}

const TargetDesc target_desc = {
    .name = "x86_64",
    .page_bits_min = 12,
    .configure_rtc = rtc_configure,
    .parse_cpu = x86_cpu_option_parse,
    .print_cpu_options = x86_cpu_print_features,
    .register_types = register_types,
};
