/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A VM of 64 vCPUs is built and taken apart while its rings are reaped without
 * a pause: 50 times, with FERRY_SOAK in the environment 1,000 times.
 */
#include "qemu/osdep.h"

#include <dirent.h>

#include "kvm-caps.h"
#include "kvm-harness.h"
#include "kvm-slots.h"
#include "kvm-trackers.h"
#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "system/dirty-choice.h"
#include "system/dirty-reaper.h"

#define PAGE      UINT64_C(4096)
#define NR_VCPUS  64
#define NR_PAGES  100 /* that each vCPU that runs writes */
#define RUN_EVERY 8   /* the others never run */
#define ENTRIES   256

static CPUState *cpus[NR_VCPUS];

static const KvmVmConfig config = { .kind = KVM_LOG_RING,
                                    .ring_entries = ENTRIES,
                                    .irqchip = KVM_IRQCHIP_ON };

/* ---- the reaper, with period 0 ---- */

typedef struct Reaper {
    QemuThread thread;
    _Atomic bool end;
    _Atomic uint64_t reaps;
} Reaper;

static void *reap(void *opaque)
{
    Reaper *r = opaque;

    while (!atomic_load(&r->end)) {
        dirty_reaper_collect();
        atomic_fetch_add(&r->reaps, 1);
    }
    return NULL;
}

static void reaper_begin(Reaper *r)
{
    *r = (Reaper){ 0 };
    qemu_thread_create(&r->thread, "reap", reap, r, QEMU_THREAD_JOINABLE,
                       &error_abort);
    while (!atomic_load(&r->reaps)) {
        sched_yield();
    }
}

static void reaper_end(Reaper *r)
{
    atomic_store(&r->end, true);
    qemu_thread_join(&r->thread);
}

/* ---- one life ---- */

static hwaddr part_of(unsigned i)
{
    return GUEST_RAM_BASE + i * NR_PAGES * PAGE;
}

static KvmVcpu *make_vcpu(unsigned i)
{
    KvmVcpu *v = kvm_vcpu_new(kvm_vm(), i, cpus[i], &error_abort);

    cpus[i]->accel_data = v;
    kvm_ring_vcpu_made(v);
    return v;
}

static void run_vcpu(KvmVcpu *v, unsigned i)
{
    int ret;

    mini_start(v, MINI_TOUCH, part_of(i), NR_PAGES * PAGE, 1, 0);
    while (!mini_run(v, &ret)) {
        g_assert_cmpint(ret, ==, 0);
        g_assert_cmpint(v->run->exit_reason, ==, KVM_EXIT_DIRTY_RING_FULL);
        dirty_tracker_vcpu_exit(v->cs);
    }
}

/* What was in rings that are no more was not lost with them. */
static void check_pages(void)
{
    RAMBlock *rb = guest_ram();
    ram_addr_t length = qemu_ram_get_used_length(rb);
    g_autofree uint64_t *bmap = g_new0(uint64_t, length / PAGE / 64);

    ram_block_test_and_clear_dirty(rb, 0, length, DIRTY_MEMORY_MIGRATION, bmap);
    for (unsigned i = 0; i < NR_VCPUS; i += RUN_EVERY) {
        uint64_t first = i * NR_PAGES;

        g_assert_cmpuint(bitmap_count_one_with_offset(bmap, first, NR_PAGES),
                         ==, NR_PAGES);
    }
}

static void one_life(void)
{
    KvmVm *vm = kvm_vm_new(&config, &error_abort);
    Reaper r;

    g_assert_true(kvm_slots_attach(vm, &error_abort));
    kvm_vm_set_current(vm);
    g_assert_true(dirty_tracker_select(&kvm_ring_tracker, &error_abort));
    g_assert_true(
        memory_global_dirty_log_start(GLOBAL_DIRTY_MIGRATION, &error_abort));
    reaper_begin(&r);
    for (unsigned i = 0; i < NR_VCPUS; i++) {
        KvmVcpu *v = make_vcpu(i);

        if (i % RUN_EVERY == 0) {
            run_vcpu(v, i);
        }
    }
    while (vm->vcpus->len) {
        KvmVcpu *v = vm->vcpus->pdata[0];

        kvm_ring_vcpu_gone(v);
        v->cs->accel_data = NULL;
        kvm_vcpu_free(v);
    }
    reaper_end(&r);
    check_pages();
    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
    g_assert_true(dirty_tracker_select(&dirty_tracker_null, &error_abort));
    kvm_vm_free(vm);
}

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

static void test_lives(void)
{
    unsigned rounds = getenv("FERRY_SOAK") ? 1000 : 50, fds = 0;

    if (!kvm_ring_cap() || kvm_cap(KVM_HAS_MAX_VCPUS) < NR_VCPUS) {
        g_test_skip("this kernel has no dirty rings, or takes fewer vCPUs");
        return;
    }
    dirty_tracking_set_ring_entries(ENTRIES);
    for (unsigned i = 0; i < rounds; i++) {
        one_life();
        fds = fds ? fds : open_fds();
    }
    g_assert_cmpuint(open_fds(), ==, fds);
}

static void test_skip(void)
{
    g_test_skip(mini_unusable());
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (mini_unusable()) {
        g_test_add_func("/kvm/teardown", test_skip);
        return g_test_run();
    }
    guest_init();
    for (unsigned i = 0; i < NR_VCPUS; i++) {
        cpus[i] = CPU(object_new(GUEST_MODEL));
        cpus[i]->cpu_index = i;
        cpus[i]->as = &address_space_memory;
    }
    g_test_add_func("/kvm/teardown/64-vcpus-under-a-busy-reaper", test_lives);
    return g_test_run();
}
