/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the tests of the ARM machine's devices. */
#ifndef TESTS_UNIT_ARM_HW_TEST_H
#define TESTS_UNIT_ARM_HW_TEST_H

/* arm_test_init() and the types of hw/. */
void hw_test_init(void);

/* One access to a device's window; it must be valid. */
uint64_t mmio_read(MemoryRegion *mr, hwaddr addr, unsigned size);
void mmio_write(MemoryRegion *mr, hwaddr addr, uint64_t val, unsigned size);

#endif /* TESTS_UNIT_ARM_HW_TEST_H */
