/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Start-up: what the process gives up, and its ties to others.
 *
 *  1. exit-with-parent: the kernel is asked for a signal
 *  2. -sandbox: the filter, before a byte of a guest or peer is read
 *  ...  files, sockets and devices are opened, -incoming listens
 *  3. chroot=, then user=; what denies these is added to the filter
 *  4. async-teardown: the process that holds the memory a little longer. It
 *     shares that memory, so it must have no more rights than this one
 *  5. the guest runs, or the main loop begins to read a stream
 *
 * So every path of the command line is one of the old root and the old user.
 */
#include "qemu/osdep.h"

#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "cmdline.h"
#include "qemu/cutils.h"

/* ---- -run-with user= ---- */

void run_as_free(RunAs *r)
{
    g_free(r->user_text);
    g_free(r->groups);
    g_free(r->root);
    *r = (RunAs){ 0 };
}

/* A decimal number, all of *@text up to @end; (id_t)-1 is no id. */
static bool parse_id(const char *text, char end, const char **rest, id_t *id)
{
    guint64 n;
    char *stop;

    if (!g_ascii_isdigit(*text)) {
        return false;
    }
    n = g_ascii_strtoull(text, &stop, 10);
    if (*stop != end || n >= UINT32_MAX) {
        return false;
    }
    *id = n;
    *rest = end ? stop + 1 : stop;
    return true;
}

static void set_named_user(RunAs *r, const struct passwd *pw)
{
    int n = 16;

    r->uid = pw->pw_uid;
    r->gid = pw->pw_gid;
    for (;;) {
        int had = n;

        r->groups = g_renew(gid_t, r->groups, n);
        if (getgrouplist(pw->pw_name, pw->pw_gid, r->groups, &n) >= 0) {
            break;
        }
        n = MAX(n, 2 * had);
    }
    r->nr_groups = n;
}

bool run_as_set_user(RunAs *r, const char *text, Error **errp)
{
    const struct passwd *pw = getpwnam(text);
    const char *rest;
    id_t uid, gid;

    g_free(r->user_text);
    r->user_text = g_strdup(text);
    if (pw) {
        set_named_user(r, pw);
        return true;
    }
    if (!parse_id(text, ':', &rest, &uid) ||
        !parse_id(rest, '\0', &rest, &gid)) {
        error_setg(errp, "User \"%s\" doesn't exist (and is not <uid>:<gid>)",
                   text);
        return false;
    }
    r->uid = uid;
    r->gid = gid;
    r->groups = g_renew(gid_t, r->groups, 1);
    r->groups[0] = gid;
    r->nr_groups = 1;
    return true;
}

static bool change_user(const RunAs *r, Error **errp)
{
    /* Each is done for all threads, by the C library. */
    if (setgid(r->gid) < 0) {
        error_setg_errno(errp, errno, "-run-with user=%s: group id %u",
                         r->user_text, r->gid);
        return false;
    }
    if (setgroups(r->nr_groups, r->groups) < 0) {
        error_setg_errno(errp, errno, "-run-with user=%s: further groups",
                         r->user_text);
        return false;
    }
    if (setuid(r->uid) < 0) {
        error_setg_errno(errp, errno, "-run-with user=%s: user id %u",
                         r->user_text, r->uid);
        return false;
    }
    if (r->uid != 0 && setuid(0) == 0) {
        error_setg(errp, "-run-with user=%s: the way back is open",
                   r->user_text);
        return false;
    }
    return true;
}

static bool change_root(const char *dir, Error **errp)
{
    if (chroot(dir) < 0) {
        error_setg_errno(errp, errno, "-run-with chroot=%s", dir);
        return false;
    }
    if (chdir("/") < 0) {
        error_setg_errno(errp, errno, "-run-with chroot=%s: its root", dir);
        return false;
    }
    return true;
}

/* ---- -run-with exit-with-parent= ---- */

static void watch_parent(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) {
        pidfile_remove();
        exit(0); /* it ended before we could say so */
    }
}

bool start_parent_watch(const Options *o, pid_t parent, Error **errp)
{
    if (!o->exit_with_parent) {
        return true;
    }
    if (o->daemonize) {
        error_setg(errp, "-run-with exit-with-parent=on cannot be used "
                         "with -daemonize");
        return false;
    }
    watch_parent(parent);
    return true;
}

/* ---- -run-with async-teardown= ---- */

#define TEARDOWN_STACK_BYTES (64 * 1024)

/*
 * The memory of a process is freed when the last one that has it ends. This
 * one shares it, and ends when its parent has: who waits for the parent's end
 * does not wait for a large guest's memory to be freed.
 *
 * It runs on the thread state of its parent, too: what it calls must keep
 * nothing there, as the C library and sanitizers do. So it makes nothing but
 * system calls, none of which fails (errno is its parent's). All signals are
 * blocked.
 */
static int __attribute__((no_sanitize("address", "thread", "undefined")))
teardown_process(void *opaque)
{
    const pid_t *parent = opaque;
    uint64_t hup = UINT64_C(1) << (SIGHUP - 1); /* the kernel's sigset_t */

    syscall(SYS_prctl, PR_SET_NAME, "teardown", 0, 0, 0);
    syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGHUP, 0, 0, 0);
    syscall(SYS_close_range, 0, ~0u, 0);
    while (syscall(SYS_getppid) == *parent) {
        syscall(SYS_rt_sigtimedwait, &hup, NULL, NULL, sizeof(hup));
    }
    syscall(SYS_exit_group, 0);
    return 0;
}

static bool start_teardown_process(Error **errp)
{
    static pid_t self; /* read by the new process, until this one ends */
    sigset_t all, had;
    uint8_t *stack = mmap(NULL, TEARDOWN_STACK_BYTES, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    int pid;

    if (stack == MAP_FAILED) {
        error_setg_errno(errp, errno, "-run-with async-teardown=on: stack");
        return false;
    }
    self = getpid();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &had);
    pid = clone(teardown_process, stack + TEARDOWN_STACK_BYTES, CLONE_VM,
                &self);
    pthread_sigmask(SIG_SETMASK, &had, NULL);
    if (pid < 0) {
        error_setg_errno(errp, errno, "-run-with async-teardown=on");
        munmap(stack, TEARDOWN_STACK_BYTES);
        return false;
    }
    return true;
}

/* ---- all of it ---- */

static bool changes_identity(const Options *o)
{
    return o->run_as.user_text || o->run_as.root;
}

bool start_sandbox(const Options *o, Error **errp)
{
    if (o->async_teardown && o->sandbox.enabled && o->sandbox.deny_spawn) {
        error_setg(errp, "-run-with async-teardown=on needs a process of its "
                         "own, and -sandbox on,spawn=deny lets none be made");
        return false;
    }
    return sandbox_enter(&o->sandbox, changes_identity(o), errp);
}

bool start_confined(const Options *o, pid_t parent, Error **errp)
{
    const RunAs *r = &o->run_as;

    if ((r->root && !change_root(r->root, errp)) ||
        (r->user_text && !change_user(r, errp))) {
        return false;
    }
    if (o->exit_with_parent && r->user_text) {
        watch_parent(parent); /* the kernel forgets it with the user */
    }
    return sandbox_seal(&o->sandbox, errp) &&
           (!o->async_teardown || start_teardown_process(errp));
}
