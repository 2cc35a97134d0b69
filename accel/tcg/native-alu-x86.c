/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Templates of data processing for x86-64. */
#include "qemu/osdep.h"

#include "native-x86.h"

void native_extend(Native *n, unsigned g, unsigned aux)
{
    static const struct {
        uint16_t opcode;
        bool w;
    } extensions[8] = {
        { OPC_MOVZX8, false }, { OPC_MOVZX16, false }, { OPC_LOAD, false },
        { OPC_LOAD, true },    { OPC_MOVSX8, true },   { OPC_MOVSX16, true },
        { OPC_MOVSXD, true },  { OPC_LOAD, true },
    };

    emit_rg(&n->p, extensions[aux & 7].w, extensions[aux & 7].opcode, RCX, g);
    emit_shift(&n->p, true, SH_SHL, RCX, aux >> 3);
}

/* ---- flags ---- */

unsigned native_condition(Native *n, unsigned cond)
{
    unsigned holds, inverted = cond & 1;
    uint8_t **p = &n->p;

    switch (cond >> 1) {
    case 0: /* EQ */
        EMIT_RV(p, true, 0x83, ALU_CMP, fl_z);
        emit8(p, 0);
        holds = CC_E;
        break;
    case 1: /* CS */
        EMIT_RV(p, false, 0x83, ALU_CMP, fl_c);
        emit8(p, 0);
        holds = CC_NE;
        break;
    case 2: /* MI */
        EMIT_RV(p, true, 0x83, ALU_CMP, fl_n);
        emit8(p, 0);
        holds = 8;
        break;
    case 3: /* VS */
        EMIT_RV(p, false, 0x83, ALU_CMP, fl_v);
        emit8(p, 0);
        holds = CC_NE;
        break;
    case 4: /* HI: eax = fl_z ? -1 : 0 */
        emit_rr(p, false, ALU_RM(ALU_XOR), RAX, RAX);
        EMIT_RV(p, true, ALU_RM(ALU_CMP), RAX, fl_z);
        emit_rr(p, false, 0x1b, RAX, RAX);
        EMIT_RV(p, false, OPC_TEST, RAX, fl_c);
        holds = CC_NE;
        break;
    case 5: /* GE */
        EMIT_RV(p, true, OPC_LOAD, RAX, fl_n);
        emit_shift(p, true, SH_SHR, RAX, 63);
        EMIT_RV(p, false, ALU_RM(ALU_CMP), RAX, fl_v);
        holds = CC_E;
        break;
    case 6: /* GT: ecx = fl_z ? 0 : -1 */
        EMIT_RV(p, true, OPC_LOAD, RAX, fl_n);
        emit_shift(p, true, SH_SHR, RAX, 63);
        EMIT_RV(p, false, ALU_RM(ALU_XOR), RAX, fl_v);
        emit_rr(p, false, ALU_RM(ALU_XOR), RCX, RCX);
        EMIT_RV(p, true, ALU_RM(ALU_CMP), RCX, fl_z);
        emit_rr(p, false, 0x1b, RCX, RCX);
        emit_rr(p, false, 0xf7, 2, RCX);
        emit_rr(p, false, ALU_RM(ALU_OR), RAX, RCX);
        holds = CC_E;
        break;
    default: /* AL, and so is its inverse */
        emit_rr(p, false, ALU_RM(ALU_CMP), RAX, RAX);
        return CC_E;
    }
    return holds ^ inverted;
}

static void put_bit(Native *n, unsigned cc, size_t field)
{
    emit_rm(&n->p, false, OPC_SETCC | cc, 0, RBP, field);
}

static void put_word(Native *n, size_t field, uint32_t imm)
{
    emit_rm(&n->p, true, 0xc7, 0, RBP, field);
    emit32(&n->p, imm);
}

/* The guest's flags from the host's, which stay, and the result in @reg. */
static void put_flags(Native *n, bool w, int reg, HostFlags how)
{
    if (w) {
        EMIT_RV(&n->p, true, OPC_STORE, reg, fl_n);
    } else { /* bit 63 is all that counts */
        emit_rm(&n->p, false, OPC_STORE, reg, RBP, offsetof(TcgVcpu, fl_n) + 4);
    }
    EMIT_RV(&n->p, true, OPC_STORE, reg, fl_z);
    if (how == HOST_FLAGS_LOGIC) {
        put_word(n, offsetof(TcgVcpu, fl_c), 0);
        put_word(n, offsetof(TcgVcpu, fl_v), 0);
    } else {
        put_bit(n, how == HOST_FLAGS_SUB ? CC_AE : CC_B,
                offsetof(TcgVcpu, fl_c));
        put_bit(n, CC_O, offsetof(TcgVcpu, fl_v));
    }
    n->after = how;
}

static HostFlags flags_of(unsigned alu)
{
    return alu == ALU_SUB   ? HOST_FLAGS_SUB
           : alu == ALU_ADD ? HOST_FLAGS_ADD
                            : HOST_FLAGS_LOGIC;
}

/* ---- operations of two operands ---- */

/* Kinds of the last operand. */
typedef enum Last {
    LAST_IMM,
    LAST_REG,
    LAST_SHIFTED,
    LAST_EXTENDED,
} Last;

typedef struct Binary {
    uint8_t alu;
    bool w, sets_flags, inverted;
    Last last;
} Binary;

static void binary(Native *n, const TcgOp *op, Binary k)
{
    static const uint8_t shifts[] = { SH_SHL, SH_SHR, SH_SAR, SH_ROR };
    bool in_rcx = k.last > LAST_REG || k.inverted;
    int dst;

    if (k.last == LAST_IMM) {
        dst = native_result(op->rd, A64_ZR);
        native_get(n, k.w, dst, op->rn);
        emit_alu_imm(&n->p, k.w, k.alu, dst, op->imm);
    } else {
        if (k.last == LAST_EXTENDED) {
            native_extend(n, op->rm, op->aux);
        } else if (in_rcx) {
            native_get(n, k.w, RCX, op->rm);
            if (k.last == LAST_SHIFTED) {
                emit_shift(&n->p, k.w, shifts[op->aux >> 6], RCX,
                           op->aux & (k.w ? 63 : 31));
            }
        }
        if (k.inverted) {
            emit_rr(&n->p, k.w, 0xf7, 2, RCX);
        }
        /* If rd is rm it must not be written before it is read. */
        dst = native_result(op->rd,
                            in_rcx || op->rn == op->rd ? A64_ZR : op->rm);
        native_get(n, k.w, dst, op->rn);
        if (in_rcx) {
            emit_rr(&n->p, k.w, ALU_RM(k.alu), dst, RCX);
        } else {
            emit_rg(&n->p, k.w, ALU_RM(k.alu), dst, op->rm);
        }
    }
    if (k.sets_flags) {
        put_flags(n, k.w, dst, flags_of(k.alu));
    }
    native_put(n, op->rd, dst);
}

/* Adding a constant without flags: host flags stay. */
static void add_imm(Native *n, const TcgOp *op, bool w)
{
    int dst = native_result(op->rd, A64_ZR), base = emit_host[op->rn];
    uint64_t imm = w ? op->imm : (uint64_t)(int32_t)op->imm;

    if (base >= 0 && imm == (uint64_t)(int32_t)imm) {
        emit_rm(&n->p, w, OPC_LEA, dst, base, imm);
        native_put(n, op->rd, dst);
    } else {
        binary(n, op, (Binary){ .alu = ALU_ADD, .w = w, .last = LAST_IMM });
    }
}

static bool binary_op(Native *n, const TcgOp *op)
{
#define K(name, alu_, w_, flags_, inverted_, last_) \
    case A64_##name:                                \
        binary(n, op,                               \
               (Binary){ .alu = ALU_##alu_,         \
                         .w = w_,                   \
                         .sets_flags = flags_,      \
                         .inverted = inverted_,     \
                         .last = LAST_##last_ });   \
        return true;
#define ADD_SUB(s, last_)                          \
    K(ADD##s##_X, ADD, true, false, false, last_)  \
    K(ADD##s##_W, ADD, false, false, false, last_) \
    K(SUB##s##_X, SUB, true, false, false, last_)  \
    K(SUB##s##_W, SUB, false, false, false, last_) \
    K(ADDS##s##_X, ADD, true, true, false, last_)  \
    K(ADDS##s##_W, ADD, false, true, false, last_) \
    K(SUBS##s##_X, SUB, true, true, false, last_)  \
    K(SUBS##s##_W, SUB, false, true, false, last_)
#define LOGIC(s, last_)                            \
    K(AND##s##_X, AND, true, false, false, last_)  \
    K(AND##s##_W, AND, false, false, false, last_) \
    K(BIC##s##_X, AND, true, false, true, last_)   \
    K(BIC##s##_W, AND, false, false, true, last_)  \
    K(ORR##s##_X, OR, true, false, false, last_)   \
    K(ORR##s##_W, OR, false, false, false, last_)  \
    K(ORN##s##_X, OR, true, false, true, last_)    \
    K(ORN##s##_W, OR, false, false, true, last_)   \
    K(EOR##s##_X, XOR, true, false, false, last_)  \
    K(EOR##s##_W, XOR, false, false, false, last_) \
    K(EON##s##_X, XOR, true, false, true, last_)   \
    K(EON##s##_W, XOR, false, false, true, last_)  \
    K(ANDS##s##_X, AND, true, true, false, last_)  \
    K(ANDS##s##_W, AND, false, true, false, last_) \
    K(BICS##s##_X, AND, true, true, true, last_)   \
    K(BICS##s##_W, AND, false, true, true, last_)

    switch (op->op) {
        K(ADDSI_X, ADD, true, true, false, IMM)
        K(ADDSI_W, ADD, false, true, false, IMM)
        K(SUBSI_X, SUB, true, true, false, IMM)
        K(SUBSI_W, SUB, false, true, false, IMM)
        K(ANDI, AND, true, false, false, IMM)
        K(ORRI_X, OR, true, false, false, IMM)
        K(ORRI_W, OR, false, false, false, IMM)
        K(EORI_X, XOR, true, false, false, IMM)
        K(EORI_W, XOR, false, false, false, IMM)
        K(ANDSI_X, AND, true, true, false, IMM)
        K(ANDSI_W, AND, false, true, false, IMM)
        ADD_SUB(, REG)
        ADD_SUB(H, SHIFTED)
        ADD_SUB(E, EXTENDED)
        LOGIC(, REG)
        LOGIC(H, SHIFTED)
    default:
        return false;
    }
}

/* ---- constants, bit fields, shifts, multiplication ---- */

static void move_keep(Native *n, const TcgOp *op, bool w)
{
    native_get(n, w, RAX, op->ra);
    emit_mov_imm(&n->p, RCX, ~(UINT64_C(0xffff) << op->aux));
    emit_rr(&n->p, w, ALU_RM(ALU_AND), RAX, RCX);
    if (op->imm) {
        emit_mov_imm(&n->p, RCX, op->imm);
        emit_rr(&n->p, w, ALU_RM(ALU_OR), RAX, RCX);
    }
    native_put(n, op->rd, RAX);
}

static void move_imm(Native *n, const TcgOp *op)
{
    int dst = native_result(op->rd, A64_ZR);

    emit_mov_imm(&n->p, dst, op->imm);
    native_put(n, op->rd, dst);
}

static void move(Native *n, const TcgOp *op, bool w)
{
    int dst = native_result(op->rd, A64_ZR);

    if (w) {
        native_get(n, true, dst, op->rm);
    } else {
        emit_rg(&n->p, false, OPC_LOAD, dst, op->rm); /* also onto itself */
    }
    native_put(n, op->rd, dst);
}

static void extract_bits(Native *n, const TcgOp *op)
{
    int dst = native_result(op->rd, A64_ZR);

    native_get(n, true, dst, op->rn);
    emit_shift(&n->p, true, SH_SHR, dst, op->aux);
    if ((op->imm | ~(UINT64_MAX >> op->aux)) != UINT64_MAX) {
        emit_alu_imm(&n->p, true, ALU_AND, dst, op->imm);
    }
    native_put(n, op->rd, dst);
}

static void place_bits(Native *n, const TcgOp *op)
{
    int dst = native_result(op->rd, A64_ZR);

    native_get(n, true, dst, op->rn);
    if (~op->imm << op->aux) {
        emit_alu_imm(&n->p, true, ALU_AND, dst, op->imm);
    }
    emit_shift(&n->p, true, SH_SHL, dst, op->aux);
    native_put(n, op->rd, dst);
}

static void signed_bits(Native *n, const TcgOp *op, bool w)
{
    int dst = native_result(op->rd, A64_ZR);

    native_get(n, true, dst, op->rn);
    emit_shift(&n->p, true, SH_SHL, dst, op->aux & 63);
    emit_shift(&n->p, true, SH_SAR, dst, op->aux >> 8);
    if (!w) {
        emit_rr(&n->p, false, OPC_LOAD, dst, dst);
    }
    native_put(n, op->rd, dst);
}

static void insert_bits(Native *n, const TcgOp *op, unsigned shift, bool w)
{
    emit_mov_imm(&n->p, RCX, op->imm);
    native_get(n, true, RAX, op->rn);
    emit_shift(&n->p, true, shift, RAX, op->aux);
    emit_rr(&n->p, true, ALU_RM(ALU_AND), RAX, RCX);
    emit_rr(&n->p, true, 0xf7, 2, RCX);
    emit_rg(&n->p, true, ALU_RM(ALU_AND), RCX, op->ra);
    emit_rr(&n->p, w, ALU_RM(ALU_OR), RAX, RCX);
    native_put(n, op->rd, RAX);
}

static void extract_pair(Native *n, const TcgOp *op, bool w)
{
    emit_rg(&n->p, w, OPC_LOAD, RAX, op->rm);
    if (op->aux) {
        native_get(n, w, RCX, op->rn);
        emit_rr(&n->p, w, OPC_SHRD, RCX, RAX);
        emit8(&n->p, op->aux);
    }
    native_put(n, op->rd, RAX);
}

static void shift_by_register(Native *n, const TcgOp *op, unsigned shift,
                              bool w)
{
    int dst = native_result(op->rd, A64_ZR);

    native_get(n, w, RCX, op->rm);
    native_get(n, w, dst, op->rn);
    if (!w) { /* by zero leaves the upper half as it is */
        emit_rr(&n->p, false, OPC_LOAD, dst, dst);
    }
    emit_rr(&n->p, w, 0xd3, shift, dst);
    native_put(n, op->rd, dst);
}

static void multiply(Native *n, const TcgOp *op, bool w, bool subtract)
{
    int dst = subtract ? RCX : native_result(op->rd, A64_ZR);

    if (dst != RCX && op->ra != A64_ZR && op->ra == op->rd) {
        dst = RAX;
    }
    if (dst != RCX && op->rm == op->rd && op->rn != op->rd) {
        dst = RAX;
    }
    native_get(n, w, dst, op->rn);
    emit_rg(&n->p, w, OPC_IMUL, dst, op->rm);
    if (subtract) {
        emit_rg(&n->p, w, OPC_LOAD, RAX, op->ra);
        emit_rr(&n->p, w, ALU_RM(ALU_SUB), RAX, RCX);
        dst = RAX;
    } else if (op->ra != A64_ZR) {
        emit_rg(&n->p, w, ALU_RM(ALU_ADD), dst, op->ra);
    }
    native_put(n, op->rd, dst);
}

/* Of two words to a double word; @opcode takes the words. */
static void multiply_long(Native *n, const TcgOp *op, unsigned opcode, bool w)
{
    emit_rg(&n->p, w, opcode, RAX, op->rn);
    emit_rg(&n->p, w, opcode, RCX, op->rm);
    emit_rr(&n->p, true, OPC_IMUL, RAX, RCX);
    if (op->ra != A64_ZR) {
        emit_rg(&n->p, true, ALU_RM(ALU_ADD), RAX, op->ra);
    }
    native_put(n, op->rd, RAX);
}

/* rdx:rax = rax * rm; @digit 4 unsigned, 5 signed. */
static void multiply_high(Native *n, const TcgOp *op, unsigned digit)
{
    native_get(n, true, RAX, op->rn);
    emit_rg(&n->p, true, 0xf7, digit, op->rm);
    native_put(n, op->rd, RDX);
}

static void reverse_bytes(Native *n, const TcgOp *op, bool w)
{
    emit_rg(&n->p, w, OPC_LOAD, RAX, op->rn);
    emit8(&n->p, 0x40 | w << 3);
    emit8(&n->p, 0x0f);
    emit8(&n->p, 0xc8);
    native_put(n, op->rd, RAX);
}

/* ---- by condition ---- */

/* @otherwise: 0 rm, 1 rm + 1, 2 ~rm, 3 -rm. */
static void select_by(Native *n, const TcgOp *op, bool w, unsigned otherwise)
{
    unsigned cc;

    emit_rg(&n->p, w, OPC_LOAD, RDX, op->rm);
    if (otherwise == 1) {
        emit_alu_imm(&n->p, w, ALU_ADD, RDX, 1);
    } else if (otherwise) {
        emit_rr(&n->p, w, 0xf7, otherwise, RDX);
    }
    cc = native_condition(n, op->aux);
    emit_rg(&n->p, w, OPC_CMOV | cc, RDX, op->rn);
    native_put(n, op->rd, RDX);
}

static void compare_by(Native *n, const TcgOp *op, bool w, unsigned alu,
                       bool by_imm)
{
    unsigned cc = native_condition(n, op->aux & 15), nzcv = op->aux >> 4;
    uint8_t *otherwise = emit_jcc(&n->p, cc ^ 1), *end;

    native_get(n, w, RAX, op->rn);
    if (by_imm) {
        emit_alu_imm(&n->p, w, alu, RAX, op->imm);
    } else {
        emit_rg(&n->p, w, ALU_RM(alu), RAX, op->rm);
    }
    put_flags(n, w, RAX, flags_of(alu));
    n->after = HOST_FLAGS_NONE;
    end = emit_jmp(&n->p);
    emit_land(otherwise, n->p);
    put_word(n, offsetof(TcgVcpu, fl_n), nzcv & 8 ? UINT32_MAX : 0);
    put_word(n, offsetof(TcgVcpu, fl_z), !(nzcv & 4));
    put_word(n, offsetof(TcgVcpu, fl_c), nzcv >> 1 & 1);
    put_word(n, offsetof(TcgVcpu, fl_v), nzcv & 1);
    emit_land(end, n->p);
}

#define CASE(name, call) \
    case A64_##name:     \
        call;            \
        return true

static bool condition_op(Native *n, const TcgOp *op)
{
    switch (op->op) {
        CASE(CSEL_X, select_by(n, op, true, 0));
        CASE(CSEL_W, select_by(n, op, false, 0));
        CASE(CSINC_X, select_by(n, op, true, 1));
        CASE(CSINC_W, select_by(n, op, false, 1));
        CASE(CSINV_X, select_by(n, op, true, 2));
        CASE(CSINV_W, select_by(n, op, false, 2));
        CASE(CSNEG_X, select_by(n, op, true, 3));
        CASE(CSNEG_W, select_by(n, op, false, 3));
        CASE(CCMN_X, compare_by(n, op, true, ALU_ADD, false));
        CASE(CCMN_W, compare_by(n, op, false, ALU_ADD, false));
        CASE(CCMP_X, compare_by(n, op, true, ALU_SUB, false));
        CASE(CCMP_W, compare_by(n, op, false, ALU_SUB, false));
        CASE(CCMNI_X, compare_by(n, op, true, ALU_ADD, true));
        CASE(CCMNI_W, compare_by(n, op, false, ALU_ADD, true));
        CASE(CCMPI_X, compare_by(n, op, true, ALU_SUB, true));
        CASE(CCMPI_W, compare_by(n, op, false, ALU_SUB, true));
    default:
        return false;
    }
}

static bool other_op(Native *n, const TcgOp *op)
{
    switch (op->op) {
        CASE(NOP, (void)0);
        CASE(MOVI, move_imm(n, op));
        CASE(MOVK_X, move_keep(n, op, true));
        CASE(MOVK_W, move_keep(n, op, false));
        CASE(MOV_X, move(n, op, true));
        CASE(MOV_W, move(n, op, false));
        CASE(ADDI_X, add_imm(n, op, true));
        CASE(ADDI_W, add_imm(n, op, false));
        CASE(UBFX, extract_bits(n, op));
        CASE(UBFIZ, place_bits(n, op));
        CASE(SBF_X, signed_bits(n, op, true));
        CASE(SBF_W, signed_bits(n, op, false));
        CASE(BFXIL_X, insert_bits(n, op, SH_SHR, true));
        CASE(BFXIL_W, insert_bits(n, op, SH_SHR, false));
        CASE(BFI_X, insert_bits(n, op, SH_SHL, true));
        CASE(BFI_W, insert_bits(n, op, SH_SHL, false));
        CASE(EXTR_X, extract_pair(n, op, true));
        CASE(EXTR_W, extract_pair(n, op, false));
        CASE(LSLV_X, shift_by_register(n, op, SH_SHL, true));
        CASE(LSLV_W, shift_by_register(n, op, SH_SHL, false));
        CASE(LSRV_X, shift_by_register(n, op, SH_SHR, true));
        CASE(LSRV_W, shift_by_register(n, op, SH_SHR, false));
        CASE(ASRV_X, shift_by_register(n, op, SH_SAR, true));
        CASE(ASRV_W, shift_by_register(n, op, SH_SAR, false));
        CASE(RORV_X, shift_by_register(n, op, SH_ROR, true));
        CASE(RORV_W, shift_by_register(n, op, SH_ROR, false));
        CASE(MADD_X, multiply(n, op, true, false));
        CASE(MADD_W, multiply(n, op, false, false));
        CASE(MSUB_X, multiply(n, op, true, true));
        CASE(MSUB_W, multiply(n, op, false, true));
        CASE(SMADDL, multiply_long(n, op, OPC_MOVSXD, true));
        CASE(UMADDL, multiply_long(n, op, OPC_LOAD, false));
        CASE(SMULH, multiply_high(n, op, 5));
        CASE(UMULH, multiply_high(n, op, 4));
        CASE(REV_X, reverse_bytes(n, op, true));
        CASE(REV_W, reverse_bytes(n, op, false));
    default:
        return false;
    }
}

bool native_alu(Native *n, const TcgOp *op)
{
    return binary_op(n, op) || condition_op(n, op) || other_op(n, op);
}
