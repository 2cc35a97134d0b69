/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Write guard: see include/qemu/write-guard.h. */
#include "qemu/osdep.h"

#include <sys/stat.h>

#include "qemu/error.h"
#include "qemu/thread.h"
#include "qemu/write-guard.h"

/* Nobody tells when a descriptor is closed: an entry counts as long as its
 * number still is that file. */
typedef struct Output {
    int fd;
    dev_t dev;
    ino_t ino;
    char *path;
} Output;

/* One process, one guard. */
static struct {
    _Atomic(QemuWriteGuard *) guard; /* NULL: everything may be written */
    QemuMutex lock;
    GSList *outputs; /* Output; guarded by lock */
} writes = { .lock = { PTHREAD_MUTEX_INITIALIZER } };

void qemu_set_write_guard(QemuWriteGuard *guard)
{
    atomic_store(&writes.guard, guard);
}

static bool output_is_open(const Output *o)
{
    struct stat st;

    return fstat(o->fd, &st) == 0 && st.st_dev == o->dev && st.st_ino == o->ino;
}

static void output_free(Output *o)
{
    g_free(o->path);
    g_free(o);
}

static void drop_closed_locked(void) TSA_REQUIRES(writes.lock)
{
    GSList *next;

    for (GSList *l = writes.outputs; l; l = next) {
        next = l->next;
        if (!output_is_open(l->data)) {
            output_free(l->data);
            writes.outputs = g_slist_delete_link(writes.outputs, l);
        }
    }
}

static void remember(int fd, const struct stat *st, const char *path)
{
    Output *o = g_new(Output, 1);

    *o = (Output){ fd, st->st_dev, st->st_ino, g_strdup(path) };
    QEMU_LOCK_GUARD(&writes.lock);
    drop_closed_locked();
    writes.outputs = g_slist_prepend(writes.outputs, o);
}

bool qemu_begin_write(int fd, const char *path, bool truncate, Error **errp)
{
    QemuWriteGuard *guard = atomic_load(&writes.guard);
    struct stat st;

    if (guard && !guard(fd, path, errp)) {
        errno = EBUSY;
        return false;
    }
    if (fstat(fd, &st) < 0) {
        error_setg_errno(errp, errno, "'%s'", path);
        return false;
    }
    if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode)) {
        return true;
    }
    if (truncate && S_ISREG(st.st_mode) && ftruncate(fd, 0) < 0) {
        error_setg_errno(errp, errno, "Could not empty '%s'", path);
        return false;
    }
    remember(fd, &st, path);
    return true;
}

char *qemu_who_writes(int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0) {
        return NULL;
    }
    QEMU_LOCK_GUARD(&writes.lock);
    for (GSList *l = writes.outputs; l; l = l->next) {
        const Output *o = l->data;

        if (o->fd != fd && o->dev == st.st_dev && o->ino == st.st_ino &&
            output_is_open(o)) {
            return g_strdup(o->path);
        }
    }
    return NULL;
}
