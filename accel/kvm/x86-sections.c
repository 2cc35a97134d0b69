/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sections of the interrupt controllers that are in the kernel; and their
 * reset. All integers big-endian.
 *
 *   i8259, version 1, instances 0 and 1: 16 u8, in the order of the table below
 *   ioapic, version 3: u8 id, u8 ioregsel, 8 unused, u32 irr, 24 u64 redirection
 *
 * A state goes to the kernel as soon as it is loaded, a part at a time.
 */
#include "qemu/osdep.h"

#include "qemu/error.h"
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

/* Of the machine, under the BQL; filled while it is saved or loaded. */
static struct {
    bool registered;
    KvmX86VmState pristine; /* as the kernel made it */
    PicSection pics[2];
    IoapicSection ioapic;
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
    if (kvm_vm()->irqchip == KVM_IRQCHIP_SPLIT) {
        kvm_x86_extint_init(); /* sections and resets are the board's */
    }
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
    return vmstate_register(NULL, 0, &vmstate_ioapic, &sec.ioapic, errp);
}
