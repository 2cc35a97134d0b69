/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands that look at guest memory: QMP and HMP. */
#include "qemu/osdep.h"

#include <json-c/json.h>

#include "qapi/qapi-commands-machine.h"
#include "qemu/error.h"
#include "qemu/fd-store.h"
#include "qemu/monitor-sink.h"
#include "system/cpus.h"
#include "system/memory.h"
#include "system/monitor-cmds.h"

#define CHUNK 65536

/* --- reading as a CPU does ---------------------------------------------------- */

static AddressSpace *cpu_space(CPUState *cpu)
{
    return cpu && cpu->as ? cpu->as : &address_space_memory;
}

bool cpu_memory_read_debug(CPUState *cpu, vaddr addr, void *buf, size_t len)
{
    CPUClass *cc = CPU_GET_CLASS(cpu);
    uint8_t *p = buf;

    while (len > 0) {
        /* A mapping holds for the smallest page that any target has. */
        size_t piece = MIN(len, 1024 - addr % 1024);
        hwaddr phys = addr;

        if (cc->translate_debug && !cc->translate_debug(cpu, addr, &phys)) {
            return false;
        }
        if (address_space_read(cpu_space(cpu), phys, MEMTXATTRS_UNSPECIFIED, p,
                               piece) != MEMTX_OK) {
            return false;
        }
        addr += piece;
        p += piece;
        len -= piece;
    }
    return true;
}

/* --- memsave, pmemsave --------------------------------------------------------- */

/* Whoever may read the guest's memory shall: nobody else. */
static int create_file(const char *filename, Error **errp)
{
    return qemu_create(filename, O_WRONLY | O_TRUNC, 0600, errp);
}

/* @cpu NULL: physical addresses, and what is not there reads as zero. */
static void save_memory(CPUState *cpu, uint64_t addr, uint64_t size,
                        const char *filename, Error **errp)
{
    g_autofree uint8_t *buf = g_malloc(CHUNK);
    uint64_t pos = 0;
    int fd = create_file(filename, errp);

    if (fd < 0) {
        return;
    }
    while (pos < size) {
        size_t len = MIN(CHUNK, size - pos);

        if (!cpu) {
            cpu_physical_memory_read(addr + pos, buf, len);
        } else if (!cpu_memory_read_debug(cpu, addr + pos, buf, len)) {
            error_setg(errp,
                       "Invalid addr 0x%016" PRIx64 "/size %" PRIu64
                       " specified",
                       addr, size);
            break;
        }
        if (!qemu_write_all(fd, buf, len, filename, errp)) {
            break;
        }
        pos += len;
    }
    qemu_close(fd);
}

void qmp_memsave(uint64_t val, uint64_t size, const char *filename,
                 bool has_cpu_index, int64_t cpu_index, Error **errp)
{
    CPUState *cpu = has_cpu_index && cpu_index != (int)cpu_index
                        ? NULL
                        : qemu_get_cpu(has_cpu_index ? cpu_index : 0);

    if (!cpu) {
        error_setg(errp, "Parameter 'cpu-index' expects a CPU number");
        return;
    }
    save_memory(cpu, val, size, filename, errp);
}

void qmp_pmemsave(uint64_t val, uint64_t size, const char *filename,
                  Error **errp)
{
    save_memory(NULL, val, size, filename, errp);
}

static int64_t arg_int(json_object *args, const char *name)
{
    return json_object_get_int64(json_object_object_get(args, name));
}

static const char *arg_str(json_object *args, const char *name)
{
    return json_object_get_string(json_object_object_get(args, name));
}

static void hmp_memsave(Monitor *mon, json_object *args)
{
    Error *err = NULL;

    qmp_memsave(arg_int(args, "val"), arg_int(args, "size"),
                arg_str(args, "filename"), false, 0, &err);
    hmp_handle_error(mon, err);
}

static void hmp_pmemsave(Monitor *mon, json_object *args)
{
    Error *err = NULL;

    qmp_pmemsave(arg_int(args, "val"), arg_int(args, "size"),
                 arg_str(args, "filename"), &err);
    hmp_handle_error(mon, err);
}

/* --- x, xp ------------------------------------------------------------------- */

static void print_char(GString *out, unsigned char c)
{
    switch (c) {
    case '\'':
        g_string_append(out, "'\\''");
        break;
    case '\\':
        g_string_append(out, "'\\\\'");
        break;
    case '\n':
        g_string_append(out, "'\\n'");
        break;
    case '\r':
        g_string_append(out, "'\\r'");
        break;
    default:
        if (g_ascii_isprint(c)) {
            g_string_append_printf(out, "'%c'", c);
        } else {
            g_string_append_printf(out, "'\\x%02x'", c);
        }
    }
}

static void print_value(GString *out, char format, unsigned size,
                        const uint8_t *p)
{
    unsigned bits = size * 8;
    uint64_t v = 0;

    memcpy(&v, p, size);
    v = GUINT64_FROM_LE(v);
    g_string_append_c(out, ' ');
    switch (format) {
    case 'o':
        g_string_append_printf(out, "0%*" PRIo64, DIV_ROUND_UP(bits, 3), v);
        break;
    case 'x':
        g_string_append_printf(out, "0x%0*" PRIx64, bits / 4, v);
        break;
    case 'u':
        g_string_append_printf(out, "%*" PRIu64, DIV_ROUND_UP(bits * 10, 33),
                               v);
        break;
    case 'd':
        g_string_append_printf(out, "%*" PRId64, DIV_ROUND_UP(bits * 10, 33),
                               (int64_t)(v << (64 - bits)) >> (64 - bits));
        break;
    case 'c':
        print_char(out, v);
        break;
    }
}

/* @cpu NULL: physical. */
static void dump_memory(Monitor *mon, CPUState *cpu, json_object *args)
{
    uint64_t addr = arg_int(args, "addr");
    int64_t count = arg_int(args, "count");
    char format = arg_int(args, "format");
    unsigned size = arg_int(args, "size");
    unsigned per_line = (size == 1 ? 8 : 16) / size;
    g_autoptr(GString) out = g_string_new(NULL);
    uint8_t buf[16];

    if (format == 'i' || format == 's') {
        monitor_printf(mon, "Format '%c' is not available: there is no %s\n",
                       format, format == 'i' ? "disassembler" : "such format");
        return;
    }
    while (count > 0) {
        unsigned n = MIN(count, per_line);
        bool ok = cpu ? cpu_memory_read_debug(cpu, addr, buf, n * size)
                      : address_space_read(&address_space_memory, addr,
                                           MEMTXATTRS_UNSPECIFIED, buf,
                                           n * size) == MEMTX_OK;

        g_string_printf(out, "%08" PRIx64 ":", addr);
        if (!ok) {
            monitor_printf(mon, "%s Cannot access memory\n", out->str);
            return;
        }
        for (unsigned i = 0; i < n; i++) {
            print_value(out, format, size, buf + i * size);
        }
        monitor_printf(mon, "%s\n", out->str);
        addr += n * size;
        count -= n;
    }
}

static void hmp_x(Monitor *mon, json_object *args)
{
    if (!first_cpu()) {
        monitor_puts(mon, "Can not dump without CPU\n");
        return;
    }
    dump_memory(mon, first_cpu(), args);
}

static void hmp_xp(Monitor *mon, json_object *args)
{
    dump_memory(mon, NULL, args);
}

/* --- info ---------------------------------------------------------------------- */

static bool arg_flag(json_object *args, const char *name)
{
    return json_object_get_boolean(json_object_object_get(args, name));
}

static void hmp_info_mtree(Monitor *mon, json_object *args)
{
    mtree_info(mon, arg_flag(args, "flatview"), arg_flag(args, "owner"),
               arg_flag(args, "disabled"));
}

static void hmp_info_ramblock(Monitor *mon, json_object *args)
{
    ram_block_info(mon);
}

const HMPCommand hmp_memory_commands[] = {
    { .name = "x",
      .args_type = "fmt:/,addr:l",
      .params = "/fmt addr",
      .help = "show guest memory at virtual address 'addr'",
      .cmd = hmp_x },
    { .name = "xp",
      .args_type = "fmt:/,addr:l",
      .params = "/fmt addr",
      .help = "show guest memory at physical address 'addr'",
      .cmd = hmp_xp },
    { .name = "memsave",
      .args_type = "val:l,size:l,filename:F",
      .params = "addr size file",
      .help = "save virtual memory from 'addr', 'size' bytes, to a file",
      .cmd = hmp_memsave },
    { .name = "pmemsave",
      .args_type = "val:l,size:l,filename:F",
      .params = "addr size file",
      .help = "save physical memory from 'addr', 'size' bytes, to a file",
      .cmd = hmp_pmemsave },
    { .name = NULL },
};

const HMPCommand hmp_memory_info_commands[] = {
    { .name = "mtree",
      .args_type = "flatview:-f,owner:-o,disabled:-D",
      .params = "[-f][-o][-D]",
      .help = "show the tree of memory (-f: what is visible where; -o: with "
              "owners; -D: also what is disabled)",
      .cmd = hmp_info_mtree },
    { .name = "ramblock",
      .args_type = "",
      .params = "",
      .help = "show the blocks of guest RAM",
      .cmd = hmp_info_ramblock },
    { .name = NULL },
};
