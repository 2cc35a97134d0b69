/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers of an arm64 vCPU: the core's field by field, all others by the
 * kernel's list.
 */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "target/arm/host-regs.h"

#include "arm-kvm.h"

#define CORE_ID(size, field)                                  \
    (KVM_REG_ARM64 | KVM_REG_SIZE_##size | KVM_REG_ARM_CORE | \
     KVM_REG_ARM_CORE_REG(field))

/* ---- core: 64 bits each ---- */

typedef struct CoreReg {
    uint64_t id;
    size_t offset;
} CoreReg;

#define ENV(f) offsetof(CPUARMState, f)

static const CoreReg core[] = {
    { CORE_ID(U64, regs.pc), ENV(pc) },
    { CORE_ID(U64, regs.sp), ENV(sp_el[0]) },
    { CORE_ID(U64, sp_el1), ENV(sp_el[1]) },
    { CORE_ID(U64, elr_el1), ENV(elr_el[1]) },
    { CORE_ID(U64, spsr[KVM_SPSR_EL1]), ENV(banked_spsr[BANKED_SPSR_EL1]) },
    { CORE_ID(U64, spsr[KVM_SPSR_ABT]), ENV(banked_spsr[2]) },
    { CORE_ID(U64, spsr[KVM_SPSR_UND]), ENV(banked_spsr[3]) },
    { CORE_ID(U64, spsr[KVM_SPSR_IRQ]), ENV(banked_spsr[4]) },
    { CORE_ID(U64, spsr[KVM_SPSR_FIQ]), ENV(banked_spsr[5]) },
};

static bool get_core(KvmVcpu *v, CPUARMState *env, Error **errp)
{
    uint64_t pstate;

    for (int i = 0; i < 31; i++) {
        if (!kvm_arm_get_reg(v, CORE_ID(U64, regs.regs[0]) + 2 * i,
                             &env->xregs[i], errp)) {
            return false;
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(core); i++) {
        if (!kvm_arm_get_reg(v, core[i].id, (char *)env + core[i].offset,
                             errp)) {
            return false;
        }
    }
    if (!kvm_arm_get_reg(v, CORE_ID(U64, regs.pstate), &pstate, errp)) {
        return false;
    }
    if (pstate & PSTATE_NRW) {
        error_setg(errp,
                   "vCPU %lu is in AArch32 state (PSTATE 0x%" PRIx64
                   "), which is not supported",
                   v->id, pstate);
        return false;
    }
    /* Not arm_pstate_write(): both stack pointers are as they should be. */
    arm_nzcv_write(env, pstate);
    env->daif = pstate & PSTATE_DAIF;
    env->pstate = pstate & ~(uint64_t)(PSTATE_NZCV | PSTATE_DAIF);
    env->xregs[31] = env->sp_el[env->pstate & PSTATE_SP];
    return true;
}

static bool put_core(KvmVcpu *v, CPUARMState *env, Error **errp)
{
    uint64_t pstate = arm_pstate_read(env);

    env->sp_el[env->pstate & PSTATE_SP] = env->xregs[31];
    for (int i = 0; i < 31; i++) {
        if (!kvm_arm_set_reg(v, CORE_ID(U64, regs.regs[0]) + 2 * i,
                             &env->xregs[i], errp)) {
            return false;
        }
    }
    if (!kvm_arm_set_reg(v, CORE_ID(U64, regs.pstate), &pstate, errp)) {
        return false;
    }
    for (size_t i = 0; i < ARRAY_SIZE(core); i++) {
        if (!kvm_arm_set_reg(v, core[i].id, (char *)env + core[i].offset,
                             errp)) {
            return false;
        }
    }
    return true;
}

/* ---- vectors ---- */

/* V0..V31 are 4 words of 32 bits apart in the id. */
#define VREG_ID(i) (CORE_ID(U128, fp_regs.vregs[0]) + 4 * (i))

static bool get_vectors(KvmVcpu *v, CPUARMState *env, Error **errp)
{
    for (int i = 0; i < 32; i++) {
        if (!kvm_arm_get_reg(v, VREG_ID(i), env->vfp.zregs[i].d, errp)) {
            return false;
        }
    }
    return kvm_arm_get_reg(v, CORE_ID(U32, fp_regs.fpsr), &env->vfp.fpsr,
                           errp) &&
           kvm_arm_get_reg(v, CORE_ID(U32, fp_regs.fpcr), &env->vfp.fpcr, errp);
}

static bool put_vectors(KvmVcpu *v, CPUARMState *env, Error **errp)
{
    for (int i = 0; i < 32; i++) {
        if (!kvm_arm_set_reg(v, VREG_ID(i), env->vfp.zregs[i].d, errp)) {
            return false;
        }
    }
    return kvm_arm_set_reg(v, CORE_ID(U32, fp_regs.fpsr), &env->vfp.fpsr,
                           errp) &&
           kvm_arm_set_reg(v, CORE_ID(U32, fp_regs.fpcr), &env->vfp.fpcr, errp);
}

/* ---- the list ---- */

static bool is_counter(uint64_t id)
{
    return id == KVM_REG_ARM_TIMER_CNT || id == KVM_REG_ARM_PTIMER_CNT;
}

/* Low bytes first, as the kernel stores a register of 32 bits. */
static bool get_list(KvmVcpu *v, ARMCPU *cpu, Error **errp)
{
    const KvmArmVcpu *x = kvm_arm_vcpu(v);
    uint64_t *values = arm_cpu_host_values(cpu);

    for (size_t i = 0; i < x->n_ids; i++) {
        values[i] = 0;
        if (!kvm_arm_get_reg(v, x->ids[i], &values[i], errp)) {
            return false;
        }
    }
    arm_cpu_host_regs_to_env(cpu);
    return true;
}

/* Some cannot be written, and some only with what they have. */
static bool has_value(KvmVcpu *v, uint64_t id, uint64_t value)
{
    uint64_t now = 0;

    return kvm_arm_get_reg(v, id, &now, NULL) && now == value;
}

static bool put_list(KvmVcpu *v, ARMCPU *cpu, KvmPutLevel level, Error **errp)
{
    const KvmArmVcpu *x = kvm_arm_vcpu(v);
    const uint64_t *values = arm_cpu_host_values(cpu);

    for (size_t i = 0; i < x->n_ids; i++) {
        if (is_counter(x->ids[i]) && level != KVM_PUT_FULL) {
            continue; /* it has gone on */
        }
        if (!kvm_arm_set_reg(v, x->ids[i], &values[i], NULL) &&
            !has_value(v, x->ids[i], values[i])) {
            error_setg(errp,
                       "this host's KVM does not let register 0x%" PRIx64
                       " of vCPU %lu be 0x%" PRIx64,
                       x->ids[i], v->id, values[i]);
            return false;
        }
    }
    return true;
}

/* ---- events ---- */

static bool get_events(KvmVcpu *v, ARMCPU *cpu, Error **errp)
{
    struct kvm_vcpu_events e = { 0 };
    struct kvm_mp_state mp;
    int ret = kvm_vcpu_ioctl(v, KVM_GET_MP_STATE, &mp);

    if (ret >= 0 && kvm_check_extension(KVM_CAP_VCPU_EVENTS) > 0) {
        ret = kvm_vcpu_ioctl(v, KVM_GET_VCPU_EVENTS, &e);
    }
    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot get the run state of vCPU %lu",
                         v->id);
        return false;
    }
    arm_cpu_set_power_state(cpu, mp.mp_state == KVM_MP_STATE_STOPPED ? PSCI_OFF
                                                                     : PSCI_ON);
    cpu->env.serror.pending = e.exception.serror_pending;
    cpu->env.serror.has_esr = e.exception.serror_has_esr;
    cpu->env.serror.esr = e.exception.serror_esr;
    return true;
}

static bool put_events(KvmVcpu *v, ARMCPU *cpu, Error **errp)
{
    struct kvm_vcpu_events e = {
        .exception = {
            .serror_pending = cpu->env.serror.pending,
            .serror_has_esr = cpu->env.serror.has_esr,
            .serror_esr = cpu->env.serror.esr,
        },
    };
    struct kvm_mp_state mp = {
        .mp_state = arm_cpu_power_state(cpu) == PSCI_OFF
                        ? KVM_MP_STATE_STOPPED
                        : KVM_MP_STATE_RUNNABLE,
    };
    int ret = kvm_vcpu_ioctl(v, KVM_SET_MP_STATE, &mp);

    if (ret >= 0 && kvm_check_extension(KVM_CAP_VCPU_EVENTS) > 0) {
        ret = kvm_vcpu_ioctl(v, KVM_SET_VCPU_EVENTS, &e);
    }
    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot set the run state of vCPU %lu",
                         v->id);
    }
    return ret >= 0;
}

/* ---- all ---- */

bool kvm_arch_get_registers(KvmVcpu *v, Error **errp)
{
    ARMCPU *cpu = ARM_CPU(v->cs);

    return get_core(v, &cpu->env, errp) && get_vectors(v, &cpu->env, errp) &&
           get_list(v, cpu, errp) && get_events(v, cpu, errp);
}

/*
 * A reset is the kernel's: its registers have the values that this host's have
 * after one. Only what a board then sets (pc, x0, ...) is ours.
 */
bool kvm_arch_put_registers(KvmVcpu *v, KvmPutLevel level, Error **errp)
{
    ARMCPU *cpu = ARM_CPU(v->cs);

    if (level == KVM_PUT_RESET) {
        return kvm_arm_init_vcpu(v, errp) && put_core(v, &cpu->env, errp) &&
               put_vectors(v, &cpu->env, errp) && get_list(v, cpu, errp) &&
               put_events(v, cpu, errp);
    }
    if (!put_core(v, &cpu->env, errp) || !put_vectors(v, &cpu->env, errp) ||
        !put_list(v, cpu, level, errp)) {
        return false;
    }
    return level == KVM_PUT_RUNTIME || put_events(v, cpu, errp);
}
