/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The active tracker and its wrappers: see include/system/dirty-tracker.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/cpus.h"
#include "system/dirty-tracker.h"

#include "ram-block-internal.h"

static bool null_probe(Error **errp)
{
    return true;
}

static bool null_setup(Error **errp)
{
    return true;
}

static bool null_start(RAMBlock *const *blocks, size_t nr_blocks,
                       DirtyTrackerFirst *first, Error **errp)
{
    *first = DIRTY_TRACKER_FIRST_WRITTEN;
    return true;
}

static void null_stop(RAMBlock *const *blocks, size_t nr_blocks)
{
}

static void null_collect(RAMBlock *block, ram_addr_t start, ram_addr_t length,
                         unsigned flags)
{
}

static void null_clean(RAMBlock *block, ram_addr_t start, ram_addr_t length)
{
}

/* Nothing to do is right here, because nothing runs that it could miss. */
const DirtyTrackerOps dirty_tracker_null = {
    .name = "null",
    .probe = null_probe,
    .setup = null_setup,
    .start = null_start,
    .stop = null_stop,
    .collect = null_collect,
    .clean = null_clean,
};

/* One call into the tracker, of which others must keep clear. */
typedef struct Span {
    RAMBlock *block; /* NULL: everything */
    ram_addr_t start, end;
    struct Span *next;
} Span;

/* One per process, like the accelerator that it belongs to. */
static struct {
    /* For looking at and changing the list; not held during a call. */
    QemuMutex lock;
    QemuCond left;
    Span *oldest, *newest; /* in order of arrival; on their threads' stacks */

    /* Changed by who has everything to himself; read by who has a span. */
    unsigned nr_armed; /* blocks */

    GPtrArray *set_up; /* DirtyTrackerOps whose setup was called; BQL */
    const DirtyTrackerOps *_Atomic active;
    QemuMutex written_lock; /* around attribute and written_pages */
} tracker = {
    .lock = { PTHREAD_MUTEX_INITIALIZER },
    .left = { PTHREAD_COND_INITIALIZER },
    .written_lock = { PTHREAD_MUTEX_INITIALIZER },
    .active = &dirty_tracker_null,
};

void (*dirty_tracker_wait_hook)(void);
void (*dirty_tracker_test_hook)(DirtyTrackerPoint point);

static bool overlaps(const Span *a, const Span *b)
{
    return !a->block || !b->block ||
           (a->block == b->block && a->start < b->end && b->start < a->end);
}

/*
 * Whether one that came earlier is in the way, be it inside or waiting: so
 * nobody waits for ever behind those that keep coming.
 */
static bool must_wait(const Span *span)
{
    for (const Span *s = tracker.oldest; s != span; s = s->next) {
        if (overlaps(s, span)) {
            return true;
        }
    }
    return false;
}

static void span_enter(Span *span)
{
    QEMU_LOCK_GUARD(&tracker.lock);
    if (tracker.newest) {
        tracker.newest->next = span;
    } else {
        tracker.oldest = span;
    }
    tracker.newest = span;
    if (must_wait(span) && dirty_tracker_wait_hook) {
        dirty_tracker_wait_hook();
    }
    while (must_wait(span)) {
        qemu_cond_wait(&tracker.left, &tracker.lock);
    }
}

static void span_leave(Span *span)
{
    Span *before = NULL;

    QEMU_LOCK_GUARD(&tracker.lock);
    for (Span *s = tracker.oldest; s != span; s = s->next) {
        before = s;
    }
    if (before) {
        before->next = span->next;
    } else {
        tracker.oldest = span->next;
    }
    if (tracker.newest == span) {
        tracker.newest = before;
    }
    qemu_cond_broadcast(&tracker.left);
}

/* Whole pages: two threads never share one. */
static Span span_of(RAMBlock *block, ram_addr_t start, ram_addr_t length)
{
    return (Span){
        .block = block,
        .start = ROUND_DOWN(start, DIRTY_PAGE_SIZE),
        .end = ROUND_UP(start + length, DIRTY_PAGE_SIZE),
    };
}

static bool is_complete(const DirtyTrackerOps *ops)
{
    return ops->name && ops->probe && ops->setup && ops->start && ops->stop &&
           ops->collect && ops->clean;
}

/* Probe, and set up unless that was done. */
static bool make_ready(const DirtyTrackerOps *ops, Error **errp)
{
    ERRP_GUARD();

    if (!ops->probe(errp)) {
        error_prepend(errp, "dirty tracking '%s' is not possible: ", ops->name);
        return false;
    }
    if (!tracker.set_up) {
        tracker.set_up = g_ptr_array_new();
    }
    if (!g_ptr_array_find(tracker.set_up, ops, NULL)) {
        if (!ops->setup(errp)) {
            error_prepend(errp, "dirty tracking '%s': ", ops->name);
            return false;
        }
        g_ptr_array_add(tracker.set_up, (gpointer)ops);
    }
    return true;
}

/* ---- where the guest has to be ---- */

bool dirty_tracker_must_move(const DirtyTrackerOps *ops)
{
    return ops->move && !ops->move->is_there();
}

static GPtrArray *tracked_blocks(void)
{
    GPtrArray *blocks = qemu_ram_blocks_snapshot();

    for (guint i = blocks->len; i-- > 0;) {
        if (!ram_block_is_tracked(blocks->pdata[i])) {
            g_ptr_array_remove_index(blocks, i);
        }
    }
    return blocks;
}

bool dirty_tracker_move_prepare(const DirtyTrackerOps *ops, Error **errp)
{
    ERRP_GUARD();
    g_autoptr(GPtrArray) blocks = tracked_blocks();

    assert(bql_locked());
    if (!ops->probe(errp)) {
        error_prepend(errp, "dirty tracking '%s' is not possible: ", ops->name);
        return false;
    }
    if (!ops->move->prepare((RAMBlock *const *)blocks->pdata, blocks->len,
                            errp)) {
        error_prepend(errp,
                      "cannot change dirty tracking to '%s': ", ops->name);
        return false;
    }
    return true;
}

void dirty_tracker_move_finish(const DirtyTrackerOps *ops)
{
    assert(bql_locked());
    ops->move->finish();
}

static bool move_failed(const DirtyTrackerOps *ops, Error **errp)
{
    error_prepend(errp, "cannot change dirty tracking to '%s': ", ops->name);
    return false;
}

/* ---- one for another, nothing armed ---- */

static bool select_alone(const DirtyTrackerOps *ops, Error **errp)
{
    ERRP_GUARD();

    if (tracker.nr_armed) {
        g_autofree char *users = NULL;

        if (ops == dirty_tracker_active()) {
            return true;
        }
        users = dirty_log_users_string();
        error_setg(errp,
                   "dirty tracking '%s' is in use (%s): cannot change it to "
                   "'%s' now",
                   dirty_tracker_active()->name, users, ops->name);
        return false;
    }
    if (!make_ready(ops, errp)) {
        return false;
    }
    if (dirty_tracker_must_move(ops) &&
        !(ops->move->save(errp) && ops->move->go(errp))) {
        return move_failed(ops, errp);
    }
    atomic_store_explicit(&tracker.active, ops, memory_order_release);
    return true;
}

bool dirty_tracker_select(const DirtyTrackerOps *ops, Error **errp)
{
    Span all = { NULL };
    bool ok;

    assert(is_complete(ops));
    span_enter(&all);
    ok = select_alone(ops, errp);
    span_leave(&all);
    return ok;
}

/* ---- replacing one that is armed ---- */

/* Blocks for dirty_tracker_all; under everything-to-itself, and the BQL. */
static GPtrArray *lost_blocks;

static bool all_start(RAMBlock *const *blocks, size_t nr_blocks,
                      DirtyTrackerFirst *first, Error **errp)
{
    if (!lost_blocks) {
        lost_blocks = g_ptr_array_new();
    }
    for (size_t i = 0; i < nr_blocks; i++) {
        g_ptr_array_add(lost_blocks, blocks[i]);
    }
    *first = DIRTY_TRACKER_FIRST_ALL;
    return true;
}

static void all_stop(RAMBlock *const *blocks, size_t nr_blocks)
{
    for (size_t i = 0; i < nr_blocks; i++) {
        g_ptr_array_remove(lost_blocks, blocks[i]);
    }
}

static void all_collect(RAMBlock *block, ram_addr_t start, ram_addr_t length,
                        unsigned flags)
{
    if (block) {
        ram_block_set_dirty(block, start, length, DIRTY_CLIENTS_NOCODE);
        return;
    }
    for (guint i = 0; i < lost_blocks->len; i++) {
        RAMBlock *rb = lost_blocks->pdata[i];

        ram_block_set_dirty(rb, 0, rb->max_length, DIRTY_CLIENTS_NOCODE);
    }
}

/* Knows nothing, and so says that everything was written. */
static const DirtyTrackerOps dirty_tracker_all = {
    .name = "all",
    .probe = null_probe,
    .setup = null_setup,
    .start = all_start,
    .stop = all_stop,
    .collect = all_collect,
    .clean = null_clean,
};

/* Its place for @ops, nothing armed any more. */
static bool go_and_start(const DirtyTrackerOps *ops, bool move,
                         GPtrArray *blocks, Error **errp)
{
    DirtyTrackerFirst first = DIRTY_TRACKER_FIRST_WRITTEN;

    if (move && !ops->move->go(errp)) {
        return move_failed(ops, errp);
    }
    if (blocks->len && !ops->start((RAMBlock *const *)blocks->pdata,
                                   blocks->len, &first, errp)) {
        if (move) {
            ops->move->go_back();
        }
        return false;
    }
    return true;
}

static bool replace_alone(const DirtyTrackerOps *ops, Error **errp)
{
    ERRP_GUARD();
    const DirtyTrackerOps *old = dirty_tracker_active();
    g_autoptr(GPtrArray) blocks = tracked_blocks();
    RAMBlock *const *rbs = (RAMBlock *const *)blocks->pdata;
    DirtyTrackerFirst first = DIRTY_TRACKER_FIRST_WRITTEN;
    bool move = dirty_tracker_must_move(ops), ok;

    if (ops == old && !move) {
        return true;
    }
    if (!make_ready(ops, errp)) {
        return false;
    }
    assert(blocks->len == tracker.nr_armed);
    if (move && !ops->move->save(errp)) {
        return move_failed(ops, errp);
    }
    if (blocks->len) {
        old->collect(NULL, 0, 0, 0);
        old->stop(rbs, blocks->len);
    }
    ok = go_and_start(ops, move, blocks, errp);
    if (!ok) {
        ops = old;
        if (blocks->len && !ops->start(rbs, blocks->len, &first, NULL)) {
            ops = &dirty_tracker_all;
            ops->start(rbs, blocks->len, &first, NULL);
        }
    }
    atomic_store_explicit(&tracker.active, ops, memory_order_release);
    return ok;
}

bool dirty_tracker_replace(const DirtyTrackerOps *ops, Error **errp)
{
    Span all = { NULL };
    bool ok;

    assert(bql_locked() && is_complete(ops));
    span_enter(&all);
    ok = replace_alone(ops, errp);
    span_leave(&all);
    return ok;
}

const DirtyTrackerOps *dirty_tracker_active(void)
{
    return atomic_load_explicit(&tracker.active, memory_order_acquire);
}

void dirty_tracker_drain_vcpu(CPUState *cpu)
{
    const DirtyTrackerOps *ops = dirty_tracker_active();

    /* Absent: a vCPU holds nothing back. */
    if (ops->drain_vcpu) {
        ops->drain_vcpu(cpu);
    }
}

bool dirty_tracker_intact(Error **errp)
{
    const DirtyTrackerOps *ops = dirty_tracker_active();

    return !ops->intact || ops->intact(errp);
}

bool dirty_tracker_can_miss(void)
{
    return dirty_tracker_active()->intact != NULL;
}

void dirty_tracker_vcpu_exit(CPUState *cpu)
{
    const DirtyTrackerOps *ops = dirty_tracker_active();

    /* Absent: it was full for a tracker that is not active any more. */
    if (ops->vcpu_exit) {
        ops->vcpu_exit(cpu);
    }
}

bool dirty_tracker_attribute(CPUState *cpu, uint64_t *pages)
{
    const DirtyTrackerOps *ops = dirty_tracker_active();

    return ops->attribute && ops->attribute(cpu, pages);
}

bool dirty_tracker_written(CPUState *cpu, uint64_t *pages)
{
    uint64_t more = 0;

    QEMU_LOCK_GUARD(&tracker.written_lock);
    if (!dirty_tracker_attribute(cpu, &more)) {
        return false;
    }
    cpu->written_pages += more;
    *pages = cpu->written_pages;
    return true;
}

void dirty_tracker_cost(DirtyTrackerCost *cost)
{
    const DirtyTrackerOps *ops = dirty_tracker_active();

    *cost = (DirtyTrackerCost){ 0 };
    if (ops->cost) {
        ops->cost(cost);
    }
}

bool dirty_tracker_groups(DirtyTrackerGroups *groups)
{
    const DirtyTrackerOps *ops = dirty_tracker_active();

    if (ops->groups) {
        ops->groups(groups);
    }
    return ops->groups;
}

bool dirty_tracker_look(DirtyPageFunc *fn, void *opaque)
{
    const DirtyTrackerOps *ops = dirty_tracker_active();

    if (ops->look) {
        ops->look(fn, opaque);
    }
    return ops->look;
}

bool dirty_tracker_start(RAMBlock *const *blocks, size_t nr_blocks,
                         DirtyTrackerFirst *first, Error **errp)
{
    Span all = { NULL };
    bool ok;

    if (nr_blocks == 0) {
        return true;
    }
    span_enter(&all);
    ok = dirty_tracker_active()->start(blocks, nr_blocks, first, errp);
    if (ok) {
        tracker.nr_armed += nr_blocks;
    }
    span_leave(&all);
    return ok;
}

void dirty_tracker_stop(RAMBlock *const *blocks, size_t nr_blocks)
{
    Span all = { NULL };

    if (nr_blocks == 0) {
        return;
    }
    span_enter(&all);
    assert(tracker.nr_armed >= nr_blocks);
    tracker.nr_armed -= nr_blocks;
    dirty_tracker_active()->stop(blocks, nr_blocks);
    span_leave(&all);
}

bool dirty_tracker_collect(RAMBlock *block, ram_addr_t start, ram_addr_t length,
                           unsigned flags)
{
    Span span = span_of(block, start, length);
    bool armed;

    span_enter(&span);
    armed = tracker.nr_armed && (!block || ram_block_is_tracked(block));
    if (armed) {
        dirty_tracker_active()->collect(block, start, length, flags);
    }
    span_leave(&span);
    return armed;
}

bool dirty_tracker_clean(RAMBlock *block, ram_addr_t start, ram_addr_t length)
{
    Span span = span_of(block, start, length);
    bool armed;

    span_enter(&span);
    armed = tracker.nr_armed && ram_block_is_tracked(block);
    if (armed) {
        dirty_tracker_active()->clean(block, start, length);
    }
    span_leave(&span);
    return armed;
}
