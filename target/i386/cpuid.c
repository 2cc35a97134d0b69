/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPUID leaves as lists, features by name, what the host offers. */
#include "qemu/osdep.h"

#include "target/i386/cpuid.h"

/* One per process: what the accelerator said. */
static struct {
    bool known;
    X86Host host;
} the_host;

void x86_host_set(const X86Host *host)
{
    the_host.known = host != NULL;
    if (host) {
        the_host.host = *host;
    }
}

const X86Host *x86_host(void)
{
    return the_host.known ? &the_host.host : NULL;
}

/* ---- lists ---- */

const X86CpuidEntry *x86_cpuid_find(const X86Cpuid *c, uint32_t function,
                                    uint32_t index)
{
    for (unsigned i = 0; i < c->n; i++) {
        const X86CpuidEntry *e = &c->e[i];

        if (e->function == function && (!e->has_index || e->index == index)) {
            return e;
        }
    }
    return NULL;
}

void x86_cpuid_add(X86Cpuid *c, uint32_t function, int index, uint32_t eax,
                   uint32_t ebx, uint32_t ecx, uint32_t edx)
{
    assert(c->n < X86_CPUID_MAX);
    c->e[c->n++] = (X86CpuidEntry){
        .function = function,
        .index = index < 0 ? 0 : index,
        .has_index = index >= 0,
        .regs = { eax, ebx, ecx, edx },
    };
}

/* ---- features ---- */

uint32_t x86_host_features(const X86Host *host, X86Feature word)
{
    const X86FeatureWord *w = &x86_feature_words[word];
    const X86CpuidEntry *e;
    uint32_t bits, named = 0;

    if (w->is_msr) {
        bits = host->arch_capabilities;
    } else {
        e = x86_cpuid_find(&host->cpuid, w->function, w->index);
        bits = e ? e->regs[w->reg] : 0;
    }
    for (unsigned b = 0; b < 32; b++) {
        named |= w->names[b] ? 1u << b : 0;
    }
    return bits & (named | w->nameless) & ~w->never;
}

bool x86_feature_find(const char *name, X86Feature *word, unsigned *bit)
{
    for (int w = 0; w < FEATURE_WORDS; w++) {
        for (unsigned b = 0; b < 32; b++) {
            const char *n = x86_feature_words[w].names[b];

            if (n && g_str_equal(n, name)) {
                *word = w;
                *bit = b;
                return true;
            }
        }
    }
    return false;
}

char *x86_feature_describe(X86Feature word, unsigned bit)
{
    static const char *const regs[4] = { "EAX", "EBX", "ECX", "EDX" };
    const X86FeatureWord *w = &x86_feature_words[word];
    const char *name = w->names[bit] ? w->names[bit] : "unnamed";
    g_autofree char *index = w->has_index
                                 ? g_strdup_printf(",ecx=%02Xh", w->index)
                                 : g_strdup("");

    if (w->is_msr) {
        return g_strdup_printf("MSR(%Xh).%s [bit %u]", w->function, name, bit);
    }
    return g_strdup_printf("CPUID[eax=%02Xh%s].%s.%s [bit %u]", w->function,
                           index, regs[w->reg], name, bit);
}
