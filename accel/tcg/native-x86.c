/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Native code for x86-64: blocks, ways in and out, memory, branches.
 *
 *   way in    save the host's registers, load the guest's, jump to the code
 *   code      the templates, in order; an operation without one is an exit
 *   exits     rax = the operation ; v->blk = this block ; to the way out
 *   way out   store the guest's registers, restore the host's, return
 */
#include "qemu/osdep.h"

#include "native.h"

#if TCG_NATIVE

#include "native-x86.h"

#define CODE_BYTES (64u << 20)
/* More than any template and its exits take. */
#define OP_BYTES_MAX 256u
/* A way in and out pays if so many operations follow, or a branch. */
#define WORTH_ENTERING 4u

#define TLB_DISP(field) (offsetof(TcgVcpu, tlb) + offsetof(TcgTlbEntry, field))
#define TLB_ENTRY_BITS  5
QEMU_BUILD_BUG_ON(sizeof(TcgTlbEntry) != 1u << TLB_ENTRY_BITS);

static TcgNativeUse use = TCG_NATIVE_OFF;

void tcg_native_use(TcgNativeUse new_use)
{
    use = new_use;
}

size_t tcg_native_bytes(void)
{
    return use != TCG_NATIVE_OFF ? CODE_BYTES : 0;
}

static const uint8_t saved[] = { RBX, RBP, R12, R13, R14, R15 };

static void guest_registers(uint8_t **p, unsigned opc)
{
    unsigned g;

    for (g = 0; g < A64_NUM_REGS; g++) {
        if (emit_host[g] >= 0) {
            emit_rm(p, true, opc, emit_host[g], RBP,
                    offsetof(TcgVcpu, x) + 8 * g);
        }
    }
}

void tcg_native_init(TcgVcpu *v, uint8_t *code)
{
    uint8_t *p = code;
    unsigned i;

    v->native_in = (const TcgOp *(*)(TcgVcpu *, const void *))code;
    for (i = 0; i < ARRAY_SIZE(saved); i++) {
        emit8(&p, 0x40 | saved[i] >> 3);
        emit8(&p, 0x50 | (saved[i] & 7)); /* push */
    }
    emit_rr(&p, true, OPC_STORE, RDI, RBP);
    emit_rr(&p, true, OPC_STORE, RSI, RAX);
    guest_registers(&p, OPC_LOAD);
    emit_rr(&p, false, 0xff, 4, RAX); /* jmp */
    v->native_out = p;
    guest_registers(&p, OPC_STORE);
    for (i = ARRAY_SIZE(saved); i-- > 0;) {
        emit8(&p, 0x40 | saved[i] >> 3);
        emit8(&p, 0x58 | (saved[i] & 7)); /* pop */
    }
    emit8(&p, 0xc3); /* ret */
    v->native_first = v->native_next = p;
    v->native_end = code + CODE_BYTES;
    v->native_worth = use == TCG_NATIVE_EVERYWHERE ? 0 : WORTH_ENTERING;
}

void tcg_native_forget(TcgVcpu *v)
{
    v->native_next = v->native_first;
}

bool tcg_native_has_room(const TcgVcpu *v, unsigned nr_ops)
{
    return !v->native_in || (size_t)(v->native_end - v->native_next) >=
                                (nr_ops + 1) * OP_BYTES_MAX;
}

/* ---- exits ---- */

static void exit_at(Native *n, const TcgOp *op, uint8_t *jump)
{
    g_assert(n->nr_exits < ARRAY_SIZE(n->exits));
    n->exits[n->nr_exits].jump = jump;
    n->exits[n->nr_exits++].op = op - n->b->ops;
}

static void exit_if(Native *n, const TcgOp *op, unsigned cc)
{
    exit_at(n, op, emit_jcc(&n->p, cc));
}

/* All exits of an operation are one place: they follow each other. */
static void make_exits(Native *n)
{
    uint8_t *jumps[TCG_BLOCK_MAX_OPS + 1], *here = NULL;
    unsigned i, nr_jumps = 0;

    for (i = 0; i < n->nr_exits; i++) {
        if (i == 0 || n->exits[i].op != n->exits[i - 1].op) {
            here = n->p;
            emit_rip(&n->p, true, OPC_LEA, RAX, &n->b->ops[n->exits[i].op]);
            jumps[nr_jumps++] = emit_jmp(&n->p);
        }
        emit_land(n->exits[i].jump, here);
    }
    for (i = 0; i < nr_jumps; i++) {
        emit_land(jumps[i], n->p);
    }
    emit_rip(&n->p, true, OPC_LEA, RCX, n->b);
    EMIT_RV(&n->p, true, OPC_STORE, RCX, blk);
    emit_land(emit_jmp(&n->p), n->v->native_out);
}

/* ---- memory ---- */

typedef enum Mode {
    MODE_IMM,
    MODE_REG,
    MODE_PRE,
    MODE_POST,
} Mode;

/* rax = address */
static void address(Native *n, const TcgOp *op, Mode mode)
{
    int base = emit_host[op->rn];

    if (op->rn == A64_SP) {
        emit_rg(&n->p, true, OPC_LOAD, RAX, A64_SP);
        EMIT_RV(&n->p, true, OPC_TEST, RAX, sp_mask);
        exit_if(n, op, CC_NE);
        base = RAX;
    }
    if (mode == MODE_REG) {
        native_extend(n, op->rm, op->aux);
        if (base >= 0) {
            emit_rx(&n->p, true, OPC_LEA, RAX, base, RCX, 0, 0);
        } else {
            emit_rr(&n->p, true, OPC_STORE, RCX, RAX);
            emit_rg(&n->p, true, ALU_RM(ALU_ADD), RAX, op->rn);
        }
    } else if (mode == MODE_POST || !op->imm) {
        if (base != RAX) {
            native_get(n, true, RAX, op->rn);
        }
    } else if (base >= 0 && op->imm == (uint64_t)(int32_t)op->imm) {
        emit_rm(&n->p, true, OPC_LEA, RAX, base, op->imm);
    } else {
        if (base != RAX) {
            native_get(n, true, RAX, op->rn);
        }
        emit_alu_imm(&n->p, true, ALU_ADD, RAX, op->imm);
    }
}

/* rcx + rax = host address of rax, or an exit. */
static void look_up(Native *n, const TcgOp *op, unsigned lg, bool is_write)
{
    uint8_t **p = &n->p;

    emit_rr(p, false, OPC_STORE, RAX, RCX);
    emit_shift(p, false, SH_SHR, RCX, TCG_PAGE_BITS - TLB_ENTRY_BITS);
    emit_alu_imm(p, false, ALU_AND, RCX, (TCG_TLB_SIZE - 1) << TLB_ENTRY_BITS);
    emit_rr(p, true, OPC_STORE, RAX, RDX);
    emit_alu_imm(p, true, ALU_AND, RDX, TCG_PAGE_MASK | ((1u << lg) - 1));
    if (is_write) {
        EMIT_RV(p, true, ALU_RM(ALU_OR), RDX, wgen);
        emit_rx(p, true, ALU_RM(ALU_CMP), RDX, RBP, RCX, 0, TLB_DISP(wtag));
    } else {
        EMIT_RV(p, true, ALU_RM(ALU_OR), RDX, rgen);
        emit_rx(p, true, ALU_RM(ALU_CMP), RDX, RBP, RCX, 0, TLB_DISP(rtag));
    }
    exit_if(n, op, CC_NE);
    emit_rx(p, true, OPC_LOAD, RCX, RBP, RCX, 0, TLB_DISP(addend));
}

static void write_back(Native *n, const TcgOp *op, Mode mode)
{
    if (mode == MODE_POST) {
        emit_alu_imm(&n->p, true, ALU_ADD, RAX, op->imm);
    }
    if (mode == MODE_PRE || mode == MODE_POST) {
        native_put(n, op->rn, RAX);
    }
}

/* Loads: how the value gets into a register of 64 bits. */
typedef struct LoadKind {
    uint16_t opcode;
    bool w;
    uint8_t lg;
} LoadKind;

static void load(Native *n, const TcgOp *op, Mode mode, LoadKind k)
{
    int dst = emit_host[op->rd] >= 0 ? emit_host[op->rd] : RDX;

    address(n, op, mode);
    look_up(n, op, k.lg, false);
    emit_rx(&n->p, k.w, k.opcode, dst, RAX, RCX, 0, 0);
    native_put(n, op->rd, dst);
    write_back(n, op, mode);
}

/* [rax + rcx + disp] = guest register @g; rdx is used. */
static void store_reg(Native *n, unsigned g, unsigned lg, int32_t disp)
{
    int src = emit_host[g] >= 0 ? emit_host[g] : RDX;

    native_get(n, true, src, g);
    if (lg == 1) {
        emit8(&n->p, 0x66);
    }
    emit_rx(&n->p, lg == 3, lg ? OPC_STORE : OPC_STORE8, src, RAX, RCX, 0,
            disp);
}

static void store(Native *n, const TcgOp *op, Mode mode, unsigned lg)
{
    address(n, op, mode);
    look_up(n, op, lg, true);
    store_reg(n, op->rd, lg, 0);
    write_back(n, op, mode);
}

/*
 * Both of a pair are of one page if the second is not the first of the next.
 * No register is written before that is known.
 */
static void look_up_pair(Native *n, const TcgOp *op, unsigned lg, bool is_write)
{
    look_up(n, op, lg, is_write);
    emit_rm(&n->p, false, OPC_LEA, RDX, RAX, 1 << lg);
    emit_rr(&n->p, false, 0xf7, 0, RDX); /* test rdx, offset in the page */
    emit32(&n->p, (uint32_t)~TCG_PAGE_MASK);
    exit_if(n, op, CC_E);
}

static void load_pair(Native *n, const TcgOp *op, Mode mode, LoadKind k)
{
    int first = emit_host[op->rd] >= 0 ? emit_host[op->rd] : RDX;
    int second = emit_host[op->ra] >= 0 ? emit_host[op->ra] : RDX;

    address(n, op, mode);
    look_up_pair(n, op, k.lg, false);
    emit_rx(&n->p, k.w, k.opcode, first, RAX, RCX, 0, 0);
    native_put(n, op->rd, first);
    emit_rx(&n->p, k.w, k.opcode, second, RAX, RCX, 0, 1 << k.lg);
    native_put(n, op->ra, second);
    write_back(n, op, mode);
}

static void store_pair(Native *n, const TcgOp *op, Mode mode, unsigned lg)
{
    address(n, op, mode);
    look_up_pair(n, op, lg, true);
    store_reg(n, op->rd, lg, 0);
    store_reg(n, op->ra, lg, 1 << lg);
    write_back(n, op, mode);
}

#define LOAD_CASE(name, mode, opcode, w, lg)                   \
    case A64_##name##_##mode:                                  \
        load(n, op, MODE_##mode, (LoadKind){ opcode, w, lg }); \
        return true;
#define STORE_CASE(name, mode, lg)     \
    case A64_##name##_##mode:          \
        store(n, op, MODE_##mode, lg); \
        return true;
#define PAIR_CASE(name, mode, opcode, w, lg)                        \
    case A64_##name##_##mode:                                       \
        load_pair(n, op, MODE_##mode, (LoadKind){ opcode, w, lg }); \
        return true;
#define STOREP_CASE(name, mode, lg)         \
    case A64_##name##_##mode:               \
        store_pair(n, op, MODE_##mode, lg); \
        return true;
#define MODE_I MODE_IMM
#define MODE_R MODE_REG
#define ALL_LOADS(mode)                           \
    LOAD_CASE(LDB, mode, OPC_MOVZX8, false, 0)    \
    LOAD_CASE(LDH, mode, OPC_MOVZX16, false, 1)   \
    LOAD_CASE(LDW, mode, OPC_LOAD, false, 2)      \
    LOAD_CASE(LDX, mode, OPC_LOAD, true, 3)       \
    LOAD_CASE(LDSB_X, mode, OPC_MOVSX8, true, 0)  \
    LOAD_CASE(LDSH_X, mode, OPC_MOVSX16, true, 1) \
    LOAD_CASE(LDSW_X, mode, OPC_MOVSXD, true, 2)  \
    LOAD_CASE(LDSB_W, mode, OPC_MOVSX8, false, 0) \
    LOAD_CASE(LDSH_W, mode, OPC_MOVSX16, false, 1)
#define ALL_STORES(mode)     \
    STORE_CASE(STB, mode, 0) \
    STORE_CASE(STH, mode, 1) \
    STORE_CASE(STW, mode, 2) \
    STORE_CASE(STX, mode, 3)
#define ALL_PAIRS(mode)                         \
    PAIR_CASE(LDPW, mode, OPC_LOAD, false, 2)   \
    PAIR_CASE(LDPX, mode, OPC_LOAD, true, 3)    \
    PAIR_CASE(LDPSW, mode, OPC_MOVSXD, true, 2) \
    STOREP_CASE(STPW, mode, 2)                  \
    STOREP_CASE(STPX, mode, 3)

static bool memory_op(Native *n, const TcgOp *op)
{
    switch (op->op) {
        ALL_LOADS(I)
        ALL_LOADS(R)
        ALL_LOADS(PRE)
        ALL_LOADS(POST)
        ALL_STORES(I)
        ALL_STORES(R)
        ALL_STORES(PRE)
        ALL_STORES(POST)
        ALL_PAIRS(I)
        ALL_PAIRS(PRE)
        ALL_PAIRS(POST)
    default:
        return false;
    }
}

/* ---- branches ---- */

/* To the block in @block if its key is current; else an exit. */
static void go_if_current(Native *n, const TcgOp *op, int block, bool links)
{
    emit_rm(&n->p, true, OPC_LOAD, RDX, block, offsetof(TcgBlock, key));
    EMIT_RV(&n->p, true, ALU_RM(ALU_CMP), RDX, chain_key);
    exit_if(n, op, CC_NE);
    if (links) {
        emit_mov_imm(&n->p, RDX, n->b->pc + 4 * (op - n->b->ops) + 4);
        native_put(n, 30, RDX);
    }
    emit_rm(&n->p, false, 0xff, 4, block, offsetof(TcgBlock, native));
}

static void jump(Native *n, const TcgOp *op)
{
    emit_rip(&n->p, true, OPC_LOAD, RAX, &op->link);
    go_if_current(n, op, RAX, op->op == A64_BL);
}

static void jump_if(Native *n, const TcgOp *op, unsigned cc)
{
    uint8_t *otherwise = emit_jcc(&n->p, cc ^ 1);

    jump(n, op);
    emit_land(otherwise, n->p);
}

/* As go_to() in run.c. */
static void jump_to_register(Native *n, const TcgOp *op)
{
    native_get(n, true, RAX, op->rn);
    emit_rr(&n->p, false, OPC_STORE, RAX, RCX);
    emit_shift(&n->p, false, SH_SHR, RCX, 2);
    emit_alu_imm(&n->p, false, ALU_AND, RCX, TCG_JUMP_SIZE - 1);
    emit_rx(&n->p, true, OPC_LOAD, RCX, RBP, RCX, 3, offsetof(TcgVcpu, jump));
    emit_rm(&n->p, true, ALU_RM(ALU_CMP), RAX, RCX, offsetof(TcgBlock, pc));
    exit_if(n, op, CC_NE);
    go_if_current(n, op, RCX, op->op == A64_BLR);
}

/*
 * Conditions of the guest as conditions of the host, right after what made
 * the flags; 0xff: there is none.
 */
static const uint8_t host_conditions[][14] = {
    [HOST_FLAGS_SUB] = { 0x4, 0x5, 0x3, 0x2, 0x8, 0x9, 0x0, 0x1, 0x7, 0x6, 0xd,
                         0xc, 0xf, 0xe },
    [HOST_FLAGS_ADD] = { 0x4, 0x5, 0x2, 0x3, 0x8, 0x9, 0x0, 0x1, 0xff, 0xff,
                         0xd, 0xc, 0xf, 0xe },
    [HOST_FLAGS_LOGIC] = { 0x4, 0x5, 0xff, 0xff, 0x8, 0x9, 0xff, 0xff, 0xff,
                           0xff, 0xd, 0xc, 0xf, 0xe },
};

static void jump_by_flags(Native *n, const TcgOp *op)
{
    unsigned cond = op->op - A64_BEQ, cc = 0xff;

    if (n->before != HOST_FLAGS_NONE) {
        cc = host_conditions[n->before][cond];
    }
    jump_if(n, op, cc == 0xff ? native_condition(n, cond) : cc);
}

static void compare_zero(Native *n, const TcgOp *op, bool w, unsigned cc)
{
    emit_rg(&n->p, w, 0x83, ALU_CMP, op->rn);
    emit8(&n->p, 0);
    jump_if(n, op, cc);
}

static void test_bit_and_jump(Native *n, const TcgOp *op, unsigned cc)
{
    emit_rg(&n->p, true, OPC_BT_IMM, 4, op->rn);
    emit8(&n->p, op->aux);
    jump_if(n, op, cc);
}

static bool branch_op(Native *n, const TcgOp *op)
{
    if (op->op >= A64_BEQ && op->op <= A64_BLE) {
        jump_by_flags(n, op);
        return true;
    }
    switch (op->op) {
    case A64_B:
    case A64_BL:
        jump(n, op);
        return true;
    case A64_CBZ_X:
    case A64_CBZ_W:
        compare_zero(n, op, op->op == A64_CBZ_X, CC_E);
        return true;
    case A64_CBNZ_X:
    case A64_CBNZ_W:
        compare_zero(n, op, op->op == A64_CBNZ_X, CC_NE);
        return true;
    case A64_TBZ:
        test_bit_and_jump(n, op, CC_AE);
        return true;
    case A64_TBNZ:
        test_bit_and_jump(n, op, CC_B);
        return true;
    case A64_BR:
    case A64_BLR:
        jump_to_register(n, op);
        return true;
    default:
        return false;
    }
}

/* ---- a block ---- */

/* For the operations that may be entered at: where each one's code begins. */
static void make_entries(TcgVcpu *v, TcgBlock *b, const void *const *codes,
                         const void *enter)
{
    unsigned run = 0, i;

    for (i = b->nr_ops + 1; i-- > 0;) {
        TcgOp *op = &b->ops[i];

        if (!codes[i]) {
            run = 0;
        } else if (op->op >= A64_B && op->op <= A64_BLR) {
            run = v->native_worth; /* its link is where the address would be */
        } else if (++run > v->native_worth) {
            op->native = codes[i];
            op->label = enter;
        }
    }
}

void tcg_native_make(TcgVcpu *v, TcgBlock *b, const void *enter)
{
    const void *codes[TCG_BLOCK_MAX_OPS + 1];
    Native n = { .p = v->native_next, .v = v, .b = b };
    unsigned i;

    if (!v->native_in) {
        return;
    }
    b->native = n.p;
    for (i = 0; i <= b->nr_ops; i++) {
        const TcgOp *op = &b->ops[i];

        codes[i] = n.p;
        n.before = n.after;
        n.after = HOST_FLAGS_NONE;
        if (!branch_op(&n, op) && !memory_op(&n, op) && !native_alu(&n, op)) {
            codes[i] = NULL;
            exit_at(&n, op, emit_jmp(&n.p));
        }
    }
    make_exits(&n);
    g_assert(n.p - v->native_next <= (b->nr_ops + 1) * (ptrdiff_t)OP_BYTES_MAX);
    v->native_next = n.p;
    make_entries(v, b, codes, enter);
}

#else /* !TCG_NATIVE */

void tcg_native_use(TcgNativeUse use)
{
}

size_t tcg_native_bytes(void)
{
    return 0;
}

void tcg_native_init(TcgVcpu *v, uint8_t *code)
{
}

void tcg_native_forget(TcgVcpu *v)
{
}

bool tcg_native_has_room(const TcgVcpu *v, unsigned nr_ops)
{
    return true;
}

void tcg_native_make(TcgVcpu *v, TcgBlock *b, const void *enter)
{
}

#endif
