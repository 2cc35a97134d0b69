/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Switchover attempts: what attempt.h and guest-loss.h reckon, and a source
 * whose guest writes all of its memory all the time, with a target that takes
 * the last pages at once, too late, or never.
 */
#include "qemu/osdep.h"

#include <poll.h>
#include <sys/socket.h>

#include "attempt.h"
#include "guest-loss.h"
#include "io/channel-socket.h"
#include "migration-harness.h"
#include "own-kind.h"
#include "qapi/qapi-commands-migration.h"
#include "qemu/main-loop.h"
#include "qemu/thread.h"
#include "source.h"
#include "system/runstate.h"

#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)
#define MB UINT64_C(1000000)

/* ------------------------------------------------------------ arithmetic */

static AttemptWatch watch(int64_t limit_ms, int64_t rtt_ms)
{
    return (AttemptWatch){
        .limit_ns = limit_ms * MS,
        .begin_ns = 5 * S,
        .rest_ns = 2 * MS,
        .rtt_ns = rtt_ms * MS,
        .send_ns = 5 * S + MS,
        .owed_bytes = 100 * MB,
    };
}

/* A target that loads @speed MB/s, and answers that much later. */
static void run(AttemptWatch *w, uint64_t speed, int64_t ms)
{
    unsigned mark = attempt_mark(w,
                                 100 * MB - speed * MB / 1000 * (uint64_t)ms);

    attempt_heard(w, mark, w->send_ns + ms * MS);
    g_assert_cmpuint(w->loaded_bytes, ==, speed * MB / 1000 * (uint64_t)ms);
}

static void test_keeps_limit(void)
{
    AttemptWatch w = watch(160, 0);
    int64_t now = w.send_ns;

    for (int ms = 2; ms <= 140; ms += 2) { /* 100 MB in 143 ms */
        run(&w, 700, ms);
        now = w.send_ns + ms * MS;
        g_assert_false(attempt_is_lost(&w, now));
    }
    g_assert_cmpuint(attempt_speed(&w, now) / MB, ==, 700);
}

static void test_called_off_early(void)
{
    AttemptWatch w = watch(160, 0);

    run(&w, 500, 4); /* 100 MB in 200 ms */
    run(&w, 500, 15);
    g_assert_false(attempt_is_lost(&w, w.send_ns + 15 * MS)); /* may change */
    run(&w, 500, 20);
    g_assert_true(attempt_is_lost(&w, w.send_ns + 20 * MS));
    g_assert_cmpuint(attempt_speed(&w, w.send_ns + 20 * MS) / MB, ==, 500);

    w = watch(160, 0);
    run(&w, 200, 4);                                         /* 500 ms */
    g_assert_false(attempt_is_lost(&w, w.send_ns + 4 * MS)); /* too soon */
    run(&w, 200, 10);
    g_assert_true(attempt_is_lost(&w, w.send_ns + 10 * MS));

    w = watch(160, 0);
    run(&w, 600, 4); /* 167 ms and 3 */
    run(&w, 600, 38);
    g_assert_false(attempt_is_lost(&w, w.send_ns + 38 * MS));
    run(&w, 600, 40);
    g_assert_true(attempt_is_lost(&w, w.send_ns + 40 * MS));
}

/* A little over the limit is better than all of it again. */
static void test_not_called_off_late(void)
{
    AttemptWatch w = watch(160, 0);

    run(&w, 600, 60); /* 64 ms to go of 167 + 3 */
    w.loaded_bytes = 45 * MB;
    g_assert_false(attempt_is_lost(&w, w.send_ns + 90 * MS));
    /* It came to a stop: 240 ms, and more to go than was spent. */
    w.loaded_bytes = 10 * MB;
    g_assert_true(attempt_is_lost(&w, w.send_ns + 50 * MS));
    /* ... but nearly there. */
    w.loaded_bytes = 90 * MB;
    g_assert_false(attempt_is_lost(&w, w.send_ns + 400 * MS));
}

/* The way there and back is no sign of slowness. */
static void test_far_away(void)
{
    AttemptWatch w = watch(160, 40);

    attempt_mark(&w, 90 * MB);
    g_assert_false(attempt_is_lost(&w, w.send_ns + 40 * MS));
    attempt_heard(
        &w, 0,
        w.send_ns +
            50 * MS); /* 10 MB in 10 ms, heard 50 ms after the beginning */
    g_assert_false(attempt_is_lost(&w, w.send_ns + 50 * MS));
    g_assert_cmpuint(attempt_speed(&w, w.send_ns + 50 * MS) / MB, ==, 1000);
    g_assert_cmpint(attempt_in_flight_ns(&w, w.send_ns + 50 * MS), ==, 0);
}

/* Nothing came back: the speed is at most that of the first piece. */
static void test_silent(void)
{
    AttemptWatch w = watch(160, 0);

    g_assert_false(attempt_is_lost(&w, w.send_ns + 5 * MS));
    attempt_mark(&w, 96 * MB);
    attempt_mark(&w, 90 * MB);
    g_assert_true(attempt_is_lost(&w, w.send_ns + 20 * MS));
    g_assert_cmpint(attempt_in_flight_ns(&w, w.send_ns + 20 * MS), ==,
                    INT64_MAX);
    g_assert_cmpuint(attempt_speed(&w, w.send_ns + 20 * MS) / MB, ==, 200);
}

/* The first pieces are small, and slow for what they are. */
static void test_warms_up(void)
{
    AttemptWatch w = watch(300, 0);
    int64_t now = w.send_ns;

    w.owed_bytes = 1000 * MB;
    attempt_heard(&w, attempt_mark(&w, 999 * MB), now + 10 * MS);
    attempt_heard(&w, attempt_mark(&w, 959 * MB), now + 20 * MS);
    g_assert_cmpuint(attempt_speed(&w, now + 22 * MS) / MB, ==, 4000);
    g_assert_false(attempt_is_lost(&w, now + 22 * MS));
    /* Silent for longer than it was heard: 40 MB in 35 ms. */
    g_assert_cmpuint(attempt_speed(&w, now + 45 * MS) / MB, ==, 1142);
    g_assert_true(attempt_is_lost(&w, now + 45 * MS));
}

static void test_marks(void)
{
    AttemptWatch w = watch(160, 0);

    w.owed_bytes = 1000;
    for (unsigned i = 0; i < 300; i++) {
        g_assert_cmpuint(attempt_mark(&w, 999 - i), ==, i % ATTEMPT_MARKS);
    }
    attempt_heard(&w, 44, 6 * S); /* the oldest that is known: number 44 */
    g_assert_cmpuint(w.loaded_bytes, ==, 45);
    attempt_heard(&w, 43, 6 * S); /* number 299 */
    g_assert_cmpuint(w.loaded_bytes, ==, 300);
    attempt_heard(&w, 43, 6 * S); /* again: not awaited */
    attempt_heard(&w, ATTEMPT_MARKS, 6 * S);
    attempt_heard(&w, UINT_MAX, 6 * S);
    g_assert_cmpuint(w.loaded_bytes, ==, 300);
    g_assert_cmpuint(w.heard, ==, 300);
    g_assert_cmpuint(attempt_mark(&w, 600), ==, 44);
    attempt_heard(&w, 44, 6 * S);
    g_assert_cmpuint(w.loaded_bytes, ==, 400);
}

static const DowntimeInputs flat_out = {
    .remaining_bytes = 250 * MB,
    .bandwidth_bytes = 500 * MB,
    .dirtied_bytes = 450 * MB,
    .stop_ns = MS,
};

static void test_worth(void)
{
    AttemptRecord r = { 0 };
    DowntimeInputs in = flat_out;

    g_assert_false(downtime_allows(&in, 300 * MS));
    g_assert_true(attempt_is_worth_it(&in, 300 * MS, false));
    /* 250 MB at eight times the speed: 62 ms. */
    g_assert_true(attempt_is_worth_it(&in, 64 * MS, false));
    g_assert_false(attempt_is_worth_it(&in, 60 * MS, false));
    in.max_bandwidth = 100 * MB; /* holds only while the guest runs */
    g_assert_true(attempt_is_worth_it(&in, 64 * MS, false));
    in.avail_switchover = 500 * MB;
    g_assert_false(attempt_is_worth_it(&in, 300 * MS, false));
    in.avail_switchover = 0;

    /* One that took 10 ms keeps the next away for 200, ... */
    g_assert_true(attempt_may_come(&r, 1));
    r = (AttemptRecord){ .end_ns = 9 * S, .cost_ns = 10 * MS, .count = 1 };
    g_assert_false(attempt_may_come(&r, 9 * S + 199 * MS));
    g_assert_true(attempt_may_come(&r, 9 * S + 200 * MS));
    /* ... the third for 800, and no number of them for ever. */
    r.count = 3;
    g_assert_false(attempt_may_come(&r, 9 * S + 799 * MS));
    g_assert_true(attempt_may_come(&r, 9 * S + 800 * MS));
    r.count = UINT_MAX;
    g_assert_false(attempt_may_come(&r, 60 * S));
    g_assert_true(attempt_may_come(&r, 61 * S));
}

static void test_round_helps(void)
{
    DowntimeInputs in = flat_out;

    g_assert_false(downtime_round_helps(&in));
    in.dirtied_bytes = 300 * MB;
    g_assert_true(downtime_round_helps(&in));
    g_assert_false(attempt_is_worth_it(&in, 300 * MS, false));
    g_assert_true(attempt_is_worth_it(&in, 300 * MS, true));
    /* 0.6 of what is sent is owed again: 0.4 is gained, 0.5 is lost. */
    in.held_up = 0.5;
    g_assert_false(downtime_round_helps(&in));
    g_assert_true(attempt_is_worth_it(&in, 300 * MS, false));
    in.held_up = 0.3;
    g_assert_true(downtime_round_helps(&in));
    in.bandwidth_bytes = 0; /* not known */
    g_assert_false(downtime_round_helps(&in));
    g_assert_false(attempt_is_worth_it(&in, 300 * MS, true));
}

static void test_loss_share(void)
{
    /* 20,000 faults of 4 us in 100 ms, and 100 ms of waiting. */
    g_assert_cmpint((int)(100 * guest_loss_share(20000, 4000, 0, 100 * MS)), ==,
                    80);
    g_assert_cmpint(
        (int)(100 * guest_loss_share(20000, 4000, 100 * MS, 100 * MS)), ==, 90);
    g_assert_true(guest_loss_share(20000, 40000, 0, 100 * MS) == 1);
    g_assert_true(guest_loss_share(20000, 0, 0, 100 * MS) == 0);
    g_assert_true(guest_loss_share(0, 4000, 0, 0) == 0);
}

/* ---------------------------------- a guest that writes, and its target */

static struct {
    QemuThread guest, target;
    _Atomic bool end;        /* of the guest's thread */
    int fd;                  /* the target's */
    unsigned deaf;           /* this many pauses go without an answer */
    _Atomic unsigned pauses; /* begun */
    _Atomic bool in_pause;   /* asked in one */
    unsigned resumed;        /* times that the guest went on; BQL */
} w;

/* All memory all the time, while it runs. */
static void *writing_guest(void *opaque)
{
    while (!atomic_load(&w.end)) {
        if (runstate_is_running()) {
            guest_writes_all();
        }
        g_usleep(100);
    }
    return NULL;
}

/* ... and just before it stands, also where its thread got no processor. */
static void on_vm_change(void *opaque, bool running, RunState state)
{
    if (running) {
        w.resumed++;
    } else {
        guest_writes_all();
    }
}

static void *target(void *opaque)
{
    struct pollfd pfd = { .fd = w.fd, .events = POLLIN };
    uint8_t buf[65536];
    uint32_t last = 0;

    for (;;) {
        ssize_t n;

        if (poll(&pfd, 1, 200) == 0 &&
            atomic_load(&migrate_get_current()->hand_over) == HAND_OVER_DONE) {
            target_says(w.fd, 1, 0);
            return NULL;
        }
        n = recv(w.fd, buf, sizeof(buf), MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN)) {
            return NULL; /* cancelled */
        }
        for (ssize_t i = 0; i < n; i++) {
            last = last << 8 | buf[i];
            if ((last & ~PING_COUNT_MASK) == DRAIN_PING) {
                target_says(w.fd, 2, last);
            } else if ((last & ~PING_COUNT_MASK) == ATTEMPT_PING) {
                atomic_store(&w.in_pause, true);
                if (last == ATTEMPT_PING) {
                    atomic_fetch_add(&w.pauses, 1);
                }
                if (atomic_load(&w.pauses) > w.deaf) {
                    target_says(w.fd, 2, last);
                }
            }
        }
    }
}

/* 20 MB/s while the guest runs, so a pause would be of 210 ms, by that. */
static void begin(unsigned deaf, uint64_t promised)
{
    int fds[2];

    g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), ==, 0);
    memset(&w, 0, sizeof(w));
    w.fd = fds[1];
    w.deaf = deaf;
    set_return_path(true);
    set_limits(20 * MB, promised, 80);
    fake.channel = QIO_CHANNEL(qio_channel_socket_new_fd(fds[0], &error_abort));
    qemu_thread_create(&w.guest, "guest", writing_guest, NULL,
                       QEMU_THREAD_JOINABLE, &error_abort);
    qemu_thread_create(&w.target, "target", target, NULL, QEMU_THREAD_JOINABLE,
                       &error_abort);
    go();
}

static MigrationInfo *end(MigrationStatus want)
{
    MigrationInfo *info;
    unsigned resumed;

    g_assert_cmpint(run_to_end(), ==, want);
    resumed = w.resumed;
    atomic_store(&w.end, true);
    qemu_thread_join(&w.guest);
    qemu_thread_join(&w.target);
    close(w.fd);
    qio_channel_unref(fake.channel);
    fake.channel = NULL;
    set_return_path(false);
    set_limits(0, 0, 300);
    info = qmp_query_migrate(&error_abort);
    if (want == MIGRATION_STATUS_COMPLETED) {
        revive();
    }
    g_assert_true(runstate_is_running());
    w.resumed = resumed;
    return info;
}

/* It would never end by its rounds. */
static void test_ends(void)
{
    g_autoptr(MigrationInfo) info = NULL;

    begin(0, 0);
    info = end(MIGRATION_STATUS_COMPLETED);
    /* With all of the memory, and after the first pass if the host was not so
     * late that the pause had to be called off. */
    g_assert_cmpuint(info->ram->downtime_bytes, >, RAM_BYTES / 4 * 3 - 4096);
    if (!info->details->called_off) {
        g_assert_cmpuint(info->ram->dirty_sync_count, <=, 4);
    }
    g_assert_cmpint(info->details->blackout->pages_bytes, >, RAM_BYTES / 2);
}

static void test_called_off(void)
{
    g_autoptr(MigrationInfo) info = NULL;

    begin(2, 0);
    info = end(MIGRATION_STATUS_COMPLETED);
    g_assert_cmpuint(info->details->called_off, >=, 2);
    g_assert_cmpint(info->details->called_off_time, >, 0);
    g_assert_cmpuint(w.resumed, ==, info->details->called_off);
    /* Parts are of the pause that was the last. */
    g_assert_cmpint(info->details->blackout->stop +
                        info->details->blackout->pages +
                        info->details->blackout->collect,
                    <=, info->details->blackout->total);
}

/* Returns in the midst of one: without the BQL it can't be called off. */
static void TSA_REQUIRES(bql) wait_for_pause(void)
{
    while (!atomic_load(&w.in_pause) || runstate_is_running()) {
        main_loop_iterate(false);
        bql_unlock();
        g_usleep(50);
        bql_lock();
    }
}

/* A `stop` during a pause that is called off is not lost. */
static void TSA_REQUIRES(bql) test_stop_in_it(void)
{
    g_autoptr(MigrationInfo) info = NULL;
    unsigned resumed;

    begin(1000, 0);
    wait_for_pause();
    resumed = w.resumed;
    vm_stop(RUN_STATE_PAUSED); /* as the command does */
    /* The guest writes no more: the rounds end, with no pause to be watched. */
    set_limits(0, 0, 10000);
    g_assert_cmpint(run_to_end(), ==, MIGRATION_STATUS_COMPLETED);
    g_assert_cmpuint(w.resumed, ==, resumed);
    g_assert_cmpint(migrate_get_current()->old_state, ==, RUN_STATE_PAUSED);
    info = end(MIGRATION_STATUS_COMPLETED);
}

static void TSA_REQUIRES(bql) test_promised(void)
{
    g_autoptr(MigrationInfo) info = NULL;

    begin(0, 20 * MB);
    for (int i = 0; i < 100; i++) {
        g_autoptr(MigrationInfo) now = NULL;

        main_loop_iterate(false);
        bql_unlock();
        g_usleep(5000);
        bql_lock();
        now = qmp_query_migrate(&error_abort);
        if (now->ram && now->ram->dirty_sync_count > 3) {
            break;
        }
    }
    g_assert_cmpint(status_now(), ==, MIGRATION_STATUS_ACTIVE);
    g_assert_cmpuint(atomic_load(&w.pauses), ==, 0);
    set_limits(20 * MB, 20 * MB, 1000);
    info = end(MIGRATION_STATUS_COMPLETED);
    g_assert_false(atomic_load(&w.in_pause));
}

static void TSA_REQUIRES(bql) test_cancelled_in_it(void)
{
    g_autoptr(MigrationInfo) info = NULL;

    begin(1000, 0);
    wait_for_pause();
    qmp_migrate_cancel(&error_abort);
    info = end(MIGRATION_STATUS_CANCELLED);
}

int main(int argc, char **argv)
{
    int ret;

    g_test_init(&argc, &argv, NULL);
    set_up();
    qemu_add_vm_change_state_handler(on_vm_change, NULL);
    g_test_add_func("/attempt/keeps-limit", test_keeps_limit);
    g_test_add_func("/attempt/called-off-early", test_called_off_early);
    g_test_add_func("/attempt/not-called-off-late", test_not_called_off_late);
    g_test_add_func("/attempt/far-away", test_far_away);
    g_test_add_func("/attempt/silent", test_silent);
    g_test_add_func("/attempt/warms-up", test_warms_up);
    g_test_add_func("/attempt/marks", test_marks);
    g_test_add_func("/attempt/worth-it", test_worth);
    g_test_add_func("/attempt/round-helps", test_round_helps);
    g_test_add_func("/attempt/loss-share", test_loss_share);
    g_test_add_func("/attempt/ends", test_ends);
    g_test_add_func("/attempt/called-off", test_called_off);
    g_test_add_func("/attempt/stop-in-it", test_stop_in_it);
    g_test_add_func("/attempt/promised", test_promised);
    g_test_add_func("/attempt/cancelled-in-it", test_cancelled_in_it);
    ret = g_test_run();
    qemu_run_exit_notifiers();
    return ret;
}
