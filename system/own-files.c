/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Own files: see include/system/own-files.h. */
#include "qemu/osdep.h"

#include <sys/stat.h>

#include "qemu/error.h"
#include "qemu/thread.h"
#include "system/own-files.h"
#include "system/ram-block.h"

typedef struct OwnFile {
    struct stat st;
    char *what;
} OwnFile;

/* One process, one list; only added to. */
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

void own_file_register(int fd, const char *what)
{
    struct stat st;
    OwnFile *f;

    if (fstat(fd, &st) < 0) {
        return; /* no file that somebody could name */
    }
    f = g_new(OwnFile, 1);
    *f = (OwnFile){ st, g_strdup(what) };
    QEMU_LOCK_GUARD(&own.lock);
    own.files = g_slist_prepend(own.files, f);
}

typedef struct Search {
    struct stat st;
    char *what; /* that it is; NULL: none */
} Search;

static int compare_block(RAMBlock *rb, void *opaque)
{
    Search *s = opaque;
    const char *name = qemu_ram_get_idstr(rb);
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

bool own_file_check(int fd, const char *name, Error **errp)
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
