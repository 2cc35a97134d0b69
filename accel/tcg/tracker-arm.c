/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arming and disarming, the same for each tracker: see tcg-int.h. */
#include "qemu/osdep.h"

#include "tcg-int.h"
#include "qemu/error.h"

bool tcg_blocks_alloc(RAMBlock *const *blocks, size_t nr_blocks,
                      bool (*alloc)(TcgRam *ram), void (*undo)(TcgRam *ram),
                      const char *what, Error **errp)
{
    size_t i;

    for (i = 0; i < nr_blocks; i++) {
        if (!alloc(tcg_ram_get(blocks[i]))) {
            error_setg(errp, "no memory for the %s of block '%s'", what,
                       qemu_ram_get_idstr(blocks[i]));
            while (i-- > 0) {
                undo(tcg_ram_get(blocks[i]));
            }
            return false;
        }
    }
    return true;
}

void tcg_blocks_arm(RAMBlock *const *blocks, size_t nr_blocks,
                    TcgMarkFunc *mark, TcgWrittenFunc *written)
{
    size_t i;

    for (i = 0; i < nr_blocks; i++) {
        TcgRam *ram = tcg_ram_get(blocks[i]);

        atomic_store_explicit(&ram->written, written, memory_order_relaxed);
        /* Release: who sees it sees what the tracker allocated. */
        atomic_store_explicit(&ram->mark, mark, memory_order_release);
    }
    /* Write entries from before are gone after this. */
    tcg_handshake();
}

void tcg_blocks_disarm(RAMBlock *const *blocks, size_t nr_blocks)
{
    size_t i;

    for (i = 0; i < nr_blocks; i++) {
        atomic_store(&tcg_ram_get(blocks[i])->mark, NULL);
    }
    tcg_handshake();
}
