/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The section `cpu` against sections cut from real streams, and hostile ones.
 */
#include "qemu/osdep.h"

#include "arm-test.h"
#include "qemu/error.h"
#include "target/arm/sysreg.h"

#define VERSION 22
/* Offsets in the section. */
#define OFF_XREGS     64
#define OFF_PC        320
#define OFF_CPSR      328
#define OFF_CPREG_LEN 568
#define OFF_INDEXES   (OFF_CPREG_LEN + 4)
#define OFF_VALUES    (OFF_INDEXES + 274 * 8)
#define OFF_POWER     (OFF_VALUES + 274 * 8 + 24 + 8 + 16 + 16)

static const VMStateDescription *vmsd_of(ARMCPU *cpu)
{
    return CPU_GET_CLASS(cpu)->vmsd;
}

static void set_travels(ARMCPU *cpu)
{
    CPU(cpu)->start_powered_off = false;
}

static void test_round_trip(gconstpointer opaque)
{
    const char *model = opaque;
    g_autofree char *file = g_strdup_printf("cpu-%s.bin", model);
    ARMCPU *cpu = arm_test_cpu_new(model, set_travels);

    arm_test_round_trip(vmsd_of(cpu), cpu, VERSION, file);
}

static void set_smp2(ARMCPU *cpu)
{
    cpu->core_count = 2;
    CPU(cpu)->start_powered_off = true;
}

static void test_powered_off(void)
{
    ARMCPU *cpu = arm_test_cpu_new("cortex-a57", set_smp2);

    arm_cpu_set_power_state(cpu, PSCI_ON);
    arm_test_round_trip(vmsd_of(cpu), cpu, VERSION,
                        "cpu-cortex-a57-smp2-1.bin");
    g_assert_cmpint(arm_cpu_power_state(cpu), ==, PSCI_OFF);
}

/* What a CPU after reset sends is what the real one sends. */
static void test_reset_state_is_the_same(void)
{
    ARMCPU *cpu = arm_test_cpu_new("cortex-a57", NULL);
    g_autoptr(GBytes) data = arm_test_data("cpu-cortex-a57.bin");
    g_autoptr(GByteArray) ours = arm_test_save(vmsd_of(cpu), cpu);

    g_assert_cmpmem(ours->data, ours->len, g_bytes_get_data(data, NULL),
                    g_bytes_get_size(data));
}

/* Everything that software can change survives. */
static void test_state_survives(void)
{
    ARMCPU *a = arm_test_cpu_new("cortex-a57", NULL);
    ARMCPU *b = arm_test_cpu_new("cortex-a57", NULL);
    g_autoptr(GByteArray) bytes = NULL;

    for (int i = 0; i < 32; i++) {
        a->env.xregs[i] = 0x0101010101010101 * (i + 1);
        a->env.vfp.zregs[i].d[0] = i;
        a->env.vfp.zregs[i].d[1] = ~(uint64_t)i;
    }
    a->env.pc = 0x40081234;
    arm_pstate_write(&a->env, PSTATE_N | PSTATE_C | PSTATE_I);
    a->env.sp_el[1] = 0x5e5e;
    a->env.elr_el[1] = 0xe1e1;
    a->env.banked_spsr[BANKED_SPSR_EL1] = 0x3c5;
    a->env.exclusive_addr = 0x1000;
    a->env.exclusive_val = 0x1001;
    a->env.exclusive_high = 0x1002;
    a->env.sys.sctlr_el1 |= SCTLR_A;
    a->env.sys.ttbr0_el1 = 0xfedcba9876543210;
    a->env.sys.tpidr_el0 = 0x123456789abcdef0;
    a->env.sys.vbar_el1 = 0x80000;
    a->env.sys.gt[GTIMER_VIRT].cval = 0x777;
    a->env.sys.dbgbvr[5] = 0xb5;
    a->env.vfp.fpcr = 0x01000000;
    a->env.vfp.fpsr = 0x9f;
    bytes = arm_test_save(vmsd_of(a), a);
    g_assert_true(arm_test_load(vmsd_of(b), b, VERSION, bytes->data, bytes->len,
                                NULL, &error_abort));
    g_assert_cmpmem(&b->env, sizeof(b->env), &a->env, sizeof(a->env));
}

/* Registers that a device adds move the descriptors, not the list. */
static void test_added_registers(void)
{
    static ARMSysReg more[300];
    ARMCPU *cpu = arm_test_cpu_new("cortex-a57", NULL);

    for (int i = 0; i < 300; i++) {
        more[i] = (ARMSysReg){ .name = "x",
                               .enc = ARM_SYSREG_ENC(3, 5, 0, 0, 0) + i };
    }
    arm_cpu_add_sysregs(cpu, more, 300, NULL);
    arm_test_round_trip(vmsd_of(cpu), cpu, VERSION, "cpu-cortex-a57.bin");
}

static uint8_t *section_copy(size_t *len)
{
    g_autoptr(GBytes) data = arm_test_data("cpu-cortex-a57.bin");

    *len = g_bytes_get_size(data);
    return g_memdup2(g_bytes_get_data(data, NULL), *len);
}

static void test_hostile(void)
{
    static const struct {
        size_t offset;
        uint8_t bytes[4];
        const char *words;
    } changes[] = {
        { OFF_CPSR, { 0, 0, 0, 0x13 }, "AArch32" },
        { OFF_CPSR, { 0, 0, 0, 0x09 }, "EL0 or EL1" },
        { OFF_CPSR, { 0, 0, 0, 0x01 }, "EL0 or EL1" },
        { OFF_CPREG_LEN, { 0xff, 0xff, 0xff, 0xff }, "cpreg_vmstate" },
        { OFF_CPREG_LEN, { 0x7f, 0xff, 0xff, 0xff }, "cpreg_vmstate" },
        { OFF_CPREG_LEN, { 0, 0, 0x02, 0x01 }, "cpreg_vmstate" },
        { OFF_INDEXES + 4, { 0, 0x0f, 0x67, 0xff }, "not on this CPU" },
        { OFF_INDEXES + 273 * 8 + 4, { 0, 0x13, 0xff, 0x19 }, "missing" },
        { OFF_POWER, { 3, 5, 7, 'c' }, "power state is 3" },
        { OFF_POWER, { 2, 5, 7, 'c' }, "entry point" },
    };
    ARMCPU *cpu = arm_test_cpu_new("cortex-a57", NULL);

    for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
        size_t len;
        g_autofree uint8_t *data = section_copy(&len);

        memcpy(data + changes[i].offset, changes[i].bytes, 4);
        arm_test_load_fails(vmsd_of(cpu), cpu, VERSION, data, len,
                            changes[i].words);
    }
}

/* A shorter list with consistent counts: says what is missing. */
static void test_short_list(void)
{
    ARMCPU *cpu = arm_test_cpu_new("cortex-a57", NULL);
    g_autoptr(GByteArray) d = g_byte_array_new();
    size_t len;
    g_autofree uint8_t *data = section_copy(&len);
    uint8_t n[4] = { 0, 0, 0x01, 0x11 };

    g_byte_array_append(d, data, OFF_CPREG_LEN);
    g_byte_array_append(d, n, 4);
    g_byte_array_append(d, data + OFF_INDEXES, 273 * 8);
    g_byte_array_append(d, data + OFF_VALUES, 273 * 8);
    g_byte_array_append(d, data + OFF_VALUES + 274 * 8,
                        len - OFF_VALUES - 274 * 8);
    arm_test_load_fails(vmsd_of(cpu), cpu, VERSION, d->data, d->len,
                        "the stream has 273 system registers, this CPU has "
                        "274");
}

/* Another model's stream: the register that tells them apart is named. */
static void test_other_model(void)
{
    ARMCPU *cpu = arm_test_cpu_new("cortex-a57", NULL);
    g_autoptr(GBytes) data = arm_test_data("cpu-cortex-a53.bin");

    arm_test_load_fails(vmsd_of(cpu), cpu, VERSION,
                        g_bytes_get_data(data, NULL), g_bytes_get_size(data),
                        "always");
}

/* Whatever two models are mixed up, the guest is not loaded. */
static void test_all_models(void)
{
    for (const char *const *from = arm_cpu_model_names; *from; from++) {
        ARMCPU *src = arm_test_cpu_new(*from, NULL);
        g_autoptr(GByteArray) d = arm_test_save(vmsd_of(src), src);

        for (const char *const *to = arm_cpu_model_names; *to; to++) {
            ARMCPU *dst = arm_test_cpu_new(*to, NULL);

            g_test_message("%s to %s", *from, *to);
            if (*from == *to) {
                g_assert_true(arm_test_load(vmsd_of(dst), dst, VERSION, d->data,
                                            d->len, NULL, &error_abort));
                continue;
            }
            arm_test_load_fails(vmsd_of(dst), dst, VERSION, d->data, d->len,
                                "always");
        }
    }
}

static void test_truncated(void)
{
    ARMCPU *cpu = arm_test_cpu_new("cortex-a57", NULL);
    size_t len;
    g_autofree uint8_t *data = section_copy(&len);
    /* In front of each subsection a stream may end: they are optional. */
    for (size_t cut = 0; cut < OFF_POWER; cut += 97) {
        Error *err = NULL;

        g_assert_false(
            arm_test_load(vmsd_of(cpu), cpu, VERSION, data, cut, NULL, &err));
        error_free(err);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    arm_test_init();
    g_test_add_data_func("/arm/vmstate/round-trip/cortex-a53", "cortex-a53",
                         test_round_trip);
    g_test_add_data_func("/arm/vmstate/round-trip/cortex-a57", "cortex-a57",
                         test_round_trip);
    g_test_add_data_func("/arm/vmstate/round-trip/cortex-a72", "cortex-a72",
                         test_round_trip);
    g_test_add_func("/arm/vmstate/powered-off", test_powered_off);
    g_test_add_func("/arm/vmstate/reset-state-is-the-same",
                    test_reset_state_is_the_same);
    g_test_add_func("/arm/vmstate/state-survives", test_state_survives);
    g_test_add_func("/arm/vmstate/added-registers", test_added_registers);
    g_test_add_func("/arm/vmstate/hostile", test_hostile);
    g_test_add_func("/arm/vmstate/short-list", test_short_list);
    g_test_add_func("/arm/vmstate/other-model", test_other_model);
    g_test_add_func("/arm/vmstate/all-models", test_all_models);
    g_test_add_func("/arm/vmstate/truncated", test_truncated);
    return g_test_run();
}
