/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory back ends: guest RAM that the user describes as an object.
 *
 *   memory-backend-ram    anonymous memory (share=on: a memfd)
 *   memory-backend-file   a file, or a nameless one in a directory
 *   memory-backend-memfd  an anonymous file, huge pages on demand
 *
 * A back end allocates when it is completed; a machine then maps its region,
 * which makes the block migratable under the back end's id (or path, see
 * x-use-canonical-path-for-ramblock-id). It can be deleted while not mapped.
 *
 * Threads: BQL. Used by: hw/core (machines). Uses: memory.h, qom.
 */
#ifndef SYSTEM_HOSTMEM_H
#define SYSTEM_HOSTMEM_H

#include "qom/user-creatable.h"
#include "system/memory.h"

#define TYPE_MEMORY_BACKEND       "memory-backend"
#define TYPE_MEMORY_BACKEND_RAM   "memory-backend-ram"
#define TYPE_MEMORY_BACKEND_FILE  "memory-backend-file"
#define TYPE_MEMORY_BACKEND_MEMFD "memory-backend-memfd"

typedef struct HostMemoryBackendClass {
    ObjectClass parent_class;

    /* Required. Initialize backend->mr by memory_region_init_ram*(). */
    bool (*alloc)(HostMemoryBackend *backend, const char *name,
                  uint32_t ram_flags, Error **errp);
} HostMemoryBackendClass;

struct HostMemoryBackend {
    Object parent_obj;

    /* Properties. */
    uint64_t size;
    bool dump, merge, prealloc, share, reserve;
    bool use_canonical_path;

    /* State. */
    bool is_mapped;
    bool has_mr; /* mr is initialized */
    MemoryRegion mr;
};

OBJECT_DECLARE_TYPE(HostMemoryBackend, HostMemoryBackendClass, MEMORY_BACKEND)

/* The region; NULL before the back end is complete. */
MemoryRegion *host_memory_backend_get_memory(HostMemoryBackend *backend);
bool host_memory_backend_is_mapped(HostMemoryBackend *backend);

/**
 * host_memory_backend_set_mapped: a machine maps the memory, or stops to
 *
 * Mapping gives the block its name on the wire; aborts if that is taken,
 * which two back ends of different ids are not.
 */
void host_memory_backend_set_mapped(HostMemoryBackend *backend, bool mapped);

void hostmem_register_types(void);

#endif /* SYSTEM_HOSTMEM_H */
