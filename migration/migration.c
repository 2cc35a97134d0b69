/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Migration, source side, main thread: see source.h for who does what. */
#include "qemu/osdep.h"

#include "migration/migration.h"
#include "qapi/qapi-commands-migration.h"
#include "qapi/qapi-events-migration.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "system/dirty-choice.h"
#include "system/machine-info.h"
#include "system/ram-block.h"
#include "system/runstate.h"

#include "globalstate.h"
#include "incoming.h"
#include "source.h"
#include "options.h"
#include "ram/ram-format.h"
#include "ram/ram.h"

/*
 * Singleton: QMP's commands speak of "the" migration, one at a time, and its
 * result is kept until the next one.
 */
static MigrationState the_migration;

MigrationState *migrate_get_current(void)
{
    return &the_migration;
}

bool migration_is_running(void)
{
    return migration_status_is_running(
        migration_state_get(&the_migration.state));
}

void migration_set_error(MigrationState *s, Error *err)
{
    QEMU_LOCK_GUARD(&s->lock);
    if (!s->error_text) {
        s->error_text = g_strdup(error_get_pretty(err));
    }
    error_free(err);
}

static void source_notify(MigrationSide side, MigrationStatus to)
{
    if (migrate_events()) {
        qapi_event_send_migration(to);
    }
}

static bool may_set_capabilities(Error **errp)
{
    if (migration_is_running()) {
        error_setg(errp, "capabilities cannot be changed while a migration is "
                         "under way");
        return false;
    }
    if (migration_state_get(&migration_incoming_get_current()->state) ==
        MIGRATION_STATUS_ACTIVE) {
        error_setg(errp, "capabilities cannot be changed while an incoming "
                         "migration is under way");
        return false;
    }
    return true;
}

static void options_changed(void)
{
    rate_limit_set_rate(&the_migration.rate_limit, migrate_max_bandwidth());
    qemu_sem_post(&the_migration.wake);
}

static const MigrationOptionsHooks options_hooks = {
    .may_set_capabilities = may_set_capabilities,
    .changed = options_changed,
};

/* The analysis cannot know that every caller holds it. */
void TSA_NO_CHECK migration_join_without_bql(QemuThread *thread)
{
    bql_unlock();
    qemu_thread_join(thread);
    bql_lock();
}

static void exit_notify(Notifier *notifier, void *data)
{
    MigrationState *s = &the_migration;

    atomic_store(&s->exiting, true);
    qmp_migrate_cancel(NULL);
    if (s->thread_exists) {
        migration_join_without_bql(&s->thread);
        s->thread_exists = false;
    }
    migration_incoming_exit();
}

void migration_register_types(void)
{
    migration_options_register_type();
}

bool migration_init(Error **errp)
{
    static Notifier exit_notifier = { .notify = exit_notify };
    MigrationState *s = &the_migration;

    if (!migration_options_init(errp)) {
        return false;
    }
    migration_state_init(&s->state, MIGRATION_SIDE_SOURCE, source_notify);
    migration_stats_init(&s->stats);
    migration_stats_reset(&s->stats);
    migration_throttle_init(&s->throttle);
    qemu_mutex_init(&s->lock);
    qemu_sem_init(&s->wake, 0);
    qemu_sem_init(&s->go_on, 0);
    rate_limit_init(&s->rate_limit, migrate_max_bandwidth(), get_clock());
    migration_options_set_hooks(&options_hooks);
    qemu_ram_set_fixed_hook(migration_is_running);
    migration_incoming_init();
    if (!register_savevm_live(RAM_SECTION_NAME, 0, RAM_SECTION_VERSION,
                              &ram_handlers, ram_save_state(), errp)) {
        return false;
    }
    global_state_register();
    qemu_add_exit_notifier(&exit_notifier);
    return true;
}

/* --------------------------------------------------------- migrate */

static bool may_begin(MigrationState *s, Error **errp)
{
    const char *unmigratable;

    if (migration_is_running()) {
        error_setg(errp, "a migration is under way already");
        return false;
    }
    if (runstate_check(RUN_STATE_INMIGRATE)) {
        error_setg(errp, "this process waits for an incoming migration");
        return false;
    }
    if (runstate_check(RUN_STATE_POSTMIGRATE)) {
        error_setg(errp, "the guest was paused by a migration that completed; "
                         "it may run at the target");
        return false;
    }
    if (!qemu_ram_check_intact(errp)) {
        return false;
    }
    unmigratable = savevm_unmigratable();
    if (unmigratable) {
        error_setg(errp, "the device '%s' cannot be migrated", unmigratable);
        return false;
    }
    return true;
}

void migration_join_ended(void *opaque)
{
    MigrationState *s = opaque;

    /* After its last state move it waits for nothing any more. */
    if (s->thread_exists && !migration_is_running()) {
        qemu_thread_join(&s->thread);
        s->thread_exists = false;
    }
}

static void reset_for_new(MigrationState *s)
{
    migration_join_ended(s);
    atomic_store(&s->quit, false);
    atomic_store(&s->hand_over, HAND_OVER_NOT_YET);
    qemu_sem_destroy(&s->go_on);
    qemu_sem_init(&s->go_on, 0);
    migration_stats_reset(&s->stats);
    migration_throttle_reset(&s->throttle);
    stall_reset(&s->stall);
    STAT_SET(&s->stats, start_ns, get_clock());
    bandwidth_init(&s->bandwidth);
    s->attempts = (AttemptRecord){ 0 };
    s->rtt_ns = 0;
    rate_limit_init(&s->rate_limit, migrate_max_bandwidth(), get_clock());
    s->guest_stopped = false;
    s->target_failed = false;
    s->own_kind_asked = false;
    migration_tracking_begin(s);
    QEMU_LOCK_GUARD(&s->lock);
    g_clear_pointer(&s->error_text, g_free);
}

static void begin_failed(MigrationState *s, Error *err)
{
    STAT_SET(&s->stats, end_ns, get_clock());
    migration_set_error(s, err);
    migration_state_try(&s->state, MIGRATION_STATUS_FAILED);
}

/* Main loop: the channel is there, or is not to be had. */
static void connected(QIOChannel *ioc, Error *err, void *opaque)
{
    MigrationState *s = opaque;

    s->connect = NULL;
    if (!ioc) {
        begin_failed(s, err);
        return;
    }
    s->ioc = ioc;
    {
        QEMU_LOCK_GUARD(&s->lock);
        s->to_dst = qemu_file_new_output(ioc);
    }
    s->thread_exists = qemu_thread_create(&s->thread, "mig/src/main",
                                          migration_thread, s,
                                          QEMU_THREAD_JOINABLE, &err);
    if (!s->thread_exists) {
        QEMU_LOCK_GUARD(&s->lock);
        qemu_fclose(s->to_dst, NULL);
        s->to_dst = NULL;
        g_clear_pointer(&s->ioc, qio_channel_unref);
    }
    if (!s->thread_exists) {
        begin_failed(s, err);
    }
}

/* As the parameter says; nobody else may be tracking by other means. */
static bool choose_tracking(Error **errp)
{
    DirtyTrackingMode mode;

    return !migrate_dirty_tracking(&mode) || dirty_tracking_choose(mode, errp);
}

void qmp_migrate(const char *uri, bool has_channels,
                 MigrationChannelList *channels, bool has_detach, bool detach,
                 Error **errp)
{
    MigrationState *s = &the_migration;
    g_autoptr(MigrationAddress) addr = NULL;
    Error *err = NULL;

    addr = migration_channels_parse(uri, has_channels, channels, errp);
    if (!addr || !may_begin(s, errp) || !choose_tracking(errp)) {
        return;
    }
    reset_for_new(s);
    migration_state_try(&s->state, MIGRATION_STATUS_SETUP);
    s->connect = migration_transport_connect(addr, connected, s, &err);
    if (!s->connect) {
        begin_failed(s, error_copy(err));
        error_propagate(errp, err);
    }
}

/* ---------------------------------------------------------- cancel */

/* Not connected yet: nothing to unwind but the attempt. */
static void cancel_connect(MigrationState *s)
{
    migration_connect_cancel(s->connect);
    s->connect = NULL;
    STAT_SET(&s->stats, end_ns, get_clock());
    migration_state_move(&s->state, MIGRATION_STATUS_CANCELLING,
                         MIGRATION_STATUS_CANCELLED);
}

/* To CANCELLING, from whatever it is by then; false: nothing is under way. */
static bool mark_cancelling(MigrationState *s)
{
    MigrationStatus found;

    /* Another thread may move it on meanwhile: try what is found then. */
    do {
        found = migration_state_get(&s->state);
        if (!migration_state_may_move(MIGRATION_SIDE_SOURCE, found,
                                      MIGRATION_STATUS_CANCELLING)) {
            return false;
        }
        QEMU_LOCK_GUARD(&s->lock);
        s->cancelled_in = found;
    } while (
        !migration_state_move(&s->state, found, MIGRATION_STATUS_CANCELLING));
    return true;
}

/*
 * After the hand-over only the target knows what becomes of the guest. To cut
 * the connection then would leave a stopped guest here for nothing: the target
 * is given the time to say so. Who asks again does not want to wait for it.
 */
void qmp_migrate_cancel(Error **errp)
{
    MigrationState *s = &the_migration;
    int expected = HAND_OVER_NOT_YET;
    bool again = migration_state_get(&s->state) == MIGRATION_STATUS_CANCELLING;

    if (!again && !mark_cancelling(s)) {
        return;
    }
    if (s->connect) {
        cancel_connect(s);
        return;
    }
    if (!atomic_compare_exchange_strong(&s->hand_over, &expected,
                                        HAND_OVER_DENIED) &&
        expected == HAND_OVER_DONE && !again && !atomic_load(&s->exiting)) {
        return;
    }
    atomic_store(&s->quit, true);
    migration_throttle_stop(s);
    qemu_sem_post(&s->wake);
    qemu_sem_post(&s->go_on);
    QEMU_LOCK_GUARD(&s->lock);
    if (s->to_dst) {
        qemu_file_shutdown(s->to_dst);
    }
}

void qmp_migrate_continue(MigrationStatus state, Error **errp)
{
    MigrationState *s = &the_migration;
    MigrationStatus now = migration_state_get(&s->state);

    if (state != MIGRATION_STATUS_PRE_SWITCHOVER) {
        error_setg(errp, "a migration does not wait in state '%s'",
                   MigrationStatus_str(state));
        return;
    }
    if (now != state) {
        error_setg(errp, "the migration is in state '%s'",
                   MigrationStatus_str(now));
        return;
    }
    qemu_sem_post(&s->go_on);
}
