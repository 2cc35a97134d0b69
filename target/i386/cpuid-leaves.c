/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CPUID leaves of a vCPU: Intel SDM vol. 2A, CPUID; AMD APM (24594),
 * vol. 3, appendix E. Leaves that say nothing are left out: they read as zero.
 *
 * An APIC id is, from bit 0: thread, core, die, package, each as wide as its
 * number needs.
 */
#include "qemu/osdep.h"

#include "internals.h"
#include "target/i386/cpuid.h"
#include "target/i386/xsave.h"

/* Leaf 0xb and 0x1f, ECX bits 8..15. */
enum {
    LEVEL_SMT = 1,
    LEVEL_CORE = 2,
    LEVEL_DIE = 5
};

typedef struct Builder {
    const X86CPU *cpu;
    const X86Host *host; /* NULL, or model host or max: its leaves are passed */
    X86Cpuid *out;
    unsigned thread_shift, core_shift, die_shift; /* what lies below each */
    unsigned package_threads;
} Builder;

static void add(const Builder *b, uint32_t function, int index, uint32_t eax,
                uint32_t ebx, uint32_t ecx, uint32_t edx)
{
    x86_cpuid_add(b->out, function, index, eax, ebx, ecx, edx);
}

static uint32_t feature(const Builder *b, X86Feature word)
{
    return b->cpu->features[word];
}

static void vendor_regs(const Builder *b, uint32_t r[3])
{
    memcpy(r, b->cpu->vendor_id, 12);
}

static bool is_vendor(const Builder *b, const char *vendor)
{
    return memcmp(b->cpu->vendor_id, vendor, 12) == 0;
}

/* The host's leaf unchanged. */
static void pass(const Builder *b, uint32_t function)
{
    const X86CpuidEntry *e = b->host
                                 ? x86_cpuid_find(&b->host->cpuid, function, 0)
                                 : NULL;

    if (e) {
        add(b, function, -1, e->regs[0], e->regs[1], e->regs[2], e->regs[3]);
    }
}

/* ---- topology ---- */

static unsigned bits_for(unsigned n)
{
    unsigned bits = 0;

    while ((1u << bits) < n) {
        bits++;
    }
    return bits;
}

static void topology_init(Builder *b)
{
    const X86Topology *t = &b->cpu->topology;

    b->thread_shift = bits_for(t->threads);
    b->core_shift = b->thread_shift + bits_for(t->cores);
    b->die_shift = b->core_shift + bits_for(t->dies);
    b->package_threads = t->threads * t->cores * t->dies;
}

uint32_t x86_apic_id_of(const X86Topology *t, unsigned cpu_index)
{
    unsigned thread = cpu_index % t->threads;
    unsigned core = cpu_index / t->threads % t->cores;
    unsigned die = cpu_index / t->threads / t->cores % t->dies;
    unsigned package = cpu_index / t->threads / t->cores / t->dies;
    unsigned cores = bits_for(t->threads), dies = cores + bits_for(t->cores);

    return package << (dies + bits_for(t->dies)) | die << dies | core << cores |
           thread;
}

static void add_levels(const Builder *b, uint32_t function, bool with_dies)
{
    const X86Topology *t = &b->cpu->topology;
    uint32_t id = b->cpu->apic_id;
    int n = 0;

    add(b, function, n, b->thread_shift, t->threads, n | LEVEL_SMT << 8, id);
    n++;
    if (with_dies) {
        add(b, function, n, b->core_shift, t->threads * t->cores,
            n | LEVEL_CORE << 8, id);
        n++;
        add(b, function, n, b->die_shift, b->package_threads,
            n | LEVEL_DIE << 8, id);
    } else {
        add(b, function, n, b->die_shift, b->package_threads,
            n | LEVEL_CORE << 8, id);
    }
    n++;
    add(b, function, n, 0, 0, n, id);
}

/* ---- caches ---- */

/*
 * Deterministic cache parameters: the host's, shared by as many threads as the
 * level says of this topology. EAX bits 14..25: threads that share it, less 1;
 * with @intel bits 26..31: cores of the package, less 1.
 */
static void add_caches(const Builder *b, uint32_t function, bool intel)
{
    for (int i = 0; i < 8; i++) {
        const X86CpuidEntry *e = b->host ? x86_cpuid_find(&b->host->cpuid,
                                                          function, i)
                                         : NULL;
        unsigned level, shift;
        uint32_t eax;

        if (!e || !(e->regs[0] & 0x1f)) {
            add(b, function, i, 0, 0, 0, 0);
            return;
        }
        level = e->regs[0] >> 5 & 7;
        shift = level < 3 ? b->thread_shift : b->core_shift;
        eax = (e->regs[0] & 0x3fff) | ((1u << shift) - 1) << 14;
        if (intel) {
            eax |= ((1u << (b->die_shift - b->thread_shift)) - 1) << 26;
        }
        add(b, function, i, eax, e->regs[1], e->regs[2], e->regs[3]);
    }
}

/* Without a host's: 64 KiB L1, 512 KiB L2, 16 MiB L3. */
static void add_amd_caches(const Builder *b)
{
    if (b->host && x86_cpuid_find(&b->host->cpuid, 0x80000005, 0)) {
        pass(b, 0x80000005);
        pass(b, 0x80000006);
        return;
    }
    add(b, 0x80000005, -1, 0x01ff01ff, 0x01ff01ff, 0x40020140, 0x40020140);
    add(b, 0x80000006, -1, 0x00000000, 0x42004200, 0x02008140, 0x00808140);
}

/* ---- leaf 0xd ---- */

static void add_xsave(const Builder *b)
{
    const X86Host *host = x86_host();
    uint64_t mask = b->cpu->xsave_mask;
    uint32_t most = X86_XSAVE_HEADER_END;

    if (!mask || !host) {
        return;
    }
    for (int i = 2; i < 63; i++) {
        const X86CpuidEntry *e = x86_cpuid_find(&host->cpuid, 0xd, i);

        if ((mask >> i & 1) && e) {
            most = MAX(most, e->regs[X86_EAX] + e->regs[X86_EBX]);
        }
    }
    add(b, 0xd, 0, mask, most, most, mask >> 32);
    add(b, 0xd, 1, feature(b, FEAT_XSAVE), most, 0, 0);
    for (int i = 2; i < 63; i++) {
        const X86CpuidEntry *e = x86_cpuid_find(&host->cpuid, 0xd, i);

        if ((mask >> i & 1) && e) {
            add(b, 0xd, i, e->regs[0], e->regs[1], e->regs[2], e->regs[3]);
        }
    }
}

/* ---- the ranges ---- */

static void add_leaf_1(const Builder *b)
{
    uint32_t ebx = (b->cpu->apic_id & 0xff) << 24 | 8 << 8; /* clflush: 64 */
    uint32_t edx = feature(b, FEAT_1_EDX);

    if (b->package_threads > 1) {
        ebx |= MIN(1u << b->die_shift, 255) << 16;
        edx |= 1u << 28; /* there is more than one in the package */
    }
    add(b, 1, -1, b->cpu->env.signature, ebx, feature(b, FEAT_1_ECX), edx);
}

static void add_leaf_7(const Builder *b)
{
    uint32_t most = 0;

    if (feature(b, FEAT_7_2_EDX)) {
        most = 2;
    } else if (feature(b, FEAT_7_1_EAX) || feature(b, FEAT_7_1_EDX)) {
        most = 1;
    }
    add(b, 7, 0, most, feature(b, FEAT_7_0_EBX), feature(b, FEAT_7_0_ECX),
        feature(b, FEAT_7_0_EDX));
    if (most >= 1) {
        add(b, 7, 1, feature(b, FEAT_7_1_EAX), 0, 0, feature(b, FEAT_7_1_EDX));
    }
    if (most >= 2) {
        add(b, 7, 2, 0, 0, 0, feature(b, FEAT_7_2_EDX));
    }
}

static void add_basic(const Builder *b)
{
    uint32_t v[3], level = b->cpu->level;

    vendor_regs(b, v);
    if (b->cpu->topology.dies > 1) {
        level = MAX(level, 0x1f);
    }
    add(b, 0, -1, level, v[0], v[2], v[1]);
    add_leaf_1(b);
    pass(b, 2);
    if (is_vendor(b, "GenuineIntel")) {
        add_caches(b, 4, true);
    }
    if (level >= 6) {
        add(b, 6, -1, feature(b, FEAT_6_EAX), 0, 0, 0);
    }
    if (level >= 7) {
        add_leaf_7(b);
    }
    if (level >= 0xb) {
        add_levels(b, 0xb, false);
    }
    if (level >= 0xd) {
        add_xsave(b);
    }
    if (b->cpu->topology.dies > 1) {
        add_levels(b, 0x1f, true);
    }
}

static void add_paravirtual(const Builder *b)
{
    if (b->cpu->expose_kvm && x86_host()) {
        uint32_t v[3];

        memcpy(v, "KVMKVMKVM\0\0\0", 12);
        add(b, 0x40000000, -1, 0x40000001, v[0], v[1], v[2]);
        add(b, 0x40000001, -1, feature(b, FEAT_KVM), 0, 0,
            feature(b, FEAT_KVM_HINTS));
    }
}

/* Bits of leaf 1, EDX that AMD repeats. */
#define AMD_EDX_ALIASES 0x0183f3ffu

static void add_leaf_80000001(const Builder *b, bool amd)
{
    const X86CpuidEntry *e = b->host ? x86_cpuid_find(&b->host->cpuid,
                                                      0x80000001, 0)
                                     : NULL;
    uint32_t ecx = feature(b, FEAT_8000_0001_ECX);
    uint32_t edx = feature(b, FEAT_8000_0001_EDX);

    if (amd) {
        edx |= feature(b, FEAT_1_EDX) & AMD_EDX_ALIASES;
        if (b->package_threads > 1) {
            ecx |= 1u << 1; /* the count in leaf 1 is of cores */
        }
    }
    add(b, 0x80000001, -1, b->cpu->env.signature, e ? e->regs[X86_EBX] : 0, ecx,
        edx);
}

static void add_model_id(const Builder *b)
{
    for (int i = 0; i < 3; i++) {
        uint32_t r[4];

        memcpy(r, b->cpu->model_id_text + 16 * i, 16);
        add(b, 0x80000002 + i, -1, r[0], r[1], r[2], r[3]);
    }
}

static void add_amd_topology(const Builder *b)
{
    const X86Topology *t = &b->cpu->topology;
    unsigned core = b->cpu->apic_id >> b->thread_shift &
                    ((1u << (b->core_shift - b->thread_shift)) - 1);

    if (!(feature(b, FEAT_8000_0001_ECX) & 1u << 22)) {
        return; /* no topology extensions */
    }
    add_caches(b, 0x8000001d, false);
    add(b, 0x8000001e, -1, b->cpu->apic_id, core | (t->threads - 1) << 8,
        b->cpu->apic_id >> b->die_shift & 0xff, 0);
}

static void add_extended(const Builder *b)
{
    bool amd = is_vendor(b, "AuthenticAMD");
    bool la57 = feature(b, FEAT_7_0_ECX) & 1u << 16;
    uint32_t v[3], level = b->cpu->xlevel, counts = 0;

    vendor_regs(b, v);
    add(b, 0x80000000, -1, level, v[0], v[2], v[1]);
    add_leaf_80000001(b, amd);
    add_model_id(b);
    if (amd) {
        add_amd_caches(b);
    } else {
        add(b, 0x80000006, -1, 0, 0, 0x02008140, 0);
    }
    add(b, 0x80000007, -1, 0, feature(b, FEAT_8000_0007_EBX), 0,
        feature(b, FEAT_8000_0007_EDX));
    if (amd && b->package_threads > 1) {
        counts = b->die_shift << 12 | (b->package_threads - 1);
    }
    add(b, 0x80000008, -1, b->cpu->phys_bits | (la57 ? 57u : 48u) << 8,
        feature(b, FEAT_8000_0008_EBX), counts, 0);
    if (amd && level >= 0x8000001e) {
        pass(b, 0x8000001a);
        add_amd_topology(b);
    }
    if (level >= 0x80000021) {
        add(b, 0x80000021, -1, feature(b, FEAT_8000_0021_EAX), 0,
            feature(b, FEAT_8000_0021_ECX), 0);
    }
}

void x86_cpu_build_cpuid(const X86CPU *cpu, X86Cpuid *out)
{
    Builder b = {
        .cpu = cpu,
        .host = cpu->model_is_host ? x86_host() : NULL,
        .out = out,
    };

    out->n = 0;
    topology_init(&b);
    add_basic(&b);
    add_paravirtual(&b);
    add_extended(&b);
}
