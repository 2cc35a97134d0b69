/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Generic timers: the counter and the EL1 physical and virtual timers.
 *
 * Arm ARM DDI 0487, D12 (The Generic Timer). The counter is guest time in
 * units of 16 ns (62.5 MHz); both timers see it without an offset. A timer
 * whose ENABLE is set fires when the counter reaches CVAL; its output is up
 * while it has fired and IMASK is clear.
 */
#include "qemu/osdep.h"

#include "internals.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "target/arm/arm-cpu.h"
#include "trace-target-arm.h"

#define NS_PER_TICK (NANOSECONDS_PER_SECOND / GTIMER_FREQ_HZ)

enum {
    CTL_ENABLE = 1,
    CTL_IMASK = 2,
    CTL_ISTATUS = 4
};

uint64_t arm_gtimer_count(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) / NS_PER_TICK;
}

static int64_t ticks_to_ns(uint64_t ticks)
{
    return ticks > INT64_MAX / NS_PER_TICK ? INT64_MAX
                                           : (int64_t)(ticks * NS_PER_TICK);
}

void arm_gtimer_update(ARMCPU *cpu, int timer)
{
    ARMGTimer *gt = &cpu->env.sys.gt[timer];
    bool fired = (gt->ctl & CTL_ENABLE) && arm_gtimer_count() >= gt->cval;

    gt->ctl = (gt->ctl & ~(uint64_t)CTL_ISTATUS) | (fired ? CTL_ISTATUS : 0);
    trace_arm_gt_recalc(CPU(cpu)->cpu_index, timer, gt->ctl, gt->cval);
    if ((gt->ctl & CTL_ENABLE) && !fired) {
        timer_mod_ns(cpu->gt_timer[timer], ticks_to_ns(gt->cval));
    } else {
        timer_del(cpu->gt_timer[timer]);
    }
    if (cpu->gt_output) {
        cpu->gt_output(cpu->gt_output_opaque, timer,
                       fired && !(gt->ctl & CTL_IMASK));
    }
}

static void phys_expired(void *opaque)
{
    arm_gtimer_update(opaque, GTIMER_PHYS);
}

static void virt_expired(void *opaque)
{
    arm_gtimer_update(opaque, GTIMER_VIRT);
}

void arm_gtimer_init(ARMCPU *cpu)
{
    cpu->gt_timer[GTIMER_PHYS] = timer_new_ns(QEMU_CLOCK_VIRTUAL, phys_expired,
                                              cpu);
    cpu->gt_timer[GTIMER_VIRT] = timer_new_ns(QEMU_CLOCK_VIRTUAL, virt_expired,
                                              cpu);
}

void arm_gtimer_free(ARMCPU *cpu)
{
    for (int i = 0; i < NUM_GTIMERS; i++) {
        timer_free(cpu->gt_timer[i]);
        cpu->gt_timer[i] = NULL;
    }
}

/* ---- registers ---- */

/* CNTKCTL_EL1: EL0PCTEN 0, EL0VCTEN 1, EL0VTEN 8, EL0PTEN 9. */
static ARMAccess el0_if_cntkctl(const CPUARMState *env, uint64_t bits)
{
    return arm_current_el(env) > 0 || (env->sys.cntkctl_el1 & bits)
               ? ARM_ACCESS_OK
               : ARM_ACCESS_TRAP;
}

static ARMAccess access_freq(CPUARMState *env, const ARMSysReg *r, bool is_read)
{
    return el0_if_cntkctl(env, 3);
}

static ARMAccess access_pct(CPUARMState *env, const ARMSysReg *r, bool is_read)
{
    return el0_if_cntkctl(env, 1 << 0);
}

static ARMAccess access_vct(CPUARMState *env, const ARMSysReg *r, bool is_read)
{
    return el0_if_cntkctl(env, 1 << 1);
}

static ARMAccess access_vtimer(CPUARMState *env, const ARMSysReg *r,
                               bool is_read)
{
    return el0_if_cntkctl(env, 1 << 8);
}

static ARMAccess access_ptimer(CPUARMState *env, const ARMSysReg *r,
                               bool is_read)
{
    return el0_if_cntkctl(env, 1 << 9);
}

static uint64_t count_read(CPUARMState *env, const ARMSysReg *r)
{
    return arm_gtimer_count();
}

/* Which timer a register belongs to: CRm 2 is physical, 3 virtual. */
static int timer_of(const ARMSysReg *r)
{
    return ((r->enc >> 3) & 15) == 2 ? GTIMER_PHYS : GTIMER_VIRT;
}

static uint64_t ctl_read(CPUARMState *env, const ARMSysReg *r)
{
    ARMCPU *cpu = container_of(env, ARMCPU, env);

    arm_gtimer_update(cpu, timer_of(r));
    return env->sys.gt[timer_of(r)].ctl;
}

static void ctl_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    env->sys.gt[timer_of(r)].ctl = val & (CTL_ENABLE | CTL_IMASK);
    arm_gtimer_update(container_of(env, ARMCPU, env), timer_of(r));
}

static void cval_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    env->sys.gt[timer_of(r)].cval = val;
    arm_gtimer_update(container_of(env, ARMCPU, env), timer_of(r));
}

static uint64_t tval_read(CPUARMState *env, const ARMSysReg *r)
{
    return (uint32_t)(env->sys.gt[timer_of(r)].cval - arm_gtimer_count());
}

static void tval_write(CPUARMState *env, const ARMSysReg *r, uint64_t val)
{
    cval_write(env, r, arm_gtimer_count() + (int64_t)(int32_t)val);
}

#define FIELD(f) ((uint16_t)offsetof(CPUARMState, f))

#define TIMER(n, crm, t, acc)                                           \
    { .name = n "_TVAL_EL0",                                            \
      .enc = ARM_SYSREG_ENC(3, 3, 14, crm, 0),                          \
      .access = ARM_SR_RW0,                                             \
      .flags = ARM_SR_IO | ARM_SR_CHECK | ARM_SR_ENDS_BLOCK,            \
      .accessfn = acc,                                                  \
      .readfn = tval_read,                                              \
      .writefn = tval_write },                                          \
        { .name = n "_CTL_EL0",                                         \
          .enc = ARM_SYSREG_ENC(3, 3, 14, crm, 1),                      \
          .access = ARM_SR_RW0,                                         \
          .flags = ARM_SR_IO | ARM_SR_CHECK | ARM_SR_ENDS_BLOCK,        \
          .offset = FIELD(sys.gt[t].ctl),                               \
          .accessfn = acc,                                              \
          .readfn = ctl_read,                                           \
          .writefn = ctl_write },                                       \
    {                                                                   \
        .name = n "_CVAL_EL0", .enc = ARM_SYSREG_ENC(3, 3, 14, crm, 2), \
        .access = ARM_SR_RW0,                                           \
        .flags = ARM_SR_IO | ARM_SR_CHECK | ARM_SR_ENDS_BLOCK,          \
        .offset = FIELD(sys.gt[t].cval), .accessfn = acc,               \
        .writefn = cval_write,                                          \
    }

const ARMSysReg arm_gtimer_sysregs[] = {
    { .name = "CNTKCTL_EL1",
      .enc = ARM_SYSREG_ENC(3, 0, 14, 1, 0),
      .access = ARM_SR_RW,
      .offset = FIELD(sys.cntkctl_el1) },
    /* What firmware says the frequency is: storage for software. */
    { .name = "CNTFRQ_EL0",
      .enc = ARM_SYSREG_ENC(3, 3, 14, 0, 0),
      .access = ARM_SR_RW | ARM_SR_R0,
      .flags = ARM_SR_CHECK,
      .offset = FIELD(sys.cntfrq_el0),
      .resetvalue = GTIMER_FREQ_HZ,
      .accessfn = access_freq },
    { .name = "CNTPCT_EL0",
      .enc = ARM_SYSREG_ENC(3, 3, 14, 0, 1),
      .access = ARM_SR_RO0,
      .flags = ARM_SR_CHECK,
      .accessfn = access_pct,
      .readfn = count_read },
    { .name = "CNTVCT_EL0",
      .enc = ARM_SYSREG_ENC(3, 3, 14, 0, 2),
      .access = ARM_SR_RO0,
      .flags = ARM_SR_CHECK,
      .accessfn = access_vct,
      .readfn = count_read },
    TIMER("CNTP", 2, GTIMER_PHYS, access_ptimer),
    TIMER("CNTV", 3, GTIMER_VIRT, access_vtimer),
};

const size_t arm_gtimer_sysregs_count = ARRAY_SIZE(arm_gtimer_sysregs);
