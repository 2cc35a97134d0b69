/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The source's life, whatever its channel does: every cut, a peer that stops
 * reading, a cancel at any time. It must end in a defined state, soon, with
 * the guest running unless the target may have it, and the next migration
 * must work.
 */
#include "qemu/osdep.h"

#include <poll.h>
#include <sys/socket.h>

#include "globalstate.h"
#include "io/channel-buffer.h"
#include "io/channel-fault.h"
#include "io/channel-socket.h"
#include "loadvm.h"
#include "migration-harness.h"
#include "migration/migration.h"
#include "qapi/qapi-commands-migration.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "qom/object.h"
#include "ram/ram.h"
#include "own-kind.h"
#include "source.h"
#include "system/dirty-memory.h"
#include "system/machine-info.h"
#include "system/ram-block.h"

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
static void TSA_REQUIRES(bql) test_cancel_stalled(void)
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

static void TSA_REQUIRES(bql) test_cancel_connecting(void)
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
static void TSA_REQUIRES(bql) test_cancel_anytime(void)
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
static void TSA_REQUIRES(bql) test_cancel_after_hand_over(void)
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

/* ------------------------------------------- a target that answers late */

enum {
    LATE_TIMES = 6, /* how often the guest writes everything meanwhile */
    LATE_MS = 8,
};

static struct {
    QemuThread thread;
    int fd;
    unsigned drains;          /* times it was asked whether it has all */
    bool by_bql;              /* not the target is late, but the BQL */
    _Atomic bool hold_bql;    /* main thread: hold it that long now */
    _Atomic unsigned written; /* times that the guest wrote everything */
} late;

static void writes_late(void)
{
    guest_writes_all();
    atomic_fetch_add(&late.written, 1);
}

/* "Have you loaded all?" The guest writes while we take our time. */
static void drained(uint32_t ping)
{
    late.drains++;
    if (late.by_bql && late.drains <= LATE_TIMES) {
        atomic_store(&late.hold_bql, true);
        while (atomic_load(&late.hold_bql)) {
            g_usleep(100);
        }
    } else if (!late.by_bql) {
        g_usleep(LATE_MS * 1000);
        if (late.drains <= LATE_TIMES) {
            writes_late();
        }
    }
    target_says(late.fd, 2, ping);
}

/* Looks for pings only; memory holds nothing that looks like one. */
static void *late_target(void *opaque)
{
    struct pollfd pfd = { .fd = late.fd, .events = POLLIN };
    uint8_t buf[4096];
    uint32_t last = 0;

    for (;;) {
        ssize_t n;

        if (poll(&pfd, 1, late.drains > LATE_TIMES ? 300 : 2000) == 0) {
            target_says(late.fd, 1, 0); /* silence: it has sent all */
            return NULL;
        }
        n = read(late.fd, buf, sizeof(buf));
        g_assert_cmpint(n, >, 0);
        for (ssize_t i = 0; i < n; i++) {
            last = last << 8 | buf[i];
            if ((last & ~0xffu) == DRAIN_PING) {
                drained(last);
            }
        }
    }
}

/* The main thread, in which the test is, holds the BQL when told so. */
static void hold_bql_if_told(void)
{
    if (atomic_load(&late.hold_bql)) {
        writes_late();
        atomic_store(&late.hold_bql, false);
        g_usleep(LATE_MS * 1000);
    }
}

/*
 * After the decision all memory is written again, six times. Each time there
 * is more to send than the limit allows: the guest is not stopped for that.
 */
static void TSA_REQUIRES(bql) decision_too_old(bool by_bql)
{
    g_autoptr(MigrationInfo) info = NULL;
    int fds[2];

    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), ==, 0);
    memset(&late, 0, sizeof(late));
    late.fd = fds[1];
    late.by_bql = by_bql;
    set_return_path(true);
    set_limits(40 * 1000 * 1000, 40 * 1000 * 1000, 20); /* 800 kB of 4 MiB */
    fake.channel = QIO_CHANNEL(qio_channel_socket_new_fd(fds[0], &error_abort));
    qemu_thread_create(&late.thread, "target", late_target, NULL,
                       QEMU_THREAD_JOINABLE, &error_abort);
    go();
    while (!migration_status_is_end(status_now())) {
        main_loop_iterate(false);
        hold_bql_if_told();
        bql_unlock();
        g_usleep(100);
        bql_lock();
    }
    g_assert_cmpint(status_now(), ==, MIGRATION_STATUS_COMPLETED);
    info = qmp_query_migrate(&error_abort);
    g_assert_cmpuint(atomic_load(&late.written), ==, LATE_TIMES);
    g_assert_cmpuint(info->ram->downtime_bytes, <, 800 * 1000);
    qemu_thread_join(&late.thread);
    close(late.fd);
    qio_channel_unref(fake.channel);
    fake.channel = NULL;
    set_return_path(false);
    set_limits(0, 0, 300);
    revive();
}

static void TSA_REQUIRES(bql) test_target_late(void)
{
    decision_too_old(false);
}

static void TSA_REQUIRES(bql) test_bql_late(void)
{
    decision_too_old(true);
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
    g_test_add_func("/migration-source/decision-too-old/target",
                    test_target_late);
    g_test_add_func("/migration-source/decision-too-old/bql", test_bql_late);
    ret = g_test_run();
    qemu_run_exit_notifiers();
    return ret;
}
