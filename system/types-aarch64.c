/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What qemu-system-aarch64 is made of. */
#include "qemu/osdep.h"

#include "accel/kvm.h"
#include "accel/qtest.h"
#include "accel/tcg.h"
#include "cmdline/target.h"
#include "hw/arm/virt.h"
#include "hw/boards.h"
#include "hw/char/pl011.h"
#include "hw/intc/arm_gic.h"
#include "hw/intc/arm_gicv3.h"
#include "hw/intc/kernel_gicv3.h"
#include "hw/qdev.h"
#include "migration/migration.h"
#include "monitor/monitor.h"
#include "qom/object.h"
#include "system/accel.h"
#include "system/cpus.h"
#include "system/hostmem.h"
#include "target/arm/arm-cpu.h"

static void register_types(void)
{
    qom_register_types();
    accel_register_types();
    qtest_accel_register_types();
    tcg_accel_register_types();
#ifdef CONFIG_KVM /* the host is of this architecture */
    kvm_accel_register_types();
#endif
    cpu_register_types();
    hostmem_register_types();
    arm_cpu_register_types();
    qdev_register_types();
    pl011_register_types();
    arm_gic_register_types();
    arm_gicv3_register_types();
    kernel_gicv3_register_types();
    machine_register_types();
    null_machine_register_types();
    virt_machine_register_types();
    migration_register_types();
    monitor_register_types();
}

const TargetDesc target_desc = {
    .name = "aarch64",
    .page_bits_min = 10,
    .register_types = register_types,
};
