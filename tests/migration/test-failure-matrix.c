/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The failure matrix: each row of failure-table.h, between two real processes
 * with a proxy in between.
 *
 * A run: reach the row's state, make its fault happen, look at both sides;
 * then, if the source has the guest, migrate it once more, to a new target,
 * which must get every byte. Machine `none`, whose memory is what the test
 * wrote, or a guest that runs.
 */
#include "qemu/osdep.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include "fault-proxy.h"
#include "framework.h"
#include "guest-machine.h"

#define PATIENCE_S 60
#define REPLIES    50

typedef struct Failure {
    const char *state, *fault;
    const char *src_status, *src_guest, *src_says;
    const char *dst_end, *dst_says;
} Failure;

#define FAILURE(...) { __VA_ARGS__ },
static const Failure table[] = {
#include "failure-table.h"
};
#undef FAILURE

static const MigrationTest pair_kind = { .name = "/migration/matrix" };
/* Both vCPUs write 4,096 pages over and over. */
static const MigrationTest guest_kind = {
    .name = "/migration/matrix",
    .guest = "workload",
    .guest_args = "ws=16 cpus=2 bytes=64",
    .guest_cpus = 2,
    .ram_mib = 64,
};

/* One run. */
typedef struct Run {
    const Failure *f;
    char *state;  /* the row's, without what follows */
    bool one_way; /* -one-way: without a return path */
    bool paused;  /* -paused: by the user, before it began */
    bool guest;   /* -guest: one that runs */
    MigrationPair *p;
    FaultProxy *proxy;
    int target_port;
} Run;

static bool is_state(const Run *r, const char *state)
{
    return g_str_equal(r->state, state);
}

static bool take_suffix(char *state, const char *suffix)
{
    if (!g_str_has_suffix(state, suffix)) {
        return false;
    }
    state[strlen(state) - strlen(suffix)] = 0;
    return true;
}

static void read_state(Run *r)
{
    r->state = g_strdup(r->f->state);
    r->one_way = take_suffix(r->state, "-one-way");
    r->paused = take_suffix(r->state, "-paused");
    r->guest = take_suffix(r->state, "-guest");
}

static bool is_fault(const Run *r, const char *fault)
{
    return g_str_equal(r->f->fault, fault);
}

/* ------------------------------------------------------- to the state */

static int listening_port(QTestState *dst)
{
    g_autoptr(json_object) G_GNUC_UNUSED r = qtest_qmp_ok(
        dst, "{'execute':'migrate-incoming','arguments':"
             "{'uri':'tcp:127.0.0.1:0'}}");
    g_autoptr(json_object) q = migration_query(dst);

    return atoi(json_path_str(q, "socket-address.0.port"));
}

static void migrate_to(Run *r, int port)
{
    G_GNUC_UNUSED g_autoptr(json_object) m = qtest_qmp_ok(
        r->p->src,
        "{'execute':'migrate','arguments':{'uri':'tcp:127.0.0.1:%d%s'}}", port,
        is_fault(r, "user-timeout") ? ",user-timeout=300" : "");
}

static bool beyond_active(const Run *r)
{
    return !is_state(r, "connecting") && !is_state(r, "active") &&
           !is_state(r, "listening");
}

static void begin(Run *r)
{
    MigrationPair *p = r->p;

    migration_start_target(p);
    migration_start_source(p);
    migration_set_cap(p->src, "return-path", !r->one_way);
    migration_set_cap(p->dst, "return-path", !r->one_way);
    if (r->paused) {
        json_object_put(qtest_qmp_ok(p->src, "{'execute':'stop'}"));
    }
    if (beyond_active(r)) {
        migration_set_cap(p->src, "pause-before-switchover", true);
        /* All that a guest writes may be left for the end, and with a promise
         * it is: else it would be sent before the state `device`. */
        migration_set_params(p->src, "'downtime-limit':2000,"
                                     "'avail-switchover-bandwidth':1000000000");
    } else if (is_state(r, "active")) {
        /* It is not over before the fault, however late the test is. */
        migration_set_params(p->src, "'max-bandwidth':1000000");
    }
    r->target_port = listening_port(p->dst);
    r->proxy = fault_proxy_new(r->target_port, is_state(r, "connecting"));
}

static void until(bool (*done)(Run *r), Run *r, const char *what)
{
    gint64 end = g_get_monotonic_time() + PATIENCE_S * G_USEC_PER_SEC;

    while (!done(r)) {
        if (g_get_monotonic_time() > end) {
            g_error("%s, %s: waited for %s in vain", r->f->state, r->f->fault,
                    what);
        }
        g_usleep(1000);
    }
}

static bool some_bytes_went(Run *r)
{
    return fault_proxy_bytes(r->proxy) > 100000;
}

/* The guest is stopped; what is written now goes in the state `device`. */
static void dirty_all(Run *r)
{
    g_autofree char *answer = qtest_line(r->p->src, "memset 0x0 0x%zx 0x5a",
                                         r->p->ram_bytes);

    g_assert_cmpstr(answer, ==, "OK");
    memset(r->p->want, 0x5a, r->p->ram_bytes);
}

static void go_on(Run *r)
{
    G_GNUC_UNUSED g_autoptr(json_object) c = qtest_qmp_ok(
        r->p->src, "{'execute':'migrate-continue','arguments':{'state':"
                   "'pre-switchover'}}");
}

static void reach_handed_over(Run *r)
{
    /* Nothing is owed: all fits into the buffers of the sockets. */
    fault_proxy_set(r->proxy, PROXY_HOLD);
    go_on(r);
    if (r->one_way) {
        /* It will never hear more. */
        migration_wait(r->p->src, "completed");
        return;
    }
    migration_wait(r->p->src, "device");
    g_usleep(200000);
    g_assert_cmpstr(migration_status(r->p->src), ==, "device");
}

static void cancel(Run *r)
{
    g_autoptr(json_object) G_GNUC_UNUSED c = qtest_qmp_ok(
        r->p->src, "{'execute':'migrate_cancel'}");
}

static void reach(Run *r)
{
    MigrationPair *p = r->p;

    if (is_state(r, "listening")) {
        return;
    }
    migrate_to(r, fault_proxy_port(r->proxy));
    if (is_state(r, "connecting")) {
        migration_wait(p->src, "setup");
        return;
    }
    if (is_state(r, "active")) {
        until(some_bytes_went, r, "bytes");
        return;
    }
    migration_wait(p->src, "pre-switchover");
    if (is_state(r, "device")) {
        fault_proxy_set(r->proxy, PROXY_HOLD);
        if (!r->guest) {
            dirty_all(r); /* a guest has done so itself */
        }
        go_on(r);
        migration_wait(p->src, "device");
    } else if (is_state(r, "handed-over") || is_state(r, "cancelling")) {
        reach_handed_over(r);
    }
    if (is_state(r, "cancelling")) {
        cancel(r);
        g_assert_cmpstr(migration_status(p->src), ==, "cancelling");
    }
}

/* ------------------------------------------------------------- faults */

static void talk_to_target(Run *r, const char *bytes, size_t len)
{
    struct sockaddr_in sa = { .sin_family = AF_INET,
                              .sin_port = htons(r->target_port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    g_assert_cmpint(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), ==, 0);
    g_assert_cmpint(write(fd, bytes, len), ==, len);
    close(fd);
}

static void kill_target(Run *r)
{
    qtest_kill(r->p->dst);
    r->p->dst = NULL;
    if (is_state(r, "listening")) {
        migrate_to(r, r->target_port);
    }
}

static void kill_source(Run *r)
{
    qtest_kill(r->p->src);
    r->p->src = NULL;
    /* What its system still had to send arrives, and then the end. */
    fault_proxy_set(r->proxy, PROXY_PASS);
}

static const struct {
    const char *fault;
    ProxyMode mode;
} proxy_faults[] = {
    { "cut", PROXY_CUT },         { "reset", PROXY_RESET },
    { "half-close", PROXY_HALF }, { "hold", PROXY_HOLD },
    { "drop", PROXY_DROP },       { "user-timeout", PROXY_HOLD },
    { "trickle", PROXY_TRICKLE }, { "pass", PROXY_PASS },
};

static void inject(Run *r)
{
    for (size_t i = 0; i < G_N_ELEMENTS(proxy_faults); i++) {
        if (is_fault(r, proxy_faults[i].fault)) {
            fault_proxy_set(r->proxy, proxy_faults[i].mode);
            if (is_fault(r, "trickle") || is_fault(r, "user-timeout") ||
                (is_fault(r, "drop") && r->one_way)) {
                /* Nothing else holds it up any more. */
                migration_set_params(r->p->src, "'max-bandwidth':0");
            }
            return;
        }
    }
    if (is_fault(r, "kill-target")) {
        kill_target(r);
    } else if (is_fault(r, "kill-source")) {
        kill_source(r);
    } else if (is_fault(r, "empty-connection")) {
        talk_to_target(r, "", 0);
    } else if (is_fault(r, "junk")) {
        talk_to_target(r, "GET / HTTP/1.1\r\n\r\n", 18);
    } else {
        g_assert_not_reached();
    }
}

/* ----------------------------------------------------------- outcomes */

static void assert_answers(QTestState *s)
{
    for (int i = 0; i < REPLIES; i++) {
        G_GNUC_UNUSED g_autoptr(json_object) r = migration_query(s);
    }
}

static void check_same(Run *r)
{
    g_autofree char *before = g_strdup(migration_status(r->p->src));

    g_usleep(100000);
    if (is_state(r, "device") && is_fault(r, "drop")) {
        g_usleep(1000000); /* the proxy takes all of it */
    }
    assert_answers(r->p->src);
    if (g_str_equal(r->f->dst_end, "loads")) {
        assert_answers(r->p->dst);
        qtest_assert_status(r->p->dst, "inmigrate");
    }
    g_assert_cmpstr(migration_status(r->p->src), ==, before);
    cancel(r);
    if (g_str_equal(r->f->src_guest, "paused") && !r->paused) {
        /* Only the target knows: the first one waits for its word. */
        g_usleep(100000);
        assert_answers(r->p->src);
        g_assert_cmpstr(migration_status(r->p->src), ==, "cancelling");
        cancel(r);
    }
    migration_wait(r->p->src, "cancelled");
}

static void check_source(Run *r)
{
    QTestState *src = r->p->src;
    g_autoptr(json_object) q = NULL;

    if (g_str_equal(r->f->src_status, "-")) {
        return;
    }
    if (g_str_equal(r->f->src_status, "same")) {
        check_same(r);
    } else {
        migration_wait(src, r->f->src_status);
    }
    assert_answers(src);
    q = migration_query(src);
    if (*r->f->src_says) {
        json_object *desc = json_path(q, "error-desc");
        const char *text = desc ? json_object_get_string(desc) : "";

        if (!strstr(text, r->f->src_says)) {
            g_error("%s, %s: the source says '%s'", r->f->state, r->f->fault,
                    text);
        }
    }
    if (g_str_equal(r->f->src_guest, "runs")) {
        qtest_assert_status(src, "running");
        if (r->guest) {
            migration_assert_guest_runs(r->p, false);
        }
    } else if (!g_str_equal(r->f->src_guest, "-")) {
        qtest_assert_status(src, r->f->src_guest);
    }
}

/* The target has the guest: all of it. */
static void check_arrived(MigrationPair *p)
{
    if (!p->test->guest) {
        migration_check_memory(p);
        return;
    }
    migration_assert_guest_runs(p, true);
    json_object_put(qtest_qmp_ok(p->dst, "{'execute':'stop'}"));
    migration_check_guest(p, true);
}

static void check_target(Run *r)
{
    QTestState *dst = r->p->dst;
    g_autofree char *said = NULL;

    if (!dst) {
        return;
    }
    if (g_str_equal(r->f->dst_end, "runs") ||
        g_str_equal(r->f->dst_end, "paused")) {
        migration_wait(dst, "completed");
        qtest_assert_status(dst, g_str_equal(r->f->dst_end, "runs") ? "running"
                                                                    : "paused");
        check_arrived(r->p);
        qtest_quit(dst);
        r->p->dst = NULL;
        return;
    }
    if (g_str_equal(r->f->dst_end, "-")) {
        qtest_kill(dst);
        r->p->dst = NULL;
        return;
    }
    if (g_str_equal(r->f->dst_end, "loads")) {
        /* The proxy must let it know that the source has gone. */
        fault_proxy_set(r->proxy, PROXY_CUT);
    }
    g_assert_cmpint(qtest_wait_exit(dst), ==, 1);
    said = qtest_stderr(dst);
    if (!strstr(said, r->f->dst_says)) {
        g_error("%s, %s: the target says '%s'", r->f->state, r->f->fault, said);
    }
    qtest_free(dst);
    r->p->dst = NULL;
}

/* The guest is here: nothing of it may be lost. */
static void try_again(Run *r)
{
    MigrationPair *p = r->p;
    g_autoptr(json_object) m = NULL;

    if (!p->src || g_str_equal(r->f->dst_end, "runs") ||
        g_str_equal(r->f->dst_end, "paused")) {
        return;
    }
    if (!g_str_equal(r->f->src_guest, "runs")) {
        G_GNUC_UNUSED g_autoptr(json_object)
            c = qtest_qmp_ok(p->src, "{'execute':'cont'}");

        qtest_assert_status(p->src, "running");
    }
    if (beyond_active(r)) {
        migration_set_cap(p->src, "pause-before-switchover", false);
    }
    migration_set_params(p->src, "'max-bandwidth':0");
    migration_start_target(p);
    migration_set_cap(p->src, "return-path", true);
    migration_set_cap(p->dst, "return-path", true);
    m = qtest_qmp_ok(p->src,
                     "{'execute':'migrate','arguments':"
                     "{'uri':'tcp:127.0.0.1:%d'}}",
                     listening_port(p->dst));
    migration_wait(p->src, "completed");
    migration_wait(p->dst, "completed");
    check_arrived(p);
    qtest_quit(p->dst);
    p->dst = NULL;
}

static void run(gconstpointer data)
{
    Run r = { .f = data };

    if (!migration_binary_is_own(false) || !migration_binary_is_own(true)) {
        g_test_skip("this test is about what only our binaries have");
        return;
    }
    read_state(&r);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    if (r.guest && is_state(&r, "device")) {
        g_test_skip("so slow a guest writes less than sockets hold");
        g_free(r.state);
        return;
    }
#endif
    if (r.guest && !migration_guests_work()) {
        g_test_skip(guest_machine_why_not());
        g_free(r.state);
        return;
    }
    r.p = migration_pair_new(r.guest ? &guest_kind : &pair_kind);
    begin(&r);
    reach(&r);
    inject(&r);
    check_source(&r);
    check_target(&r);
    try_again(&r);
    fault_proxy_free(r.proxy);
    if (r.p->src) {
        qtest_quit(r.p->src);
        r.p->src = NULL;
    }
    migration_pair_free(r.p);
    g_free(r.state);
}

static void add_tests(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
        g_autofree char *path = g_strdup_printf("/migration/matrix/%s/%s",
                                                table[i].state, table[i].fault);

        g_test_add_data_func(path, &table[i], run);
    }
}

int main(int argc, char **argv)
{
    return migration_test_main(argc, argv, add_tests);
}
