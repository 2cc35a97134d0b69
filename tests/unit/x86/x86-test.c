/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "qemu/osdep.h"

#include "../idle-accel.h"
#include "io/channel-buffer.h"
#include "qapi/json.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/accel-ops.h"
#include "target/i386/cpu-option.h"
#include "vmstate/savevm.h"
#include "x86-test.h"

void x86_test_init(void)
{
    idle_accel_init();
    x86_cpu_register_types();
}

X86CPU *x86_test_cpu_make(const char *option)
{
    g_autofree char *model = NULL, *type = NULL;
    g_autoptr(json_object)
        props = x86_cpu_option_parse(option, &model, &error_abort);
    Object *obj;

    type = g_strconcat(model, X86_CPU_TYPE_SUFFIX, NULL);
    obj = object_new(type);
    object_set_properties(obj, props, true, &error_abort);
    return X86_CPU(obj);
}

X86CPU *x86_test_cpu_new(const char *option)
{
    X86CPU *cpu = x86_test_cpu_make(option);

    g_assert_true(cpu_realize(CPU(cpu), &error_abort));
    return cpu;
}

static char *data_path(const char *name)
{
    g_autofree char *path = g_build_filename(TEST_DATA_DIR, name, NULL);

    return g_file_test(path, G_FILE_TEST_EXISTS) ? g_steal_pointer(&path)
                                                 : g_strdup(name);
}

bool x86_test_has_data(void)
{
    g_autofree char *path = data_path("i8259-0.bin");

    if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
        g_test_skip("the files of tests/unit/x86/data are not here");
        return false;
    }
    return true;
}

GBytes *x86_test_data(const char *name)
{
    g_autofree char *path = data_path(name);
    g_autoptr(GError) err = NULL;
    char *text;
    gsize len;

    g_file_get_contents(path, &text, &len, &err);
    g_assert_no_error(err);
    return g_bytes_new_take(text, len);
}

GByteArray *x86_test_save(const VMStateDescription *vmsd, void *opaque)
{
    QIOChannelBuffer *b = qio_channel_buffer_new(0);
    QEMUFile *f = qemu_file_new_output(QIO_CHANNEL(b));
    GByteArray *bytes = g_byte_array_new();

    g_assert_true(vmstate_save_state(f, vmsd, opaque, NULL, &error_abort));
    qemu_fclose(f, NULL);
    g_byte_array_append(bytes, b->data, b->usage);
    qio_channel_unref(QIO_CHANNEL(b));
    return bytes;
}

bool x86_test_load(const VMStateDescription *vmsd, void *opaque,
                   const void *data, size_t len, size_t *taken, Error **errp)
{
    QIOChannelBuffer *b = qio_channel_buffer_new_data(data, len);
    QEMUFile *f = qemu_file_new_input(QIO_CHANNEL(b));
    bool ok = vmstate_load_state(f, vmsd, opaque, vmsd->version_id, errp);

    if (taken) {
        *taken = qemu_file_position(f);
    }
    qemu_fclose(f, NULL);
    qio_channel_unref(QIO_CHANNEL(b));
    return ok;
}

void x86_test_load_fails(const VMStateDescription *vmsd, void *opaque,
                         const void *data, size_t len, const char *words)
{
    Error *err = NULL;

    g_assert_false(x86_test_load(vmsd, opaque, data, len, NULL, &err));
    if (!strstr(error_get_pretty(err), words)) {
        g_error("'%s' is not in '%s'", words, error_get_pretty(err));
    }
    error_free(err);
}

/* ---- states ---- */

static uint64_t next(uint64_t *seed)
{
    /* splitmix64 */
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void fill_words(void *p, size_t bytes, uint64_t *seed)
{
    for (size_t i = 0; i < bytes / 8; i++) {
        uint64_t v = next(seed);

        memcpy((char *)p + 8 * i, &v, 8);
    }
}

static void fill_segment(SegmentCache *sc, uint64_t *seed)
{
    sc->selector = next(seed) & 0xffff;
    sc->base = next(seed);
    sc->limit = next(seed);
    sc->flags = next(seed) & 0x00f0ff00;
}

static void fill_events(CPUX86State *env, uint64_t *seed)
{
    env->exception_nr = next(seed) % 32;
    env->exception_pending = next(seed) & 1;
    env->exception_injected = next(seed) & 1;
    env->has_error_code = next(seed) & 1;
    env->exception_has_payload = next(seed) & 1;
    env->error_code = next(seed);
    env->exception_payload = next(seed);
    env->interrupt_injected = next(seed) % 256;
    env->soft_interrupt = next(seed) & 1;
    env->interrupt_shadow = 1 + next(seed) % 3;
    env->nmi_injected = next(seed) & 1;
    env->nmi_pending = next(seed) & 1;
    env->nmi_masked = next(seed) & 1;
    env->in_smm = next(seed) & 1;
    env->smm_inside_nmi = next(seed) & 1;
    env->smi_pending = next(seed) & 1;
    env->smi_latched_init = next(seed) & 1;
    env->triple_fault_pending = next(seed) & 1;
    env->sipi_vector = next(seed) & 0xff;
    env->mp_state = next(seed) % 5;
    env->cr8 = next(seed) % 16;
}

void x86_test_fill(CPUX86State *env, uint64_t seed)
{
    size_t msrs = offsetof(CPUX86State, sysenter_cs);

    fill_words(env->regs, sizeof(env->regs), &seed);
    env->eip = next(&seed);
    env->eflags = next(&seed) & 0x003f7fd7;
    for (int i = 0; i < CPU_NB_SEGS; i++) {
        fill_segment(&env->segs[i], &seed);
    }
    fill_segment(&env->ldt, &seed);
    fill_segment(&env->tr, &seed);
    fill_segment(&env->gdt, &seed);
    fill_segment(&env->idt, &seed);
    env->cr[0] = next(&seed);
    env->cr[2] = next(&seed);
    env->cr[3] = next(&seed);
    env->cr[4] = next(&seed);
    fill_words(env->dr, sizeof(env->dr), &seed);
    env->efer = next(&seed);
    env->pdptrs_valid = true;
    fill_words(env->pdptrs, sizeof(env->pdptrs), &seed);
    for (int i = 0; i < 8; i++) {
        env->fpregs[i] = (X87Reg){ next(&seed), next(&seed) };
        env->fptags[i] = next(&seed) & 1;
    }
    env->fpuc = next(&seed);
    env->fpus = next(&seed);
    env->fpop = next(&seed);
    env->fpip = next(&seed);
    env->fpdp = next(&seed);
    env->mxcsr = next(&seed);
    fill_words(env->xmm_regs, sizeof(env->xmm_regs), &seed);
    fill_words(env->opmask_regs, sizeof(env->opmask_regs), &seed);
    env->pkru = (uint32_t)next(&seed);
    fill_words((char *)env + msrs, offsetof(CPUX86State, exception_nr) - msrs,
               &seed);
    env->mcg_cap = (next(&seed) & ~UINT64_C(0xff)) | 10;
    fill_events(env, &seed);
    fill_words(env->apic_regs, sizeof(env->apic_regs), &seed);
}

#define SAME(f) g_assert_cmpmem(&x->f, sizeof(x->f), &y->f, sizeof(y->f))

void x86_test_assert_same(const X86CPU *a, const X86CPU *b)
{
    const CPUX86State *x = &a->env, *y = &b->env;

    SAME(regs);
    SAME(eip);
    SAME(eflags);
    for (int i = 0; i < CPU_NB_SEGS; i++) {
        SAME(segs[i].selector);
        SAME(segs[i].base);
        SAME(segs[i].limit);
        SAME(segs[i].flags);
    }
    SAME(ldt.base);
    SAME(tr.base);
    SAME(gdt.base);
    SAME(idt.limit);
    SAME(cr);
    SAME(cr8);
    SAME(dr);
    SAME(efer);
    SAME(xcr0);
    SAME(pdptrs_valid);
    SAME(pdptrs);
    for (int i = 0; i < 8; i++) {
        SAME(fpregs[i].mant);
        SAME(fpregs[i].exp);
        SAME(fptags[i]);
    }
    SAME(fpuc);
    SAME(fpus);
    SAME(fpop);
    SAME(fpip);
    SAME(fpdp);
    SAME(mxcsr);
    SAME(xmm_regs);
    SAME(opmask_regs);
    SAME(pkru);
    SAME(xstate_bv);
    /* All of the model specific ones lie in a row. */
    g_assert_cmpmem(&x->sysenter_cs,
                    offsetof(CPUX86State, exception_nr) -
                        offsetof(CPUX86State, sysenter_cs),
                    &y->sysenter_cs,
                    offsetof(CPUX86State, exception_nr) -
                        offsetof(CPUX86State, sysenter_cs));
    SAME(exception_nr);
    SAME(exception_pending);
    SAME(exception_injected);
    SAME(has_error_code);
    SAME(exception_has_payload);
    SAME(error_code);
    SAME(exception_payload);
    SAME(interrupt_injected);
    SAME(soft_interrupt);
    SAME(interrupt_shadow);
    SAME(nmi_injected);
    SAME(nmi_pending);
    SAME(nmi_masked);
    SAME(in_smm);
    SAME(smm_inside_nmi);
    SAME(smi_pending);
    SAME(smi_latched_init);
    SAME(triple_fault_pending);
    SAME(sipi_vector);
    SAME(mp_state);
    SAME(apic_regs);
}
