/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See tracker-oracle.h. */
#include "qemu/osdep.h"

#include "qemu/bitmap.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "tracker-oracle.h"

#define CODE_STORE (GUEST_RAM_BASE + 0x200000)
#define CODE_LOOP  (GUEST_RAM_BASE + 0x201000)
#define CODE_WFE   (GUEST_RAM_BASE + 0x202000)
#define CODE_CROSS (GUEST_RAM_BASE + 0x203000)
#define CODE_LAST  (GUEST_RAM_BASE + 0x204000)
#define CROSS_OPS  63 /* stores in a block */
/* Lists of addresses, one area per vCPU, behind the pages for tests. */
#define LISTS      (GUEST_RAM_BASE + 0x3c00000)
#define LIST_BYTES UINT64_C(0x100000)
#define WFE_FLAG   (LISTS + 2 * LIST_BYTES)
#define CHUNK      UINT64_C(256) /* pages per clean */

TcgVcpu *va, *vb;

static struct {
    _Atomic bool armed;
    enum {
        OF_VCPU,
        OF_REAPER,
        OF_TRACKER
    } kind; /* whose point: */
    DirtyReaperPoint reaper_point;
    DirtyTrackerPoint tracker_point;
    TcgTestPoint point;
    TcgVcpu *v;
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

static void hook(TcgTestPoint point, TcgVcpu *v)
{
    if (point == TCG_POINT_WAITING) {
        qemu_event_set(&hold.waiting);
    }
    /* Acquire: pairs with the release in arm_hold(). */
    if (atomic_load_explicit(&hold.armed, memory_order_acquire) &&
        hold.kind == OF_VCPU && point == hold.point &&
        (!hold.v || hold.v == v)) {
        stay();
    }
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

void hold_at(TcgTestPoint point, TcgVcpu *v)
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
    static const TcgTestPoint own[] = {
        [DIRTY_TRACKER_COLLECTED] = TCG_POINT_COLLECTED,
        [DIRTY_TRACKER_CLEAN_TAKEN] = TCG_POINT_CLEAN_TAKEN,
        [DIRTY_TRACKER_CLEANED] = TCG_POINT_CLEAN_ASKED,
    };

    if (e->can & HAS_RINGS) {
        hold_reaper_at(DIRTY_REAPER_RESET);
    } else if (e->can & CAN_HOLD) {
        hold_at(own[point], NULL);
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

/* ---- the guest ---- */

static void load_programs(void)
{
    uint32_t cross[2 * CROSS_OPS + 3];

    /* 1: (stp x4, x4, [x1] ; add x1, x1, x3) ... ; subs x2, x2, #1 ; b.ne 1b */
    for (unsigned i = 0; i < CROSS_OPS; i++) {
        cross[2 * i] = 0xa9001024;
        cross[2 * i + 1] = 0x8b030021;
    }
    cross[2 * CROSS_OPS] = 0xf1000442;
    cross[2 * CROSS_OPS + 1] = 0x54000001 |
                               ((-(2u * CROSS_OPS + 1) & 0x7ffff) << 5);
    cross[2 * CROSS_OPS + 2] = A64_WORD_WFI;
    guest_write(CODE_CROSS, cross, sizeof(cross));
    /* 1: ldr x5, [x1], #8 ; str x4, [x5] ; subs x2, x2, #1 ; b.ne 1b ; wfi */
    GUEST_CODE(CODE_STORE, 0xf8408425, A64_WORD_STR(4, 5), 0xf1000442,
               0x54ffffa1, A64_WORD_WFI);
    /*
     * 1: add x1, x6, #0 ; add x2, x7, #0 ; add x4, x4, #1
     * 2: ldr x5, [x1], #8 ; str x4, [x5] ; subs x2, x2, #1 ; b.ne 2b ; b 1b
     */
    GUEST_CODE(CODE_LOOP, A64_WORD_ADDI(1, 6, 0), A64_WORD_ADDI(2, 7, 0),
               A64_WORD_ADDI(4, 4, 1), 0xf8408425, A64_WORD_STR(4, 5),
               0xf1000442, 0x54ffffa1, A64_WORD_B(-7));
    /*
     * str x4, [x1] ; 1: wfe ; ldr x5, [x3] ; cbz x5, 1b ; str x4, [x2] ; wfi
     * The loop, because a WFE may end without an event.
     */
    GUEST_CODE(CODE_WFE, A64_WORD_STR(4, 1), 0xd503205f, A64_WORD_LDR(5, 3),
               0xb4ffffc5, A64_WORD_STR(4, 2), A64_WORD_WFI);
    GUEST_CODE(CODE_LAST, A64_WORD_STR(4, 5), A64_WORD_WFI);
}

void oracle_init(void)
{
    guest_init();
    va = guest_vcpu("cortex-a57");
    vb = guest_vcpu("cortex-a57");
    qemu_event_init(&hold.reached, false);
    qemu_event_init(&hold.go, false);
    qemu_event_init(&hold.waiting, false);
    tcg_test_hook = hook;
    dirty_reaper_test_hook = reaper_hook;
    dirty_tracker_test_hook = tracker_hook;
    load_programs();
}

/* Past the dirty bitmaps: a list is the test's, not the guest's. */
static void put_list(TcgVcpu *v, const uint64_t *pages, size_t n)
{
    uint64_t base = LISTS + (v == va ? 0 : LIST_BYTES);
    uint8_t *host = qemu_ram_get_host_addr(guest_ram());
    uint64_t *list = (uint64_t *)(host + (base - GUEST_RAM_BASE));

    g_assert_cmpuint(n, >, 0);
    g_assert_cmpuint(n * 8, <=, LIST_BYTES);
    for (size_t i = 0; i < n; i++) {
        list[i] = GUEST_RAM_BASE + pages[i] * PAGE;
    }
    v->env->xregs[1] = v->env->xregs[6] = base;
    v->env->xregs[2] = v->env->xregs[7] = n;
}

void guest_store_pages(TcgVcpu *v, const uint64_t *pages, size_t n,
                       uint64_t val)
{
    put_list(v, pages, n);
    v->env->xregs[4] = val;
    g_assert_cmphex(guest_run(v, CODE_STORE), ==, 0);
}

void guest_store_page(TcgVcpu *v, uint64_t page, uint64_t val)
{
    guest_store_pages(v, &page, 1, val);
}

void guest_store_crossing(TcgVcpu *v, uint64_t first, unsigned n, uint64_t val)
{
    g_assert_cmpuint(n % CROSS_OPS, ==, 0);
    v->env->xregs[1] = GUEST_RAM_BASE + (first + 1) * PAGE - 8;
    v->env->xregs[2] = n / CROSS_OPS;
    v->env->xregs[3] = 2 * PAGE;
    v->env->xregs[4] = val;
    g_assert_cmphex(guest_run(v, CODE_CROSS), ==, 0);
}

void guest_store_and_sleep(TcgVcpu *v, uint64_t page, uint64_t val)
{
    v->env->xregs[4] = val;
    v->env->xregs[5] = GUEST_RAM_BASE + page * PAGE;
    g_assert_cmphex(guest_run(v, CODE_LAST), ==, 0);
}

void guest_start_store(GuestThread *t, TcgVcpu *v, const uint64_t *pages,
                       size_t n, uint64_t val)
{
    put_list(v, pages, n);
    v->env->xregs[4] = val;
    guest_start(t, v, CODE_STORE);
}

void guest_start_loop(GuestThread *t, TcgVcpu *v, const uint64_t *pages,
                      size_t n)
{
    put_list(v, pages, n);
    v->env->xregs[4] = 0;
    guest_start(t, v, CODE_LOOP);
}

static uint64_t *wfe_flag(void)
{
    uint8_t *host = qemu_ram_get_host_addr(guest_ram());

    return (uint64_t *)(host + (WFE_FLAG - GUEST_RAM_BASE));
}

void guest_start_wfe(GuestThread *t, TcgVcpu *v, uint64_t first,
                     uint64_t second, uint64_t val)
{
    v->env->xregs[1] = GUEST_RAM_BASE + first * PAGE;
    v->env->xregs[2] = GUEST_RAM_BASE + second * PAGE;
    v->env->xregs[3] = WFE_FLAG;
    v->env->xregs[4] = val;
    __atomic_store_n(wfe_flag(), 0, __ATOMIC_RELAXED);
    guest_start(t, v, CODE_WFE);
}

void guest_end_wfe(void)
{
    __atomic_store_n(wfe_flag(), 1, __ATOMIC_RELAXED);
    tcg_send_event();
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
    memory_global_dirty_log_start(GLOBAL_DIRTY_MIGRATION, &error_abort);
    oracle_watch(o, e, guest_ram());
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
