/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The one door to KVM: see kvm-ioctl.h. */
#include "qemu/osdep.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "qemu/cutils.h"
#include "qemu/error.h"

#include "kvm-int.h"
#include "kvm-ioctl.h"

#define KVM_DEVICE         "/dev/kvm"
#define KVM_API_VERSION_WE 12
#define FAULT_VARIABLE     "FERRY_KVM_FAULT"

/* One /dev/kvm per process; the kernel's KVM is one, too. */
static struct {
    /* BQL or single thread. */
    bool open;
    int fd;
    bool read_variable;

    /* Atomic. */
    _Atomic uint64_t counts[KVM_CALL_NR];
    _Atomic int64_t fault_in; /* calls until it fails; 0: never */
    _Atomic bool fault_stays;
    _Atomic int fault_err, fault_index, fired_index;
    _Atomic bool fired;

    /* The variable's; loud: say so when it fires. */
    _Atomic bool loud;
    _Atomic int64_t after_tracking; /* armed when logging begins; 0: not */
} dev;

/* ---- counting and failing ---- */

const char *kvm_call_name(unsigned index)
{
#define NAME(req) [_IOC_NR(req)] = #req
    static const char *const names[KVM_CALL_NR] = {
        NAME(KVM_GET_API_VERSION),
        NAME(KVM_CREATE_VM),
        NAME(KVM_CHECK_EXTENSION),
        NAME(KVM_GET_VCPU_MMAP_SIZE),
        NAME(KVM_CREATE_VCPU),
        NAME(KVM_GET_DIRTY_LOG),
        NAME(KVM_SET_USER_MEMORY_REGION),
        NAME(KVM_SET_TSS_ADDR),
        NAME(KVM_SET_IDENTITY_MAP_ADDR),
        NAME(KVM_CREATE_IRQCHIP),
        NAME(KVM_IRQ_LINE),
        NAME(KVM_REGISTER_COALESCED_MMIO),
        NAME(KVM_UNREGISTER_COALESCED_MMIO),
        NAME(KVM_SET_GSI_ROUTING),
        NAME(KVM_IRQFD),
        NAME(KVM_CREATE_PIT2),
        NAME(KVM_IOEVENTFD),
        NAME(KVM_RUN),
        NAME(KVM_ENABLE_CAP),
        NAME(KVM_SIGNAL_MSI),
        NAME(KVM_CLEAR_DIRTY_LOG),
        NAME(KVM_RESET_DIRTY_RINGS),
        NAME(KVM_CREATE_DEVICE),
        [KVM_CALL_OPEN] = "open of /dev/kvm",
        [KVM_CALL_MMAP] = "mmap of KVM",
    };
#undef NAME
    return index < KVM_CALL_NR && names[index] ? names[index] : "KVM ioctl";
}

uint64_t kvm_call_count(unsigned index)
{
    return atomic_load_explicit(&dev.counts[index], memory_order_relaxed);
}

uint64_t kvm_call_count_all(void)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < KVM_CALL_NR; i++) {
        sum += i == kvm_call_index(KVM_RUN) ? 0 : kvm_call_count(i);
    }
    return sum;
}

void kvm_call_counts_reset(void)
{
    for (unsigned i = 0; i < KVM_CALL_NR; i++) {
        atomic_store_explicit(&dev.counts[i], 0, memory_order_relaxed);
    }
}

void kvm_fault_arm(uint64_t nth, int err, int index)
{
    atomic_store(&dev.fault_in, 0);
    atomic_store(&dev.fault_stays, false);
    atomic_store(&dev.fired, false);
    atomic_store(&dev.fault_err, err);
    atomic_store(&dev.fault_index, index);
    atomic_store(&dev.fault_in, nth);
}

void kvm_fault_arm_all(int err, int index)
{
    kvm_fault_arm(0, err, index);
    atomic_store(&dev.fault_stays, true);
    atomic_store(&dev.fault_in, 1);
}

bool kvm_fault_fired(void)
{
    return atomic_load(&dev.fired);
}

int kvm_fault_fired_index(void)
{
    return atomic_load(&dev.fired_index);
}

/* -errno if this call is the one that shall fail, else 0. */
static int count(unsigned index)
{
    int want;

    atomic_fetch_add_explicit(&dev.counts[index], 1, memory_order_relaxed);
    if (atomic_load_explicit(&dev.fault_in, memory_order_relaxed) <= 0) {
        return 0;
    }
    want = atomic_load(&dev.fault_index);
    if (want == KVM_CALL_ANY ? index == kvm_call_index(KVM_RUN)
                             : index != (unsigned)want) {
        return 0;
    }
    if (atomic_load(&dev.fault_stays)) {
        /* From the first one on. */
    } else if (atomic_fetch_sub(&dev.fault_in, 1) != 1) {
        return 0;
    }
    atomic_store(&dev.fired_index, index);
    atomic_store(&dev.fired, true);
    if (atomic_load(&dev.loud)) {
        fprintf(stderr, FAULT_VARIABLE ": %s fails\n", kvm_call_name(index));
    }
    return -atomic_load(&dev.fault_err);
}

void kvm_fault_tracking_begins(void)
{
    int64_t nth = atomic_exchange(&dev.after_tracking, 0);

    if (nth) {
        kvm_fault_arm(nth, atomic_load(&dev.fault_err),
                      atomic_load(&dev.fault_index));
    }
}

/* NTH[:ERRNO[:REQUEST[:tracking]]] */
static bool parse_variable(const char *text)
{
    g_auto(GStrv) part = g_strsplit(text, ":", 4);
    guint n = g_strv_length(part);
    uint64_t nth, err = ENOMEM, index = 0;
    bool any = n < 3 || g_str_equal(part[2], "any");

    if (n < 1 || qemu_strtou64(part[0], NULL, 10, &nth) || nth > INT64_MAX ||
        (n > 1 && qemu_strtou64(part[1], NULL, 10, &err)) ||
        (!any && qemu_strtou64(part[2], NULL, 16, &index)) ||
        index >= KVM_CALL_NR || (n > 3 && !g_str_equal(part[3], "tracking"))) {
        return false;
    }
    atomic_store(&dev.loud, true);
    kvm_fault_arm(n > 3 ? 0 : nth, err, any ? KVM_CALL_ANY : (int)index);
    atomic_store(&dev.after_tracking, n > 3 ? nth : 0);
    return true;
}

static bool arm_by_variable(Error **errp)
{
    const char *text = getenv(FAULT_VARIABLE);

    if (dev.read_variable || !text) {
        return true;
    }
    dev.read_variable = true;
    if (!parse_variable(text)) {
        error_setg(errp, "%s must be NTH[:ERRNO[:REQUEST[:tracking]]]",
                   FAULT_VARIABLE);
        return false;
    }
    return true;
}

/* ---- the calls ---- */

int kvm_fd_call(int fd, unsigned long req, uintptr_t arg)
{
    int ret = count(kvm_call_index(req));

    if (ret < 0) {
        return ret;
    }
    ret = ioctl(fd, req, arg);
    return ret < 0 ? -errno : ret;
}

int kvm_dev_call(unsigned long req, uintptr_t arg)
{
    return kvm_fd_call(dev.fd, req, arg);
}

int kvm_vm_call(KvmVm *vm, unsigned long req, uintptr_t arg)
{
    return kvm_fd_call(vm->fd, req, arg);
}

int kvm_vcpu_call(KvmVcpu *v, unsigned long req, uintptr_t arg)
{
    return kvm_fd_call(v->fd, req, arg);
}

static int do_mmap(int fd, size_t length, int flags, off_t offset, void **p)
{
    int ret = count(KVM_CALL_MMAP);
    void *m;

    if (ret < 0) {
        return ret;
    }
    m = mmap(NULL, length, PROT_READ | PROT_WRITE, flags, fd, offset);
    if (m == MAP_FAILED) {
        return -errno;
    }
    *p = m;
    return 0;
}

int kvm_fd_mmap(int fd, size_t length, off_t offset, void **p)
{
    return do_mmap(fd, length, MAP_SHARED, offset, p);
}

int kvm_anon_mmap(size_t length, void **p)
{
    return do_mmap(-1, length, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, 0,
                   p);
}

int kvm_vm_enable_cap(KvmVm *vm, uint32_t cap, uint64_t arg0)
{
    struct kvm_enable_cap c = { .cap = cap, .args = { arg0 } };

    return kvm_vm_ioctl(vm, KVM_ENABLE_CAP, &c);
}

int kvm_vcpu_enable_cap(KvmVcpu *v, uint32_t cap, uint64_t arg0)
{
    struct kvm_enable_cap c = { .cap = cap, .args = { arg0 } };

    return kvm_vcpu_ioctl(v, KVM_ENABLE_CAP, &c);
}

int kvm_check_extension(uint32_t cap)
{
    int ret = kvm_dev_ioctl(KVM_CHECK_EXTENSION, cap);

    return MAX(ret, 0);
}

int kvm_vm_check_extension(KvmVm *vm, uint32_t cap)
{
    int ret = kvm_vm_ioctl(vm, KVM_CHECK_EXTENSION, cap);

    return MAX(ret, 0);
}

/* ---- /dev/kvm ---- */

bool kvm_dev_is_open(void)
{
    return dev.open;
}

void kvm_dev_close(void)
{
    if (dev.open) {
        close(dev.fd);
        dev.open = false;
    }
}

static void error_set_open(int err, Error **errp)
{
    if (err == ENOENT || err == ENXIO || err == ENODEV) {
        error_setg(errp,
                   "there is no KVM on this host: " KVM_DEVICE
                   ": %s (kernel module not loaded, or no virtualization)",
                   strerror(err));
    } else if (err == EACCES || err == EPERM) {
        error_setg(errp,
                   "this user may not use KVM: " KVM_DEVICE
                   ": %s (often the group 'kvm' may)",
                   strerror(err));
    } else {
        error_setg(errp, "cannot open " KVM_DEVICE ": %s", strerror(err));
    }
}

static int open_device(void)
{
    int ret = count(KVM_CALL_OPEN);

    if (ret < 0) {
        return ret;
    }
    ret = open(KVM_DEVICE, O_RDWR | O_CLOEXEC);
    return ret < 0 ? -errno : ret;
}

bool kvm_dev_open(Error **errp)
{
    int fd, version;

    if (dev.open) {
        return true;
    }
    if (!arm_by_variable(errp)) {
        return false;
    }
    fd = open_device();
    if (fd < 0) {
        error_set_open(-fd, errp);
        return false;
    }
    version = kvm_fd_ioctl(fd, KVM_GET_API_VERSION, 0);
    if (version != KVM_API_VERSION_WE) {
        if (version < 0) {
            error_setg(errp, "cannot ask KVM for its version: %s",
                       strerror(-version));
        } else {
            error_setg(errp, "the kernel's KVM has API version %d, not %d",
                       version, KVM_API_VERSION_WE);
        }
        close(fd);
        return false;
    }
    dev.fd = fd;
    dev.open = true;
    return true;
}
