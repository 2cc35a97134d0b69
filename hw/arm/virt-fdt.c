/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virt's device tree: made from what the machine has, or the user's own
 * (-dtb), in which memory, command line and initrd are put in place.
 *
 * Bindings: Devicetree Specification 0.4; Linux Documentation/devicetree/
 * bindings/ arm/psci.yaml, arm/cpus.yaml, timer/arm,arch_timer.yaml,
 * interrupt-controller/arm,gic.yaml and arm,gic-v3.yaml, serial/pl011.yaml.
 */
#include "qemu/osdep.h"

#include <libfdt.h>

#include "hw/arm/virt.h"
#include "qemu/error.h"

#define FDT_SPACE    (1 << 20) /* while it is built */
#define FDT_SLACK    4096      /* room left in it for a boot loader */
#define MAX_DTB_FILE (2 << 20) /* Linux maps no more (booting.rst) */

#define PHANDLE_CLOCK 0x8000
#define PHANDLE_GIC   0x8001
#define UART_CLOCK_HZ 24000000

/* Interrupt specifiers: kind, flags. */
#define GIC_SPI      0
#define GIC_PPI      1
#define IRQ_LEVEL_HI 4

#define UART_PATH "/pl011@9000000"

static const char *const psci_compatible = "arm,psci-1.0\0arm,psci-0.2\0"
                                           "arm,psci";
#define PSCI_COMPATIBLE_LEN sizeof("arm,psci-1.0\0arm,psci-0.2\0arm,psci")

/*
 * The tree is big enough for what we put into it; only a user's can be so odd
 * that libfdt refuses. Errors are remembered, the first one is reported.
 */
typedef struct Builder {
    void *fdt;
    int err;
} Builder;

static int add_node(Builder *b, const char *path)
{
    g_autofree char *parent = g_path_get_dirname(path);
    int off = fdt_path_offset(b->fdt, path);

    if (off < 0) {
        off = fdt_path_offset(b->fdt, parent);
        off = off < 0 ? off
                      : fdt_add_subnode(b->fdt, off, strrchr(path, '/') + 1);
    }
    if (off < 0 && !b->err) {
        b->err = off;
    }
    return off;
}

static void set_prop(Builder *b, const char *path, const char *name,
                     const void *val, int len)
{
    int off = fdt_path_offset(b->fdt, path);
    int err = off < 0 ? off : fdt_setprop(b->fdt, off, name, val, len);

    if (err && !b->err) {
        b->err = err;
    }
}

static void set_string(Builder *b, const char *path, const char *name,
                       const char *val)
{
    set_prop(b, path, name, val, strlen(val) + 1);
}

static void set_flag(Builder *b, const char *path, const char *name)
{
    set_prop(b, path, name, NULL, 0);
}

static void set_cells_v(Builder *b, const char *path, const char *name,
                        unsigned n, const uint32_t *cells)
{
    g_autofree fdt32_t *be = g_new(fdt32_t, n);

    for (unsigned i = 0; i < n; i++) {
        be[i] = cpu_to_fdt32(cells[i]);
    }
    set_prop(b, path, name, be, n * sizeof(*be));
}

#define set_cells(b, path, name, ...)                                   \
    set_cells_v(b, path, name,                                          \
                sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), \
                (uint32_t[]){ __VA_ARGS__ })

/* Numbers of 64 bits, each as two cells. */
#define HI_LO(x) (uint32_t)((uint64_t)(x) >> 32), (uint32_t)(x)

static void set_u64(Builder *b, const char *path, const char *name,
                    uint64_t val)
{
    set_cells(b, path, name, HI_LO(val));
}

/* ---- our own tree ---- */

static void add_root(Builder *b, VirtMachineState *vms)
{
    const char *compatible = vms->dt_compatible ? vms->dt_compatible
                                                : "linux,dummy-virt";

    set_string(b, "/", "compatible", compatible);
    set_string(b, "/", "model", "linux,dummy-virt");
    set_cells(b, "/", "#address-cells", 2);
    set_cells(b, "/", "#size-cells", 2);
    set_flag(b, "/", "dma-coherent");
    if (vms->gic) {
        set_cells(b, "/", "interrupt-parent", PHANDLE_GIC);
    }
    add_node(b, "/chosen");
    if (vms->dtb_randomness) {
        uint8_t zero[32] = { 0 };

        set_prop(b, "/chosen", "kaslr-seed", zero, 8);
        set_prop(b, "/chosen", "rng-seed", zero, 32);
    }
}

static void add_psci(Builder *b)
{
    add_node(b, "/psci");
    set_prop(b, "/psci", "compatible", psci_compatible, PSCI_COMPATIBLE_LEN);
    set_string(b, "/psci", "method", "hvc");
    set_cells(b, "/psci", "cpu_suspend", 0xc4000001);
    set_cells(b, "/psci", "cpu_off", 0x84000002);
    set_cells(b, "/psci", "cpu_on", 0xc4000003);
}

static void add_cpus(Builder *b, VirtMachineState *vms)
{
    add_node(b, "/cpus");
    set_cells(b, "/cpus", "#address-cells", 1);
    set_cells(b, "/cpus", "#size-cells", 0);
    for (unsigned i = 0; i < MACHINE(vms)->smp.cpus; i++) {
        g_autofree char *path = g_strdup_printf("/cpus/cpu@%x", i);

        add_node(b, path);
        set_string(b, path, "device_type", "cpu");
        set_string(b, path, "compatible", arm_cpu_dtb_compatible(vms->cpus[i]));
        set_string(b, path, "enable-method", "psci");
        set_cells(b, path, "reg", i);
    }
}

static void add_clock(Builder *b)
{
    add_node(b, "/apb-pclk");
    set_string(b, "/apb-pclk", "compatible", "fixed-clock");
    set_cells(b, "/apb-pclk", "#clock-cells", 0);
    set_cells(b, "/apb-pclk", "clock-frequency", UART_CLOCK_HZ);
    set_string(b, "/apb-pclk", "clock-output-names", "clk24mhz");
    set_cells(b, "/apb-pclk", "phandle", PHANDLE_CLOCK);
}

static void add_uart(Builder *b, VirtMachineState *vms)
{
    static const char compatible[] = "arm,pl011\0arm,primecell";
    static const char clock_names[] = "uartclk\0apb_pclk";

    add_clock(b);
    add_node(b, UART_PATH);
    set_prop(b, UART_PATH, "compatible", compatible, sizeof(compatible));
    set_cells(b, UART_PATH, "reg", HI_LO(VIRT_UART_BASE),
              HI_LO(VIRT_UART_SIZE));
    if (vms->gic) {
        set_cells(b, UART_PATH, "interrupts", GIC_SPI, VIRT_UART_SPI,
                  IRQ_LEVEL_HI);
    }
    set_cells(b, UART_PATH, "clocks", PHANDLE_CLOCK, PHANDLE_CLOCK);
    set_prop(b, UART_PATH, "clock-names", clock_names, sizeof(clock_names));
    set_string(b, "/chosen", "stdout-path", UART_PATH);
    add_node(b, "/aliases");
    set_string(b, "/aliases", "serial0", UART_PATH);
}

static void add_gic(Builder *b, VirtMachineState *vms)
{
    const char *path = "/intc@8000000";

    add_node(b, path);
    set_cells(b, path, "phandle", PHANDLE_GIC);
    set_cells(b, path, "#interrupt-cells", 3);
    set_flag(b, path, "interrupt-controller");
    set_cells(b, path, "#address-cells", 2);
    set_cells(b, path, "#size-cells", 2);
    set_flag(b, path, "ranges");
    if (vms->gic_version == 3) {
        set_string(b, path, "compatible", "arm,gic-v3");
        set_cells(b, path, "#redistributor-regions", 1);
        set_cells(b, path, "reg", HI_LO(VIRT_GIC_DIST_BASE), HI_LO(0x10000),
                  HI_LO(VIRT_GIC_REDIST_BASE), HI_LO(VIRT_GIC_REDIST_SIZE));
    } else {
        set_string(b, path, "compatible", "arm,cortex-a15-gic");
        set_cells(b, path, "reg", HI_LO(VIRT_GIC_DIST_BASE), HI_LO(0x10000),
                  HI_LO(VIRT_GIC_CPU_BASE), HI_LO(0x10000));
    }
}

static void add_timer(Builder *b, VirtMachineState *vms)
{
    static const char compatible[] = "arm,armv8-timer\0arm,armv7-timer";
    uint32_t flags = IRQ_LEVEL_HI;

    if (vms->gic_version == 2) {
        flags |= ((1u << MACHINE(vms)->smp.cpus) - 1) << 8; /* which vCPUs */
    }
    add_node(b, "/timer");
    set_prop(b, "/timer", "compatible", compatible, sizeof(compatible));
    set_flag(b, "/timer", "always-on");
    set_cells(b, "/timer", "interrupts", GIC_PPI, VIRT_PPI_TIMER_SECURE, flags,
              GIC_PPI, VIRT_PPI_TIMER_PHYS, flags, GIC_PPI, VIRT_PPI_TIMER_VIRT,
              flags, GIC_PPI, VIRT_PPI_TIMER_HYP, flags);
}

static void build_own(Builder *b, VirtMachineState *vms)
{
    b->err = fdt_create_empty_tree(b->fdt, FDT_SPACE);
    add_root(b, vms);
    add_psci(b);
    add_cpus(b, vms);
    add_uart(b, vms);
    if (vms->gic) {
        add_gic(b, vms);
        add_timer(b, vms);
    }
}

/* ---- the user's ---- */

static bool load_users(Builder *b, const char *filename, Error **errp)
{
    uint64_t len;
    g_autofree void *data = loader_read_file(filename, MAX_DTB_FILE, &len,
                                             errp);
    int err;

    if (!data) {
        return false;
    }
    err = len < FDT_V1_SIZE ? -FDT_ERR_TRUNCATED : fdt_check_full(data, len);
    if (!err) {
        err = fdt_open_into(data, b->fdt, FDT_SPACE + MAX_DTB_FILE);
    }
    if (err) {
        error_setg(errp, "%s is not a good device tree: %s", filename,
                   fdt_strerror(err));
        return false;
    }
    add_node(b, "/chosen");
    return true;
}

/* How its vCPUs shall call the firmware: "smc" or, if it is silent, "hvc". */
static uint32_t users_psci_conduit(const void *fdt)
{
    int off = fdt_node_offset_by_compatible(fdt, -1, "arm,psci-0.2");
    const char *method;

    if (off < 0) {
        off = fdt_node_offset_by_compatible(fdt, -1, "arm,psci-1.0");
    }
    method = off < 0 ? NULL : fdt_getprop(fdt, off, "method", NULL);
    return method && g_str_equal(method, "smc") ? PSCI_CONDUIT_SMC
                                                : PSCI_CONDUIT_HVC;
}

bool virt_fdt_read_users(VirtMachineState *vms, Error **errp)
{
    Builder b = { .fdt = g_malloc0(FDT_SPACE + MAX_DTB_FILE) };

    vms->fdt = b.fdt;
    if (!load_users(&b, MACHINE(vms)->dtb, errp)) {
        return false;
    }
    vms->psci_conduit = users_psci_conduit(b.fdt);
    return true;
}

bool virt_fdt_build(VirtMachineState *vms, Error **errp)
{
    Builder b = { 0 };

    assert(!vms->fdt);
    b.fdt = vms->fdt = g_malloc0(FDT_SPACE + MAX_DTB_FILE);
    build_own(&b, vms);
    if (b.err) {
        error_setg(errp, "building the device tree: %s", fdt_strerror(b.err));
        return false;
    }
    return true;
}

/* ---- what goes into both ---- */

static void delete_memory_nodes(Builder *b)
{
    int off;

    while ((off = fdt_node_offset_by_prop_value(b->fdt, -1, "device_type",
                                                "memory", 7)) >= 0) {
        if (fdt_del_node(b->fdt, off) < 0) {
            return;
        }
    }
}

static void add_memory(Builder *b, uint64_t base, uint64_t size)
{
    g_autofree char *path = g_strdup_printf("/memory@%" PRIx64, base);
    bool wide_addr = fdt_address_cells(b->fdt, 0) == 2;
    bool wide_size = fdt_size_cells(b->fdt, 0) == 2;
    uint32_t cells[4];
    unsigned n = 0;

    if ((!wide_addr && base >> 32) || (!wide_size && size >> 32)) {
        b->err = -FDT_ERR_BADNCELLS;
        return;
    }
    if (wide_addr) {
        cells[n++] = base >> 32;
    }
    cells[n++] = base;
    if (wide_size) {
        cells[n++] = size >> 32;
    }
    cells[n++] = size;
    add_node(b, path);
    set_string(b, path, "device_type", "memory");
    set_cells_v(b, path, "reg", n, cells);
}

static void add_chosen(Builder *b, const ArmBootInfo *boot)
{
    if (boot->kernel_cmdline && *boot->kernel_cmdline) {
        set_string(b, "/chosen", "bootargs", boot->kernel_cmdline);
    }
    if (boot->initrd_end > boot->initrd_start) {
        set_u64(b, "/chosen", "linux,initrd-start", boot->initrd_start);
        set_u64(b, "/chosen", "linux,initrd-end", boot->initrd_end);
    }
}

bool virt_fdt_finish(VirtMachineState *vms, Error **errp)
{
    Builder b = { .fdt = vms->fdt };

    delete_memory_nodes(&b);
    add_memory(&b, vms->boot.ram.base, vms->boot.ram.size);
    add_chosen(&b, &vms->boot);
    if (!b.err) {
        b.err = fdt_pack(b.fdt);
    }
    if (!b.err) {
        b.err = fdt_open_into(b.fdt, b.fdt, fdt_totalsize(b.fdt) + FDT_SLACK);
    }
    if (b.err) {
        error_setg(errp, "completing the device tree: %s", fdt_strerror(b.err));
        return false;
    }
    vms->fdt_size = fdt_totalsize(b.fdt);
    return true;
}

uint64_t virt_fdt_room(const VirtMachineState *vms)
{
    /* The tree as it is, the command line, and some nodes. */
    return fdt_off_dt_strings(vms->fdt) + fdt_size_dt_strings(vms->fdt) +
           strlen(vms->boot.kernel_cmdline) + 2 * FDT_SLACK;
}

/* Fill @name of /chosen, if it is there, with bytes nobody can guess. */
static void randomize_prop(void *fdt, const char *name)
{
    int off = fdt_path_offset(fdt, "/chosen"), len;
    uint8_t *val;

    val = off < 0 ? NULL : fdt_getprop_w(fdt, off, name, &len);
    if (val && getentropy(val, MIN(len, 256)) < 0) {
        memset(val, 0, len); /* no seed is better than a known one */
    }
}

void virt_fdt_randomize(void *fdt)
{
    randomize_prop(fdt, "kaslr-seed");
    randomize_prop(fdt, "rng-seed");
}
