/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System registers: what MRS, MSR, SYS and SYSL reach, by encoding.
 *
 * One descriptor per register or operation. An engine looks it up once, when
 * it decodes the instruction, and keeps the pointer: descriptors live as long
 * as their CPU. At run time:
 *
 *     switch (arm_sysreg_check_access(env, r, is_read)) {
 *     case ARM_ACCESS_OK:    v = arm_sysreg_read(env, r); break;
 *     case ARM_ACCESS_UNDEF: raise EXCP_UDEF, syn_uncategorized(); break;
 *     case ARM_ACCESS_TRAP:  raise EXCP_UDEF, syn_aa64_sysregtrap(...); break;
 *     case ARM_ACCESS_TRAP_FP: raise EXCP_UDEF, syn_fp_access_trap(); break;
 *     }
 *
 * where the check can be left out if !(r->flags & ARM_SR_CHECK) and the EL
 * of the block has the right in r->access. No descriptor: undefined.
 *
 * Not here, since they are instructions of their own: MSR (immediate) to
 * DAIFSet, DAIFClr and SPSel; barriers, hints, CLREX (all op0 = 0).
 *
 * Threads: functions are called on the vCPU's thread, or while it is
 * stopped. Those flagged ARM_SR_IO need the BQL, which arm_sysreg_read() and
 * _write() take.
 *
 * Used by: accel/tcg, hw/intc (to add its own). Uses: cpu.h.
 */
#ifndef TARGET_ARM_SYSREG_H
#define TARGET_ARM_SYSREG_H

#include "target/arm/cpu.h"

/* op0:2 op1:3 CRn:4 CRm:4 op2:3, as in bits 20..5 of MRS and as KVM does. */
#define ARM_SYSREG_ENC(op0, op1, crn, crm, op2) \
    (((op0) << 14) | ((op1) << 11) | ((crn) << 7) | ((crm) << 3) | (op2))

/* Rights: who may read and write when nothing traps. EL1 implies nothing. */
enum {
    ARM_SR_R0 = 1,
    ARM_SR_W0 = 2,
    ARM_SR_R1 = 4,
    ARM_SR_W1 = 8,
    ARM_SR_RO = ARM_SR_R1,
    ARM_SR_WO = ARM_SR_W1,
    ARM_SR_RW = ARM_SR_R1 | ARM_SR_W1,
    ARM_SR_RW0 = ARM_SR_RW | ARM_SR_R0 | ARM_SR_W0,
    ARM_SR_RO0 = ARM_SR_R1 | ARM_SR_R0,
};

enum {
    ARM_SR_CONST = 1 << 0, /* reads as resetvalue, writes are ignored */
    ARM_SR_NOP = 1 << 1,   /* operation or write without an effect */
    ARM_SR_IO = 1 << 2,    /* functions need the BQL */
    /*
     * After a write the engine ends its block: interrupts, translation or
     * the EL's view may have changed.
     */
    ARM_SR_ENDS_BLOCK = 1 << 3,
    ARM_SR_CHECK = 1 << 4,     /* has an access function */
    ARM_SR_DC_ZVA = 1 << 5,    /* the engine zeroes 64 bytes at Xt */
    ARM_SR_TLBI = 1 << 6,      /* translations change: the engine flushes */
    ARM_SR_IC = 1 << 7,        /* instruction cache: nothing to do, code is */
                               /* watched by the CODE dirty client */
    ARM_SR_CURRENTEL = 1 << 8, /* value is the EL: known when decoding */
};

typedef enum ARMAccess {
    ARM_ACCESS_OK,
    ARM_ACCESS_UNDEF,   /* undefined instruction, syndrome "uncategorized" */
    ARM_ACCESS_TRAP,    /* to EL1 with the system-register syndrome */
    ARM_ACCESS_TRAP_FP, /* to EL1, syn_fp_access_trap(): FPCR, FPSR */
} ARMAccess;

struct ARMSysReg {
    const char *name;
    uint16_t enc;   /* ARM_SYSREG_ENC */
    uint8_t access; /* ARM_SR_R0 ... */
    uint16_t flags;
    uint16_t offset; /* of a uint64_t in CPUARMState; 0 = none */
    uint64_t resetvalue;
    ARMAccess (*accessfn)(CPUARMState *env, const ARMSysReg *r, bool is_read);
    uint64_t (*readfn)(CPUARMState *env, const ARMSysReg *r);
    void (*writefn)(CPUARMState *env, const ARMSysReg *r, uint64_t val);
    void *opaque; /* for registers added by a device */
};

/* Returns NULL if this CPU has no such register or operation. */
const ARMSysReg *arm_sysreg_lookup(const ARMCPU *cpu, unsigned op0,
                                   unsigned op1, unsigned crn, unsigned crm,
                                   unsigned op2);

/* Rights of the current EL, then the register's own rules. */
ARMAccess arm_sysreg_check_access(CPUARMState *env, const ARMSysReg *r,
                                  bool is_read);

/* Read or perform, after the check. */
uint64_t arm_sysreg_read(CPUARMState *env, const ARMSysReg *r);
void arm_sysreg_write(CPUARMState *env, const ARMSysReg *r, uint64_t val);

/**
 * arm_cpu_add_sysregs: give @cpu more registers (an interrupt controller's)
 *
 * @regs: @n descriptors, copied; their opaque is set to @opaque
 *
 * After realize, before the VM first runs (pointers got by a look-up go
 * stale). An encoding that is there already is replaced.
 */
void arm_cpu_add_sysregs(ARMCPU *cpu, const ARMSysReg *regs, size_t n,
                         void *opaque);

#endif /* TARGET_ARM_SYSREG_H */
