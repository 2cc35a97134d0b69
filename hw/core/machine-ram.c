/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a machine's main RAM comes from, and a hint about all its RAM. */
#include "qemu/osdep.h"

#include <sys/mman.h>

#include "hw/boards.h"
#include "machine-internal.h"
#include "qemu/error.h"
#include "system/hostmem.h"
#include "system/memory.h"

static bool ram_from_backend(MachineState *ms, Error **errp)
{
    const char *id = ms->memory_backend_id;
    Object *obj = object_resolve_path_component(object_get_objects_root(), id);
    HostMemoryBackend *backend;
    uint64_t size;

    if (!obj || !object_dynamic_cast(obj, TYPE_MEMORY_BACKEND)) {
        error_setg(errp, "Memory backend '%s' not found", id);
        return false;
    }
    backend = MEMORY_BACKEND(obj);
    if (host_memory_backend_is_mapped(backend)) {
        error_setg(errp, "memory backend %s can't be used multiple times.", id);
        return false;
    }
    ms->ram = host_memory_backend_get_memory(backend);
    size = memory_region_size(ms->ram);
    if (ms->ram_size_given && ms->ram_size_bytes != size) {
        error_setg(errp,
                   "Size specified by -m option (%" PRIu64
                   ") must match size of explicitly specified "
                   "'memory-backend' property (%" PRIu64 ")",
                   ms->ram_size_bytes, size);
        return false;
    }
    host_memory_backend_set_mapped(backend, true);
    ms->ram_size_bytes = size;
    return true;
}

static bool ram_of_our_own(MachineState *ms, Error **errp)
{
    MachineClass *mc = MACHINE_GET_CLASS(ms);

    if (!ms->ram_size_bytes) {
        return true;
    }
    if (!mc->default_ram_id) {
        error_setg(errp, "Machine '%s' takes no RAM", mc->name);
        return false;
    }
    ms->ram = g_new0(MemoryRegion, 1);
    return memory_region_init_ram(ms->ram, OBJECT(ms), mc->default_ram_id,
                                  ms->ram_size_bytes, errp);
}

static int advise_block(RAMBlock *rb, void *opaque)
{
    MachineState *ms = opaque;
    void *host = qemu_ram_get_host_addr(rb);
    size_t size = qemu_ram_get_max_length(rb);

    /* A hint: a kernel without KSM refuses it, which is no error. */
    if (ms->mem_merge) {
        madvise(host, size, MADV_MERGEABLE);
    }
    return 0;
}

static bool check_ram_size(MachineState *ms, Error **errp)
{
    MachineClass *mc = MACHINE_GET_CLASS(ms);

    if (mc->max_ram_size_bytes && ms->ram_size_bytes > mc->max_ram_size_bytes) {
        error_setg(errp,
                   "RAM of %" PRIu64 " MiB is too much for machine '%s': it "
                   "takes up to %" PRIu64 " MiB",
                   ms->ram_size_bytes >> 20, mc->name,
                   mc->max_ram_size_bytes >> 20);
        return false;
    }
    return true;
}

bool machine_provide_ram(MachineState *ms, Error **errp)
{
    bool ok = ms->memory_backend_id ? ram_from_backend(ms, errp)
                                    : ram_of_our_own(ms, errp);

    return ok && check_ram_size(ms, errp);
}

void machine_advise_ram(MachineState *ms)
{
    qemu_ram_foreach_block(advise_block, ms);
}
