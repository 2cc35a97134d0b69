/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RAM on the target: see ram-format.h for the bytes and what makes them valid.
 *
 * The stream is hostile: names, lengths, offsets and flags are checked before
 * they are used, and nothing is allocated by a number that came with it.
 */
#include "qemu/osdep.h"

#include "qemu/main-loop.h"
#include "system/ram-block.h"

#include "ram/ram-format.h"
#include "ram/ram-load-pages.h"
#include "ram/ram-load.h"
#include "ram/zero-page.h"

/* Singleton, as the_ram_save: one section of one process. */
static struct {
    RamLoadConfig config; /* set before loading begins */

    /* Incoming thread. */
    RamLoadBlock *last; /* block of the last page record */
    GPtrArray *blocks;  /* RamLoadBlock */
    RamLoadWindow window;
    bool may_note; /* no page has come yet */

    _Atomic uint64_t normal_pages, zero_pages;
} the_ram_load;

void ram_load_configure(const RamLoadConfig *config)
{
    the_ram_load.config = *config;
}

void ram_load_counts(uint64_t *normal_pages, uint64_t *zero_pages)
{
    *normal_pages = atomic_load_explicit(&the_ram_load.normal_pages,
                                         memory_order_relaxed);
    *zero_pages = atomic_load_explicit(&the_ram_load.zero_pages,
                                       memory_order_relaxed);
}

static void block_free(gpointer data)
{
    RamLoadBlock *b = data;

    ram_load_forget_got(b);
    qemu_ram_unref(b->rb);
    g_free(b);
}

bool ram_load_setup(QEMUFile *f, void *opaque, Error **errp)
{
    g_autoptr(GPtrArray) list = NULL;

    ram_load_cleanup(opaque);
    atomic_store(&the_ram_load.normal_pages, 0);
    atomic_store(&the_ram_load.zero_pages, 0);
    list = qemu_ram_blocks_snapshot();
    the_ram_load.blocks = g_ptr_array_new_with_free_func(block_free);
    for (unsigned i = 0; i < list->len; i++) {
        RamLoadBlock *b = g_new0(RamLoadBlock, 1);

        b->rb = qemu_ram_ref(g_ptr_array_index(list, i));
        g_ptr_array_add(the_ram_load.blocks, b);
    }
    the_ram_load.may_note = true;
    ram_pages_begin();
    return true;
}

void ram_load_cleanup(void *opaque)
{
    g_clear_pointer(&the_ram_load.blocks, g_ptr_array_unref);
    the_ram_load.last = NULL;
    the_ram_load.window = (RamLoadWindow){ 0 };
    ram_pages_end();
    the_ram_load.may_note = false;
}

GPtrArray *ram_load_blocks(void)
{
    return the_ram_load.blocks;
}

/*
 * A source that has begun to send does not know what it can rely on. Blocks
 * that it does not have, or does not send, stay as they are.
 */
bool ram_load_note_pages(void)
{
    bool ok = the_ram_load.may_note;

    for (unsigned i = 0; ok && i < the_ram_load.blocks->len; i++) {
        RamLoadBlock *b = g_ptr_array_index(the_ram_load.blocks, i);

        if (b->listed && !b->got &&
            !ram_block_is_ignored(b->rb, the_ram_load.config.ignore_shared)) {
            ok = ram_load_note_block(b);
        }
    }
    return ok;
}

static RamLoadBlock *find_block(const char *idstr)
{
    GPtrArray *blocks = the_ram_load.blocks;

    for (unsigned i = 0; blocks && i < blocks->len; i++) {
        RamLoadBlock *b = g_ptr_array_index(blocks, i);

        if (qemu_ram_is_migratable(b->rb) &&
            !strcmp(qemu_ram_get_idstr(b->rb), idstr)) {
            return b;
        }
    }
    return NULL;
}

static bool fit_length(RAMBlock *rb, uint64_t length, Error **errp)
{
    ERRP_GUARD();
    uint64_t local = qemu_ram_get_used_length(rb);

    if (length == local) {
        return true;
    }
    if (!(qemu_ram_get_flags(rb) & RAM_RESIZEABLE)) {
        error_setg(errp,
                   "RAM block '%s' is %" PRIu64
                   " bytes long at the source, and %" PRIu64 " here",
                   qemu_ram_get_idstr(rb), length, local);
        return false;
    }
    if (length == 0 || length > qemu_ram_get_max_length(rb)) {
        error_setg(errp,
                   "RAM block '%s' is %" PRIu64
                   " bytes long at the source, here it can have 1 to %" PRIu64,
                   qemu_ram_get_idstr(rb), length, qemu_ram_get_max_length(rb));
        return false;
    }
    BQL_LOCK_GUARD();
    if (!qemu_ram_resize(rb, length, errp)) {
        error_prepend(errp,
                      "cannot resize RAM block '%s': ", qemu_ram_get_idstr(rb));
        return false;
    }
    return true;
}

static bool check_guest_addr(QEMUFile *f, RAMBlock *rb, Error **errp)
{
    uint64_t addr = qemu_get_be64(f), local;

    if (!qemu_file_check(f, errp)) {
        return false;
    }
    if (!ram_block_is_ignored(rb, true)) {
        return true;
    }
    BQL_LOCK_GUARD();
    local = qemu_ram_get_guest_addr(rb);
    if (addr != local) {
        error_setg(errp,
                   "shared RAM block '%s' lies at guest address 0x%" PRIx64
                   " at the source, and at 0x%" PRIx64 " here",
                   qemu_ram_get_idstr(rb), addr, local);
        return false;
    }
    return true;
}

/* The list of blocks in START: @left is the sum of lengths that it holds. */
static bool load_block_list(QEMUFile *f, uint64_t left, Error **errp)
{
    while (left) {
        char idstr[256];
        uint64_t length;
        RamLoadBlock *b;

        qemu_get_counted_string(f, idstr);
        length = qemu_get_be64(f);
        if (!qemu_file_check(f, errp)) {
            return false;
        }
        if (length > left) {
            error_setg(errp,
                       "the length of RAM block '%s', %" PRIu64
                       ", is more than the list still may hold, %" PRIu64,
                       idstr, length, left);
            return false;
        }
        left -= length;
        b = find_block(idstr);
        if (!b) {
            error_setg(errp, "there is no RAM block '%s' here", idstr);
            return false;
        }
        if (!fit_length(b->rb, length, errp) ||
            (the_ram_load.config.ignore_shared &&
             !check_guest_addr(f, b->rb, errp))) {
            return false;
        }
        b->listed = true;
    }
    return true;
}

/* The block that a page record is about, and that the offset is inside. */
static RamLoadBlock *page_block(QEMUFile *f, uint64_t offset, unsigned flags,
                                Error **errp)
{
    uint64_t size = UINT64_C(1) << the_ram_load.config.target_page_bits;
    RamLoadBlock *b = the_ram_load.last;
    RAMBlock *rb;

    if (!(flags & RAM_FLAG_CONTINUE)) {
        char idstr[256];

        qemu_get_counted_string(f, idstr);
        if (!qemu_file_check(f, errp)) {
            return NULL;
        }
        b = find_block(idstr);
        if (!b) {
            error_setg(errp, "there is no RAM block '%s' here", idstr);
            return NULL;
        }
        if (!b->listed) {
            error_setg(errp,
                       "a page of RAM block '%s', which the list of blocks did "
                       "not name: expected the list before pages",
                       idstr);
            return NULL;
        }
        the_ram_load.last = b;
    } else if (!b) {
        error_setg(errp, "a page of the same block as before, but there was "
                         "none before: expected the name of a block");
        return NULL;
    }
    rb = b->rb;
    if (offset >= qemu_ram_get_used_length(rb) ||
        qemu_ram_get_used_length(rb) - offset < size) {
        error_setg(errp,
                   "page at 0x%" PRIx64 " of RAM block '%s', which ends at "
                   "0x%" PRIx64,
                   offset, qemu_ram_get_idstr(rb),
                   (uint64_t)qemu_ram_get_used_length(rb));
        return NULL;
    }
    if (ram_block_is_ignored(rb, the_ram_load.config.ignore_shared)) {
        error_setg(errp,
                   "page at 0x%" PRIx64 " of RAM block '%s', which is shared "
                   "and must not be sent with x-ignore-shared",
                   offset, qemu_ram_get_idstr(rb));
        return NULL;
    }
    the_ram_load.may_note = false;
    ram_load_got(b, offset);
    return b;
}

static void prepend_page(RAMBlock *rb, uint64_t offset, Error **errp)
{
    error_prepend(errp, "page at 0x%" PRIx64 " of RAM block '%s': ", offset,
                  qemu_ram_get_idstr(rb));
}

static bool check_page(QEMUFile *f, RAMBlock *rb, uint64_t offset, Error **errp)
{
    ERRP_GUARD();

    if (!qemu_file_check(f, errp)) {
        prepend_page(rb, offset, errp);
        return false;
    }
    return true;
}

static bool load_page(QEMUFile *f, RAMBlock *rb, uint64_t offset, Error **errp)
{
    ERRP_GUARD();
    size_t size = (size_t)1 << the_ram_load.config.target_page_bits;

    if (!ram_pages_take(f, rb, offset, size, errp)) {
        if (qemu_file_get_error(f)) {
            prepend_page(rb, offset, errp);
        } /* else memory failed, and that says where */
        return false;
    }
    atomic_fetch_add_explicit(&the_ram_load.normal_pages, 1,
                              memory_order_relaxed);
    ram_window_write(&the_ram_load.window, rb, offset);
    return true;
}

static bool load_zero(QEMUFile *f, RAMBlock *rb, uint64_t offset, Error **errp)
{
    size_t size = (size_t)1 << the_ram_load.config.target_page_bits;
    unsigned fill = qemu_get_byte(f);
    int zero;

    if (!check_page(f, rb, offset, errp)) {
        return false;
    }
    if (fill != 0) {
        error_setg(errp,
                   "zero page at 0x%" PRIx64 " of RAM block '%s' is filled "
                   "with 0x%02x, expected 0x00",
                   offset, qemu_ram_get_idstr(rb), fill);
        return false;
    }
    atomic_fetch_add_explicit(&the_ram_load.zero_pages, 1,
                              memory_order_relaxed);
    /* Not written if it is zero: memory that is not there need not come. */
    if (ram_window_is_hole(&the_ram_load.window, rb, offset)) {
        return true;
    }
    zero = ram_block_page_is_zero(rb, offset, size, errp);
    return zero > 0 || (zero == 0 && ram_block_fill(rb, offset, 0, size, errp));
}

/* One record. Sets *@end at the end of the section's payload. */
static bool load_record(QEMUFile *f, bool *end, Error **errp)
{
    uint64_t mask = ((UINT64_C(1) << the_ram_load.config.target_page_bits) - 1);
    uint64_t head, value;
    unsigned flags;
    RamLoadBlock *b;

    if (!ram_pages_before_read(f, sizeof(head), errp)) {
        return false;
    }
    head = qemu_get_be64(f);
    value = head & ~mask;
    flags = head & mask;
    if (!qemu_file_check(f, errp)) {
        return false;
    }
    if (flags != (RAM_FLAG_PAGE | RAM_FLAG_CONTINUE) &&
        !ram_pages_settle(errp)) {
        return false;
    }
    switch (flags & ~RAM_FLAG_CONTINUE) {
    case RAM_FLAG_MEM_SIZE:
        if (!(flags & RAM_FLAG_CONTINUE)) {
            return load_block_list(f, value, errp);
        }
        break;
    case RAM_FLAG_EOS:
        if (!(flags & RAM_FLAG_CONTINUE)) {
            *end = true;
            return true;
        }
        break;
    case RAM_FLAG_PAGE:
        b = page_block(f, value, flags, errp);
        return b && load_page(f, b->rb, value, errp);
    case RAM_FLAG_ZERO:
        b = page_block(f, value, flags, errp);
        return b && load_zero(f, b->rb, value, errp);
    case RAM_FLAG_XBZRLE:
        error_setg(errp, "an xbzrle page: not supported by this version");
        return false;
    case RAM_FLAG_FLUSH:
        error_setg(errp, "a multifd flush: not supported by this version");
        return false;
    default:
        break;
    }
    error_setg(errp,
               "RAM record with flags 0x%x: expected one of page (0x8), zero "
               "(0x2), end (0x10), block list (0x4)",
               flags);
    return false;
}

bool ram_load_state(QEMUFile *f, void *opaque, int version_id, Error **errp)
{
    ERRP_GUARD();
    bool end = false;

    if (version_id != RAM_SECTION_VERSION) {
        error_setg(errp, "version %d of the RAM section, expected %d",
                   version_id, RAM_SECTION_VERSION);
        return false;
    }
    while (!end) {
        uint64_t pos = qemu_file_position(f);

        if (!load_record(f, &end, errp)) {
            error_prepend(errp,
                          "record at offset %" PRIu64 " (0x%" PRIx64 "): ", pos,
                          pos);
            return false;
        }
    }
    return true;
}
