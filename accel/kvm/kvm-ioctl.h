/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one door to the kernel's KVM: every open, ioctl and mmap of KVM is made
 * here, counted here, and can be made to fail here.
 *
 * Results are the kernel's (>= 0), or -errno. Nothing is retried: EINTR and
 * EAGAIN of KVM_RUN are for the run loop to see.
 *
 * Fault injection, for tests: kvm_fault_arm() makes the Nth call that matches
 * fail without reaching the kernel, once. A whole process is armed by
 *
 *   FERRY_KVM_FAULT=NTH[:ERRNO[:REQUEST[:tracking]]]
 *
 *   1:12             the first call, ENOMEM
 *   3:14:0x46        the third KVM_SET_USER_MEMORY_REGION, EFAULT
 *   5:28:any:tracking   the fifth after a slot's log was switched on, ENOSPC
 *
 * ERRNO is a number (default ENOMEM), REQUEST an index as below in hexadecimal,
 * or `any` (the default) for any but KVM_RUN. The variable is read when
 * /dev/kvm is opened the first time. That the call came is said on stderr.
 *
 * Threads: any. Counters are relaxed atomics.
 *
 * Used by: accel/kvm and its tests. Uses: util.
 */
#ifndef ACCEL_KVM_IOCTL_H
#define ACCEL_KVM_IOCTL_H

#include "qemu/linux-compat.h"

typedef struct KvmVm KvmVm;
typedef struct KvmVcpu KvmVcpu;

/*
 * What is counted: an ioctl by the low byte of its request (_IOC_NR; all have
 * the type 0xAE), and what is no ioctl by numbers above.
 */
enum {
    KVM_CALL_OPEN = 0x100, /* of /dev/kvm */
    KVM_CALL_MMAP,         /* of vCPU state, rings */
    KVM_CALL_NR,
    KVM_CALL_ANY = -1, /* for kvm_fault_arm(): but KVM_RUN */
};
static inline unsigned kvm_call_index(unsigned long req)
{
    return _IOC_NR(req);
}

/*
 * /dev/kvm, opened once for the process. Checks the API version. The reason,
 * one line, if it cannot be had: no such device, no permission, other version.
 * A failed attempt can be repeated. BQL or single thread.
 */
bool kvm_dev_open(Error **errp);
bool kvm_dev_is_open(void);
/* When the last VM is gone: for tests. */
void kvm_dev_close(void);

/* @arg: pointer or number. */
#define kvm_dev_ioctl(req, arg)     kvm_dev_call((req), (uintptr_t)(arg))
#define kvm_vm_ioctl(vm, req, arg)  kvm_vm_call((vm), (req), (uintptr_t)(arg))
#define kvm_vcpu_ioctl(v, req, arg) kvm_vcpu_call((v), (req), (uintptr_t)(arg))
#define kvm_fd_ioctl(fd, req, arg)  kvm_fd_call((fd), (req), (uintptr_t)(arg))
int kvm_dev_call(unsigned long req, uintptr_t arg);
int kvm_vm_call(KvmVm *vm, unsigned long req, uintptr_t arg);
int kvm_vcpu_call(KvmVcpu *v, unsigned long req, uintptr_t arg);
/* A device, or any descriptor of KVM. */
int kvm_fd_call(int fd, unsigned long req, uintptr_t arg);

/* PROT_READ | PROT_WRITE, MAP_SHARED. 0 or -errno. Undo with munmap(). */
int kvm_fd_mmap(int fd, size_t length, off_t offset, void **p);
/* Zeroes of our own, for bitmaps of slots: fails and counts like that one. */
int kvm_anon_mmap(size_t length, void **p);

/* KVM_ENABLE_CAP with one argument. */
int kvm_vm_enable_cap(KvmVm *vm, uint32_t cap, uint64_t arg0);
int kvm_vcpu_enable_cap(KvmVcpu *v, uint32_t cap, uint64_t arg0);
/* KVM_CHECK_EXTENSION of the device, or of @vm; errors count as 0. */
int kvm_check_extension(uint32_t cap);
int kvm_vm_check_extension(KvmVm *vm, uint32_t cap);

/* ---- for tests ---- */

/* "KVM_CREATE_VM"; "KVM ioctl" for what has no name here. */
const char *kvm_call_name(unsigned index);
/* Calls since the start or kvm_call_counts_reset(); failed ones, too. */
uint64_t kvm_call_count(unsigned index);
uint64_t kvm_call_count_all(void); /* but KVM_RUN */
void kvm_call_counts_reset(void);

/*
 * The @nth (from 1) call of @index from now on fails with @err; 0: disarm.
 * KVM_CALL_ANY: of any but KVM_RUN.
 */
void kvm_fault_arm(uint64_t nth, int err, int index);
/* All calls of @index, until it is armed anew. */
void kvm_fault_arm_all(int err, int index);
/* Logging begins: what the variable wants to come after that is armed now. */
void kvm_fault_tracking_begins(void);
bool kvm_fault_fired(void); /* since it was armed */
int kvm_fault_fired_index(void);

#endif /* ACCEL_KVM_IOCTL_H */
