/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PSTATE, exceptions and their return, PSCI, timers.
 */
#include "qemu/osdep.h"

#include "arm-test.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "system/runstate.h"
#include "target/arm/syndrome.h"
#include "target/arm/sysreg.h"

static ARMCPU *fresh_cpu(void)
{
    return arm_test_cpu_new("cortex-a57", NULL);
}

static void test_reset_state(void)
{
    ARMCPU *cpu = fresh_cpu();

    g_assert_cmphex(arm_pstate_read(&cpu->env), ==, 0x400003c5);
    g_assert_cmphex(cpu->env.pc, ==, 0);
    g_assert_cmphex(cpu->env.exclusive_addr, ==, UINT64_MAX);
    g_assert_cmphex(cpu->env.sys.sctlr_el1, ==, 0x00c50838);
    g_assert_cmphex(cpu->env.sys.cntfrq_el0, ==, 62500000);
}

static void test_nzcv(void)
{
    ARMCPU *cpu = fresh_cpu();

    for (uint32_t f = 0; f < 16; f++) {
        arm_nzcv_write(&cpu->env, f << 28 | 0x0fffffff);
        g_assert_cmphex(arm_nzcv_read(&cpu->env), ==, f << 28);
    }
}

static void test_stack_pointers(void)
{
    ARMCPU *cpu = fresh_cpu();
    CPUARMState *env = &cpu->env;

    arm_sp_write(env, 0, 0x1000);
    arm_sp_write(env, 1, 0x2000);
    g_assert_cmphex(env->xregs[31], ==, 0x2000);
    arm_pstate_write(env, PSTATE_MODE_EL1t);
    g_assert_cmphex(env->xregs[31], ==, 0x1000);
    env->xregs[31] = 0x1010;
    arm_pstate_write(env, PSTATE_MODE_EL0t);
    g_assert_cmphex(env->xregs[31], ==, 0x1010);
    arm_pstate_write(env, PSTATE_MODE_EL1h);
    g_assert_cmphex(env->xregs[31], ==, 0x2000);
    g_assert_cmphex(arm_sp_read(env, 0), ==, 0x1010);
    g_assert_cmphex(arm_sp_read(env, 1), ==, 0x2000);
}

/* From each of the three modes, each kind of exception: the vector. */
static void test_vectors(void)
{
    static const struct {
        uint32_t mode;
        uint64_t base;
    } modes[] = {
        { PSTATE_MODE_EL1t, 0x000 },
        { PSTATE_MODE_EL1h, 0x200 },
        { PSTATE_MODE_EL0t, 0x400 },
    };
    static const struct {
        int excp;
        uint64_t offset;
    } kinds[] = {
        { EXCP_UDEF, 0 }, { EXCP_SWI, 0 },    { EXCP_DATA_ABORT, 0 },
        { EXCP_BKPT, 0 }, { EXCP_IRQ, 0x80 }, { EXCP_FIQ, 0x100 },
    };
    ARMCPU *cpu = fresh_cpu();
    CPUARMState *env = &cpu->env;

    for (size_t m = 0; m < ARRAY_SIZE(modes); m++) {
        for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
            uint32_t psr = modes[m].mode | PSTATE_C | PSTATE_A | PSTATE_IL;

            env->sys.vbar_el1 = 0x80000;
            env->sys.esr_el1 = 0;
            arm_pstate_write(env, psr);
            env->pc = 0x1234;
            arm_cpu_raise_exception(CPU(cpu), kinds[k].excp, 0x5e000007, 1);
            arm_cpu_do_interrupt(CPU(cpu));
            g_assert_cmphex(env->pc, ==,
                            0x80000 + modes[m].base + kinds[k].offset);
            g_assert_cmphex(env->elr_el[1], ==, 0x1234);
            g_assert_cmphex(env->banked_spsr[BANKED_SPSR_EL1], ==, psr);
            g_assert_cmphex(arm_pstate_read(env), ==,
                            PSTATE_C | PSTATE_DAIF | PSTATE_MODE_EL1h);
            g_assert_cmphex(env->sys.esr_el1, ==,
                            kinds[k].offset ? 0 : 0x5e000007);
            g_assert_cmpint(CPU(cpu)->exception_index, ==, EXCP_NONE);
        }
    }
}

static void test_far(void)
{
    ARMCPU *cpu = fresh_cpu();
    CPUARMState *env = &cpu->env;

    env->sys.far_el1 = 0x77;
    env->exception.vaddress = 0xdead0000;
    arm_cpu_raise_exception(CPU(cpu), EXCP_SWI, syn_aa64_svc(1), 1);
    arm_cpu_do_interrupt(CPU(cpu));
    g_assert_cmphex(env->sys.far_el1, ==, 0x77);
    arm_cpu_raise_exception(
        CPU(cpu), EXCP_DATA_ABORT,
        syn_data_abort(true, true, false, true, FSC_EXTERNAL), 1);
    arm_cpu_do_interrupt(CPU(cpu));
    g_assert_cmphex(env->sys.far_el1, ==, 0xdead0000);
    g_assert_cmphex(env->sys.esr_el1, ==, 0x96000250);
}

static void test_eret(void)
{
    ARMCPU *cpu = fresh_cpu();
    CPUARMState *env = &cpu->env;

    arm_sp_write(env, 0, 0x1000);
    env->exclusive_addr = 0x40;
    env->elr_el[1] = 0x9000;
    env->banked_spsr[BANKED_SPSR_EL1] = PSTATE_N | PSTATE_I;
    arm_eret(env);
    g_assert_cmphex(env->pc, ==, 0x9000);
    g_assert_cmphex(arm_pstate_read(env), ==, PSTATE_N | PSTATE_I);
    g_assert_cmpint(arm_current_el(env), ==, 0);
    g_assert_cmphex(env->xregs[31], ==, 0x1000);
    g_assert_cmphex(env->exclusive_addr, ==, UINT64_MAX);
}

/* AArch32, EL2, EL3 and reserved modes: the return is illegal. */
static void test_illegal_eret(void)
{
    static const uint32_t bad[] = { 0x10, 0x13, 0x1, 0x8, 0x9, 0xc, 0xd, 0x6 };

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        ARMCPU *cpu = fresh_cpu();
        CPUARMState *env = &cpu->env;

        env->banked_spsr[BANKED_SPSR_EL1] = bad[i] | PSTATE_C | PSTATE_F;
        env->elr_el[1] = 0x44;
        arm_eret(env);
        g_assert_cmphex(env->pc, ==, 0x44);
        g_assert_cmphex(arm_pstate_read(env), ==,
                        PSTATE_C | PSTATE_F | PSTATE_IL | PSTATE_MODE_EL1h);
    }
}

static void test_interrupts(void)
{
    ARMCPU *cpu = fresh_cpu();
    CPUState *cs = CPU(cpu);
    uint32_t pending;

    g_assert_false(arm_cpu_has_work(cs));
    arm_cpu_set_irq(cpu, ARM_CPU_IRQ, 1);
    arm_cpu_set_irq(cpu, ARM_CPU_FIQ, 1);
    g_assert_true(arm_cpu_has_work(cs));
    g_assert_cmphex(cpu->env.irq_line_state, ==, 0x12);
    pending = atomic_load(&cs->interrupt_request);
    g_assert_false(arm_cpu_exec_interrupt(cs, pending)); /* masked */

    cpu->env.daif = PSTATE_F;
    g_assert_true(arm_interrupt_unmasked(&cpu->env, pending));
    g_assert_true(arm_cpu_exec_interrupt(cs, pending));
    g_assert_cmphex(cpu->env.pc, ==, 0x280);
    cpu->env.daif = 0;
    g_assert_true(arm_cpu_exec_interrupt(cs, pending)); /* FIQ goes first */
    g_assert_cmphex(cpu->env.pc, ==, 0x300);

    arm_cpu_set_irq(cpu, ARM_CPU_IRQ, 0);
    arm_cpu_set_irq(cpu, ARM_CPU_FIQ, 0);
    g_assert_false(arm_cpu_has_work(cs));
    g_assert_cmphex(cpu->env.irq_line_state, ==, 0);
}

/* Without EL2 and EL3, and not the conduit: undefined, at the instruction. */
static void test_firmware_call_undefined(void)
{
    ARMCPU *cpu = fresh_cpu();

    cpu->env.pc = 0x1004;
    cpu->env.xregs[0] = 0x84000000;
    arm_cpu_raise_exception(CPU(cpu), EXCP_SMC, syn_aa64_smc(0), 1);
    arm_cpu_do_interrupt(CPU(cpu));
    g_assert_cmphex(cpu->env.elr_el[1], ==, 0x1000);
    g_assert_cmphex(cpu->env.sys.esr_el1, ==, 0x02000000);

    cpu->psci_conduit = PSCI_CONDUIT_SMC;
    cpu->env.pc = 0x1004;
    arm_cpu_raise_exception(CPU(cpu), EXCP_SMC, syn_aa64_smc(0), 1);
    arm_cpu_do_interrupt(CPU(cpu));
    g_assert_cmphex(cpu->env.pc, ==, 0x1004);
    g_assert_cmphex(cpu->env.xregs[0], ==, 0x10001);
}

static uint64_t hvc(ARMCPU *cpu, uint64_t fn, uint64_t a1, uint64_t a2)
{
    cpu->env.xregs[0] = fn;
    cpu->env.xregs[1] = a1;
    cpu->env.xregs[2] = a2;
    cpu->env.xregs[3] = 0x1c1c1c1c1c;
    arm_cpu_raise_exception(CPU(cpu), EXCP_HVC, syn_aa64_hvc(0), 1);
    arm_cpu_do_interrupt(CPU(cpu));
    return cpu->env.xregs[0];
}

static void set_affinity0(ARMCPU *cpu)
{
    cpu->mp_affinity = 0;
}

static void set_affinity1(ARMCPU *cpu)
{
    cpu->mp_affinity = 1;
    CPU(cpu)->start_powered_off = true;
}

/* Other tests' CPUs are on the list too: move them out of the way. */
static void hide_other_cpus(void)
{
    CPUState *cs;

    CPU_FOREACH (cs) {
        ARM_CPU(cs)->mp_affinity = 0xff00 + cs->cpu_index;
    }
}

static void test_psci_answers(void)
{
    g_auto(GStrv) lines = arm_test_data_lines("psci.txt");
    ARMCPU *cpu0, *cpu1;

    hide_other_cpus();
    cpu0 = arm_test_cpu_new("cortex-a57", set_affinity0);
    cpu1 = arm_test_cpu_new("cortex-a57", set_affinity1);

    for (char **l = lines; *l; l++) {
        g_auto(GStrv) w = g_strsplit(*l + 1, " ", -1);
        uint64_t first = g_ascii_strtoull(w[0], NULL, 16);
        uint64_t second = g_ascii_strtoull(w[1], NULL, 16);
        guint n = g_strv_length(w);
        uint64_t want = g_ascii_strtoull(w[n - 1], NULL, 16), got = 0;

        switch (**l) {
        case 'P':
            got = hvc(cpu0, first, 0, 0);
            break;
        case 'F':
            got = hvc(cpu0, 0x8400000a, first, 0);
            break;
        case 'X':
            got = hvc(cpu0, first, 0x80000000, 0);
            break;
        case 'A':
            got = hvc(cpu0, 0xc4000004, first, second);
            break;
        case 'O':
            got = hvc(cpu0, 0xc4000003, first, second);
            arm_cpu_finish_power_on(cpu1);
            break;
        default:
            g_assert_not_reached();
        }
        if (got != want) {
            g_error("'%s': got 0x%" PRIx64, *l, got);
        }
    }
}

static void TSA_REQUIRES(bql) test_psci_on_off(void)
{
    ARMCPU *cpu0, *cpu1;

    hide_other_cpus();
    cpu0 = arm_test_cpu_new("cortex-a57", set_affinity0);
    cpu1 = arm_test_cpu_new("cortex-a57", set_affinity1);
    g_assert_cmpuint(CPU(cpu1)->halted, ==, 1);
    g_assert_false(arm_cpu_has_work(CPU(cpu1)));
    g_assert_cmpuint(hvc(cpu0, 0xc4000004, 1, 0), ==, 1);

    cpu1->env.xregs[5] = 5;
    g_assert_cmpuint(hvc(cpu0, 0xc4000003, 1, 0x40080000), ==, 0);
    g_assert_cmpint(arm_cpu_power_state(cpu1), ==, PSCI_ON_PENDING);
    g_assert_cmpint((int64_t)hvc(cpu0, 0xc4000003, 1, 0x40080000), ==, -5);
    while (arm_cpu_power_state(cpu1) != PSCI_ON) {
        bql_unlock(); /* its own thread does it */
        g_usleep(100);
        bql_lock();
    }
    g_assert_cmphex(cpu1->env.pc, ==, 0x40080000);
    g_assert_cmphex(cpu1->env.xregs[0], ==, 0x1c1c1c1c1c);
    g_assert_cmphex(cpu1->env.xregs[5], ==, 0);
    g_assert_cmphex(arm_pstate_read(&cpu1->env), ==, 0x400003c5);
    g_assert_cmpuint(CPU(cpu1)->halted, ==, 0);

    hvc(cpu1, 0x84000002, 0, 0);
    g_assert_cmpuint(CPU(cpu1)->halted, ==, 1);
    g_assert_cmpuint(hvc(cpu0, 0xc4000004, 1, 0), ==, 1);
    /* An interrupt does not wake what is off. */
    arm_cpu_set_irq(cpu1, ARM_CPU_IRQ, 1);
    g_assert_false(arm_cpu_has_work(CPU(cpu1)));
}

/* A CPU_ON that a reset overtakes must not start the vCPU later. */
static void TSA_NO_CHECK test_psci_on_then_reset(void)
{
    ARMCPU *cpu0, *cpu1;

    hide_other_cpus();
    cpu0 = arm_test_cpu_new("cortex-a57", set_affinity0);
    cpu1 = arm_test_cpu_new("cortex-a57", set_affinity1);
    g_assert_cmpuint(hvc(cpu0, 0xc4000003, 1, 0x40080000), ==, 0);
    cpu_reset(CPU(cpu1));
    bql_unlock();
    g_usleep(20000);
    bql_lock();
    g_assert_cmpint(arm_cpu_power_state(cpu1), ==, PSCI_OFF);
    g_assert_cmpuint(CPU(cpu1)->halted, ==, 1);
}

/* ---- timers ---- */

static int timer_level[NUM_GTIMERS];

static void note_level(void *opaque, int timer, int level)
{
    timer_level[timer] = level;
}

static void write_reg(ARMCPU *cpu, unsigned crm, unsigned op2, uint64_t val)
{
    arm_sysreg_write(&cpu->env, arm_sysreg_lookup(cpu, 3, 3, 14, crm, op2),
                     val);
}

static uint64_t read_reg(ARMCPU *cpu, unsigned crm, unsigned op2)
{
    return arm_sysreg_read(&cpu->env,
                           arm_sysreg_lookup(cpu, 3, 3, 14, crm, op2));
}

static void test_timer(void)
{
    ARMCPU *cpu = fresh_cpu();
    int64_t start = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);

    cpu->gt_output = note_level;
    g_assert_cmpuint(read_reg(cpu, 0, 2), ==, start / 16);
    write_reg(cpu, 3, 0, 1000); /* CNTV_TVAL */
    write_reg(cpu, 3, 1, 1);    /* enable */
    g_assert_cmpuint(read_reg(cpu, 3, 0), ==, 1000);
    g_assert_cmphex(read_reg(cpu, 3, 1), ==, 1);

    virtual_clock_warp(start + 1000 * 16 - 1);
    g_assert_cmpint(timer_level[GTIMER_VIRT], ==, 0);
    virtual_clock_warp(start + 1000 * 16);
    g_assert_cmpint(timer_level[GTIMER_VIRT], ==, 1);
    g_assert_cmpint(timer_level[GTIMER_PHYS], ==, 0);
    g_assert_cmphex(read_reg(cpu, 3, 1), ==, 5); /* ISTATUS */

    write_reg(cpu, 3, 1, 3); /* IMASK */
    g_assert_cmpint(timer_level[GTIMER_VIRT], ==, 0);
    write_reg(cpu, 3, 1, 1);
    g_assert_cmpint(timer_level[GTIMER_VIRT], ==, 1);
    write_reg(cpu, 3, 2, UINT64_MAX); /* CVAL: never */
    g_assert_cmpint(timer_level[GTIMER_VIRT], ==, 0);
    write_reg(cpu, 2, 0, 0xffffffff); /* CNTP_TVAL -1: at once */
    write_reg(cpu, 2, 1, 1);
    g_assert_cmpint(timer_level[GTIMER_PHYS], ==, 1);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    arm_test_init();
    timers_init();
    g_test_add_func("/arm/cpu/reset-state", test_reset_state);
    g_test_add_func("/arm/cpu/nzcv", test_nzcv);
    g_test_add_func("/arm/cpu/stack-pointers", test_stack_pointers);
    g_test_add_func("/arm/exception/vectors", test_vectors);
    g_test_add_func("/arm/exception/far", test_far);
    g_test_add_func("/arm/exception/eret", test_eret);
    g_test_add_func("/arm/exception/illegal-eret", test_illegal_eret);
    g_test_add_func("/arm/exception/interrupts", test_interrupts);
    g_test_add_func("/arm/exception/firmware-call-undefined",
                    test_firmware_call_undefined);
    g_test_add_func("/arm/psci/answers-equal-qemus", test_psci_answers);
    g_test_add_func("/arm/psci/on-off", test_psci_on_off);
    g_test_add_func("/arm/psci/on-then-reset", test_psci_on_then_reset);
    g_test_add_func("/arm/timer", test_timer);
    return g_test_run();
}
