/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fd store: see include/qemu/fd-store.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/fd-store.h"
#include "qemu/thread.h"
#include "qemu/write-guard.h"

#define FDSET_PATH_PREFIX "/dev/fdset/"

typedef struct FdsetFd {
    int fd;
    char *opaque; /* may be NULL */
} FdsetFd;

typedef struct Fdset {
    int64_t id;
    GSList *fds;  /* of FdsetFd, in order of arrival */
    GSList *dups; /* of GINT_TO_POINTER(fd) given out */
} Fdset;

/* One per process, as descriptors are. All guarded by lock. */
static struct {
    QemuMutex lock;
    GHashTable *named; /* char * -> GINT_TO_POINTER(fd) */
    GList *sets;       /* of Fdset, ascending id */
    unsigned clients;
} store = { .lock = { PTHREAD_MUTEX_INITIALIZER } };

bool fd_store_put(const char *name, int fd, Error **errp)
{
    gpointer old;

    if (g_ascii_isdigit(name[0])) {
        close(fd);
        error_setg(errp, "Parameter 'fdname' expects a name not starting "
                         "with a digit");
        return false;
    }
    QEMU_LOCK_GUARD(&store.lock);
    if (!store.named) {
        store.named = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                            NULL);
    }
    if (g_hash_table_lookup_extended(store.named, name, NULL, &old)) {
        close(GPOINTER_TO_INT(old));
    }
    g_hash_table_insert(store.named, g_strdup(name), GINT_TO_POINTER(fd));
    return true;
}

static int take_named(const char *name)
{
    gpointer value;

    QEMU_LOCK_GUARD(&store.lock);
    if (!store.named ||
        !g_hash_table_lookup_extended(store.named, name, NULL, &value)) {
        return -1;
    }
    g_hash_table_remove(store.named, name);
    return GPOINTER_TO_INT(value);
}

int fd_store_take(const char *name, Error **errp)
{
    int fd = take_named(name);

    if (fd < 0) {
        error_setg(errp, "File descriptor named '%s' has not been found", name);
    }
    return fd;
}

bool fd_store_close(const char *name, Error **errp)
{
    int fd = take_named(name);

    if (fd < 0) {
        error_setg(errp, "File descriptor named '%s' not found", name);
        return false;
    }
    close(fd);
    return true;
}

void fd_store_foreach(void (*fn)(void *opaque, const char *name), void *opaque)
{
    GHashTableIter it;
    gpointer name;

    QEMU_LOCK_GUARD(&store.lock);
    if (!store.named) {
        return;
    }
    g_hash_table_iter_init(&it, store.named);
    while (g_hash_table_iter_next(&it, &name, NULL)) {
        fn(opaque, name);
    }
}

int fd_store_param(const char *fdname, Error **errp)
{
    char *end;
    long fd;

    if (!g_ascii_isdigit(fdname[0])) {
        return fd_store_take(fdname, errp);
    }
    errno = 0;
    fd = strtol(fdname, &end, 10);
    if (errno || *end || fd > INT_MAX) {
        error_setg(errp, "Invalid file descriptor number '%s'", fdname);
        return -1;
    }
    if (fcntl(fd, F_GETFD) < 0) {
        error_setg_errno(errp, errno, "File descriptor %ld", fd);
        return -1;
    }
    return fd;
}

/*
 * Sets
 */

static Fdset *fdset_find_locked(int64_t id) TSA_REQUIRES(store.lock)
{
    for (GList *it = store.sets; it; it = it->next) {
        Fdset *set = it->data;

        if (set->id == id) {
            return set;
        }
    }
    return NULL;
}

static gint fdset_compare(gconstpointer a, gconstpointer b)
{
    int64_t ida = ((const Fdset *)a)->id, idb = ((const Fdset *)b)->id;

    return ida < idb ? -1 : ida > idb;
}

static void fdset_drop_if_empty_locked(Fdset *set) TSA_REQUIRES(store.lock)
{
    if (!set->fds && !set->dups) {
        store.sets = g_list_remove(store.sets, set);
        g_free(set);
    }
}

static void fdset_fd_free(gpointer data)
{
    FdsetFd *f = data;

    close(f->fd);
    g_free(f->opaque);
    g_free(f);
}

static int64_t fdset_free_id_locked(void) TSA_REQUIRES(store.lock)
{
    int64_t id = 0;

    while (fdset_find_locked(id)) {
        id++;
    }
    return id;
}

bool fdset_add_fd(int fd, int64_t id, const char *opaque, int64_t *id_out,
                  Error **errp)
{
    FdsetFd *f;
    Fdset *set;

    if (id < -1) {
        close(fd);
        error_setg(errp, "Parameter 'fdset-id' expects a non-negative value");
        return false;
    }
    QEMU_LOCK_GUARD(&store.lock);
    if (id == -1) {
        id = fdset_free_id_locked();
    }
    set = fdset_find_locked(id);
    if (!set) {
        set = g_new0(Fdset, 1);
        set->id = id;
        store.sets = g_list_insert_sorted(store.sets, set, fdset_compare);
    }
    f = g_new(FdsetFd, 1);
    *f = (FdsetFd){ fd, g_strdup(opaque) };
    set->fds = g_slist_append(set->fds, f);
    if (id_out) {
        *id_out = id;
    }
    return true;
}

bool fdset_remove_fd(int64_t id, int fd, Error **errp)
{
    Fdset *set;
    GSList *it, *next;
    bool found = false;

    QEMU_LOCK_GUARD(&store.lock);
    set = fdset_find_locked(id);
    for (it = set ? set->fds : NULL; it; it = next) {
        FdsetFd *f = it->data;

        next = it->next;
        if (fd == -1 || f->fd == fd) {
            set->fds = g_slist_delete_link(set->fds, it);
            fdset_fd_free(f);
            found = true;
        }
    }
    if (!set || (!found && fd != -1)) {
        g_autofree char *what = fd == -1
                                    ? g_strdup_printf("fdset-id:%" PRId64, id)
                                    : g_strdup_printf("fdset-id:%" PRId64
                                                      ", fd:%d",
                                                      id, fd);
        error_setg(errp, "File descriptor named '%s' not found", what);
        return false;
    }
    fdset_drop_if_empty_locked(set);
    return true;
}

/* Which of @set suits @flags: same access mode, same O_DIRECT. */
static int fdset_choose_locked(const Fdset *set, int flags)
    TSA_REQUIRES(store.lock)
{
    const int mask = O_ACCMODE | O_DIRECT;

    for (GSList *it = set->fds; it; it = it->next) {
        FdsetFd *f = it->data;
        int have = fcntl(f->fd, F_GETFL);

        if (have >= 0 && (have & mask) == (flags & mask)) {
            return f->fd;
        }
    }
    return -1;
}

int fdset_dup_fd(int64_t id, int flags, Error **errp)
{
    Fdset *set;
    int fd, dup;

    QEMU_LOCK_GUARD(&store.lock);
    set = fdset_find_locked(id);
    if (!set) {
        errno = ENOENT;
        error_setg(errp, "fdset %" PRId64 " does not exist", id);
        return -1;
    }
    fd = fdset_choose_locked(set, flags);
    if (fd < 0) {
        errno = EACCES;
        error_setg(errp,
                   "fdset %" PRId64 " has no file descriptor opened for %s%s",
                   id,
                   (flags & O_ACCMODE) == O_RDONLY   ? "reading only"
                   : (flags & O_ACCMODE) == O_WRONLY ? "writing only"
                                                     : "reading and writing",
                   (flags & O_DIRECT) ? " with O_DIRECT" : "");
        return -1;
    }
    dup = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (dup < 0) {
        error_setg_errno(errp, errno,
                         "Could not duplicate a file descriptor "
                         "of fdset %" PRId64,
                         id);
        return -1;
    }
    if ((flags & O_TRUNC) && ftruncate(dup, 0) < 0) {
        error_setg_errno(errp, errno,
                         "Could not truncate the file of fdset "
                         "%" PRId64,
                         id);
        close(dup);
        return -1;
    }
    set->dups = g_slist_prepend(set->dups, GINT_TO_POINTER(dup));
    return dup;
}

void fdset_foreach(void (*fn)(void *opaque, int64_t id, int fd,
                              const char *fd_opaque),
                   void *opaque)
{
    QEMU_LOCK_GUARD(&store.lock);
    for (GList *it = store.sets; it; it = it->next) {
        Fdset *set = it->data;

        if (!set->fds) {
            fn(opaque, set->id, -1, NULL);
        }
        for (GSList *f = set->fds; f; f = f->next) {
            FdsetFd *e = f->data;

            fn(opaque, set->id, e->fd, e->opaque);
        }
    }
}

void fdset_client_arrived(void)
{
    QEMU_LOCK_GUARD(&store.lock);
    store.clients++;
}

void fdset_client_left(void)
{
    GList *it, *next;

    QEMU_LOCK_GUARD(&store.lock);
    assert(store.clients > 0);
    if (--store.clients) {
        return;
    }
    for (it = store.sets; it; it = next) {
        Fdset *set = it->data;

        next = it->next;
        if (!set->dups) {
            g_slist_free_full(set->fds, fdset_fd_free);
            set->fds = NULL;
            fdset_drop_if_empty_locked(set);
        }
    }
}

/*
 * Files
 */

int64_t qemu_fdset_id_from_path(const char *path)
{
    const char *digits;
    char *end;
    int64_t id;

    if (!g_str_has_prefix(path, FDSET_PATH_PREFIX)) {
        return -1;
    }
    digits = path + strlen(FDSET_PATH_PREFIX);
    if (!g_ascii_isdigit(*digits)) {
        return -1;
    }
    errno = 0;
    id = g_ascii_strtoll(digits, &end, 10);
    return errno || *end ? -1 : id;
}

/* Neither cut nor asked about yet. */
static int open_uncut(const char *path, int flags, mode_t mode, Error **errp)
{
    int64_t set;
    int fd;

    if (g_str_has_prefix(path, FDSET_PATH_PREFIX)) {
        ERRP_GUARD();

        set = qemu_fdset_id_from_path(path);
        if (set < 0) {
            errno = EINVAL;
            error_setg(errp, "Could not parse fdset number of '%s'", path);
            return -1;
        }
        fd = fdset_dup_fd(set, flags, errp);
        if (fd < 0) {
            error_prepend(errp, "Could not open '%s': ", path);
        }
        return fd;
    }
    do {
        fd = open(path, flags | O_CLOEXEC, mode);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0) {
        error_setg_errno(errp, errno, "Could not %s '%s'",
                         (flags & O_CREAT) ? "create" : "open", path);
    }
    return fd;
}

static int open_path(const char *path, int flags, mode_t mode, Error **errp)
{
    int fd = open_uncut(path, flags & ~O_TRUNC, mode, errp), saved;

    if (fd < 0 || (flags & O_ACCMODE) == O_RDONLY ||
        qemu_begin_write(fd, path, flags & O_TRUNC, errp)) {
        return fd;
    }
    saved = errno;
    qemu_close(fd);
    errno = saved;
    return -1;
}

int qemu_open(const char *path, int flags, Error **errp)
{
    assert(!(flags & O_CREAT));
    return open_path(path, flags, 0, errp);
}

int qemu_create(const char *path, int flags, mode_t mode, Error **errp)
{
    return open_path(path, flags | O_CREAT, mode, errp);
}

bool qemu_write_all(int fd, const void *buf, size_t len, const char *path,
                    Error **errp)
{
    const uint8_t *p = buf;

    while (len > 0) {
        ssize_t n = write(fd, p, len);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            error_setg_errno(errp, errno, "cannot write to '%s'", path);
            return false;
        }
        p += n;
        len -= n;
    }
    return true;
}

int qemu_close(int fd)
{
    QEMU_LOCK_GUARD(&store.lock);
    for (GList *it = store.sets; it; it = it->next) {
        Fdset *set = it->data;
        GSList *dup = g_slist_find(set->dups, GINT_TO_POINTER(fd));

        if (dup) {
            set->dups = g_slist_delete_link(set->dups, dup);
            fdset_drop_if_empty_locked(set);
            break;
        }
    }
    /* Under the lock: the number must not be reused before it is forgotten. */
    return close(fd);
}

bool qemu_set_cloexec(int fd)
{
    int flags = fcntl(fd, F_GETFD);

    return flags >= 0 && fcntl(fd, F_SETFD, flags | FD_CLOEXEC) == 0;
}

bool qemu_set_blocking(int fd, bool block, Error **errp)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags >= 0) {
        flags = block ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
        if (fcntl(fd, F_SETFL, flags) == 0) {
            return true;
        }
    }
    error_setg_errno(errp, errno, "Could not set file descriptor %d %s", fd,
                     block ? "blocking" : "non-blocking");
    return false;
}
