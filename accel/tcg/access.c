/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads and stores that the TLB's fast path could not do: misses, misaligned
 * and page-crossing accesses, code pages, MMIO; and the faults they raise.
 */
#include "qemu/osdep.h"

#include "tcg-int.h"
#include "target/arm/syndrome.h"

vaddr tcg_op_pc(const TcgVcpu *v, const TcgOp *op)
{
    return v->blk->pc + 4 * (uint64_t)(op - v->blk->ops);
}

void tcg_raise(TcgVcpu *v, vaddr pc, int excp, uint32_t syndrome)
{
    v->pc = pc;
    arm_cpu_raise_exception(v->cs, excp, syndrome, 1);
}

void tcg_raise_data_abort(TcgVcpu *v, const TcgOp *op, vaddr va, bool is_write,
                          bool external, unsigned fsc)
{
    v->env->exception.vaddress = va;
    tcg_raise(v, tcg_op_pc(v, op), EXCP_DATA_ABORT,
              syn_data_abort(!v->user, external, false, is_write, fsc));
}

void tcg_raise_sp_alignment(TcgVcpu *v, const TcgOp *op)
{
    tcg_raise(v, tcg_op_pc(v, op), EXCP_UDEF, syn_sp_alignment());
}

void tcg_raise_undef(TcgVcpu *v, const TcgOp *op)
{
    tcg_raise(v, tcg_op_pc(v, op), EXCP_UDEF, syn_uncategorized());
}

static uint64_t host_load(const void *host, unsigned lg)
{
    switch (lg) {
    case 0:
        return __atomic_load_n((const uint8_t *)host, __ATOMIC_RELAXED);
    case 1:
        return __atomic_load_n((const uint16_t *)host, __ATOMIC_RELAXED);
    case 2:
        return __atomic_load_n((const uint32_t *)host, __ATOMIC_RELAXED);
    default:
        return __atomic_load_n((const uint64_t *)host, __ATOMIC_RELAXED);
    }
}

static void host_store(void *host, unsigned lg, uint64_t val)
{
    switch (lg) {
    case 0:
        __atomic_store_n((uint8_t *)host, val, __ATOMIC_RELAXED);
        break;
    case 1:
        __atomic_store_n((uint16_t *)host, val, __ATOMIC_RELAXED);
        break;
    case 2:
        __atomic_store_n((uint32_t *)host, val, __ATOMIC_RELAXED);
        break;
    default:
        __atomic_store_n((uint64_t *)host, val, __ATOMIC_RELAXED);
        break;
    }
}

static MemTxAttrs attrs(const TcgVcpu *v)
{
    return (MemTxAttrs){ .user = v->user,
                         .requester_id = (uint16_t)v->cs->cpu_index };
}

/*
 * MMIO. The device may wait for the BQL, so the vCPU is out of guest code
 * meanwhile; it keeps its reference to the view that showed the region.
 */
static bool mmio(TcgVcpu *v, const TcgOp *op, vaddr va, hwaddr phys,
                 unsigned lg, uint64_t *val, bool is_write)
{
    MemoryTranslation m;
    MemTxResult r = MEMTX_DECODE_ERROR;
    FlatView *view = v->view;

    flatview_ref(view);
    tcg_leave(v);
    if (flatview_translate(view, phys, &m)) {
        r = is_write ? memory_region_dispatch_write(m.mr, m.mr_offset, *val,
                                                    1u << lg, attrs(v))
                     : memory_region_dispatch_read(m.mr, m.mr_offset, val,
                                                   1u << lg, attrs(v));
    }
    tcg_enter(v);
    flatview_unref(view);
    if (r != MEMTX_OK) {
        tcg_raise_data_abort(v, op, va, is_write, !(r & MEMTX_DECODE_ERROR),
                             FSC_EXTERNAL);
        return false;
    }
    return true;
}

/* Byte by byte; the second page is looked at before anything is stored. */
static bool access_bytes(TcgVcpu *v, const TcgOp *op, vaddr va, unsigned lg,
                         uint64_t *val, bool is_write)
{
    unsigned size = 1u << lg, i;
    uint64_t out = 0, byte;
    TcgTarget t;

    if (is_write && !tcg_probe(v, op, va + size - 1, TCG_WRITE, &t)) {
        return false;
    }
    for (i = 0; i < size; i++) {
        if (is_write) {
            if (!tcg_store_slow(v, op, va + i, 0, (uint8_t)(*val >> 8 * i))) {
                return false;
            }
        } else {
            if (!tcg_load_slow(v, op, va + i, 0, &byte)) {
                return false;
            }
            out |= byte << 8 * i;
        }
    }
    if (!is_write) {
        *val = out;
    }
    return true;
}

/* Returns false if the access faults for its alignment alone. */
static bool check_alignment(TcgVcpu *v, const TcgOp *op, vaddr va, unsigned lg,
                            bool is_write)
{
    if (v->align_check && (va & ((1u << lg) - 1))) {
        tcg_raise_data_abort(v, op, va, is_write, false, FSC_ALIGNMENT);
        return false;
    }
    return true;
}

static bool crosses_page(vaddr va, unsigned lg)
{
    return (va & ~TCG_PAGE_MASK) + (1u << lg) > TCG_PAGE_SIZE;
}

bool tcg_load_slow(TcgVcpu *v, const TcgOp *op, vaddr va, unsigned lg,
                   uint64_t *val)
{
    TcgTarget t;

    if (!check_alignment(v, op, va, lg, false)) {
        return false;
    }
    if (crosses_page(va, lg)) {
        return access_bytes(v, op, va, lg, val, false);
    }
    if (!tcg_probe(v, op, va, TCG_READ, &t)) {
        return false;
    }
    if (!t.host) {
        return mmio(v, op, va, t.phys, lg, val, false);
    }
    *val = host_load(t.host, lg);
    return true;
}

bool tcg_store_slow(TcgVcpu *v, const TcgOp *op, vaddr va, unsigned lg,
                    uint64_t val)
{
    TcgTarget t;

    if (!check_alignment(v, op, va, lg, true)) {
        return false;
    }
    if (crosses_page(va, lg)) {
        return access_bytes(v, op, va, lg, &val, true);
    }
    if (!tcg_probe(v, op, va, TCG_WRITE, &t)) {
        return false;
    }
    if (!t.host) {
        return mmio(v, op, va, t.phys, lg, &val, true);
    }
    host_store(t.host, lg, val);
    if (t.has_code) {
        tcg_code_stored(v, &t, 1u << lg);
    }
    tcg_test_point(TCG_POINT_STORED, v);
    return true;
}
