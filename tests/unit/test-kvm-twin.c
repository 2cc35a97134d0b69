/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The twin: a guest that runs moves between kernel VMs, because its tracker
 * changes. Whichever call of the kernel's fails on the way, it goes on, and no
 * page that it wrote is missed.
 *
 * The host keeps a copy of its memory, and copies what it is told was written;
 * whenever the guest stands still, the two must be the same.
 */
#include "qemu/osdep.h"

#include "accel/kvm.h"
#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/accel.h"
#include "system/dirty-choice.h"
#include "system/dirty-memory.h"
#include "system/runstate.h"

#include "kvm-mini.h"
#include "kvm-slots.h"
#include "kvm-trackers.h"
#include "kvm-twin.h"
#include "x86-twin.h"

#define NR_CPUS   3
#define RAM_BYTES (UINT64_C(32) << 20)
#define MIG       DIRTY_MEMORY_MIGRATION
#define USER      GLOBAL_DIRTY_MIGRATION

static MemoryRegion ram;
static RAMBlock *rb;
static CPUState *cpus[NR_CPUS];
static uint8_t *copy;
static uint64_t *bmap;

/* ---- the guest ---- */

static const MiniStart programs[NR_CPUS] = {
    { MINI_TOUCH, 0x400000, 0x800000, UINT64_MAX, 0 },
    { MINI_COUNT, MINI_DATA, 0, 0, 0 },
    { MINI_TOUCH, 0x1000000, 0x100000, UINT64_MAX, 0 },
};

static uint64_t seen(int i)
{
    return ldq_le_phys(&address_space_memory, programs[i].rdi);
}

static void TSA_NO_CHECK wait_for_progress(void)
{
    gint64 end = g_get_monotonic_time() + 100 * G_USEC_PER_SEC;

    for (int i = 0; i < NR_CPUS; i++) {
        uint64_t before = seen(i);

        bql_unlock();
        while (seen(i) == before) {
            g_assert_cmpint(g_get_monotonic_time(), <, end);
            sched_yield();
        }
        bql_lock();
    }
}

static void run(void)
{
    vm_start();
    wait_for_progress();
}

/* ---- its copy ---- */

static uint64_t take(void)
{
    const uint8_t *host = qemu_ram_get_host_addr(rb);
    uint64_t n;

    memory_global_dirty_log_sync(false);
    n = ram_block_test_and_clear_dirty(rb, 0, RAM_BYTES, MIG, bmap);
    for (uint64_t page = 0; page < RAM_BYTES >> DIRTY_PAGE_BITS; page++) {
        if (test_bit(page, bmap)) {
            memcpy(copy + (page << DIRTY_PAGE_BITS),
                   host + (page << DIRTY_PAGE_BITS), DIRTY_PAGE_SIZE);
            clear_bit(page, bmap);
        }
    }
    return n;
}

static void check(void)
{
    const uint8_t *host = qemu_ram_get_host_addr(rb);

    pause_all_vcpus();
    take();
    for (uint64_t at = 0; at < RAM_BYTES; at += DIRTY_PAGE_SIZE) {
        if (memcmp(copy + at, host + at, DIRTY_PAGE_SIZE)) {
            g_error("page 0x%" PRIx64 " was written and not reported, by "
                    "'%s'",
                    at, dirty_tracker_active()->name);
        }
    }
    resume_all_vcpus();
}

static void begin(const DirtyTrackerOps *ops)
{
    g_assert_true(dirty_tracker_change(ops, &error_abort));
    g_assert_true(memory_global_dirty_log_start(USER, &error_abort));
    memcpy(copy, qemu_ram_get_host_addr(rb), RAM_BYTES);
    run();
    check();
}

static void end(void)
{
    check();
    vm_stop(RUN_STATE_PAUSED);
    memory_global_dirty_log_stop(USER);
    ram_block_collect_dirty(rb, 0, RAM_BYTES, MIG, NULL);
}

static void change(const DirtyTrackerOps *ops)
{
    g_assert_true(memory_global_dirty_log_switch(ops, USER, &error_abort));
    g_assert_true(dirty_tracker_active() == ops);
    g_assert_false(ops->move && dirty_tracker_must_move(ops));
}

/* ---- many changes ---- */

static unsigned many(void)
{
    const char *text = g_getenv("KVM_TWIN_MOVES");

    return text ? atoi(text) : 50;
}

static void test_many(void)
{
    int64_t sum = 0, most = 0;
    KvmTwinStats before, s;

    begin(&kvm_bitmap_tracker);
    before = s = kvm_twin_stats();
    for (unsigned i = 0; i < many(); i++) {
        change(i % 2 ? &kvm_bitmap_tracker : &kvm_ring_tracker);
        s = kvm_twin_stats();
        sum += s.stand_ns;
        most = MAX(most, s.stand_ns);
        wait_for_progress();
        if (i % 3) {
            take();
        }
        if (i % 5 == 0) {
            check();
        }
    }
    end();
    g_assert_cmpuint(s.moves - before.moves, ==, many());
    g_assert_cmpuint(s.failures, ==, before.failures);
    g_test_message("%u changes; vCPUs stood for %.3f ms on average, %.3f at "
                   "most; the last one: prepared in %.3f, saved %.3f, loaded "
                   "%.3f, swapped %.3f",
                   many(), sum * 1e-6 / many(), most * 1e-6,
                   s.prepare_ns * 1e-6, s.save_ns * 1e-6, s.load_ns * 1e-6,
                   s.swap_ns * 1e-6);
}

static void *kick_storm(void *opaque)
{
    _Atomic bool *stop = opaque;

    for (unsigned i = 0; !atomic_load(stop); i++) {
        qemu_cpu_kick(cpus[i % NR_CPUS]);
        g_usleep(20);
    }
    return NULL;
}

/* Threads that know nothing of it kick vCPUs all the time. */
static void test_kicked(void)
{
    _Atomic bool stop = false;
    QemuThread thread;

    begin(&kvm_ring_tracker);
    qemu_thread_create(&thread, "kick", kick_storm, &stop, QEMU_THREAD_JOINABLE,
                       &error_abort);
    for (unsigned i = 0; i < 20; i++) {
        change(i % 2 ? &kvm_ring_tracker : &kvm_bitmap_tracker);
        wait_for_progress();
    }
    atomic_store(&stop, true);
    qemu_thread_join(&thread);
    end();
}

/* Nobody tracks; the guest runs, or stands. */
static void test_idle(void)
{
    for (unsigned running = 0; running < 2; running++) {
        if (running) {
            run();
        }
        dirty_tracker_change(&kvm_bitmap_tracker, &error_abort);
        g_assert_cmpint(kvm_vm()->kind, ==, KVM_LOG_BITMAP);
        dirty_tracker_change(&kvm_ring_tracker, &error_abort);
        g_assert_cmpint(kvm_vm()->kind, ==, KVM_LOG_RING);
        g_assert_cmpuint(kvm_slots_count(kvm_vm(), true), ==, 0);
        if (running) {
            wait_for_progress();
            vm_stop(RUN_STATE_PAUSED);
        }
    }
}

static void test_ring_size(void)
{
    static const uint32_t entries[] = { 256, 65536, 4096 };

    for (unsigned i = 0; i < ARRAY_SIZE(entries); i++) {
        dirty_tracking_set_ring_entries(entries[i]);
        begin(&kvm_ring_tracker);
        g_assert_cmpuint(kvm_vm()->ring_entries, ==, entries[i]);
        wait_for_progress();
        end();
    }
}

/* ---- what goes wrong ---- */

static unsigned open_files(void)
{
    g_autoptr(GDir) dir = g_dir_open("/proc/self/fd", 0, NULL);
    unsigned n = 0;

    while (g_dir_read_name(dir)) {
        n++;
    }
    return n;
}

static void assert_nothing_left(unsigned files)
{
    kvm_twin_wait_freed();
    g_assert_cmpuint(open_files(), ==, files);
}

static void each_call_fails(const DirtyTrackerOps *from,
                            const DirtyTrackerOps *to)
{
    KvmLogKind kind;
    unsigned n, failed = 0, went_on = 0, files;

    begin(from);
    kvm_twin_wait_freed();
    files = open_files();
    kind = kvm_vm()->kind;
    for (n = 1;; n++) {
        Error *err = NULL;
        bool ok, fired;

        kvm_fault_arm(n, ENOMEM, KVM_CALL_ANY);
        ok = memory_global_dirty_log_switch(to, USER, &err);
        fired = kvm_fault_fired();
        kvm_fault_arm(0, 0, KVM_CALL_ANY);
        wait_for_progress();
        check();
        if (!ok) {
            g_test_message("%s: %s", kvm_call_name(kvm_fault_fired_index()),
                           error_get_pretty(err));
            error_free(err);
            g_assert_true(fired);
            g_assert_true(dirty_tracker_active() == from);
            g_assert_cmpint(kvm_vm()->kind, ==, kind);
            failed++;
        } else {
            went_on += fired;
            change(from);
        }
        assert_nothing_left(files);
        if (!fired) {
            break;
        }
        g_assert_cmpuint(n, <, 2000);
    }
    end();
    g_test_message("%u calls; %u ended the change, without %u it went on",
                   n - 1, failed, went_on);
    g_assert_cmpuint(failed, >=, 50);
}

static void test_each_call_to_rings(void)
{
    each_call_fails(&kvm_bitmap_tracker, &kvm_ring_tracker);
}

static void test_each_call_to_bitmap(void)
{
    each_call_fails(&kvm_ring_tracker, &kvm_bitmap_tracker);
}

/* The guest has moved, and the tracker does not start there. */
static bool start_fails(RAMBlock *const *blocks, size_t nr_blocks,
                        DirtyTrackerFirst *first, Error **errp)
{
    error_setg(errp, "it does not start");
    return false;
}

static void test_start_fails(void)
{
    for (unsigned i = 0; i < 2; i++) {
        const DirtyTrackerOps *from = i ? &kvm_bitmap_tracker
                                        : &kvm_ring_tracker;
        DirtyTrackerOps bad = i ? kvm_ring_tracker : kvm_bitmap_tracker;
        KvmTwinStats before = kvm_twin_stats();
        Error *err = NULL;
        unsigned files;
        KvmVm *vm;

        bad.start = start_fails;
        begin(from);
        kvm_twin_wait_freed();
        files = open_files();
        vm = kvm_vm();
        g_assert_false(memory_global_dirty_log_switch(&bad, USER, &err));
        g_assert_nonnull(strstr(error_get_pretty(err), "does not start"));
        error_free(err);
        g_assert_true(kvm_vm() == vm);
        g_assert_cmpuint(kvm_twin_stats().backs, ==, before.backs + 1);
        wait_for_progress();
        assert_nothing_left(files);
        end();
    }
}

/* ---- rings that cannot be freed ---- */

/* It would come out of the guest for ever, with a ring that stays full. */
static void TSA_NO_CHECK test_stuck(void)
{
    dirty_tracking_set_ring_entries(1024); /* fewer than it writes */
    begin(&kvm_ring_tracker);
    kvm_fault_arm_all(EFAULT, kvm_call_index(KVM_RESET_DIRTY_RINGS));
    for (int ms = 0; !runstate_check(RUN_STATE_INTERNAL_ERROR); ms++) {
        g_assert_cmpint(ms, <, 20000);
        bql_unlock();
        g_usleep(1000);
        bql_lock();
        runstate_process_requests();
    }
    g_assert_true(all_vcpus_paused());
    /* It is one that a reset ends; here nothing was wrong. */
    kvm_fault_arm(0, 0, KVM_CALL_ANY);
    runstate_set(RUN_STATE_PRELAUNCH);
    vm_start();
    wait_for_progress();
    end();
    /* And then it is as ever. */
    dirty_tracking_set_ring_entries(4096);
    begin(&kvm_ring_tracker);
    end();
}

/* ---- timers ---- */

static void set_reg(struct kvm_lapic_state *s, unsigned offset, uint32_t v)
{
    memcpy(s->regs + offset, &v, sizeof(v));
}

static uint32_t get_reg(const struct kvm_lapic_state *s, unsigned offset)
{
    uint32_t v;

    memcpy(&v, s->regs + offset, sizeof(v));
    return v;
}

/* Vector 0x41, @mode of the LVT's bits 17 and 18, by 1. */
static struct kvm_lapic_state timer(unsigned mode, uint32_t init, uint32_t now)
{
    struct kvm_lapic_state s = { .regs = { 0 } };

    set_reg(&s, 0x320, 0x41 | mode << 17);
    set_reg(&s, 0x380, init);
    set_reg(&s, 0x390, now);
    set_reg(&s, 0x3e0, 0xb);
    return s;
}

static void test_apic_timer(void)
{
    struct kvm_lapic_state s = timer(1, 1000000, 400000);

    g_assert_true(kvm_x86_apic_fired_since(&s, 600001));
    g_assert_false(kvm_x86_apic_fired_since(&s, 600000));
    kvm_x86_apic_advance(&s, 300000);
    g_assert_cmpuint(get_reg(&s, 0x390), ==, 100000);
    g_assert_false(kvm_x86_apic_is_requested(&s, 0x41));
    kvm_x86_apic_advance(&s, 300000);
    g_assert_cmpuint(get_reg(&s, 0x390), ==, 800000);
    g_assert_true(kvm_x86_apic_is_requested(&s, 0x41));
    kvm_x86_apic_advance(&s, 2900000);
    g_assert_cmpuint(get_reg(&s, 0x390), ==, 900000);

    /* By 16; masked. */
    s = timer(1, 1000, 100);
    set_reg(&s, 0x3e0, 3);
    set_reg(&s, 0x320, 0x41 | 1 << 16 | 1 << 17);
    kvm_x86_apic_advance(&s, 101 * 16);
    g_assert_cmpuint(get_reg(&s, 0x390), ==, 999);
    g_assert_false(kvm_x86_apic_is_requested(&s, 0x41));

    /* Once: it is left to fire at once; or it has fired. */
    s = timer(0, 1000000, 5000);
    g_assert_false(kvm_x86_apic_is_over(&s));
    kvm_x86_apic_advance(&s, 10000);
    g_assert_cmpuint(get_reg(&s, 0x390), ==, 1);
    g_assert_cmpuint(get_reg(&s, 0x380), ==, 1000000);
    s = timer(0, 1000000, 0);
    g_assert_true(kvm_x86_apic_is_over(&s));
    kvm_x86_apic_advance(&s, 10000);
    g_assert_cmpuint(get_reg(&s, 0x380), ==, 0);

    /* A deadline is none of these. */
    s = timer(2, 1000000, 5000);
    kvm_x86_apic_advance(&s, 10000);
    g_assert_cmpuint(get_reg(&s, 0x390), ==, 5000);
}

static void test_skip(void)
{
    g_test_skip(mini_unusable());
}

static void TSA_ACQUIRE(bql) make_machine(void)
{
    qom_register_types();
    accel_register_types();
    cpu_register_types();
    kvm_accel_register_types();
    mini_cpu_register_type();
    mini_init();
    g_assert_true(accel_try("kvm", NULL, NULL, &error_abort));
    rb = mini_ram(&ram, "ram", 0, RAM_BYTES);
    mini_load();
    for (int i = 0; i < NR_CPUS; i++) {
        cpus[i] = CPU(object_new(TYPE_MINI_CPU));
        g_assert_true(cpu_realize(cpus[i], &error_abort));
        mini_starts[i] = programs[i];
    }
    cpu_synchronize_all_post_reset();
    dirty_tracking_set_ring_entries(4096);
    copy = g_malloc0(RAM_BYTES);
    bmap = bitmap_new(RAM_BYTES >> DIRTY_PAGE_BITS);
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    int ret;

    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/kvm/twin/apic-timer", test_apic_timer);
    if (mini_unusable()) {
        g_test_add_func("/kvm/twin", test_skip);
        return g_test_run();
    }
    make_machine();
    g_test_add_func("/kvm/twin/idle", test_idle);
    g_test_add_func("/kvm/twin/many", test_many);
    g_test_add_func("/kvm/twin/kicked", test_kicked);
    g_test_add_func("/kvm/twin/ring-size", test_ring_size);
    g_test_add_func("/kvm/twin/fail/each-call-to-rings",
                    test_each_call_to_rings);
    g_test_add_func("/kvm/twin/fail/each-call-to-bitmap",
                    test_each_call_to_bitmap);
    g_test_add_func("/kvm/twin/fail/start", test_start_fails);
    g_test_add_func("/kvm/twin/fail/rings-stuck", test_stuck);
    ret = g_test_run();
    cpus_shutdown();
    bql_unlock();
    kvm_twin_wait_freed();
    g_free(copy);
    g_free(bmap);
    return ret;
}
