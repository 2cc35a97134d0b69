/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interpreter: one function, one label per operation, each ending in a
 * jump to the next one's label.
 *
 * The bodies are in ops-*.c.inc, which are parts of tcg_run() and use:
 *   x[], op, v      register file, current operation, the vCPU
 *   OP(name)        begins an operation
 *   NEXT            goes on behind it
 *   JUMP            goes to op->imm (direct branch)
 *   CALL(f)         body is a function; false: leave
 *   leave           label: out of guest code, v->pc is set
 *
 * Plain guest accesses are relaxed host atomics: single-copy atomic, and as
 * weakly ordered as A64 allows.
 */
#include "qemu/osdep.h"

#include "tcg-int.h"
#include "alu-inl.h"
#include "native.h"

QEMU_BUILD_BUG_ON(__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__);

static inline TcgTlbEntry *tlb_entry(TcgVcpu *v, vaddr va)
{
    return &v->tlb[(va >> TCG_PAGE_BITS) & (TCG_TLB_SIZE - 1)];
}

/* Follow a direct branch whose link is not known or not valid any more. */
static const TcgOp *resolve(TcgVcpu *v, const TcgOp *op)
{
    uint64_t flushes = v->arena_flushes;
    TcgBlock *target = tcg_block_get(v, op->imm);

    if (!target) {
        return NULL;
    }
    if (flushes == v->arena_flushes) {
        ((TcgOp *)op)->link = target;
    }
    v->blk = target;
    return target->ops;
}

static const TcgOp *go_to(TcgVcpu *v, vaddr pc)
{
    TcgBlock *target = v->jump[(pc >> 2) & (TCG_JUMP_SIZE - 1)];

    if (likely(target->key == tcg_chain_key(v) && target->pc == pc)) {
        v->blk = target;
        return target->ops;
    }
    target = tcg_block_get(v, pc);
    if (!target) {
        return NULL;
    }
    v->blk = target;
    return target->ops;
}

/* With @v NULL only returns the labels. */
static TcgExit run(TcgVcpu *v, const void *const **labels_out)
{
#define LABEL(n) &&L_##n,
    static const void *const labels[] = { A64_OPCODES(LABEL) && native };
#undef LABEL
    const TcgOp *op;
    uint64_t *x;

    if (!v) {
        *labels_out = labels;
        return TCG_EXIT_LOOK;
    }
    x = v->x;
    op = go_to(v, v->pc);
    if (!op) {
        goto leave;
    }
    goto * op->label;

#define OP(n) L_##n
#define NEXT              \
    do {                  \
        op++;             \
        goto * op->label; \
    } while (0)
#define JUMP                                            \
    do {                                                \
        TcgBlock *target_ = op->link;                   \
        if (likely(target_->key == tcg_chain_key(v))) { \
            v->blk = target_;                           \
            op = target_->ops;                          \
            goto * op->label;                           \
        }                                               \
        goto unlinked;                                  \
    } while (0)
#define CALL(f)          \
    do {                 \
        if (!f(v, op)) { \
            goto leave;  \
        }                \
        NEXT;            \
    } while (0)

#include "ops-alu.c.inc"
#include "ops-branch.c.inc"
#include "ops-mem.c.inc"

native:
    op = tcg_native_run(v, op->native);
    goto *labels[op->op];

unlinked:
    op = resolve(v, op);
    if (op) {
        goto * op->label;
    }
leave:
    if (v->cs->exception_index != EXCP_NONE) {
        return TCG_EXIT_EXCEPTION;
    }
    return v->cs->halted ? TCG_EXIT_HALT : TCG_EXIT_LOOK;
}

TcgExit tcg_run(TcgVcpu *v)
{
    return run(v, NULL);
}

const void *const *tcg_run_labels(void)
{
    const void *const *labels = NULL;

    run(NULL, &labels);
    return labels;
}
