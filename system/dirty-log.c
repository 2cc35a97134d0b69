/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Switching dirty tracking on and off, syncing and cleaning: the part of
 * include/system/dirty-memory.h that talks to trackers and listeners.
 *
 * A block is tracked while there is a global user or its region is logged for
 * the display. `tracked` is set before the tracker arms the block and reset
 * before it disarms it: an engine looks at it when it grants write access, and
 * the tracker's start and stop take back what was granted before.
 */
#include "qemu/osdep.h"

#include "qapi/qapi-types-dirty-tracking.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/dirty-tracker.h"

#include "dirty-stats.h"
#include "memory-internal.h"
#include "ram-block-internal.h"

/* GLOBAL_DIRTY_*; written under the BQL. */
static _Atomic unsigned global_users;

unsigned memory_global_dirty_log_users(void)
{
    return atomic_load_explicit(&global_users, memory_order_acquire);
}

bool ram_block_is_tracked(RAMBlock *rb)
{
    return atomic_load_explicit(&rb->tracked, memory_order_acquire);
}

static bool arm(GPtrArray *blocks, DirtyTrackerFirst first, Error **errp)
{
    RAMBlock *const *rbs = (RAMBlock *const *)blocks->pdata;

    for (guint i = 0; i < blocks->len; i++) {
        atomic_store(&rbs[i]->tracked, true);
    }
    if (dirty_tracker_start(rbs, blocks->len, &first, errp)) {
        return true;
    }
    for (guint i = 0; i < blocks->len; i++) {
        atomic_store(&rbs[i]->tracked, false);
    }
    return false;
}

static void disarm(GPtrArray *blocks)
{
    RAMBlock *const *rbs = (RAMBlock *const *)blocks->pdata;

    for (guint i = 0; i < blocks->len; i++) {
        atomic_store(&rbs[i]->tracked, false);
    }
    dirty_tracker_stop(rbs, blocks->len);
}

/* All blocks without a display user of their own, ref'd. */
static GPtrArray *blocks_without_vga(void)
{
    GPtrArray *blocks = qemu_ram_blocks_snapshot();

    for (guint i = blocks->len; i-- > 0;) {
        if (((RAMBlock *)blocks->pdata[i])->vga_users) {
            g_ptr_array_remove_index(blocks, i);
        }
    }
    return blocks;
}

/* What was marked before the client had a user is not its matter. */
static void forget_marks(unsigned client)
{
    g_autoptr(GPtrArray) blocks = qemu_ram_blocks_snapshot();

    for (guint i = 0; i < blocks->len; i++) {
        RAMBlock *rb = blocks->pdata[i];

        ram_block_collect_dirty(rb, 0, rb->max_length, client, NULL);
    }
}

bool memory_global_dirty_log_start(unsigned users, Error **errp)
{
    unsigned old = memory_global_dirty_log_users();
    DirtyTrackerFirst first = users & GLOBAL_DIRTY_ALL_WRITTEN
                                  ? DIRTY_TRACKER_FIRST_ALL
                                  : DIRTY_TRACKER_FIRST_WRITTEN;

    users &= ~(unsigned)GLOBAL_DIRTY_ALL_WRITTEN;
    assert(bql_locked());
    assert(users && !(users & ~GLOBAL_DIRTY_MASK) && !(users & old));
    if (users & GLOBAL_DIRTY_DIRTY_RATE) {
        forget_marks(DIRTY_MEMORY_RATE);
    }
    if (!old) {
        g_autoptr(GPtrArray) blocks = blocks_without_vga();

        if (!memory_listeners_global_start(errp)) {
            return false;
        }
        if (!arm(blocks, first, errp)) {
            memory_listeners_global_stop();
            return false;
        }
    }
    atomic_store_explicit(&global_users, old | users, memory_order_release);
    return true;
}

void memory_global_dirty_log_stop(unsigned users)
{
    unsigned old = memory_global_dirty_log_users();

    assert(bql_locked());
    assert(users && (users & old) == users);
    atomic_store_explicit(&global_users, old & ~users, memory_order_release);
    if (old == users) {
        g_autoptr(GPtrArray) blocks = blocks_without_vga();

        disarm(blocks);
        memory_listeners_global_stop();
    }
}

unsigned dirty_log_all_users(void)
{
    g_autoptr(GPtrArray) blocks = qemu_ram_blocks_snapshot();
    unsigned users = memory_global_dirty_log_users();

    for (guint i = 0; i < blocks->len; i++) {
        if (((RAMBlock *)blocks->pdata[i])->vga_users) {
            users |= DIRTY_LOG_DISPLAY;
        }
    }
    return users;
}

char *dirty_log_users_string(void)
{
    /* Bit i is the schema's user i. */
    QEMU_BUILD_BUG_ON(GLOBAL_DIRTY_MIGRATION !=
                      1 << DIRTY_TRACKING_USER_MIGRATION);
    QEMU_BUILD_BUG_ON(GLOBAL_DIRTY_DIRTY_RATE !=
                      1 << DIRTY_TRACKING_USER_DIRTY_RATE);
    QEMU_BUILD_BUG_ON(GLOBAL_DIRTY_LIMIT !=
                      1 << DIRTY_TRACKING_USER_DIRTY_LIMIT);
    QEMU_BUILD_BUG_ON(DIRTY_LOG_DISPLAY != 1 << DIRTY_TRACKING_USER_DISPLAY);
    unsigned users = dirty_log_all_users();
    GString *s = g_string_new(NULL);

    for (int i = 0; i < DIRTY_TRACKING_USER__MAX; i++) {
        if (users & (1u << i)) {
            g_string_append_printf(s, "%s%s", s->len ? ", " : "",
                                   DirtyTrackingUser_str(i));
        }
    }
    return g_string_free(s, FALSE);
}

static GPtrArray *just(RAMBlock *rb)
{
    GPtrArray *blocks = g_ptr_array_new();

    g_ptr_array_add(blocks, rb);
    return blocks;
}

bool dirty_log_block_added(RAMBlock *rb, Error **errp)
{
    g_autoptr(GPtrArray) blocks = just(rb);

    return !memory_global_dirty_log_users() ||
           arm(blocks, DIRTY_TRACKER_FIRST_WRITTEN, errp);
}

void dirty_log_block_removed(RAMBlock *rb)
{
    g_autoptr(GPtrArray) blocks = just(rb);

    if (ram_block_is_tracked(rb)) {
        disarm(blocks);
    }
}

bool dirty_log_vga_start(RAMBlock *rb, Error **errp)
{
    g_autoptr(GPtrArray) blocks = just(rb);

    if (rb->vga_users == 0 && !ram_block_is_tracked(rb) &&
        !arm(blocks, DIRTY_TRACKER_FIRST_WRITTEN, errp)) {
        return false;
    }
    rb->vga_users++;
    return true;
}

void dirty_log_vga_stop(RAMBlock *rb)
{
    g_autoptr(GPtrArray) blocks = just(rb);

    assert(rb->vga_users > 0);
    if (--rb->vga_users == 0 && !memory_global_dirty_log_users()) {
        disarm(blocks);
    }
}

void memory_global_dirty_log_sync(bool last_stage)
{
    int64_t begin_ns = dirty_stats_clock_ns();

    memory_listeners_sync(last_stage);
    if (dirty_tracker_collect(NULL, 0, 0,
                              last_stage ? DIRTY_COLLECT_LAST : 0)) {
        dirty_stats_add(&dirty_stats.tracker_collects, 1);
    }
    dirty_stats_add(&dirty_stats.collect_ns, dirty_stats_clock_ns() - begin_ns);
}

void memory_global_dirty_log_look(DirtyPageFunc *fn, void *opaque)
{
    if (!dirty_tracker_look(fn, opaque)) {
        memory_global_dirty_log_sync(false);
    }
}

void ram_block_dirty_sync(RAMBlock *rb)
{
    int64_t begin_ns = dirty_stats_clock_ns();

    memory_listeners_sync_block(rb);
    if (dirty_tracker_collect(rb, 0, rb->max_length, 0)) {
        dirty_stats_add(&dirty_stats.tracker_collects, 1);
    }
    dirty_stats_add(&dirty_stats.collect_ns, dirty_stats_clock_ns() - begin_ns);
}

void ram_block_dirty_sync_range(RAMBlock *rb, ram_addr_t start,
                                ram_addr_t length)
{
    int64_t begin_ns = dirty_stats_clock_ns();

    assert(start <= rb->max_length && length <= rb->max_length - start);
    if (length && dirty_tracker_collect(rb, start, length, 0)) {
        dirty_stats_add(&dirty_stats.tracker_collects, 1);
    }
    dirty_stats_add(&dirty_stats.collect_ns, dirty_stats_clock_ns() - begin_ns);
}

void ram_block_clean(RAMBlock *rb, ram_addr_t start, ram_addr_t length)
{
    ram_addr_t end = ROUND_UP(start + length, DIRTY_PAGE_SIZE);
    int64_t begin_ns;

    if (length == 0 || !ram_block_is_tracked(rb)) {
        return;
    }
    assert(end > start && end <= rb->max_length);
    start = ROUND_DOWN(start, DIRTY_PAGE_SIZE);

    begin_ns = dirty_stats_clock_ns();
    dirty_stats_add(&dirty_stats.listener_clears,
                    memory_listeners_clear(rb, start, end - start));
    if (dirty_tracker_clean(rb, start, end - start)) {
        dirty_stats_add(&dirty_stats.tracker_cleans, 1);
    }
    dirty_stats_add(&dirty_stats.clean_ns, dirty_stats_clock_ns() - begin_ns);
}
