/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fail-nth.so: the Nth call of one kind fails, for LD_PRELOAD.
 *
 * FAIL_NTH=KIND:N; kinds:
 *
 *   alloc    g_try_*() (what has its size from outside goes through these)
 *   mmap     ENOMEM              thread   pthread_create(), EAGAIN
 *   read, write, sendmsg, recvmsg: EIO, in threads of the migration only
 *            (their names begin with "mig"): the monitors' are the test's
 *
 * When it has failed, the file FAIL_NTH_LOG exists.
 */
#include "qemu/osdep.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static _Atomic int calls;

static bool is_kind(const char *kind, long *n)
{
    const char *spec = getenv("FAIL_NTH");
    size_t len = strlen(kind);

    if (!spec || strncmp(spec, kind, len) || spec[len] != ':') {
        return false;
    }
    *n = atol(spec + len + 1);
    return true;
}

static void note(void)
{
    const char *path = getenv("FAIL_NTH_LOG");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;

    if (fd >= 0) {
        close(fd);
    }
}

static bool fails(const char *kind)
{
    long n;

    if (!is_kind(kind, &n) || atomic_fetch_add(&calls, 1) + 1 != n) {
        return false;
    }
    note();
    return true;
}

static bool fails_in_migration(const char *kind)
{
    char name[16] = "";
    long n;

    if (!is_kind(kind, &n)) {
        return false;
    }
    prctl(PR_GET_NAME, name);
    return !strncmp(name, "mig", 3) && fails(kind);
}

gpointer g_try_malloc(gsize n)
{
    return fails("alloc") ? NULL : NEXT(g_try_malloc)(n);
}

gpointer g_try_malloc0(gsize n)
{
    return fails("alloc") ? NULL : NEXT(g_try_malloc0)(n);
}

gpointer g_try_realloc(gpointer mem, gsize n)
{
    return fails("alloc") ? NULL : NEXT(g_try_realloc)(mem, n);
}

gpointer g_try_malloc_n(gsize n, gsize size)
{
    return fails("alloc") ? NULL : NEXT(g_try_malloc_n)(n, size);
}

gpointer g_try_malloc0_n(gsize n, gsize size)
{
    return fails("alloc") ? NULL : NEXT(g_try_malloc0_n)(n, size);
}

gpointer g_try_realloc_n(gpointer mem, gsize n, gsize size)
{
    return fails("alloc") ? NULL : NEXT(g_try_realloc_n)(mem, n, size);
}

void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
    if (fails("mmap")) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return NEXT(mmap)(addr, len, prot, flags, fd, offset);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                   void *(*fn)(void *), void *arg)
{
    return fails("thread") ? EAGAIN
                           : NEXT(pthread_create)(thread, attr, fn, arg);
}

#define FAIL_EIO(kind)                  \
    do {                                \
        if (fails_in_migration(kind)) { \
            errno = EIO;                \
            return -1;                  \
        }                               \
    } while (0)

ssize_t read(int fd, void *buf, size_t len)
{
    FAIL_EIO("read");
    return NEXT(read)(fd, buf, len);
}

ssize_t write(int fd, const void *buf, size_t len)
{
    FAIL_EIO("write");
    return NEXT(write)(fd, buf, len);
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
    FAIL_EIO("sendmsg");
    return NEXT(sendmsg)(fd, msg, flags);
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
    FAIL_EIO("recvmsg");
    return NEXT(recvmsg)(fd, msg, flags);
}
