/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ACPI tables of a PC without firmware (ACPI 6.4, 5.2): RSDP, XSDT, FADT, MADT,
 * a DSDT that names the sleep states, and the FACS.
 *
 * They lie one behind the other from X86_BOOT_ACPI on, which the guest cannot
 * write; the FACS, which it does write, has a page of its own.
 */
#include "qemu/osdep.h"

#include "boot-internal.h"
#include "hw/i386/acpi-tables.h"
#include "hw/i386/host-bridge.h"
#include "qemu/units.h"

#define HEADER_SIZE  36
#define RSDP_SIZE    36
#define FADT_SIZE    244
#define FACS_SIZE    64
#define IOAPIC_BASE  0xfec00000
#define APIC_BASE    0xfee00000
#define ALL_CPUS     0xff
#define LEVEL_HIGH   0x0d
#define CENTURY_REG  0x32
#define LATENCY_NONE 0xfff /* no such C state */
#define RESET_VALUE  0x0e  /* full, system, now */
#define SPACE_IO     1

/* FADT: IAPC_BOOT_ARCH and flags. */
#define ARCH_LEGACY    (1 << 0) /* devices of an ISA bus */
#define ARCH_NO_VGA    (1 << 2)
#define FADT_WBINVD    (1 << 0)
#define FADT_PROC_C1   (1 << 2)
#define FADT_SLP_BTN   (1 << 5) /* there is no fixed sleep button */
#define FADT_RESET_REG (1 << 10)

static void append(GByteArray *t, const void *data, unsigned len)
{
    g_byte_array_append(t, data, len);
}

static void append_le(GByteArray *t, uint64_t v, unsigned bytes)
{
    uint8_t b[8];

    put_le(b, v, 8);
    append(t, b, bytes);
}

static uint8_t sum_to_zero(const uint8_t *p, unsigned len)
{
    uint8_t sum = 0;

    for (unsigned i = 0; i < len; i++) {
        sum += p[i];
    }
    return -sum;
}

/* A header whose length and sum end_table() fills in. Returns its offset. */
static unsigned begin_table(GByteArray *t, const char *signature, uint8_t rev)
{
    unsigned at = ROUND_UP(t->len, 16);

    g_byte_array_set_size(t, at);
    append(t, signature, 4);
    append_le(t, 0, 4);
    append_le(t, rev, 1);
    append_le(t, 0, 1);
    append(t, "FERRY FERRYPC ", 14);
    append_le(t, 1, 4);
    append(t, "FRRY", 4);
    append_le(t, 1, 4);
    return at;
}

static void end_table(GByteArray *t, unsigned at)
{
    put_le(t->data + at + 4, t->len - at, 4);
    t->data[at + 9] = sum_to_zero(t->data + at, t->len - at);
}

/* Name (\_Sn, Package (4) { type, type, 0, 0 }) */
static void append_sleep_state(GByteArray *t, char n, uint8_t type)
{
    const uint8_t aml[] = { 0x08, '_',  'S',  n,    '_',  0x12, 8,
                            4,    0x0a, type, 0x0a, type, 0,    0 };

    append(t, aml, sizeof(aml));
}

static unsigned add_dsdt(GByteArray *t, const AcpiPmState *pm)
{
    unsigned at = begin_table(t, "DSDT", 2);

    if (!pm->disable_s3) {
        append_sleep_state(t, '3', 1);
    }
    if (!pm->disable_s4) {
        append_sleep_state(t, '4', 2);
    }
    append_sleep_state(t, '5', 0);
    end_table(t, at);
    return at;
}

static unsigned add_fadt(GByteArray *t, unsigned dsdt, const AcpiPmClass *pc)
{
    unsigned at = begin_table(t, "FACP", 3);
    uint8_t *f;

    g_byte_array_set_size(t, at + FADT_SIZE);
    f = t->data + at;
    memset(f + HEADER_SIZE, 0, FADT_SIZE - HEADER_SIZE);
    put_le(f + 36, X86_BOOT_FACS, 4);
    put_le(f + 40, X86_BOOT_ACPI + dsdt, 4);
    put_le(f + 46, ACPI_SCI_IRQ, 2);
    /* No SMI command: ACPI is on. */
    put_le(f + 56, ACPI_PM_BASE, 4);     /* PM1a event */
    put_le(f + 64, ACPI_PM_BASE + 4, 4); /* PM1a control */
    put_le(f + 76, ACPI_PM_BASE + 8, 4); /* PM timer */
    put_le(f + 80, pc->gpe0_base, 4);
    f[88] = 4;
    f[89] = 2;
    f[91] = 4;
    f[92] = pc->gpe0_size;
    put_le(f + 96, LATENCY_NONE, 2);
    put_le(f + 98, LATENCY_NONE, 2);
    f[108] = CENTURY_REG;
    put_le(f + 109, ARCH_LEGACY | ARCH_NO_VGA, 2);
    put_le(f + 112, FADT_WBINVD | FADT_PROC_C1 | FADT_SLP_BTN | FADT_RESET_REG,
           4);
    f[116] = SPACE_IO;
    f[117] = 8; /* bits */
    f[119] = 1; /* access by bytes */
    put_le(f + 120, RESET_PORT, 8);
    f[128] = RESET_VALUE;
    end_table(t, at);
    return at;
}

static void append_override(GByteArray *t, uint8_t irq, uint32_t gsi,
                            uint16_t flags)
{
    append_le(t, 2, 1);
    append_le(t, 10, 1);
    append_le(t, 0, 1); /* ISA */
    append_le(t, irq, 1);
    append_le(t, gsi, 4);
    append_le(t, flags, 2);
}

static unsigned add_madt(GByteArray *t)
{
    unsigned at = begin_table(t, "APIC", 3);
    CPUState *cs;

    append_le(t, APIC_BASE, 4);
    append_le(t, 1, 4); /* there are PICs as well */
    CPU_FOREACH (cs) {
        append_le(t, 0, 1);
        append_le(t, 8, 1);
        append_le(t, cs->cpu_index, 1);
        append_le(t, X86_CPU(cs)->apic_id, 1);
        append_le(t, 1, 4); /* enabled */
    }
    append_le(t, 1, 1);
    append_le(t, 12, 1);
    append_le(t, 0, 2); /* I/O APIC 0 */
    append_le(t, IOAPIC_BASE, 4);
    append_le(t, 0, 4);
    append_override(t, 0, 2, 0); /* the PIT */
    append_override(t, ACPI_SCI_IRQ, ACPI_SCI_IRQ, LEVEL_HIGH);
    append_le(t, 4, 1); /* NMI at LINT1 of all */
    append_le(t, 6, 1);
    append_le(t, ALL_CPUS, 1);
    append_le(t, 0, 2);
    append_le(t, 1, 1);
    end_table(t, at);
    return at;
}

static unsigned add_xsdt(GByteArray *t, unsigned fadt, unsigned madt)
{
    unsigned at = begin_table(t, "XSDT", 1);

    append_le(t, X86_BOOT_ACPI + fadt, 8);
    append_le(t, X86_BOOT_ACPI + madt, 8);
    end_table(t, at);
    return at;
}

static void fill_rsdp(uint8_t *p, unsigned xsdt)
{
    memcpy(p, "RSD PTR ", 8);
    memcpy(p + 9, "FERRY ", 6);
    p[15] = 2;
    put_le(p + 20, RSDP_SIZE, 4);
    put_le(p + 24, X86_BOOT_ACPI + xsdt, 8);
    p[8] = sum_to_zero(p, 20);
    p[32] = sum_to_zero(p, RSDP_SIZE);
}

static bool add_facs(const X86BootInfo *info, Error **errp)
{
    uint8_t facs[FACS_SIZE] = "FACS";

    put_le(facs + 4, FACS_SIZE, 4);
    facs[32] = 1; /* version */
    return x86_boot_add_table(info, "FACS", facs, FACS_SIZE, FACS_SIZE,
                              X86_BOOT_FACS, errp);
}

bool acpi_tables_add(X86BootInfo *info, AcpiPmState *pm, Error **errp)
{
    g_autoptr(GByteArray) t = g_byte_array_new();
    unsigned dsdt, fadt, madt, xsdt;

    g_byte_array_set_size(t, RSDP_SIZE);
    memset(t->data, 0, RSDP_SIZE);
    dsdt = add_dsdt(t, pm);
    fadt = add_fadt(t, dsdt, ACPI_PM_GET_CLASS(pm));
    madt = add_madt(t);
    xsdt = add_xsdt(t, fadt, madt);
    fill_rsdp(t->data, xsdt);
    assert(X86_BOOT_ACPI + t->len <= 1 * MiB);
    info->rsdp = X86_BOOT_ACPI;
    return x86_boot_add_table(info, "ACPI tables", t->data, t->len, t->len,
                              X86_BOOT_ACPI, errp) &&
           add_facs(info, errp);
}
