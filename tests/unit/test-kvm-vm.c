/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel VMs and vCPUs: the promises of accel/kvm/kvm-ioctl.h and kvm-int.h. */
#include "qemu/osdep.h"

#include <dirent.h>

#include "qemu/error.h"
#include "qemu/main-loop.h"

#include "kvm-caps.h"
#include "kvm-mini.h"
#include "kvm-slots.h"

#define RAM_BYTES (UINT64_C(64) << 20)

static MemoryRegion ram;

static unsigned open_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned n = 0;

    while (readdir(dir)) {
        n++;
    }
    closedir(dir);
    return n;
}

/* ---- the door ---- */

static void test_counts(void)
{
    unsigned check = kvm_call_index(KVM_CHECK_EXTENSION);

    kvm_call_counts_reset();
    kvm_check_extension(KVM_CAP_USER_MEMORY);
    kvm_check_extension(KVM_CAP_IRQCHIP);
    g_assert_cmpuint(kvm_call_count(check), ==, 2);
    g_assert_cmpuint(kvm_call_count_all(), ==, 2);
    g_assert_cmpstr(kvm_call_name(check), ==, "KVM_CHECK_EXTENSION");
    g_assert_cmpstr(kvm_call_name(0xfe), ==, "KVM ioctl");
}

static void test_fault(void)
{
    int version = KVM_GET_API_VERSION;

    kvm_fault_arm(2, EPERM, kvm_call_index(version));
    g_assert_cmpint(kvm_dev_ioctl(version, 0), ==, 12);
    g_assert_cmpint(kvm_dev_ioctl(KVM_CHECK_EXTENSION, 0), >=, 0);
    g_assert_false(kvm_fault_fired());
    g_assert_cmpint(kvm_dev_ioctl(version, 0), ==, -EPERM);
    g_assert_true(kvm_fault_fired());
    g_assert_cmpint(kvm_fault_fired_index(), ==, kvm_call_index(version));
    g_assert_cmpint(kvm_dev_ioctl(version, 0), ==, 12);

    kvm_fault_arm(1, EIO, KVM_CALL_ANY);
    g_assert_cmpint(kvm_dev_ioctl(version, 0), ==, -EIO);
    kvm_fault_arm(0, 0, KVM_CALL_ANY);
    g_assert_cmpint(kvm_dev_ioctl(version, 0), ==, 12);
}

static void test_caps(void)
{
    Error *err = NULL;

    g_assert_true(kvm_caps_probe(&error_abort));
    g_assert_cmpint(kvm_cap(KVM_HAS_NR_MEMSLOTS), >, 31);
    g_assert_cmpstr(kvm_cap_info(KVM_HAS_IRQFD)->name, ==, "KVM_CAP_IRQFD");
    for (KvmCap c = 0; c < KVM_HAS_NR; c++) {
        g_assert_nonnull(kvm_cap_info(c)->name);
        g_assert_nonnull(kvm_cap_info(c)->needed_for);
    }
    /* The kernel does not answer: as if it had it not, and that is said. */
    kvm_fault_arm(KVM_HAS_IMMEDIATE_EXIT + 1, EIO,
                  kvm_call_index(KVM_CHECK_EXTENSION));
    g_assert_false(kvm_caps_probe(&err));
    g_assert_cmpstr(error_get_pretty(err), ==,
                    "the kernel's KVM lacks KVM_CAP_IMMEDIATE_EXIT, needed for "
                    "stopping vCPUs");
    error_free(err);
    g_assert_true(kvm_caps_probe(&error_abort));
}

static void test_ring_sizes(void)
{
    static const uint32_t wrong[] = { 0, 1, 128, 300, 1u << 31, UINT32_MAX };
    uint32_t most = kvm_ring_max_entries();

    if (!kvm_ring_cap()) {
        g_test_skip("this kernel has no dirty rings");
        return;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autofree char *range = g_strdup_printf("from 256 to %u", most);
        Error *err = NULL;

        g_assert_false(kvm_ring_check(wrong[i], &err));
        g_assert_nonnull(strstr(error_get_pretty(err), range));
        error_free(err);
    }
    for (uint32_t n = DIRTY_RING_MIN_ENTRIES; n <= most; n *= 2) {
        KvmVmConfig config = { .kind = KVM_LOG_RING,
                               .ring_entries = n,
                               .irqchip = KVM_IRQCHIP_OFF };
        KvmVm *vm = kvm_vm_new(&config, &error_abort);
        KvmVcpu *v = kvm_vcpu_new(vm, 0, NULL, &error_abort);

        g_assert_false(dirty_gfn_is_dirty(&v->ring[n - 1]));
        kvm_vm_free(vm);
    }
    g_assert_false(kvm_ring_check(most * 2, NULL));
}

static void test_set_kind(void)
{
    KvmVmConfig config = { .irqchip = KVM_IRQCHIP_OFF };
    KvmVm *vm = kvm_vm_new(&config, &error_abort);
    Error *err = NULL;

    g_assert_cmpuint(vm->manual_protect, ==, kvm_cap(KVM_HAS_MANUAL_PROTECT));
    if (kvm_ring_cap()) {
        g_assert_true(kvm_vm_set_kind(vm, KVM_LOG_RING, 256, &error_abort));
        g_assert_cmpuint(vm->manual_protect, ==, 0);
        g_assert_true(kvm_vm_set_kind(vm, KVM_LOG_RING, 256, &error_abort));
        g_assert_false(kvm_vm_set_kind(vm, KVM_LOG_BITMAP, 0, &err));
        g_assert_nonnull(err);
        error_free(err);
        g_assert_nonnull(kvm_vcpu_new(vm, 0, NULL, &error_abort)->ring);
    }
    kvm_vm_free(vm);
}

/* ---- the guest ---- */

static const KvmVmConfig bitmap_off = { .irqchip = KVM_IRQCHIP_OFF };

static KvmVm *vm_with_memory(const KvmVmConfig *config)
{
    KvmVm *vm = kvm_vm_new(config, &error_abort);

    g_assert_true(kvm_slots_attach(vm, &error_abort));
    return vm;
}

static void test_run(void)
{
    const hwaddr bytes = 1000 * 4096;
    KvmVm *vm = vm_with_memory(&bitmap_off);
    KvmVcpu *v = kvm_vcpu_new(vm, 0, NULL, &error_abort);
    int ret;

    mini_start(v, MINI_TOUCH, MINI_DATA, bytes, 7, 0);
    g_assert_true(mini_run(v, &ret));
    g_assert_cmpuint(mini_regs(v).rbx, ==, 7);
    for (hwaddr a = 0; a < bytes; a += 4096) {
        g_assert_cmpuint(ldq_le_phys(&address_space_memory, MINI_DATA + a), ==,
                         1);
    }
    kvm_vm_free(vm);
}

/* ---- I/O ---- */

typedef struct Device {
    MemoryRegion mr;
    uint64_t writes, last, sum;
} Device;

static uint64_t device_read(void *opaque, hwaddr addr, unsigned size)
{
    return 0x11223344;
}

static void device_write(void *opaque, hwaddr addr, uint64_t val, unsigned size)
{
    Device *d = opaque;

    g_assert_true(bql_locked());
    d->writes++;
    d->last = val;
    d->sum += val;
}

static const MemoryRegionOps device_ops = { .read = device_read,
                                            .write = device_write };

static void test_io(void)
{
    Device mmio = { 0 }, port = { 0 };
    KvmVm *vm;
    KvmVcpu *v;
    int ret;

    memory_region_init_io(&mmio.mr, NULL, &device_ops, &mmio, "mmio", 4096);
    memory_region_add_subregion(get_system_memory(), 0xc0000000, &mmio.mr);
    memory_region_init_io(&port.mr, NULL, &device_ops, &port, "port", 4);
    memory_region_add_subregion(get_system_io(), 0x510, &port.mr);
    vm = vm_with_memory(&bitmap_off);
    v = kvm_vcpu_new(vm, 0, NULL, &error_abort);

    mini_start(v, MINI_OUT, 0, 0, 10, 0x510);
    g_assert_true(mini_run(v, &ret));
    g_assert_cmpuint(port.writes, ==, 10);
    mini_start(v, MINI_STORE, 0xc0000000, 0, 5, 0);
    g_assert_true(mini_run(v, &ret));
    g_assert_cmpuint(mmio.writes, ==, 5);
    g_assert_cmpuint(mmio.sum, ==, 15);
    mini_start(v, MINI_LOAD, 0xc0000000, 0, 0, 0);
    g_assert_true(mini_run(v, &ret));
    g_assert_cmpuint(mini_regs(v).rax, ==, 0x11223344);

    kvm_vm_free(vm);
    memory_region_del_subregion(get_system_memory(), &mmio.mr);
    memory_region_destroy(&mmio.mr);
    memory_region_del_subregion(get_system_io(), &port.mr);
    memory_region_destroy(&port.mr);
}

/* A VM that is broken in the midst of an instruction: that one is completed. */
static void test_broken_in_io(void)
{
    Device mmio = { 0 };
    KvmVm *vm;
    KvmVcpu *v;

    memory_region_init_io(&mmio.mr, NULL, &device_ops, &mmio, "mmio", 4096);
    memory_region_add_subregion(get_system_memory(), 0xc0000000, &mmio.mr);
    vm = vm_with_memory(&bitmap_off);
    v = kvm_vcpu_new(vm, 0, NULL, &error_abort);
    mini_start(v, MINI_LOAD, 0xc0000000, 0, 0, 0);
    g_assert_cmpint(kvm_vcpu_run(v), ==, 0);
    g_assert_cmpuint(v->run->exit_reason, ==, KVM_EXIT_MMIO);
    g_assert_true(v->io_pending);
    kvm_handle_exit(v);
    kvm_vm_set_broken(vm, "a test", false);
    g_assert_cmpint(kvm_vcpu_run(v), ==, -EINTR);
    g_assert_false(v->io_pending);
    g_assert_cmpuint(mini_regs(v).rax, ==, 0x11223344);
    g_assert_cmpint(kvm_vcpu_run(v), ==, -EINTR);
    g_assert_cmpuint(atomic_load(&v->exits), ==, 2); /* it has not been in */
    kvm_vm_set_mended(vm);
    g_assert_cmpint(kvm_vcpu_run(v), ==, 0);
    g_assert_cmpuint(v->run->exit_reason, ==, KVM_EXIT_IO);
    kvm_vm_free(vm);
    memory_region_del_subregion(get_system_memory(), &mmio.mr);
    memory_region_destroy(&mmio.mr);
}

/* ---- kicks ---- */

typedef struct Runner {
    KvmVcpu *v;
    QemuThread thread;
    _Atomic uint64_t eintrs;
    _Atomic bool end, ended;
} Runner;

static void *run_spin(void *opaque)
{
    Runner *r = opaque;
    int ret;

    kvm_vcpu_attach_thread(r->v);
    while (!atomic_load(&r->end)) {
        ret = kvm_vcpu_run(r->v);
        g_assert_cmpint(ret, ==, -EINTR);
        atomic_fetch_add(&r->eintrs, 1);
    }
    kvm_vcpu_detach_thread(r->v);
    atomic_store(&r->ended, true);
    return NULL;
}

/* Kicked until it is out for good: it may enter once more after a kick. */
static void end_runner(Runner *r)
{
    atomic_store(&r->end, true);
    while (!atomic_load(&r->ended)) {
        kvm_vcpu_kick(r->v);
        sched_yield();
    }
    qemu_thread_join(&r->thread);
}

static void start_runner(Runner *r, KvmVcpu *v, void *(*fn)(void *))
{
    r->v = v;
    qemu_thread_create(&r->thread, "runner", fn, r, QEMU_THREAD_JOINABLE,
                       &error_abort);
}

/* Each kick that finds it in the guest gets it out: none is lost. */
static void test_kick(void)
{
    enum {
        KICKS = 300
    };
    KvmVm *vm = vm_with_memory(&bitmap_off);
    KvmVcpu *v = kvm_vcpu_new(vm, 0, NULL, &error_abort);
    Runner r = { 0 };

    mini_start(v, MINI_SPIN, 0, 0, 0, 0);
    start_runner(&r, v, run_spin);
    for (unsigned i = 0; i < KICKS; i++) {
        uint64_t before = atomic_load(&r.eintrs);

        while (!atomic_load(&v->in_run)) {
            sched_yield();
        }
        kvm_vcpu_kick(v);
        while (atomic_load(&r.eintrs) == before) {
            sched_yield();
        }
    }
    end_runner(&r);
    kvm_vm_free(vm);
}

static void *kick_storm(void *opaque)
{
    Runner *r = opaque;

    while (!atomic_load(&r->end)) {
        kvm_vcpu_kick(r->v);
    }
    return NULL;
}

/* While the gate is closed no vCPU is in the guest, however often kicked. */
static void test_gate(void)
{
    enum {
        VCPUS = 3,
        ROUNDS = 60
    };
    KvmVm *vm = vm_with_memory(&bitmap_off);
    Runner r[VCPUS] = { 0 }, storm = { 0 };
    uint64_t counts[VCPUS];

    for (unsigned i = 0; i < VCPUS; i++) {
        KvmVcpu *v = kvm_vcpu_new(vm, i, NULL, &error_abort);

        mini_start(v, MINI_COUNT, MINI_DATA + i * 4096, 0, 0, 0);
        start_runner(&r[i], v, run_spin);
    }
    start_runner(&storm, r[0].v, kick_storm);
    for (unsigned n = 0; n < ROUNDS; n++) {
        kvm_gate_close(vm);
        for (unsigned i = 0; i < VCPUS; i++) {
            g_assert_false(atomic_load(&r[i].v->in_run));
            counts[i] = ldq_le_phys(&address_space_memory,
                                    MINI_DATA + i * 4096);
        }
        kvm_gate_close(vm); /* it nests */
        kvm_gate_open(vm);
        g_usleep(n % 8 ? 0 : 200);
        for (unsigned i = 0; i < VCPUS; i++) {
            g_assert_cmpuint(
                ldq_le_phys(&address_space_memory, MINI_DATA + i * 4096), ==,
                counts[i]);
        }
        kvm_gate_open(vm);
    }
    /* And they do run in between. */
    for (unsigned i = 1; i < VCPUS; i++) {
        while (ldq_le_phys(&address_space_memory, MINI_DATA + i * 4096) ==
               counts[i]) {
            sched_yield();
        }
    }
    atomic_store(&storm.end, true);
    qemu_thread_join(&storm.thread);
    for (unsigned i = 0; i < VCPUS; i++) {
        end_runner(&r[i]);
    }
    kvm_vm_free(vm);
}

/* ---- making and taking apart ---- */

enum {
    WALK_VCPUS = 2
};

/* All that start-up does; false: nothing of it is left. */
static bool build(const KvmVmConfig *config, unsigned vcpus, Error **errp)
{
    KvmVm *vm;

    if (!kvm_dev_open(errp) || !kvm_caps_probe(errp)) {
        return false;
    }
    vm = kvm_vm_new(config, errp);
    if (!vm) {
        return false;
    }
    if (!kvm_slots_attach(vm, errp)) {
        kvm_vm_free(vm);
        return false;
    }
    for (unsigned i = 0; i < vcpus; i++) {
        if (!kvm_vcpu_new(vm, i, NULL, errp)) {
            kvm_vm_free(vm);
            return false;
        }
    }
    kvm_vm_free(vm);
    return true;
}

static void walk(const KvmVmConfig *config)
{
    unsigned before;

    kvm_dev_close();
    before = open_fds();
    for (uint64_t n = 1;; n++) {
        Error *err = NULL;
        bool ok;

        kvm_fault_arm(n, ENOSPC, KVM_CALL_ANY);
        ok = build(config, WALK_VCPUS, &err);
        kvm_dev_close();
        g_assert_cmpuint(open_fds(), ==, before);
        if (!kvm_fault_fired()) {
            g_assert_true(ok);
            g_assert_cmpuint(n, >, 20);
            break;
        }
        /* Said, or done without. */
        g_assert_true(ok == !err);
        if (err) {
            g_assert_null(strchr(error_get_pretty(err), '\n'));
            g_test_message("%" PRIu64 " (%s): %s", n,
                           kvm_call_name(kvm_fault_fired_index()),
                           error_get_pretty(err));
            error_free(err);
        }
    }
    kvm_fault_arm(0, 0, KVM_CALL_ANY);
    g_assert_true(kvm_dev_open(&error_abort));
    g_assert_true(kvm_caps_probe(&error_abort));
}

static void test_walk(void)
{
    KvmVmConfig configs[] = {
        { .irqchip = KVM_IRQCHIP_ON },
        { .irqchip = KVM_IRQCHIP_OFF },
        { .irqchip = KVM_IRQCHIP_SPLIT },
        { .irqchip = KVM_IRQCHIP_ON,
          .kind = KVM_LOG_RING,
          .ring_entries = 256 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(configs); i++) {
        if (configs[i].kind == KVM_LOG_BITMAP || kvm_ring_cap()) {
            walk(&configs[i]);
        }
    }
}

static void test_many_vcpus(void)
{
    enum {
        VCPUS = 64
    };
    unsigned rounds = getenv("FERRY_SOAK") ? 1000 : 50, before = open_fds();
    KvmVmConfig config = { .irqchip = KVM_IRQCHIP_ON };

    if (kvm_cap(KVM_HAS_MAX_VCPUS) < VCPUS) {
        g_test_skip("this kernel takes fewer vCPUs");
        return;
    }
    for (unsigned i = 0; i < rounds; i++) {
        if (kvm_ring_cap() && i % 2) {
            config.kind = KVM_LOG_RING;
            config.ring_entries = 1024;
        } else {
            config.kind = KVM_LOG_BITMAP;
        }
        g_assert_true(build(&config, VCPUS, &error_abort));
    }
    g_assert_cmpuint(open_fds(), ==, before);
}

static void test_skip(void)
{
    g_test_skip(mini_unusable());
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (mini_unusable()) {
        g_test_add_func("/kvm/vm", test_skip);
        return g_test_run();
    }
    mini_init();
    mini_ram(&ram, "ram", 0, RAM_BYTES);
    mini_load();
    g_test_add_func("/kvm/ioctl/counts", test_counts);
    g_test_add_func("/kvm/ioctl/fault", test_fault);
    g_test_add_func("/kvm/caps", test_caps);
    g_test_add_func("/kvm/vm/ring-sizes", test_ring_sizes);
    g_test_add_func("/kvm/vm/set-kind", test_set_kind);
    g_test_add_func("/kvm/vcpu/run", test_run);
    g_test_add_func("/kvm/vcpu/io", test_io);
    g_test_add_func("/kvm/vcpu/broken-in-io", test_broken_in_io);
    g_test_add_func("/kvm/vcpu/kick", test_kick);
    g_test_add_func("/kvm/vcpu/gate", test_gate);
    g_test_add_func("/kvm/vm/every-call-fails-once", test_walk);
    g_test_add_func("/kvm/vm/64-vcpus-built-and-torn-down", test_many_vcpus);
    return g_test_run();
}
