/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of target/i386 share.
 */
#ifndef TARGET_I386_INTERNALS_H
#define TARGET_I386_INTERNALS_H

#include "target/i386/x86-cpu.h"
#include "vmstate/vmstate.h"

/* ---- dump.c ---- */

void x86_cpu_dump_state(CPUState *cs, GString *out);

/* ---- translate.c ---- */

bool x86_cpu_translate_debug(CPUState *cs, vaddr addr, hwaddr *phys);

/* ---- models.c ---- */

typedef struct X86Model {
    const char *name;
    bool from_host; /* all below is the host's */
    const char *vendor, *model_id;
    uint8_t family, model, stepping;
    uint32_t level, xlevel;
    uint32_t features[FEATURE_WORDS];
    uint32_t kvm_features;
} X86Model;

const X86Model *x86_model_find(const char *name);
/* Leaf 1, EAX. */
uint32_t x86_signature(unsigned family, unsigned model, unsigned stepping);
/* From options and host to what the vCPU has. Before the reset. */
bool x86_cpu_expand_model(X86CPU *cpu, Error **errp);

/* ---- vmstate*.c ---- */

extern const VMStateDescription vmstate_x86_cpu, vmstate_x86_apic;
extern const VMStateDescription vmstate_x86_features, vmstate_x86_tsc_khz;
/* Of `cpu`, one register each: name, field of CPUX86State, value that is not sent */
#define X86_MSR_SUBSECTIONS(X)                                     \
    X("cpu/msr_tsc_adjust", tsc_adjust, 0)                         \
    X("cpu/msr_tscdeadline", tsc_deadline, 0)                      \
    X("cpu/msr_ia32_misc_enable", msr_ia32_misc_enable, 1)         \
    X("cpu/msr_ia32_feature_control", msr_ia32_feature_control, 0) \
    X("cpu/msr_smi_count", smi_count, 0)                           \
    X("cpu/mcg_ext_ctl", mcg_ext_ctl, 0)                           \
    X("cpu/spec_ctrl", spec_ctrl, 0)                               \
    X("cpu/virt_ssbd", virt_ssbd, 0)                               \
    X("cpu/msr_tsx_ctrl", tsx_ctrl, 0)                             \
    X("cpu/xss", xss, 0)                                           \
    X("cpu/async_pf_msr", async_pf_en_msr, 0)                      \
    X("cpu/async_pf_int_msr", async_pf_int_msr, 0)                 \
    X("cpu/pv_eoi_msr", pv_eoi_en_msr, 0)                          \
    X("cpu/steal_time_msr", steal_time_msr, 0)                     \
    X("cpu/poll_control_msr", poll_control_msr, 1)                 \
    X("cpu/ferry-umwait", umwait, 0)                               \
    X("cpu/ferry-debugctl", debugctl, 0)                           \
    X("cpu/ferry-power_ctl", power_ctl, 0)                         \
    X("cpu/ferry-hwcr", hwcr, 0)                                   \
    X("cpu/ferry-misc_features", misc_features_enables, 0)         \
    X("cpu/ferry-migration_control", migration_control_msr, 0)
#define X86_MSR_EXTERN(section, field, value) \
    extern const VMStateDescription vmstate_x86_##field;
X86_MSR_SUBSECTIONS(X86_MSR_EXTERN)
/* Registers that a stream leaves out have these values. */
void x86_msr_subsections_default(CPUX86State *env);

/* ---- features.c ---- */

/* Append a Property for each feature. */
void x86_feature_properties(GArray *props);

#endif /* TARGET_I386_INTERNALS_H */
