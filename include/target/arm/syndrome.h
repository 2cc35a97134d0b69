/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Syndromes: values of ESR_EL1 by exception class.
 *
 * Arm ARM DDI 0487, D17.2.37 ESR_EL1: EC in bits 31:26, IL (32-bit
 * instruction) in bit 25, ISS in bits 24:0.
 *
 * Used by: target/arm, accel/tcg. Uses: nothing.
 */
#ifndef TARGET_ARM_SYNDROME_H
#define TARGET_ARM_SYNDROME_H

enum {
    EC_UNCATEGORIZED = 0x00,
    EC_WFX_TRAP = 0x01,
    EC_ADVSIMDFP_TRAP = 0x07,
    EC_ILLEGAL_STATE = 0x0e,
    EC_AA64_SVC = 0x15,
    EC_AA64_HVC = 0x16,
    EC_AA64_SMC = 0x17,
    EC_SYSREG_TRAP = 0x18,
    EC_INSN_ABORT = 0x20, /* + 1: from the same EL */
    EC_PC_ALIGNMENT = 0x22,
    EC_DATA_ABORT = 0x24, /* + 1: from the same EL */
    EC_SP_ALIGNMENT = 0x26,
    EC_SOFTWARE_STEP = 0x32, /* + 1: from the same EL */
    EC_BRK = 0x3c,
};

#define SYN_EC_SHIFT 26
#define SYN_IL       (1u << 25)

/* Fault status codes (DFSC, IFSC). */
enum {
    FSC_TRANSLATION_L0 = 0x04, /* + level */
    FSC_ACCESS_FLAG_L0 = 0x08,
    FSC_PERMISSION_L0 = 0x0c,
    FSC_EXTERNAL = 0x10,
    FSC_ALIGNMENT = 0x21,
};

static inline unsigned syn_get_ec(uint32_t syn)
{
    return syn >> SYN_EC_SHIFT;
}

static inline uint32_t syn_make(unsigned ec, uint32_t iss)
{
    return ((uint32_t)ec << SYN_EC_SHIFT) | SYN_IL | iss;
}

static inline uint32_t syn_uncategorized(void)
{
    return syn_make(EC_UNCATEGORIZED, 0);
}

static inline uint32_t syn_aa64_svc(uint16_t imm)
{
    return syn_make(EC_AA64_SVC, imm);
}

static inline uint32_t syn_aa64_hvc(uint16_t imm)
{
    return syn_make(EC_AA64_HVC, imm);
}

static inline uint32_t syn_aa64_smc(uint16_t imm)
{
    return syn_make(EC_AA64_SMC, imm);
}

static inline uint32_t syn_aa64_bkpt(uint16_t imm)
{
    return syn_make(EC_BRK, imm);
}

static inline uint32_t syn_illegal_state(void)
{
    return syn_make(EC_ILLEGAL_STATE, 0);
}

static inline uint32_t syn_pc_alignment(void)
{
    return syn_make(EC_PC_ALIGNMENT, 0);
}

static inline uint32_t syn_sp_alignment(void)
{
    return syn_make(EC_SP_ALIGNMENT, 0);
}

/* CPACR_EL1.FPEN denies an FP or SIMD instruction. */
static inline uint32_t syn_fp_access_trap(void)
{
    return syn_make(EC_ADVSIMDFP_TRAP, (1u << 24) | (0xeu << 20));
}

/* MRS, MSR, SYS, SYSL that EL1 keeps from EL0. */
static inline uint32_t syn_aa64_sysregtrap(unsigned op0, unsigned op1,
                                           unsigned crn, unsigned crm,
                                           unsigned op2, unsigned rt,
                                           bool is_read)
{
    return syn_make(EC_SYSREG_TRAP, is_read | (crm << 1) | (rt << 5) |
                                        (crn << 10) | (op1 << 14) |
                                        (op2 << 17) | (op0 << 20));
}

/* WFI (@is_wfe false) or WFE at EL0 while SCTLR_EL1 denies it. */
static inline uint32_t syn_wfx(bool is_wfe)
{
    return syn_make(EC_WFX_TRAP, (1u << 24) | (0xeu << 20) | is_wfe);
}

static inline uint32_t syn_insn_abort(bool same_el, bool external, unsigned fsc)
{
    return syn_make(EC_INSN_ABORT + same_el, ((unsigned)external << 9) | fsc);
}

/* Without the syndrome of the instruction (ISV = 0). */
static inline uint32_t syn_data_abort(bool same_el, bool external,
                                      bool cache_op, bool is_write,
                                      unsigned fsc)
{
    return syn_make(EC_DATA_ABORT + same_el,
                    ((unsigned)external << 9) | ((unsigned)cache_op << 8) |
                        ((unsigned)is_write << 6) | fsc);
}

#endif /* TARGET_ARM_SYNDROME_H */
