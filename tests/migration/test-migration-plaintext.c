/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A migration that may cross a network as it is, unencrypted, is warned of,
 * once in each process; one that stays on the host is not.
 */
#include "qemu/osdep.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "framework.h"

#define WARNING "is not encrypted"

static unsigned warnings(QTestState *s)
{
    g_autofree char *text = qtest_stderr(s);
    unsigned n = 0;

    for (const char *at = text; (at = strstr(at, WARNING)); at++) {
        n++;
    }
    return n;
}

/* An IPv4 address of this host's that others may reach; NULL: none. */
static char *outer_address(struct sockaddr_in *sa)
{
    struct ifaddrs *list = NULL;
    char *found = NULL;

    g_assert_cmpint(getifaddrs(&list), ==, 0);
    for (struct ifaddrs *i = list; i && !found; i = i->ifa_next) {
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET &&
            !(i->ifa_flags & IFF_LOOPBACK) && i->ifa_flags & IFF_UP) {
            char text[INET_ADDRSTRLEN];

            memcpy(sa, i->ifa_addr, sizeof(*sa));
            found = g_strdup(
                inet_ntop(AF_INET, &sa->sin_addr, text, sizeof(text)));
        }
    }
    freeifaddrs(list);
    return found;
}

static void none(MigrationPair *p)
{
    g_assert_cmpuint(warnings(p->src), ==, 0);
    g_assert_cmpuint(warnings(p->dst), ==, 0);
}

static const MigrationTest quiet[] = {
    { .name = "/migration/plaintext/none-for-unix",
      .after = none,
      .own_only = true },
    { .name = "/migration/plaintext/none-for-loopback",
      .listen = "tcp:127.0.0.1:0",
      .after = none,
      .own_only = true },
    { .name = "/migration/plaintext/none-for-ipv6-loopback",
      .listen = "tcp:[::1]:0",
      .after = none,
      .own_only = true },
};

/* Anybody may come to a target that listens everywhere; this source did not. */
static void target_only(MigrationPair *p)
{
    g_assert_cmpuint(warnings(p->src), ==, 0);
    g_assert_cmpuint(warnings(p->dst), ==, 1);
}

static const MigrationTest everywhere = {
    .name = "/migration/plaintext/listening-everywhere",
    .listen = "tcp:0.0.0.0:0",
    .after = target_only,
    .own_only = true,
};

static const MigrationTest pair_kind = { .name = "/migration/plaintext" };

static MigrationPair *pair_or_skip(const char *address)
{
    if (!address) {
        g_test_skip("this host has no address that others could reach");
    } else if (!migration_binary_is_own(false) ||
               !migration_binary_is_own(true)) {
        g_test_skip("this test is about what only our binaries have");
    } else {
        return migration_pair_new(&pair_kind);
    }
    return NULL;
}

static void migrate_uri(QTestState *s, const char *command, const char *uri)
{
    G_GNUC_UNUSED g_autoptr(json_object) r = qtest_qmp_ok(
        s, "{'execute':'%s','arguments':{'uri':'%s'}}", command, uri);
}

/* What the target bound to, as a URI. */
static char *bound_uri(QTestState *dst)
{
    g_autoptr(json_object) q = migration_query(dst);

    return g_strdup_printf("tcp:%s:%s",
                           json_path_str(q, "socket-address.0.host"),
                           json_path_str(q, "socket-address.0.port"));
}

/* The source tries twice: it is told once, and by the name it goes to. */
static void test_once(void)
{
    struct sockaddr_in sa;
    g_autofree char *address = outer_address(&sa), *uri = NULL, *again = NULL;
    g_autofree char *listen = g_strdup_printf("tcp:%s:0", address),
                    *said = NULL;
    MigrationPair *p = pair_or_skip(address);

    if (!p) {
        return;
    }
    migration_start_target(p);
    migration_start_source(p);
    migrate_uri(p->dst, "migrate-incoming", listen);
    g_assert_cmpuint(warnings(p->dst), ==, 1);
    uri = bound_uri(p->dst);
    migration_set_params(p->src, "'max-bandwidth':1000000");
    migrate_uri(p->src, "migrate", uri);
    migration_wait(p->src, "active");
    g_assert_cmpuint(warnings(p->src), ==, 1);
    said = qtest_stderr(p->src);
    g_assert_nonnull(strstr(said, uri));
    json_object_put(qtest_qmp_ok(p->src, "{'execute':'migrate_cancel'}"));
    migration_wait(p->src, "cancelled");
    g_assert_cmpint(qtest_wait_exit(p->dst), ==, 1);
    g_assert_cmpuint(warnings(p->dst), ==, 1);
    qtest_free(p->dst);

    migration_start_target(p);
    migrate_uri(p->dst, "migrate-incoming", listen);
    again = bound_uri(p->dst);
    migration_set_params(p->src, "'max-bandwidth':0");
    migrate_uri(p->src, "migrate", again);
    migration_wait(p->src, "completed");
    migration_wait(p->dst, "completed");
    g_assert_cmpuint(warnings(p->src), ==, 1);
    g_assert_cmpuint(warnings(p->dst), ==, 1);
    migration_check_memory(p);
    migration_pair_quit(p);
}

/* Sockets that were connected by somebody else are looked at, too. */
static void test_fd(void)
{
    struct sockaddr_in sa;
    socklen_t len = sizeof(sa);
    g_autofree char *address = outer_address(&sa);
    MigrationPair *p = pair_or_skip(address);
    int l, fds[2];

    if (!p) {
        return;
    }
    sa.sin_port = 0;
    l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_assert_cmpint(bind(l, (struct sockaddr *)&sa, sizeof(sa)), ==, 0);
    g_assert_cmpint(listen(l, 1), ==, 0);
    g_assert_cmpint(getsockname(l, (struct sockaddr *)&sa, &len), ==, 0);
    fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_assert_cmpint(connect(fds[0], (struct sockaddr *)&sa, sizeof(sa)), ==, 0);
    fds[1] = accept(l, NULL, NULL);
    g_assert_cmpint(fds[1], >=, 0);

    migration_start_target(p);
    migration_start_source(p);
    json_object_put(qtest_qmp_fds(
        p->src, &fds[0], 1, "{'execute':'getfd','arguments':{'fdname':'m'}}"));
    json_object_put(qtest_qmp_fds(
        p->dst, &fds[1], 1, "{'execute':'getfd','arguments':{'fdname':'m'}}"));
    close(fds[0]);
    close(fds[1]);
    close(l);
    migrate_uri(p->dst, "migrate-incoming", "fd:m");
    migrate_uri(p->src, "migrate", "fd:m");
    migration_wait(p->src, "completed");
    migration_wait(p->dst, "completed");
    g_assert_cmpuint(warnings(p->src), ==, 1);
    g_assert_cmpuint(warnings(p->dst), ==, 1);
    migration_pair_quit(p);
}

static void add_tests(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(quiet); i++) {
        migration_test_add(&quiet[i]);
    }
    migration_test_add(&everywhere);
    g_test_add_func("/migration/plaintext/once", test_once);
    g_test_add_func("/migration/plaintext/fd", test_fd);
}

int main(int argc, char **argv)
{
    return migration_test_main(argc, argv, add_tests);
}
