/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Migration test framework: a test is one MigrationTest and one call.
 *
 *     static const MigrationTest test = {
 *         .name = "/migration/none/unix",
 *         .listen = "unix:%s/sock",
 *     };
 *     migration_test_add(&test);
 *
 * What a run does, in order:
 *   1  start the target (-incoming defer) and the source; both have their RAM
 *      in a shared file that this process maps, too, or in memory of their own
 *      that it reads (ram_backend)
 *   2  fill the source's RAM with a pattern, the target's with 0xff (machine
 *      none), or wait until the guest works
 *   3  capabilities and parameters, hook `prepare`
 *   4  migrate-incoming at the target, migrate at the source
 *   5  hook `during`, then wait for the expected end on both sides
 *   6  check that no byte was lost, hook `after`, end both
 *
 * The binaries: QTEST_QEMU_BINARY, or each side its own by
 * QTEST_QEMU_BINARY_SRC and QTEST_QEMU_BINARY_DST; any of them may be the real
 * QEMU. Tests that need what only ours has say so by own_only.
 *
 * Used by: tests/migration. Uses: libqtest, guest-check.
 */
#ifndef TESTS_MIGRATION_FRAMEWORK_H
#define TESTS_MIGRATION_FRAMEWORK_H

#include "fault-proxy.h"
#include "libqtest.h"
#include "qapi/json.h"

typedef struct MigrationPair MigrationPair;

/* How a test is to end. */
typedef enum MigrationEnd {
    MIGRATION_SUCCEEDS,      /* both completed, memory compared */
    MIGRATION_TARGET_FAILS,  /* target ends with 1; source is looked at by
                                `after` */
    MIGRATION_LEFT_TO_HOOKS, /* `during` saw to it; nothing is checked */
} MigrationEnd;

typedef struct MigrationTest {
    /* Required. A path that reads like a sentence. */
    const char *name;

    /* Optional. Where the target waits; %s is the test's directory. Default
     * "unix:%s/mig.sock". */
    const char *listen;
    /* Optional. Where the source goes; default: the same, or what the target
     * says that it listens at (tcp, port 0). */
    const char *connect;
    /* Optional, with tcp, port 0. Between the two is a link that carries so
     * many bytes a second. */
    uint64_t link_rate;
    /* Optional. The target is started with -incoming URI, not with defer. */
    bool listen_at_start;
    /* Optional. The target starts after the source is done: for file:. */
    bool target_later;
    /* Optional. Further arguments of one side. */
    const char *src_args, *dst_args;
    /* Optional. Capabilities switched on at both sides, NULL-terminated. */
    const char *const *caps;
    /* Optional. Arguments of migrate-set-parameters at the source, as JSON
     * without its braces. */
    const char *params;
    /* Optional. A guest of tests/guest (see guest-machine.h) with its command
     * line; default: machine none, no guest. */
    const char *guest;
    const char *guest_args;
    unsigned guest_cpus; /* default 1 */
    /* Optional; x86_64. So many KiB of RAM are below 4 GiB, the rest above. */
    unsigned guest_low_kib;
    /* Optional. What runs it, of both sides; default: see guest-machine.h. */
    const char *accel;
    /* Optional. MiB; default 16 without a guest, 160 with one. */
    unsigned ram_mib;
    /* Optional. "memory-backend-ram" with what is to be set; default: a shared
     * file. src_ram and dst_ram are copies then, of when the framework last
     * looked. With a guest only. */
    const char *ram_backend;
    /* Optional. In which folder its files lie; default: the usual one. */
    const char *folder;
    /* Optional. Shared RAM is one file for both (x-ignore-shared). */
    bool same_ram;
    /* Optional. Uses what only our binaries have. */
    bool own_only;
    /* Optional; default MIGRATION_SUCCEEDS. */
    MigrationEnd end;

    /* Optional hooks. */
    void (*prepare)(MigrationPair *p);
    void (*during)(MigrationPair *p);
    void (*after)(MigrationPair *p);
} MigrationTest;

struct MigrationPair {
    const MigrationTest *test;
    char *dir;
    QTestState *src, *dst;
    char *uri;        /* where the source went */
    FaultProxy *link; /* NULL without link_rate */
    uint8_t *src_ram, *dst_ram;
    size_t ram_bytes;
    uint8_t *want; /* machine none: what the source's RAM was filled with */
    bool swapped;  /* the files of the two sides have changed places */
};

/* Add to glib's list of tests. @test must live on. */
void migration_test_add(const MigrationTest *test);
/* The same at once, for a test that is made up as it runs. */
void migration_test_run(const MigrationTest *test);
/* 0 or glib's result; reads the environment. */
int migration_test_main(int argc, char **argv, void (*add)(void));

bool migration_binary_is_own(bool target);
/* Whether guests can run; if not, guest-machine.h knows why. */
bool migration_guests_work(void);

/* ---- steps, for hooks and for tests with a plan of their own ---- */
MigrationPair *migration_pair_new(const MigrationTest *test);
void migration_pair_free(MigrationPair *p); /* both sides must have ended */
void migration_start_source(MigrationPair *p);
void migration_start_target(MigrationPair *p);
void migration_target_listen(MigrationPair *p);
void migration_go(MigrationPair *p); /* migrate */
void migration_set_cap(QTestState *s, const char *cap, bool on);
void migration_set_params(QTestState *s, const char *fmt, ...)
    G_GNUC_PRINTF(2, 3);
/* query-migrate's answer. */
json_object *migration_query(QTestState *s);
/* Its status; "" if there is none. Static storage. */
const char *migration_status(QTestState *s);
/* Poll until it is @status; any end other than that is an error. */
void migration_wait(QTestState *s, const char *status);
/* Until the first pass over memory is done. */
void migration_wait_pass(QTestState *s, int64_t pass);
void migration_check_memory(MigrationPair *p);
/* The guest, stopped on side @dst, has lost nothing. */
void migration_check_guest(MigrationPair *p, bool dst);
/* Until each vCPU of the source does what the guest is for. */
void migration_wait_guest(MigrationPair *p);
/* The guest on that side makes progress now. */
void migration_assert_guest_runs(MigrationPair *p, bool dst);
/* Until both sides say that it is done; then nothing is lost (machine none). */
void migration_wait_arrival(MigrationPair *p);
/* End both sides, and p. */
void migration_pair_quit(MigrationPair *p);
/* End the old target, whatever it is up to, and start a new one. */
void migration_new_target(MigrationPair *p);
/* End the source; the target is the source of the next migration. */
void migration_turn_round(MigrationPair *p);

#endif /* TESTS_MIGRATION_FRAMEWORK_H */
