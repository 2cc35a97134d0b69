/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Native code: runs of frequent operations, as instructions of the host.
 *
 * When a block is made, those of its operations for which there is a template
 * become host code as well, one after the other, with nothing carried from one
 * to the next but the guest's registers, some of which live in host registers
 * within native code. Whatever a template does not do (a TLB miss, a fault, a
 * branch whose link is not valid, an operation without template) is an exit:
 * the interpreter executes that operation from its beginning and goes on, into
 * native code again where there is some. So native code never calls anything,
 * raises nothing, and looks at v->chain_key at each jump, as the interpreter
 * does: what tcg-int.h says of the handshake holds for both.
 *
 * Hosts without templates have the interpreter only (tcg_native_make() does
 * nothing); and where it was not asked for, so has every host: native code is
 * young.
 *
 * Threads: that of the vCPU, but for tcg_native_use(). Used by: accel/tcg.
 */
#ifndef ACCEL_TCG_NATIVE_H
#define ACCEL_TCG_NATIVE_H

#include "tcg-int.h"

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
#define TCG_NATIVE 1
#else
#define TCG_NATIVE 0
#endif

typedef enum TcgNativeUse {
    TCG_NATIVE_OFF,        /* the default */
    TCG_NATIVE_ON,         /* -accel tcg,native-code=on */
    TCG_NATIVE_EVERYWHERE, /* also where it does not pay: for tests */
} TcgNativeUse;

/* Of vCPUs made from now on. Not while vCPUs run. */
void tcg_native_use(TcgNativeUse use);
/* How much memory behind the arena's operations a vCPU needs; 0: none. */
size_t tcg_native_bytes(void);
/* @code: that memory, writable and executable. Makes ways in and out. */
void tcg_native_init(TcgVcpu *v, uint8_t *code);
/* Give back what was made since. */
void tcg_native_forget(TcgVcpu *v);
/* Whether there is room for a block of @nr_ops. */
bool tcg_native_has_room(const TcgVcpu *v, unsigned nr_ops);
/*
 * Code for @b, whose operations are complete. Those at which the interpreter
 * enters it get the label @enter and the address in op->native.
 */
void tcg_native_make(TcgVcpu *v, TcgBlock *b, const void *enter);

/* Execute from @code on; returns what the interpreter is to execute next. */
static inline const TcgOp *tcg_native_run(TcgVcpu *v, const void *code)
{
#if TCG_NATIVE
    const TcgOp *(*way_in)(TcgVcpu * v, const void *code) = v->native_in;

    tcg_count(&v->stats.native_runs);
    return way_in(v, code);
#else
    g_assert_not_reached();
#endif
}

#endif /* ACCEL_TCG_NATIVE_H */
