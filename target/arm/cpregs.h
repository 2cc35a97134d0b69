/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries of the register list in the section `cpu`: index and reset value.
 *
 * The index is the register's id in KVM's interface: architecture and width
 * in the top half, then for AArch64 op0:2 op1:3 CRn:4 CRm:4 op2:3, for the
 * AArch32 coprocessors CRn:4 CRm:4 opc1:4 opc2:3 (CRm and opc1 alone for
 * 64-bit ones), with bit 29 for "non-secure".
 */
#ifndef TARGET_ARM_CPREGS_H
#define TARGET_ARM_CPREGS_H

#define CPREG_A64     UINT64_C(0x6030000000130000)
#define CPREG_CP14    UINT64_C(0x40200000200e0000)
#define CPREG_CP15    UINT64_C(0x40200000200f0000)
#define CPREG_CP15_S  UINT64_C(0x40200000000f0000)
#define CPREG_CP14_64 UINT64_C(0x40300000200e0000)
#define CPREG_CP15_64 UINT64_C(0x40300000200f0000)

typedef struct ARMCPRegInit {
    uint64_t index;
    uint64_t value;
} ARMCPRegInit;

extern const ARMCPRegInit arm_cpregs_table[]; /* by rising index */
extern const size_t arm_cpregs_table_count;

#endif /* TARGET_ARM_CPREGS_H */
