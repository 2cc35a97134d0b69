/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Migration, target side: see incoming.h for who does what. */
#include "qemu/osdep.h"

#include "migration/migration.h"
#include "qapi/qapi-commands-migration.h"
#include "qapi/qapi-events-migration.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "system/cpus.h"
#include "system/machine-info.h"
#include "system/runstate.h"

#include "bql-channel.h"
#include "globalstate.h"
#include "incoming.h"
#include "source.h"
#include "options.h"
#include "own-kind.h"
#include "ram/ram.h"

/* Singleton: a process is the target of at most one migration in its life. */
static MigrationIncomingState the_incoming;

MigrationIncomingState *migration_incoming_get_current(void)
{
    return &the_incoming;
}

static void incoming_notify(MigrationSide side, MigrationStatus to)
{
    if (migrate_events()) {
        qapi_event_send_migration(to);
    }
}

void migration_incoming_init(void)
{
    MigrationIncomingState *mis = &the_incoming;

    migration_state_init(&mis->state, MIGRATION_SIDE_TARGET, incoming_notify);
    qemu_mutex_init(&mis->lock);
    mis->times = (IncomingTimes){ -1, -1, -1 };
    mis->exit_on_error = true;
}

/* ------------------------------------------------- the incoming thread */

/* Everything is loaded: give the guest the state it had. */
static bool enter_run_state(Error **errp)
{
    ERRP_GUARD();
    RunState state;
    bool received = global_state_received(&state);

    /* The last that can fail: the source can go on still. */
    if (!cpu_synchronize_all_post_init(errp)) {
        error_prepend(errp, "behind the end of the stream: the state of a vCPU "
                            "is not accepted: ");
        return false;
    }
    if (!received || runstate_is_live(state)) {
        if (runstate_get_autostart()) {
            vm_start();
        } else {
            runstate_set(RUN_STATE_PAUSED);
        }
    } else if (runstate_transition_valid(RUN_STATE_INMIGRATE, state)) {
        runstate_set(state);
    } else {
        runstate_set(RUN_STATE_PAUSED);
    }
    return true;
}

/* Tell the source how it went; it may be gone already, which is no matter. */
static void say_goodbye(LoadVM *lv, const IncomingTimes *t, bool ok)
{
    if (!lv->rp && !ok) {
        /*
         * It failed before the source opened the way back. Say so anyway: a
         * source that has sent all waits for this word, one that does not
         * listen is not disturbed.
         */
        lv->rp = qemu_file_get_return_path(lv->f);
    }
    if (!lv->rp) {
        return;
    }
    if (ok && lv->times_asked) {
        return_path_send_pong(
            lv->rp, own_kind_pack(OWN_KIND_DEVICES_US, t->devices_ns / 1000),
            NULL);
        return_path_send_pong(
            lv->rp, own_kind_pack(OWN_KIND_START_US, t->start_ns / 1000), NULL);
    }
    return_path_send_shut(lv->rp, ok ? 0 : 1, NULL);
}

static void exit_after_failure(void *opaque)
{
    MigrationIncomingState *mis = &the_incoming;

    /* Not a shutdown of the machine: there is none, so no event of one. */
    if (mis->exit_on_error) {
        qemu_run_exit_notifiers();
        exit(EXIT_FAILURE);
    }
}

static void incoming_failed(MigrationIncomingState *mis, Error *err)
{
    {
        QEMU_LOCK_GUARD(&mis->lock);
        g_free(mis->error_text);
        mis->error_text = g_strdup(error_get_pretty(err));
    }
    error_reportf_err(err, "load of migration failed: ");
    migration_state_try(&mis->state, MIGRATION_STATUS_FAILED);
    aio_bh_schedule_oneshot(exit_after_failure, NULL);
}

static bool load_and_start(MigrationIncomingState *mis, IncomingTimes *t,
                           Error **errp)
{
    int64_t begin_ns = get_clock(), loaded_ns;

    if (!loadvm_run(&mis->lv, errp)) {
        return false;
    }
    loaded_ns = get_clock();
    {
        BQL_LOCK_GUARD();
        if (!enter_run_state(errp)) {
            return false;
        }
    }
    t->start_ns = get_clock() - loaded_ns;
    t->load_ns = loaded_ns - begin_ns;
    t->devices_ns = mis->lv.devices_ns;
    QEMU_LOCK_GUARD(&mis->lock);
    mis->times = *t;
    return true;
}

/* Main loop: the thread is at its end. */
static void join_incoming(void *opaque)
{
    MigrationIncomingState *mis = opaque;

    if (mis->thread_exists) {
        qemu_thread_join(&mis->thread);
        mis->thread_exists = false;
    }
}

static void *incoming_thread(void *opaque)
{
    MigrationIncomingState *mis = opaque;
    IncomingTimes times = { -1, -1, -1 };
    Error *err = NULL;
    bool ok = load_and_start(mis, &times, &err);

    say_goodbye(&mis->lv, &times, ok);
    if (ok) {
        loadvm_skip_vmdesc(&mis->lv);
        migration_state_move(&mis->state, MIGRATION_STATUS_ACTIVE,
                             MIGRATION_STATUS_COMPLETED);
    }
    qemu_fclose(mis->lv.rp, NULL);
    qemu_fclose(mis->lv.f, NULL);
    {
        QEMU_LOCK_GUARD(&mis->lock);
        g_clear_pointer(&mis->ioc, qio_channel_unref);
    }
    if (!ok) {
        incoming_failed(mis, err);
    }
    aio_bh_schedule_oneshot(join_incoming, mis);
    return NULL;
}

/* ----------------------------------------------------- the main thread */

static int64_t expected_restore_ns(void)
{
    /* Stopping, loading and starting grow with the number of vCPUs. */
    return DOWNTIME_GUESS_RESTORE_NS + (int64_t)cpu_count() * 100000;
}

static void incoming_connection(QIOChannel *ioc, void *opaque)
{
    MigrationIncomingState *mis = opaque;
    g_autoptr(QIOChannel) in = NULL;
    Error *err = NULL;

    if (migration_state_get(&mis->state) != MIGRATION_STATUS_SETUP) {
        warn_report("a second connection for the incoming migration was "
                    "refused");
        qio_channel_unref(ioc);
        return;
    }
    migration_listener_free(mis->listener);
    mis->listener = NULL;

    ram_load_configure(&(RamLoadConfig){
        .target_page_bits = machine_info()->target_page_bits,
        .ignore_shared = migrate_ignore_shared(),
    });
    global_state_reset();
    in = bql_channel_new(ioc);
    mis->lv = (LoadVM){
        .f = qemu_file_new_input(in),
        .expect_ns = expected_restore_ns(),
    };
    {
        QEMU_LOCK_GUARD(&mis->lock);
        mis->ioc = ioc;
    }
    migration_state_move(&mis->state, MIGRATION_STATUS_SETUP,
                         MIGRATION_STATUS_ACTIVE);
    mis->thread_exists = qemu_thread_create(&mis->thread, "mig/dst/main",
                                            incoming_thread, mis,
                                            QEMU_THREAD_JOINABLE, &err);
    if (!mis->thread_exists) {
        qemu_fclose(mis->lv.f, NULL);
        incoming_failed(mis, err);
    }
}

static bool incoming_listen(MigrationIncomingState *mis,
                            const MigrationAddress *addr, Error **errp)
{
    migration_state_move(&mis->state, MIGRATION_STATUS_NONE,
                         MIGRATION_STATUS_SETUP);
    mis->listener = migration_transport_listen(addr, 1, incoming_connection,
                                               mis, errp);
    if (!mis->listener) {
        migration_state_move(&mis->state, MIGRATION_STATUS_SETUP,
                             MIGRATION_STATUS_NONE);
        return false;
    }
    mis->addresses = migration_listener_addresses(mis->listener);
    return true;
}

bool migration_incoming_start(const char *uri, Error **errp)
{
    MigrationIncomingState *mis = &the_incoming;
    g_autoptr(MigrationAddress) addr = NULL;

    if (!strcmp(uri, "defer")) {
        mis->deferred = true;
        return true;
    }
    addr = migration_uri_parse(uri, errp);
    return addr && incoming_listen(mis, addr, errp);
}

void qmp_migrate_incoming(const char *uri, bool has_channels,
                          MigrationChannelList *channels,
                          bool has_exit_on_error, bool exit_on_error,
                          Error **errp)
{
    MigrationIncomingState *mis = &the_incoming;
    g_autoptr(MigrationAddress) addr = NULL;

    if (!mis->deferred &&
        migration_state_get(&mis->state) == MIGRATION_STATUS_NONE) {
        error_setg(errp, "this process was not started with -incoming defer");
        return;
    }
    if (migration_state_get(&mis->state) != MIGRATION_STATUS_NONE) {
        error_setg(errp, "the incoming migration has already been started");
        return;
    }
    if (!runstate_check(RUN_STATE_INMIGRATE)) {
        error_setg(errp,
                   "run state is '%s': an incoming migration needs "
                   "'inmigrate'",
                   RunState_str(runstate_get()));
        return;
    }
    addr = migration_channels_parse(uri, has_channels, channels, errp);
    if (!addr) {
        return;
    }
    mis->exit_on_error = has_exit_on_error ? exit_on_error : true;
    incoming_listen(mis, addr, errp);
}

void migration_incoming_exit(void)
{
    MigrationIncomingState *mis = &the_incoming;

    migration_listener_free(mis->listener);
    mis->listener = NULL;
    if (mis->thread_exists) {
        ram_load_stop();
        {
            QEMU_LOCK_GUARD(&mis->lock);
            if (mis->ioc) {
                qio_channel_shutdown(mis->ioc, QIO_CHANNEL_SHUTDOWN_BOTH, NULL);
            }
        }
        migration_join_without_bql(&mis->thread);
        mis->thread_exists = false;
    }
    g_clear_pointer(&mis->addresses, qapi_free_SocketAddressList);
}
