/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers in a real kernel: every group set and read back, moved from one VM
 * into another under a program that looks at them, clocks that do not step
 * back, and every call failing once.
 */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/memory.h"
#include "system/reset.h"
#include "target/i386/xsave.h"
#include "vmstate/savevm.h"

#include "kvm-caps.h"
#include "kvm-regs.h"

static RegsVm a, b;

/* ---- groups ---- */

static uint64_t canonical(uint64_t v)
{
    return (uint64_t)((int64_t)(v << 16) >> 16);
}

/* Values that a processor in 64-bit mode can have. */
static void fill_valid(X86CPU *cpu, uint64_t seed)
{
    CPUX86State *env = &cpu->env;
    CPUX86State junk;

    memset(&junk, 0, sizeof(junk));
    x86_test_fill(&junk, seed);
    cpu_reset(CPU(cpu));
    regs_start(env, REGS_CODE);
    memcpy(env->regs, junk.regs, sizeof(env->regs));
    env->eip = canonical(junk.eip);
    env->eflags = 2 | (junk.eflags & 0x247cd5);
    env->segs[R_FS].base = canonical(junk.segs[R_FS].base);
    env->segs[R_GS].base = canonical(junk.segs[R_GS].base);
    env->cr[2] = canonical(junk.cr[2]);
    env->cr8 = junk.cr8;
    env->apic_regs[0x80] = junk.cr8 << 4; /* the same in the APIC */
    env->xcr0 = cpu->xsave_mask ? cpu->xsave_mask : 1;
    env->xstate_bv = cpu->xsave_mask | 3;
    memcpy(env->xmm_regs, junk.xmm_regs, sizeof(env->xmm_regs));
    memcpy(env->opmask_regs, junk.opmask_regs, sizeof(env->opmask_regs));
    memcpy(env->fpregs, junk.fpregs, sizeof(env->fpregs));
    memcpy(env->fptags, junk.fptags, sizeof(env->fptags));
    env->fpuc = 0x37f & junk.fpuc;
    env->fpus = junk.fpus & 0x7f00;
    env->mxcsr = junk.mxcsr & 0xffbf;
    for (int i = 0; i < 4; i++) {
        env->dr[i] = canonical(junk.dr[i]) & INT64_MAX;
    }
    env->dr[6] = 0xffff0ff0 | (junk.dr[6] & 0xf);
    env->dr[7] = 0x400 | (junk.dr[7] & 0xff);
}

static void clear(X86CPU *cpu)
{
    x86_test_fill(&cpu->env, 0xdead);
}

/* What a host cannot hold is not asked of it. */
static void drop_components(CPUX86State *env, uint64_t mask)
{
    for (int i = 0; i < 32; i++) {
        if (i >= 16 && !(mask & 1u << XSAVE_HI16_ZMM)) {
            memset(&env->xmm_regs[i], 0, sizeof(env->xmm_regs[i]));
        }
        if (!(mask & 1u << XSAVE_AVX)) {
            memset(&env->xmm_regs[i].q[2], 0, 16);
        }
        if (i < 16 && !(mask & 1u << XSAVE_ZMM_HI256)) {
            memset(&env->xmm_regs[i].q[4], 0, 32);
        }
    }
    if (!(mask & 1u << XSAVE_OPMASK)) {
        memset(env->opmask_regs, 0, sizeof(env->opmask_regs));
    }
}

#define SAME(f) g_assert_cmpmem(&x->f, sizeof(x->f), &y->f, sizeof(y->f))

static void assert_core_same(const CPUX86State *x, const CPUX86State *y)
{
    for (int i = 0; i < CPU_NB_REGS; i++) {
        g_assert_cmphex(x->regs[i], ==, y->regs[i]);
    }
    SAME(eip);
    g_assert_cmphex(x->eflags, ==, y->eflags);
    for (int i = 0; i < CPU_NB_SEGS; i++) {
        g_assert_cmphex(x->segs[i].selector, ==, y->segs[i].selector);
        g_assert_cmphex(x->segs[i].base, ==, y->segs[i].base);
        g_assert_cmphex(x->segs[i].limit, ==, y->segs[i].limit);
        g_assert_cmphex(x->segs[i].flags, ==, y->segs[i].flags);
    }
    g_assert_cmphex(x->tr.base, ==, y->tr.base);
    g_assert_cmphex(x->tr.limit, ==, y->tr.limit);
    g_assert_cmphex(x->tr.flags, ==, y->tr.flags);
    g_assert_cmphex(x->ldt.flags & DESC_P_MASK, ==, y->ldt.flags & DESC_P_MASK);
    g_assert_cmphex(x->gdt.base, ==, y->gdt.base);
    g_assert_cmphex(x->gdt.limit, ==, y->gdt.limit);
    g_assert_cmphex(x->idt.limit, ==, y->idt.limit);
    for (int i = 0; i < 5; i++) {
        g_assert_cmphex(x->cr[i], ==, y->cr[i]);
    }
    g_assert_cmphex(x->cr8, ==, y->cr8);
    g_assert_cmphex(x->efer, ==, y->efer);
    for (int i = 0; i < 4; i++) {
        g_assert_cmphex(x->dr[i], ==, y->dr[i]);
    }
    g_assert_cmphex(x->dr[6], ==, y->dr[6]);
    g_assert_cmphex(x->dr[7], ==, y->dr[7]);
}

static void assert_vectors_same(const CPUX86State *x, const CPUX86State *y)
{
    g_assert_cmphex(x->xcr0, ==, y->xcr0);
    g_assert_cmphex(x->xstate_bv, ==, y->xstate_bv);
    for (int i = 0; i < 8; i++) {
        g_assert_cmphex(x->fpregs[i].mant, ==, y->fpregs[i].mant);
        g_assert_cmphex(x->fpregs[i].exp, ==, y->fpregs[i].exp);
        g_assert_cmpuint(x->fptags[i], ==, y->fptags[i]);
    }
    g_assert_cmphex(x->fpuc, ==, y->fpuc);
    g_assert_cmphex(x->fpus, ==, y->fpus);
    g_assert_cmphex(x->mxcsr, ==, y->mxcsr);
    for (int i = 0; i < 32; i++) {
        for (int k = 0; k < 8; k++) {
            g_assert_cmphex(x->xmm_regs[i].q[k], ==, y->xmm_regs[i].q[k]);
        }
    }
    for (int i = 0; i < 8; i++) {
        g_assert_cmphex(x->opmask_regs[i], ==, y->opmask_regs[i]);
    }
}

static void test_core(void)
{
    g_autofree CPUX86State *want = g_new(CPUX86State, 1);

    for (uint64_t seed = 1; seed <= 50; seed++) {
        fill_valid(a.cpu, seed);
        drop_components(&a.cpu->env, a.cpu->xsave_mask);
        *want = a.cpu->env;
        regs_put(&a);
        clear(a.cpu);
        regs_get(&a);
        assert_core_same(&a.cpu->env, want);
        assert_vectors_same(&a.cpu->env, want);
    }
}

/*
 * What a software engine's cache has beside: bits 16 to 19 of the limit, which
 * is a field of its own. As from QEMU under KVM they come back as 0.
 */
static void test_segment_limits(void)
{
    CPUX86State *env = &a.cpu->env;
    g_autofree CPUX86State *want = g_new(CPUX86State, 1);

    fill_valid(a.cpu, 7);
    drop_components(env, a.cpu->xsave_mask);
    *want = *env;
    for (int i = 0; i < 6; i++) {
        g_assert_cmphex(want->segs[i].flags & 0xf0000, ==, 0);
        env->segs[i].flags |= 0xf0000;
    }
    regs_put(&a);
    clear(a.cpu);
    regs_get(&a);
    assert_core_same(env, want);
}

static void test_msrs(void)
{
    static const struct {
        uint32_t index;
        size_t offset;
        uint64_t value;
    } values[] = {
        { 0x174, offsetof(CPUX86State, sysenter_cs), 0x10 },
        { 0x175, offsetof(CPUX86State, sysenter_esp), 0x81001000 },
        { 0x176, offsetof(CPUX86State, sysenter_eip), 0x81002000 },
        { 0xc0000081, offsetof(CPUX86State, star), 0x0023001000000000 },
        { 0xc0000082, offsetof(CPUX86State, lstar), 0xffffffff81000000 },
        { 0xc0000083, offsetof(CPUX86State, cstar), 0xffffffff82000000 },
        { 0xc0000084, offsetof(CPUX86State, fmask), 0x47700 },
        { 0xc0000102, offsetof(CPUX86State, kernelgsbase), 0xffff888000000000 },
        { 0x277, offsetof(CPUX86State, pat), 0x0407050600070106 },
        { 0x4b564d00, offsetof(CPUX86State, wall_clock_msr), 0x3000 },
        { 0x4b564d05, offsetof(CPUX86State, poll_control_msr), 0 },
    };
    CPUX86State *env = &a.cpu->env;
    unsigned seen = 0;

    fill_valid(a.cpu, 60);
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        memcpy((char *)env + values[i].offset, &values[i].value, 8);
    }
    env->mtrr_deftype = 0xc06;
    env->mtrr_fixed[3] = 0x0606060606060606;
    env->mtrr_var[2] = (MTRRVar){ 0x80000006, 0xfff0000800 };
    regs_put(&a);
    clear(a.cpu);
    regs_get(&a);
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        uint64_t got;

        memcpy(&got, (char *)env + values[i].offset, 8);
        if (kvm_x86_msr_is_listed(values[i].index)) {
            g_test_message("0x%x", values[i].index);
            g_assert_cmphex(got, ==, values[i].value);
            seen++;
        }
    }
    g_assert_cmpuint(seen, >=, 5);
    g_assert_cmphex(env->mtrr_deftype, ==, 0xc06);
    g_assert_cmphex(env->mtrr_fixed[3], ==, 0x0606060606060606);
    g_assert_cmphex(env->mtrr_var[2].base, ==, 0x80000006);
    g_assert_cmphex(env->mtrr_var[2].mask, ==, 0xfff0000800);
}

/* A vCPU that the kernel made, reset by us: its registers stay what they are. */
static void test_reset_is_the_kernels(void)
{
    RegsVm fresh = regs_vm_new("host");
    g_autofree CPUX86State *first = g_new(CPUX86State, 1);
    const CPUX86State *env = &fresh.cpu->env;

    regs_get(&fresh);
    *first = *env;
    cpu_reset(CPU(fresh.cpu));
    regs_put(&fresh);
    regs_get(&fresh);
    for (int i = 0; i < CPU_NB_SEGS; i++) {
        g_assert_cmphex(env->segs[i].base, ==, first->segs[i].base);
        g_assert_cmphex(env->segs[i].limit, ==, first->segs[i].limit);
        /* Some kernels begin with segments that were not accessed. */
        g_assert_cmphex(env->segs[i].flags, ==,
                        first->segs[i].flags | DESC_A_MASK);
    }
    g_assert_cmphex(env->eip, ==, first->eip);
    g_assert_cmphex(env->eflags, ==, first->eflags);
    g_assert_cmphex(env->cr[0], ==, first->cr[0]);
    g_assert_cmphex(env->cr[4], ==, first->cr[4]);
    g_assert_cmphex(env->efer, ==, first->efer);
    g_assert_cmphex(env->dr[6], ==, first->dr[6]);
    g_assert_cmphex(env->dr[7], ==, first->dr[7]);
    g_assert_cmphex(env->xcr0, ==, first->xcr0);
    g_assert_cmphex(env->pat, ==, first->pat);
    g_assert_cmphex(env->apicbase, ==, first->apicbase);
    g_assert_cmphex(env->poll_control_msr, ==, first->poll_control_msr);
    g_assert_cmphex(env->hwcr, ==, first->hwcr);
    g_assert_cmphex(env->power_ctl, ==, first->power_ctl);
    g_assert_cmphex(env->debugctl, ==, first->debugctl);
    g_assert_cmphex(env->mtrr_deftype, ==, first->mtrr_deftype);
    g_assert_cmpint(env->mp_state, ==, first->mp_state);
    regs_vm_free(&fresh);
}

static void test_events(void)
{
    CPUX86State *env = &a.cpu->env;

    fill_valid(a.cpu, 70);
    env->nmi_pending = 1;
    env->nmi_masked = 1;
    env->interrupt_shadow = 1;
    env->interrupt_injected = 0x31;
    env->sipi_vector = 0x9a;
    regs_put(&a);
    clear(a.cpu);
    regs_get(&a);
    g_assert_cmpint(env->exception_nr, ==, -1);
    g_assert_cmpint(env->nmi_pending, ==, 1);
    g_assert_cmpint(env->nmi_masked, ==, 1);
    g_assert_cmpint(env->interrupt_shadow, !=, 0);
    g_assert_cmpint(env->interrupt_injected, ==, 0x31);

    fill_valid(a.cpu, 71);
    env->exception_nr = 14;
    env->exception_injected = 1;
    env->has_error_code = 1;
    env->error_code = 6;
    regs_put(&a);
    clear(a.cpu);
    regs_get(&a);
    g_assert_cmpint(env->exception_nr, ==, 14);
    g_assert_cmpint(env->exception_injected, ==, 1);
    g_assert_cmpint(env->has_error_code, ==, 1);
    g_assert_cmpint(env->error_code, ==, 6);
    g_assert_cmpint(env->interrupt_injected, ==, -1);
    g_assert_cmpint(env->nmi_pending, ==, 0);
}

static void test_mp_state(void)
{
    static const uint32_t states[] = { X86_MP_HALTED, X86_MP_UNINITIALIZED,
                                       X86_MP_RUNNABLE };

    for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
        fill_valid(a.cpu, 72);
        a.cpu->env.mp_state = states[i];
        regs_put(&a);
        clear(a.cpu);
        regs_get(&a);
        g_assert_cmpint(a.cpu->env.mp_state, ==, states[i]);
        g_assert_cmpint(CPU(a.cpu)->halted, ==, states[i] == X86_MP_HALTED);
    }
}

static void apic_put(CPUX86State *env, unsigned offset, uint32_t v)
{
    memcpy(&env->apic_regs[offset], &v, 4);
}

static uint32_t apic_get(const CPUX86State *env, unsigned offset)
{
    uint32_t v;

    memcpy(&v, &env->apic_regs[offset], 4);
    return v;
}

/*
 * An APIC id that is not the vCPU's index, as topologies have it that are no
 * powers of two. An x2APIC's is the number of the vCPU in the kernel.
 */
static void test_apic_id(void)
{
    KvmVmConfig config = { .kind = KVM_LOG_BITMAP, .irqchip = KVM_IRQCHIP_ON };
    KvmVm *vm = kvm_vm_new(&config, &error_abort);
    X86CPU *cpu = x86_test_cpu_make("host");
    KvmVcpu *v;

    cpu->apic_id = 4;
    g_assert_true(cpu_realize(CPU(cpu), &error_abort));
    cpu_reset(CPU(cpu));
    v = kvm_vcpu_new(vm, kvm_arch_vcpu_id(CPU(cpu)), CPU(cpu), &error_abort);
    cpu->env.apicbase |= 0xc00; /* on, x2APIC */
    g_assert_true(kvm_arch_put_registers(v, KVM_PUT_FULL, &error_abort));
    clear(cpu);
    g_assert_true(kvm_arch_get_registers(v, &error_abort));
    g_assert_cmphex(cpu->env.apicbase & 0xc00, ==, 0xc00);
    g_assert_cmphex(apic_get(&cpu->env, 0x20), ==, 4u << 24);
    kvm_vm_free(vm);
}

/* It counts only where the timer is in the mode of deadlines. */
static void test_deadline(void)
{
    CPUX86State *env = &a.cpu->env;
    const uint64_t deadline = UINT64_C(1) << 60;

    if (!kvm_x86_msr_is_listed(0x6e0)) {
        g_test_skip("this kernel has no deadlines of the local APIC");
        return;
    }
    fill_valid(a.cpu, 63);
    apic_put(env, 0xf0, 0x1ff);
    apic_put(env, 0x320, 0x31); /* timer: one shot */
    regs_put(&a);
    apic_put(env, 0x320, 0x40031); /* deadline */
    env->tsc_deadline = deadline;
    regs_put(&a);
    clear(a.cpu);
    regs_get(&a);
    g_assert_cmphex(apic_get(env, 0x320), ==, 0x40031);
    g_assert_cmphex(env->tsc_deadline, ==, deadline);
}

static void test_apic(void)
{
    CPUX86State *env = &a.cpu->env;

    fill_valid(a.cpu, 73);
    apic_put(env, 0xf0, 0x1ff);
    apic_put(env, 0x320, 0x20031); /* timer: periodic */
    apic_put(env, 0x380, 1000000000);
    apic_put(env, 0x3e0, 0xb);
    apic_put(env, 0x220, 1u << 5); /* IRR: vector 0x45 */
    apic_put(env, 0xd0, 0x1000000);
    regs_put(&a);
    clear(a.cpu);
    regs_get(&a);
    g_assert_cmphex(apic_get(env, 0x20), ==, 0);
    g_assert_cmphex(apic_get(env, 0xf0), ==, 0x1ff);
    g_assert_cmphex(apic_get(env, 0x320), ==, 0x20031);
    g_assert_cmpuint(apic_get(env, 0x380), ==, 1000000000);
    g_assert_cmphex(apic_get(env, 0x220), ==, 1u << 5);
    g_assert_cmphex(apic_get(env, 0xd0), ==, 0x1000000);
    g_assert_cmphex(apic_get(env, 0x80) >> 4, ==, env->cr8);
}

/* Interrupt controllers and clock of one VM in another. */
static void test_vm_state(void)
{
    KvmX86VmState s, t;

    g_assert_true(kvm_x86_get_vm_state(a.vm, &s, &error_abort));
    s.chips[0].chip.pic.imr = 0xa5;
    s.chips[0].chip.pic.irq_base = 0x20;
    s.chips[1].chip.pic.isr = 0x10;
    s.chips[2].chip.ioapic.redirtbl[5].bits = UINT64_C(0x0300000000018045);
    s.chips[2].chip.ioapic.id = 7;
    s.clock.clock = 123456789012345;
    g_assert_true(kvm_x86_put_vm_state(b.vm, &s, &error_abort));
    g_assert_true(kvm_x86_get_vm_state(b.vm, &t, &error_abort));
    g_assert_cmphex(t.chips[0].chip.pic.imr, ==, 0xa5);
    g_assert_cmphex(t.chips[0].chip.pic.irq_base, ==, 0x20);
    g_assert_cmphex(t.chips[1].chip.pic.isr, ==, 0x10);
    g_assert_cmphex(t.chips[2].chip.ioapic.redirtbl[5].bits, ==,
                    UINT64_C(0x0300000000018045));
    g_assert_cmpuint(t.chips[2].chip.ioapic.id, ==, 7);
    g_assert_cmpuint(t.clock.clock, >=, s.clock.clock);
    g_assert_cmpuint(t.clock.clock, <, s.clock.clock + 10000000000);
}

/* A mode that this host may be unable to run: it runs, or that is said. */
static void test_32bit_paging(void)
{
    CPUX86State *env = &a.cpu->env;
    Error *err = NULL;

    fill_valid(a.cpu, 80);
    env->efer = 0;
    env->cr[4] = CR4_PSE_MASK;
    env->cr[3] = 0x8000;
    env->segs[R_CS].flags = 0x00cf9b00;
    env->segs[R_CS].selector = 8;
    for (int i = 0; i < CPU_NB_SEGS; i++) {
        env->segs[i].base = 0;
        if (i != R_CS) {
            env->segs[i].flags = 0x00cf9300;
            env->segs[i].selector = 0x10;
        }
    }
    env->eip = 0x10000;
    if (!kvm_arch_put_registers(a.v, KVM_PUT_FULL, &err)) {
        g_test_message("%s", error_get_pretty(err));
        g_assert_nonnull(
            strstr(error_get_pretty(err), "32-bit code with paging"));
        error_free(err);
        return;
    }
    clear(a.cpu);
    regs_get(&a);
    g_assert_cmphex(env->cr[0] & CR0_PG_MASK, !=, 0);
}

/* ---- a program that looks at its registers ---- */

/*
 * rdi: values to load, rsi: where to store them later.
 *   0    r8..r15     64 ymm0..15    576 mxcsr    592 four numbers of 80 bits
 */
extern const uint8_t regs_program[], regs_program_end[];
asm(".pushsection .rodata\n"
    "regs_program:\n"
    "  movq 0(%rdi), %r8\n   movq 8(%rdi), %r9\n"
    "  movq 16(%rdi), %r10\n movq 24(%rdi), %r11\n"
    "  movq 32(%rdi), %r12\n movq 40(%rdi), %r13\n"
    "  movq 48(%rdi), %r14\n movq 56(%rdi), %r15\n"
    "  .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
    "  vmovdqu 64+32*\\n(%rdi), %ymm\\n\n"
    "  .endr\n"
    "  ldmxcsr 576(%rdi)\n"
    "  fninit\n"
    "  fldt 592(%rdi)\n fldt 608(%rdi)\n fldt 624(%rdi)\n fldt 640(%rdi)\n"
    "  rdtsc\n shlq $32, %rdx\n orq %rdx, %rax\n movq %rax, 704(%rsi)\n"
    "  movl $0x5a, %eax\n"
    "  outb %al, $0xf4\n"
    "  movq %r8, 0(%rsi)\n   movq %r9, 8(%rsi)\n"
    "  movq %r10, 16(%rsi)\n movq %r11, 24(%rsi)\n"
    "  movq %r12, 32(%rsi)\n movq %r13, 40(%rsi)\n"
    "  movq %r14, 48(%rsi)\n movq %r15, 56(%rsi)\n"
    "  .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
    "  vmovdqu %ymm\\n, 64+32*\\n(%rsi)\n"
    "  .endr\n"
    "  stmxcsr 576(%rsi)\n"
    "  fstpt 640(%rsi)\n fstpt 624(%rsi)\n fstpt 608(%rsi)\n fstpt 592(%rsi)\n"
    "  rdtsc\n shlq $32, %rdx\n orq %rdx, %rax\n movq %rax, 712(%rsi)\n"
    "  outb %al, $0xf4\n"
    "1: jmp 1b\n"
    "regs_program_end:\n"
    ".popsection\n");

enum {
    TABLE_MXCSR = 576,
    TABLE_ST = 592,
    TABLE_END = 656,
    TABLE_TSC = 704, /* before and after the move */
};
#define TABLE_IN  REGS_DATA
#define TABLE_OUT (REGS_DATA + 0x1000)

static void load_program(void)
{
    static const uint8_t st[4][10] = {
        { 0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f },
        { 0x35, 0xc2, 0x68, 0x21, 0xa2, 0xda, 0x0f, 0xc9, 0x00, 0x40 },
        { 1, 2, 3, 4, 5, 6, 7, 0x88, 0x99, 0xc0 },
        { 0, 0, 0, 0, 0, 0, 0, 0xa0, 0xff, 0x7f },
    };
    uint8_t table[TABLE_END];
    CPUX86State *junk = g_new0(CPUX86State, 1);
    uint32_t mxcsr = 0x5f80; /* round towards infinity */

    memset(table, 0, sizeof(table));
    x86_test_fill(junk, 4711);
    memcpy(table, junk->xmm_regs, TABLE_MXCSR);
    memcpy(table + TABLE_MXCSR, &mxcsr, 4);
    for (int i = 0; i < 4; i++) {
        memcpy(table + TABLE_ST + 16 * i, st[i], 10);
    }
    g_free(junk);
    address_space_write(&address_space_memory, TABLE_IN, MEMTXATTRS_UNSPECIFIED,
                        table, sizeof(table));
    memset(table, 0, sizeof(table));
    address_space_write(&address_space_memory, TABLE_OUT,
                        MEMTXATTRS_UNSPECIFIED, table, sizeof(table));
    address_space_write(&address_space_memory, REGS_CODE,
                        MEMTXATTRS_UNSPECIFIED, regs_program,
                        regs_program_end - regs_program);
}

/* Sections of @from's vCPU, loaded into @to's; then all of it to the kernel. */
static void move(RegsVm *from, RegsVm *to)
{
    const VMStateDescription *cpu = CPU_GET_CLASS(from->cpu)->vmsd;
    const VMStateDescription *apic =
        savevm_find("apic", CPU(from->cpu)->cpu_index)->vmsd;
    g_autoptr(GByteArray) c = NULL, p = NULL;
    KvmX86VmState s;

    regs_get(from);
    p = x86_test_save(apic, from->cpu);
    c = x86_test_save(cpu, from->cpu);
    g_assert_true(
        x86_test_load(apic, to->cpu, p->data, p->len, NULL, &error_abort));
    g_assert_true(
        x86_test_load(cpu, to->cpu, c->data, c->len, NULL, &error_abort));
    g_assert_true(kvm_x86_get_vm_state(from->vm, &s, &error_abort));
    g_assert_true(kvm_x86_put_vm_state(to->vm, &s, &error_abort));
    regs_put(to);
}

static bool skip_without_avx(void)
{
    if (!(a.cpu->xsave_mask & 1u << XSAVE_AVX)) {
        g_test_skip("no AVX on this host");
        return true;
    }
    return false;
}

static void start_program(RegsVm *r)
{
    CPUX86State *env = &r->cpu->env;

    load_program();
    cpu_reset(CPU(r->cpu));
    regs_start(env, REGS_CODE);
    env->cr[4] |= CR4_OSXSAVE_MASK;
    env->xcr0 = r->cpu->xsave_mask;
    env->regs[R_EDI] = TABLE_IN;
    env->regs[R_ESI] = TABLE_OUT;
    regs_put(r);
}

static void assert_tables_same(void)
{
    uint8_t in[TABLE_END], out[TABLE_END];

    address_space_read(&address_space_memory, TABLE_IN, MEMTXATTRS_UNSPECIFIED,
                       in, sizeof(in));
    address_space_read(&address_space_memory, TABLE_OUT, MEMTXATTRS_UNSPECIFIED,
                       out, sizeof(out));
    for (size_t i = 0; i < sizeof(in); i++) {
        if (in[i] != out[i]) {
            g_error("byte %zu: 0x%x, expected 0x%x", i, out[i], in[i]);
        }
    }
}

static void test_moved(void)
{
    CPUX86State *env = &a.cpu->env;
    uint64_t before, after;

    if (skip_without_avx()) {
        return;
    }
    start_program(&a);
    regs_run(&a);
    regs_get(&a);
    g_assert_cmphex(env->regs[R_EAX], ==, 0x5a);
    g_assert_cmphex(env->regs[R_R8], ==,
                    ldq_le_phys(&address_space_memory, TABLE_IN));
    g_assert_cmphex(
        env->xmm_regs[7].q[3], ==,
        ldq_le_phys(&address_space_memory, TABLE_IN + 64 + 32 * 7 + 24));
    move(&a, &b);
    /* The first VM's are gone: what the program finds came with the move. */
    clear(a.cpu);
    regs_run(&b);
    assert_tables_same();
    before = ldq_le_phys(&address_space_memory, TABLE_OUT + TABLE_TSC);
    after = ldq_le_phys(&address_space_memory, TABLE_OUT + TABLE_TSC + 8);
    g_assert_cmpuint(after, >=, before);
}

/* Fifty times there and back, the clocks read on each side. */
static void test_clocks(void)
{
    struct kvm_clock_data clock;
    uint64_t last_clock = 0, last_tsc = 0;

    if (skip_without_avx()) {
        return;
    }
    for (int i = 0; i < 50; i++) {
        RegsVm *from = i % 2 ? &b : &a, *to = i % 2 ? &a : &b;

        if (i == 0) {
            start_program(from);
        }
        regs_get(from);
        g_assert_cmpuint(from->cpu->env.tsc, >=, last_tsc);
        last_tsc = from->cpu->env.tsc;
        g_assert_true(kvm_x86_get_clock(from->vm, &clock, &error_abort));
        g_assert_cmpuint(clock.clock, >=, last_clock);
        last_clock = clock.clock;
        move(from, to);
        g_assert_true(kvm_x86_get_clock(to->vm, &clock, &error_abort));
        g_assert_cmpuint(clock.clock, >=, last_clock);
        last_clock = clock.clock;
        regs_get(to);
        g_assert_cmpuint(to->cpu->env.tsc, >=, last_tsc);
        last_tsc = to->cpu->env.tsc;
    }
}

/* As the twin does it: by the kernel's own structures. */
static void test_twin(void)
{
    struct kvm_clock_data clock, again;
    KvmArchMove *m;
    int64_t t0, passed;

    if (skip_without_avx()) {
        return;
    }
    start_program(&a);
    regs_run(&a);
    g_assert_true(kvm_x86_get_clock(a.vm, &clock, &error_abort));
    t0 = g_get_monotonic_time();
    m = kvm_arch_move_prepare(a.vm, b.vm, &error_abort);
    g_assert_true(kvm_arch_move_save(m, &error_abort));
    g_usleep(20000);
    g_assert_true(kvm_arch_move_load(m, &error_abort));
    kvm_arch_move_free(m);
    g_assert_true(kvm_x86_get_clock(b.vm, &again, &error_abort));
    passed = (g_get_monotonic_time() - t0) * 1000;
    g_assert_cmpuint(again.clock, >=, clock.clock + 20000000);
    /* Not the other way either: no more than has passed, and some. */
    g_assert_cmpuint(again.clock - clock.clock, <=, passed + 1000000000);
    regs_run(&b);
    assert_tables_same();
}

/* The kernel's page for the guest's clock: what the guest computes from it. */
static void test_kvmclock_page(void)
{
    const hwaddr page = REGS_DATA + 0x4000;
    uint64_t before, after;

    if (skip_without_avx() || !kvm_x86_msr_is_listed(0x4b564d01)) {
        return;
    }
    start_program(&a);
    a.cpu->env.system_time_msr = page | 1;
    regs_put(&a);
    regs_run(&a);
    regs_get(&a);
    g_assert_cmphex(a.cpu->env.system_time_msr, ==, page | 1);
    before = kvm_x86_guest_clock(&a.cpu->env);
    g_assert_cmpuint(before, !=, 0);
    move(&a, &b);
    regs_run(&b);
    regs_get(&b);
    g_assert_cmphex(b.cpu->env.system_time_msr, ==, page | 1);
    after = kvm_x86_guest_clock(&b.cpu->env);
    g_assert_cmpuint(after, >=, before);
    g_assert_cmpuint(after - before, <, UINT64_C(60000000000));
    assert_tables_same();
}

/* ---- what goes wrong ---- */

static void test_each_call_fails(void)
{
    for (int put = 0; put < 2; put++) {
        unsigned n = 0, failed = 0;

        do {
            Error *err = NULL;
            bool ok;

            fill_valid(a.cpu, 90);
            drop_components(&a.cpu->env, a.cpu->xsave_mask);
            kvm_fault_arm(++n, EIO, KVM_CALL_ANY);
            ok = put ? kvm_arch_put_registers(a.v, KVM_PUT_FULL, &err)
                     : kvm_arch_get_registers(a.v, &err);
            if (!kvm_fault_fired()) {
                g_assert_true(ok);
                break;
            }
            if (!ok) {
                g_test_message("%s: %s", kvm_call_name(kvm_fault_fired_index()),
                               error_get_pretty(err));
                g_assert_nonnull(strstr(error_get_pretty(err), "vCPU 0"));
                error_free(err);
                failed++;
            }
        } while (n < 100);
        kvm_fault_arm(0, 0, KVM_CALL_ANY);
        g_assert_cmpuint(failed, >=, 8);
        g_assert_cmpuint(n, <, 100);
    }
}

static void test_unsettable_msr(void)
{
    Error *err = NULL;

    fill_valid(a.cpu, 91);
    a.cpu->env.mtrr_deftype = 0xc02; /* no such type */
    g_assert_false(kvm_arch_put_registers(a.v, KVM_PUT_FULL, &err));
    g_assert_nonnull(strstr(error_get_pretty(err), "register 0x2ff"));
    error_free(err);
}

static void test_tsc_rate(void)
{
    X86CPU *cpu = x86_test_cpu_make("host,tsc-frequency=1000000000");
    KvmVmConfig config = { .kind = KVM_LOG_BITMAP, .irqchip = KVM_IRQCHIP_ON };
    KvmVm *vm = kvm_vm_new(&config, &error_abort);
    Error *err = NULL;
    KvmVcpu *v;

    g_assert_true(cpu_realize(CPU(cpu), &error_abort));
    v = kvm_vcpu_new(vm, 0, CPU(cpu), &err);
    if (!v) {
        g_test_message("%s", error_get_pretty(err));
        g_assert_nonnull(strstr(error_get_pretty(err), "at 1000000 kHz"));
        error_free(err);
    }
    kvm_vm_free(vm);
}

/* As it comes with a stream, after the vCPU was made. */
static void test_tsc_rate_loaded(void)
{
    RegsVm r = regs_vm_new("host");
    int64_t *khz = &r.cpu->env.tsc_khz, ours = *khz;

    if (!x86_host()->tsc_scaling || !ours) {
        g_test_skip("this host does not scale the TSC");
    } else {
        fill_valid(r.cpu, 93);
        *khz = ours / 2;
        regs_put(&r);
        g_assert_cmpint(kvm_vcpu_ioctl(r.v, KVM_GET_TSC_KHZ, 0), ==, ours / 2);
    }
    regs_vm_free(&r);
}

/* RUNTIME leaves alone what comes from outside. */
static void test_runtime(void)
{
    CPUX86State *env = &a.cpu->env;

    fill_valid(a.cpu, 92);
    regs_put(&a);
    regs_get(&a);
    g_assert_cmpint(kvm_vcpu_ioctl(a.v, KVM_NMI, 0), ==, 0);
    env->regs[R_EAX] = 0x1234;
    g_assert_true(kvm_arch_put_registers(a.v, KVM_PUT_RUNTIME, &error_abort));
    clear(a.cpu);
    regs_get(&a);
    g_assert_cmphex(env->regs[R_EAX], ==, 0x1234);
    g_assert_cmpint(env->nmi_pending, ==, 1);
}

/* ---- sections of what the VM has once ---- */

static SaveStateEntry *section(const char *idstr, uint32_t instance)
{
    SaveStateEntry *se = savevm_find(idstr, instance);

    g_assert_nonnull(se);
    return se;
}

/* What a real QEMU sent goes into the kernel and comes out again. */
static void test_sections_real(void)
{
    static const struct {
        const char *idstr, *file;
        uint32_t instance;
    } files[] = {
        { "i8259", "i8259-0.bin", 0 },
        { "i8259", "i8259-1.bin", 1 },
        { "ioapic", "ioapic-0.bin", 0 },
        { "kvmclock", "kvmclock-0.bin", 0 },
    };

    if (!x86_test_has_data()) {
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
        SaveStateEntry *se = section(files[i].idstr, files[i].instance);
        g_autoptr(GBytes) data = x86_test_data(files[i].file);
        const uint8_t *bytes = g_bytes_get_data(data, NULL);
        size_t taken, len = g_bytes_get_size(data);
        g_autoptr(GByteArray) again = NULL;

        g_test_message("%s", files[i].file);
        g_assert_true(x86_test_load(se->vmsd, se->opaque, bytes, len, &taken,
                                    &error_abort));
        g_assert_cmpuint(taken, ==, len);
        again = x86_test_save(se->vmsd, se->opaque);
        g_assert_cmpuint(again->len, >=, len);
        for (size_t k = 0; k < len; k++) {
            g_assert_cmphex(again->data[k], ==, bytes[k]);
        }
    }
}

/* A change of one chip's state travels; a reset makes it as it was. */
static void test_sections_travel(void)
{
    SaveStateEntry *pic = section("i8259", 1);
    SaveStateEntry *ioapic = section("ioapic", 0);
    KvmX86VmState first, s;
    g_autoptr(GByteArray) p = NULL, io = NULL;

    g_assert_true(kvm_x86_get_irqchip(a.vm, &first, &error_abort));
    s = first;
    s.chips[1].chip.pic.imr = 0x5a;
    s.chips[1].chip.pic.elcr = 0x0c;
    s.chips[2].chip.ioapic.redirtbl[23].bits = UINT64_C(0x0200000000018077);
    g_assert_true(kvm_x86_put_irqchip(a.vm, &s, &error_abort));
    p = x86_test_save(pic->vmsd, pic->opaque);
    io = x86_test_save(ioapic->vmsd, ioapic->opaque);
    g_assert_true(kvm_x86_put_irqchip(a.vm, &first, &error_abort));
    g_assert_true(x86_test_load(pic->vmsd, pic->opaque, p->data, p->len, NULL,
                                &error_abort));
    g_assert_true(x86_test_load(ioapic->vmsd, ioapic->opaque, io->data, io->len,
                                NULL, &error_abort));
    g_assert_true(kvm_x86_get_irqchip(a.vm, &s, &error_abort));
    g_assert_cmphex(s.chips[1].chip.pic.imr, ==, 0x5a);
    g_assert_cmphex(s.chips[1].chip.pic.elcr, ==, 0x0c);
    g_assert_cmphex(s.chips[2].chip.ioapic.redirtbl[23].bits, ==,
                    UINT64_C(0x0200000000018077));
    qemu_devices_reset();
    g_assert_true(kvm_x86_get_irqchip(a.vm, &s, &error_abort));
    g_assert_cmphex(s.chips[1].chip.pic.imr, ==, 0);
    g_assert_cmphex(s.chips[2].chip.ioapic.redirtbl[23].bits, ==, 0x10000);
}

static void test_sections_hostile(void)
{
    static const struct {
        const char *idstr;
        size_t offset;
        uint8_t value;
        const char *words;
    } changes[] = {
        { "i8259", 9, 4, "init_state is 4" },
        { "i8259", 4, 8, "priority_add 8" },
        { "i8259", 14, 1, "single_mode is 1" },
        { "kvmclock", 0, 0xff, "clock is 18" },
    };

    if (!x86_test_has_data()) {
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        SaveStateEntry *se = section(changes[i].idstr, 0);
        g_autofree char *file = g_strdup_printf("%s-0.bin", changes[i].idstr);
        g_autoptr(GBytes) data = x86_test_data(file);
        size_t len = g_bytes_get_size(data);
        g_autofree uint8_t *bytes = g_memdup2(g_bytes_get_data(data, NULL),
                                              len);

        bytes[changes[i].offset] = changes[i].value;
        x86_test_load_fails(se->vmsd, se->opaque, bytes, len, changes[i].words);
    }
}

/* Bytes changed anywhere: refused with a reason, by us or by the kernel. */
static void test_sections_fuzz(void)
{
    const char *const names[] = { "apic", "cpu", "i8259", "ioapic" };
    g_autoptr(GRand) rand = g_rand_new_with_seed(20261130);
    unsigned loaded = 0, refused = 0;

    for (int round = 0; round < 400; round++) {
        SaveStateEntry *se = section(
            names[round % ARRAY_SIZE(names)],
            round % ARRAY_SIZE(names) < 2 ? CPU(b.cpu)->cpu_index : 0);
        g_autoptr(GByteArray) d = NULL;
        Error *err = NULL;
        bool ok;

        fill_valid(b.cpu, round);
        drop_components(&b.cpu->env, b.cpu->xsave_mask);
        d = x86_test_save(se->vmsd, se->opaque);
        for (int i = g_rand_int_range(rand, 1, 9); i > 0; i--) {
            d->data[g_rand_int_range(rand, 0, d->len)] = g_rand_int(rand);
        }
        ok = x86_test_load(se->vmsd, se->opaque, d->data, d->len, NULL, &err) &&
             kvm_arch_put_registers(b.v, KVM_PUT_FULL, &err);
        if (ok) {
            loaded++;
        } else {
            g_assert_nonnull(err);
            error_free(err);
            refused++;
        }
    }
    g_test_message("%u loaded, %u refused", loaded, refused);
    g_assert_cmpuint(refused, >, 20);
    /* It is as good as new. */
    fill_valid(b.cpu, 1);
    drop_components(&b.cpu->env, b.cpu->xsave_mask);
    regs_put(&b);
    qemu_devices_reset();
}

static int skip_all(const char *why)
{
    printf("1..0 # SKIP %s\n", why);
    return 0;
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (regs_unusable()) {
        return skip_all(regs_unusable());
    }
    x86_test_init();
    regs_init();
    a = regs_vm_new("host");
    b = regs_vm_new("host");
    kvm_vm_set_current(a.vm);
    g_assert_true(kvm_x86_sections_init(&error_abort));
    g_test_add_func("/kvm-regs/core", test_core);
    g_test_add_func("/kvm-regs/core-segment-limits", test_segment_limits);
    g_test_add_func("/kvm-regs/msrs", test_msrs);
    g_test_add_func("/kvm-regs/reset", test_reset_is_the_kernels);
    g_test_add_func("/kvm-regs/events", test_events);
    g_test_add_func("/kvm-regs/mp-state", test_mp_state);
    g_test_add_func("/kvm-regs/apic", test_apic);
    g_test_add_func("/kvm-regs/apic-id", test_apic_id);
    g_test_add_func("/kvm-regs/deadline", test_deadline);
    g_test_add_func("/kvm-regs/vm-state", test_vm_state);
    g_test_add_func("/kvm-regs/32-bit-paging", test_32bit_paging);
    g_test_add_func("/kvm-regs/runtime", test_runtime);
    g_test_add_func("/kvm-regs/moved", test_moved);
    g_test_add_func("/kvm-regs/clocks", test_clocks);
    g_test_add_func("/kvm-regs/kvmclock", test_kvmclock_page);
    g_test_add_func("/kvm-regs/twin", test_twin);
    g_test_add_func("/kvm-regs/sections/real", test_sections_real);
    g_test_add_func("/kvm-regs/sections/travel", test_sections_travel);
    g_test_add_func("/kvm-regs/sections/hostile", test_sections_hostile);
    g_test_add_func("/kvm-regs/sections/fuzz", test_sections_fuzz);
    g_test_add_func("/kvm-regs/fail/each-call", test_each_call_fails);
    g_test_add_func("/kvm-regs/fail/msr", test_unsettable_msr);
    g_test_add_func("/kvm-regs/fail/tsc-rate", test_tsc_rate);
    g_test_add_func("/kvm-regs/tsc-rate-loaded", test_tsc_rate_loaded);
    return g_test_run();
}
