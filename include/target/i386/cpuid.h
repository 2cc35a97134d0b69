/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUID: what a vCPU says of itself, and what the host lets it say.
 *
 * A feature is a bit of a word; a word is a register of a CPUID leaf (or a
 * model specific register). Names are QEMU's, as -cpu takes them. `never` are
 * bits that no vCPU of ours may have whatever the host says, since their state
 * would not survive a migration (nested virtualisation, tracing, enclaves,
 * tiles, performance monitoring) or there is nothing behind them.
 *
 * Threads: x86_host_set() once, before vCPUs are made; all else is constant.
 *
 * Used by: accel/kvm, target/i386. Uses: nothing.
 */
#ifndef TARGET_I386_CPUID_H
#define TARGET_I386_CPUID_H

typedef struct X86CPU X86CPU;

typedef enum X86CpuidReg {
    X86_EAX,
    X86_EBX,
    X86_ECX,
    X86_EDX
} X86CpuidReg;

typedef enum X86Feature {
    FEAT_1_ECX,
    FEAT_1_EDX,
    FEAT_6_EAX,
    FEAT_7_0_EBX,
    FEAT_7_0_ECX,
    FEAT_7_0_EDX,
    FEAT_7_1_EAX,
    FEAT_7_1_ECX,
    FEAT_7_1_EDX,
    FEAT_7_2_EDX,
    FEAT_XSAVE,
    FEAT_SGX_12_0_EAX,
    FEAT_SGX_12_0_EBX,
    FEAT_SGX_12_1_EAX,
    FEAT_14_0_ECX,
    FEAT_1E_1_EAX,
    FEAT_24_0_EBX,
    FEAT_24_1_ECX,
    FEAT_29_0_EBX,
    FEAT_KVM,
    FEAT_KVM_HINTS,
    FEAT_8000_0001_ECX,
    FEAT_8000_0001_EDX,
    FEAT_8000_0007_EBX,
    FEAT_8000_0007_EDX,
    FEAT_8000_0008_EBX,
    FEAT_SVM,
    FEAT_8000_0021_EAX,
    FEAT_8000_0021_ECX,
    FEAT_8000_0022_EAX,
    FEAT_C000_0001_EDX,
    FEAT_ARCH_CAPABILITIES,
    FEATURE_WORDS
} X86Feature;

typedef struct X86FeatureWord {
    uint32_t function; /* CPUID leaf, or number of the register */
    uint32_t index;
    bool has_index;
    bool is_msr;
    X86CpuidReg reg;
    uint32_t never;
    uint32_t nameless;     /* bits that go with a named one */
    const char *names[32]; /* NULL: no name, never offered */
} X86FeatureWord;

extern const X86FeatureWord x86_feature_words[FEATURE_WORDS];

/* "CPUID[eax=07h,ecx=00h].EBX.avx2 [bit 5]"; caller frees. */
char *x86_feature_describe(X86Feature word, unsigned bit);
/* False: no feature of that name. */
bool x86_feature_find(const char *name, X86Feature *word, unsigned *bit);

#define X86_CPUID_MAX 128

typedef struct X86CpuidEntry {
    uint32_t function, index;
    bool has_index; /* the leaf has several, by ECX */
    uint32_t regs[4];
} X86CpuidEntry;

typedef struct X86Cpuid {
    unsigned n;
    X86CpuidEntry e[X86_CPUID_MAX];
} X86Cpuid;

/* NULL: no such leaf. @index is ignored by leaves that have none. */
const X86CpuidEntry *x86_cpuid_find(const X86Cpuid *c, uint32_t function,
                                    uint32_t index);
void x86_cpuid_add(X86Cpuid *c, uint32_t function, int index, uint32_t eax,
                   uint32_t ebx, uint32_t ecx, uint32_t edx);

/* What the accelerator can give a vCPU on this host. */
typedef struct X86Host {
    X86Cpuid cpuid;
    uint32_t arch_capabilities; /* low half of that register */
    char vendor[13];
    char model_id[49];
    uint64_t mcg_cap; /* machine checks; 0: none */
    int64_t tsc_khz;  /* 0: not known */
    bool tsc_scaling; /* guests may have another rate */
} X86Host;

/* Copied; NULL: none (then model `host` cannot be had). */
void x86_host_set(const X86Host *host);
const X86Host *x86_host(void);
/* Bits of @word that the host offers, less those that are `never`. */
uint32_t x86_host_features(const X86Host *host, X86Feature word);

/* All leaves of @cpu, which is realized. */
void x86_cpu_build_cpuid(const X86CPU *cpu, X86Cpuid *out);

#endif /* TARGET_I386_CPUID_H */
