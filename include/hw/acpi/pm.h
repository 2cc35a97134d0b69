/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of a PC's south bridge that guests need without PCI: ACPI power
 * management and APM control (ACPI 6.4, 4.8).
 *
 *   0x600  PM1 status (16 bit), 0x602 PM1 enable
 *   0x604  PM1 control: SLP_EN with SLP_TYP 0 S5, 1 S3, 2 S4
 *   0x608  PM timer: 24 bit, 3.579545 MHz
 *   GPE0   status and enable, all zero: 0x620 (ICH9-LPC), 0xafe0 (PIIX4_PM)
 *   0x0b2  APM control: ACPI on and off; 0x0b3 APM status: memory
 *
 * Interrupt 9 is the SCI. There is no SMM: ACPI is on after a reset, as a
 * firmware leaves it. Properties disable_s3, disable_s4: no such sleep.
 *
 * Used by: hw/i386. Uses: isa.h, runstate.h.
 */
#ifndef HW_ACPI_PM_H
#define HW_ACPI_PM_H

#include "hw/isa/isa.h"
#include "qemu/notify.h"
#include "qemu/timer.h"

#define TYPE_ACPI_PM   "acpi-pm" /* abstract */
#define TYPE_ICH9_LPC  "ICH9-LPC"
#define TYPE_PIIX4_PM  "PIIX4_PM"
#define ACPI_PM_BASE   0x600
#define ACPI_SCI_IRQ   9
#define ACPI_GPE0_SIZE 16

typedef struct AcpiPmClass {
    DeviceClass parent_class;

    uint16_t gpe0_base;
    uint8_t gpe0_size;                 /* status and enable together */
    uint8_t acpi_enable, acpi_disable; /* at port 0xb2 */
} AcpiPmClass;

typedef struct AcpiPmState {
    ISADevice parent_obj;

    /* Constant after realize. */
    MemoryRegion pm_io, gpe_io, apm_io;
    qemu_irq sci;
    uint8_t disable_s3, disable_s4; /* properties; 0: it is there */
    Notifier powerdown, wakeup;

    /* Guarded by the BQL; saved. */
    uint16_t pm1_sts, pm1_en, pm1_cnt;
    QEMUTimer *tmr_timer;
    int64_t tmr_overflow_time; /* ticks of the PM timer's own clock */
    uint8_t gpe_sts[ACPI_GPE0_SIZE], gpe_en[ACPI_GPE0_SIZE];
    uint32_t smi_en, smi_sts;
    uint8_t apmc, apms;
} AcpiPmState;

OBJECT_DECLARE_TYPE(AcpiPmState, AcpiPmClass, ACPI_PM)

AcpiPmState *acpi_pm_create(const char *type, Error **errp);

void acpi_pm_register_types(void);

#endif /* HW_ACPI_PM_H */
