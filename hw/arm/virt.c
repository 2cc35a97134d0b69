/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * virt: see virt.h.
 */
#include "qemu/osdep.h"

#include "hw/arm/virt.h"
#include "hw/char/pl011.h"
#include "hw/intc/arm_gic.h"
#include "hw/intc/arm_gicv3.h"
#include "hw/intc/kernel_gicv3.h"
#include "qemu/error.h"
#include "qemu/units.h"
#include "system/accel.h"
#include "system/memory.h"
#include "system/reset.h"

/* VirtMachineState.gic_version before the board is built, beside 2 and 3. */
enum {
    GIC_DEFAULT = 0,
    GIC_HOST = -1,
};

/* ---- CPUs and their interrupts ---- */

static bool create_cpu(VirtMachineState *vms, unsigned i, Error **errp)
{
    MachineState *ms = MACHINE(vms);
    CPUState *cs = machine_create_cpu(ms, errp);

    if (!cs) {
        return false;
    }
    vms->cpus[i] = ARM_CPU(cs);
    vms->cpus[i]->psci_conduit = vms->psci_conduit;
    vms->cpus[i]->reset_cbar = VIRT_GIC_DIST_BASE;
    vms->cpus[i]->core_count = ms->smp.cpus;
    cs->start_powered_off = i > 0;
    return cpu_realize(cs, errp);
}

typedef struct TimerLines {
    qemu_irq irq[NUM_GTIMERS];
} TimerLines;

static void timer_output(void *opaque, int timer, int level)
{
    TimerLines *lines = opaque;

    qemu_set_irq(lines->irq[timer], level);
}

/* Lines between one vCPU and the interrupt controller, both ways. */
static void connect_cpu(VirtMachineState *vms, unsigned i)
{
    static const int ppi[NUM_GTIMERS] = {
        [GTIMER_PHYS] = VIRT_PPI_TIMER_PHYS,
        [GTIMER_VIRT] = VIRT_PPI_TIMER_VIRT,
    };
    SysBusDevice *gic = SYS_BUS_DEVICE(vms->gic);
    ARMCPU *cpu = vms->cpus[i];
    unsigned n = MACHINE(vms)->smp.cpus;
    TimerLines *lines = g_new(TimerLines, 1); /* lives with the machine */

    for (int t = 0; t < NUM_GTIMERS; t++) {
        /* Private lines follow the shared ones, 32 for each vCPU. */
        lines->irq[t] = qdev_get_gpio_in(vms->gic,
                                         VIRT_NUM_SPIS + i * 32 + 16 + ppi[t]);
    }
    cpu->gt_output_opaque = lines;
    cpu->gt_output = timer_output;
    sysbus_connect_irq(gic, i,
                       qemu_allocate_irq(arm_cpu_set_irq, cpu, ARM_CPU_IRQ));
    sysbus_connect_irq(gic, i + n,
                       qemu_allocate_irq(arm_cpu_set_irq, cpu, ARM_CPU_FIQ));
}

static bool is_kvm(void)
{
    return g_str_equal(current_accel_name(), "kvm");
}

/* What was not asked for is what there is. */
static bool choose_gic(VirtMachineState *vms, Error **errp)
{
    if (vms->gic_version == GIC_DEFAULT) {
        vms->gic_version = is_kvm() ? 3 : 2;
    } else if (vms->gic_version == GIC_HOST) {
        if (!is_kvm()) {
            error_setg(errp, "gic-version=host needs -accel kvm");
            return false;
        }
        vms->gic_version = 3;
    } else if (vms->gic_version == 2 && is_kvm()) {
        error_setg(errp, "gic-version=2: with -accel kvm the interrupt "
                         "controller is the kernel's GICv3");
        return false;
    }
    return true;
}

static bool create_gic(VirtMachineState *vms, Error **errp)
{
    unsigned n = MACHINE(vms)->smp.cpus;

    if (is_kvm()) {
        vms->gic = kernel_gicv3_create(VIRT_NUM_SPIS, VIRT_GIC_DIST_BASE,
                                       VIRT_GIC_REDIST_BASE, errp);
        return vms->gic; /* its lines to vCPUs are the kernel's */
    }
    if (vms->gic_version == 3) {
        vms->gic = arm_gicv3_create(VIRT_NUM_SPIS, vms->cpus, n,
                                    VIRT_GIC_DIST_BASE, VIRT_GIC_REDIST_BASE,
                                    errp);
    } else {
        vms->gic = arm_gic_create(VIRT_NUM_SPIS, n, VIRT_GIC_DIST_BASE,
                                  VIRT_GIC_CPU_BASE, errp);
    }
    if (!vms->gic) {
        return false;
    }
    for (unsigned i = 0; i < n; i++) {
        connect_cpu(vms, i);
    }
    return true;
}

/* ---- the board ---- */

static bool check_ram(VirtMachineState *vms, Error **errp)
{
    uint64_t size = MACHINE(vms)->ram_size_bytes;

    if (!MACHINE(vms)->ram) {
        error_setg(errp, "this machine needs RAM (-m)");
        return false;
    }
    if (!vms->highmem && size > VIRT_LOWMEM_END - VIRT_MEM_BASE) {
        error_setg(errp,
                   "highmem=off: at most 3 GiB of RAM, 0x%" PRIx64
                   " bytes were asked for",
                   size);
        return false;
    }
    return true;
}

/* New seeds for each boot, before the tree is copied into RAM. */
static void randomize_reset(void *opaque)
{
    VirtMachineState *vms = opaque;

    if (vms->dtb_randomness && vms->boot.dtb_blob) {
        virt_fdt_randomize(vms->boot.dtb_blob);
    }
}

static bool place_images(VirtMachineState *vms, Error **errp)
{
    MachineState *ms = MACHINE(vms);

    vms->boot.ram.base = VIRT_MEM_BASE;
    vms->boot.ram.size = ms->ram_size_bytes;
    vms->boot.kernel_filename = ms->kernel_filename;
    vms->boot.initrd_filename = ms->initrd_filename;
    vms->boot.kernel_cmdline = ms->kernel_cmdline;
    if (ms->kernel_cmdline[0] && !ms->kernel_filename) {
        error_setg(errp, "-append needs -kernel");
        return false;
    }
    /* Before the loader's handler. */
    qemu_register_reset(randomize_reset, vms);
    if (!ms->dtb && !virt_fdt_build(vms, errp)) {
        return false;
    }
    if (!arm_boot_place_images(&vms->boot, virt_fdt_room(vms), errp) ||
        !virt_fdt_finish(vms, errp) ||
        !arm_boot_add_dtb(&vms->boot, vms->fdt, vms->fdt_size, errp)) {
        return false;
    }
    arm_boot_set_cpu(&vms->boot, vms->cpus[0]);
    return true;
}

static bool virt_init(MachineState *ms, Error **errp)
{
    VirtMachineState *vms = VIRT_MACHINE(ms);

    vms->psci_conduit = PSCI_CONDUIT_HVC;
    if (!choose_gic(vms, errp) || !check_ram(vms, errp) ||
        (ms->dtb && !virt_fdt_read_users(vms, errp))) {
        return false;
    }
    memory_region_add_subregion(get_system_memory(), VIRT_MEM_BASE, ms->ram);
    for (unsigned i = 0; i < ms->smp.cpus; i++) {
        if (!create_cpu(vms, i, errp)) {
            return false;
        }
    }
    return create_gic(vms, errp) &&
           pl011_create(VIRT_UART_BASE,
                        qdev_get_gpio_in(vms->gic, VIRT_UART_SPI), serial_hd(0),
                        errp) &&
           place_images(vms, errp);
}

static const void *virt_get_fdt(MachineState *ms, size_t *size_bytes)
{
    VirtMachineState *vms = VIRT_MACHINE(ms);

    *size_bytes = vms->fdt_size;
    return vms->fdt;
}

/* ---- properties ---- */

static json_object *get_gic_version(Object *obj, const Property *prop,
                                    Error **errp)
{
    switch (VIRT_MACHINE(obj)->gic_version) {
    case 3:
        return json_object_new_string("3");
    case GIC_HOST:
        return json_object_new_string("host");
    default:
        return json_object_new_string("2");
    }
}

static bool set_gic_version(Object *obj, const Property *prop,
                            json_object *value, Error **errp)
{
    const char *s = json_object_get_string(value);
    VirtMachineState *vms = VIRT_MACHINE(obj);

    if (g_str_equal(s, "2")) {
        vms->gic_version = 2;
    } else if (g_str_equal(s, "3") || g_str_equal(s, "max")) {
        vms->gic_version = 3;
    } else if (g_str_equal(s, "host")) {
        vms->gic_version = GIC_HOST;
    } else if (g_str_equal(s, "4") || g_str_equal(s, "x-5")) {
        error_setg(errp, "gic-version=%s is not there; use 2, 3 or max", s);
        return false;
    } else {
        error_setg(errp, "invalid gic-version '%s'; valid values are 2, 3, max",
                   s);
        return false;
    }
    return true;
}

/*
 * Options of which only one value can be had: named as QEMU's users write
 * them, refused with the reason when another one is asked for.
 */
typedef struct FixedOption {
    const char *name, *value, *reason;
} FixedOption;

static const FixedOption fixed_options[] = {
    { "acpi", "off", "there are no ACPI tables" },
    { "secure", "off", "there is no EL3" },
    { "virtualization", "off", "there is no EL2" },
    { "mte", "off", "memory tagging is not there" },
    { "ras", "off", "memory errors are not reported" },
    { "its", "off", "the GICv3's ITS is not there" },
    { "usb", "off", "there is no USB" },
    { "iommu", "none", "there is no IOMMU" },
    { "msi", "off", "message-signalled interrupts are not there" },
};

static const FixedOption *find_fixed(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(fixed_options); i++) {
        if (g_str_equal(fixed_options[i].name, name)) {
            return &fixed_options[i];
        }
    }
    g_assert_not_reached();
}

static json_object *get_fixed_str(Object *obj, const Property *prop,
                                  Error **errp)
{
    return json_object_new_string(find_fixed(prop->name)->value);
}

static bool set_fixed_str(Object *obj, const Property *prop, json_object *value,
                          Error **errp)
{
    const FixedOption *opt = find_fixed(prop->name);
    const char *s = json_object_get_string(value);

    if (g_str_equal(s, opt->value) || g_str_equal(s, "auto")) {
        return true;
    }
    error_setg(errp, "%s=%s: %s; only %s=%s is possible", prop->name, s,
               opt->reason, prop->name, opt->value);
    return false;
}

static json_object *get_fixed_off(Object *obj, const Property *prop,
                                  Error **errp)
{
    return json_object_new_boolean(false);
}

static bool set_fixed_off(Object *obj, const Property *prop, json_object *value,
                          Error **errp)
{
    if (!json_object_get_boolean(value)) {
        return true;
    }
    error_setg(errp, "%s=on: %s", prop->name, find_fixed(prop->name)->reason);
    return false;
}

#define FIXED_STR(n, h) \
    DEFINE_PROP_FN(n, &qapi_str_type, get_fixed_str, set_fixed_str, .help = (h))
#define FIXED_OFF(n, h)                                              \
    DEFINE_PROP_FN(n, &qapi_bool_type, get_fixed_off, set_fixed_off, \
                   .help = (h))

static const Property virt_props[] = {
    DEFINE_PROP_FN("gic-version", &qapi_str_type, get_gic_version,
                   set_gic_version, .help = "interrupt controller: 2, 3, max"),
    { .name = "highmem",
      .type = &qapi_bool_type,
      .offset = PROP_FIELD(VirtMachineState, highmem, bool),
      .set_default = true,
      .defval = { .i = true },
      .help = "whether RAM may lie above 4 GiB" },
    { .name = "dtb-randomness",
      .type = &qapi_bool_type,
      .offset = PROP_FIELD(VirtMachineState, dtb_randomness, bool),
      .set_default = true,
      .defval = { .i = true },
      .help = "random seeds in the device tree" },
    /* The older name of the one above. */
    { .name = "dtb-kaslr-seed",
      .type = &qapi_bool_type,
      .offset = PROP_FIELD(VirtMachineState, dtb_randomness, bool),
      .help = "the same as dtb-randomness" },
    { .name = "dt-compatible",
      .type = &qapi_str_type,
      .offset = PROP_FIELD(VirtMachineState, dt_compatible, char *),
      .help = "what the device tree's root is compatible with" },
    FIXED_STR("acpi", "ACPI tables: off"),
    FIXED_STR("iommu", "IOMMU: none"),
    FIXED_STR("msi", "message-signalled interrupts: off"),
    FIXED_OFF("secure", "EL3: off"),
    FIXED_OFF("virtualization", "EL2: off"),
    FIXED_OFF("mte", "memory tagging: off"),
    FIXED_OFF("ras", "report of memory errors: off"),
    FIXED_OFF("its", "GICv3 ITS: off"),
    FIXED_OFF("usb", "USB: off"),
    DEFINE_PROP_END_OF_LIST(),
};

static void virt_instance_init(Object *obj)
{
    VIRT_MACHINE(obj)->gic_version = GIC_DEFAULT;
}

static void virt_instance_finalize(Object *obj)
{
    g_free(VIRT_MACHINE(obj)->fdt);
}

static void virt_class_init(ObjectClass *oc, const void *data)
{
    MachineClass *mc = MACHINE_CLASS(oc);

    mc->name = "virt-11.1";
    mc->alias = "virt";
    mc->desc = "virtual machine for AArch64 guests";
    mc->init = virt_init;
    mc->get_fdt = virt_get_fdt;
    mc->cpu_type_from_model = arm_cpu_type_from_model;
    mc->cpu_models = arm_cpu_model_names;
    mc->default_cpu_type = ARM_CPU_TYPE_NAME("cortex-a57");
    mc->max_cpus = VIRT_MAX_CPUS;
    mc->smp_clusters = true;
    mc->default_ram_size_bytes = 128 * MiB;
    mc->default_ram_id = "mach-virt.ram";
    mc->max_ram_size_bytes = 255 * GiB;
    mc->minimum_page_bits = 12;
}

static const TypeInfo virt_machine_type = {
    .name = TYPE_VIRT_MACHINE,
    .parent = TYPE_MACHINE,
    .instance_size = sizeof(VirtMachineState),
    .instance_init = virt_instance_init,
    .instance_finalize = virt_instance_finalize,
    .class_init = virt_class_init,
    .props = virt_props,
};

void virt_machine_register_types(void)
{
    type_register_static(&virt_machine_type);
}
