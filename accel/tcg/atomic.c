/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exclusives, acquire/release and LSE atomics, on host atomics.
 *
 * The exclusive monitor is the pair (address, value loaded): a store
 * exclusive succeeds if its address is the monitor's and memory still has
 * that value, by one compare-and-swap. Everything here is sequentially
 * consistent: never weaker than what A64 asks, and on x86 no dearer.
 */
#include "qemu/osdep.h"

#include "tcg-int.h"
#include "target/arm/syndrome.h"

/* DDI 0487, ISS encoding for a data abort: DFSC "unsupported exclusive". */
#define FSC_UNSUPPORTED_EXCLUSIVE 0x35

static uint64_t load_size(void *p, unsigned lg)
{
    switch (lg) {
    case 0:
        return __atomic_load_n((uint8_t *)p, __ATOMIC_SEQ_CST);
    case 1:
        return __atomic_load_n((uint16_t *)p, __ATOMIC_SEQ_CST);
    case 2:
        return __atomic_load_n((uint32_t *)p, __ATOMIC_SEQ_CST);
    default:
        return __atomic_load_n((uint64_t *)p, __ATOMIC_SEQ_CST);
    }
}

static void store_size(void *p, unsigned lg, uint64_t val)
{
    switch (lg) {
    case 0:
        __atomic_store_n((uint8_t *)p, val, __ATOMIC_SEQ_CST);
        break;
    case 1:
        __atomic_store_n((uint16_t *)p, val, __ATOMIC_SEQ_CST);
        break;
    case 2:
        __atomic_store_n((uint32_t *)p, val, __ATOMIC_SEQ_CST);
        break;
    default:
        __atomic_store_n((uint64_t *)p, val, __ATOMIC_SEQ_CST);
        break;
    }
}

/* Returns what was there; @val was stored if that equals @expected. */
static uint64_t cas_size(void *p, unsigned lg, uint64_t expected, uint64_t val)
{
    switch (lg) {
    case 0:
        return __sync_val_compare_and_swap((uint8_t *)p, (uint8_t)expected,
                                           (uint8_t)val);
    case 1:
        return __sync_val_compare_and_swap((uint16_t *)p, (uint16_t)expected,
                                           (uint16_t)val);
    case 2:
        return __sync_val_compare_and_swap((uint32_t *)p, (uint32_t)expected,
                                           (uint32_t)val);
    default:
        return __sync_val_compare_and_swap((uint64_t *)p, expected, val);
    }
}

static unsigned __int128 cas_128(void *p, unsigned __int128 expected,
                                 unsigned __int128 val)
{
    return __sync_val_compare_and_swap((unsigned __int128 *)p, expected, val);
}

static unsigned __int128 make_128(uint64_t low, uint64_t high)
{
    return (unsigned __int128)high << 64 | low;
}

/* Address of an atomic access of @size bytes; false: it faults. */
static bool check_address(TcgVcpu *v, const TcgOp *op, unsigned size,
                          bool is_write, vaddr *va)
{
    *va = v->x[op->rn];
    if (op->rn == A64_SP && (*va & v->sp_mask)) {
        tcg_raise_sp_alignment(v, op);
        return false;
    }
    if (*va & (size - 1)) {
        tcg_raise_data_abort(v, op, *va, is_write, false, FSC_ALIGNMENT);
        return false;
    }
    return true;
}

/* The same, and the host address in @t: only RAM has atomics. */
static bool begin(TcgVcpu *v, const TcgOp *op, unsigned size, TcgAccess access,
                  vaddr *va, TcgTarget *t)
{
    bool is_write = access == TCG_WRITE;

    if (!check_address(v, op, size, is_write, va) ||
        !tcg_probe(v, op, *va, access, t)) {
        return false;
    }
    if (!t->host) {
        tcg_raise_data_abort(v, op, *va, is_write, false,
                             FSC_UNSUPPORTED_EXCLUSIVE);
        return false;
    }
    return true;
}

static void end(TcgVcpu *v, TcgTarget *t, unsigned size)
{
    if (t->has_code) {
        tcg_code_stored(v, t, size);
    }
}

bool tcg_op_ldxr(TcgVcpu *v, const TcgOp *op)
{
    TcgTarget t;
    vaddr va;

    if (!begin(v, op, 1u << op->aux, TCG_READ, &va, &t)) {
        return false;
    }
    v->env->exclusive_val = load_size(t.host, op->aux);
    v->env->exclusive_addr = va;
    v->x[op->rd] = v->env->exclusive_val;
    return true;
}

bool tcg_op_ldxp(TcgVcpu *v, const TcgOp *op)
{
    CPUARMState *env = v->env;
    TcgTarget t;
    vaddr va;

    if (!begin(v, op, 2u << op->aux, TCG_READ, &va, &t)) {
        return false;
    }
    env->exclusive_addr = va;
    env->exclusive_val = load_size(t.host, 3);
    if (op->aux == 2) {
        v->x[op->rd] = (uint32_t)env->exclusive_val;
        v->x[op->ra] = env->exclusive_val >> 32;
        return true;
    }
    /*
     * Two loads: that they belong together is guaranteed by A64 only if the
     * store exclusive then succeeds, and that compares both.
     */
    env->exclusive_high = load_size((uint64_t *)t.host + 1, 3);
    v->x[op->rd] = env->exclusive_val;
    v->x[op->ra] = env->exclusive_high;
    return true;
}

static bool store_exclusive(TcgVcpu *v, const TcgOp *op, unsigned lg)
{
    CPUARMState *env = v->env;
    bool done = false;
    TcgTarget t;
    vaddr va;

    if (!check_address(v, op, 1u << lg, true, &va)) {
        return false;
    }
    if (env->exclusive_addr == va) {
        uint64_t low = v->x[op->rd], high = v->x[op->ra];

        if (!begin(v, op, 1u << lg, TCG_WRITE, &va, &t)) {
            return false;
        }
        if (lg == 4) {
            unsigned __int128 expected = make_128(env->exclusive_val,
                                                  env->exclusive_high);

            done = cas_128(t.host, expected, make_128(low, high)) == expected;
        } else {
            if (op->op == A64_STXP) {
                low = (uint32_t)low | high << 32;
            }
            done = cas_size(t.host, lg, env->exclusive_val, low) ==
                   (lg == 3 ? env->exclusive_val
                            : env->exclusive_val &
                                  ((UINT64_C(1) << (8 << lg)) - 1));
        }
        end(v, &t, 1u << lg);
    }
    env->exclusive_addr = UINT64_MAX;
    v->x[op->rm] = !done;
    return true;
}

bool tcg_op_stxr(TcgVcpu *v, const TcgOp *op)
{
    return store_exclusive(v, op, op->aux);
}

bool tcg_op_stxp(TcgVcpu *v, const TcgOp *op)
{
    return store_exclusive(v, op, op->aux + 1);
}

/* Acquire and release are for MMIO too. */
bool tcg_op_ldar(TcgVcpu *v, const TcgOp *op)
{
    TcgTarget t;
    vaddr va;

    if (!check_address(v, op, 1u << op->aux, false, &va) ||
        !tcg_probe(v, op, va, TCG_READ, &t)) {
        return false;
    }
    if (!t.host) {
        return tcg_load_slow(v, op, va, op->aux, &v->x[op->rd]);
    }
    v->x[op->rd] = load_size(t.host, op->aux);
    return true;
}

bool tcg_op_stlr(TcgVcpu *v, const TcgOp *op)
{
    TcgTarget t;
    vaddr va;

    if (!check_address(v, op, 1u << op->aux, true, &va) ||
        !tcg_probe(v, op, va, TCG_WRITE, &t)) {
        return false;
    }
    if (!t.host) {
        return tcg_store_slow(v, op, va, op->aux, v->x[op->rd]);
    }
    store_size(t.host, op->aux, v->x[op->rd]);
    end(v, &t, 1u << op->aux);
    return true;
}

/* Index of a result register: what was read as zero is not written. */
static unsigned result_reg(unsigned r)
{
    return r == A64_ZR ? A64_SINK : r;
}

bool tcg_op_cas(TcgVcpu *v, const TcgOp *op)
{
    TcgTarget t;
    vaddr va;

    if (!begin(v, op, 1u << op->aux, TCG_MODIFY, &va, &t)) {
        return false;
    }
    v->x[result_reg(op->rm)] = cas_size(t.host, op->aux, v->x[op->rm],
                                        v->x[op->rd]);
    end(v, &t, 1u << op->aux);
    return true;
}

/* Second register of a pair that begins at an even one. */
static unsigned pair_reg(unsigned r)
{
    return r == 30 ? A64_ZR : r + 1;
}

bool tcg_op_casp(TcgVcpu *v, const TcgOp *op)
{
    unsigned s0 = op->rm, s1 = pair_reg(op->rm);
    unsigned t0 = op->rd, t1 = pair_reg(op->rd);
    TcgTarget t;
    vaddr va;

    if (!begin(v, op, 2u << op->aux, TCG_MODIFY, &va, &t)) {
        return false;
    }
    if (op->aux == 2) {
        uint64_t old = cas_size(t.host, 3, (uint32_t)v->x[s0] | v->x[s1] << 32,
                                (uint32_t)v->x[t0] | v->x[t1] << 32);

        v->x[s0] = (uint32_t)old;
        v->x[result_reg(s1)] = old >> 32;
    } else {
        unsigned __int128 old = cas_128(t.host, make_128(v->x[s0], v->x[s1]),
                                        make_128(v->x[t0], v->x[t1]));

        v->x[s0] = (uint64_t)old;
        v->x[result_reg(s1)] = (uint64_t)(old >> 64);
    }
    end(v, &t, 2u << op->aux);
    return true;
}

/* One read-modify-write of a type; comparison by its signed twin. */
#define FETCH_OP(type, stype)                                          \
    static type fetch_##type(type *p, unsigned op, type operand)       \
    {                                                                  \
        type old = __atomic_load_n(p, __ATOMIC_RELAXED), val;          \
                                                                       \
        do {                                                           \
            switch (op) {                                              \
            case A64_LDADD:                                            \
                val = old + operand;                                   \
                break;                                                 \
            case A64_LDCLR:                                            \
                val = old & ~operand;                                  \
                break;                                                 \
            case A64_LDEOR:                                            \
                val = old ^ operand;                                   \
                break;                                                 \
            case A64_LDSET:                                            \
                val = old | operand;                                   \
                break;                                                 \
            case A64_LDSMAX:                                           \
                val = (stype)old > (stype)operand ? old : operand;     \
                break;                                                 \
            case A64_LDSMIN:                                           \
                val = (stype)old < (stype)operand ? old : operand;     \
                break;                                                 \
            case A64_LDUMAX:                                           \
                val = old > operand ? old : operand;                   \
                break;                                                 \
            case A64_LDUMIN:                                           \
                val = old < operand ? old : operand;                   \
                break;                                                 \
            default:                                                   \
                val = operand;                                         \
                break;                                                 \
            }                                                          \
        } while (!__atomic_compare_exchange_n(                         \
            p, &old, val, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)); \
        return old;                                                    \
    }
FETCH_OP(uint8_t, int8_t)
FETCH_OP(uint16_t, int16_t)
FETCH_OP(uint32_t, int32_t)
FETCH_OP(uint64_t, int64_t)

bool tcg_op_fetch_op(TcgVcpu *v, const TcgOp *op)
{
    uint64_t operand = v->x[op->rm], old;
    TcgTarget t;
    vaddr va;

    if (!begin(v, op, 1u << op->aux, TCG_MODIFY, &va, &t)) {
        return false;
    }
    switch (op->aux) {
    case 0:
        old = fetch_uint8_t(t.host, op->op, operand);
        break;
    case 1:
        old = fetch_uint16_t(t.host, op->op, operand);
        break;
    case 2:
        old = fetch_uint32_t(t.host, op->op, operand);
        break;
    default:
        old = fetch_uint64_t(t.host, op->op, operand);
        break;
    }
    end(v, &t, 1u << op->aux);
    v->x[op->rd] = old;
    return true;
}
