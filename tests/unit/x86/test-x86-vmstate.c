/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sections `cpu` and `apic`: bit by bit through a stream, against a real
 * one, and hostile ones.
 */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "target/i386/xsave.h"
#include "vmstate/savevm.h"
#include "x86-test.h"

/* Offsets in the section `cpu`: fields that hostile streams change. */
enum {
    OFF_FPFORMAT = 154,
    OFF_INTERRUPT = 1149,
    OFF_MP_STATE = 1153,
    OFF_EXCEPTION = 1165,
    OFF_SOFT = 1169,
    OFF_SIPI = 1173,
    OFF_MCG_CAP = 1177,
    OFF_XCR0 = 1545,
    OFF_XSTATE_BV = 1553,
    CPU_BYTES = 1817,
};

static const VMStateDescription *cpu_vmsd(X86CPU *cpu)
{
    return CPU_GET_CLASS(cpu)->vmsd;
}

static const VMStateDescription *apic_vmsd(X86CPU *cpu)
{
    return savevm_find("apic", CPU(cpu)->cpu_index)->vmsd;
}

static void set_all_components(X86CPU *cpu)
{
    cpu->xsave_mask = x86_xsave_known;
    cpu->env.xcr0 = x86_xsave_known;
    cpu->env.xstate_bv = x86_xsave_known;
}

static void move(X86CPU *a, X86CPU *b)
{
    g_autoptr(GByteArray) cpu = x86_test_save(cpu_vmsd(a), a);
    g_autoptr(GByteArray) apic = x86_test_save(apic_vmsd(a), a);
    size_t taken;

    g_assert_true(x86_test_load(apic_vmsd(b), b, apic->data, apic->len, &taken,
                                &error_abort));
    g_assert_cmpuint(taken, ==, apic->len);
    g_assert_true(x86_test_load(cpu_vmsd(b), b, cpu->data, cpu->len, &taken,
                                &error_abort));
    g_assert_cmpuint(taken, ==, cpu->len);
}

static X86CPU *new_cpu(const char *option)
{
    X86CPU *cpu = x86_test_cpu_make(option);

    cpu->apic_id = 0;
    g_assert_true(cpu_realize(CPU(cpu), &error_abort));
    cpu->env.apic_valid = true;
    return cpu;
}

static void test_survives(void)
{
    X86CPU *a = new_cpu("qemu64"), *b = new_cpu("qemu64");

    set_all_components(a);
    set_all_components(b);
    for (uint64_t seed = 1; seed <= 200; seed++) {
        x86_test_fill(&a->env, seed);
        a->env.apic_regs[0x23] = 0; /* its id */
        set_all_components(a);
        x86_test_fill(&b->env, seed + 1000);
        move(a, b);
        x86_test_assert_same(a, b);
    }
}

/* What the stream leaves out is as after a reset, whatever was there. */
static void test_left_out(void)
{
    X86CPU *a = new_cpu("qemu64"), *b = new_cpu("qemu64");

    set_all_components(b);
    cpu_reset(CPU(a));
    a->env.mp_state = X86_MP_RUNNABLE;
    a->env.mcg_ctl = 0;
    x86_test_fill(&b->env, 77);
    move(a, b);
    x86_test_assert_same(a, b);
}

/* Each bit of the registers' bytes: changed alone, it arrives alone. */
static void test_each_bit(void)
{
    X86CPU *a = new_cpu("qemu64"), *b = new_cpu("qemu64");
    uint8_t *vectors = (uint8_t *)a->env.xmm_regs;

    set_all_components(a);
    set_all_components(b);
    for (unsigned bit = 0; bit < sizeof(a->env.xmm_regs) * 8; bit += 7) {
        memset(vectors, 0, sizeof(a->env.xmm_regs));
        vectors[bit / 8] = 1 << bit % 8;
        move(a, b);
        g_assert_cmpmem(b->env.xmm_regs, sizeof(b->env.xmm_regs), vectors,
                        sizeof(a->env.xmm_regs));
    }
    for (unsigned bit = 0; bit < sizeof(a->env.regs) * 8; bit++) {
        memset(a->env.regs, 0, sizeof(a->env.regs));
        ((uint8_t *)a->env.regs)[bit / 8] = 1 << bit % 8;
        move(a, b);
        g_assert_cmpmem(b->env.regs, sizeof(b->env.regs), a->env.regs,
                        sizeof(a->env.regs));
    }
}

/* ---- a real QEMU's ---- */

static void test_real_cpu(void)
{
    X86CPU *cpu = new_cpu("qemu64");
    g_autoptr(GBytes) data = x86_test_data("cpu-max-kvm.bin");
    g_autoptr(GByteArray) again = NULL;
    size_t taken, len = g_bytes_get_size(data);
    const uint8_t *bytes = g_bytes_get_data(data, NULL);

    x86_test_fill(&cpu->env, 3);
    g_assert_true(
        x86_test_load(cpu_vmsd(cpu), cpu, bytes, len, &taken, &error_abort));
    g_assert_cmpuint(taken, ==, len);
    g_assert_cmphex(cpu->env.eip, ==, 0xfff0);
    g_assert_cmphex(cpu->env.regs[R_EDX], ==, 0xb00f21);
    g_assert_cmphex(cpu->env.cr[0], ==, 0x60000010);
    g_assert_cmphex(cpu->env.xcr0, ==, 1);
    g_assert_cmphex(cpu->env.mxcsr, ==, 0x1f80);
    /* The fields that both have are sent as they came. */
    again = x86_test_save(cpu_vmsd(cpu), cpu);
    g_assert_cmpuint(again->len, >, CPU_BYTES);
    for (size_t i = 0; i < CPU_BYTES; i++) {
        if (again->data[i] != bytes[i]) {
            g_test_message("byte %zu: 0x%x, expected 0x%x", i, again->data[i],
                           bytes[i]);
            g_test_fail();
        }
    }
}

static void test_real_apic(void)
{
    X86CPU *cpu = new_cpu("qemu64");
    g_autoptr(GBytes) data = x86_test_data("apic.bin");
    g_autoptr(GByteArray) again = NULL;
    const uint8_t *bytes = g_bytes_get_data(data, NULL);
    size_t taken, len = g_bytes_get_size(data);

    g_assert_true(
        x86_test_load(apic_vmsd(cpu), cpu, bytes, len, &taken, &error_abort));
    g_assert_cmpuint(taken, ==, len);
    again = x86_test_save(apic_vmsd(cpu), cpu);
    /* All but the times, which are the timer's of each. */
    g_assert_cmpmem(again->data, len - 24, bytes, len - 24);
}

/* ---- hostile ---- */

typedef struct Change {
    size_t offset;
    uint8_t bytes[8];
    size_t n;
    const char *words;
} Change;

static void test_hostile_cpu(void)
{
    static const Change changes[] = {
        { OFF_FPFORMAT, { 0, 1 }, 2, "format of FPU" },
        { OFF_INTERRUPT, { 0, 0, 1, 0 }, 4, "interrupt_injected is 256" },
        { OFF_INTERRUPT, { 0x80, 0, 0, 0 }, 4, "interrupt_injected is -" },
        { OFF_MP_STATE, { 0, 0, 0, 5 }, 4, "mp_state is 5" },
        { OFF_MP_STATE, { 0xff, 0xff, 0xff, 0xff }, 4, "mp_state is 42949" },
        { OFF_EXCEPTION, { 0, 0, 0, 32 }, 4, "exception_nr is 32" },
        { OFF_EXCEPTION, { 0xff, 0xff, 0xff, 0xfe }, 4, "exception_nr is -2" },
        { OFF_SOFT, { 2 }, 1, "soft_interrupt is 2" },
        { OFF_SIPI, { 0, 0, 1, 0 }, 4, "sipi_vector is 256" },
        { OFF_MCG_CAP + 7, { 11 }, 1, "machine check banks is 11" },
        { OFF_XCR0 + 7, { 7 }, 1, "lacks XSAVE component 2 (avx)" },
        { OFF_XCR0, { 0x80 }, 1, "lacks XSAVE component 63" },
        { OFF_XSTATE_BV + 5, { 4 }, 1, "component 18" },
    };
    X86CPU *cpu = new_cpu("qemu64");

    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        const Change *c = &changes[i];
        g_autoptr(GByteArray) d = NULL;

        cpu_reset(CPU(cpu)); /* a refused state is half in it */
        d = x86_test_save(cpu_vmsd(cpu), cpu);
        memcpy(d->data + c->offset, c->bytes, c->n);
        x86_test_load_fails(cpu_vmsd(cpu), cpu, d->data, d->len, c->words);
    }
}

/* Cut anywhere, it is an error; and so is what is no subsection of ours. */
static void test_cut(void)
{
    X86CPU *cpu = new_cpu("qemu64");
    g_autoptr(GByteArray) d = NULL;

    set_all_components(cpu);
    x86_test_fill(&cpu->env, 5);
    set_all_components(cpu);
    d = x86_test_save(cpu_vmsd(cpu), cpu);
    for (size_t len = 0; len < d->len; len += 13) {
        Error *err = NULL;

        /* Between subsections a cut is only seen by who expects a footer. */
        if (!x86_test_load(cpu_vmsd(cpu), cpu, d->data, len, NULL, &err)) {
            error_free(err);
        } else {
            g_assert_cmpuint(len, >=, CPU_BYTES);
        }
    }
    g_byte_array_append(d,
                        (const uint8_t *)"\x05\x07"
                                         "cpu/xyz\0\0\0\1",
                        13);
    x86_test_load_fails(cpu_vmsd(cpu), cpu, d->data, d->len, "cpu/xyz");
}

static size_t find(const GByteArray *d, const char *name)
{
    const uint8_t *p = memmem(d->data, d->len, name, strlen(name));

    g_assert_nonnull(p);
    return p - d->data + strlen(name) + 4;
}

static void test_hostile_subsections(void)
{
    X86CPU *cpu = new_cpu("qemu64");
    g_autoptr(GByteArray) d = NULL;
    size_t at;

    d = x86_test_save(cpu_vmsd(cpu), cpu);
    at = find(d, "cpu/ferry-features");
    memset(d->data + at, 0xff, 4); /* 4 thousand million words */
    x86_test_load_fails(cpu_vmsd(cpu), cpu, d->data, d->len, "features");
    d->data[at] = d->data[at + 1] = d->data[at + 2] = 0;
    d->data[at + 3] = X86_FEATURE_RECORDS + 1;
    x86_test_load_fails(cpu_vmsd(cpu), cpu, d->data, d->len, "features");
    g_byte_array_unref(d);
    cpu->env.interrupt_shadow = 1;
    d = x86_test_save(cpu_vmsd(cpu), cpu);
    at = find(d, "cpu/ferry-events");
    d->data[at + 4] = 4;
    x86_test_load_fails(cpu_vmsd(cpu), cpu, d->data, d->len,
                        "interrupt_shadow is 4");
}

static void test_hostile_apic(void)
{
    X86CPU *cpu = new_cpu("qemu64");
    g_autoptr(GByteArray) d = x86_test_save(apic_vmsd(cpu), cpu);
    size_t page = find(d, "apic/ferry-page") + 8;

    d->data[page + 0x23] = 9;
    x86_test_load_fails(apic_vmsd(cpu), cpu, d->data, d->len,
                        "APIC id is 0x9, expected 0x0");
    d->data[page + 0x23] = 0;
    cpu->env.apic_valid = false;
    x86_test_load_fails(apic_vmsd(cpu), cpu, d->data, d->len,
                        "kernel-irqchip=off");
}

/* ---- features ---- */

static void test_feature_missing(void)
{
    X86CPU *a = new_cpu("qemu64,+avx2,+pku,+bmi1");
    X86CPU *b = new_cpu("qemu64,+bmi1");
    g_autoptr(GByteArray) d = NULL;

    a->xsave_mask = 0x207;
    d = x86_test_save(cpu_vmsd(a), a);
    x86_test_load_fails(cpu_vmsd(b), b, d->data, d->len,
                        "lacks: avx2, pku, XSAVE component 0 (x87), XSAVE "
                        "component 1 (sse), XSAVE component 2 (avx), XSAVE "
                        "component 9 (pkru)");
    /* More does no harm. */
    g_byte_array_unref(d);
    d = x86_test_save(cpu_vmsd(b), b);
    g_assert_true(
        x86_test_load(cpu_vmsd(a), a, d->data, d->len, NULL, &error_abort));
}

static void test_feature_unknown(void)
{
    X86CPU *cpu = new_cpu("qemu64");
    g_autoptr(GByteArray) d = x86_test_save(cpu_vmsd(cpu), cpu);
    size_t at = find(d, "cpu/ferry-features");

    d->data[at + 7] = 0x99; /* the first word's leaf */
    x86_test_load_fails(cpu_vmsd(cpu), cpu, d->data, d->len,
                        "of CPUID 0x99, 0x0");
}

static void test_tsc_rate(void)
{
    X86CPU *cpu = new_cpu("qemu64,tsc-frequency=2000000000");
    g_autoptr(GByteArray) d = x86_test_save(cpu_vmsd(cpu), cpu);
    static X86Host host;

    g_assert_cmpint(cpu->env.tsc_khz, ==, 2000000);
    cpu->env.tsc_khz = 2000400; /* 200 parts in a million */
    g_assert_true(
        x86_test_load(cpu_vmsd(cpu), cpu, d->data, d->len, NULL, &error_abort));
    cpu->env.tsc_khz = 2100000;
    x86_test_load_fails(cpu_vmsd(cpu), cpu, d->data, d->len,
                        "runs at 2000000 kHz, here it runs at 2100000 kHz");
    host.tsc_scaling = true;
    x86_host_set(&host);
    g_assert_true(
        x86_test_load(cpu_vmsd(cpu), cpu, d->data, d->len, NULL, &error_abort));
    g_assert_cmpint(cpu->env.tsc_khz, ==, 2000000);
    x86_host_set(NULL);
    memset(d->data + find(d, "cpu/tsc_khz"), 0xff, 8);
    x86_test_load_fails(cpu_vmsd(cpu), cpu, d->data, d->len, "tsc_khz is -1");
}

/* ---- the XSAVE area ---- */

static void test_xsave_area(void)
{
    X86CPU *a = new_cpu("qemu64"), *b = new_cpu("qemu64");
    X86Cpuid amd = { 0 };
    uint8_t area[4096], again[4096];

    x86_cpuid_add(&amd, 0xd, 2, 256, 576, 0, 0);
    x86_cpuid_add(&amd, 0xd, 5, 64, 832, 0, 0);
    x86_cpuid_add(&amd, 0xd, 6, 512, 896, 0, 0);
    x86_cpuid_add(&amd, 0xd, 7, 1024, 1408, 0, 0);
    x86_cpuid_add(&amd, 0xd, 9, 8, 2432, 0, 0);
    x86_test_fill(&a->env, 11);
    set_all_components(a);
    x86_xsave_to_area(&a->env, area, sizeof(area), &amd);
    x86_xsave_to_env(&b->env, area, sizeof(area), &amd);
    g_assert_cmpmem(a->env.xmm_regs, sizeof(a->env.xmm_regs), b->env.xmm_regs,
                    sizeof(b->env.xmm_regs));
    g_assert_cmpmem(a->env.opmask_regs, 64, b->env.opmask_regs, 64);
    g_assert_cmphex(a->env.pkru, ==, b->env.pkru);
    g_assert_cmphex(b->env.xstate_bv, ==, x86_xsave_known);
    g_assert_cmpmem(area + 832, 8, a->env.opmask_regs, 8);
    g_assert_cmpmem(area + 576 + 16 * 3, 16, &a->env.xmm_regs[3].q[2], 16);
    x86_xsave_to_area(&b->env, again, sizeof(again), &amd);
    g_assert_cmpmem(area, sizeof(area), again, sizeof(again));
    /* A component whose place or size is not ours is none. */
    amd.e[0].regs[X86_EAX] = 255;
    amd.e[4].regs[X86_EBX] = 4092;
    x86_xsave_to_env(&b->env, area, sizeof(area), &amd);
    g_assert_cmphex(b->env.xstate_bv, ==,
                    x86_xsave_known & ~(1u << XSAVE_AVX | 1u << XSAVE_PKRU));
    g_assert_cmphex(b->env.xmm_regs[3].q[2], ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    x86_test_init();
    g_test_add_func("/x86/vmstate/survives", test_survives);
    g_test_add_func("/x86/vmstate/left-out", test_left_out);
    g_test_add_func("/x86/vmstate/each-bit", test_each_bit);
    g_test_add_func("/x86/vmstate/real/cpu", test_real_cpu);
    g_test_add_func("/x86/vmstate/real/apic", test_real_apic);
    g_test_add_func("/x86/vmstate/hostile/cpu", test_hostile_cpu);
    g_test_add_func("/x86/vmstate/hostile/cut", test_cut);
    g_test_add_func("/x86/vmstate/hostile/subsections",
                    test_hostile_subsections);
    g_test_add_func("/x86/vmstate/hostile/apic", test_hostile_apic);
    g_test_add_func("/x86/vmstate/feature/missing", test_feature_missing);
    g_test_add_func("/x86/vmstate/feature/unknown", test_feature_unknown);
    g_test_add_func("/x86/vmstate/tsc-rate", test_tsc_rate);
    g_test_add_func("/x86/xsave/area", test_xsave_area);
    return g_test_run();
}
