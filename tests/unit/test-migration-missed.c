/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A dirty tracker that has missed writes while a migration goes on, which then
 * goes on with another tracker and sends all once more: found out in a round,
 * and by the last collect, when the guest stands already.
 */
#include "qemu/osdep.h"

#include "idle-tracker.h"
#include "io/channel-buffer.h"
#include "migration-harness.h"
#include "qapi/qapi-commands-migration.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "system/dirty-choice.h"
#include "system/dirty-memory.h"
#include "system/runstate.h"

/* ------------------------------------------------------ two trackers */

static struct {
    bool at_stop;        /* something is missed as the guest stops */
    _Atomic bool hidden; /* something was, and no collect has seen it yet */
    _Atomic bool missed; /* known to be */
} m;

static void look(RAMBlock *rb, ram_addr_t at, ram_addr_t length, unsigned flags)
{
    if (atomic_exchange(&m.hidden, false)) {
        atomic_store(&m.missed, true);
    }
}

static bool has_all(Error **errp)
{
    if (atomic_load(&m.missed)) {
        error_setg(errp, "writes were missed");
        return false;
    }
    return true;
}

static const DirtyTrackerOps bitmap = { IDLE_TRACKER("bitmap", idle_ok) };
static const DirtyTrackerOps lossy = {
    IDLE_TRACKER_BUT_COLLECT("ring", idle_ok),
    .collect = look,
    .intact = has_all,
};
static const DirtyTrackerOps *const both[] = { &lossy, &bitmap, NULL };
static const DirtyTrackerOps *const alone[] = { &lossy, NULL };

static void on_vm_change(void *opaque, bool running, RunState state)
{
    if (!running && m.at_stop && dirty_tracker_active() == &lossy) {
        atomic_store(&m.hidden, true);
    }
}

/* ------------------------------------------------------------- tests */

static void begin(const DirtyTrackerOps *const *trackers,
                  DirtyTrackingMode mode)
{
    DirtyTrackingOptions opts = { .has_mode = true, .mode = mode };

    m.at_stop = false;
    atomic_store(&m.hidden, false);
    atomic_store(&m.missed, false);
    g_assert_true(dirty_tracking_init("test", trackers, &opts, &error_abort));
    g_assert_true(dirty_tracker_active() == &lossy);
    fake.channel = QIO_CHANNEL(qio_channel_buffer_new(0));
}

static MigrationInfo *end(MigrationStatus want)
{
    MigrationInfo *info;

    go();
    g_assert_cmpint(run_to_end(), ==, want);
    info = qmp_query_migrate(&error_abort);
    if (want == MIGRATION_STATUS_COMPLETED) {
        revive();
    }
    g_assert_true(runstate_is_running());
    qio_channel_unref(fake.channel);
    fake.channel = NULL;
    return info;
}

static void test_in_a_round(gconstpointer mode)
{
    g_autoptr(MigrationInfo) info = NULL;

    begin(both, GPOINTER_TO_INT(mode));
    atomic_store(&m.hidden, true); /* the first sync finds it */
    info = end(MIGRATION_STATUS_COMPLETED);
    g_assert_true(dirty_tracker_active() == &bitmap);
    g_assert_cmpint(dirty_tracking_mode(), ==,
                    GPOINTER_TO_INT(mode) == DIRTY_TRACKING_MODE_AUTO
                        ? DIRTY_TRACKING_MODE_AUTO
                        : DIRTY_TRACKING_MODE_BITMAP);
    g_assert_cmpuint(info->details->called_off, ==, 0);
    g_assert_cmpint(info->ram->normal + info->ram->duplicate, ==,
                    2 * RAM_BYTES / 4096);
}

/* Nothing was sent in vain but what the first pass sent. */
static void test_as_it_stops(void)
{
    g_autoptr(MigrationInfo) info = NULL;

    begin(both, DIRTY_TRACKING_MODE_RING);
    m.at_stop = true;
    info = end(MIGRATION_STATUS_COMPLETED);
    g_assert_true(dirty_tracker_active() == &bitmap);
    g_assert_cmpuint(info->details->called_off, ==, 1);
    g_assert_cmpint(info->ram->normal + info->ram->duplicate, ==,
                    2 * RAM_BYTES / 4096);
}

static void test_no_other(void)
{
    g_autoptr(MigrationInfo) info = NULL;

    begin(alone, DIRTY_TRACKING_MODE_RING);
    m.at_stop = true;
    info = end(MIGRATION_STATUS_FAILED);
    g_assert_cmpstr(info->error_desc, ==,
                    "writes were missed (going on with 'bitmap' is not "
                    "possible: accelerator 'test' does not have it)");
    g_assert_true(dirty_tracker_active() == &lossy);
}

static void test_nothing_missed(void)
{
    g_autoptr(MigrationInfo) info = NULL;

    begin(both, DIRTY_TRACKING_MODE_RING);
    info = end(MIGRATION_STATUS_COMPLETED);
    g_assert_true(dirty_tracker_active() == &lossy);
    g_assert_cmpuint(info->details->called_off, ==, 0);
    g_assert_cmpint(info->ram->normal + info->ram->duplicate, ==,
                    RAM_BYTES / 4096);
}

/* The change itself has the last look; others than the migration forbid it. */
static void test_in_the_change(void)
{
    Error *err = NULL;

    begin(both, DIRTY_TRACKING_MODE_RING);
    memory_global_dirty_log_start(GLOBAL_DIRTY_MIGRATION, &error_abort);
    ram_block_collect_dirty(t.rb, 0, RAM_BYTES, DIRTY_MEMORY_MIGRATION, NULL);
    g_assert_true(dirty_tracking_mend(GLOBAL_DIRTY_MIGRATION, &error_abort));
    g_assert_true(dirty_tracker_active() == &lossy);

    memory_global_dirty_log_start(GLOBAL_DIRTY_DIRTY_RATE, &error_abort);
    atomic_store(&m.missed, true);
    g_assert_false(dirty_tracking_mend(GLOBAL_DIRTY_MIGRATION, &err));
    g_assert_nonnull(strstr(error_get_pretty(err), "dirty-rate"));
    error_free(err);
    memory_global_dirty_log_stop(GLOBAL_DIRTY_DIRTY_RATE);
    atomic_store(&m.missed, false);

    atomic_store(&m.hidden, true);
    g_assert_cmpuint(
        ram_block_count_dirty(t.rb, 0, RAM_BYTES, DIRTY_MEMORY_MIGRATION), ==,
        0);
    g_assert_true(memory_global_dirty_log_switch(
        &bitmap, GLOBAL_DIRTY_MIGRATION, &error_abort));
    g_assert_cmpuint(
        ram_block_count_dirty(t.rb, 0, RAM_BYTES, DIRTY_MEMORY_MIGRATION), ==,
        RAM_BYTES / 4096);
    memory_global_dirty_log_stop(GLOBAL_DIRTY_MIGRATION);
    qio_channel_unref(fake.channel);
    fake.channel = NULL;
}

int main(int argc, char **argv)
{
    int ret;

    g_test_init(&argc, &argv, NULL);
    set_up();
    qemu_add_vm_change_state_handler(on_vm_change, NULL);
    g_test_add_data_func("/missed/in-a-round",
                         GINT_TO_POINTER(DIRTY_TRACKING_MODE_RING),
                         test_in_a_round);
    g_test_add_data_func("/missed/in-a-round-of-auto",
                         GINT_TO_POINTER(DIRTY_TRACKING_MODE_AUTO),
                         test_in_a_round);
    g_test_add_func("/missed/as-it-stops", test_as_it_stops);
    g_test_add_func("/missed/no-other", test_no_other);
    g_test_add_func("/missed/nothing-missed", test_nothing_missed);
    g_test_add_func("/missed/in-the-change", test_in_the_change);
    ret = g_test_run();
    qemu_run_exit_notifiers();
    return ret;
}
