/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tracker oracle: its guest on the software engine. See tracker-oracle.h. */
#include "qemu/osdep.h"

#include "native.h"
#include "tracker-oracle.h"

#define CODE_STORE (GUEST_RAM_BASE + 0x200000)
#define CODE_LOOP  (GUEST_RAM_BASE + 0x201000)
#define CODE_WFE   (GUEST_RAM_BASE + 0x202000)
#define CODE_CROSS (GUEST_RAM_BASE + 0x203000)
#define CODE_LAST  (GUEST_RAM_BASE + 0x204000)
#define CROSS_OPS  63 /* stores in a block */
#define WFE_FLAG   (LISTS + 2 * LIST_BYTES)

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

static void hook(TcgTestPoint point, TcgVcpu *v)
{
    if (point == TCG_POINT_WAITING) {
        hold_handshake_waits();
    }
    hold_vcpu_point(point, v);
}

void TSA_ACQUIRE(bql) oracle_guest_init(void)
{
    guest_init();
    tcg_native_use(TCG_NATIVE_EVERYWHERE);
    tcg_test_hook = hook;
    load_programs();
}

const int guest_points[GUEST_POINT_NUM] = {
    [GUEST_POINT_FAULT] = TCG_POINT_FAULT,
    [GUEST_POINT_MARKED] = TCG_POINT_MARKED,
    [GUEST_POINT_STORED] = TCG_POINT_STORED,
};

int guest_round_point(DirtyTrackerPoint point)
{
    static const TcgTestPoint own[] = {
        [DIRTY_TRACKER_COLLECTED] = TCG_POINT_COLLECTED,
        [DIRTY_TRACKER_CLEAN_TAKEN] = TCG_POINT_CLEAN_TAKEN,
        [DIRTY_TRACKER_CLEANED] = TCG_POINT_CLEAN_ASKED,
    };

    return own[point];
}

uint64_t guest_faults(GuestVcpu *v)
{
    return atomic_load(&v->stats.dirty_faults);
}

uint32_t guest_ring_used(GuestVcpu *v)
{
    return dirty_ring_used(&v->ring);
}

void guest_forget_code(GuestVcpu *v)
{
    v->flush_pending = true; /* what the accelerator does then */
    tcg_ask(v);
}

bool guest_is_asleep(GuestVcpu *v)
{
    return !atomic_load(&v->active);
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
