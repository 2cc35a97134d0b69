/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TLB: filling it, and forgetting it.
 *
 * Entries are found by the low bits of the page number. A write tag is filled
 * only if a store to the page needs no further attention: the page is dirty
 * already (or not tracked) and no cached code came from it.
 */
#include "qemu/osdep.h"

#include <sys/mman.h>

#include "tcg-int.h"
#include "qemu/bitmap.h"
#include "qemu/timer.h"
#include "system/dirty-cost.h"
#include "target/arm/syndrome.h"

#define MAX_RAMS            1024
#define FSC_ADDRESS_SIZE_L0 0x00

/* One list per process: RAM blocks are. Append-only, as vCPUs keep pointers. */
static struct {
    TcgRam *rams[MAX_RAMS];
    _Atomic unsigned nr; /* published by release */
    QemuMutex lock;
} ram_list;

static void __attribute__((constructor)) ram_list_init(void)
{
    qemu_mutex_init(&ram_list.lock);
}

static TcgRam *ram_find(RAMBlock *rb)
{
    unsigned n = atomic_load_explicit(&ram_list.nr, memory_order_acquire), i;

    for (i = 0; i < n; i++) {
        if (ram_list.rams[i]->rb == rb) {
            return ram_list.rams[i];
        }
    }
    return NULL;
}

TcgRam *tcg_ram_get(RAMBlock *rb)
{
    TcgRam *ram = ram_find(rb);
    unsigned n;

    if (ram) {
        return ram;
    }
    QEMU_LOCK_GUARD(&ram_list.lock);
    ram = ram_find(rb);
    if (ram) {
        return ram;
    }
    ram = g_new0(TcgRam, 1);
    ram->rb = qemu_ram_ref(rb);
    ram->host = qemu_ram_get_host_addr(rb);
    ram->first_page = qemu_ram_get_offset(rb) >> TCG_PAGE_BITS;
    ram->nr_pages = DIV_ROUND_UP(qemu_ram_get_max_length(rb), TCG_PAGE_SIZE);
    ram->code_dirty = ram_block_dirty_bitmap(rb, DIRTY_MEMORY_CODE,
                                             &ram->code_dirty_first);
    /* Mostly never touched: not to be counted as memory that is needed. */
    ram->code_mask = mmap(NULL, ram->nr_pages * sizeof(*ram->code_mask),
                          PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    g_assert(ram->code_mask != MAP_FAILED);
    n = atomic_load_explicit(&ram_list.nr, memory_order_relaxed);
    g_assert(n < MAX_RAMS);
    ram->slot = n;
    ram_list.rams[n] = ram;
    atomic_store_explicit(&ram_list.nr, n + 1, memory_order_release);
    return ram;
}

TcgRam *tcg_ram_of_slot(uint32_t slot)
{
    return ram_list.rams[slot];
}

TcgRam *tcg_ram_next(unsigned *iter)
{
    unsigned n = atomic_load_explicit(&ram_list.nr, memory_order_acquire);

    return *iter < n ? ram_list.rams[(*iter)++] : NULL;
}

static void clear_entries(TcgVcpu *v)
{
    unsigned part;

    for (part = 0; part < TCG_TLB_SIZE / TCG_TLB_PART; part++) {
        if (test_bit(part, v->tlb_used)) {
            memset(&v->tlb[part * TCG_TLB_PART], 0,
                   TCG_TLB_PART * sizeof(v->tlb[0]));
        }
    }
    memset(v->tlb_used, 0, sizeof(v->tlb_used));
    v->rgen = v->wgen = 1u << TCG_GEN_SHIFT;
}

void tcg_tlb_init(TcgVcpu *v)
{
    clear_entries(v);
    v->view = address_space_get_flatview(v->cs->as);
    v->view_generation = address_space_generation(v->cs->as);
}

/* One step of a generation; after the last one entries are really cleared. */
static uint64_t next_gen(TcgVcpu *v, uint64_t gen)
{
    if (gen == TCG_GEN_LAST << TCG_GEN_SHIFT) {
        clear_entries(v);
        return v->wgen;
    }
    return gen + (1u << TCG_GEN_SHIFT);
}

void tcg_tlb_forget_writes(TcgVcpu *v)
{
    v->wgen = next_gen(v, v->wgen);
}

void tcg_tlb_flush(TcgVcpu *v)
{
    FlatView *old = v->view;

    /* The generation first: a view that comes later has a later one. */
    v->view_generation = address_space_generation(v->cs->as);
    v->view = address_space_get_flatview(v->cs->as);
    flatview_unref(old);
    clear_entries(v);
    /* Not now: the block that is being executed would go. */
    v->flush_pending = true;
    tcg_ask(v);
}

static void raise_abort(TcgVcpu *v, const TcgOp *op, vaddr va, TcgAccess access,
                        bool external, unsigned fsc)
{
    if (access == TCG_FETCH) {
        v->env->exception.vaddress = va;
        tcg_raise(v, va, EXCP_PREFETCH_ABORT,
                  syn_insn_abort(!v->user, external, fsc));
    } else {
        tcg_raise_data_abort(v, op, va, access == TCG_WRITE, external, fsc);
    }
}

/*
 * Virtual to physical. Translation is off: the address is physical, if it
 * has no bits above the physical address size. The place of the MMU.
 */
static bool translate(TcgVcpu *v, const TcgOp *op, vaddr va, TcgAccess access,
                      hwaddr *phys)
{
    if (va >> v->phys_bits) {
        raise_abort(v, op, va, access, false, FSC_ADDRESS_SIZE_L0);
        return false;
    }
    *phys = va;
    return true;
}

static TcgRam *ram_of(TcgVcpu *v, RAMBlock *rb)
{
    if (!v->last_ram || v->last_ram->rb != rb) {
        v->last_ram = tcg_ram_get(rb);
    }
    return v->last_ram;
}

static TcgMarkFunc *mark_func(TcgRam *ram)
{
    /* Acquire: pairs with the release in the tracker's start. */
    return atomic_load_explicit(&ram->mark, memory_order_acquire);
}

/*
 * A store to this page of RAM is coming: what must happen before. False: it
 * cannot happen now; @op is to be executed again.
 */
static bool prepare_write(TcgVcpu *v, const TcgOp *op, TcgTlbEntry *e, vaddr va,
                          TcgTarget *t)
{
    TcgMarkFunc *mark = mark_func(t->ram);

    if (mark) {
        if (!mark(v, t->ram, t->page)) {
            v->pc = tcg_op_pc(v, op);
            return false;
        }
        tcg_test_point(TCG_POINT_MARKED, v);
    }
    t->has_code = tcg_code_is_clean(t->ram, t->page);
    e->wtag = t->has_code ? TCG_TAG_NONE : (va & TCG_PAGE_MASK) | v->wgen;
    return true;
}

/*
 * A store to the page needs nothing done before. If that ends while we look,
 * whoever ends it waits until we have forgotten the entry: as with a store
 * that finds the page marked.
 */
static bool is_ready(TcgRam *ram, uint64_t page)
{
    if (mark_func(ram) &&
        !atomic_load_explicit(&ram->written, memory_order_relaxed)(ram, page)) {
        return false;
    }
    return !tcg_code_is_clean(ram, page);
}

static bool probe(TcgVcpu *v, const TcgOp *op, vaddr va, TcgAccess access,
                  TcgTarget *t)
{
    TcgTlbEntry *e = &v->tlb[(va >> TCG_PAGE_BITS) & (TCG_TLB_SIZE - 1)];
    uint64_t rtag = (va & TCG_PAGE_MASK) | v->rgen;
    bool is_write = access == TCG_WRITE || access == TCG_MODIFY;
    MemoryTranslation m;

    t->has_code = false;
    if (e->rtag == rtag && access != TCG_FETCH &&
        !(is_write && e->wtag == TCG_TAG_ROM)) {
        t->ram = e->ram;
        t->host = (void *)(uintptr_t)(va + e->addend);
        t->page = (uint64_t)((uint8_t *)t->host - e->ram->host) >>
                  TCG_PAGE_BITS;
        if (is_write && e->wtag != ((va & TCG_PAGE_MASK) | v->wgen)) {
            tcg_count(&v->stats.tlb_fills);
            return prepare_write(v, op, e, va, t);
        }
        return true;
    }
    if (!translate(v, op, va, access, &t->phys)) {
        return false;
    }
    tcg_count(&v->stats.tlb_fills);
    if (!flatview_translate(v->view, t->phys, &m)) {
        raise_abort(v, op, va, access, false, FSC_EXTERNAL);
        return false;
    }
    if (!m.block || (m.readonly && is_write)) {
        if (access == TCG_FETCH) {
            raise_abort(v, op, va, access, false, FSC_EXTERNAL);
            return false;
        }
        t->host = NULL;
        return true;
    }
    t->ram = ram_of(v, m.block);
    t->host = m.host;
    t->page = m.block_offset >> TCG_PAGE_BITS;
    /* A page of which only a part is this RAM has no entry. */
    if (access == TCG_FETCH || m.first > (t->phys & TCG_PAGE_MASK) ||
        m.last < (t->phys | ~TCG_PAGE_MASK) ||
        ((m.block_offset ^ t->phys) & ~TCG_PAGE_MASK)) {
        TcgTlbEntry none;

        return !is_write || prepare_write(v, op, &none, va, t);
    }
    e->rtag = rtag;
    e->wtag = m.readonly ? TCG_TAG_ROM : TCG_TAG_NONE;
    e->addend = (uintptr_t)m.host - va;
    e->ram = t->ram;
    set_bit((e - v->tlb) / TCG_TLB_PART, v->tlb_used);
    if (is_write) {
        return prepare_write(v, op, e, va, t);
    }
    if (!m.readonly && is_ready(t->ram, t->page)) {
        e->wtag = (va & TCG_PAGE_MASK) | v->wgen; /* spares a second miss */
    }
    return true;
}

/* Of all vCPUs: one write in 256 is looked at, as the clock is not free. */
static struct {
    DirtyCost fault, update;
    int64_t extra_ns; /* constant while vCPUs run */
} price;

void tcg_set_fault_price(uint32_t ns)
{
    price.extra_ns = ns;
}

void tcg_pay_fault(void)
{
    if (unlikely(price.extra_ns)) {
        int64_t end_ns = get_clock() + price.extra_ns;

        while (get_clock() < end_ns) {
        }
    }
}

static uint64_t counted(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

bool tcg_probe(TcgVcpu *v, const TcgOp *op, vaddr va, TcgAccess access,
               TcgTarget *t)
{
    uint64_t dirty, updates;
    int64_t begin_ns;
    bool ok;

    if (likely((access != TCG_WRITE && access != TCG_MODIFY) ||
               ++v->probes != 0)) {
        return probe(v, op, va, access, t);
    }
    dirty = counted(&v->stats.dirty_faults);
    updates = counted(&v->stats.dbm_updates);
    begin_ns = get_clock();
    ok = probe(v, op, va, access, t);
    if (dirty != counted(&v->stats.dirty_faults)) {
        bool is_fault = updates == counted(&v->stats.dbm_updates);

        dirty_cost_add(is_fault ? &price.fault : &price.update,
                       get_clock() - begin_ns, 1, 0);
    }
    return ok;
}

double tcg_fault_ns(void)
{
    return dirty_cost_ns(&price.fault);
}

double tcg_update_ns(void)
{
    return dirty_cost_ns(&price.update);
}
