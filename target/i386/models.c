/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPU models, and how -cpu's options change them.
 *
 *   features = model's | switched on, & what the host offers, & ~switched off
 *
 * `host` and `max` begin with all that the host offers; what moves between
 * hosts badly (invtsc) is left out unless migratable=off or asked for. What is
 * asked for and cannot be had is warned of (check=on, the default) or is an
 * error (enforce=on).
 */
#include "qemu/osdep.h"

#include "internals.h"
#include "qemu/error.h"
#include "target/i386/cpuid.h"
#include "target/i386/xsave.h"

#define FEATURE_BIT(b) (1u << (b))

/* Family 15, model 107, stepping 1 as leaf 1 encodes it. */
static const X86Model models[] = {
    { .name = "host", .from_host = true },
    { .name = "max", .from_host = true },
    {
        .name = "qemu64",
        .vendor = "AuthenticAMD",
        .model_id = "QEMU Virtual CPU version 2.5+",
        .family = 15,
        .model = 107,
        .stepping = 1,
        .level = 0xd,
        .xlevel = 0x8000000a,
        .features = {
            [FEAT_1_EDX] = 0x078bfbfd,
            [FEAT_1_ECX] = 0x80002001,
            [FEAT_8000_0001_EDX] = 0x20100800,
            [FEAT_8000_0001_ECX] = 0x00000001,
        },
        /* Of what KVM adds: what every kernel has had for long. */
        .kvm_features = 0x0100007b,
    },
};

const X86Model *x86_model_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(models); i++) {
        if (g_str_equal(models[i].name, name)) {
            return &models[i];
        }
    }
    return NULL;
}

/* ---- signature ---- */

uint32_t x86_signature(unsigned family, unsigned model, unsigned stepping)
{
    unsigned base = MIN(family, 15), ext = family - base;

    return ext << 20 | (model >> 4 & 15) << 16 | base << 8 | (model & 15) << 4 |
           (stepping & 15);
}

static void split_signature(uint32_t eax, int *family, int *model,
                            int *stepping)
{
    *family = (eax >> 8 & 15) + (eax >> 20 & 0xff);
    *model = (eax >> 4 & 15) | (eax >> 16 & 15) << 4;
    *stepping = eax & 15;
}

/* ---- features ---- */

/* What the model has, whether the host offers it or not. */
static void base_features(X86CPU *cpu, const X86Model *m)
{
    const X86Host *host = x86_host();

    memcpy(cpu->features, m->features, sizeof(cpu->features));
    if (!m->from_host) {
        cpu->features[FEAT_KVM] = host ? m->kvm_features : 0;
        if (host) {
            /* What costs nothing, and an idle guest badly wants. */
            cpu->features[FEAT_1_ECX] |= FEATURE_BIT(21); /* x2apic */
        }
        return;
    }
    for (int w = 0; host && w < FEATURE_WORDS; w++) {
        cpu->features[w] = x86_host_features(host, w);
    }
    /* AMD's own leaves of the topology: for who asks for them. */
    cpu->features[FEAT_8000_0001_ECX] &= ~FEATURE_BIT(22);
    if (cpu->migratable) {
        cpu->features[FEAT_8000_0007_EDX] &= ~FEATURE_BIT(8); /* invtsc */
    }
}

/* False: @missing has bits and the user insists on them. */
static bool tell_missing(X86CPU *cpu, X86Feature word, uint32_t missing,
                         Error **errp)
{
    for (unsigned b = 0; b < 32; b++) {
        g_autofree char *what = NULL;
        bool ours;

        if (!(missing >> b & 1)) {
            continue;
        }
        what = x86_feature_describe(word, b);
        ours = x86_feature_words[word].never >> b & 1;
        if (cpu->enforce_cpuid) {
            error_setg(errp, "%s doesn't support requested feature: %s",
                       ours ? "this VMM" : "host", what);
            return false;
        }
        if (cpu->check_cpuid && CPU(cpu)->cpu_index <= 0) { /* once */
            warn_report("%s doesn't support requested feature: %s",
                        ours ? "this VMM" : "host", what);
        }
    }
    return true;
}

/* Without an accelerator that runs code everything is to be had. */
static uint32_t offered(X86Feature word)
{
    const X86Host *host = x86_host();

    return host ? x86_host_features(host, word)
                : ~x86_feature_words[word].never;
}

static bool filter_features(X86CPU *cpu, Error **errp)
{
    for (int w = 0; w < FEATURE_WORDS; w++) {
        uint32_t want = (cpu->features[w] | cpu->features_on[w]) &
                        ~cpu->features_off[w];
        uint32_t have = want & offered(w);

        cpu->features[w] = have;
        cpu->filtered_features[w] = want & ~have;
        if (!tell_missing(cpu, w, want & ~have, errp)) {
            return false;
        }
    }
    return true;
}

/* ---- XSAVE ---- */

static bool user_off(const X86CPU *cpu, const char *name)
{
    X86Feature w;
    unsigned b;

    return x86_feature_find(name, &w, &b) && (cpu->features_off[w] >> b & 1);
}

static bool has(const X86CPU *cpu, const char *name)
{
    X86Feature w;
    unsigned b;

    return x86_feature_find(name, &w, &b) && (cpu->features[w] >> b & 1);
}

/*
 * Which components XCR0 may have. A host model has those that the host lists
 * in leaf 0xd, even where the feature's bit is not offered: there are kernels
 * that run such code all the same. Others need the bit.
 */
static uint64_t choose_xsave(const X86CPU *cpu, bool from_host)
{
    static const struct {
        uint64_t mask;
        const char *feature;
    } needs[] = {
        { 1u << XSAVE_AVX, "avx" },
        { 1u << XSAVE_OPMASK | 1u << XSAVE_ZMM_HI256 | 1u << XSAVE_HI16_ZMM,
          "avx512f" },
        { 1u << XSAVE_PKRU, "pku" },
    };
    const X86Host *host = x86_host();
    const X86CpuidEntry *e = host ? x86_cpuid_find(&host->cpuid, 0xd, 0) : NULL;
    uint64_t mask;

    if (!e || (from_host ? user_off(cpu, "xsave") : !has(cpu, "xsave"))) {
        return 0;
    }
    mask = (e->regs[X86_EAX] | (uint64_t)e->regs[X86_EDX] << 32) &
           x86_xsave_known;
    for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
        if (from_host ? user_off(cpu, needs[i].feature)
                      : !has(cpu, needs[i].feature)) {
            mask &= ~needs[i].mask;
        }
    }
    for (int i = 2; i < 63; i++) {
        if ((mask >> i & 1) && !x86_xsave_offset(&host->cpuid, i)) {
            mask &= ~(UINT64_C(1) << i);
        }
    }
    if (!(mask & 1u << XSAVE_AVX)) {
        mask &= ~needs[1].mask; /* they build on each other */
    }
    return mask;
}

/* ---- the rest of the identification ---- */

static void identify(X86CPU *cpu, const X86Model *m)
{
    const X86Host *host = x86_host();
    const X86CpuidEntry *e;
    int family = m->family, model = m->model, stepping = m->stepping;
    const char *vendor = m->vendor, *model_id = m->model_id;

    cpu->level = m->level;
    cpu->xlevel = m->xlevel;
    if (host) {
        vendor = host->vendor; /* code looks at it to choose instructions */
    }
    if (m->from_host) {
        e = x86_cpuid_find(&host->cpuid, 1, 0);
        split_signature(e ? e->regs[X86_EAX] : 0, &family, &model, &stepping);
        e = x86_cpuid_find(&host->cpuid, 0, 0);
        cpu->level = e ? e->regs[X86_EAX] : 1;
        e = x86_cpuid_find(&host->cpuid, 0x80000000, 0);
        cpu->xlevel = e ? e->regs[X86_EAX] : 0x80000008;
        model_id = host->model_id;
    }
    family = cpu->family >= 0 ? cpu->family : family;
    model = cpu->model_number >= 0 ? cpu->model_number : model;
    stepping = cpu->stepping >= 0 ? cpu->stepping : stepping;
    cpu->env.signature = x86_signature(family, model, stepping);
    memset(cpu->vendor_id, 0, sizeof(cpu->vendor_id));
    memcpy(cpu->vendor_id, cpu->vendor ? cpu->vendor : vendor, 12);
    memset(cpu->model_id_text, 0, sizeof(cpu->model_id_text));
    g_strlcpy(cpu->model_id_text, cpu->model_id ? cpu->model_id : model_id,
              sizeof(cpu->model_id_text));
}

static bool choose_phys_bits(X86CPU *cpu, bool from_host, Error **errp)
{
    const X86Host *host = x86_host();
    const X86CpuidEntry *e = host ? x86_cpuid_find(&host->cpuid, 0x80000008, 0)
                                  : NULL;
    unsigned host_bits = e ? e->regs[X86_EAX] & 0xff : 40;

    cpu->host_phys_bits |= from_host && !cpu->phys_bits;
    if (!cpu->phys_bits) {
        cpu->phys_bits = cpu->host_phys_bits ? host_bits : 40;
        return true;
    }
    if (cpu->phys_bits < 32 || cpu->phys_bits > 52) {
        error_setg(errp, "phys-bits should be between 32 and 52  (but is %u)",
                   cpu->phys_bits);
        return false;
    }
    if (host && cpu->phys_bits > host_bits) {
        warn_report("Host physical bits (%u) does not match phys-bits "
                    "property (%u)",
                    host_bits, cpu->phys_bits);
    }
    return true;
}

static bool choose_tsc(X86CPU *cpu, Error **errp)
{
    const X86Host *host = x86_host();

    if (cpu->tsc_frequency < 0 || cpu->tsc_frequency > INT64_C(1) << 42) {
        error_setg(errp, "tsc-frequency is %" PRId64 " Hz, expected 0 to 2^42",
                   cpu->tsc_frequency);
        return false;
    }
    cpu->env.tsc_khz = cpu->tsc_frequency ? cpu->tsc_frequency / 1000
                       : host             ? host->tsc_khz
                                          : 0;
    return true;
}

bool x86_cpu_expand_model(X86CPU *cpu, Error **errp)
{
    const X86Model *m = x86_model_find(CPU_GET_CLASS(cpu)->model);
    const X86Host *host = x86_host();

    if (cpu->vendor && strlen(cpu->vendor) != 12) {
        error_setg(errp, "vendor is '%s', expected 12 characters", cpu->vendor);
        return false;
    }
    if (m->from_host && !host) {
        if (g_str_equal(m->name, "host")) {
            error_setg(errp, "CPU model 'host' requires KVM");
            return false;
        }
        m = x86_model_find("qemu64");
    }
    cpu->model_is_host = m->from_host;
    base_features(cpu, m);
    if (!filter_features(cpu, errp)) {
        return false;
    }
    identify(cpu, m);
    cpu->xsave_mask = choose_xsave(cpu, m->from_host);
    if (!(cpu->xsave_mask)) {
        cpu->features[FEAT_XSAVE] = 0;
    }
    cpu->env.mcg_cap_reset = has(cpu, "mce") && has(cpu, "mca") && host
                                 ? host->mcg_cap
                                 : 0;
    return choose_phys_bits(cpu, m->from_host, errp) && choose_tsc(cpu, errp);
}
