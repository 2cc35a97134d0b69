/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fault proxy: between the two processes of a migration, over TCP, and as bad
 * as a test wants.
 *
 *     source --> proxy --> target      bytes pass until the test says otherwise
 *
 * What it does changes at any moment; it takes one connection.
 *
 * Threads: the caller's and one of its own. Used by: tests/migration.
 */
#ifndef TESTS_MIGRATION_FAULT_PROXY_H
#define TESTS_MIGRATION_FAULT_PROXY_H

typedef enum ProxyMode {
    PROXY_PASS,
    PROXY_TRICKLE, /* pieces of 1 to 1500 bytes, with pauses */
    PROXY_HOLD,    /* reads nothing, so that in the end nobody can write */
    PROXY_DROP,    /* takes all and passes nothing on */
    PROXY_HALF,    /* an end towards the target; the way back still passes */
    PROXY_CUT,     /* closes both connections */
    PROXY_RESET,   /* the same, by RST */
} ProxyMode;

typedef struct FaultProxy FaultProxy;

/*
 * Listen on a port of its own, for one connection to @target_port (both on
 * 127.0.0.1). @deaf: nobody is let in; connecting takes for ever.
 */
FaultProxy *fault_proxy_new(int target_port, bool deaf);
void fault_proxy_free(FaultProxy *proxy);
int fault_proxy_port(const FaultProxy *proxy);
/* Returns when it is so. */
void fault_proxy_set(FaultProxy *proxy, ProxyMode mode);
/* From now on it carries @rate bytes a second towards the target; 0: as many as
 * there are. */
void fault_proxy_set_rate(FaultProxy *proxy, uint64_t rate);
/* Bytes that went to the target so far. */
uint64_t fault_proxy_bytes(FaultProxy *proxy);

#endif /* TESTS_MIGRATION_FAULT_PROXY_H */
