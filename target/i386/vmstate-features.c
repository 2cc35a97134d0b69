/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does this vCPU have what the saved one had? A guest looks at CPUID once and
 * then uses what it found.
 *
 *   cpu/ferry-features, version 1: u32 n, n x { u32 function, u32 index, u32
 *       register 0..3 (4: a model specific register), u32 bits }, then u64 of
 *       XSAVE components
 *   cpu/tsc_khz, version 1 (QEMU's): i64
 *
 * More features than the saved vCPU had do no harm; fewer are an error that
 * names them.
 */
#include "qemu/osdep.h"

#include "internals.h"
#include "qemu/error.h"
#include "target/i386/xsave.h"

#define REG_MSR 4u

/* ---- features ---- */

static bool features_needed(void *opaque)
{
    return true;
}

static uint32_t reg_of(const X86FeatureWord *w)
{
    return w->is_msr ? REG_MSR : (uint32_t)w->reg;
}

QEMU_BUILD_BUG_ON(FEATURE_WORDS > X86_FEATURE_RECORDS);

static bool features_pre_save(void *opaque, Error **errp)
{
    X86CPU *cpu = opaque;
    X86CpuStream *s = &cpu->stream;

    s->n_features = 0;
    for (int w = 0; w < FEATURE_WORDS; w++) {
        if (cpu->features[w]) {
            s->features[s->n_features++] = (X86FeatureRecord){
                .function = x86_feature_words[w].function,
                .index = x86_feature_words[w].index,
                .reg = reg_of(&x86_feature_words[w]),
                .bits = cpu->features[w],
            };
        }
    }
    s->xsave_mask = cpu->xsave_mask;
    return true;
}

static int find_word(const X86FeatureRecord *r)
{
    for (int i = 0; i < FEATURE_WORDS; i++) {
        const X86FeatureWord *w = &x86_feature_words[i];

        if (w->function == r->function && w->index == r->index &&
            reg_of(w) == r->reg) {
            return i;
        }
    }
    return -1;
}

static void append(GString *text, const char *name)
{
    g_string_append_printf(text, "%s%s", text->len ? ", " : "", name);
}

static void append_missing(GString *text, const X86CPU *cpu,
                           const X86FeatureRecord *r)
{
    int w = find_word(r);
    uint32_t missing = r->bits & ~(w < 0 ? 0 : cpu->features[w]);

    for (unsigned b = 0; b < 32; b++) {
        const char *name = w < 0 ? NULL : x86_feature_words[w].names[b];

        if (!(missing >> b & 1)) {
            continue;
        }
        if (name) {
            append(text, name);
        } else {
            g_autofree char *place = g_strdup_printf(
                "bit %u of register %u of CPUID 0x%x, 0x%x", b, r->reg,
                r->function, r->index);

            append(text, place);
        }
    }
}

static bool features_post_load(void *opaque, int version_id, Error **errp)
{
    X86CPU *cpu = opaque;
    const X86CpuStream *s = &cpu->stream;
    g_autoptr(GString) text = g_string_new(NULL);

    for (uint32_t i = 0; i < s->n_features; i++) {
        append_missing(text, cpu, &s->features[i]);
    }
    for (unsigned i = 0; i < 64; i++) {
        if ((s->xsave_mask & ~cpu->xsave_mask) >> i & 1) {
            g_autofree char *c = x86_xsave_component_name(i);
            g_autofree char *name = g_strdup_printf("XSAVE component %u (%s)",
                                                    i, c);

            append(text, name);
        }
    }
    if (!text->len) {
        return true;
    }
    error_setg(errp,
               "the vCPU that was saved has features that this one lacks: %s",
               text->str);
    error_append_hint(errp, "Both sides need the same -cpu, with features that "
                            "both hosts have\n");
    return false;
}

static const VMStateDescription vmstate_record = {
    .name = "feature word",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT32(function, X86FeatureRecord),
            VMSTATE_UINT32(index, X86FeatureRecord),
            VMSTATE_UINT32(reg, X86FeatureRecord),
            VMSTATE_UINT32(bits, X86FeatureRecord),
            VMSTATE_END_OF_LIST(),
        },
};

const VMStateDescription vmstate_x86_features = {
    .name = "cpu/ferry-features",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = features_needed,
    .pre_save = features_pre_save,
    .post_load = features_post_load,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT32(stream.n_features, X86CPU),
            VMSTATE_STRUCT_VARRAY_UINT32(stream.features, X86CPU,
                                         stream.n_features, X86_FEATURE_RECORDS,
                                         0, vmstate_record, X86FeatureRecord),
            VMSTATE_UINT64(stream.xsave_mask, X86CPU),
            VMSTATE_END_OF_LIST(),
        },
};

/* ---- rate of the TSC ---- */

static bool tsc_khz_needed(void *opaque)
{
    const X86CPU *cpu = opaque;

    return cpu->env.tsc_khz != 0;
}

static bool tsc_khz_pre_save(void *opaque, Error **errp)
{
    X86CPU *cpu = opaque;

    cpu->stream.tsc_khz = cpu->env.tsc_khz;
    return true;
}

static bool tsc_khz_post_load(void *opaque, int version_id, Error **errp)
{
    X86CPU *cpu = opaque;
    const X86Host *host = x86_host();
    int64_t saved = cpu->stream.tsc_khz, ours = cpu->env.tsc_khz;

    if (saved <= 0 || saved > X86_TSC_KHZ_MAX) {
        error_setg(errp, "tsc_khz is %" PRId64 ", expected 1 to %" PRId64,
                   saved, X86_TSC_KHZ_MAX);
        return false;
    }
    if (!ours || x86_same_tsc_rate(saved, ours)) {
        return true;
    }
    if (host && host->tsc_scaling) {
        cpu->env.tsc_khz = saved; /* put to the kernel with the rest */
        return true;
    }
    error_setg(errp,
               "the TSC of the vCPU that was saved runs at %" PRId64
               " kHz, here it runs at %" PRId64
               " kHz, and this host cannot scale it",
               saved, ours);
    return false;
}

const VMStateDescription vmstate_x86_tsc_khz = {
    .name = "cpu/tsc_khz",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = tsc_khz_needed,
    .pre_save = tsc_khz_pre_save,
    .post_load = tsc_khz_post_load,
    .fields =
        (const VMStateField[]){
            {
                .name = "env.tsc_khz",
                .info = &vmstate_info_int64,
                .size = sizeof(int64_t),
                .flags = VMS_SINGLE,
                .offset = offsetof(X86CPU, stream.tsc_khz),
            },
            VMSTATE_END_OF_LIST(),
        },
};
