/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source's life, whatever its channel does: every cut, a peer that stops
 * reading, a cancel at any time. It must end in a defined state, soon, with
 * the guest running unless the target may have it, and the next migration
 * must work.
 *
 * The transport is replaced by this file: a connect hands out the channel
 * that the test wants.
 */
#include "qemu/osdep.h"

#include "globalstate.h"
#include "io/channel-buffer.h"
#include "io/channel-fault.h"
#include "loadvm.h"
#include "migration/migration.h"
#include "qapi/qapi-commands-migration.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "qom/object.h"
#include "ram/ram.h"
#include "source.h"
#include "system/machine-info.h"
#include "system/ram-block.h"
#include "transport.h"

#define RAM_BYTES (4 * 1024 * 1024)

/* ------------------------------------------------ the transport's twin */

struct MigrationConnect {
    MigrationConnectFunc func;
    void *opaque;
    bool cancelled;
};

static struct {
    QIOChannel *channel; /* what the next connect hands out; NULL: an error */
    bool never;          /* ... or nothing, for ever */
    MigrationConnect *pending;
} fake;

static void hand_out(void *opaque)
{
    MigrationConnect *c = opaque;
    Error *err = NULL;

    fake.pending = NULL;
    if (!c->cancelled) {
        if (!fake.channel) {
            error_setg(&err, "nobody listens there");
        }
        c->func(fake.channel ? qio_channel_ref(fake.channel) : NULL, err,
                c->opaque);
    }
    g_free(c);
}

MigrationConnect *migration_transport_connect(const MigrationAddress *addr,
                                              MigrationConnectFunc func,
                                              void *opaque, Error **errp)
{
    MigrationConnect *c = g_new0(MigrationConnect, 1);

    c->func = func;
    c->opaque = opaque;
    fake.pending = c;
    if (!fake.never) {
        aio_bh_schedule_oneshot(hand_out, c);
    }
    return c;
}

void migration_connect_cancel(MigrationConnect *connect)
{
    connect->cancelled = true;
    if (fake.never) {
        g_free(connect);
        fake.pending = NULL;
    }
}

MigrationAddress *migration_uri_parse(const char *uri, Error **errp)
{
    return g_new0(MigrationAddress, 1);
}

MigrationAddress *migration_channels_parse(const char *uri, bool has_channels,
                                           const MigrationChannelList *channels,
                                           Error **errp)
{
    MigrationAddress *addr = g_new0(MigrationAddress, 1);

    addr->transport = MIGRATION_ADDRESS_TYPE_FILE;
    return addr;
}

MigrationListener *migration_transport_listen(const MigrationAddress *addr,
                                              unsigned max_channels,
                                              MigrationIncomingFunc func,
                                              void *opaque, Error **errp)
{
    error_setg(errp, "not in this test");
    return NULL;
}

SocketAddressList *migration_listener_addresses(MigrationListener *listener)
{
    return NULL;
}

void migration_listener_free(MigrationListener *listener)
{
}

/* ------------------------------------------------------------ set-up */

static struct {
    RAMBlock *rb;
    uint8_t *host;
} t;

static void set_up(void)
{
    SystemMachineInfo *machine = machine_info_for_update();

    qom_register_types();
    migration_register_types();
    main_loop_init();
    timers_init();
    runstate_init();
    machine->name = "none";
    machine->target_name = "test";
    machine->target_page_bits = machine->target_page_bits_min = 12;
    t.rb = qemu_ram_alloc(RAM_BYTES, 0, NULL, &error_abort);
    qemu_ram_set_idstr(t.rb, "ram", &error_abort);
    qemu_ram_set_migratable(t.rb, true);
    t.host = qemu_ram_get_host_addr(t.rb);
    for (size_t i = 0; i < RAM_BYTES; i += 4096) {
        t.host[i] = i / 4096 % 4;
    }
    migration_init(&error_abort);
    vm_start();
}

static void go(void)
{
    Error *err = NULL;

    qmp_migrate("file:x", false, NULL, false, false, &err);
    if (err) {
        g_error("%s", error_get_pretty(err));
    }
}

static MigrationStatus status_now(void)
{
    g_autoptr(MigrationInfo) info = qmp_query_migrate(&error_abort);

    return info->status;
}

/* Turn the main loop until the migration is in @want, or has ended. */
static MigrationStatus run_until(MigrationStatus want)
{
    int64_t end_ns = get_clock() + INT64_C(20000000000);

    while (status_now() != want && !migration_status_is_end(status_now())) {
        g_assert_cmpint(get_clock(), <, end_ns);
        main_loop_iterate(false);
        bql_unlock();
        g_usleep(100);
        bql_lock();
    }
    return status_now();
}

static MigrationStatus run_to_end(void)
{
    return run_until(MIGRATION_STATUS_COMPLETED);
}

/* After a migration that completed: as if the user wanted it back. */
static void revive(void)
{
    g_assert_true(runstate_check(RUN_STATE_POSTMIGRATE));
    vm_start();
}

/* A migration into memory works, and what arrives can be loaded. */
static size_t migrate_well(void)
{
    QIOChannelBuffer *buffer = qio_channel_buffer_new(0);
    LoadVM lv = { 0 };
    Error *err = NULL;
    size_t bytes;

    fake.channel = QIO_CHANNEL(buffer);
    go();
    g_assert_cmpint(run_to_end(), ==, MIGRATION_STATUS_COMPLETED);
    bytes = buffer->usage;
    revive();

    qio_channel_io_seek(QIO_CHANNEL(buffer), 0, SEEK_SET, &error_abort);
    vm_stop(RUN_STATE_PAUSED);
    ram_load_configure(&(RamLoadConfig){ .target_page_bits = 12 });
    global_state_reset();
    lv.f = qemu_file_new_input(QIO_CHANNEL(buffer));
    if (!loadvm_run(&lv, &err)) {
        g_error("%s", error_get_pretty(err));
    }
    qemu_fclose(lv.f, NULL);
    vm_start();
    qio_channel_unref(QIO_CHANNEL(buffer));
    fake.channel = NULL;
    return bytes;
}

/* ------------------------------------------------------------- tests */

static void test_completes(void)
{
    for (int i = 0; i < 3; i++) {
        migrate_well();
    }
}

static void test_no_channel(void)
{
    g_autoptr(MigrationInfo) info = NULL;

    fake.channel = NULL;
    go();
    g_assert_cmpint(run_to_end(), ==, MIGRATION_STATUS_FAILED);
    info = qmp_query_migrate(&error_abort);
    g_assert_cmpstr(info->error_desc, ==, "nobody listens there");
    g_assert_true(runstate_is_running());
    migrate_well();
}

static QIOChannel *faulty(const QIOFaultPlan *plan)
{
    QIOChannel *null = qio_channel_null_new();
    QIOChannel *ioc = qio_channel_fault_new(null, plan);

    qio_channel_unref(null);
    return ioc;
}

static void test_cut_anywhere(void)
{
    size_t bytes = migrate_well();

    for (size_t at = 0; at < bytes; at += at < 200 ? 23 : bytes / 40) {
        QIOFaultPlan plan = QIO_FAULT_PLAN_NONE;
        g_autoptr(MigrationInfo) info = NULL;

        plan.wr.cut_at = at;
        fake.channel = faulty(&plan);
        go();
        g_assert_cmpint(run_to_end(), ==, MIGRATION_STATUS_FAILED);
        info = qmp_query_migrate(&error_abort);
        g_assert_nonnull(info->error_desc);
        qio_channel_unref(fake.channel);
        if (at < bytes - 2000) {
            g_assert_true(runstate_is_running());
        } else if (!runstate_is_running()) {
            /* The end may have got through: it stays, until the user says. */
            g_assert_true(runstate_check(RUN_STATE_PAUSED));
            vm_start();
        }
    }
    migrate_well();
}

/* The peer stops reading; a cancel gets us out, the guest runs on. */
static void test_cancel_stalled(void)
{
    size_t bytes = migrate_well();

    for (size_t at = 3; at < bytes - 2000; at += bytes / 10) {
        QIOFaultPlan plan = QIO_FAULT_PLAN_NONE;

        plan.wr.stall_at = at;
        fake.channel = faulty(&plan);
        go();
        for (int i = 0; i < 20; i++) {
            main_loop_iterate(false);
            bql_unlock();
            g_usleep(200);
            bql_lock();
        }
        qmp_migrate_cancel(&error_abort);
        g_assert_cmpint(run_to_end(), ==, MIGRATION_STATUS_CANCELLED);
        g_assert_true(runstate_is_running());
        qio_channel_unref(fake.channel);
    }
    migrate_well();
}

static void test_cancel_connecting(void)
{
    fake.never = true;
    go();
    g_assert_cmpint(status_now(), ==, MIGRATION_STATUS_SETUP);
    qmp_migrate_cancel(&error_abort);
    g_assert_cmpint(status_now(), ==, MIGRATION_STATUS_CANCELLED);
    fake.never = false;

    /* Also when the connection is about to be handed out. */
    fake.channel = qio_channel_null_new();
    go();
    qmp_migrate_cancel(&error_abort);
    g_assert_cmpint(status_now(), ==, MIGRATION_STATUS_CANCELLED);
    main_loop_iterate(false);
    g_assert_cmpint(status_now(), ==, MIGRATION_STATUS_CANCELLED);
    qio_channel_unref(fake.channel);
    g_assert_true(runstate_is_running());
    migrate_well();
}

/* A cancel at random moments: ends, and if it was in time the guest runs. */
static void test_cancel_anytime(void)
{
    for (int i = 0; i < 60; i++) {
        fake.channel = qio_channel_null_new();
        go();
        for (int n = g_test_rand_int_range(0, 40); n > 0; n--) {
            main_loop_iterate(false);
            bql_unlock();
            g_usleep(50);
            bql_lock();
        }
        qmp_migrate_cancel(&error_abort);
        if (run_to_end() == MIGRATION_STATUS_COMPLETED) {
            revive();
        }
        g_assert_true(runstate_is_running());
        qio_channel_unref(fake.channel);
    }
    migrate_well();
}

/*
 * A peer that stands still as soon as the end is handed over, wherever in the
 * stream that is: its length depends on how often the sender was interrupted.
 */
static ssize_t still_writev(QIOChannel *ioc, const struct iovec *iov,
                            size_t niov, const int *fds, size_t nfds,
                            Error **errp)
{
    do {
        if (qio_channel_check_shut(ioc, QIO_CHANNEL_SHUTDOWN_WRITE, errp)) {
            return -1;
        }
        g_usleep(100);
    } while (atomic_load(&migrate_get_current()->hand_over) == HAND_OVER_DONE);
    return qio_iov_size(iov, niov);
}

static void still_finalize(QIOChannel *ioc)
{
    g_free(ioc);
}

static QIOChannel *still_channel_new(void)
{
    static const QIOChannelClass klass = {
        .type_name = "still",
        .writev = still_writev,
        .finalize = still_finalize,
    };
    QIOChannel *ioc = g_new0(QIOChannel, 1);

    qio_channel_init(ioc, &klass, false);
    return ioc;
}

/*
 * The end was handed over and the peer stands still. The first cancel waits
 * for what it says, the second does not; the guest may run there, so it stays
 * stopped here.
 */
static void test_cancel_after_hand_over(void)
{
    fake.channel = still_channel_new();
    go();
    g_assert_cmpint(run_until(MIGRATION_STATUS_DEVICE), ==,
                    MIGRATION_STATUS_DEVICE);
    while (atomic_load(&migrate_get_current()->hand_over) != HAND_OVER_DONE) {
        bql_unlock();
        g_usleep(100);
        bql_lock();
    }
    qmp_migrate_cancel(&error_abort);
    for (int i = 0; i < 50; i++) {
        main_loop_iterate(false);
        bql_unlock();
        g_usleep(200);
        bql_lock();
        g_assert_cmpint(status_now(), ==, MIGRATION_STATUS_CANCELLING);
    }
    qmp_migrate_cancel(&error_abort);
    g_assert_cmpint(run_to_end(), ==, MIGRATION_STATUS_CANCELLED);
    g_assert_true(runstate_check(RUN_STATE_PAUSED));
    vm_start();
    qio_channel_unref(fake.channel);
    migrate_well();
}

int main(int argc, char **argv)
{
    int ret;

    g_test_init(&argc, &argv, NULL);
    set_up();
    g_test_add_func("/migration-source/completes", test_completes);
    g_test_add_func("/migration-source/no-channel", test_no_channel);
    g_test_add_func("/migration-source/cut-anywhere", test_cut_anywhere);
    g_test_add_func("/migration-source/cancel-stalled", test_cancel_stalled);
    g_test_add_func("/migration-source/cancel-connecting",
                    test_cancel_connecting);
    g_test_add_func("/migration-source/cancel-anytime", test_cancel_anytime);
    g_test_add_func("/migration-source/cancel-after-hand-over",
                    test_cancel_after_hand_over);
    ret = g_test_run();
    qemu_run_exit_notifiers();
    return ret;
}
