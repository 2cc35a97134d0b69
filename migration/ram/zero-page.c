/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Zero page check: see zero-page.h for the contract. */
#include "qemu/osdep.h"

#include "qemu/tsan.h"
#include "system/ram-block.h"

#include "ram/zero-page.h"

/*
 * Compilers turn this into the vector instructions of the host (two 16-byte
 * halves where 32-byte registers are missing), so one source serves all.
 */
typedef uint64_t ZeroVec __attribute__((vector_size(32), may_alias));

enum {
    VECS_PER_STEP = 8,
    STEP_BYTES = VECS_PER_STEP * sizeof(ZeroVec),
};

bool ram_page_is_zero_scalar(const void *page, size_t len_bytes)
{
    const uint8_t *p = page;
    size_t i = 0;

    for (; i + 8 <= len_bytes; i += 8) {
        uint64_t word;

        memcpy(&word, p + i, 8);
        if (word) {
            return false;
        }
    }
    for (; i < len_bytes; i++) {
        if (p[i]) {
            return false;
        }
    }
    return true;
}

static inline bool TSAN_UNCHECKED vec_is_zero(const ZeroVec *v)
{
    return ((*v)[0] | (*v)[1] | (*v)[2] | (*v)[3]) == 0;
}

bool TSAN_UNCHECKED ram_page_is_zero(const void *page, size_t len_bytes)
{
    const ZeroVec *v = page;
    const ZeroVec *end = v + len_bytes / sizeof(ZeroVec);
    const uint64_t *words = page;

    assert(QEMU_PTR_IS_ALIGNED(page, 32) && len_bytes &&
           QEMU_IS_ALIGNED(len_bytes, STEP_BYTES));

    /*
     * Data shows itself early: most pages that are not zero have a byte set
     * in the first words, in the middle or at the end. Three loads spare the
     * scan of the rest.
     */
    if (words[0] | words[len_bytes / 16] | words[len_bytes / 8 - 1]) {
        return false;
    }
    for (; v < end; v += VECS_PER_STEP) {
        ZeroVec t = ((v[0] | v[1]) | (v[2] | v[3])) |
                    ((v[4] | v[5]) | (v[6] | v[7]));

        if (!vec_is_zero(&t)) {
            return false;
        }
    }
    return true;
}

typedef struct Look {
    const uint8_t *page;
    size_t len_bytes;
    bool zero;
} Look;

static void look(void *opaque)
{
    Look *l = opaque;

    l->zero = ram_page_is_zero(l->page, l->len_bytes);
}

int ram_block_page_is_zero(RAMBlock *rb, ram_addr_t offset, size_t len_bytes,
                           Error **errp)
{
    const uint8_t *host = qemu_ram_get_host_addr(rb);
    Look l = { .page = host + offset, .len_bytes = len_bytes };

    if (qemu_ram_get_fd(rb) < 0) {
        return ram_page_is_zero(l.page, len_bytes);
    }
    return ram_access_try(look, &l, errp) ? l.zero : -1;
}
