/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages that hold code: noticing every store to what was decoded.
 *
 * The block's CODE bitmap says per page whether stores must be watched (bit
 * clear), and code_mask in which 64-byte granules decoded code lies, so that
 * data beside code does not throw the code away.
 *
 *   decoder: clear the CODE bit ; handshake (now all stores to the page go
 *            the slow path) ; set granules ; fence ; read the code
 *   vCPU:    store ; fence ; read granules: hit -> invalidate
 *   device:  store ; set the CODE bit: was clear -> invalidate (hook)
 * Either the decoder reads what was stored, or the writer sees the granule
 * and invalidates. Invalidating is: CODE bit set, granules cleared, the page
 * queued at every vCPU, which drops the page's blocks at the end of its
 * present one. Architecturally that could wait until IC IVAU, DSB and ISB; so
 * these need no work of their own.
 */
#include "qemu/osdep.h"

#include "tcg-int.h"
#include "qemu/bitmap.h"

#define GRANULE_BITS 6

/* One decoder at a time makes a page a code page. Taken outside guest code. */
static QemuMutex protect_lock;

static void __attribute__((constructor)) code_lock_init(void)
{
    qemu_mutex_init(&protect_lock);
}

static uint64_t granules(unsigned offset, unsigned length)
{
    unsigned first = offset >> GRANULE_BITS;
    unsigned last = (offset + length - 1) >> GRANULE_BITS;

    return UINT64_MAX << first & UINT64_MAX >> (63 - last);
}

/* Bit of @page in the CODE bitmap. */
static _Atomic uint64_t *code_word(TcgRam *ram, uint64_t page, uint64_t *bit)
{
    uint64_t n = ram->code_dirty_first + page;

    *bit = UINT64_C(1) << (n & 63);
    return (_Atomic uint64_t *)&ram->code_dirty[n >> 6];
}

bool tcg_code_is_clean(TcgRam *ram, uint64_t page)
{
    uint64_t bit;

    return !(atomic_load(code_word(ram, page, &bit)) & bit);
}

void tcg_code_protect(TcgVcpu *v, TcgRam *ram, uint64_t page, unsigned offset,
                      unsigned length)
{
    uint64_t mask = granules(offset, length), bit;
    _Atomic uint64_t *word = code_word(ram, page, &bit);

    tcg_leave(v);
    qemu_mutex_lock(&protect_lock);
    if (atomic_fetch_and(word, ~bit) & bit) {
        tcg_handshake();
    }
    atomic_fetch_or(&ram->code_mask[page], mask);
    qemu_mutex_unlock(&protect_lock);
    tcg_enter(v);
    tcg_test_point(TCG_POINT_CODE_PROTECTED, v);
    atomic_thread_fence(memory_order_seq_cst);
}

static void queue_page(TcgVcpu *v, uint64_t page)
{
    qemu_mutex_lock(&v->inval_lock);
    if (v->nr_inval < ARRAY_SIZE(v->inval_pages)) {
        v->inval_pages[v->nr_inval++] = page;
    } else {
        v->nr_inval = ARRAY_SIZE(v->inval_pages) + 1;
    }
    atomic_store(&v->inval_pending, true);
    qemu_mutex_unlock(&v->inval_lock);
    tcg_ask(v);
}

/* The CODE client's hook: pages of the range were written. */
static void invalidate(RAMBlock *rb, ram_addr_t offset, ram_addr_t length)
{
    TcgRam *ram = tcg_ram_get(rb);
    uint64_t page = offset >> TCG_PAGE_BITS;
    uint64_t end = DIV_ROUND_UP(offset + length, TCG_PAGE_SIZE);
    unsigned i;

    for (; page < end; page++) {
        if (atomic_load(&ram->code_mask[page]) &&
            atomic_exchange(&ram->code_mask[page], 0)) {
            for (i = 0; i < tcg_nr_vcpus(); i++) {
                queue_page(tcg_vcpu(i), ram->first_page + page);
            }
        }
    }
}

void tcg_code_stored(TcgVcpu *v, const TcgTarget *t, unsigned size)
{
    unsigned offset = (uintptr_t)t->host & ~TCG_PAGE_MASK;

    /* Pairs with the fence in tcg_code_protect(). */
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load(&t->ram->code_mask[t->page]) & granules(offset, size)) {
        tcg_count(&v->stats.code_writes);
        ram_block_set_dirty(t->ram->rb, t->page << TCG_PAGE_BITS, TCG_PAGE_SIZE,
                            1u << DIRTY_MEMORY_CODE);
    }
}

void tcg_apply_invalidations(TcgVcpu *v)
{
    uint64_t pages[ARRAY_SIZE(v->inval_pages)];
    unsigned n, i;

    qemu_mutex_lock(&v->inval_lock);
    n = v->nr_inval;
    memcpy(pages, v->inval_pages, MIN(n, ARRAY_SIZE(pages)) * sizeof(pages[0]));
    v->nr_inval = 0;
    atomic_store(&v->inval_pending, false);
    qemu_mutex_unlock(&v->inval_lock);
    if (n > ARRAY_SIZE(pages)) {
        tcg_blocks_flush(v);
        return;
    }
    for (i = 0; i < n; i++) {
        tcg_blocks_drop_page(v, pages[i]);
    }
}

void tcg_code_init(void)
{
    physical_memory_set_code_invalidate_hook(invalidate);
}
