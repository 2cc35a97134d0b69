/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of include/system/dirty-choice.h: its table of options, what can be
 * had and why not, changes between users, and that users do not meet.
 */
#include "qemu/osdep.h"

#include "idle-tracker.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/units.h"
#include "system/dirty-choice.h"
#include "system/dirty-memory.h"
#include "system/memory.h"

static bool ring_probe(Error **errp)
{
    if (dirty_tracking_ring_entries() == 0) {
        error_setg(errp, "no rings");
        return false;
    }
    return true;
}

static bool not_here(Error **errp)
{
    error_setg(errp, "not on this host");
    return false;
}

static const DirtyTrackerOps bitmap = { IDLE_TRACKER("bitmap", idle_ok) };
static const DirtyTrackerOps no_bitmap = { IDLE_TRACKER("bitmap", not_here) };
static const DirtyTrackerOps ring = { IDLE_TRACKER("ring", ring_probe) };

static const DirtyTrackerOps *const both[] = { &bitmap, &ring, NULL };
static const DirtyTrackerOps *const only_ring[] = { &no_bitmap, &ring, NULL };
static const DirtyTrackerOps *const only_bitmap[] = { &bitmap, NULL };

#define AUTO    DIRTY_TRACKING_MODE_AUTO
#define BITMAP  DIRTY_TRACKING_MODE_BITMAP
#define RING    DIRTY_TRACKING_MODE_RING
#define DBM     DIRTY_TRACKING_MODE_DBM
#define PAGEMAP DIRTY_TRACKING_MODE_PAGEMAP

typedef struct Row {
    DirtyTrackingOptions opts;
    /* Either what it becomes, */
    DirtyTrackingMode mode;
    const DirtyTrackerOps *active;
    uint32_t entries;
    /* or words of the error. */
    const char *words[3];
} Row;

/* has_mode, has_ring_entries, mode, ring_entries */
static const Row rows[] = {
    { { false, false, 0, 0 }, AUTO, &bitmap, 65536 },
    { { false, true, 0, 0 }, AUTO, &bitmap, 0 },
    { { false, true, 0, 512 }, RING, &ring, 512 },
    { { true, false, AUTO, 0 }, AUTO, &bitmap, 65536 },
    { { true, true, AUTO, 1024 }, AUTO, &bitmap, 1024 },
    { { true, true, AUTO, 0 }, AUTO, &bitmap, 0 },
    { { true, false, BITMAP, 0 }, BITMAP, &bitmap, 65536 },
    { { true, true, BITMAP, 0 }, BITMAP, &bitmap, 0 },
    { { true, false, RING, 0 }, RING, &ring, 65536 },
    { { true, true, RING, 256 }, RING, &ring, 256 },
    { { true, true, BITMAP, 256 },
      .words = { "dirty-ring-size=256", "dirty-tracking=bitmap", "=auto" } },
    { { true, true, DBM, 256 },
      .words = { "dirty-ring-size=256", "dirty-tracking=dbm", "=auto" } },
    { { true, true, RING, 0 },
      .words = { "dirty-ring-size=0", "256 to 65536", "=bitmap" } },
};

static void test_table(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(rows); i++) {
        const Row *r = &rows[i];
        Error *err = NULL;

        dirty_tracking_set_ring_entries(DIRTY_RING_DEFAULT_ENTRIES);
        if (r->words[0]) {
            g_assert_false(dirty_tracking_init("test", both, &r->opts, &err));
            for (unsigned k = 0; k < ARRAY_SIZE(r->words); k++) {
                g_assert_nonnull(strstr(error_get_pretty(err), r->words[k]));
            }
            error_free(err);
            continue;
        }
        g_assert_true(
            dirty_tracking_init("test", both, &r->opts, &error_abort));
        g_assert_cmpint(dirty_tracking_mode(), ==, r->mode);
        g_assert_true(dirty_tracker_active() == r->active);
        g_assert_cmpuint(dirty_tracking_ring_entries(), ==, r->entries);
    }
    dirty_tracking_set_ring_entries(DIRTY_RING_DEFAULT_ENTRIES);
}

static const DirtyTrackingOptions none_given;

static void assert_refused(DirtyTrackingMode mode, const char *words)
{
    DirtyTrackingMode before = dirty_tracking_mode();
    const DirtyTrackerOps *active = dirty_tracker_active();
    Error *err = NULL;

    g_assert_false(dirty_tracking_choose(mode, &err));
    g_test_message("%s", error_get_pretty(err));
    g_assert_nonnull(strstr(error_get_pretty(err), words));
    error_free(err);
    g_assert_cmpint(dirty_tracking_mode(), ==, before);
    g_assert_true(dirty_tracker_active() == active);
}

/* auto passes by what is not possible; asking for it names the reason. */
static void test_not_possible(void)
{
    g_autoptr(DirtyTrackingEngineList) list = NULL;

    dirty_tracking_init("test", only_ring, &none_given, &error_abort);
    g_assert_true(dirty_tracker_active() == &ring);
    assert_refused(BITMAP, "not on this host");
    list = dirty_tracking_engines();
    g_assert_cmpint(list->value->name, ==, BITMAP);
    g_assert_false(list->value->available);
    g_assert_cmpstr(list->value->reason, ==, "not on this host");
    g_assert_cmpint(list->next->value->name, ==, RING);
    g_assert_true(list->next->value->available);
    g_assert_null(list->next->value->reason);
    g_assert_cmpint(list->next->next->value->name, ==, DBM);
    g_assert_false(list->next->next->value->available);
    g_assert_cmpint(list->next->next->next->value->name, ==, PAGEMAP);
    g_assert_false(list->next->next->next->value->available);
    g_assert_null(list->next->next->next->next);
    dirty_tracking_choose(AUTO, &error_abort);
}

static void test_not_there(void)
{
    g_autoptr(DirtyTrackingEngineList) list = NULL;

    dirty_tracking_init("test", only_bitmap, &none_given, &error_abort);
    assert_refused(RING, "it can be: auto, bitmap");
    list = dirty_tracking_engines();
    g_assert_cmpstr(list->next->value->reason, ==,
                    "accelerator 'test' does not have it");

    dirty_tracking_init("idle", NULL, &none_given, &error_abort);
    g_assert_true(dirty_tracker_active() == &dirty_tracker_null);
    assert_refused(BITMAP, "idle");
}

/* auto goes on with what there is. */
static void test_auto_keeps(void)
{
    dirty_tracking_init("test", both, &none_given, &error_abort);
    g_assert_true(dirty_tracker_active() == &bitmap);
    dirty_tracking_choose(RING, &error_abort);
    dirty_tracking_choose(AUTO, &error_abort);
    g_assert_true(dirty_tracker_active() == &ring);
    g_assert_cmpint(dirty_tracking_mode(), ==, AUTO);
    /* Not with what is another accelerator's. */
    dirty_tracking_init("idle", NULL, &none_given, &error_abort);
    dirty_tracking_choose(AUTO, &error_abort);
    g_assert_true(dirty_tracker_active() == &dirty_tracker_null);
}

/* Between users, and back; while there are users, each is named. */
static void test_change(void)
{
    MemoryRegion vram;

    dirty_tracking_init("test", both, &none_given, &error_abort);
    dirty_tracking_choose(RING, &error_abort);
    g_assert_true(dirty_tracker_active() == &ring);
    dirty_tracking_choose(BITMAP, &error_abort);
    g_assert_true(dirty_tracker_active() == &bitmap);

    memory_region_init_ram(&vram, NULL, "vram", MiB, &error_abort);
    memory_global_dirty_log_start(GLOBAL_DIRTY_MIGRATION, &error_abort);
    assert_refused(RING, "(migration)");
    memory_global_dirty_log_start(GLOBAL_DIRTY_DIRTY_RATE, &error_abort);
    assert_refused(RING, "(migration, dirty-rate)");
    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
    memory_global_dirty_log_start(GLOBAL_DIRTY_LIMIT, &error_abort);
    assert_refused(RING, "(dirty-rate, dirty-limit)");
    memory_region_set_log(&vram, true, DIRTY_MEMORY_VGA);
    memory_global_dirty_log_stop(GLOBAL_DIRTY_DIRTY_RATE | GLOBAL_DIRTY_LIMIT);
    assert_refused(RING, "(display)");
    memory_region_set_log(&vram, false, DIRTY_MEMORY_VGA);

    dirty_tracking_choose(RING, &error_abort);
    g_assert_true(dirty_tracker_active() == &ring);
    memory_region_destroy(&vram);
}

/* One user's taking leaves the other's pages; a user begins with none. */
static void test_users_do_not_meet(void)
{
    RAMBlock *rb = qemu_ram_alloc(MiB, 0, NULL, &error_abort);

    dirty_tracking_init("test", both, &none_given, &error_abort);
    ram_block_set_dirty(rb, 0, 5 * DIRTY_PAGE_SIZE, DIRTY_CLIENTS_ALL);
    memory_global_dirty_log_start(GLOBAL_DIRTY_MIGRATION, &error_abort);
    memory_global_dirty_log_start(GLOBAL_DIRTY_DIRTY_RATE, &error_abort);
    g_assert_cmpuint(ram_block_count_dirty(rb, 0, MiB, DIRTY_MEMORY_RATE), ==,
                     0);
    ram_block_collect_dirty(rb, 0, MiB, DIRTY_MEMORY_MIGRATION, NULL);

    ram_block_set_dirty_pages(rb, 10, 20, DIRTY_CLIENTS_NOCODE);
    g_assert_cmpuint(ram_block_test_and_clear_dirty(
                         rb, 0, MiB, DIRTY_MEMORY_MIGRATION, NULL),
                     ==, 20);
    /* New for the one that took, known to the other. */
    g_assert_cmpuint(ram_block_set_dirty_pages(rb, 10, 5, DIRTY_CLIENTS_NOCODE),
                     ==, 5);
    g_assert_cmpuint(ram_block_set_dirty_pages(rb, 10, 5, DIRTY_CLIENTS_NOCODE),
                     ==, 0);
    g_assert_cmpuint(
        ram_block_test_and_clear_dirty(rb, 0, MiB, DIRTY_MEMORY_RATE, NULL), ==,
        20);
    g_assert_cmpuint(ram_block_count_dirty(rb, 0, MiB, DIRTY_MEMORY_MIGRATION),
                     ==, 5);
    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION |
                                 GLOBAL_DIRTY_DIRTY_RATE);
    qemu_ram_free(rb);
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    main_loop_init();
    get_system_memory();
    g_test_add_func("/dirty-choice/table", test_table);
    g_test_add_func("/dirty-choice/not-possible", test_not_possible);
    g_test_add_func("/dirty-choice/not-there", test_not_there);
    g_test_add_func("/dirty-choice/auto-keeps", test_auto_keeps);
    g_test_add_func("/dirty-choice/change", test_change);
    g_test_add_func("/dirty-choice/users-do-not-meet", test_users_do_not_meet);
    return g_test_run();
}
