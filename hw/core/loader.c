/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loader: files and blobs; see loader.h.
 */
#include "qemu/osdep.h"

#include <gio/gio.h>

#include "hw/loader.h"
#include "qemu/error.h"
#include "system/memory.h"
#include "system/reset.h"
#include "trace-hw.h"

typedef struct Rom {
    char *name;
    void *data;
    uint64_t len;  /* bytes of data */
    uint64_t size; /* bytes of guest memory; zeros after the data */
    hwaddr addr;
} Rom;

/* One list per process, as there is one machine. Main thread. */
static struct {
    GSList *list;
    bool registered; /* the reset handler */
    bool spare;      /* guarded by the BQL */
} roms;

static void rom_reset(void *opaque)
{
    if (roms.spare || qemu_reset_must_spare_ram()) {
        return;
    }
    for (GSList *l = roms.list; l; l = l->next) {
        const Rom *rom = l->data;

        trace_loader_write_rom(rom->name, rom->addr, rom->size);
        address_space_write_rom(&address_space_memory, rom->addr,
                                MEMTXATTRS_UNSPECIFIED, rom->data, rom->len);
        if (rom->size > rom->len) {
            address_space_set(&address_space_memory, rom->addr + rom->len, 0,
                              rom->size - rom->len, MEMTXATTRS_UNSPECIFIED);
        }
    }
}

void rom_spare_memory(bool spare)
{
    roms.spare = spare;
}

static void rom_free(void *p)
{
    Rom *rom = p;

    g_free(rom->name);
    g_free(rom->data);
    g_free(rom);
}

void rom_clear(void)
{
    g_slist_free_full(g_steal_pointer(&roms.list), rom_free);
}

static bool inside(const LoaderRam *ram, hwaddr addr, uint64_t size)
{
    return addr >= ram->base && addr - ram->base <= ram->size &&
           size <= ram->size - (addr - ram->base);
}

bool rom_add_blob(const char *name, void *data, uint64_t len, uint64_t size,
                  hwaddr addr, const LoaderRam *ram, Error **errp)
{
    g_autofree void *owned = data;
    Rom *rom;

    assert(size >= len);
    if (!inside(ram, addr, size)) {
        error_setg(errp,
                   "%s (0x%" PRIx64 " bytes at 0x%" PRIx64
                   ") does not fit in RAM (0x%" PRIx64 " bytes at 0x%" PRIx64
                   ")",
                   name, size, addr, ram->size, ram->base);
        return false;
    }
    for (GSList *l = roms.list; l; l = l->next) {
        const Rom *r = l->data;

        if (addr < r->addr + r->size && r->addr < addr + size) {
            error_setg(errp,
                       "%s (0x%" PRIx64 " bytes at 0x%" PRIx64
                       ") overlaps %s (0x%" PRIx64 " bytes at 0x%" PRIx64 ")",
                       name, size, addr, r->name, r->size, r->addr);
            return false;
        }
    }
    rom = g_new(Rom, 1);
    rom->name = g_strdup(name);
    rom->data = g_steal_pointer(&owned);
    rom->len = len;
    rom->size = size;
    rom->addr = addr;
    roms.list = g_slist_append(roms.list, rom);
    if (!roms.registered) {
        roms.registered = true;
        qemu_register_reset(rom_reset, NULL);
    }
    return true;
}

void *loader_read_file(const char *filename, uint64_t max_bytes, uint64_t *len,
                       Error **errp)
{
    g_autoptr(GByteArray) all = g_byte_array_new();
    const size_t chunk = 1 << 20;
    int fd = open(filename, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0) {
        error_setg_errno(errp, errno, "could not open '%s'", filename);
        return NULL;
    }
    do {
        guint have = all->len;

        g_byte_array_set_size(all, have + chunk);
        do {
            n = read(fd, all->data + have, chunk);
        } while (n < 0 && errno == EINTR);
        g_byte_array_set_size(all, have + MAX(n, 0));
        if (n < 0) {
            error_setg_errno(errp, errno, "could not read '%s'", filename);
        } else if (all->len > max_bytes || all->len > G_MAXUINT - chunk) {
            error_setg(errp, "'%s' is longer than 0x%" PRIx64 " bytes",
                       filename, MIN(max_bytes, (uint64_t)G_MAXUINT - chunk));
            n = -1;
        }
    } while (n > 0);
    close(fd);
    if (n == 0 && all->len == 0) {
        error_setg(errp, "'%s' is empty", filename);
        n = -1;
    }
    if (n < 0) {
        return NULL;
    }
    *len = all->len;
    return g_byte_array_free(g_steal_pointer(&all), FALSE);
}

bool loader_is_gzip(const void *data, uint64_t len)
{
    static const uint8_t magic[3] = { 0x1f, 0x8b, 8 };

    return len > 18 && memcmp(data, magic, sizeof(magic)) == 0;
}

void *loader_gunzip(const void *data, uint64_t len, uint64_t max_bytes,
                    uint64_t *out_len, Error **errp)
{
    g_autoptr(GZlibDecompressor)
        z = g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP);
    g_autoptr(GByteArray) out = g_byte_array_new();
    g_autoptr(GError) err = NULL;
    const guint chunk = 4 << 20;
    uint64_t pos = 0;

    for (;;) {
        guint have = out->len;
        gsize used, made;
        GConverterResult res;

        if (have > max_bytes || have > G_MAXUINT - chunk) {
            error_setg(errp,
                       "uncompressed it is longer than 0x%" PRIx64 " bytes",
                       max_bytes);
            return NULL;
        }
        g_byte_array_set_size(out, have + chunk);
        res = g_converter_convert(G_CONVERTER(z), (const char *)data + pos,
                                  len - pos, out->data + have, chunk,
                                  G_CONVERTER_INPUT_AT_END, &used, &made, &err);
        if (res == G_CONVERTER_ERROR) {
            error_setg(errp, "bad gzip data: %s", err->message);
            return NULL;
        }
        pos += used;
        g_byte_array_set_size(out, have + made);
        if (res == G_CONVERTER_FINISHED) {
            break;
        }
    }
    *out_len = out->len;
    return g_byte_array_free(g_steal_pointer(&out), FALSE);
}
