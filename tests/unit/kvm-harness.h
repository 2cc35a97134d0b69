/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest under KVM without a machine: RAM, vCPUs that run 64-bit code at CPL 3
 * natively, and kernel VMs of either kind over the same memory.
 *
 * What is in the kernel VM (tables, mode) is of kvm-mini.h; here are guest
 * threads, programs of the test's own, and the change of VMs between tests.
 *
 * Threads: guest_init() makes the calling thread the main one, with the BQL.
 *
 * Used by: tests and benchmarks of trackers.
 */
#ifndef TESTS_UNIT_KVM_HARNESS_H
#define TESTS_UNIT_KVM_HARNESS_H

#include "kvm-mini.h"
#include "qemu/main-loop.h"
#include "system/dirty-memory.h"

#define GUEST_RAM_BASE  UINT64_C(0x40000000)
#define GUEST_RAM_BYTES (UINT64_C(64) << 20)
#define GUEST_CODE_BASE UINT64_C(0x20000) /* for programs */
#define GUEST_MODEL     TYPE_MINI_CPU

/* One vCPU, whatever kernel VM it is in. */
typedef struct GuestVcpu {
    KvmVcpu *v; /* of the VM in use */
    CPUState *cs;
    struct kvm_regs regs; /* to start with; rip is guest_run()'s */
    bool parked;          /* it left the guest by itself */
} GuestVcpu;

/*
 * Once per process, if mini_unusable() is NULL. There is no VM until
 * guest_use_vm().
 */
void guest_init(void) TSA_ACQUIRE(bql);
RAMBlock *guest_ram(void);
MemoryRegion *guest_ram_region(void);

/**
 * guest_use_vm: be in a kernel VM like that from now on
 *
 * Makes it, with all vCPUs, unless it is the one in use. No guest thread, and
 * no tracking.
 */
void guest_use_vm(const KvmVmConfig *config);

/* A vCPU more. */
GuestVcpu *guest_vcpu(const char *type);

/* As a device would. */
void guest_write(hwaddr addr, const void *buf, size_t len);
void guest_write64(hwaddr addr, uint64_t val);

/*
 * Run @g on the calling thread from @pc until it stores to MINI_PORT; also
 * until there is no memory where it stores. Returns 0, or 1 in that case.
 */
uint32_t guest_run(GuestVcpu *g, vaddr pc);
bool guest_is_parked(GuestVcpu *g);

/* The same on a thread of its own. */
typedef struct GuestThread {
    GuestVcpu *g;
    QemuThread thread;
    _Atomic bool stop;
} GuestThread;
void guest_start(GuestThread *t, GuestVcpu *g, vaddr pc);
void guest_stop(GuestThread *t); /* kick it out and join */
void guest_join(GuestThread *t); /* wait for its own end */

#endif /* TESTS_UNIT_KVM_HARNESS_H */
