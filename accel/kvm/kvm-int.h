/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kernel VM and its vCPUs, as the files of accel/kvm see them.
 *
 * KvmVm is not a singleton: a second one over the same guest memory can be
 * built while the first runs (the twin of a switch of the tracking kind).
 * kvm_vm() is the one that the machine runs on. Memory changes reach every VM
 * that is attached (kvm-slots.h); vCPUs belong to one VM each.
 *
 * In and out of the guest
 *
 *   A vCPU is in the guest from kvm_vcpu_enter()'s in_run = true to the return
 *   of KVM_RUN. Who wants it out:
 *
 *     asker  exit_request (or the gate) ; immediate_exit = 1 ; full fence ;
 *            in_run? then signal
 *     vCPU   immediate_exit = 0 ; in_run = true ; full fence ; exit_request?
 *            gate? ; KVM_RUN
 *
 *   Either the vCPU sees the request before KVM_RUN, or the asker sees in_run:
 *   then KVM_RUN finds immediate_exit, or the signal ends it. The signal's
 *   handler does nothing, so it does no harm anywhere else.
 *
 *   The gate (kvm_gate_close/open) keeps all vCPUs of a VM out of KVM_RUN for
 *   a moment: closing it kicks those that are in and waits until the last one
 *   is out. The closer may hold any lock, the BQL and a vCPU's thread
 *   included: nobody has to take a lock to get out of KVM_RUN. A vCPU at the
 *   closed gate holds none. Closing nests. While it is closed no vCPU stores to
 *   memory, not even to complete an instruction.
 *
 *   An exit for I/O is completed by the next KVM_RUN. So a vCPU that must leave
 *   its loop runs once more with immediate_exit: what synchronize_state
 *   reads is then whole.
 *
 * Registers
 *
 *   Either the kernel's are current (regs_in_env false), or CPUState->env is.
 *   kvm_arch_get_registers() and kvm_arch_put_registers() are called with the
 *   vCPU out of KVM_RUN, on its thread or with it stopped; the core keeps
 *   regs_in_env.
 *
 *   What could not be read leaves env_stale: it cannot be saved, but the guest
 *   goes on. What could not be set is tried once more when the vCPU is to run.
 *
 * A VM that lost a slot (the kernel refused a change) is broken: no vCPU enters
 * it. The first that wants to has the change tried once more; if that fails the
 * machine stops with `internal-error`. Each later attempt to run, and each
 * change of memory, tries again.
 *
 * Used by: accel/kvm. Uses: system.
 */
#ifndef ACCEL_KVM_INT_H
#define ACCEL_KVM_INT_H

#include "kvm-ioctl.h"
#include "qemu/thread.h"
#include "system/accel.h"
#include "system/cpus.h"
#include "system/dirty-ring.h"

typedef struct KvmSlots KvmSlots;

/* How a kernel VM says what was written: one of both for its whole life. */
typedef enum KvmLogKind {
    KVM_LOG_BITMAP,
    KVM_LOG_RING,
} KvmLogKind;

typedef enum KvmIrqchip {
    KVM_IRQCHIP_ON, /* all in the kernel */
    KVM_IRQCHIP_OFF,
    KVM_IRQCHIP_SPLIT, /* local APICs in the kernel */
} KvmIrqchip;

/* Guest memory as vCPUs see it in and out of system management mode. */
#define KVM_MAX_SPACES 2

struct KvmVm {
    /* Constant. */
    int fd;
    unsigned nr_spaces; /* 1 .. KVM_MAX_SPACES: kvm-slots.h */
    KvmIrqchip irqchip;
    uint64_t slot_bytes; /* longest slot, as asked for */
    size_t run_size;     /* bytes mapped of each vCPU */
    KvmSlots *slots;

    /* Constant once the first vCPU exists. */
    KvmLogKind kind;
    uint32_t ring_entries;   /* 0: no rings */
    bool ring_with_bitmap;   /* and a bitmap for what no vCPU writes */
    uint64_t manual_protect; /* bits of KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2 */

    /* Guarded by lock. */
    QemuMutex lock;
    QemuCond changed; /* a vCPU is out; the gate is open */
    GPtrArray *vcpus; /* KvmVcpu *, by creation; changed under the BQL, too */
    char *broken_why;
    bool broken_for_good, broken_told;

    _Atomic unsigned gate; /* how often it is closed */
    _Atomic bool broken;
    _Atomic bool overrun; /* a full ring was written to; never cleared */

    void *arch; /* kvm_arch_init_vm()'s, freed by kvm_arch_destroy_vm() */
};

struct KvmVcpu {
    /* Constant, but for cs: the twin hands it over, out of the guest. */
    KvmVm *vm;
    CPUState *cs; /* may be NULL in tests and in a twin not yet in use */
    unsigned long id;
    int fd;
    struct kvm_run *run;
    DirtyGfn *ring; /* NULL: none */
    void *arch;     /* kvm_arch_init_vcpu()'s */

    /* The vCPU's thread, or who holds it stopped. */
    bool regs_in_env;     /* env is newer than the kernel's state */
    unsigned put_level;   /* KvmPutLevel that regs_in_env is to be put with */
    bool io_pending;      /* KVM_RUN has to complete an instruction */
    unsigned fault_tries; /* kvm-memfault.c's */

    /* Atomic. */
    _Atomic bool in_run;
    _Atomic uint64_t exits; /* of all reasons, by its thread */

    /* Guarded by vm->lock. */
    bool has_thread;
    pthread_t thread;
};

/* The machine's VM; NULL before kvm is chosen. Any thread. */
KvmVm *kvm_vm(void);
void kvm_vm_set_current(KvmVm *vm); /* the twin; vCPUs out of the guest */

typedef struct KvmVmConfig {
    KvmLogKind kind;
    uint32_t ring_entries; /* kind ring: checked by dirty_ring_check_entries */
    KvmIrqchip irqchip;
    uint64_t slot_bytes; /* longest slot; 0: the kernel's limit */
    bool smm; /* memory for vCPUs in SMM, if the kernel emulates it */
} KvmVmConfig;

/**
 * kvm_vm_new: make a kernel VM, with irqchip, without memory and vCPUs
 *
 * Main thread or BQL. /dev/kvm must be open. NULL and @errp on failure; nothing
 * is left behind then.
 */
KvmVm *kvm_vm_new(const KvmVmConfig *config, Error **errp);
/* Frees vCPUs (no thread may be in them), slots and the VM. */
void kvm_vm_free(KvmVm *vm);
/* One that nothing points to any more. Any thread. */
void kvm_vm_free_alone(KvmVm *vm);
/**
 * kvm_vm_set_kind: have a VM without vCPUs log in another way
 *
 * From bitmap to ring, or to another size of rings, as far as the kernel
 * allows it: rings are never taken away again.
 */
bool kvm_vm_set_kind(KvmVm *vm, KvmLogKind kind, uint32_t ring_entries,
                     Error **errp);
/* Are rings of @entries possible? The error names the legal sizes. */
bool kvm_ring_check(uint32_t entries, Error **errp);

/**
 * kvm_vcpu_new: make vCPU number @id of @vm
 *
 * @cs: whose it shall be, may be NULL
 *
 * No thread. Kernel state as created, with what kvm_arch_init_vcpu() sets.
 */
KvmVcpu *kvm_vcpu_new(KvmVm *vm, unsigned long id, CPUState *cs, Error **errp);
/* Also takes it off vm->vcpus. The kernel's part lives until the VM's end. */
void kvm_vcpu_free(KvmVcpu *v);
/* cpu->accel_data. Its thread, or BQL; any other: kvm_twin_with_vcpu(). */
static inline KvmVcpu *kvm_vcpu(CPUState *cpu)
{
    return cpu->accel_data;
}

/*
 * This thread runs @v from now on, and kvm_vcpu_kick() signals it. The signal
 * is unblocked here, and its handler installed for the process.
 */
void kvm_vcpu_attach_thread(KvmVcpu *v);
void kvm_vcpu_detach_thread(KvmVcpu *v);
/* Out of KVM_RUN, soon. Any thread. */
void kvm_vcpu_kick(KvmVcpu *v);
void kvm_vcpu_kick_locked(KvmVcpu *v); /* vm->lock is held */

/**
 * kvm_vcpu_run: KVM_RUN once, between the gate and the next exit
 *
 * Waits at the gate. Returns 0 (look at run->exit_reason), or -errno:
 * -EINTR when kicked, or when cs->exit_request is set and nothing is pending.
 * Its thread, without the BQL.
 */
int kvm_vcpu_run(KvmVcpu *v);

/*
 * KVM_RUN with a signal that is pending from the start: no instruction is
 * executed, but the kernel does what it does between two entries. A timer of
 * the local APIC that has fired becomes an interrupt request then, and only
 * then. Nothing to be completed; nobody else runs @v. Any thread. 0 or -errno.
 */
int kvm_vcpu_run_nothing(KvmVcpu *v);

typedef enum KvmExitAction {
    KVM_GO_ON, /* run again */
    KVM_LEAVE, /* back to vcpu_thread_wait() */
} KvmExitAction;
/* Act on v->run->exit_reason. Its thread, without the BQL. */
KvmExitAction kvm_handle_exit(KvmVcpu *v);
/*
 * The guest cannot go on: stop with RUN_STATE_INTERNAL_ERROR, and say why.
 * Returns KVM_LEAVE. The vCPU's thread, without the BQL.
 */
KvmExitAction kvm_internal_error(KvmVcpu *v, const char *fmt, ...)
    G_GNUC_PRINTF(2, 3);

/* KVM_RUN itself gave @ret. */
KvmExitAction kvm_run_failed(KvmVcpu *v, int ret);
/* It gave -EFAULT: see kvm-memfault.c. Its thread, without the BQL. */
KvmExitAction kvm_memory_fault(KvmVcpu *v);
/*
 * Touch RAM at @addr as a vCPU would: a page stands in if the host has none.
 * False: no RAM is there. BQL.
 */
bool kvm_touch(hwaddr addr);

void kvm_gate_close(KvmVm *vm);
void kvm_gate_open(KvmVm *vm);
/* Nothing runs on @vm until it is mended. @for_good: it cannot be. */
void kvm_vm_set_broken(KvmVm *vm, const char *why, bool for_good);
void kvm_vm_set_mended(KvmVm *vm);
/* False if it is broken still; the reason is reported once. BQL. */
bool kvm_vm_try_mend(KvmVm *vm);

extern const AccelOps kvm_accel_ops;

#endif /* ACCEL_KVM_INT_H */
