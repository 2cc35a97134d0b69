/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel VMs: made, told how to log, kept out of, freed. See kvm-int.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/timer.h"

#include "kvm-arch.h"
#include "kvm-caps.h"
#include "kvm-irqchip.h"
#include "kvm-slots.h"
#include "trace-kvm.h"

static _Atomic(KvmVm *) current_vm; /* the machine's: one per process */

KvmVm *kvm_vm(void)
{
    /* Acquire: pairs with the release in kvm_vm_set_current(). */
    return atomic_load_explicit(&current_vm, memory_order_acquire);
}

void kvm_vm_set_current(KvmVm *vm)
{
    atomic_store_explicit(&current_vm, vm, memory_order_release);
}

/* ---- how it logs ---- */

bool kvm_ring_check(uint32_t entries, Error **errp)
{
    uint32_t most = kvm_ring_max_entries();

    if (!kvm_ring_cap()) {
        error_setg(errp, "the kernel's KVM has no dirty rings (%s, %s)",
                   kvm_cap_info(KVM_HAS_RING_ACQ_REL)->name,
                   kvm_cap_info(KVM_HAS_RING_TSO)->name);
        return false;
    }
    if (entries < DIRTY_RING_MIN_ENTRIES || entries > most ||
        (entries & (entries - 1))) {
        error_setg(errp,
                   "dirty-ring-size=%u: the kernel's KVM takes a power of two "
                   "from %u to %u entries",
                   entries, DIRTY_RING_MIN_ENTRIES, most);
        return false;
    }
    return true;
}

/* Without it, the log is cleaned as it is read: dearer, not wrong. */
static void set_manual_protect(KvmVm *vm, uint64_t bits)
{
    if (bits != vm->manual_protect &&
        kvm_vm_enable_cap(vm, KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2, bits) == 0) {
        vm->manual_protect = bits;
    }
}

static bool enable_rings(KvmVm *vm, uint32_t entries, Error **errp)
{
    int ret;

    if (!kvm_ring_check(entries, errp)) {
        return false;
    }
    /* Pages that count as written at first would not be in any ring. */
    set_manual_protect(vm, 0);
    if (vm->manual_protect) {
        error_setg(errp, "the kernel's KVM does not give up its bitmap");
        return false;
    }
    /* Bytes; the kernel looks at 32 bits of it, and so did the check. */
    ret = kvm_vm_enable_cap(vm, kvm_ring_cap(),
                            (uint64_t)entries * sizeof(DirtyGfn));
    if (ret < 0) {
        error_setg_errno(errp, -ret, "cannot have dirty rings of %u entries",
                         entries);
        return false;
    }
    vm->kind = KVM_LOG_RING;
    vm->ring_entries = entries;
    if (kvm_cap(KVM_HAS_RING_WITH_BITMAP)) {
        ret = kvm_vm_enable_cap(vm, KVM_CAP_DIRTY_LOG_RING_WITH_BITMAP, 0);
        if (ret < 0) {
            error_setg_errno(errp, -ret, "cannot have a bitmap beside rings");
            return false;
        }
        vm->ring_with_bitmap = true;
    }
    return true;
}

bool kvm_vm_set_kind(KvmVm *vm, KvmLogKind kind, uint32_t ring_entries,
                     Error **errp)
{
    assert(!vm->vcpus->len);
    if (kind == vm->kind &&
        (kind == KVM_LOG_BITMAP || ring_entries == vm->ring_entries)) {
        return true;
    }
    if (vm->kind == KVM_LOG_RING) {
        error_setg(errp, "a kernel VM that has dirty rings keeps them");
        return false;
    }
    return enable_rings(vm, ring_entries, errp);
}

/* ---- made and freed ---- */

static bool create(KvmVm *vm, Error **errp)
{
    int ret;

    do {
        vm->fd = kvm_dev_ioctl(KVM_CREATE_VM, kvm_arch_vm_type());
    } while (vm->fd == -EINTR);
    if (vm->fd < 0) {
        error_setg_errno(errp, -vm->fd, "cannot create a kernel VM");
        return false;
    }
    ret = kvm_dev_ioctl(KVM_GET_VCPU_MMAP_SIZE, 0);
    if (ret < (int)sizeof(struct kvm_run)) {
        error_setg_errno(errp, ret < 0 ? -ret : EINVAL,
                         "cannot learn the size of a vCPU's shared memory");
        return false;
    }
    vm->run_size = ret;
    return true;
}

/* A vCPU can get into SMM: then there must be memory for it to see. */
static unsigned nr_spaces(const KvmVmConfig *config)
{
    return config->smm && kvm_cap(KVM_HAS_SMM) &&
                   kvm_cap(KVM_HAS_MULTI_ADDRESS_SPACE) > 1
               ? KVM_MAX_SPACES
               : 1;
}

KvmVm *kvm_vm_new(const KvmVmConfig *config, Error **errp)
{
    KvmVm *vm = g_new0(KvmVm, 1);

    vm->fd = -1;
    vm->irqchip = config->irqchip;
    vm->slot_bytes = config->slot_bytes;
    vm->nr_spaces = nr_spaces(config);
    vm->vcpus = g_ptr_array_new();
    qemu_mutex_init(&vm->lock);
    qemu_cond_init(&vm->changed);
    vm->slots = kvm_slots_new(vm, config->slot_bytes);
    if (!create(vm, errp)) {
        goto fail;
    }
    if (config->kind == KVM_LOG_RING) {
        if (!enable_rings(vm, config->ring_entries, errp)) {
            goto fail;
        }
    } else {
        set_manual_protect(vm, kvm_cap(KVM_HAS_MANUAL_PROTECT));
    }
    if (!kvm_arch_init_vm(vm, errp) || !kvm_irqchip_init(vm, errp)) {
        goto fail;
    }
    return vm;

fail:
    kvm_vm_free(vm);
    return NULL;
}

void kvm_vm_free(KvmVm *vm)
{
    if (kvm_vm() == vm) {
        kvm_vm_set_current(NULL);
    }
    kvm_slots_detach(vm);
    kvm_irqchip_detach(vm);
    kvm_vm_free_alone(vm);
}

void kvm_vm_free_alone(KvmVm *vm)
{
    while (vm->vcpus->len) {
        kvm_vcpu_free(vm->vcpus->pdata[vm->vcpus->len - 1]);
    }
    kvm_arch_destroy_vm(vm);
    if (vm->fd >= 0) {
        close(vm->fd);
    }
    kvm_slots_free(vm->slots);
    g_ptr_array_free(vm->vcpus, TRUE);
    g_free(vm->broken_why);
    qemu_cond_destroy(&vm->changed);
    qemu_mutex_destroy(&vm->lock);
    g_free(vm);
}

/* ---- the gate ---- */

void kvm_gate_close(KvmVm *vm)
{
    int64_t begin_ns = get_clock();

    /* Sequentially consistent: pairs with enter() and leave() of a vCPU. */
    atomic_fetch_add(&vm->gate, 1);
    QEMU_LOCK_GUARD(&vm->lock);
    for (guint i = 0; i < vm->vcpus->len; i++) {
        kvm_vcpu_kick_locked(vm->vcpus->pdata[i]);
    }
    for (guint i = 0; i < vm->vcpus->len; i++) {
        KvmVcpu *v = vm->vcpus->pdata[i];

        while (atomic_load(&v->in_run)) {
            qemu_cond_wait(&vm->changed, &vm->lock);
        }
    }
    trace_kvm_gate_closed(get_clock() - begin_ns);
}

void kvm_gate_open(KvmVm *vm)
{
    if (atomic_fetch_sub(&vm->gate, 1) == 1) {
        QEMU_LOCK_GUARD(&vm->lock);
        qemu_cond_broadcast(&vm->changed);
    }
}

/* ---- broken ---- */

void kvm_vm_set_broken(KvmVm *vm, const char *why, bool for_good)
{
    trace_kvm_broken(why);
    QEMU_LOCK_GUARD(&vm->lock);
    if (!vm->broken_for_good && g_strcmp0(vm->broken_why, why)) {
        g_free(vm->broken_why);
        vm->broken_why = g_strdup(why);
        vm->broken_for_good = for_good;
        vm->broken_told = false;
    }
    atomic_store(&vm->broken, true);
    /* vCPUs in the guest see to it on their way back. */
    for (guint i = 0; i < vm->vcpus->len; i++) {
        kvm_vcpu_kick_locked(vm->vcpus->pdata[i]);
    }
}

void kvm_vm_set_mended(KvmVm *vm)
{
    QEMU_LOCK_GUARD(&vm->lock);
    if (!vm->broken_for_good) {
        g_clear_pointer(&vm->broken_why, g_free);
        atomic_store(&vm->broken, false);
    }
}

bool kvm_vm_try_mend(KvmVm *vm)
{
    if (atomic_load(&vm->broken)) {
        kvm_slots_retry(vm);
    }
    QEMU_LOCK_GUARD(&vm->lock);
    if (!atomic_load(&vm->broken)) {
        return true;
    }
    if (!vm->broken_told) {
        error_report("KVM: the guest cannot go on: %s", vm->broken_why);
        vm->broken_told = true;
    }
    return false;
}
