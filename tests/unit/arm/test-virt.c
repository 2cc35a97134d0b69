/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The machine virt: its device tree, options, and what stands where. One
 * machine a process: each case runs in a child of its own.
 */
#include "qemu/osdep.h"

#include <libfdt.h>

#include "arm-test.h"
#include "hw-test.h"
#include "hw/arm/virt.h"
#include "hw/boards.h"
#include "hw/intc/arm_gic.h"
#include "qemu/error.h"
#include "qemu/units.h"
#include "system/memory.h"
#include "system/reset.h"

typedef struct Option {
    const char *name, *value;
} Option;

static VirtMachineState *new_machine(unsigned cpus)
{
    MachineState *ms;
    g_autofree char *smp = g_strdup_printf("{\"cpus\": %u}", cpus);
    json_object *val = json_tokener_parse(smp);

    hw_test_init();
    ms = MACHINE(object_new(TYPE_VIRT_MACHINE));
    object_property_add_child(object_get_root(), "machine", OBJECT(ms));
    current_machine_set(ms);
    g_assert_true(object_property_set(OBJECT(ms), "smp", val, &error_abort));
    json_object_put(val);
    ms->ram_size_bytes = 64 * MiB;
    ms->cpu_type = ARM_CPU_TYPE_NAME("cortex-a57");
    return VIRT_MACHINE(ms);
}

static const void *get(const void *fdt, const char *path, const char *name,
                       int *len)
{
    int off = fdt_path_offset(fdt, path);
    const void *val = off < 0 ? NULL : fdt_getprop(fdt, off, name, len);

    if (!val) {
        g_error("no %s in %s", name, path);
    }
    return val;
}

static void check_string(const void *fdt, const char *path, const char *name,
                         const char *want)
{
    int len;

    g_assert_cmpstr(get(fdt, path, name, &len), ==, want);
}

#define check_cells(fdt, path, name, ...)                           \
    do {                                                            \
        const uint32_t want_[] = { __VA_ARGS__ };                   \
        int len_;                                                   \
        const fdt32_t *got_ = get(fdt, path, name, &len_);          \
        g_assert_cmpint(len_, ==, sizeof(want_));                   \
        for (size_t i_ = 0; i_ < ARRAY_SIZE(want_); i_++) {         \
            g_assert_cmphex(fdt32_to_cpu(got_[i_]), ==, want_[i_]); \
        }                                                           \
    } while (0)

/* Run @fn in a child, so that it has a machine of its own. */
static void in_child(void (*fn)(void))
{
    if (g_test_subprocess()) {
        fn();
        return;
    }
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_INHERIT_STDERR);
    g_test_trap_assert_passed();
}

static void child_dtb(void)
{
    VirtMachineState *vms = new_machine(3);
    MachineState *ms = MACHINE(vms);
    size_t size;
    const void *fdt;
    int len;

    g_assert_true(machine_run_board_init(ms, &error_abort));
    fdt = MACHINE_GET_CLASS(ms)->get_fdt(ms, &size);
    g_assert_cmpint(fdt_check_full(fdt, size), ==, 0);

    check_string(fdt, "/", "compatible", "linux,dummy-virt");
    check_cells(fdt, "/memory@40000000", "reg", 0, 0x40000000, 0, 0x4000000);
    check_string(fdt, "/psci", "method", "hvc");
    check_cells(fdt, "/psci", "cpu_on", 0xc4000003);
    check_string(fdt, "/cpus/cpu@0", "compatible", "arm,cortex-a57");
    check_string(fdt, "/cpus/cpu@2", "enable-method", "psci");
    check_cells(fdt, "/cpus/cpu@2", "reg", 2);
    g_assert_cmpint(fdt_path_offset(fdt, "/cpus/cpu@3"), <, 0);
    check_string(fdt, "/pl011@9000000", "compatible", "arm,pl011");
    check_cells(fdt, "/pl011@9000000", "reg", 0, 0x09000000, 0, 0x1000);
    check_cells(fdt, "/pl011@9000000", "interrupts", 0, 1, 4);
    check_string(fdt, "/intc@8000000", "compatible", "arm,cortex-a15-gic");
    check_cells(fdt, "/intc@8000000", "reg", 0, 0x08000000, 0, 0x10000, 0,
                0x08010000, 0, 0x10000);
    check_cells(fdt, "/timer", "interrupts", 1, 13, 0x704, 1, 14, 0x704, 1, 11,
                0x704, 1, 10, 0x704);
    check_string(fdt, "/chosen", "stdout-path", "/pl011@9000000");
    check_string(fdt, "/aliases", "serial0", "/pl011@9000000");
    g_assert_nonnull(get(fdt, "/chosen", "rng-seed", &len));
    g_assert_cmpint(len, ==, 32);
    /* The parent of all interrupts is the controller. */
    check_cells(fdt, "/", "interrupt-parent",
                fdt_get_phandle(fdt, fdt_path_offset(fdt, "/intc@8000000")));
    g_assert_null(
        fdt_getprop(fdt, fdt_path_offset(fdt, "/chosen"), "bootargs", NULL));
}

static void test_dtb(void)
{
    in_child(child_dtb);
}

static char *temp_file(const void *data, size_t len)
{
    char *name = NULL;
    int fd = g_file_open_tmp("virt-XXXXXX", &name, NULL);

    g_assert_cmpint(write(fd, data, len), ==, len);
    close(fd);
    return name;
}

static void child_boot(void)
{
    VirtMachineState *vms = new_machine(2);
    MachineState *ms = MACHINE(vms);
    g_autofree char *kernel = temp_file("blob code", 9);
    uint8_t seeds[2][32];
    g_autofree void *fdt = g_malloc(65536);
    int len;

    ms->kernel_filename = g_strdup(kernel);
    ms->kernel_cmdline = g_strdup("console=ttyAMA0 x=1");
    ms->initrd_filename = g_strdup(kernel);
    g_assert_true(machine_run_board_init(ms, &error_abort));
    unlink(kernel);
    for (int boot = 0; boot < 2; boot++) {
        char code[9];

        vms->cpus[0]->env.xregs[1] = 5;
        cpu_physical_memory_write(0x40080000, "overwritten", 11);
        qemu_devices_reset();
        cpu_physical_memory_read(0x40080000, code, 9);
        g_assert_cmpmem(code, 9, "blob code", 9);
        g_assert_cmphex(vms->cpus[0]->env.pc, ==, 0x40080000);
        g_assert_cmphex(vms->cpus[0]->env.xregs[0], ==, 0x40000000);
        g_assert_cmphex(vms->cpus[0]->env.xregs[1], ==, 0);
        g_assert_cmpint(arm_current_el(&vms->cpus[0]->env), ==, 1);
        g_assert_cmpint(CPU(vms->cpus[0])->halted, ==, 0);
        g_assert_cmpint(CPU(vms->cpus[1])->halted, ==, 1);

        cpu_physical_memory_read(0x40000000, fdt, 65536);
        g_assert_cmpint(fdt_check_header(fdt), ==, 0);
        check_string(fdt, "/chosen", "bootargs", "console=ttyAMA0 x=1");
        check_cells(fdt, "/chosen", "linux,initrd-start", 0, 0x42000000);
        check_cells(fdt, "/chosen", "linux,initrd-end", 0, 0x42000009);
        memcpy(seeds[boot], get(fdt, "/chosen", "rng-seed", &len), 32);
    }
    /* New for each boot, and not the empty one. */
    g_assert_cmpint(memcmp(seeds[0], seeds[1], 32), !=, 0);
}

static void test_boot(void)
{
    in_child(child_boot);
}

static void child_users_dtb(void)
{
    VirtMachineState *vms = new_machine(1);
    MachineState *ms = MACHINE(vms);
    uint8_t buf[4096];
    g_autofree char *file = NULL;
    int off;

    g_assert_cmpint(fdt_create_empty_tree(buf, sizeof(buf)), ==, 0);
    fdt_setprop_u32(buf, 0, "#address-cells", 1);
    fdt_setprop_u32(buf, 0, "#size-cells", 1);
    fdt_setprop_string(buf, 0, "model", "mine");
    off = fdt_add_subnode(buf, 0, "memory@0");
    fdt_setprop_string(buf, off, "device_type", "memory");
    off = fdt_add_subnode(buf, 0, "psci");
    fdt_setprop_string(buf, off, "compatible", "arm,psci-0.2");
    fdt_setprop_string(buf, off, "method", "smc");
    file = temp_file(buf, fdt_totalsize(buf));
    ms->dtb = g_strdup(file);
    g_assert_true(machine_run_board_init(ms, &error_abort));
    unlink(file);

    check_string(vms->fdt, "/", "model", "mine");
    check_cells(vms->fdt, "/memory@40000000", "reg", 0x40000000, 0x4000000);
    g_assert_cmpint(fdt_path_offset(vms->fdt, "/memory@0"), <, 0);
    g_assert_cmpint(fdt_path_offset(vms->fdt, "/pl011@9000000"), <, 0);
    g_assert_cmpint(vms->cpus[0]->psci_conduit, ==, PSCI_CONDUIT_SMC);
}

static void test_users_dtb(void)
{
    in_child(child_users_dtb);
}

static void child_hostile_dtb(void)
{
    uint8_t good[4096];
    size_t size;

    new_machine(1);
    g_assert_cmpint(fdt_create_empty_tree(good, sizeof(good)), ==, 0);
    fdt_setprop_string(good, 0, "model", "mine");
    fdt_pack(good);
    size = fdt_totalsize(good);
    /* Every header word made big, and every length cut off. */
    for (size_t i = 0; i < 40 + size; i++) {
        VirtMachineState *vms = VIRT_MACHINE(object_new(TYPE_VIRT_MACHINE));
        uint8_t bad[4096];
        size_t len = i < 40 ? size : i - 40;
        g_autofree char *file = NULL;
        Error *err = NULL;

        memcpy(bad, good, size);
        if (i < 40) {
            bad[i] ^= 0xff;
        }
        file = temp_file(bad, len);
        MACHINE(vms)->dtb = g_strdup(file);
        if (!virt_fdt_read_users(vms, &err)) {
            error_free(err);
        } else {
            /* boot CPU, padding and old versions: harmless */
            g_assert_cmpint(len, ==, size);
            virt_fdt_finish(vms, NULL);
        }
        unlink(file);
        object_unref(OBJECT(vms));
    }
}

static void test_hostile_dtb(void)
{
    in_child(child_hostile_dtb);
}

static void child_options(void)
{
    static const struct {
        const char *name, *value, *words; /* NULL: accepted */
    } cases[] = {
        { "gic-version", "2", NULL },
        { "gic-version", "4", "gic-version=4 is not there" },
        { "gic-version", "x-5", "gic-version=x-5 is not there" },
        { "gic-version", "7", "invalid gic-version '7'" },
        { "acpi", "off", NULL },
        { "acpi", "auto", NULL },
        { "acpi", "on", "no ACPI tables" },
        { "its", "off", NULL },
        { "its", "on", "ITS is not there" },
        { "secure", "off", NULL },
        { "secure", "on", "no EL3" },
        { "virtualization", "on", "no EL2" },
        { "iommu", "none", NULL },
        { "iommu", "smmuv3", "no IOMMU" },
        { "highmem", "off", NULL },
        { "dtb-randomness", "off", NULL },
        { "nonsense", "on", "nonsense" },
    };
    VirtMachineState *vms = new_machine(1);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        Error *err = NULL;
        bool ok = object_property_parse(OBJECT(vms), cases[i].name,
                                        cases[i].value, &err);

        g_assert_cmpint(ok, ==, cases[i].words == NULL);
        if (!ok && !strstr(error_get_pretty(err), cases[i].words)) {
            g_error("'%s' is not in '%s'", cases[i].words,
                    error_get_pretty(err));
        }
        error_free(err);
    }
    g_assert_true(machine_run_board_init(MACHINE(vms), &error_abort));
    g_assert_null(fdt_getprop(vms->fdt, fdt_path_offset(vms->fdt, "/chosen"),
                              "rng-seed", NULL));
}

static void test_options(void)
{
    in_child(child_options);
}

static void child_wiring(void)
{
    VirtMachineState *vms = new_machine(2);
    uint32_t val;

    g_assert_true(machine_run_board_init(MACHINE(vms), &error_abort));
    qemu_devices_reset();
    val = ldl_le_phys(&address_space_memory, 0x09000018);
    g_assert_cmphex(val, ==, 0x90); /* UARTFR */
    val = ldl_le_phys(&address_space_memory, 0x08000004);
    g_assert_cmphex(val, ==, 0x28); /* GICD_TYPER: 288 interrupts, 2 CPUs */

    /* UART transmit interrupt: SPI 1 is interrupt 33, to CPU 1. */
    stl_le_phys(&address_space_memory, 0x08000000, 1);
    stl_le_phys(&address_space_memory, 0x08000104, 2);
    stl_le_phys(&address_space_memory, 0x08000820, 0x0200);
    ARM_GIC(vms->gic)->cpu_ctlr[1] = 1;
    ARM_GIC(vms->gic)->priority_mask[1] = 0xff;
    stl_le_phys(&address_space_memory, 0x09000038, 0x20);
    stl_le_phys(&address_space_memory, 0x09000000, '!');
    g_assert_cmphex(vms->cpus[1]->env.irq_line_state, ==, CPU_INTERRUPT_HARD);
    g_assert_cmphex(vms->cpus[0]->env.irq_line_state, ==, 0);
    stl_le_phys(&address_space_memory, 0x09000044, 0x20);
    g_assert_cmphex(vms->cpus[1]->env.irq_line_state, ==, 0);

    /* The virtual timer of CPU 1: private interrupt 27. */
    ARM_GIC(vms->gic)->irq_state[27].enabled = 2;
    vms->cpus[1]->gt_output(vms->cpus[1]->gt_output_opaque, GTIMER_VIRT, 1);
    g_assert_cmphex(vms->cpus[1]->env.irq_line_state, ==, CPU_INTERRUPT_HARD);
    g_assert_cmphex(vms->cpus[0]->env.irq_line_state, ==, 0);
}

static void test_wiring(void)
{
    in_child(child_wiring);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/virt/dtb", test_dtb);
    g_test_add_func("/virt/boot", test_boot);
    g_test_add_func("/virt/users-dtb", test_users_dtb);
    g_test_add_func("/virt/hostile-dtb", test_hostile_dtb);
    g_test_add_func("/virt/options", test_options);
    g_test_add_func("/virt/wiring", test_wiring);
    return g_test_run();
}
