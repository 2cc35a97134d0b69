/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Native code for x86-64: what its two files share.
 *
 * Used by: native-x86.c, native-alu-x86.c. Uses: emit-x86.h.
 */
#ifndef ACCEL_TCG_NATIVE_X86_H
#define ACCEL_TCG_NATIVE_X86_H

#include "emit-x86.h"

#define NATIVE_EXITS_PER_OP 4

/* What the host's flags are worth when an operation begins. */
typedef enum HostFlags {
    HOST_FLAGS_NONE,
    HOST_FLAGS_SUB, /* of a subtraction that made the guest's */
    HOST_FLAGS_ADD,
    HOST_FLAGS_LOGIC,
} HostFlags;

/* A block that is being made. */
typedef struct Native {
    uint8_t *p; /* next byte */
    TcgVcpu *v;
    TcgBlock *b;
    HostFlags before, after; /* this operation */
    unsigned nr_exits;
    struct {
        uint8_t *jump;
        unsigned op;
    } exits[(TCG_BLOCK_MAX_OPS + 1) * NATIVE_EXITS_PER_OP];
} Native;

/* False: there is no template. */
bool native_alu(Native *n, const TcgOp *op);

/* dst = guest register @g; the upper half is not defined if not @w. */
static inline void native_get(Native *n, bool w, int dst, unsigned g)
{
    if (emit_host[g] != dst) {
        emit_rg(&n->p, w, OPC_LOAD, dst, g);
    }
}

/* Guest register @g = src, all 64 bits. */
static inline void native_put(Native *n, unsigned g, int src)
{
    if (g != A64_SINK && emit_host[g] != src) {
        emit_rg(&n->p, true, OPC_STORE, src, g);
    }
}

/* Register for a result that goes to @g while @used must stay: one of both. */
static inline int native_result(unsigned g, unsigned used)
{
    return emit_host[g] >= 0 && g != used ? emit_host[g] : RAX;
}

/* rcx = guest register @g, extended and shifted as @aux says (option | n<<3) */
void native_extend(Native *n, unsigned g, unsigned aux);
/* Test the guest's flags in memory: the host condition that says @cond. */
unsigned native_condition(Native *n, unsigned cond);

#endif /* ACCEL_TCG_NATIVE_X86_H */
