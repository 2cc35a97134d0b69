/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Nth call of KVM fails while a guest is tracked, for every N.
 *
 * One run: tracking on; rounds of "the guest writes known pages, collect, take,
 * clean", among them changes of mappings of the tracked block; tracking off.
 * Then either tracking did not begin, with a reason, or each page that the
 * guest wrote was reported after it was written. More pages may be reported:
 * that is the safe fallback.
 *
 * The guest's program takes its orders from memory, so that running it makes
 * no call but KVM_RUN, which the walk leaves alone.
 */
#include "qemu/osdep.h"

#include "kvm-caps.h"
#include "kvm-harness.h"
#include "kvm-slots.h"
#include "kvm-trackers.h"
#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "system/dirty-choice.h"

#define PAGE       UINT64_C(4096)
#define ORDER      UINT64_C(0x30000) /* address, bytes; in low memory */
#define ALIAS_BASE UINT64_C(0x80000000)
#define ALIAS_SKIP (UINT64_C(4) << 20) /* of the block */
#define ALIAS_SIZE (UINT64_C(1) << 20)

static GuestVcpu *guest_cpu;
static MemoryRegion alias;

/* ---- one run ---- */

static void guest_does(hwaddr addr, uint64_t npages)
{
    KvmVcpu *v = guest_cpu->v;
    int ret;

    stq_le_phys(&address_space_memory, ORDER, addr);
    stq_le_phys(&address_space_memory, ORDER + 8, npages * PAGE);
    g_assert_true(kvm_vm_try_mend(kvm_vm()));
    while (!mini_run(v, &ret)) {
        if (ret == 0 && v->run->exit_reason == KVM_EXIT_DIRTY_RING_FULL) {
            dirty_tracker_vcpu_exit(guest_cpu->cs);
        } else {
            g_assert_cmpint(ret, ==, -EINTR);
        }
    }
}

/* All of [first, +npages) of the block must have been reported. */
static void check_reported(uint64_t first, uint64_t npages, unsigned flags)
{
    RAMBlock *rb = guest_ram();
    ram_addr_t length = qemu_ram_get_used_length(rb);
    g_autofree uint64_t *bmap = g_new0(uint64_t, length / PAGE / 64);

    memory_global_dirty_log_sync(flags & DIRTY_COLLECT_LAST);
    ram_block_test_and_clear_dirty(rb, 0, length, DIRTY_MEMORY_MIGRATION, bmap);
    for (uint64_t i = first; i < first + npages; i++) {
        if (!(bmap[i / 64] >> i % 64 & 1)) {
            g_error("page %" PRIu64 " of [%" PRIu64 ", +%" PRIu64 ") is lost",
                    i, first, npages);
        }
    }
}

static void round_of(uint64_t first, uint64_t npages)
{
    guest_does(GUEST_RAM_BASE + first * PAGE, npages);
    check_reported(first, npages, 0);
}

/* Through another mapping of the block, which comes, changes and goes. */
static void rounds_with_alias(void)
{
    const uint64_t skip = ALIAS_SKIP / PAGE;

    memory_region_add_subregion(get_system_memory(), ALIAS_BASE, &alias);
    guest_does(ALIAS_BASE + 3 * PAGE, 70);
    check_reported(skip + 3, 70, 0);
    guest_does(ALIAS_BASE + 5 * PAGE, 20);
    memory_region_set_readonly(&alias, true);
    check_reported(skip + 5, 20, 0);
    memory_region_set_readonly(&alias, false);
    guest_does(ALIAS_BASE + 7 * PAGE, 20);
    guest_does(GUEST_RAM_BASE + 9 * PAGE, 65);
    memory_region_del_subregion(get_system_memory(), &alias);
    check_reported(skip + 7, 20, 0);
}

/* False: it did not begin. */
static bool track_once(Error **errp)
{
    if (!memory_global_dirty_log_start(GLOBAL_DIRTY_MIGRATION, errp)) {
        return false;
    }
    round_of(0, 1000); /* more than the smaller rings hold */
    round_of(100, 64);
    round_of(63, 130);
    rounds_with_alias();
    round_of(0, 1000);
    guest_does(GUEST_RAM_BASE + 10 * PAGE, 5);
    check_reported(10, 5, DIRTY_COLLECT_LAST);
    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
    return true;
}

static void walk(const DirtyTrackerOps *ops)
{
    unsigned refused = 0, n;

    g_assert_true(dirty_tracker_select(ops, &error_abort));
    mini_start(guest_cpu->v, MINI_ORDER, ORDER, 0, 0, 0);
    for (n = 1;; n++) {
        Error *err = NULL;
        bool ok;

        kvm_fault_arm(n, ENOMEM, KVM_CALL_ANY);
        ok = track_once(&err);
        if (!kvm_fault_fired()) {
            g_assert_true(ok);
            break;
        }
        kvm_fault_arm(0, 0, KVM_CALL_ANY);
        g_assert_true(ok == !err);
        if (err) {
            refused++;
            g_assert_null(strchr(error_get_pretty(err), '\n'));
            g_assert_cmpuint(kvm_slots_count(kvm_vm(), true), ==, 0);
            error_free(err);
        }
        /* Whatever it was, it is over. */
        g_assert_true(track_once(&error_abort));
        g_assert_cmpuint(kvm_slots_count(kvm_vm(), true), ==, 0);
    }
    kvm_fault_arm(0, 0, KVM_CALL_ANY);
    g_test_message("%u calls, %u of them make it refuse", n - 1, refused);
    g_assert_cmpuint(n, >, 15);
    g_assert_cmpuint(refused, >=, 1);
    g_assert_true(dirty_tracker_select(&dirty_tracker_null, &error_abort));
}

static void use_bitmap(uint64_t slot_bytes)
{
    guest_use_vm(&(KvmVmConfig){ .kind = KVM_LOG_BITMAP,
                                 .irqchip = KVM_IRQCHIP_OFF,
                                 .slot_bytes = slot_bytes });
}

static void test_bitmap(void)
{
    use_bitmap(0);
    walk(&kvm_bitmap_tracker);
}

static void test_bitmap_small_slots(void)
{
    use_bitmap(UINT64_C(16) << 20);
    walk(&kvm_bitmap_tracker);
}

static void test_bitmap_without_manual(void)
{
    use_bitmap(UINT64_C(48) << 20); /* a VM of its own */
    if (kvm_vm()->manual_protect) {
        kvm_vm_enable_cap(kvm_vm(), KVM_CAP_MANUAL_DIRTY_LOG_PROTECT2, 0);
        kvm_vm()->manual_protect = 0;
    }
    walk(&kvm_bitmap_tracker);
}

static void test_ring(gconstpointer entries)
{
    uint32_t n = GPOINTER_TO_UINT(entries);

    if (!kvm_ring_cap()) {
        g_test_skip("this kernel has no dirty rings");
        return;
    }
    dirty_tracking_set_ring_entries(n);
    guest_use_vm(&(KvmVmConfig){
        .kind = KVM_LOG_RING, .ring_entries = n, .irqchip = KVM_IRQCHIP_OFF });
    walk(&kvm_ring_tracker);
}

static void test_skip(void)
{
    g_test_skip(mini_unusable());
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (mini_unusable()) {
        g_test_add_func("/kvm/faults", test_skip);
        return g_test_run();
    }
    guest_init();
    guest_cpu = guest_vcpu(GUEST_MODEL);
    memory_region_init_alias(&alias, NULL, "alias", guest_ram_region(),
                             ALIAS_SKIP, ALIAS_SIZE);
    g_test_add_func("/kvm/faults/bitmap", test_bitmap);
    g_test_add_func("/kvm/faults/bitmap-small-slots", test_bitmap_small_slots);
    g_test_add_func("/kvm/faults/bitmap-without-manual-protection",
                    test_bitmap_without_manual);
    g_test_add_data_func("/kvm/faults/ring-of-256", GUINT_TO_POINTER(256),
                         test_ring);
    g_test_add_data_func("/kvm/faults/ring-of-65536", GUINT_TO_POINTER(65536),
                         test_ring);
    return g_test_run();
}
