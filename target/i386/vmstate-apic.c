/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Section `apic`, version 3: the local APIC, where there is one in the kernel.
 *
 *   u32 apicbase  u8 id, arb_id, tpr  u32 spurious_vec  u8 log_dest, dest_mode
 *   u32[8] isr, tmr, irr  u32[6] lvt  u32 esr  u32[2] icr  u32 divide_conf
 *   i32 count_shift  u32 initial_count  i64 load time, next time, expiry
 *
 * These are QEMU's fields, and not all that there is (the count of the timer,
 * x2APIC ids, error vectors of later models). So apic/ferry-page, version 1,
 * has the page itself: u64 apicbase, 1,024 bytes. Where it comes along, it is
 * what counts.
 */
#include "qemu/osdep.h"

#include "internals.h"
#include "qemu/error.h"
#include "qemu/timer.h"

/* Intel SDM vol. 3, table 11-1. */
enum {
    APIC_ID = 0x20,
    APIC_TPR = 0x80,
    APIC_LDR = 0xd0,
    APIC_DFR = 0xe0,
    APIC_SPIV = 0xf0,
    APIC_ISR = 0x100,
    APIC_TMR = 0x180,
    APIC_IRR = 0x200,
    APIC_ESR = 0x280,
    APIC_ICR = 0x300,
    APIC_LVT = 0x320,
    APIC_TMICT = 0x380,
    APIC_TDCR = 0x3e0,
};

static uint32_t page_get(const uint8_t *page, unsigned offset)
{
    uint32_t v;

    memcpy(&v, page + offset, 4);
    return v;
}

static void page_put(uint8_t *page, unsigned offset, uint32_t v)
{
    memcpy(page + offset, &v, 4);
}

/* Registers of 256 bits: eight words. And others that lie in a row. */
static void row_get(const uint8_t *page, unsigned offset, uint32_t *out,
                    unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        out[i] = page_get(page, offset + 16 * i);
    }
}

static void row_put(uint8_t *page, unsigned offset, const uint32_t *in,
                    unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        page_put(page, offset + 16 * i, in[i]);
    }
}

/* ---- save ---- */

static bool apic_needed(void *opaque)
{
    const X86CPU *cpu = opaque;

    return cpu->env.apic_valid;
}

static bool apic_pre_save(void *opaque, Error **errp)
{
    X86CPU *cpu = opaque;
    const uint8_t *page = cpu->env.apic_regs;
    __typeof__(cpu->stream.apic) *a = &cpu->stream.apic;

    a->apicbase = cpu->env.apicbase;
    a->id = a->arb_id = page_get(page, APIC_ID) >> 24;
    a->tpr = page_get(page, APIC_TPR);
    a->spurious_vec = page_get(page, APIC_SPIV);
    a->log_dest = page_get(page, APIC_LDR) >> 24;
    a->dest_mode = page_get(page, APIC_DFR) >> 28;
    row_get(page, APIC_ISR, a->isr, 8);
    row_get(page, APIC_TMR, a->tmr, 8);
    row_get(page, APIC_IRR, a->irr, 8);
    row_get(page, APIC_LVT, a->lvt, 6);
    a->esr = page_get(page, APIC_ESR);
    row_get(page, APIC_ICR, a->icr, 2);
    a->divide_conf = page_get(page, APIC_TDCR);
    a->count_shift = ((a->divide_conf & 3) | (a->divide_conf >> 1 & 4)) + 1;
    a->count_shift &= 7;
    a->initial_count = page_get(page, APIC_TMICT);
    a->initial_count_load_time = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    a->next_time = a->initial_count_load_time;
    a->timer_expiry = -1;
    memcpy(a->page, page, APIC_PAGE_SIZE);
    return true;
}

/* ---- load ---- */

static bool apic_pre_load(void *opaque, Error **errp)
{
    X86CPU *cpu = opaque;

    cpu->stream.apic.has_page = false;
    return true;
}

static bool page_post_load(void *opaque, int version_id, Error **errp)
{
    X86CPU *cpu = opaque;

    cpu->stream.apic.has_page = true;
    return true;
}

static void page_from_fields(X86CPU *cpu)
{
    uint8_t *page = cpu->env.apic_regs;
    const __typeof__(cpu->stream.apic) *a = &cpu->stream.apic;

    cpu->env.apicbase = a->apicbase;
    page_put(page, APIC_ID, (uint32_t)a->id << 24);
    page_put(page, APIC_TPR, a->tpr);
    page_put(page, APIC_SPIV, a->spurious_vec);
    page_put(page, APIC_LDR, (uint32_t)a->log_dest << 24);
    page_put(page, APIC_DFR, (uint32_t)a->dest_mode << 28 | 0x0fffffff);
    row_put(page, APIC_ISR, a->isr, 8);
    row_put(page, APIC_TMR, a->tmr, 8);
    row_put(page, APIC_IRR, a->irr, 8);
    row_put(page, APIC_LVT, a->lvt, 6);
    page_put(page, APIC_ESR, a->esr);
    row_put(page, APIC_ICR, a->icr, 2);
    page_put(page, APIC_TDCR, a->divide_conf);
    page_put(page, APIC_TMICT, a->initial_count);
}

static bool apic_post_load(void *opaque, int version_id, Error **errp)
{
    X86CPU *cpu = opaque;
    const __typeof__(cpu->stream.apic) *a = &cpu->stream.apic;
    uint8_t id = page_get(a->has_page ? a->page : cpu->env.apic_regs,
                          APIC_ID) >>
                 24;

    if (!cpu->env.apic_valid) {
        error_setg(errp, "the VM that was saved has its local APICs in the "
                         "kernel, this one has none (kernel-irqchip=off)");
        return false;
    }
    if (!a->has_page) {
        id = a->id;
    }
    if (id != (cpu->apic_id & 0xff)) {
        error_setg(errp, "APIC id is 0x%x, expected 0x%x", id,
                   cpu->apic_id & 0xff);
        return false;
    }
    if (a->has_page) {
        memcpy(cpu->env.apic_regs, a->page, APIC_PAGE_SIZE);
    } else {
        page_from_fields(cpu);
    }
    return true;
}

static const VMStateDescription vmstate_page = {
    .name = "apic/ferry-page",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = apic_needed,
    .post_load = page_post_load,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT64(env.apicbase, X86CPU),
            VMSTATE_BUFFER(stream.apic.page, X86CPU),
            VMSTATE_END_OF_LIST(),
        },
};

#define A_FIELD(f, type, inf)                                                  \
    {                                                                          \
        .name = #f, .info = &(inf), .size = sizeof(type), .flags = VMS_SINGLE, \
        .offset = offsetof(X86CPU, stream.apic.f),                             \
    }
#define A_U8(f)  A_FIELD(f, uint8_t, vmstate_info_uint8)
#define A_U32(f) A_FIELD(f, uint32_t, vmstate_info_uint32)
#define A_I64(f) A_FIELD(f, int64_t, vmstate_info_int64)
#define A_U32S(f, n)                                          \
    {                                                         \
        .name = #f, .num = (n), .info = &vmstate_info_uint32, \
        .size = sizeof(uint32_t), .flags = VMS_ARRAY,         \
        .offset = offsetof(X86CPU, stream.apic.f),            \
    }

const VMStateDescription vmstate_x86_apic = {
    .name = "apic",
    .version_id = 3,
    .minimum_version_id = 3,
    .priority = MIG_PRI_APIC,
    .needed = apic_needed,
    .pre_save = apic_pre_save,
    .pre_load = apic_pre_load,
    .post_load = apic_post_load,
    .fields =
        (const VMStateField[]){
            A_U32(apicbase),
            A_U8(id),
            A_U8(arb_id),
            A_U8(tpr),
            A_U32(spurious_vec),
            A_U8(log_dest),
            A_U8(dest_mode),
            A_U32S(isr, 8),
            A_U32S(tmr, 8),
            A_U32S(irr, 8),
            A_U32S(lvt, 6),
            A_U32(esr),
            A_U32S(icr, 2),
            A_U32(divide_conf),
            A_FIELD(count_shift, int32_t, vmstate_info_int32),
            A_U32(initial_count),
            A_I64(initial_count_load_time),
            A_I64(next_time),
            A_I64(timer_expiry),
            VMSTATE_END_OF_LIST(),
        },
    .subsections = (const VMStateDescription *const[]){ &vmstate_page, NULL },
};
