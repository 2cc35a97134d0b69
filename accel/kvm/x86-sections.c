/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sections of the interrupt controllers and the PIT that are in the kernel;
 * and their reset. All integers big-endian.
 *
 *   i8259, version 1, instances 0 and 1: 16 u8, in the order of the table below
 *   ioapic, version 3: u8 id, u8 ioregsel, 8 unused, u32 irr, 24 u64 redirection
 *   i8254, version 3: u32 irq_disabled, 3 channels of 32 bytes, i64 next
 *       transition; times are of the virtual clock
 *   i8254/ferry-flags, version 1, ours, if not 0: u32 flags of kvm_pit_state2
 *
 * A state goes to the kernel as soon as it is loaded, a part at a time.
 */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/timer.h"
#include "system/reset.h"
#include "vmstate/savevm.h"

#include "x86-kvm.h"

typedef struct PicSection {
    struct kvm_pic_state s;
    unsigned chip;
    uint8_t single_mode; /* the kernel's has no such mode */
} PicSection;

typedef struct IoapicSection {
    uint8_t id, ioregsel;
    uint32_t irr;
    uint64_t redirtbl[KVM_IOAPIC_NUM_PINS];
} IoapicSection;

typedef struct PitChannel {
    int32_t count;
    struct kvm_pit_channel_state s;
    int64_t load_time, next_transition;
} PitChannel;

typedef struct PitSection {
    uint32_t irq_disabled, flags;
    PitChannel channels[3];
    int64_t next_transition;
} PitSection;

/* Of the machine, under the BQL; filled while it is saved or loaded. */
static struct {
    bool registered;
    KvmX86VmState pristine; /* as the kernel made it */
    PicSection pics[2];
    IoapicSection ioapic;
    PitSection pit;
} sec;

static bool get_chip(unsigned chip, struct kvm_irqchip *c, Error **errp)
{
    int ret;

    memset(c, 0, sizeof(*c));
    c->chip_id = chip;
    ret = kvm_vm_ioctl(kvm_vm(), KVM_GET_IRQCHIP, c);
    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot read interrupt controller %u",
                         chip);
    }
    return ret >= 0;
}

static bool put_chip(const struct kvm_irqchip *c, Error **errp)
{
    int ret = kvm_vm_ioctl(kvm_vm(), KVM_SET_IRQCHIP, c);

    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot set interrupt controller %u",
                         c->chip_id);
    }
    return ret >= 0;
}

/* ---- i8259 ---- */

static bool pic_pre_save(void *opaque, Error **errp)
{
    PicSection *p = opaque;
    struct kvm_irqchip c;

    if (!get_chip(p->chip, &c, errp)) {
        return false;
    }
    p->s = c.chip.pic;
    p->single_mode = 0;
    return true;
}

static bool pic_post_load(void *opaque, int version_id, Error **errp)
{
    PicSection *p = opaque;
    struct kvm_irqchip c;

    if (p->single_mode) {
        error_setg(errp, "single_mode is %u, expected 0", p->single_mode);
        return false;
    }
    if (p->s.init_state > 3 || p->s.priority_add > 7) {
        error_setg(errp,
                   "init_state is %u and priority_add %u, expected 0 to 3 and "
                   "0 to 7",
                   p->s.init_state, p->s.priority_add);
        return false;
    }
    if (!get_chip(p->chip, &c, errp)) {
        return false;
    }
    p->s.elcr_mask = c.chip.pic.elcr_mask; /* wired */
    c.chip.pic = p->s;
    return put_chip(&c, errp);
}

#define SEC_FIELD(n, type, inf, f)                         \
    {                                                      \
        .name = (n), .info = &(inf), .size = sizeof(type), \
        .flags = VMS_SINGLE, .offset = f,                  \
    }
#define SEC_U8(n, struct_type, f) \
    SEC_FIELD(n, uint8_t, vmstate_info_uint8, offsetof(struct_type, f))

static const VMStateDescription vmstate_pic = {
    .name = "i8259",
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = pic_pre_save,
    .post_load = pic_post_load,
    .fields =
        (const VMStateField[]){
            SEC_U8("last_irr", PicSection, s.last_irr),
            SEC_U8("irr", PicSection, s.irr),
            SEC_U8("imr", PicSection, s.imr),
            SEC_U8("isr", PicSection, s.isr),
            SEC_U8("priority_add", PicSection, s.priority_add),
            SEC_U8("irq_base", PicSection, s.irq_base),
            SEC_U8("read_reg_select", PicSection, s.read_reg_select),
            SEC_U8("poll", PicSection, s.poll),
            SEC_U8("special_mask", PicSection, s.special_mask),
            SEC_U8("init_state", PicSection, s.init_state),
            SEC_U8("auto_eoi", PicSection, s.auto_eoi),
            SEC_U8("rotate_on_auto_eoi", PicSection, s.rotate_on_auto_eoi),
            SEC_U8("special_fully_nested_mode", PicSection,
                   s.special_fully_nested_mode),
            SEC_U8("init4", PicSection, s.init4),
            SEC_U8("single_mode", PicSection, single_mode),
            SEC_U8("elcr", PicSection, s.elcr),
            VMSTATE_END_OF_LIST(),
        },
};

/* ---- ioapic ---- */

static bool ioapic_pre_save(void *opaque, Error **errp)
{
    IoapicSection *p = opaque;
    struct kvm_irqchip c;

    if (!get_chip(KVM_IRQCHIP_IOAPIC, &c, errp)) {
        return false;
    }
    p->id = c.chip.ioapic.id;
    p->ioregsel = c.chip.ioapic.ioregsel;
    p->irr = c.chip.ioapic.irr;
    for (int i = 0; i < KVM_IOAPIC_NUM_PINS; i++) {
        p->redirtbl[i] = c.chip.ioapic.redirtbl[i].bits;
    }
    return true;
}

static bool ioapic_post_load(void *opaque, int version_id, Error **errp)
{
    const IoapicSection *p = opaque;
    struct kvm_irqchip c;

    if (!get_chip(KVM_IRQCHIP_IOAPIC, &c, errp)) {
        return false;
    }
    c.chip.ioapic.id = p->id;
    c.chip.ioapic.ioregsel = p->ioregsel;
    c.chip.ioapic.irr = p->irr;
    for (int i = 0; i < KVM_IOAPIC_NUM_PINS; i++) {
        c.chip.ioapic.redirtbl[i].bits = p->redirtbl[i];
    }
    return put_chip(&c, errp);
}

static const VMStateDescription vmstate_ioapic = {
    .name = "ioapic",
    .version_id = 3,
    .minimum_version_id = 3,
    .pre_save = ioapic_pre_save,
    .post_load = ioapic_post_load,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT8(id, IoapicSection),
            VMSTATE_UINT8(ioregsel, IoapicSection),
            VMSTATE_UNUSED(8),
            VMSTATE_UINT32(irr, IoapicSection),
            {
                .name = "ioredtbl",
                .num = KVM_IOAPIC_NUM_PINS,
                .info = &vmstate_info_uint64,
                .size = sizeof(uint64_t),
                .flags = VMS_ARRAY,
                .offset = offsetof(IoapicSection, redirtbl),
            },
            VMSTATE_END_OF_LIST(),
        },
};

/* ---- i8254 ---- */

/* The kernel's times are CLOCK_MONOTONIC's: what to add for the guest's. */
static int64_t to_virtual_ns(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) -
           qemu_clock_get_ns(QEMU_CLOCK_REALTIME);
}

static bool pit_pre_save(void *opaque, Error **errp)
{
    PitSection *p = opaque;
    struct kvm_pit_state2 s;
    int ret = kvm_vm_ioctl(kvm_vm(), KVM_GET_PIT2, &s);

    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot read the PIT");
        return false;
    }
    p->flags = s.flags;
    p->irq_disabled = (s.flags & KVM_PIT_FLAGS_HPET_LEGACY) != 0;
    for (int i = 0; i < 3; i++) {
        PitChannel *c = &p->channels[i];

        c->s = s.channels[i];
        c->count = c->s.count;
        c->load_time = c->s.count_load_time + to_virtual_ns();
        c->next_transition = -1;
    }
    p->next_transition = -1;
    return true;
}

/* Mode 255: none yet. */
static bool channel_valid(const PitChannel *c)
{
    return c->count >= 0 && c->count <= 0x10000 &&
           (c->s.mode <= 7 || c->s.mode == 255) && c->s.rw_mode <= 3 &&
           c->s.read_state <= 4 && c->s.write_state <= 4 &&
           c->s.count_latched <= 4;
}

static bool pit_post_load(void *opaque, int version_id, Error **errp)
{
    PitSection *p = opaque;
    struct kvm_pit_state2 s = { .flags = p->flags };
    int ret;

    if (p->flags &
        ~(KVM_PIT_FLAGS_HPET_LEGACY | KVM_PIT_FLAGS_SPEAKER_DATA_ON)) {
        error_setg(errp, "flags are 0x%x, expected 0 to 3", p->flags);
        return false;
    }
    for (int i = 0; i < 3; i++) {
        PitChannel *c = &p->channels[i];

        if (!channel_valid(c)) {
            error_setg(errp,
                       "channel %d: count %d, mode %u, rw_mode %u: no such "
                       "state",
                       i, c->count, c->s.mode, c->s.rw_mode);
            return false;
        }
        s.channels[i] = c->s;
        s.channels[i].count = c->count;
        s.channels[i].count_load_time = c->load_time - to_virtual_ns();
    }
    ret = kvm_vm_ioctl(kvm_vm(), KVM_SET_PIT2, &s);
    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot set the PIT");
    }
    return ret >= 0;
}

#define CH_U8(f) SEC_U8(#f, PitChannel, s.f)
#define CH_I64(n, f) \
    SEC_FIELD(n, int64_t, vmstate_info_int64, offsetof(PitChannel, f))

static const VMStateDescription vmstate_pit_channel = {
    .name = "pit channel",
    .version_id = 2,
    .minimum_version_id = 2,
    .fields =
        (const VMStateField[]){
            VMSTATE_INT32(count, PitChannel),
            SEC_FIELD("latched_count", uint16_t, vmstate_info_uint16,
                      offsetof(PitChannel, s.latched_count)),
            CH_U8(count_latched),
            CH_U8(status_latched),
            CH_U8(status),
            CH_U8(read_state),
            CH_U8(write_state),
            CH_U8(write_latch),
            CH_U8(rw_mode),
            CH_U8(mode),
            CH_U8(bcd),
            CH_U8(gate),
            CH_I64("count_load_time", load_time),
            CH_I64("next_transition_time", next_transition),
            VMSTATE_END_OF_LIST(),
        },
};

static bool pit_flags_needed(void *opaque)
{
    const PitSection *p = opaque;

    return p->flags != 0;
}

static bool pit_pre_load(void *opaque, Error **errp)
{
    PitSection *p = opaque;

    p->flags = 0;
    return true;
}

static const VMStateDescription vmstate_pit_flags = {
    .name = "i8254/ferry-flags",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = pit_flags_needed,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT32(flags, PitSection),
            VMSTATE_END_OF_LIST(),
        },
};

static const VMStateDescription vmstate_pit = {
    .name = "i8254",
    .version_id = 3,
    .minimum_version_id = 3,
    .pre_load = pit_pre_load,
    .pre_save = pit_pre_save,
    .post_load = pit_post_load,
    .fields =
        (const VMStateField[]){
            SEC_FIELD("channels[0].irq_disabled", uint32_t, vmstate_info_uint32,
                      offsetof(PitSection, irq_disabled)),
            VMSTATE_STRUCT_ARRAY(channels, PitSection, 3, 2,
                                 vmstate_pit_channel, PitChannel),
            SEC_FIELD("channels[0].next_transition_time", int64_t,
                      vmstate_info_int64,
                      offsetof(PitSection, next_transition)),
            VMSTATE_END_OF_LIST(),
        },
    .subsections = (const VMStateDescription *const[]){ &vmstate_pit_flags,
                                                        NULL },
};

/* ---- all of it ---- */

static void reset_irqchip(void *opaque)
{
    Error *err = NULL;

    if (!kvm_x86_put_irqchip(kvm_vm(), &sec.pristine, &err)) {
        error_report_err(err);
    }
}

bool kvm_x86_sections_init(Error **errp)
{
    if (sec.registered) {
        return true;
    }
    kvm_x86_clock_init();
    if (!kvm_x86_get_irqchip(kvm_vm(), &sec.pristine, errp)) {
        return false;
    }
    sec.registered = true;
    if (!sec.pristine.has_irqchip) {
        return true;
    }
    qemu_register_reset(reset_irqchip, NULL);
    for (unsigned i = 0; i < 2; i++) {
        sec.pics[i].chip = i;
        if (!vmstate_register(NULL, i, &vmstate_pic, &sec.pics[i], errp)) {
            return false;
        }
    }
    return vmstate_register(NULL, 0, &vmstate_ioapic, &sec.ioapic, errp) &&
           vmstate_register(NULL, 0, &vmstate_pit, &sec.pit, errp);
}
