/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Own files: see include/system/own-files.h. */
#include "qemu/osdep.h"

#include <sys/stat.h>

#include "qemu/error.h"
#include "qemu/thread.h"
#include "qemu/write-guard.h"
#include "system/memory.h"
#include "system/own-files.h"
#include "system/ram-block.h"

typedef struct OwnFile {
    struct stat st;
    char *what;
    bool expected; /* until own_files_are_there() */
} OwnFile;

/* One process, one list. */
static struct {
    QemuMutex lock;
    GSList *files; /* OwnFile; guarded by lock */
} own = { .lock = { PTHREAD_MUTEX_INITIALIZER } };

static bool same_file(const struct stat *a, const struct stat *b)
{
    return (a->st_dev == b->st_dev && a->st_ino == b->st_ino) ||
           (S_ISBLK(a->st_mode) && S_ISBLK(b->st_mode) &&
            a->st_rdev == b->st_rdev);
}

static void add_file(const struct stat *st, const char *what, bool expected)
{
    OwnFile *f = g_new(OwnFile, 1);

    *f = (OwnFile){ *st, g_strdup(what), expected };
    own_files_guard();
    QEMU_LOCK_GUARD(&own.lock);
    own.files = g_slist_prepend(own.files, f);
}

void own_file_register(int fd, const char *what)
{
    struct stat st;

    /* Otherwise it is no file that somebody could name. */
    if (fstat(fd, &st) == 0) {
        add_file(&st, what, false);
    }
}

void own_file_expect(const char *path, const char *what)
{
    struct stat st;

    /* What is not there yet has nothing to lose; in a directory a file of
     * nobody else's is made. */
    if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode)) {
        add_file(&st, what, true);
    }
}

void own_files_are_there(void)
{
    GSList *next;

    QEMU_LOCK_GUARD(&own.lock);
    for (GSList *l = own.files; l; l = next) {
        OwnFile *f = l->data;

        next = l->next;
        if (f->expected) {
            own.files = g_slist_delete_link(own.files, l);
            g_free(f->what);
            g_free(f);
        }
    }
}

typedef struct Search {
    struct stat st;
    char *what; /* that it is; NULL: none */
} Search;

/* What no board uses yet has no name in a stream, but one of its own. */
static const char *block_name(RAMBlock *rb)
{
    const char *name = qemu_ram_get_idstr(rb);
    MemoryRegion *mr = qemu_ram_get_mr(rb);

    return !*name && mr ? memory_region_name(mr) : name;
}

static int compare_block(RAMBlock *rb, void *opaque)
{
    Search *s = opaque;
    const char *name = block_name(rb);
    struct stat st;
    int fd = qemu_ram_get_fd(rb);

    if (fd < 0 || fstat(fd, &st) < 0 || !same_file(&st, &s->st)) {
        return 0;
    }
    s->what = *name ? g_strdup_printf("what backs the memory '%s'", name)
                    : g_strdup("what backs memory");
    return 1;
}

static void compare_registered(Search *s)
{
    QEMU_LOCK_GUARD(&own.lock);
    for (GSList *l = own.files; l && !s->what; l = l->next) {
        const OwnFile *f = l->data;

        if (same_file(&f->st, &s->st)) {
            s->what = g_strdup(f->what);
        }
    }
}

static bool check(int fd, const char *name, Error **errp)
{
    Search s = { .what = NULL };

    if (fstat(fd, &s.st) < 0) {
        error_setg_errno(errp, errno, "'%s'", name);
        return false;
    }
    if (!qemu_ram_foreach_block(compare_block, &s)) {
        compare_registered(&s);
    }
    if (!s.what) {
        return true;
    }
    error_setg(errp, "'%s' is %s of this VM: it would be overwritten", name,
               s.what);
    g_free(s.what);
    return false;
}

void own_files_guard(void)
{
    qemu_set_write_guard(check);
}

bool own_file_adopt(int fd, const char *path, Error **errp)
{
    g_autofree char *writer = qemu_who_writes(fd);

    if (writer) {
        error_setg(errp, "'%s' is written to by this VM, as '%s'", path,
                   writer);
    }
    return !writer;
}
