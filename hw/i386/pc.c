/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PC machines: see pc.h. */
#include "qemu/osdep.h"

#include "hw/char/serial.h"
#include "hw/i386/acpi-tables.h"
#include "hw/i386/gsi-lines.h"
#include "hw/i386/pc.h"
#include "hw/i386/split-chips.h"
#include "hw/isa/port92.h"
#include "hw/timer/i8254.h"
#include "qemu/error.h"
#include "qemu/units.h"
#include "system/accel.h"
#include "system/board-chips.h"
#include "system/gsi.h"

#define MAX_APIC_ID    254 /* 255 means all */
#define MIN_RAM        (2 * MiB)
#define FIRMWARE_ALIGN (64 * KiB)
#define FIRMWARE_MAX   (16 * MiB)

/* ---- memory ---- */

static bool split_ram(PCMachineState *pcms, Error **errp)
{
    PCMachineClass *pcmc = PC_MACHINE_GET_CLASS(pcms);
    uint64_t size = MACHINE(pcms)->ram_size_bytes;
    uint64_t low = size >= pcmc->low_if_less ? pcmc->low_if_more
                                             : pcmc->low_if_less;

    if (!MACHINE(pcms)->ram || size < MIN_RAM) {
        error_setg(errp, "RAM has %" PRIu64 " KiB, this machine needs %" PRIu64,
                   size / KiB, (uint64_t)(MIN_RAM / KiB));
        return false;
    }
    if (pcms->max_ram_below_4g) {
        if (pcms->max_ram_below_4g < MIN_RAM ||
            pcms->max_ram_below_4g % (4 * KiB)) {
            error_setg(errp,
                       "max-ram-below-4g is 0x%" PRIx64
                       ", expected a multiple of 4 KiB, at least 2 MiB",
                       pcms->max_ram_below_4g);
            return false;
        }
        low = MIN(pcms->max_ram_below_4g, pcmc->low_if_less);
    }
    pcms->below_4g = MIN(size, low);
    pcms->above_4g = size - pcms->below_4g;
    return true;
}

static bool map_ram(PCMachineState *pcms, Error **errp)
{
    MachineState *ms = MACHINE(pcms);

    if (!split_ram(pcms, errp)) {
        return false;
    }
    memory_region_init_alias(&pcms->ram_below_4g, OBJECT(ms), "ram-below-4g",
                             ms->ram, 0, pcms->below_4g);
    memory_region_add_subregion(get_system_memory(), 0, &pcms->ram_below_4g);
    if (pcms->above_4g) {
        memory_region_init_alias(&pcms->ram_above_4g, OBJECT(ms),
                                 "ram-above-4g", ms->ram, pcms->below_4g,
                                 pcms->above_4g);
        memory_region_add_subregion(get_system_memory(), PC_ABOVE_4G,
                                    &pcms->ram_above_4g);
    }
    return true;
}

/* -bios: at the end of the first 4 GiB, where the vCPU starts. */
static bool map_firmware(PCMachineState *pcms, Error **errp)
{
    ERRP_GUARD();
    LoaderRam place;
    uint64_t size;
    void *data;

    if (!pcms->firmware) {
        return true;
    }
    if (MACHINE(pcms)->kernel_filename) {
        error_setg(errp, "-bios and -kernel exclude each other: the machine "
                         "enters the kernel itself");
        return false;
    }
    data = loader_read_file(pcms->firmware, FIRMWARE_MAX, &size, errp);
    if (!data) {
        error_prepend(errp, "firmware: ");
        return false;
    }
    if (size % FIRMWARE_ALIGN) {
        error_setg(errp,
                   "firmware %s has %" PRIu64
                   " bytes, expected a multiple of %" PRIu64,
                   pcms->firmware, size, (uint64_t)FIRMWARE_ALIGN);
        g_free(data);
        return false;
    }
    place = (LoaderRam){ PC_ABOVE_4G - size, size };
    if (!memory_region_init_rom(&pcms->bios, OBJECT(pcms), "pc.bios", size,
                                errp)) {
        g_free(data);
        return false;
    }
    memory_region_add_subregion(get_system_memory(), place.base, &pcms->bios);
    return rom_add_blob(pcms->firmware, data, size, size, place.base, &place,
                        errp);
}

static bool create_bridge(PCMachineState *pcms, Error **errp)
{
    DeviceState *dev = qdev_new(PC_MACHINE_GET_CLASS(pcms)->bridge_type, errp);

    if (!dev) {
        return false;
    }
    pcms->bridge = HOST_BRIDGE(dev);
    pcms->bridge->ram = MACHINE(pcms)->ram;
    pcms->bridge->firmware = pcms->firmware ? &pcms->bios : NULL;
    return qdev_realize_and_unref(dev, errp);
}

/* ---- vCPUs and interrupts ---- */

static bool create_cpus(MachineState *ms, Error **errp)
{
    X86Topology topology = { ms->smp.dies, ms->smp.cores, ms->smp.threads };
    uint32_t last = x86_apic_id_of(&topology, ms->smp.max_cpus - 1);

    if (last > MAX_APIC_ID) {
        error_setg(errp,
                   "the last vCPU's APIC id would be %" PRIu32
                   " (each level of -smp takes whole bits), at most %d is "
                   "possible",
                   last, MAX_APIC_ID);
        return false;
    }
    for (unsigned i = 0; i < ms->smp.cpus; i++) {
        CPUState *cs = machine_create_cpu(ms, errp);

        if (!cs) {
            return false;
        }
        x86_cpu_set_topology(X86_CPU(cs), &topology);
        if (!cpu_realize(cs, errp)) {
            return false;
        }
    }
    return true;
}

/*
 * The interrupt controllers are the accelerator's, but for split-chips.h; qtest
 * does without.
 */
static bool create_interrupts(PCMachineState *pcms, Error **errp)
{
    qemu_irq irq[ISA_NUM_IRQS];
    DeviceState *dev;

    if (!accel_has_gsi() && !accel_chip_ops() &&
        !g_str_equal(current_accel_name(), "qtest")) {
        error_setg(errp,
                   "this machine has no interrupt controllers of its own, and "
                   "%s gives none: it needs kernel-irqchip=on or =split",
                   current_accel_name());
        return false;
    }
    dev = qdev_new(TYPE_GSI_LINES, errp);
    if (!dev) {
        return false;
    }
    /* Clients know these lines by the name of what is behind them. */
    object_property_add_child(OBJECT(pcms), "ioapic", OBJECT(dev));
    if (!qdev_realize_and_unref(dev, errp)) {
        return false;
    }
    pcms->gsi = dev;
    for (int i = 0; i < ISA_NUM_IRQS; i++) {
        irq[i] = qdev_get_gpio_in(dev, i);
    }
    isa_bus_init(irq);
    return !accel_chip_ops() || split_chips_create(OBJECT(pcms), errp);
}

/* ---- devices ---- */

/* What firmware finds in CMOS memory: sizes of RAM, number of vCPUs. */
static void fill_cmos(PCMachineState *pcms)
{
    uint64_t ext_kib = MIN(pcms->below_4g / KiB - 1024, UINT64_C(65535));
    uint64_t ext16 = pcms->below_4g > 16 * MiB
                         ? MIN((pcms->below_4g - 16 * MiB) >> 16,
                               UINT64_C(65535))
                         : 0;
    MC146818RtcState *rtc = pcms->rtc;

    mc146818rtc_set_cmos(rtc, 0x14, 0x02); /* there is an FPU */
    mc146818rtc_set_cmos(rtc, 0x15, 640 & 0xff);
    mc146818rtc_set_cmos(rtc, 0x16, 640 >> 8);
    for (unsigned reg = 0x17; reg <= 0x30; reg += 0x30 - 0x17) {
        mc146818rtc_set_cmos(rtc, reg, ext_kib);
        mc146818rtc_set_cmos(rtc, reg + 1, ext_kib >> 8);
    }
    mc146818rtc_set_cmos(rtc, 0x34, ext16);
    mc146818rtc_set_cmos(rtc, 0x35, ext16 >> 8);
    for (unsigned i = 0; i < 3; i++) {
        mc146818rtc_set_cmos(rtc, 0x5b + i, pcms->above_4g >> (16 + 8 * i));
    }
    mc146818rtc_set_cmos(rtc, 0x5f, MACHINE(pcms)->smp.cpus - 1);
}

static bool create_port92(Error **errp)
{
    DeviceState *dev = qdev_new(TYPE_PORT92, errp);

    return dev && qdev_realize_and_unref(dev, errp);
}

static bool create_serial(const MachineClass *mc, Error **errp)
{
    for (unsigned i = 0; i < MAX_SERIAL_HDS; i++) {
        /* The first is there in any case: guests look for it. */
        if ((i == 0 || serial_hd(i)) &&
            !isa_serial_create(i, serial_hd(i), errp)) {
            return false;
        }
    }
    return true;
}

static bool create_devices(PCMachineState *pcms, Error **errp)
{
    pcms->rtc = mc146818_rtc_create(errp);
    if (!pcms->rtc) {
        return false;
    }
    fill_cmos(pcms);
    pcms->pm = acpi_pm_create(PC_MACHINE_GET_CLASS(pcms)->pm_type, errp);
    return pcms->pm && create_port92(errp) && i8254_create(errp) &&
           create_serial(MACHINE_GET_CLASS(pcms), errp);
}

static bool pc_init(MachineState *ms, Error **errp)
{
    PCMachineState *pcms = PC_MACHINE(ms);

    x86_boot_prepare(&pcms->boot);
    return map_ram(pcms, errp) && map_firmware(pcms, errp) &&
           create_cpus(ms, errp) && create_bridge(pcms, errp) &&
           create_interrupts(pcms, errp) && create_devices(pcms, errp);
}

static bool pc_devices_done(MachineState *ms, Error **errp)
{
    PCMachineState *pcms = PC_MACHINE(ms);
    X86BootInfo *boot = &pcms->boot;

    boot->below_4g = pcms->below_4g;
    boot->above_4g = pcms->above_4g;
    boot->kernel_filename = ms->kernel_filename;
    boot->initrd_filename = ms->initrd_filename;
    boot->kernel_cmdline = ms->kernel_cmdline;
    boot->firmware = pcms->firmware != NULL;
    if (!boot->firmware && pcms->acpi != ON_OFF_AUTO_OFF &&
        !acpi_tables_add(boot, pcms->pm, errp)) {
        return false;
    }
    return x86_boot_setup(boot, errp);
}

/* ---- properties ---- */

/* Options of which only one value can be had. */
typedef struct FixedOption {
    const char *name, *value, *reason;
} FixedOption;

static const FixedOption fixed_options[] = {
    { "hpet", "off", "there is no HPET" },
    { "i8042", "off", "there is no keyboard controller" },
    { "sata", "off", "there is no SATA controller" },
    { "smbus", "off", "there is no SMBus" },
    { "smm", "off", "there is no system management mode" },
    { "usb", "off", "there is no USB" },
    { "vmport", "off", "there is no VMware port" },
};

static json_object *get_fixed(Object *obj, const Property *prop, Error **errp)
{
    return json_object_new_string("off");
}

static bool set_fixed(Object *obj, const Property *prop, json_object *value,
                      Error **errp)
{
    const char *s = json_object_get_string(value);

    if (g_str_equal(s, "off") || g_str_equal(s, "auto")) {
        return true;
    }
    for (size_t i = 0; i < ARRAY_SIZE(fixed_options); i++) {
        if (g_str_equal(fixed_options[i].name, prop->name)) {
            error_setg(errp, "%s=%s: %s; only %s=off is possible", prop->name,
                       s, fixed_options[i].reason, prop->name);
        }
    }
    return false;
}

#define FIXED_OFF(n) \
    DEFINE_PROP_FN(n, &qapi_str_type, get_fixed, set_fixed, .help = n ": off")

static const Property pc_props[] = {
    DEFINE_PROP_STRING("firmware", PCMachineState, firmware),
    DEFINE_PROP_SIZE("max-ram-below-4g", PCMachineState, max_ram_below_4g, 0),
    DEFINE_PROP_ENUM("acpi", PCMachineState, acpi, OnOffAuto, ON_OFF_AUTO_AUTO),
    FIXED_OFF("hpet"),
    FIXED_OFF("i8042"),
    FIXED_OFF("sata"),
    FIXED_OFF("smbus"),
    FIXED_OFF("smm"),
    FIXED_OFF("usb"),
    FIXED_OFF("vmport"),
    DEFINE_PROP_END_OF_LIST(),
};

/* ---- types ---- */

static void pc_class_init(ObjectClass *oc, const void *data)
{
    MachineClass *mc = MACHINE_CLASS(oc);

    mc->init = pc_init;
    mc->devices_done = pc_devices_done;
    mc->default_cpu_type = X86_CPU_TYPE_NAME("qemu64");
    mc->max_cpus = PC_MAX_CPUS;
    mc->smp_dies = true;
    mc->has_ide = true;
    mc->default_ram_size_bytes = 128 * MiB;
    mc->default_ram_id = "pc.ram";
    mc->minimum_page_bits = 12;
}

static void q35_class_init(ObjectClass *oc, const void *data)
{
    PCMachineClass *pcmc = PC_MACHINE_CLASS(oc);
    MachineClass *mc = MACHINE_CLASS(oc);

    mc->name = "pc-q35-11.1";
    mc->alias = "q35";
    mc->desc = "PC with the memory map and power management of Q35 and ICH9";
    pcmc->bridge_type = TYPE_MCH;
    pcmc->pm_type = TYPE_ICH9_LPC;
    pcmc->low_if_less = 0xb0000000;
    pcmc->low_if_more = 0x80000000;
}

static void i440fx_class_init(ObjectClass *oc, const void *data)
{
    PCMachineClass *pcmc = PC_MACHINE_CLASS(oc);
    MachineClass *mc = MACHINE_CLASS(oc);

    mc->name = "pc-i440fx-11.1";
    mc->alias = "pc";
    mc->desc = "PC with the memory map and power management of i440FX and "
               "PIIX";
    pcmc->bridge_type = TYPE_I440FX;
    pcmc->pm_type = TYPE_PIIX4_PM;
    pcmc->low_if_less = 0xe0000000;
    pcmc->low_if_more = 0xc0000000;
}

static const TypeInfo pc_machine_types[] = {
    {
        .name = TYPE_PC_MACHINE,
        .parent = TYPE_MACHINE,
        .abstract = true,
        .instance_size = sizeof(PCMachineState),
        .class_size = sizeof(PCMachineClass),
        .class_init = pc_class_init,
        .props = pc_props,
    },
    {
        .name = TYPE_PC_Q35_MACHINE,
        .parent = TYPE_PC_MACHINE,
        .class_init = q35_class_init,
    },
    {
        .name = TYPE_PC_PC_MACHINE,
        .parent = TYPE_PC_MACHINE,
        .class_init = i440fx_class_init,
    },
};

void pc_machine_register_types(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(pc_machine_types); i++) {
        type_register_static(&pc_machine_types[i]);
    }
}
