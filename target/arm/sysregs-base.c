/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The system registers of a Cortex-A57 without EL2 and EL3.
 *
 * Arm ARM DDI 0487, D19 (registers), C5.3 to C5.5 (operations); Cortex-A57
 * TRM DDI 0488, section 4.3 for the implementation defined ones. Which
 * exist, who may access them and what they read at first equals what the
 * guest of a real machine of the same kind sees (tests/unit/data/arm/).
 */
#include "qemu/osdep.h"

#include "internals.h"
#include "qemu/log.h"
#include "system/cpus.h"
#include "target/arm/arm-cpu.h"

#define FIELD(f) ((uint16_t)offsetof(CPUARMState, f))

/* ---- access ---- */

static ARMAccess trap_unless(bool allowed)
{
    return allowed ? ARM_ACCESS_OK : ARM_ACCESS_TRAP;
}

/* At EL0, only if SCTLR_EL1 has the bit. */
static ARMAccess el0_if_sctlr(const CPUARMState *env, uint64_t bit)
{
    return trap_unless(arm_current_el(env) > 0 || (env->sys.sctlr_el1 & bit));
}

static ARMAccess access_uma(CPUARMState *env, const ARMSysReg *r, bool is_read)
{
    return el0_if_sctlr(env, SCTLR_UMA);
}

static ARMAccess access_uct(CPUARMState *env, const ARMSysReg *r, bool is_read)
{
    return el0_if_sctlr(env, SCTLR_UCT);
}

static ARMAccess access_uci(CPUARMState *env, const ARMSysReg *r, bool is_read)
{
    return el0_if_sctlr(env, SCTLR_UCI);
}

static ARMAccess access_dze(CPUARMState *env, const ARMSysReg *r, bool is_read)
{
    return el0_if_sctlr(env, SCTLR_DZE);
}

/* SP_EL0 by name only while it is not the stack pointer in use (C5.2.18). */
static ARMAccess access_sp_el0(CPUARMState *env, const ARMSysReg *r,
                               bool is_read)
{
    return env->pstate & PSTATE_SP ? ARM_ACCESS_OK : ARM_ACCESS_UNDEF;
}

/* CPACR_EL1.FPEN: 0 and 2 trap all, 1 traps EL0. */
static ARMAccess access_fp(CPUARMState *env, const ARMSysReg *r, bool is_read)
{
    unsigned fpen = (env->sys.cpacr_el1 >> 20) & 3;
    bool allowed = fpen == 3 || (fpen == 1 && arm_current_el(env) > 0);

    return allowed ? ARM_ACCESS_OK : ARM_ACCESS_TRAP_FP;
}

/* MDSCR_EL1.TDCC keeps the debug channel from EL0. */
static ARMAccess access_tdcc(CPUARMState *env, const ARMSysReg *r, bool is_read)
{
    return trap_unless(arm_current_el(env) > 0 ||
                       !(env->sys.mdscr_el1 & (1u << 12)));
}

/* PMUSERENR_EL0: EN for all, or the bit for one use (SW 1, CR 2, ER 3). */
static ARMAccess el0_if_pmuser(const CPUARMState *env, unsigned bits)
{
    return trap_unless(arm_current_el(env) > 0 ||
                       (env->sys.pmuserenr_el0 & (1 | bits)));
}

static ARMAccess access_pmu(CPUARMState *env, const ARMSysReg *r, bool is_read)
{
    return el0_if_pmuser(env, 0);
}

static ARMAccess access_pmu_sw(CPUARMState *env, const ARMSysReg *r,
                               bool is_read)
{
    return el0_if_pmuser(env, 1 << 1);
}

static ARMAccess access_pmu_cycles(CPUARMState *env, const ARMSysReg *r,
                                   bool is_read)
{
    return el0_if_pmuser(env, is_read ? 1 << 2 : 0);
}

static ARMAccess access_pmu_events(CPUARMState *env, const ARMSysReg *r,
                                   bool is_read)
{
    return el0_if_pmuser(env, is_read ? 1 << 3 : 0);
}

static ARMAccess access_pmu_select(CPUARMState *env, const ARMSysReg *r,
                                   bool is_read)
{
    return el0_if_pmuser(env, 1 << 3);
}

/* ---- PSTATE ---- */

static uint64_t nzcv_read(CPUARMState *env, const ARMSysReg *r)
{
    return arm_nzcv_read(env);
}

static void nzcv_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    arm_nzcv_write(env, val);
}

static uint64_t daif_read(CPUARMState *env, const ARMSysReg *r)
{
    return env->daif;
}

static void daif_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    env->daif = val & PSTATE_DAIF;
}

static uint64_t spsel_read(CPUARMState *env, const ARMSysReg *r)
{
    return env->pstate & PSTATE_SP;
}

static void spsel_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    arm_set_spsel(env, val & 1);
}

static uint64_t currentel_read(CPUARMState *env, const ARMSysReg *r)
{
    return env->pstate & PSTATE_EL;
}

static uint64_t sp_el0_read(CPUARMState *env, const ARMSysReg *r)
{
    return arm_sp_read(env, 0);
}

static void sp_el0_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    arm_sp_write(env, 0, val);
}

static uint64_t fpcr_read(CPUARMState *env, const ARMSysReg *r)
{
    return env->vfp.fpcr;
}

/* AHP, DN, FZ, RMode; no trapped exceptions. */
static void fpcr_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    env->vfp.fpcr = val & 0x07c00000;
}

static uint64_t fpsr_read(CPUARMState *env, const ARMSysReg *r)
{
    return env->vfp.fpsr;
}

/* QC and the cumulative exception bits. */
static void fpsr_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    env->vfp.fpsr = val & 0x0800009f;
}

/* ---- identification ---- */

static uint64_t mpidr_read(CPUARMState *env, const ARMSysReg *r)
{
    const ARMCPU *cpu = container_of(env, ARMCPU, env);

    return (UINT64_C(1) << 31) | cpu->mp_affinity;
}

/* GIC field: the CPU interface's system registers. */
static uint64_t pfr0_read(CPUARMState *env, const ARMSysReg *r)
{
    const ARMCPU *cpu = container_of(env, ARMCPU, env);

    return r->resetvalue | (cpu->has_gicv3 ? UINT64_C(1) << 24 : 0);
}

static uint64_t pfr1_aa32_read(CPUARMState *env, const ARMSysReg *r)
{
    const ARMCPU *cpu = container_of(env, ARMCPU, env);

    return r->resetvalue | (cpu->has_gicv3 ? UINT64_C(1) << 28 : 0);
}

static uint64_t ccsidr_read(CPUARMState *env, const ARMSysReg *r)
{
    const ARMCPU *cpu = container_of(env, ARMCPU, env);
    uint64_t sel = env->sys.csselr_el1;

    return sel < ARRAY_SIZE(cpu->model->ccsidr) ? cpu->model->ccsidr[sel] : 0;
}

static void csselr_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    env->sys.csselr_el1 = val & 0xf;
}

static uint64_t isr_read(CPUARMState *env, const ARMSysReg *r)
{
    CPUState *cs = CPU(container_of(env, ARMCPU, env));

    return (cpu_test_interrupt(cs, CPU_INTERRUPT_HARD) ? PSTATE_I : 0) |
           (cpu_test_interrupt(cs, CPU_INTERRUPT_FIQ) ? PSTATE_F : 0);
}

/* ---- memory system ---- */

static void sctlr_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    if ((val & ~env->sys.sctlr_el1) & SCTLR_M) {
        qemu_log_mask(LOG_UNIMP,
                      "SCTLR_EL1.M set: address translation is not there, "
                      "addresses stay physical\n");
    }
    env->sys.sctlr_el1 = val;
}

/*
 * AT: with translation off, every address is its own (D8.2.10); the result
 * says outer shareable, non-secure, Device-nGnRnE.
 */
static void at_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    env->sys.par_el1 = (val & UINT64_C(0x000ffffffffff000)) | 0xb00;
}

/* ---- debug ---- */

/* OSLAR_EL1 sets the lock, OSLSR_EL1 shows it in bit 1. */
static void oslar_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    env->sys.oslsr_el1 = (env->sys.oslsr_el1 & ~UINT64_C(2)) | ((val & 1) << 1);
}

static uint64_t claimset_read(CPUARMState *env, const ARMSysReg *r)
{
    return 0xff; /* all eight tags can be claimed */
}

static void claimset_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    env->sys.dbgclaim |= val & 0xff;
}

static void claimclr_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    env->sys.dbgclaim &= ~(val & 0xff);
}

/* ---- performance monitors: storage, nothing counts ---- */

#define PMU_NUM_COUNTERS 6
#define PMU_COUNTER_MASK (UINT64_C(0x80000000) | ((1u << PMU_NUM_COUNTERS) - 1))

static uint64_t *pmu_field(CPUARMState *env, const ARMSysReg *r)
{
    return (uint64_t *)((char *)env + r->offset);
}

/* Enable, overflow and interrupt sets come as a pair: set and clear. */
static void pmu_set_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    *pmu_field(env, r) |= val & PMU_COUNTER_MASK;
}

static void pmu_clr_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    *pmu_field(env, r) &= ~(val & PMU_COUNTER_MASK);
}

/* E, X, D, DP, LC are kept; P and C clear the counters. */
static void pmcr_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    const uint64_t writable = 0x79;

    if (val & 2) {
        memset(env->sys.pmevcntr, 0, sizeof(env->sys.pmevcntr));
    }
    if (val & 4) {
        env->sys.pmccntr_el0 = 0;
    }
    env->sys.pmcr_el0 = (env->sys.pmcr_el0 & ~writable) | (val & writable);
}

static void pmuserenr_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    env->sys.pmuserenr_el0 = val & 0xf;
}

static void pmselr_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    env->sys.pmselr_el0 = val & 0x1f;
}

static uint64_t pmxevtyper_read(CPUARMState *env, const ARMSysReg *r)
{
    uint64_t sel = env->sys.pmselr_el0;

    if (sel == 31) {
        return env->sys.pmccfiltr_el0;
    }
    return sel < PMU_NUM_COUNTERS ? env->sys.pmevtyper[sel] : 0;
}

static void pmxevtyper_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    uint64_t sel = env->sys.pmselr_el0;

    if (sel == 31) {
        env->sys.pmccfiltr_el0 = val & 0xfc000000;
    } else if (sel < PMU_NUM_COUNTERS) {
        env->sys.pmevtyper[sel] = val & 0xfc00ffff;
    }
}

static uint64_t pmxevcntr_read(CPUARMState *env, const ARMSysReg *r)
{
    uint64_t sel = env->sys.pmselr_el0;

    return sel < PMU_NUM_COUNTERS ? env->sys.pmevcntr[sel] : 0;
}

static void pmxevcntr_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    uint64_t sel = env->sys.pmselr_el0;

    if (sel < PMU_NUM_COUNTERS) {
        env->sys.pmevcntr[sel] = (uint32_t)val;
    }
}

/* ---- the table ---- */

#define E(op0, op1, crn, crm, op2) \
    .enc = ARM_SYSREG_ENC(op0, op1, crn, crm, op2)

/* Storage that software owns. */
#define STORE(n, e, field, reset)                                        \
    {                                                                    \
        .name = (n), e, .access = ARM_SR_RW, .offset = FIELD(sys.field), \
        .resetvalue = (reset),                                           \
    }
#define STORE_END(n, e, field)                                           \
    {                                                                    \
        .name = (n), e, .access = ARM_SR_RW, .offset = FIELD(sys.field), \
        .flags = ARM_SR_ENDS_BLOCK,                                      \
    }
#define CONST(n, e, acc, value)                                 \
    {                                                           \
        .name = (n), e, .access = (acc), .flags = ARM_SR_CONST, \
        .resetvalue = (value),                                  \
    }
#define ID_REG(n, crm, op2, value) \
    CONST(n, E(3, 0, 0, crm, op2), ARM_SR_RO, value)
/* Operations: encodings of SYS with op0 = 1. */
#define OP(n, e, flg)                                                     \
    {                                                                     \
        .name = (n), e, .access = ARM_SR_WO, .flags = ARM_SR_NOP | (flg), \
    }
#define OP_EL0(n, e, flg, acc)                                       \
    {                                                                \
        .name = (n), e, .access = ARM_SR_WO | ARM_SR_W0,             \
        .flags = ARM_SR_NOP | ARM_SR_CHECK | (flg), .accessfn = acc, \
    }
#define AT(n, e)                                                 \
    {                                                            \
        .name = (n), e, .access = ARM_SR_WO, .writefn = at_write \
    }
#define TLBI(n, crm, op2) \
    OP(n, E(1, 0, 8, crm, op2), ARM_SR_TLBI | ARM_SR_ENDS_BLOCK)

#define BREAKPOINT(i)                                          \
    STORE("DBGBVR" #i "_EL1", E(2, 0, 0, i, 4), dbgbvr[i], 0), \
        STORE("DBGBCR" #i "_EL1", E(2, 0, 0, i, 5), dbgbcr[i], 0)
#define WATCHPOINT(i)                                          \
    STORE("DBGWVR" #i "_EL1", E(2, 0, 0, i, 6), dbgwvr[i], 0), \
        STORE("DBGWCR" #i "_EL1", E(2, 0, 0, i, 7), dbgwcr[i], 0)

/* A performance monitor register that EL0 may be allowed. */
#define PMU(n, e, acc, check, ...)                              \
    {                                                           \
        .name = (n), e, .access = (acc), .flags = ARM_SR_CHECK, \
        .accessfn = (check), ##__VA_ARGS__,                     \
    }
#define PMU_EVENT(i)                                                           \
    PMU("PMEVCNTR" #i "_EL0", E(3, 3, 14, 8, i), ARM_SR_RW0,                   \
        access_pmu_events, .offset = FIELD(sys.pmevcntr[i])),                  \
        PMU("PMEVTYPER" #i "_EL0", E(3, 3, 14, 12, i), ARM_SR_RW0, access_pmu, \
            .offset = FIELD(sys.pmevtyper[i]))

const ARMSysReg arm_sysregs_base[] = {
    /* Cache, TLB and translation operations. */
    OP("IC IALLUIS", E(1, 0, 7, 1, 0), ARM_SR_IC),
    OP("IC IALLU", E(1, 0, 7, 5, 0), ARM_SR_IC),
    OP_EL0("IC IVAU", E(1, 3, 7, 5, 1), ARM_SR_IC, access_uci),
    OP("DC IVAC", E(1, 0, 7, 6, 1), 0),
    OP("DC ISW", E(1, 0, 7, 6, 2), 0),
    OP("DC CSW", E(1, 0, 7, 10, 2), 0),
    OP("DC CISW", E(1, 0, 7, 14, 2), 0),
    OP_EL0("DC ZVA", E(1, 3, 7, 4, 1), ARM_SR_DC_ZVA, access_dze),
    OP_EL0("DC CVAC", E(1, 3, 7, 10, 1), 0, access_uci),
    OP_EL0("DC CVAU", E(1, 3, 7, 11, 1), 0, access_uci),
    OP_EL0("DC CIVAC", E(1, 3, 7, 14, 1), 0, access_uci),
    AT("AT S1E1R", E(1, 0, 7, 8, 0)),
    AT("AT S1E1W", E(1, 0, 7, 8, 1)),
    AT("AT S1E0R", E(1, 0, 7, 8, 2)),
    AT("AT S1E0W", E(1, 0, 7, 8, 3)),
    TLBI("TLBI VMALLE1IS", 3, 0),
    TLBI("TLBI VAE1IS", 3, 1),
    TLBI("TLBI ASIDE1IS", 3, 2),
    TLBI("TLBI VAAE1IS", 3, 3),
    TLBI("TLBI VALE1IS", 3, 5),
    TLBI("TLBI VAALE1IS", 3, 7),
    TLBI("TLBI VMALLE1", 7, 0),
    TLBI("TLBI VAE1", 7, 1),
    TLBI("TLBI ASIDE1", 7, 2),
    TLBI("TLBI VAAE1", 7, 3),
    TLBI("TLBI VALE1", 7, 5),
    TLBI("TLBI VAALE1", 7, 7),

    /* Debug. */
    STORE("OSDTRRX_EL1", E(2, 0, 0, 0, 2), osdtrrx_el1, 0),
    STORE("MDCCINT_EL1", E(2, 0, 0, 2, 0), mdccint_el1, 0),
    STORE("MDSCR_EL1", E(2, 0, 0, 2, 2), mdscr_el1, 0),
    STORE("OSDTRTX_EL1", E(2, 0, 0, 3, 2), osdtrtx_el1, 0),
    STORE("OSECCR_EL1", E(2, 0, 0, 6, 2), oseccr_el1, 0),
    BREAKPOINT(0),
    BREAKPOINT(1),
    BREAKPOINT(2),
    BREAKPOINT(3),
    BREAKPOINT(4),
    BREAKPOINT(5),
    WATCHPOINT(0),
    WATCHPOINT(1),
    WATCHPOINT(2),
    WATCHPOINT(3),
    CONST("MDRAR_EL1", E(2, 0, 1, 0, 0), ARM_SR_RO, 0),
    { .name = "OSLAR_EL1",
      E(2, 0, 1, 0, 4),
      .access = ARM_SR_WO,
      .writefn = oslar_write },
    { .name = "OSLSR_EL1",
      E(2, 0, 1, 1, 4),
      .access = ARM_SR_RO,
      .offset = FIELD(sys.oslsr_el1),
      .resetvalue = 0xa },
    STORE("OSDLR_EL1", E(2, 0, 1, 3, 4), osdlr_el1, 0),
    { .name = "DBGCLAIMSET_EL1",
      E(2, 0, 7, 8, 6),
      .access = ARM_SR_RW,
      .readfn = claimset_read,
      .writefn = claimset_write },
    { .name = "DBGCLAIMCLR_EL1",
      E(2, 0, 7, 9, 6),
      .access = ARM_SR_RW,
      .offset = FIELD(sys.dbgclaim),
      .writefn = claimclr_write },
    { .name = "MDCCSR_EL0",
      E(2, 3, 0, 1, 0),
      .access = ARM_SR_RO0,
      .flags = ARM_SR_CONST | ARM_SR_CHECK,
      .accessfn = access_tdcc },
    { .name = "DBGDTR_EL0",
      E(2, 3, 0, 4, 0),
      .access = ARM_SR_RW0,
      .flags = ARM_SR_CONST | ARM_SR_CHECK,
      .accessfn = access_tdcc },
    { .name = "DBGDTRRX_EL0", /* on write: DBGDTRTX_EL0 */
      E(2, 3, 0, 5, 0),
      .access = ARM_SR_RW0,
      .flags = ARM_SR_CONST | ARM_SR_CHECK,
      .accessfn = access_tdcc },

    /* Identification. */
    CONST("MIDR_EL1", E(3, 0, 0, 0, 0), ARM_SR_RO, 0x411fd070),
    { .name = "MPIDR_EL1",
      E(3, 0, 0, 0, 5),
      .access = ARM_SR_RO,
      .readfn = mpidr_read },
    CONST("REVIDR_EL1", E(3, 0, 0, 0, 6), ARM_SR_RO, 0),
    ID_REG("ID_PFR0_EL1", 1, 0, 0x131),
    { .name = "ID_PFR1_EL1",
      E(3, 0, 0, 1, 1),
      .access = ARM_SR_RO,
      .resetvalue = 0x10001,
      .readfn = pfr1_aa32_read },
    ID_REG("ID_DFR0_EL1", 1, 2, 0x3000006),
    ID_REG("ID_AFR0_EL1", 1, 3, 0x0),
    ID_REG("ID_MMFR0_EL1", 1, 4, 0x10101105),
    ID_REG("ID_MMFR1_EL1", 1, 5, 0x40000000),
    ID_REG("ID_MMFR2_EL1", 1, 6, 0x1260000),
    ID_REG("ID_MMFR3_EL1", 1, 7, 0x2102211),
    ID_REG("ID_ISAR0_EL1", 2, 0, 0x2101110),
    ID_REG("ID_ISAR1_EL1", 2, 1, 0x13112111),
    ID_REG("ID_ISAR2_EL1", 2, 2, 0x21232042),
    ID_REG("ID_ISAR3_EL1", 2, 3, 0x1112131),
    ID_REG("ID_ISAR4_EL1", 2, 4, 0x11142),
    ID_REG("ID_ISAR5_EL1", 2, 5, 0x11121),
    ID_REG("ID_MMFR4_EL1", 2, 6, 0x0),
    ID_REG("ID_ISAR6_EL1", 2, 7, 0x0),
    ID_REG("MVFR0_EL1", 3, 0, 0x10110222),
    ID_REG("MVFR1_EL1", 3, 1, 0x12111111),
    ID_REG("MVFR2_EL1", 3, 2, 0x43),
    ID_REG("RES_0_C0_C3_3", 3, 3, 0x0),
    ID_REG("ID_PFR2_EL1", 3, 4, 0x0),
    ID_REG("ID_DFR1_EL1", 3, 5, 0x0),
    ID_REG("ID_MMFR5_EL1", 3, 6, 0x0),
    ID_REG("RES_0_C0_C3_7", 3, 7, 0x0),
    { .name = "ID_AA64PFR0_EL1",
      E(3, 0, 0, 4, 0),
      .access = ARM_SR_RO,
      .resetvalue = 0x22,
      .readfn = pfr0_read },
    ID_REG("ID_AA64PFR1_EL1", 4, 1, 0x0),
    ID_REG("ID_AA64PFR2_EL1", 4, 2, 0x0),
    ID_REG("RES_0_C0_C4_3", 4, 3, 0x0),
    ID_REG("ID_AA64ZFR0_EL1", 4, 4, 0x0),
    ID_REG("ID_AA64SMFR0_EL1", 4, 5, 0x0),
    ID_REG("RES_0_C0_C4_6", 4, 6, 0x0),
    ID_REG("ID_AA64FPFR0_EL1", 4, 7, 0x0),
    ID_REG("ID_AA64DFR0_EL1", 5, 0, 0x10305106),
    ID_REG("ID_AA64DFR1_EL1", 5, 1, 0x0),
    ID_REG("ID_AA64DFR2_EL1", 5, 2, 0x0),
    ID_REG("RES_0_C0_C5_3", 5, 3, 0x0),
    ID_REG("ID_AA64AFR0_EL1", 5, 4, 0x0),
    ID_REG("ID_AA64AFR1_EL1", 5, 5, 0x0),
    ID_REG("RES_0_C0_C5_6", 5, 6, 0x0),
    ID_REG("RES_0_C0_C5_7", 5, 7, 0x0),
    ID_REG("ID_AA64ISAR0_EL1", 6, 0, 0x11120),
    ID_REG("ID_AA64ISAR1_EL1", 6, 1, 0x0),
    ID_REG("ID_AA64ISAR2_EL1", 6, 2, 0x0),
    ID_REG("ID_AA64ISAR3_EL1", 6, 3, 0x0),
    ID_REG("RES_0_C0_C6_4", 6, 4, 0x0),
    ID_REG("RES_0_C0_C6_5", 6, 5, 0x0),
    ID_REG("RES_0_C0_C6_6", 6, 6, 0x0),
    ID_REG("RES_0_C0_C6_7", 6, 7, 0x0),
    ID_REG("ID_AA64MMFR0_EL1", 7, 0, 0x1124),
    ID_REG("ID_AA64MMFR1_EL1", 7, 1, 0x0),
    ID_REG("ID_AA64MMFR2_EL1", 7, 2, 0x0),
    ID_REG("ID_AA64MMFR3_EL1", 7, 3, 0x0),
    ID_REG("ID_AA64MMFR4_EL1", 7, 4, 0x0),
    ID_REG("RES_0_C0_C7_5", 7, 5, 0x0),
    ID_REG("RES_0_C0_C7_6", 7, 6, 0x0),
    ID_REG("RES_0_C0_C7_7", 7, 7, 0x0),
    { .name = "CCSIDR_EL1",
      E(3, 1, 0, 0, 0),
      .access = ARM_SR_RO,
      .readfn = ccsidr_read },
    CONST("CLIDR_EL1", E(3, 1, 0, 0, 1), ARM_SR_RO, 0x0a200023),
    CONST("AIDR_EL1", E(3, 1, 0, 0, 7), ARM_SR_RO, 0),
    { .name = "CSSELR_EL1",
      E(3, 2, 0, 0, 0),
      .access = ARM_SR_RW,
      .offset = FIELD(sys.csselr_el1),
      .writefn = csselr_write },
    { .name = "CTR_EL0",
      E(3, 3, 0, 0, 1),
      .access = ARM_SR_RO0,
      .flags = ARM_SR_CONST | ARM_SR_CHECK,
      .resetvalue = 0x8444c004,
      .accessfn = access_uct },
    CONST("DCZID_EL0", E(3, 3, 0, 0, 7), ARM_SR_RO0, 4),

    /* Control and translation. */
    { .name = "SCTLR_EL1",
      E(3, 0, 1, 0, 0),
      .access = ARM_SR_RW,
      .flags = ARM_SR_ENDS_BLOCK,
      .offset = FIELD(sys.sctlr_el1),
      .resetvalue = 0x00c50838,
      .writefn = sctlr_write },
    STORE("ACTLR_EL1", E(3, 0, 1, 0, 1), actlr_el1, 0),
    STORE_END("CPACR_EL1", E(3, 0, 1, 0, 2), cpacr_el1),
    STORE_END("TTBR0_EL1", E(3, 0, 2, 0, 0), ttbr0_el1),
    STORE_END("TTBR1_EL1", E(3, 0, 2, 0, 1), ttbr1_el1),
    STORE_END("TCR_EL1", E(3, 0, 2, 0, 2), tcr_el1),
    STORE("MAIR_EL1", E(3, 0, 10, 2, 0), mair_el1, 0),
    CONST("AMAIR_EL1", E(3, 0, 10, 3, 0), ARM_SR_RW, 0),
    STORE("CONTEXTIDR_EL1", E(3, 0, 13, 0, 1), contextidr_el1, 0),
    STORE("PAR_EL1", E(3, 0, 7, 4, 0), par_el1, 0),

    /* Exceptions. */
    { .name = "SPSR_EL1",
      E(3, 0, 4, 0, 0),
      .access = ARM_SR_RW,
      .offset = FIELD(banked_spsr[BANKED_SPSR_EL1]) },
    { .name = "ELR_EL1",
      E(3, 0, 4, 0, 1),
      .access = ARM_SR_RW,
      .offset = FIELD(elr_el[1]) },
    { .name = "SP_EL0",
      E(3, 0, 4, 1, 0),
      .access = ARM_SR_RW,
      .flags = ARM_SR_CHECK,
      .accessfn = access_sp_el0,
      .readfn = sp_el0_read,
      .writefn = sp_el0_write },
    { .name = "SPSel",
      E(3, 0, 4, 2, 0),
      .access = ARM_SR_RW,
      .flags = ARM_SR_ENDS_BLOCK,
      .readfn = spsel_read,
      .writefn = spsel_write },
    { .name = "CurrentEL",
      E(3, 0, 4, 2, 2),
      .access = ARM_SR_RO,
      .flags = ARM_SR_CURRENTEL,
      .readfn = currentel_read },
    CONST("AFSR0_EL1", E(3, 0, 5, 1, 0), ARM_SR_RW, 0),
    CONST("AFSR1_EL1", E(3, 0, 5, 1, 1), ARM_SR_RW, 0),
    STORE("ESR_EL1", E(3, 0, 5, 2, 0), esr_el1, 0),
    STORE("FAR_EL1", E(3, 0, 6, 0, 0), far_el1, 0),
    STORE("VBAR_EL1", E(3, 0, 12, 0, 0), vbar_el1, 0),
    CONST("RVBAR_EL1", E(3, 0, 12, 0, 1), ARM_SR_RO, 0),
    CONST("RMR_EL1", E(3, 0, 12, 0, 2), ARM_SR_RW, 1),
    { .name = "ISR_EL1",
      E(3, 0, 12, 1, 0),
      .access = ARM_SR_RO,
      .readfn = isr_read },
    { .name = "NZCV",
      E(3, 3, 4, 2, 0),
      .access = ARM_SR_RW0,
      .readfn = nzcv_read,
      .writefn = nzcv_write },
    { .name = "DAIF",
      E(3, 3, 4, 2, 1),
      .access = ARM_SR_RW0,
      .flags = ARM_SR_CHECK | ARM_SR_ENDS_BLOCK,
      .accessfn = access_uma,
      .readfn = daif_read,
      .writefn = daif_write },
    { .name = "FPCR",
      E(3, 3, 4, 4, 0),
      .access = ARM_SR_RW0,
      .flags = ARM_SR_CHECK,
      .accessfn = access_fp,
      .readfn = fpcr_read,
      .writefn = fpcr_write },
    { .name = "FPSR",
      E(3, 3, 4, 4, 1),
      .access = ARM_SR_RW0,
      .flags = ARM_SR_CHECK,
      .accessfn = access_fp,
      .readfn = fpsr_read,
      .writefn = fpsr_write },

    /* Software's thread registers. */
    STORE("TPIDR_EL1", E(3, 0, 13, 0, 4), tpidr_el1, 0),
    { .name = "TPIDR_EL0",
      E(3, 3, 13, 0, 2),
      .access = ARM_SR_RW0,
      .offset = FIELD(sys.tpidr_el0) },
    { .name = "TPIDRRO_EL0",
      E(3, 3, 13, 0, 3),
      .access = ARM_SR_RW | ARM_SR_R0,
      .offset = FIELD(sys.tpidrro_el0) },

    /* Implementation defined. */
    CONST("L2CTLR_EL1", E(3, 1, 11, 0, 2), ARM_SR_RW, 0),
    CONST("L2ECTLR_EL1", E(3, 1, 11, 0, 3), ARM_SR_RW, 0),
    CONST("L2ACTLR_EL1", E(3, 1, 15, 0, 0), ARM_SR_RW, 0),
    CONST("CPUACTLR_EL1", E(3, 1, 15, 2, 0), ARM_SR_RW, 0),
    CONST("CPUECTLR_EL1", E(3, 1, 15, 2, 1), ARM_SR_RW, 0),
    CONST("CPUMERRSR_EL1", E(3, 1, 15, 2, 2), ARM_SR_RW, 0),
    CONST("L2MERRSR_EL1", E(3, 1, 15, 2, 3), ARM_SR_RW, 0),
    CONST("CBAR_EL1", E(3, 1, 15, 3, 0), ARM_SR_RO, 0),

    /* Performance monitors. */
    { .name = "PMINTENSET_EL1",
      E(3, 0, 9, 14, 1),
      .access = ARM_SR_RW,
      .offset = FIELD(sys.pminten),
      .writefn = pmu_set_write },
    { .name = "PMINTENCLR_EL1",
      E(3, 0, 9, 14, 2),
      .access = ARM_SR_RW,
      .offset = FIELD(sys.pminten),
      .writefn = pmu_clr_write },
    PMU("PMCR_EL0", E(3, 3, 9, 12, 0), ARM_SR_RW0, access_pmu,
        .offset = FIELD(sys.pmcr_el0), .resetvalue = 0x41013000,
        .writefn = pmcr_write),
    PMU("PMCNTENSET_EL0", E(3, 3, 9, 12, 1), ARM_SR_RW0, access_pmu,
        .offset = FIELD(sys.pmcnten), .writefn = pmu_set_write),
    PMU("PMCNTENCLR_EL0", E(3, 3, 9, 12, 2), ARM_SR_RW0, access_pmu,
        .offset = FIELD(sys.pmcnten), .writefn = pmu_clr_write),
    PMU("PMOVSCLR_EL0", E(3, 3, 9, 12, 3), ARM_SR_RW0, access_pmu,
        .offset = FIELD(sys.pmovs), .writefn = pmu_clr_write),
    { .name = "PMSWINC_EL0",
      E(3, 3, 9, 12, 4),
      .access = ARM_SR_WO | ARM_SR_W0,
      .flags = ARM_SR_CHECK | ARM_SR_NOP,
      .accessfn = access_pmu_sw },
    PMU("PMSELR_EL0", E(3, 3, 9, 12, 5), ARM_SR_RW0, access_pmu_select,
        .offset = FIELD(sys.pmselr_el0), .writefn = pmselr_write),
    { .name = "PMCEID0_EL0",
      E(3, 3, 9, 12, 6),
      .access = ARM_SR_RO0,
      .flags = ARM_SR_CONST | ARM_SR_CHECK,
      .resetvalue = 0x20001,
      .accessfn = access_pmu },
    { .name = "PMCEID1_EL0",
      E(3, 3, 9, 12, 7),
      .access = ARM_SR_RO0,
      .flags = ARM_SR_CONST | ARM_SR_CHECK,
      .accessfn = access_pmu },
    PMU("PMCCNTR_EL0", E(3, 3, 9, 13, 0), ARM_SR_RW0, access_pmu_cycles,
        .offset = FIELD(sys.pmccntr_el0)),
    PMU("PMXEVTYPER_EL0", E(3, 3, 9, 13, 1), ARM_SR_RW0, access_pmu,
        .readfn = pmxevtyper_read, .writefn = pmxevtyper_write),
    PMU("PMXEVCNTR_EL0", E(3, 3, 9, 13, 2), ARM_SR_RW0, access_pmu_events,
        .readfn = pmxevcntr_read, .writefn = pmxevcntr_write),
    { .name = "PMUSERENR_EL0",
      E(3, 3, 9, 14, 0),
      .access = ARM_SR_RW | ARM_SR_R0,
      .offset = FIELD(sys.pmuserenr_el0),
      .writefn = pmuserenr_write },
    PMU("PMOVSSET_EL0", E(3, 3, 9, 14, 3), ARM_SR_RW0, access_pmu,
        .offset = FIELD(sys.pmovs), .writefn = pmu_set_write),
    PMU("PMCCFILTR_EL0", E(3, 3, 14, 15, 7), ARM_SR_RW0, access_pmu,
        .offset = FIELD(sys.pmccfiltr_el0)),
    PMU_EVENT(0),
    PMU_EVENT(1),
    PMU_EVENT(2),
    PMU_EVENT(3),
    PMU_EVENT(4),
    PMU_EVENT(5),
};

const size_t arm_sysregs_base_count = ARRAY_SIZE(arm_sysregs_base);
