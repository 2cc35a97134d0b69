/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory back ends: see include/system/hostmem.h. */
#include "qemu/osdep.h"

#include <sys/mman.h>

#include "qapi/qapi-types-qom.h"
#include "qemu/error.h"
#include "qemu/units.h"
#include "system/hostmem.h"

#include "ram-block-internal.h"

#define POPULATE_THREADS_MAX 8

MemoryRegion *host_memory_backend_get_memory(HostMemoryBackend *backend)
{
    return backend->has_mr ? &backend->mr : NULL;
}

bool host_memory_backend_is_mapped(HostMemoryBackend *backend)
{
    return backend->is_mapped;
}

static char *block_name(HostMemoryBackend *backend)
{
    return backend->use_canonical_path
               ? object_get_canonical_path(OBJECT(backend))
               : g_strdup(object_get_canonical_path_component(OBJECT(backend)));
}

void host_memory_backend_set_mapped(HostMemoryBackend *backend, bool mapped)
{
    g_autofree char *name = block_name(backend);

    assert(backend->has_mr);
    if (mapped && !backend->is_mapped) {
        memory_region_register_ram(&backend->mr, name, &error_abort);
    }
    if (!mapped && backend->is_mapped) {
        qemu_ram_unset_idstr(backend->mr.ram_block);
        qemu_ram_set_migratable(backend->mr.ram_block, false);
    }
    backend->is_mapped = mapped;
}

static void advise(HostMemoryBackend *backend)
{
    qemu_ram_set_mergeable(backend->mr.ram_block, backend->merge);
    qemu_ram_set_dumpable(backend->mr.ram_block, backend->dump);
}

static bool backend_complete(UserCreatable *uc, Error **errp)
{
    HostMemoryBackend *backend = MEMORY_BACKEND(uc);
    HostMemoryBackendClass *bc = MEMORY_BACKEND_GET_CLASS(backend);
    const char *id = object_get_canonical_path_component(OBJECT(uc));
    uint32_t flags = (backend->share ? RAM_SHARED : 0) |
                     (backend->reserve ? 0 : RAM_NORESERVE);
    unsigned threads = MIN(g_get_num_processors(), POPULATE_THREADS_MAX);

    if (backend->size == 0) {
        error_setg(errp, "%s needs a size that is not 0",
                   object_get_typename(OBJECT(uc)));
        return false;
    }
    if (backend->prealloc && !backend->reserve) {
        error_setg(errp, "prealloc=on and reserve=off exclude each other");
        return false;
    }
    if (!bc->alloc(backend, id ? id : object_get_typename(OBJECT(uc)), flags,
                   errp)) {
        return false;
    }
    backend->has_mr = true;
    advise(backend);
    return !backend->prealloc ||
           ram_block_populate(backend->mr.ram_block, threads, errp);
}

static bool backend_can_be_deleted(UserCreatable *uc)
{
    return !MEMORY_BACKEND(uc)->is_mapped && !qemu_ram_is_fixed();
}

static void backend_init(Object *obj)
{
    MEMORY_BACKEND(obj)->dump = qemu_ram_dump_default();
}

static void backend_finalize(Object *obj)
{
    HostMemoryBackend *backend = MEMORY_BACKEND(obj);

    if (backend->has_mr) {
        memory_region_destroy(&backend->mr);
    }
}

static void backend_class_init(ObjectClass *klass, const void *data)
{
    UserCreatableClass *ucc = USER_CREATABLE_CLASS(klass);

    ucc->complete = backend_complete;
    ucc->can_be_deleted = backend_can_be_deleted;
}

static const Property backend_props[] = {
    DEFINE_PROP_SIZE("size", HostMemoryBackend, size, 0),
    /* As -machine dump-guest-core= has it: backend_init(). */
    DEFINE_PROP_BOOL("dump", HostMemoryBackend, dump, false),
    DEFINE_PROP_BOOL("merge", HostMemoryBackend, merge, true),
    DEFINE_PROP_BOOL("prealloc", HostMemoryBackend, prealloc, false),
    DEFINE_PROP_BOOL("share", HostMemoryBackend, share, false),
    DEFINE_PROP_BOOL("reserve", HostMemoryBackend, reserve, true),
    DEFINE_PROP_BOOL("x-use-canonical-path-for-ramblock-id", HostMemoryBackend,
                     use_canonical_path, false),
    DEFINE_PROP_END_OF_LIST(),
};

static const char *const backend_interfaces[] = { TYPE_USER_CREATABLE, NULL };

static const TypeInfo backend_info = {
    .name = TYPE_MEMORY_BACKEND,
    .instance_size = sizeof(HostMemoryBackend),
    .class_size = sizeof(HostMemoryBackendClass),
    .abstract = true,
    .instance_init = backend_init,
    .instance_finalize = backend_finalize,
    .class_init = backend_class_init,
    .props = backend_props,
    .interfaces = backend_interfaces,
};

/* --- memory-backend-ram -------------------------------------------------------- */

static bool ram_alloc(HostMemoryBackend *backend, const char *name,
                      uint32_t ram_flags, Error **errp)
{
    return memory_region_init_ram_flags_nomigrate(
        &backend->mr, OBJECT(backend), name, backend->size, ram_flags, errp);
}

static void ram_class_init(ObjectClass *klass, const void *data)
{
    MEMORY_BACKEND_CLASS(klass)->alloc = ram_alloc;
}

static const TypeInfo ram_info = {
    .name = TYPE_MEMORY_BACKEND_RAM,
    .parent = TYPE_MEMORY_BACKEND,
    .class_init = ram_class_init,
};

/* --- memory-backend-file ------------------------------------------------------- */

OBJECT_DECLARE_SIMPLE_TYPE(HostMemoryBackendFile, MEMORY_BACKEND_FILE)

struct HostMemoryBackendFile {
    HostMemoryBackend parent_obj;
    char *mem_path;
    uint64_t align, offset;
    bool discard_data, readonly;
};

static bool file_alloc(HostMemoryBackend *backend, const char *name,
                       uint32_t ram_flags, Error **errp)
{
    HostMemoryBackendFile *fb = MEMORY_BACKEND_FILE(backend);

    if (!fb->mem_path) {
        error_setg(errp, "Parameter 'mem-path' is missing");
        return false;
    }
    if (fb->align && !is_power_of_2(fb->align)) {
        error_setg(errp, "align of 0x%" PRIx64 " is not a power of two",
                   fb->align);
        return false;
    }
    if (fb->readonly && backend->prealloc) {
        error_setg(errp, "prealloc=on has no use with readonly=on");
        return false;
    }
    if (fb->readonly) {
        ram_flags |= RAM_READONLY | RAM_READONLY_FD;
    }
    return memory_region_init_ram_from_file(&backend->mr, OBJECT(backend), name,
                                            backend->size, fb->align, ram_flags,
                                            fb->mem_path, fb->offset, errp);
}

static void file_finalize(Object *obj)
{
    HostMemoryBackendFile *fb = MEMORY_BACKEND_FILE(obj);
    HostMemoryBackend *backend = MEMORY_BACKEND(obj);

    if (backend->has_mr && fb->discard_data && !fb->readonly) {
        RAMBlock *rb = backend->mr.ram_block;

        /* Spares the host writing back what nobody wants. */
        if (fallocate(
                qemu_ram_get_fd(rb), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                qemu_ram_get_fd_offset(rb), qemu_ram_get_max_length(rb)) < 0) {
            warn_report("cannot drop the content of '%s': %s", fb->mem_path,
                        strerror(errno));
        }
    }
}

static void file_class_init(ObjectClass *klass, const void *data)
{
    MEMORY_BACKEND_CLASS(klass)->alloc = file_alloc;
}

static const Property file_props[] = {
    DEFINE_PROP_STRING("mem-path", HostMemoryBackendFile, mem_path),
    DEFINE_PROP_SIZE("align", HostMemoryBackendFile, align, 0),
    DEFINE_PROP_SIZE("offset", HostMemoryBackendFile, offset, 0),
    DEFINE_PROP_BOOL("discard-data", HostMemoryBackendFile, discard_data,
                     false),
    DEFINE_PROP_BOOL("readonly", HostMemoryBackendFile, readonly, false),
    DEFINE_PROP_END_OF_LIST(),
};

static const TypeInfo file_info = {
    .name = TYPE_MEMORY_BACKEND_FILE,
    .parent = TYPE_MEMORY_BACKEND,
    .instance_size = sizeof(HostMemoryBackendFile),
    .instance_finalize = file_finalize,
    .class_init = file_class_init,
    .props = file_props,
};

/* --- memory-backend-memfd -------------------------------------------------------- */

OBJECT_DECLARE_SIMPLE_TYPE(HostMemoryBackendMemfd, MEMORY_BACKEND_MEMFD)

struct HostMemoryBackendMemfd {
    HostMemoryBackend parent_obj;
    bool hugetlb, seal;
    uint64_t hugetlbsize;
};

static bool memfd_alloc(HostMemoryBackend *backend, const char *name,
                        uint32_t ram_flags, Error **errp)
{
    HostMemoryBackendMemfd *mb = MEMORY_BACKEND_MEMFD(backend);
    int fd;

    if (mb->hugetlbsize && !mb->hugetlb) {
        error_setg(errp, "hugetlbsize needs hugetlb=on");
        return false;
    }
    if (mb->hugetlbsize && !is_power_of_2(mb->hugetlbsize)) {
        error_setg(errp, "hugetlbsize of 0x%" PRIx64 " is not a power of two",
                   mb->hugetlbsize);
        return false;
    }
    fd = ram_create_memfd(name, ROUND_UP(backend->size, DIRTY_PAGE_SIZE),
                          mb->hugetlb, mb->hugetlbsize, mb->seal, errp);
    if (fd < 0) {
        return false;
    }
    if (!memory_region_init_ram_from_fd(&backend->mr, OBJECT(backend), name,
                                        backend->size, ram_flags, fd, 0,
                                        errp)) {
        close(fd);
        return false;
    }
    return true;
}

static void memfd_init(Object *obj)
{
    MEMORY_BACKEND(obj)->share = true;
}

static void memfd_class_init(ObjectClass *klass, const void *data)
{
    MEMORY_BACKEND_CLASS(klass)->alloc = memfd_alloc;
}

static const Property memfd_props[] = {
    DEFINE_PROP_BOOL("hugetlb", HostMemoryBackendMemfd, hugetlb, false),
    DEFINE_PROP_SIZE("hugetlbsize", HostMemoryBackendMemfd, hugetlbsize, 0),
    DEFINE_PROP_BOOL("seal", HostMemoryBackendMemfd, seal, true),
    DEFINE_PROP_END_OF_LIST(),
};

static const TypeInfo memfd_info = {
    .name = TYPE_MEMORY_BACKEND_MEMFD,
    .parent = TYPE_MEMORY_BACKEND,
    .instance_size = sizeof(HostMemoryBackendMemfd),
    .instance_init = memfd_init,
    .class_init = memfd_class_init,
    .props = memfd_props,
};

void hostmem_register_types(void)
{
    type_register_static(&backend_info);
    type_register_static(&ram_info);
    type_register_static(&file_info);
    type_register_static(&memfd_info);
}
