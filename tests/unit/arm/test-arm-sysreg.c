/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System registers against what a guest of a real QEMU finds: which exist,
 * who may access them, what they read. Then the rules that the scan cannot
 * see: traps that software switches.
 */
#include "qemu/osdep.h"

#include "arm-test.h"
#include "target/arm/sysreg.h"

static char verdict(ARMAccess a)
{
    return a == ARM_ACCESS_OK      ? 'y'
           : a == ARM_ACCESS_UNDEF ? '-'
           : a == ARM_ACCESS_TRAP  ? 't'
                                   : 'f';
}

static void set_el(ARMCPU *cpu, int el)
{
    arm_pstate_write(&cpu->env, el ? PSTATE_DAIF | PSTATE_MODE_EL1h
                                   : PSTATE_DAIF | PSTATE_MODE_EL0t);
}

static char try_read(ARMCPU *cpu, const ARMSysReg *r, int el, uint64_t *val)
{
    ARMAccess a;

    set_el(cpu, el);
    a = arm_sysreg_check_access(&cpu->env, r, true);
    *val = a == ARM_ACCESS_OK ? arm_sysreg_read(&cpu->env, r) : 0;
    return verdict(a);
}

static char try_write(ARMCPU *cpu, const ARMSysReg *r, int el, uint64_t val)
{
    ARMAccess a;

    set_el(cpu, el);
    a = arm_sysreg_check_access(&cpu->env, r, false);
    if (a == ARM_ACCESS_OK) {
        arm_sysreg_write(&cpu->env, r, val);
    }
    return verdict(a);
}

/* What the scanning guest did, for one encoding: a line as in the file. */
static char *scan_one(ARMCPU *cpu, uint32_t enc)
{
    const ARMSysReg *r = arm_sysreg_lookup(cpu, enc >> 14, (enc >> 11) & 7,
                                           (enc >> 7) & 15, (enc >> 3) & 15,
                                           enc & 7);
    uint64_t val, dummy;
    char r1, w1, r0, w0;

    if (!r) {
        return NULL;
    }
    if (enc >> 14 == 1) {
        w1 = try_write(cpu, r, 1, 0x41800000);
        w0 = try_write(cpu, r, 0, 0x41800000);
        return g_strdup_printf("S %04x -%c-%c", enc, w1, w0);
    }
    r1 = try_read(cpu, r, 1, &val);
    w1 = try_write(cpu, r, 1, val);
    r0 = try_read(cpu, r, 0, &dummy);
    w0 = try_write(cpu, r, 0, val);
    return g_strdup_printf("R %04x %c%c%c%c %016" PRIx64, enc, r1, w1, r0, w0,
                           val);
}

static void set_first(ARMCPU *cpu)
{
    cpu->mp_affinity = 0;
}

static void test_scan(gconstpointer opaque)
{
    const char *model = opaque;
    ARMCPU *cpu = arm_test_cpu_new(model, set_first);
    g_autofree char *file = g_strdup_printf("sysregs-%s.txt", model);
    g_auto(GStrv) lines = arm_test_data_lines(file);
    char **next = lines;

    for (uint32_t enc = 1 << 14; enc < 1 << 16; enc++) {
        g_autofree char *line = scan_one(cpu, enc);

        if (!line) {
            continue;
        }
        g_assert_nonnull(*next);
        if (g_str_has_suffix(*next, "*")) {
            line[strlen(*next) - 1] = '*';
            line[strlen(*next)] = 0;
        }
        g_assert_cmpstr(line, ==, *next);
        next++;
    }
    g_assert_null(*next);
}

static void test_max_has_lse(void)
{
    ARMCPU *cpu = arm_test_cpu_new("max", NULL);
    ARMCPU *a57 = arm_test_cpu_new("cortex-a57", NULL);
    const ARMSysReg *r = arm_sysreg_lookup(cpu, 3, 0, 0, 6, 0);

    g_assert_cmphex((arm_sysreg_read(&cpu->env, r) >> 20) & 15, ==, 2);
    g_assert_true(arm_feature(&cpu->env, ARM_FEATURE_LSE));
    g_assert_true(arm_feature(&cpu->env, ARM_FEATURE_CRC32));
    g_assert_false(arm_feature(&a57->env, ARM_FEATURE_LSE));
    g_assert_true(arm_feature(&a57->env, ARM_FEATURE_CRC32));
}

/* One bit of SCTLR_EL1 lets EL0 do what it may not else. */
static void test_el0_by_sctlr(void)
{
    static const struct {
        uint64_t bit;
        unsigned op0, op1, crn, crm, op2;
        bool is_read;
    } rules[] = {
        { SCTLR_UMA, 3, 3, 4, 2, 1, true },   /* DAIF */
        { SCTLR_UCT, 3, 3, 0, 0, 1, true },   /* CTR_EL0 */
        { SCTLR_UCI, 1, 3, 7, 14, 1, false }, /* DC CIVAC */
        { SCTLR_UCI, 1, 3, 7, 5, 1, false },  /* IC IVAU */
        { SCTLR_DZE, 1, 3, 7, 4, 1, false },  /* DC ZVA */
    };
    ARMCPU *cpu = arm_test_cpu_new("cortex-a57", NULL);

    for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
        const ARMSysReg *r = arm_sysreg_lookup(cpu, rules[i].op0, rules[i].op1,
                                               rules[i].crn, rules[i].crm,
                                               rules[i].op2);

        set_el(cpu, 0);
        cpu->env.sys.sctlr_el1 = 0;
        g_assert_cmpint(arm_sysreg_check_access(&cpu->env, r, rules[i].is_read),
                        ==, ARM_ACCESS_TRAP);
        cpu->env.sys.sctlr_el1 = rules[i].bit;
        g_assert_cmpint(arm_sysreg_check_access(&cpu->env, r, rules[i].is_read),
                        ==, ARM_ACCESS_OK);
        cpu->env.sys.sctlr_el1 = ~rules[i].bit;
        g_assert_cmpint(arm_sysreg_check_access(&cpu->env, r, rules[i].is_read),
                        ==, ARM_ACCESS_TRAP);
        set_el(cpu, 1);
        g_assert_cmpint(arm_sysreg_check_access(&cpu->env, r, rules[i].is_read),
                        ==, ARM_ACCESS_OK);
    }
}

static void test_fp_trap(void)
{
    ARMCPU *cpu = arm_test_cpu_new("cortex-a57", NULL);
    const ARMSysReg *fpcr = arm_sysreg_lookup(cpu, 3, 3, 4, 4, 0);
    static const bool el0_ok[4] = { 0, 0, 0, 1 }, el1_ok[4] = { 0, 1, 0, 1 };

    for (uint64_t fpen = 0; fpen < 4; fpen++) {
        cpu->env.sys.cpacr_el1 = fpen << 20;
        set_el(cpu, 0);
        g_assert_cmpint(arm_sysreg_check_access(&cpu->env, fpcr, true), ==,
                        el0_ok[fpen] ? ARM_ACCESS_OK : ARM_ACCESS_TRAP_FP);
        set_el(cpu, 1);
        g_assert_cmpint(arm_sysreg_check_access(&cpu->env, fpcr, true), ==,
                        el1_ok[fpen] ? ARM_ACCESS_OK : ARM_ACCESS_TRAP_FP);
    }
}

static void test_sp_el0_by_name(void)
{
    ARMCPU *cpu = arm_test_cpu_new("cortex-a57", NULL);
    const ARMSysReg *r = arm_sysreg_lookup(cpu, 3, 0, 4, 1, 0);

    set_el(cpu, 1);
    cpu->env.xregs[31] = 0x1111;
    arm_sysreg_write(&cpu->env, r, 0x2222);
    g_assert_cmphex(cpu->env.xregs[31], ==, 0x1111);
    arm_set_spsel(&cpu->env, false);
    g_assert_cmphex(cpu->env.xregs[31], ==, 0x2222);
    g_assert_cmpint(arm_sysreg_check_access(&cpu->env, r, true), ==,
                    ARM_ACCESS_UNDEF);
    arm_set_spsel(&cpu->env, true);
    g_assert_cmphex(cpu->env.xregs[31], ==, 0x1111);
}

/* PMINTENSET/CLR and kin: writing ones sets in one, clears in the other. */
static void test_set_clear_pairs(void)
{
    ARMCPU *cpu = arm_test_cpu_new("cortex-a57", NULL);
    const ARMSysReg *set = arm_sysreg_lookup(cpu, 3, 3, 9, 12, 1);
    const ARMSysReg *clr = arm_sysreg_lookup(cpu, 3, 3, 9, 12, 2);

    arm_sysreg_write(&cpu->env, set, ~UINT64_C(0));
    g_assert_cmphex(arm_sysreg_read(&cpu->env, clr), ==, 0x8000003f);
    arm_sysreg_write(&cpu->env, clr, 0x80000001);
    g_assert_cmphex(arm_sysreg_read(&cpu->env, set), ==, 0x3e);
}

static uint64_t read_opaque(CPUARMState *env, const ARMSysReg *r)
{
    return *(uint64_t *)r->opaque;
}

static void test_added_by_device(void)
{
    static const ARMSysReg extra[] = {
        { .name = "NEW",
          .enc = ARM_SYSREG_ENC(3, 0, 12, 12, 0),
          .access = ARM_SR_RO,
          .readfn = read_opaque },
        { .name = "ACTLR_EL1 replaced",
          .enc = ARM_SYSREG_ENC(3, 0, 1, 0, 1),
          .access = ARM_SR_RO,
          .readfn = read_opaque },
    };
    ARMCPU *cpu = arm_test_cpu_new("cortex-a57", NULL);
    size_t before = cpu->sysregs_count;
    uint64_t val = 42;

    g_assert_null(arm_sysreg_lookup(cpu, 3, 0, 12, 12, 0));
    arm_cpu_add_sysregs(cpu, extra, 2, &val);
    g_assert_cmpuint(cpu->sysregs_count, ==, before + 1);
    g_assert_cmpuint(
        arm_sysreg_read(&cpu->env, arm_sysreg_lookup(cpu, 3, 0, 12, 12, 0)), ==,
        42);
    g_assert_cmpuint(
        arm_sysreg_read(&cpu->env, arm_sysreg_lookup(cpu, 3, 0, 1, 0, 1)), ==,
        42);
    /* Its neighbours are still found. */
    g_assert_cmpstr(arm_sysreg_lookup(cpu, 3, 0, 1, 0, 2)->name, ==,
                    "CPACR_EL1");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    arm_test_init();
    g_test_add_data_func("/arm/sysreg/scan/cortex-a53", "cortex-a53",
                         test_scan);
    g_test_add_data_func("/arm/sysreg/scan/cortex-a57", "cortex-a57",
                         test_scan);
    g_test_add_data_func("/arm/sysreg/scan/cortex-a72", "cortex-a72",
                         test_scan);
    g_test_add_func("/arm/sysreg/max-has-lse", test_max_has_lse);
    g_test_add_func("/arm/sysreg/el0-by-sctlr", test_el0_by_sctlr);
    g_test_add_func("/arm/sysreg/fp-trap", test_fp_trap);
    g_test_add_func("/arm/sysreg/sp-el0-by-name", test_sp_el0_by_name);
    g_test_add_func("/arm/sysreg/set-clear-pairs", test_set_clear_pairs);
    g_test_add_func("/arm/sysreg/added-by-device", test_added_by_device);
    return g_test_run();
}
