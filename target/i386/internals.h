/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of target/i386 share.
 */
#ifndef TARGET_I386_INTERNALS_H
#define TARGET_I386_INTERNALS_H

#include "target/i386/x86-cpu.h"

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

/* ---- features.c ---- */

/* Append a Property for each feature. */
void x86_feature_properties(GArray *props);

#endif /* TARGET_I386_INTERNALS_H */
