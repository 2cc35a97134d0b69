/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an x86 VM has once: two pages for the kernel's own use, the PICs and
 * the I/O APIC.
 */
#include "qemu/osdep.h"

#include "qemu/error.h"

#include "kvm-caps.h"
#include "x86-kvm.h"

/*
 * Where Intel's processors before "unrestricted guest" keep a page table and a
 * task state segment of the kernel's: below the firmware, where no RAM is.
 */
#define IDENTITY_MAP_ADDRESS UINT64_C(0xfeffc000)
#define TSS_ADDRESS          (IDENTITY_MAP_ADDRESS + 0x1000)

unsigned long kvm_arch_vm_type(void)
{
    return 0;
}

/* True if @cap is there and could be switched on. */
static bool enable(KvmVm *vm, uint32_t cap)
{
    return kvm_vm_check_extension(vm, cap) > 0 &&
           kvm_vm_enable_cap(vm, cap, 1) == 0;
}

bool kvm_arch_init_vm(KvmVm *vm, Error **errp)
{
    uint64_t address = IDENTITY_MAP_ADDRESS;
    KvmX86Vm *x;
    int ret = 0;

    if (!kvm_x86_host_init(vm->irqchip, errp)) {
        return false;
    }
    if (kvm_vm_check_extension(vm, KVM_CAP_SET_IDENTITY_MAP_ADDR) > 0) {
        ret = kvm_vm_ioctl(vm, KVM_SET_IDENTITY_MAP_ADDR, &address);
    }
    if (ret == 0 && kvm_vm_check_extension(vm, KVM_CAP_SET_TSS_ADDR) > 0) {
        ret = kvm_vm_ioctl(vm, KVM_SET_TSS_ADDR, TSS_ADDRESS);
    }
    if (ret < 0) {
        error_setg_errno(errp, -ret,
                         "cannot give the kernel its pages at 0x%" PRIx64,
                         IDENTITY_MAP_ADDRESS);
        return false;
    }
    vm->arch = x = g_new0(KvmX86Vm, 1);
    x->has_sregs2 = kvm_vm_check_extension(vm, KVM_CAP_SREGS2) > 0;
    x->has_payload = enable(vm, KVM_CAP_EXCEPTION_PAYLOAD);
    x->has_triple_fault = enable(vm, KVM_CAP_X86_TRIPLE_FAULT_EVENT);
    x->has_smm = kvm_vm_check_extension(vm, KVM_CAP_X86_SMM) > 0;
    return true;
}

void kvm_arch_destroy_vm(KvmVm *vm)
{
    g_clear_pointer((KvmX86Vm **)&vm->arch, g_free);
}

/* ---- state ---- */

static bool get(KvmVm *vm, unsigned long req, void *arg, const char *what,
                Error **errp)
{
    int ret = kvm_vm_ioctl(vm, req, arg);

    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot get the state of the %s", what);
    }
    return ret >= 0;
}

static bool put(KvmVm *vm, unsigned long req, const void *arg, const char *what,
                Error **errp)
{
    int ret = kvm_vm_ioctl(vm, req, arg);

    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot set the state of the %s", what);
    }
    return ret >= 0;
}

static const char *const chip_names[3] = { "first PIC", "second PIC",
                                           "I/O APIC" };

QEMU_BUILD_BUG_ON(KVM_IRQCHIP_PIC_MASTER != 0 || KVM_IRQCHIP_IOAPIC != 2);

bool kvm_x86_get_irqchip(KvmVm *vm, KvmX86VmState *s, Error **errp)
{
    s->has_irqchip = vm->irqchip == KVM_IRQCHIP_ON;
    if (!s->has_irqchip) {
        return true;
    }
    for (unsigned i = 0; i < 3; i++) {
        s->chips[i].chip_id = i;
        if (!get(vm, KVM_GET_IRQCHIP, &s->chips[i], chip_names[i], errp)) {
            return false;
        }
    }
    return true;
}

bool kvm_x86_put_irqchip(KvmVm *vm, const KvmX86VmState *s, Error **errp)
{
    if (!s->has_irqchip) {
        return true;
    }
    for (unsigned i = 0; i < 3; i++) {
        if (!put(vm, KVM_SET_IRQCHIP, &s->chips[i], chip_names[i], errp)) {
            return false;
        }
    }
    return true;
}

bool kvm_x86_get_vm_state(KvmVm *vm, KvmX86VmState *s, Error **errp)
{
    memset(s, 0, sizeof(*s));
    if (!kvm_x86_get_irqchip(vm, s, errp) ||
        !kvm_x86_get_clock(vm, &s->clock, errp)) {
        return false;
    }
    s->clock.flags = 0; /* put back, it goes on from there */
    return true;
}

bool kvm_x86_put_vm_state(KvmVm *vm, const KvmX86VmState *s, Error **errp)
{
    return kvm_x86_put_irqchip(vm, s, errp) &&
           kvm_x86_put_clock(vm, &s->clock, errp);
}
