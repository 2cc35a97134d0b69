/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests of include/system/hostmem.h, per promise. */
#include "qemu/osdep.h"

#include <glib/gstdio.h>
#include <sys/mman.h>

#include "qapi/json.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/units.h"
#include "system/hostmem.h"

/* @json: with ' for " */
static HostMemoryBackend *add(const char *json, Error **errp)
{
    g_autofree char *text = g_strdelimit(g_strdup(json), "'", '"');
    json_object *options = qobject_from_json(text, &error_abort);
    Object *obj = user_creatable_add(options, false, errp);

    json_object_put(options);
    return obj ? MEMORY_BACKEND(obj) : NULL;
}

static void expect_refused(const char *json, const char *part)
{
    uint64_t total = qemu_ram_bytes_total();
    Error *err = NULL;

    g_assert_null(add(json, &err));
    if (!strstr(error_get_pretty(err), part)) {
        g_error("'%s' does not say '%s'", error_get_pretty(err), part);
    }
    error_free_or_abort(&err);
    /* Nothing is left. */
    g_assert_cmpuint(qemu_ram_bytes_total(), ==, total);
    g_assert_null(
        object_resolve_path_component(object_get_objects_root(), "m"));
}

static RAMBlock *block(HostMemoryBackend *backend)
{
    return host_memory_backend_get_memory(backend)->ram_block;
}

static void test_ram(void)
{
    HostMemoryBackend *m = add("{'qom-type':'memory-backend-ram','id':'m',"
                               "'size':4194304,'reserve':false,'merge':false}",
                               &error_abort);

    g_assert_cmpuint(memory_region_size(host_memory_backend_get_memory(m)), ==,
                     4 * MiB);
    g_assert_false(qemu_ram_is_shared(block(m)));
    g_assert_true(qemu_ram_is_noreserve(block(m)));
    g_assert_false(qemu_ram_is_mergeable(block(m)));
    g_assert_false(qemu_ram_is_dumpable(block(m)));
    g_assert_cmpint(qemu_ram_get_fd(block(m)), ==, -1);
    g_assert_true(user_creatable_del("m", &error_abort));

    m = add("{'qom-type':'memory-backend-ram','id':'m','size':1048576,"
            "'share':true,'prealloc':true}",
            &error_abort);
    g_assert_true(qemu_ram_is_shared(block(m)));
    g_assert_cmpint(qemu_ram_get_fd(block(m)), >=, 0);
    g_assert_true(qemu_ram_is_populated_at_start(block(m)));
    g_assert_true(user_creatable_del("m", &error_abort));
    g_assert_cmpuint(qemu_ram_bytes_total(), ==, 0);
}

/* Mapping names the block; a mapped back end stays. */
static void test_mapping(void)
{
    HostMemoryBackend *m = add("{'qom-type':'memory-backend-ram','id':'m',"
                               "'size':1048576}",
                               &error_abort);
    HostMemoryBackend *p = add("{'qom-type':'memory-backend-ram','id':'p',"
                               "'size':1048576,"
                               "'x-use-canonical-path-for-ramblock-id':true}",
                               &error_abort);
    Error *err = NULL;

    g_assert_cmpstr(qemu_ram_get_idstr(block(m)), ==, "");
    g_assert_false(qemu_ram_is_migratable(block(m)));
    host_memory_backend_set_mapped(m, true);
    host_memory_backend_set_mapped(p, true);
    g_assert_cmpstr(qemu_ram_get_idstr(block(m)), ==, "m");
    g_assert_cmpstr(qemu_ram_get_idstr(block(p)), ==, "/objects/p");
    g_assert_true(qemu_ram_is_migratable(block(m)));
    g_assert_false(user_creatable_del("m", &err));
    error_free_or_abort(&err);
    host_memory_backend_set_mapped(m, false);
    host_memory_backend_set_mapped(p, false);
    g_assert_cmpstr(qemu_ram_get_idstr(block(m)), ==, "");
    g_assert_true(user_creatable_del("m", &error_abort));
    g_assert_true(user_creatable_del("p", &error_abort));
}

/* Deleted while a view still shows it: the memory stays until the view goes. */
static void test_view_holds_backend(void)
{
    HostMemoryBackend *m = add("{'qom-type':'memory-backend-ram','id':'m',"
                               "'size':1048576}",
                               &error_abort);
    MemoryRegion *mr = host_memory_backend_get_memory(m);
    MemoryTranslation t;
    FlatView *view;

    memory_region_add_subregion(get_system_memory(), 0, mr);
    view = address_space_get_flatview(&address_space_memory);
    memory_region_del_subregion(get_system_memory(), mr);
    g_assert_true(user_creatable_del("m", &error_abort));
    g_assert_cmpuint(qemu_ram_bytes_total(), ==, MiB);
    g_assert_true(flatview_translate(view, 16, &t));
    memset(t.host, 1, 16);
    flatview_unref(view);
    g_assert_cmpuint(qemu_ram_bytes_total(), ==, 0);
}

static void test_file(void)
{
    g_autofree char *dir = g_dir_make_tmp("hostmem-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(dir, "mem", NULL);
    g_autofree char *json = g_strdup_printf(
        "{'qom-type':'memory-backend-file','id':'m','size':"
        "1048576,'mem-path':'%s','share':true,'align':"
        "16777216,'offset':4096,'discard-data':true}",
        path);
    g_autofree char *readonly = g_strdup_printf(
        "{'qom-type':'memory-backend-file','id':'m','size':"
        "1048576,'mem-path':'%s','readonly':true}",
        path);
    HostMemoryBackend *m = add(json, &error_abort);
    g_autofree char *content = NULL;
    uint8_t *host = qemu_ram_get_host_addr(block(m));
    gsize length;

    g_assert_cmpuint((uintptr_t)host % (16 * MiB), ==, 0);
    host[0] = 0x77;
    g_assert_true(g_file_get_contents(path, &content, &length, NULL));
    g_assert_cmpuint(length, ==, MiB + 4096);
    g_assert_cmpint(content[4096], ==, 0x77);
    g_assert_true(user_creatable_del("m", &error_abort));
    g_clear_pointer(&content, g_free);
    g_assert_true(g_file_get_contents(path, &content, &length, NULL));
    g_assert_cmpint(content[4096], ==, 0); /* discard-data */

    g_chmod(path, 0400);
    m = add(readonly, &error_abort);
    g_assert_true(qemu_ram_is_readonly(block(m)));
    g_assert_true(memory_region_is_rom(host_memory_backend_get_memory(m)));
    g_assert_true(user_creatable_del("m", &error_abort));
    g_unlink(path);
    g_rmdir(dir);
}

static void test_memfd(void)
{
    HostMemoryBackend *m = add("{'qom-type':'memory-backend-memfd','id':'m',"
                               "'size':1048576}",
                               &error_abort);
    int fd = qemu_ram_get_fd(block(m));

    g_assert_true(qemu_ram_is_shared(block(m)));
    g_assert_cmpint(ftruncate(fd, 4096), ==, -1); /* sealed */
    g_assert_true(user_creatable_del("m", &error_abort));

    m = add("{'qom-type':'memory-backend-memfd','id':'m','size':1048576,"
            "'seal':false,'share':false}",
            &error_abort);
    g_assert_false(qemu_ram_is_shared(block(m)));
    g_assert_cmpint(ftruncate(qemu_ram_get_fd(block(m)), 2 * MiB), ==, 0);
    g_assert_true(user_creatable_del("m", &error_abort));
}

/* Huge pages: works, or says why not; never a SIGBUS. */
static void test_hugetlb(void)
{
    Error *err = NULL;
    HostMemoryBackend *m = add("{'qom-type':'memory-backend-memfd','id':'m',"
                               "'size':4194304,'hugetlb':true,'hugetlbsize':"
                               "2097152,'prealloc':true}",
                               &err);

    if (!m) {
        g_test_skip(error_get_pretty(err));
        error_free_or_abort(&err);
        return;
    }
    g_assert_cmpuint(qemu_ram_pagesize(block(m)), ==, 2 * MiB);
    memset(qemu_ram_get_host_addr(block(m)), 1, 4 * MiB);
    g_assert_true(
        ram_block_discard_range(block(m), 2 * MiB, 2 * MiB, &error_abort));
    g_assert_false(ram_block_discard_range(block(m), 0, 4096, &err));
    error_free_or_abort(&err);
    g_assert_true(user_creatable_del("m", &error_abort));
}

static void test_refusals(void)
{
    expect_refused("{'qom-type':'memory-backend-ram','id':'m'}", "size");
    expect_refused("{'qom-type':'memory-backend-file','id':'m','size':4096}",
                   "mem-path");
    expect_refused("{'qom-type':'memory-backend-file','id':'m','size':4096,"
                   "'mem-path':'/nonexistent/x'}",
                   "/nonexistent/x");
    expect_refused("{'qom-type':'memory-backend-file','id':'m','size':4096,"
                   "'mem-path':'/tmp','align':3}",
                   "power of two");
    expect_refused("{'qom-type':'memory-backend-memfd','id':'m','size':4096,"
                   "'hugetlbsize':2097152}",
                   "hugetlb=on");
    expect_refused("{'qom-type':'memory-backend-memfd','id':'m','size':4096,"
                   "'hugetlb':true}",
                   "4096 bytes long");
    expect_refused("{'qom-type':'memory-backend-ram','id':'m','size':4096,"
                   "'prealloc':true,'reserve':false}",
                   "reserve=off");
    /* 1 PiB: the address space is not there, or the memory. */
    expect_refused("{'qom-type':'memory-backend-ram','id':'m',"
                   "'size':1125899906842624}",
                   "RAM block 'm'");
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qom_register_types();
    hostmem_register_types();
    main_loop_init();
    get_system_memory();
    g_test_add_func("/hostmem/ram", test_ram);
    g_test_add_func("/hostmem/mapping", test_mapping);
    g_test_add_func("/hostmem/view-holds-backend", test_view_holds_backend);
    g_test_add_func("/hostmem/file", test_file);
    g_test_add_func("/hostmem/memfd", test_memfd);
    g_test_add_func("/hostmem/hugetlb", test_hugetlb);
    g_test_add_func("/hostmem/refusals", test_refusals);
    return g_test_run();
}
