/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See tracker-oracle.h. */
#include "qemu/osdep.h"

#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "tracker-oracle.h"

#define CHUNK UINT64_C(256) /* pages per clean */

GuestVcpu *va, *vb;

static struct {
    _Atomic bool armed;
    enum {
        OF_VCPU,
        OF_REAPER,
        OF_TRACKER
    } kind; /* whose point: */
    DirtyReaperPoint reaper_point;
    DirtyTrackerPoint tracker_point;
    int point;
    GuestVcpu *v;
    QemuEvent reached, go;
    QemuEvent waiting; /* a handshake waits for somebody */
} hold;

/* ---- holding a thread ---- */

static void stay(void)
{
    if (atomic_exchange(&hold.armed, false)) {
        qemu_event_set(&hold.reached);
        qemu_event_wait(&hold.go);
    }
}

void hold_vcpu_point(int point, GuestVcpu *v)
{
    /* Acquire: pairs with the release in arm_hold(). */
    if (atomic_load_explicit(&hold.armed, memory_order_acquire) &&
        hold.kind == OF_VCPU && point == hold.point &&
        (!hold.v || hold.v == v)) {
        stay();
    }
}

void hold_handshake_waits(void)
{
    qemu_event_set(&hold.waiting);
}

static void reaper_hook(DirtyReaperPoint point)
{
    if (atomic_load_explicit(&hold.armed, memory_order_acquire) &&
        hold.kind == OF_REAPER && point == hold.reaper_point) {
        stay();
    }
}

static void tracker_hook(DirtyTrackerPoint point)
{
    if (atomic_load_explicit(&hold.armed, memory_order_acquire) &&
        hold.kind == OF_TRACKER && point == hold.tracker_point) {
        stay();
    }
}

static void arm_hold(void)
{
    qemu_event_reset(&hold.reached);
    qemu_event_reset(&hold.go);
    qemu_event_reset(&hold.waiting);
    atomic_store_explicit(&hold.armed, true, memory_order_release);
}

void hold_at(int point, GuestVcpu *v)
{
    hold.kind = OF_VCPU;
    hold.point = point;
    hold.v = v;
    arm_hold();
}

void hold_reaper_at(DirtyReaperPoint point)
{
    hold.kind = OF_REAPER;
    hold.reaper_point = point;
    arm_hold();
}

void hold_round_at(const TrackerEngine *e, DirtyTrackerPoint point)
{
    if (e->can & HAS_RINGS) {
        hold_reaper_at(DIRTY_REAPER_RESET);
    } else if (e->can & CAN_HOLD) {
        hold_at(guest_round_point(point), NULL);
    } else {
        hold.kind = OF_TRACKER;
        hold.tracker_point = point;
        arm_hold();
    }
}

void hold_wait(void)
{
    g_assert_true(qemu_event_timedwait(&hold.reached, 60000));
}

void hold_release(void)
{
    qemu_event_set(&hold.go);
}

bool hold_wait_handshake(RoundThread *r)
{
    while (!qemu_event_timedwait(&hold.waiting, 1)) {
        if (qemu_event_timedwait(&r->done, 0)) {
            return false;
        }
    }
    return true;
}

void oracle_init(void)
{
    qemu_event_init(&hold.reached, false);
    qemu_event_init(&hold.go, false);
    qemu_event_init(&hold.waiting, false);
    dirty_reaper_test_hook = reaper_hook;
    dirty_tracker_test_hook = tracker_hook;
    oracle_guest_init();
    va = guest_vcpu(GUEST_MODEL);
    vb = guest_vcpu(GUEST_MODEL);
}

void wait_content(Oracle *o, uint64_t page, uint64_t val)
{
    for (unsigned i = 0; oracle_content(o, page) < val; i++) {
        g_assert_cmpuint(i, <, 60000);
        g_usleep(1000);
    }
}

/* ---- the migration ---- */

uint64_t oracle_content(Oracle *o, uint64_t page)
{
    return __atomic_load_n((uint64_t *)(o->host + page * PAGE),
                           __ATOMIC_RELAXED);
}

void oracle_watch(Oracle *o, const TrackerEngine *e, RAMBlock *rb)
{
    *o = (Oracle){
        .e = e,
        .rb = rb,
        .host = qemu_ram_get_host_addr(rb),
        .nr_pages = qemu_ram_get_max_length(rb) / PAGE,
    };
    if (rb == guest_ram()) {
        o->nr_pages = (LISTS - GUEST_RAM_BASE) / PAGE;
    }
    o->bmap = bitmap_new(o->nr_pages);
    o->copy = g_new0(uint64_t, o->nr_pages);
    /* What devices marked before tracking began. */
    ram_block_collect_dirty(rb, 0, o->nr_pages * PAGE, MIG, NULL);
    for (uint64_t i = 0; i < o->nr_pages; i++) {
        o->copy[i] = oracle_content(o, i);
    }
}

void oracle_unwatch(Oracle *o)
{
    g_clear_pointer(&o->bmap, g_free);
    g_clear_pointer(&o->copy, g_free);
}

void oracle_begin(Oracle *o, const TrackerEngine *e)
{
    if (e->configure) {
        e->configure();
    }
    g_assert_true(dirty_tracker_select(e->ops, &error_abort));
    memory_global_dirty_log_start(
        GLOBAL_DIRTY_MIGRATION |
            (e->all_at_first ? GLOBAL_DIRTY_ALL_WRITTEN : 0),
        &error_abort);
    oracle_watch(o, e, guest_ram());
    if (e->all_at_first) {
        /* It took what was published; the tracker has it all to be cleaned. */
        bitmap_set(o->bmap, 0, o->nr_pages);
        oracle_send(o);
    }
}

void oracle_end(Oracle *o)
{
    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
    oracle_unwatch(o);
}

uint64_t oracle_take_published(Oracle *o)
{
    return ram_block_collect_dirty(o->rb, 0, o->nr_pages * PAGE, MIG, o->bmap);
}

uint64_t oracle_take(Oracle *o)
{
    memory_global_dirty_log_sync(false);
    return oracle_take_published(o);
}

void oracle_send(Oracle *o)
{
    uint64_t page = 0;

    while ((page = find_next_bit(o->bmap, o->nr_pages, page)) < o->nr_pages) {
        uint64_t first = ROUND_DOWN(page, CHUNK);
        uint64_t last = MIN(first + CHUNK, o->nr_pages);

        ram_block_clean(o->rb, first * PAGE, (last - first) * PAGE);
        for (; page < last; page++) {
            if (test_and_clear_bit(page, o->bmap)) {
                o->copy[page] = oracle_content(o, page);
            }
        }
    }
}

void oracle_round(Oracle *o)
{
    oracle_take(o);
    oracle_send(o);
}

void oracle_expect(Oracle *o, const uint64_t *pages, size_t n)
{
    g_autofree uint64_t *want = bitmap_new(o->nr_pages);

    for (size_t i = 0; i < n; i++) {
        set_bit(pages[i], want);
    }
    for (uint64_t i = 0; i < o->nr_pages; i++) {
        if (test_bit(i, want) != test_bit(i, o->bmap)) {
            g_test_message("page %" PRIu64 ": stored to %d, reported %d", i,
                           test_bit(i, want), test_bit(i, o->bmap));
            g_assert_not_reached();
        }
    }
}

void oracle_check_current(Oracle *o)
{
    oracle_round(o);
    for (uint64_t i = 0; i < o->nr_pages; i++) {
        if (o->copy[i] != oracle_content(o, i)) {
            g_test_message("page %" PRIu64 ": copy %" PRIx64
                           ", memory %" PRIx64,
                           i, o->copy[i], oracle_content(o, i));
            g_assert_not_reached();
        }
    }
}

static void *round_thread(void *opaque)
{
    RoundThread *r = opaque;

    oracle_round(r->o);
    qemu_event_set(&r->done);
    return NULL;
}

void round_start(RoundThread *r, Oracle *o)
{
    r->o = o;
    qemu_event_init(&r->done, false);
    qemu_thread_create(&r->thread, "round", round_thread, r,
                       QEMU_THREAD_JOINABLE, &error_abort);
}

void round_join(RoundThread *r)
{
    qemu_thread_join(&r->thread);
    qemu_event_destroy(&r->done);
}
