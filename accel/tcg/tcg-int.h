/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Software engine: what its files share.
 *
 * Guest code is decoded once into blocks of ready operations and executed by
 * one threaded interpreter per vCPU (run.c), on some hosts helped by native
 * code (native.h). Everything that a vCPU needs in
 * its fast paths is private to its thread: register file, TLB, block cache.
 * Other threads reach it only through three words, all checked at the end of
 * a block, in one comparison:
 *
 *   asker:  set what is wanted (epoch, invalidation, exit_request) ;
 *           chain_key = 0
 *   vCPU:   jump whose target's key differs from chain_key: chain_key = gen ;
 *           full fence ; look at all that could be wanted
 *
 * The handshake (sync.c). Whoever takes a permission away (clean, start of
 * tracking, new code page, new memory map) must know when no vCPU can use the
 * old one any more:
 *
 *   asker:  change the permission ; epoch++ ; wait until every vCPU is out of
 *           guest code or has seen >= the new epoch
 *   vCPU:   on entry and at a block's end: if seen != epoch, forget all write
 *           entries of the TLB (wgen++), then seen = epoch
 *
 * A store whose host address came from the old permission is thus finished
 * when the wait ends. A vCPU is "out" while it sleeps, waits for the BQL or
 * for another vCPU: then it holds no host address.
 *
 * Used by: accel/tcg only. Uses: system/, target/arm.
 */
#ifndef ACCEL_TCG_TCG_INT_H
#define ACCEL_TCG_TCG_INT_H

#include "qemu/thread.h"
#include "system/accel-ops.h"
#include "system/dirty-ring.h"
#include "system/memory.h"
#include "target/arm/a64-decode.h"
#include "target/arm/cpu.h"
#include "target/arm/sysreg.h"

#define TCG_PAGE_BITS 12
#define TCG_PAGE_SIZE (UINT64_C(1) << TCG_PAGE_BITS)
#define TCG_PAGE_MASK (~(TCG_PAGE_SIZE - 1))

/*
 * 256 MiB of guest memory. Entries are found by the low bits of the page
 * number, so that only as much of the table is ever touched as there are pages
 * in use: a 128th of their size.
 */
#define TCG_TLB_BITS   16
#define TCG_TLB_SIZE   (1u << TCG_TLB_BITS)
#define TCG_TLB_PART   128u /* entries in a host page */
#define TCG_JUMP_BITS  12
#define TCG_JUMP_SIZE  (1u << TCG_JUMP_BITS)
#define TCG_HASH_BITS  13
#define TCG_HASH_SIZE  (1u << TCG_HASH_BITS)
#define TCG_PAGES_BITS 10
#define TCG_PAGES_SIZE (1u << TCG_PAGES_BITS)

#define TCG_MAX_VCPUS     512
#define TCG_BLOCK_MAX_OPS 128
#define TCG_ARENA_BYTES   (32u << 20)

typedef struct TcgBlock TcgBlock;
typedef struct TcgVcpu TcgVcpu;

/* One ready operation. */
typedef struct TcgOp {
    const void *label; /* in tcg_run() */
    uint16_t op;       /* A64Opcode */
    uint16_t aux;
    uint8_t rd, rn, rm, ra;
    uint64_t imm;
    union {
        TcgBlock *link;          /* direct branches: last known target */
        const ARMSysReg *sysreg; /* MRS, MSR, DC ZVA; NULL: undefined */
        const void *native;      /* where the label enters native code: that */
    };
} TcgOp;
QEMU_BUILD_BUG_ON(sizeof(TcgOp) != 32);

/*
 * A straight run of guest code within one page. Conditional branches do not
 * end it. Valid to jump to while key == chain_key of its vCPU.
 */
struct TcgBlock {
    uint64_t key; /* v->gen when it was last looked up */
    vaddr pc;
    const void *native; /* its code, if the vCPU has any; see native.h */
    uint64_t page;      /* in the RAM address space */
    TcgBlock *hash_next;
    TcgBlock *page_next;
    uint32_t nr_ops;
    TcgOp ops[];
};

/*
 * Tracker: a store to @page is about to happen. @v is inside guest code.
 * False: there is no room to note it; @v must leave and execute again.
 */
typedef struct TcgRam TcgRam;
typedef bool TcgMarkFunc(TcgVcpu *v, TcgRam *ram, uint64_t page);
/*
 * Tracker: would the mark function have nothing to do for @page, so that a
 * load may fill a write entry too? Changes no state of a page. Any vCPU that
 * is inside guest code.
 */
typedef bool TcgWrittenFunc(TcgRam *ram, uint64_t page);

/* What the engine keeps for one RAM block. Never freed while vCPUs exist. */
struct TcgRam {
    /* Constant. */
    RAMBlock *rb;
    uint8_t *host;
    uint64_t first_page; /* in the RAM address space */
    uint64_t nr_pages;
    uint64_t *code_dirty; /* client CODE of the block; clear = has code */
    uint64_t code_dirty_first;

    /*
     * Atomic; per page, which of its 64 granules of 64 bytes cached blocks
     * may have come from. Only meaningful while the CODE bit is clear.
     */
    _Atomic uint64_t *code_mask;

    /*
     * The tracker's; NULL: not tracked. Release in start, acquire before a
     * store: who sees it sees what the tracker made.
     */
    TcgMarkFunc *_Atomic mark;
    TcgWrittenFunc *_Atomic written; /* relaxed; set before mark */
    /* Which pages a vCPU may have a write entry for; of all trackers. */
    uint64_t *writable;
    uint64_t *collected;         /* bitmap-tracker.c, dbm-tracker.c */
    uint64_t *log, *log_summary; /* bitmap-tracker.c */
    struct TcgDbm *dbm;          /* dbm-tracker.c */
    uint32_t slot;               /* ring-tracker.c; constant */
};

/*
 * TLB entry. A tag is the page's address, with the generation it belongs to
 * in bits 11:3 and zero in bits 2:0: so one comparison checks page,
 * generation and alignment. No generation is 0, so zero is no tag.
 */
typedef struct TcgTlbEntry {
    uint64_t rtag;
    uint64_t wtag;
    uintptr_t addend; /* host address - guest virtual address */
    TcgRam *ram;
} TcgTlbEntry;

#define TCG_GEN_SHIFT 3
#define TCG_GEN_LAST  0x1ffu
#define TCG_TAG_NONE  0
#define TCG_TAG_ROM   UINT64_MAX /* a wtag: never to be filled */

static inline uint64_t tcg_tlb_key(vaddr va, unsigned size, uint64_t gen)
{
    return (va & (TCG_PAGE_MASK | (size - 1))) | gen;
}

/* Why tcg_run() came back. */
typedef enum TcgExit {
    TCG_EXIT_LOOK,      /* something may be wanted; v->pc is next */
    TCG_EXIT_EXCEPTION, /* cs->exception_index is to be entered */
    TCG_EXIT_HALT,      /* WFI: cs->halted is set */
} TcgExit;

/* Cumulative; each updated by the vCPU's thread only, read by anyone. */
typedef struct TcgVcpuStats {
    _Atomic uint64_t tlb_fills;    /* read and write misses */
    _Atomic uint64_t dirty_faults; /* pages that went from clean to dirty */
    _Atomic uint64_t dbm_faults;   /* writes that found no permission, and */
    _Atomic uint64_t dbm_updates; /* pages made dirty without (dbm-tracker.c) */
    _Atomic uint64_t blocks_made;
    _Atomic uint64_t native_runs; /* times that native code was entered */
    _Atomic uint64_t code_writes; /* stores that hit cached code */
    _Atomic uint64_t flushes;     /* of the whole block cache */
} TcgVcpuStats;

struct TcgVcpu {
    /* The vCPU thread's only. */
    uint64_t x[A64_NUM_REGS]; /* in tcg_run(); else in env */
    /* Flags: N is bit 63 of fl_n; Z: fl_z is 0; fl_c and fl_v are 0 or 1. */
    uint64_t fl_n, fl_z, fl_c, fl_v;
    uint64_t rgen, wgen; /* shifted to their place in a tag */
    uint64_t sp_mask;    /* 15 where a misaligned SP faults, else 0 */
    TcgBlock *blk;       /* being executed */
    vaddr pc;            /* outside tcg_run(), or of a fault in it */
    bool align_check;    /* every access must be aligned */
    bool user;           /* EL0 */
    bool log_blocks;     /* each is logged, so that none is linked */
    unsigned features;   /* A64_FEATURE_* */
    unsigned phys_bits;  /* physical address size */
    CPUState *cs;
    CPUARMState *env;
    const void *const *labels;

    /* Which parts of the TLB, a host page each, were ever filled. */
    uint64_t tlb_used[TCG_TLB_SIZE / TCG_TLB_PART / 64];
    TcgBlock *jump[TCG_JUMP_SIZE];   /* by pc, never NULL */
    TcgBlock *hash[TCG_HASH_SIZE];   /* by pc, all blocks */
    TcgBlock *pages[TCG_PAGES_SIZE]; /* by page, all blocks */
    uint64_t gen;                    /* of blocks, never 0 */
    uint8_t *arena;
    size_t arena_used;
    uint64_t arena_flushes;
    /* Native code (native.h): ways in and out; and the room for blocks. */
    const TcgOp *(*native_in)(TcgVcpu *v, const void *code); /* NULL: none */
    const uint8_t *native_out;
    uint8_t *native_first, *native_next, *native_end;
    unsigned native_worth; /* operations that must follow to enter it */
    FlatView *view;        /* what the TLB was filled from */
    unsigned view_generation;
    TcgRam *last_ram;
    bool event;             /* WFE's event register, own part */
    bool flush_pending;     /* of the block cache, at the next look around */
    bool ring_full;         /* leave guest code and wait for room */
    bool ring_hard;         /* there was none at all */
    uint8_t probes;         /* of writes; wraps: chooses samples */
    DirtyRingProducer ring; /* gfns NULL: none; see ring-tracker.c */
    TcgVcpuStats stats;

    /* Atomic: how others reach this vCPU. */
    QEMU_ALIGNED(64) _Atomic uint64_t chain_key; /* gen, or 0: look around */
    _Atomic bool active;                         /* in guest code */
    _Atomic uint64_t seen_epoch;
    _Atomic bool event_sent; /* SEV of another vCPU */
    _Atomic bool inval_pending;
    _Atomic uint64_t faults_attributed; /* of stats.dirty_faults */

    /* Guarded by inval_lock. */
    QemuMutex inval_lock;
    uint64_t inval_pages[64]; /* in the RAM address space */
    unsigned nr_inval;        /* > ARRAY_SIZE: everything */

    QemuEvent wake; /* ends a WFE's sleep */

    /* The vCPU thread's only. */
    TcgTlbEntry tlb[TCG_TLB_SIZE];
};

static inline uint64_t tcg_chain_key(const TcgVcpu *v)
{
    /* Relaxed: tcg_poll() has the fence that pairs with tcg_ask(). */
    return atomic_load_explicit(&v->chain_key, memory_order_relaxed);
}

static inline void tcg_count(_Atomic uint64_t *counter)
{
    /* One writer: no atomic addition needed. */
    atomic_store_explicit(
        counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
        memory_order_relaxed);
}

/* The same by @n. */
static inline void tcg_count_by(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_store_explicit(
        counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
        memory_order_relaxed);
}

/* ---- sync.c ---- */
void tcg_vcpu_register(TcgVcpu *v);
/* Pairs around guest code; and out of it and back around anything that waits. */
void tcg_enter(TcgVcpu *v);
void tcg_leave(TcgVcpu *v);
/* Answer what was asked; true: leave tcg_run(). */
bool tcg_poll(TcgVcpu *v);
/* Make @v look around at the end of its block. Any thread. */
void tcg_ask(TcgVcpu *v);
/*
 * Wait until no vCPU holds a host address or write permission from before
 * the call. Any thread that is not itself in guest code.
 */
void tcg_handshake(void);
uint64_t tcg_handshakes(void); /* so far */
/* SEV: set every vCPU's event register, wake sleepers. */
void tcg_send_event(void);
/* Sleep in WFE until an event, a kick or @ms. */
void tcg_wait_event(TcgVcpu *v, int ms);
unsigned tcg_nr_vcpus(void);
TcgVcpu *tcg_vcpu(unsigned i);

/* ---- tlb.c ---- */
typedef enum TcgAccess {
    TCG_READ,
    TCG_WRITE,
    TCG_MODIFY, /* a write whose faults are reported as a read's */
    TCG_FETCH
} TcgAccess;

/* One page, or MMIO, as found by tcg_probe(). */
typedef struct TcgTarget {
    void *host; /* of the address; NULL: MMIO */
    TcgRam *ram;
    uint64_t page; /* in @ram */
    bool has_code; /* a store must be followed by tcg_code_stored() */
    hwaddr phys;
} TcgTarget;

void tcg_tlb_init(TcgVcpu *v);
void tcg_tlb_flush(TcgVcpu *v);
void tcg_tlb_forget_writes(TcgVcpu *v); /* O(1) */
/*
 * Find what is at @va, fill the TLB, and before a write mark the page dirty.
 * False: an exception was raised for @op, or v->pc is set and @op is to be
 * executed again: leave tcg_run() in both cases.
 */
bool tcg_probe(TcgVcpu *v, const TcgOp *op, vaddr va, TcgAccess access,
               TcgTarget *t);
/* Time of a probe that made a page dirty, of any vCPU, which found no
 * permission or (of an armed group) some; 0: unknown. */
double tcg_fault_ns(void);
double tcg_update_ns(void);
/*
 * A fault here is a function call. On a host where it leaves the guest it is
 * not; to see what an engine, or mode auto, would do there, each takes @ns
 * more. Before vCPUs run.
 */
void tcg_set_fault_price(uint32_t ns);
/* At the end of each fault. */
void tcg_pay_fault(void);
TcgRam *tcg_ram_get(RAMBlock *rb);      /* made on first use; any thread */
TcgRam *tcg_ram_of_slot(uint32_t slot); /* that was made */
TcgRam *tcg_ram_next(unsigned *iter);   /* NULL: no more; begin with 0 */

/* ---- access.c: what the TLB's fast path could not do ---- */
/* False: an exception was raised. @lg: log2 of the size. */
bool tcg_load_slow(TcgVcpu *v, const TcgOp *op, vaddr va, unsigned lg,
                   uint64_t *val);
bool tcg_store_slow(TcgVcpu *v, const TcgOp *op, vaddr va, unsigned lg,
                    uint64_t val);

/* ---- exceptions (access.c, system.c) ---- */
vaddr tcg_op_pc(const TcgVcpu *v, const TcgOp *op);
void tcg_raise(TcgVcpu *v, vaddr pc, int excp, uint32_t syndrome);
void tcg_raise_data_abort(TcgVcpu *v, const TcgOp *op, vaddr va, bool is_write,
                          bool external, unsigned fsc);
void tcg_raise_sp_alignment(TcgVcpu *v, const TcgOp *op);
void tcg_raise_undef(TcgVcpu *v, const TcgOp *op);

/* ---- block.c ---- */
void tcg_blocks_init(TcgVcpu *v);
/* The block at @pc; NULL: leave, v->pc and perhaps an exception are set. */
TcgBlock *tcg_block_get(TcgVcpu *v, vaddr pc);
void tcg_blocks_flush(TcgVcpu *v);
/* Link blocks, or not, as the log (-d exec, cpu) wants it now. */
void tcg_blocks_follow_log(TcgVcpu *v);
void tcg_blocks_drop_page(TcgVcpu *v, uint64_t page);

/* ---- code.c: pages that hold code ---- */
/* Before decoding [offset, offset + length) of @page of @ram. v is inside. */
void tcg_code_protect(TcgVcpu *v, TcgRam *ram, uint64_t page, unsigned offset,
                      unsigned length);
bool tcg_code_is_clean(TcgRam *ram, uint64_t page);
/* After a store to a page that has code. */
void tcg_code_stored(TcgVcpu *v, const TcgTarget *t, unsigned size);
void tcg_code_init(void);
void tcg_apply_invalidations(TcgVcpu *v);

/* ---- run.c ---- */
TcgExit tcg_run(TcgVcpu *v);
/* By A64Opcode; then the one that enters native code. */
const void *const *tcg_run_labels(void);

/* ---- operations too large for run.c; false: leave tcg_run() ---- */
typedef bool TcgOpFunc(TcgVcpu *v, const TcgOp *op);
TcgOpFunc tcg_op_ldxr, tcg_op_ldxp, tcg_op_stxr, tcg_op_stxp, tcg_op_ldar,
    tcg_op_stlr, tcg_op_cas, tcg_op_casp, tcg_op_fetch_op; /* atomic.c */
TcgOpFunc tcg_op_mrs, tcg_op_msr, tcg_op_msr_imm, tcg_op_dc_zva, tcg_op_wfe,
    tcg_op_wfi, tcg_op_yield, tcg_op_sev, tcg_op_sevl, tcg_op_except,
    tcg_op_eret; /* system.c */

/* ---- tcg-accel.c ---- */
/* Hooks into memory and dirty tracking. Once, BQL, before the first vCPU. */
bool tcg_engine_init(Error **errp);

/* ---- exec.c ---- */
TcgVcpu *tcg_vcpu_new(CPUState *cs);
/* Execute until the vCPU must leave its guest. vCPU thread, no BQL. */
void tcg_exec(TcgVcpu *v);
void tcg_regs_load(TcgVcpu *v);  /* env -> v */
void tcg_regs_store(TcgVcpu *v); /* v -> env */

/* ---- tracker-arm.c: what every tracker's start and stop do ---- */
/* @alloc for each block, or for none: @undo takes back what was allocated. */
bool tcg_blocks_alloc(RAMBlock *const *blocks, size_t nr_blocks,
                      bool (*alloc)(TcgRam *ram), void (*undo)(TcgRam *ram),
                      const char *what, Error **errp);
/* From the return on every first store to a page goes through @mark. */
void tcg_blocks_arm(RAMBlock *const *blocks, size_t nr_blocks,
                    TcgMarkFunc *mark, TcgWrittenFunc *written);
/* From the return on no vCPU is in the mark function any more. */
void tcg_blocks_disarm(RAMBlock *const *blocks, size_t nr_blocks);

/* ---- bitmap-tracker.c ---- */
extern const DirtyTrackerOps tcg_bitmap_tracker;
/* Zeroed, one bit per page of @ram; NULL: no memory. */
uint64_t *tcg_page_bitmap_new(const TcgRam *ram);
void tcg_page_bitmap_free(const TcgRam *ram, uint64_t **map);
/*
 * Re-arm the pages of a range that are in ram->collected: neither there nor
 * writable any more, and nobody stores unseen. Returns how many.
 */
uint64_t tcg_pages_clean(TcgRam *ram, ram_addr_t start, ram_addr_t length);
/* DirtyTrackerOps.attribute by stats.dirty_faults. */
bool tcg_attribute(CPUState *cpu, uint64_t *pages);

/* ---- dbm-tracker.c ---- */
extern const DirtyTrackerOps tcg_dbm_tracker;

/* When a group changes its way: see the reasons in dbm-tracker.c. */
typedef struct TcgDbmPolicy {
    unsigned fall_after;   /* collects in a row with one page; 0: never */
    unsigned back_pages;   /* of one collect */
    unsigned disarm_after; /* collects in a row without any; 0: never */
} TcgDbmPolicy;
extern const TcgDbmPolicy tcg_dbm_default_policy;
/* For tests and benchmarks; while nothing is tracked. Each at most 7. */
void tcg_dbm_set_policy(const TcgDbmPolicy *policy);

bool tcg_attribute(CPUState *cpu, uint64_t *pages); /* of both trackers */

/* ---- ring-tracker.c ---- */
extern const DirtyTrackerOps tcg_ring_tracker;
/* A new vCPU: gets a ring if others have one. BQL. */
void tcg_ring_vcpu_added(TcgVcpu *v);
/* v->ring_full is set. Wait for room; v is inside, and out meanwhile. */
void tcg_ring_make_room(TcgVcpu *v);
/* v->ring_full is set, v goes to sleep: see dirty_reaper_vcpu_sleeps(). */
void tcg_ring_sleeps(TcgVcpu *v);

/*
 * Test hooks: called at points where a test wants to hold a thread, to force
 * an interleaving. NULL outside of tests.
 */
typedef enum TcgTestPoint {
    TCG_POINT_FAULT,          /* page found clean, nothing marked yet */
    TCG_POINT_FAULT_HALF,     /* writable set, log not yet */
    TCG_POINT_RING_PUSHED,    /* in the ring, writable not yet */
    TCG_POINT_UNLISTED,       /* page in its bitmap, not in the summary */
    TCG_POINT_DBM_DELISTED,   /* collect took the summary, read no page */
    TCG_POINT_MARKED,         /* marked, store not done */
    TCG_POINT_STORED,         /* slow store done, vCPU still inside */
    TCG_POINT_COLLECTED,      /* log taken, not yet published */
    TCG_POINT_CLEAN_TAKEN,    /* collected taken, writable still set */
    TCG_POINT_CLEAN_ASKED,    /* permission gone, before the wait */
    TCG_POINT_WAITING,        /* in the handshake, someone has not answered */
    TCG_POINT_CODE_PROTECTED, /* page protected, nothing decoded yet */
} TcgTestPoint;
extern void (*tcg_test_hook)(TcgTestPoint point, TcgVcpu *v);
static inline void tcg_test_point(TcgTestPoint point, TcgVcpu *v)
{
    if (unlikely(tcg_test_hook)) {
        tcg_test_hook(point, v);
    }
}

#endif /* ACCEL_TCG_TCG_INT_H */
