/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"

#include "arm-test.h"
#include "hw-test.h"
#include "hw/arm/virt.h"
#include "hw/boards.h"
#include "hw/char/pl011.h"
#include "hw/intc/arm_gic.h"
#include "hw/intc/arm_gicv3.h"
#include "system/memory.h"

void hw_test_init(void)
{
    arm_test_init();
    machine_register_types();
    qdev_register_types();
    pl011_register_types();
    arm_gic_register_types();
    arm_gicv3_register_types();
    virt_machine_register_types();
}

uint64_t mmio_read(MemoryRegion *mr, hwaddr addr, unsigned size)
{
    uint64_t val = 0;

    g_assert_cmpint(memory_region_dispatch_read(mr, addr, &val, size,
                                                MEMTXATTRS_UNSPECIFIED),
                    ==, MEMTX_OK);
    return val;
}

void mmio_write(MemoryRegion *mr, hwaddr addr, uint64_t val, unsigned size)
{
    g_assert_cmpint(memory_region_dispatch_write(mr, addr, val, size,
                                                 MEMTXATTRS_UNSPECIFIED),
                    ==, MEMTX_OK);
}
