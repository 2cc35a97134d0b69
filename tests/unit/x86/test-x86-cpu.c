/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86 CPUs: reset, page walks, text, models, features, CPUID. */
#include "qemu/osdep.h"

#include "qapi/json.h"
#include "qemu/error.h"
#include "system/memory.h"
#include "target/i386/cpu-option.h"
#include "x86-test.h"

/* ---- reset: Intel SDM vol. 3, table 10-1 ---- */

static void check_reset(const X86CPU *cpu)
{
    const CPUX86State *env = &cpu->env;

    g_assert_cmphex(env->eip, ==, 0xfff0);
    g_assert_cmphex(env->eflags, ==, 2);
    g_assert_cmphex(env->segs[R_CS].selector, ==, 0xf000);
    g_assert_cmphex(env->segs[R_CS].base, ==, 0xffff0000);
    g_assert_cmphex(env->segs[R_CS].flags, ==, 0x9b00);
    g_assert_cmphex(env->segs[R_SS].flags, ==, 0x9300);
    g_assert_cmphex(env->segs[R_DS].limit, ==, 0xffff);
    g_assert_cmphex(env->ldt.flags, ==, 0x8200);
    g_assert_cmphex(env->tr.flags, ==, 0x8b00);
    g_assert_cmphex(env->gdt.limit, ==, 0xffff);
    g_assert_cmphex(env->cr[0], ==, 0x60000010);
    g_assert_cmphex(env->cr[4], ==, 0);
    g_assert_cmphex(env->dr[6], ==, 0xffff0ff0);
    g_assert_cmphex(env->dr[7], ==, 0x400);
    g_assert_cmphex(env->regs[R_EDX], ==, env->signature);
    g_assert_cmphex(env->regs[R_EAX], ==, 0);
    g_assert_cmphex(env->fpuc, ==, 0x37f);
    g_assert_cmphex(env->mxcsr, ==, 0x1f80);
    g_assert_cmphex(env->xcr0, ==, 1);
    g_assert_cmphex(env->pat, ==, 0x0007040600070406);
    g_assert_cmpint(env->exception_nr, ==, -1);
    g_assert_cmpint(env->interrupt_injected, ==, -1);
}

static void test_reset(void)
{
    X86CPU *a = x86_test_cpu_new("qemu64"), *b = x86_test_cpu_new("qemu64");

    g_assert_cmphex(a->env.signature, ==, 0x60fb1);
    check_reset(a);
    g_assert_true(a->is_bsp);
    g_assert_cmphex(a->env.apicbase, ==, 0xfee00900);
    g_assert_cmpint(a->env.mp_state, ==, X86_MP_RUNNABLE);
    g_assert_false(b->is_bsp);
    g_assert_cmphex(b->env.apicbase, ==, 0xfee00800);
    g_assert_cmpint(b->env.mp_state, ==, X86_MP_UNINITIALIZED);
    g_assert_cmpint(b->env.apic_regs[0x23], ==, b->apic_id);

    /* From any state; what is kept is kept. */
    x86_test_fill(&a->env, 1);
    a->env.tsc_khz = 2000000;
    cpu_reset(CPU(a));
    check_reset(a);
    g_assert_cmpint(a->env.tsc_khz, ==, 2000000);
    for (int i = 0; i < 32; i++) {
        g_assert_cmphex(a->env.xmm_regs[i].q[7], ==, 0);
    }
}

/* ---- page walks ---- */

#define RAM_BYTES 0x100000

static CPUClass *class_of(X86CPU *cpu)
{
    return CPU_GET_CLASS(cpu);
}

static void set_paging(X86CPU *cpu, bool pae, bool lma, uint64_t cr3)
{
    cpu->env.cr[0] = CR0_PE_MASK | CR0_PG_MASK;
    cpu->env.cr[3] = cr3;
    cpu->env.cr[4] = CR4_PSE_MASK | (pae ? CR4_PAE_MASK : 0);
    cpu->env.efer = lma ? MSR_EFER_LME | MSR_EFER_LMA : 0;
}

static void expect(X86CPU *cpu, vaddr va, hwaddr want)
{
    hwaddr got = 0;

    if (!class_of(cpu)->translate_debug(CPU(cpu), va, &got)) {
        g_error("0x%" PRIx64 " is not mapped", va);
    }
    g_assert_cmphex(got, ==, want);
}

static void expect_none(X86CPU *cpu, vaddr va)
{
    hwaddr got;

    g_assert_false(class_of(cpu)->translate_debug(CPU(cpu), va, &got));
}

static void st4(hwaddr a, uint32_t v)
{
    stl_le_phys(&address_space_memory, a, v);
}

static void st8(hwaddr a, uint64_t v)
{
    stq_le_phys(&address_space_memory, a, v);
}

static void test_walk_32bit(void)
{
    X86CPU *cpu = x86_test_cpu_new("qemu64");

    expect(cpu, 0x12345678, 0x12345678); /* no paging */
    set_paging(cpu, false, false, 0x1000);
    st4(0x1000 + 0x48 * 4, 0x2000 | 7);
    st4(0x2000 + 0x345 * 4, 0x7abcd000 | 7);
    expect(cpu, 0x12345678, 0x7abcd678);
    expect_none(cpu, 0x12346678);
    expect_none(cpu, 0x22345678);
    /* 4 MiB, at 36 bits: bit 13 is bit 32 of the address. */
    st4(0x1000 + 0x300 * 4, 0x40000000 | 0x2000 | 0x87);
    expect(cpu, 0xc0123456, UINT64_C(0x140123456));
    cpu->env.cr[4] = 0; /* without PSE it is a table, where there is no RAM */
    expect_none(cpu, 0xc0123456);
    cpu->env.a20_mask = ~(1 << 20);
    cpu->env.cr[4] = CR4_PSE_MASK;
    expect(cpu, 0xc0123456, UINT64_C(0x140023456));
}

static void test_walk_pae(void)
{
    X86CPU *cpu = x86_test_cpu_new("qemu64");

    set_paging(cpu, true, false, 0x3020);
    st8(0x3020 + 8 * 3, 0x4000 | 1);
    st8(0x4000 + 8 * 1, 0x5000 | 7);
    st8(0x4000 + 8 * 2, UINT64_C(0x8000000f00000000) | 0x87);
    st8(0x5000 + 8 * 3, UINT64_C(0x800000fe12345000) | 7);
    expect(cpu, 0xc0203abc, UINT64_C(0xfe12345abc));
    expect(cpu, 0xc05fffff, UINT64_C(0xf001fffff));
    expect_none(cpu, 0x00203abc);
    cpu->env.pdptrs_valid = true; /* what was loaded counts, not memory */
    cpu->env.pdptrs[0] = 0x4000 | 1;
    expect(cpu, 0x00203abc, UINT64_C(0xfe12345abc));
    expect_none(cpu, 0xc0203abc);
}

static void test_walk_long(void)
{
    X86CPU *cpu = x86_test_cpu_new("qemu64");
    vaddr high = UINT64_C(0xffff800000000000);

    set_paging(cpu, true, true, 0x8000);
    st8(0x8000 + 8 * 256, 0x9000 | 7);
    st8(0x9000 + 8 * 1, UINT64_C(0x80000000) | 0x87); /* 1 GiB */
    st8(0x9000 + 8 * 2, 0xa000 | 7);
    st8(0xa000 + 8 * 5, UINT64_C(0x200000) | 0x87); /* 2 MiB */
    st8(0xa000 + 8 * 6, 0xb000 | 7);
    st8(0xb000 + 8 * 7, 0xc000 | 7);
    expect(cpu, high + 0x40001234, 0x80001234);
    expect(cpu, high + 0x80000000 + (5 << 21) + 0x1fffff, 0x3fffff);
    expect(cpu, high + 0x80000000 + (6 << 21) + 0x7123, 0xc123);
    expect_none(cpu, high + 0x80000000 + (6 << 21) + 0x8123);
    expect_none(cpu, high);
    expect_none(cpu, 0x40001234);
    expect_none(cpu, UINT64_C(0x0000800040001234)); /* not canonical */
    /* Five levels. */
    cpu->env.cr[4] |= CR4_LA57_MASK;
    cpu->env.cr[3] = 0xd000;
    st8(0xd000 + 8 * 3, 0x8000 | 7);
    expect(cpu, UINT64_C(3) << 48 | UINT64_C(256) << 39 | 0x40001234,
           0x80001234);
    expect_none(cpu, high + 0x40001234);
}

/* ---- text ---- */

static void dump(X86CPU *cpu, GString *out)
{
    g_string_truncate(out, 0);
    class_of(cpu)->dump_state(CPU(cpu), out);
}

static void assert_has(GString *text, const char *line)
{
    if (!strstr(text->str, line)) {
        g_error("no '%s' in:\n%s", line, text->str);
    }
}

static void test_dump(void)
{
    X86CPU *cpu = x86_test_cpu_new("qemu64");
    g_autoptr(GString) text = g_string_new(NULL);

    dump(cpu, text);
    assert_has(text, "EAX=00000000 EBX=00000000 ECX=00000000 EDX=00060fb1\n");
    assert_has(text, "EIP=0000fff0 EFL=00000002 [-------] CPL=0 II=0 A20=1 "
                     "SMM=0 HLT=");
    assert_has(text, "\nCS =f000 ffff0000 0000ffff 00009b00\n");
    assert_has(text, "\nIDT=     00000000 0000ffff\n");
    assert_has(text, "\nCR0=60000010 CR2=00000000 CR3=00000000 CR4=00000000\n");
    assert_has(text, "\nFCW=037f FSW=0000 [ST=0] FTW=00 MXCSR=00001f80\n");
    assert_has(text, "\nXMM00=0000000000000000 0000000000000000 XMM01=");

    cpu->env.efer = MSR_EFER_LME | MSR_EFER_LMA;
    cpu->env.cr[0] = CR0_PE_MASK | CR0_PG_MASK;
    cpu->env.segs[R_CS] = (SegmentCache){ 0x33, 0, UINT32_MAX, 0x00affb00 };
    cpu->env.segs[R_SS] = (SegmentCache){ 0x2b, 0, UINT32_MAX, 0x00cff300 };
    cpu->env.regs[R_R15] = UINT64_C(0x123456789abcdef0);
    cpu->env.eflags = 0x247;
    dump(cpu, text);
    assert_has(text, " R15=123456789abcdef0\n");
    assert_has(text, "RIP=000000000000fff0 RFL=00000247 [---Z-PC] CPL=3 ");
    assert_has(text, "\nCS =0033 0000000000000000 ffffffff 00affb00 DPL=3 CS64 "
                     "[-RA]\n");
    assert_has(text, "\nSS =002b 0000000000000000 ffffffff 00cff300 DPL=3 DS   "
                     "[-WA]\n");
    assert_has(text, "\nTR =0000 0000000000000000 0000ffff 00008b00 DPL=0 "
                     "TSS64-busy\n");
}

/* ---- options ---- */

static void test_option(void)
{
    g_autofree char *model = NULL;
    g_autoptr(json_object) p = x86_cpu_option_parse(
        "max,-avx2,avx2=on,+sse3,lahf_lm,model-id=a,,b,xd=off,+xd", &model,
        &error_abort);
    Error *err = NULL;

    g_assert_cmpstr(model, ==, "max");
    g_assert_cmpstr(json_object_get_string(json_object_object_get(p, "avx2")),
                    ==, "off");
    g_assert_cmpstr(json_object_get_string(json_object_object_get(p, "pni")),
                    ==, "on");
    g_assert_cmpstr(
        json_object_get_string(json_object_object_get(p, "lahf-lm")), ==, "on");
    g_assert_cmpstr(
        json_object_get_string(json_object_object_get(p, "model-id")), ==,
        "a,b");
    g_assert_cmpstr(json_object_get_string(json_object_object_get(p, "nx")), ==,
                    "on");
    g_free(g_steal_pointer(&model));
    g_assert_null(x86_cpu_option_parse("max,=on", &model, &err));
    error_free_or_abort(&err);
}

static void test_unknown_feature(void)
{
    X86CPU *cpu = x86_test_cpu_make("qemu64");
    Error *err = NULL;

    g_assert_false(
        object_property_parse(OBJECT(cpu), "no-such-thing", "on", &err));
    g_assert_nonnull(strstr(error_get_pretty(err), "no-such-thing"));
    error_free(err);
    object_unref(cpu);
}

static void realize_fails(const char *option, const char *words)
{
    X86CPU *cpu = x86_test_cpu_make(option);
    Error *err = NULL;

    /* Stays in the list of CPUs, as any CPU that cannot be had: exit comes. */
    g_assert_false(CPU_GET_CLASS(cpu)->realize(CPU(cpu), &err));
    if (!strstr(error_get_pretty(err), words)) {
        g_error("'%s' is not in '%s'", words, error_get_pretty(err));
    }
    error_free(err);
    object_unref(cpu);
}

/* ---- models on a made-up host ---- */

static void set_host(bool with_avx)
{
    static X86Host h;

    memset(&h, 0, sizeof(h));
    strcpy(h.vendor, "GenuineIntel");
    strcpy(h.model_id, "A Host");
    h.tsc_khz = 2000000;
    x86_cpuid_add(&h.cpuid, 0, -1, 0xd, 0, 0, 0);
    x86_cpuid_add(&h.cpuid, 1, -1, 0x000906ea, 0,
                  with_avx ? 0xbe202001 : 0xa0202001, 0x078bfbff);
    x86_cpuid_add(&h.cpuid, 4, 0, 0x1c004121, 0x01c0003f, 0x3f, 0);
    x86_cpuid_add(&h.cpuid, 4, 1, 0x1c03c163, 0x03c0003f, 0x1fff, 6);
    x86_cpuid_add(&h.cpuid, 4, 2, 0, 0, 0, 0);
    x86_cpuid_add(&h.cpuid, 7, 0, 0, with_avx ? 0x20 : 0, 0, 0);
    x86_cpuid_add(&h.cpuid, 0xd, 0, with_avx ? 7 : 3, 832, 832, 0);
    x86_cpuid_add(&h.cpuid, 0xd, 2, 256, 576, 0, 0);
    x86_cpuid_add(&h.cpuid, 0x40000001, -1, 0x0100007b, 0, 0, 0);
    x86_cpuid_add(&h.cpuid, 0x80000000, -1, 0x80000008, 0, 0, 0);
    x86_cpuid_add(&h.cpuid, 0x80000001, -1, 0, 0, 1, 0x20100800);
    x86_cpuid_add(&h.cpuid, 0x80000007, -1, 0, 0, 0, 0x100);
    x86_cpuid_add(&h.cpuid, 0x80000008, -1, 0x3027, 0, 0, 0);
    x86_host_set(&h);
}

/* To the host above: what AMD's have. */
static void add_amd_leaves(void)
{
    static X86Host h;

    h = *x86_host();
    for (unsigned i = 0; i < h.cpuid.n; i++) {
        if (h.cpuid.e[i].function == 0x80000000) {
            h.cpuid.e[i].regs[X86_EAX] = 0x8000001e;
        } else if (h.cpuid.e[i].function == 0x80000001) {
            h.cpuid.e[i].regs[X86_ECX] |= 1u << 22;
        }
    }
    x86_cpuid_add(&h.cpuid, 0x8000001d, 0, 0x121, 0x01c0003f, 0x3f, 0);
    x86_cpuid_add(&h.cpuid, 0x8000001d, 1, 0x4163, 0x03c0003f, 0x7fff, 1);
    x86_cpuid_add(&h.cpuid, 0x8000001d, 2, 0, 0, 0, 0);
    x86_host_set(&h);
}

static bool feature_on(X86CPU *cpu, const char *name)
{
    return object_property_get_bool(OBJECT(cpu), name, &error_abort);
}

static void test_model_host(void)
{
    X86CPU *cpu;

    realize_fails("host", "requires KVM");
    set_host(true);
    cpu = x86_test_cpu_new("host,-aes");
    g_assert_true(feature_on(cpu, "avx"));
    g_assert_true(feature_on(cpu, "avx2"));
    g_assert_false(feature_on(cpu, "invtsc")); /* would not move */
    g_assert_cmphex(cpu->env.signature, ==, 0x906ea);
    g_assert_cmphex(cpu->xsave_mask, ==, 7);
    g_assert_cmpuint(cpu->phys_bits, ==, 39);
    g_assert_cmpint(cpu->env.tsc_khz, ==, 2000000);
    cpu = x86_test_cpu_new("host,migratable=off,-avx,family=6,stepping=3");
    g_assert_true(feature_on(cpu, "invtsc"));
    g_assert_false(feature_on(cpu, "avx"));
    g_assert_cmphex(cpu->xsave_mask, ==, 3);
    g_assert_cmphex(cpu->env.signature, ==, 0x906e3);
    cpu = x86_test_cpu_new("max,+invtsc,-xsave");
    g_assert_true(feature_on(cpu, "invtsc"));
    g_assert_cmphex(cpu->xsave_mask, ==, 0);
    x86_host_set(NULL);
}

static void test_missing_features(void)
{
    X86CPU *cpu;

    set_host(false);
    realize_fails("qemu64,enforce,+avx2",
                  "host doesn't support requested feature: "
                  "CPUID[eax=07h,ecx=00h].EBX.avx2 [bit 5]");
    realize_fails("host,enforce,+vmx", "CPUID[eax=01h].ECX.vmx [bit 5]");
    realize_fails("qemu64,phys-bits=60", "phys-bits");
    realize_fails("qemu64,vendor=Intel", "12 characters");
    cpu = x86_test_cpu_new("qemu64,check=off,+avx2");
    g_assert_false(feature_on(cpu, "avx2"));
    g_assert_cmphex(cpu->filtered_features[FEAT_7_0_EBX], ==, 0x20);
    cpu = x86_test_cpu_new("qemu64,enforce"); /* all of it is there */
    g_assert_true(feature_on(cpu, "x2apic"));
    x86_host_set(NULL);
}

/* The tests' log: a warning ends a test unless it is expected. */
static void test_warning(void)
{
    if (g_test_subprocess()) {
        set_host(false);
        x86_test_cpu_new("qemu64,+avx2");
        x86_test_cpu_new("qemu64,+avx2"); /* the second is not told of */
        exit(0);
    }
    g_test_trap_subprocess(NULL, 0, 0);
    g_test_trap_assert_passed();
    g_test_trap_assert_stderr(
        "qemu-system: warning: host doesn't support requested feature: "
        "CPUID?eax=07h,ecx=00h?.EBX.avx2 ?bit 5?\n");
}

/* Each name leads to one bit, and no two words share a register. */
static void test_feature_table(void)
{
    for (int i = 0; i < FEATURE_WORDS; i++) {
        const X86FeatureWord *w = &x86_feature_words[i];

        for (unsigned b = 0; b < 32; b++) {
            X86Feature word;
            unsigned bit;

            if (w->names[b]) {
                g_assert_true(x86_feature_find(w->names[b], &word, &bit));
                g_assert_cmpint(word, ==, i);
                g_assert_cmpint(bit, ==, b);
            }
        }
        for (int k = 0; k < i; k++) {
            const X86FeatureWord *o = &x86_feature_words[k];

            g_assert_false(o->function == w->function && o->index == w->index &&
                           o->reg == w->reg && o->is_msr == w->is_msr);
        }
    }
}

/* ---- CPUID ---- */

static const uint32_t *leaf(const X86Cpuid *c, uint32_t function,
                            uint32_t index)
{
    const X86CpuidEntry *e = x86_cpuid_find(c, function, index);

    g_assert_nonnull(e);
    return e->regs;
}

static void test_cpuid_qemu64(void)
{
    X86CPU *cpu = x86_test_cpu_new("qemu64");
    X86Cpuid c;

    x86_cpu_build_cpuid(cpu, &c);
    g_assert_cmphex(leaf(&c, 0, 0)[0], ==, 0xd);
    g_assert_cmpmem(&leaf(&c, 0, 0)[1], 4, "Auth", 4);
    g_assert_cmphex(leaf(&c, 1, 0)[0], ==, 0x60fb1);
    g_assert_cmphex(leaf(&c, 1, 0)[2], ==, 0x80002001);
    g_assert_cmphex(leaf(&c, 1, 0)[3], ==, 0x078bfbfd);
    g_assert_cmphex(leaf(&c, 0x80000001, 0)[2], ==, 1);
    /* What AMD repeats of leaf 1 is there as well. */
    g_assert_cmphex(leaf(&c, 0x80000001, 0)[3], ==, 0x2193fbfd);
    g_assert_cmpmem(leaf(&c, 0x80000002, 0), 16, "QEMU Virtual CPU", 16);
    g_assert_cmphex(leaf(&c, 0x80000008, 0)[0], ==, 0x3028);
    g_assert_null(x86_cpuid_find(&c, 0x40000000, 0)); /* no KVM */
    g_assert_null(x86_cpuid_find(&c, 0xd, 0));
}

static X86CPU *grouped(const char *option, X86Topology t, uint32_t apic_id)
{
    X86CPU *cpu = x86_test_cpu_make(option);

    x86_cpu_set_topology(cpu, &t);
    cpu->apic_id = apic_id;
    g_assert_true(cpu_realize(CPU(cpu), &error_abort));
    return cpu;
}

static void test_apic_ids(void)
{
    const X86Topology t = { .dies = 1, .cores = 3, .threads = 2 };

    /* Three cores take two bits: ids have holes. */
    g_assert_cmpuint(x86_apic_id_of(&t, 0), ==, 0);
    g_assert_cmpuint(x86_apic_id_of(&t, 5), ==, 5);
    g_assert_cmpuint(x86_apic_id_of(&t, 6), ==, 8);
    g_assert_cmpuint(x86_apic_id_of(&t, 13), ==, 17);
    g_assert_cmpuint(x86_apic_id_of(&(X86Topology){ 1, 1, 1 }, 255), ==, 255);
    g_assert_cmpuint(x86_apic_id_of(&(X86Topology){ 2, 2, 1 }, 6), ==, 6);
}

static void test_topology_intel(void)
{
    X86Cpuid c;

    set_host(true);
    x86_cpu_build_cpuid(
        grouped("host", (X86Topology){ .dies = 1, .cores = 4, .threads = 2 },
                13),
        &c);
    g_assert_cmphex(leaf(&c, 1, 0)[1] >> 24, ==, 13);
    g_assert_cmphex(leaf(&c, 1, 0)[1] >> 16 & 0xff, ==, 8);
    g_assert_cmphex(leaf(&c, 1, 0)[3] & 1u << 28, !=, 0);
    /* L1 is shared by a core's threads, L3 by the package's. */
    g_assert_cmpuint(leaf(&c, 4, 0)[0] >> 26, ==, 3);
    g_assert_cmpuint(leaf(&c, 4, 0)[0] >> 14 & 0xfff, ==, 1);
    g_assert_cmpuint(leaf(&c, 4, 1)[0] >> 14 & 0xfff, ==, 7);
    g_assert_cmphex(leaf(&c, 4, 1)[1], ==, 0x03c0003f);
    g_assert_cmpuint(leaf(&c, 0xb, 0)[0], ==, 1);
    g_assert_cmpuint(leaf(&c, 0xb, 0)[1], ==, 2);
    g_assert_cmphex(leaf(&c, 0xb, 0)[2], ==, 0x100);
    g_assert_cmpuint(leaf(&c, 0xb, 1)[0], ==, 3);
    g_assert_cmpuint(leaf(&c, 0xb, 1)[1], ==, 8);
    g_assert_cmphex(leaf(&c, 0xb, 1)[2], ==, 0x201);
    g_assert_cmphex(leaf(&c, 0xb, 2)[2], ==, 2);
    g_assert_cmpuint(leaf(&c, 0xb, 1)[3], ==, 13);
    g_assert_null(x86_cpuid_find(&c, 0x1f, 0));
    g_assert_cmphex(leaf(&c, 0xd, 0)[0], ==, 7);
    g_assert_cmphex(leaf(&c, 0xd, 0)[2], ==, 832);
    g_assert_cmphex(leaf(&c, 0x40000001, 0)[0], ==, 0x0100007b);
    g_assert_cmpmem(&leaf(&c, 0x40000000, 0)[1], 12, "KVMKVMKVM\0\0\0", 12);
    x86_cpu_build_cpuid(
        grouped("host,kvm=off",
                (X86Topology){ .dies = 2, .cores = 2, .threads = 1 }, 3),
        &c);
    g_assert_null(x86_cpuid_find(&c, 0x40000000, 0));
    g_assert_cmpuint(leaf(&c, 0, 0)[0], ==, 0x1f);
    g_assert_cmphex(leaf(&c, 0x1f, 2)[2], ==, 0x502);
    g_assert_cmphex(leaf(&c, 0x1f, 2)[1], ==, 4);
    x86_host_set(NULL);
}

static void test_topology_amd(void)
{
    X86Cpuid c;

    x86_cpu_build_cpuid(
        grouped("qemu64,topoext",
                (X86Topology){ .dies = 1, .cores = 4, .threads = 2 }, 5),
        &c);
    g_assert_cmphex(leaf(&c, 0x80000001, 0)[2] & 2, ==, 2);
    g_assert_cmphex(leaf(&c, 0x80000008, 0)[2], ==, 0x3007);
    g_assert_null(x86_cpuid_find(&c, 0x8000001e, 0)); /* beyond its level */
    set_host(true);
    add_amd_leaves();
    x86_cpu_build_cpuid(
        grouped("host,vendor=AuthenticAMD,topoext",
                (X86Topology){ .dies = 1, .cores = 4, .threads = 2 }, 13),
        &c);
    g_assert_cmphex(leaf(&c, 0x8000001e, 0)[0], ==, 13);
    g_assert_cmphex(leaf(&c, 0x8000001e, 0)[1], ==, 0x102); /* core 2, 2 */
    g_assert_cmphex(leaf(&c, 0x8000001e, 0)[2], ==, 1);     /* package 1 */
    /* L1 by the core's two threads, L3 by all eight. */
    g_assert_cmpuint(leaf(&c, 0x8000001d, 0)[0] >> 14, ==, 1);
    g_assert_cmpuint(leaf(&c, 0x8000001d, 1)[0] >> 14, ==, 7);
    x86_host_set(NULL);
}

int main(int argc, char **argv)
{
    static MemoryRegion ram;

    g_test_init(&argc, &argv, NULL);
    x86_test_init();
    memory_region_init_ram(&ram, NULL, "ram", RAM_BYTES, &error_abort);
    memory_region_add_subregion(get_system_memory(), 0, &ram);
    g_test_add_func("/x86/reset", test_reset);
    g_test_add_func("/x86/walk/32-bit", test_walk_32bit);
    g_test_add_func("/x86/walk/pae", test_walk_pae);
    g_test_add_func("/x86/walk/long", test_walk_long);
    g_test_add_func("/x86/dump", test_dump);
    g_test_add_func("/x86/option", test_option);
    g_test_add_func("/x86/feature/unknown", test_unknown_feature);
    g_test_add_func("/x86/feature/missing", test_missing_features);
    g_test_add_func("/x86/feature/warning", test_warning);
    g_test_add_func("/x86/feature/table", test_feature_table);
    g_test_add_func("/x86/model/host", test_model_host);
    g_test_add_func("/x86/cpuid/qemu64", test_cpuid_qemu64);
    g_test_add_func("/x86/cpuid/apic-ids", test_apic_ids);
    g_test_add_func("/x86/cpuid/intel", test_topology_intel);
    g_test_add_func("/x86/cpuid/amd", test_topology_amd);
    return g_test_run();
}
