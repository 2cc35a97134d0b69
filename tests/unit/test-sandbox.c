/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filter of system calls: what each group denies, and that it holds for
 * all threads. Each case is a child that enters the sandbox and tries.
 */
#include "qemu/osdep.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "system/sandbox.h"

#define KILLED  (-1)
#define ALLOWED 0 /* or an error of the call itself */

/* ---- tries: 0, or an errno; none does harm where it is allowed ---- */

static int result(long ret)
{
    return ret < 0 ? errno : 0;
}

static int try_mount(void)
{
    return result(syscall(SYS_mount, NULL, NULL, NULL, 0, NULL));
}

static int try_reboot(void)
{
    return result(syscall(SYS_reboot, 0, 0, 0, NULL));
}

static int try_swapoff(void)
{
    return result(syscall(SYS_swapoff, NULL));
}

static int try_pivot_root(void)
{
    return result(syscall(SYS_pivot_root, NULL, NULL));
}

#ifdef SYS_sysfs
static int try_sysfs(void)
{
    return result(syscall(SYS_sysfs, 3));
}
#endif

static int try_setuid(void)
{
    return result(syscall(SYS_setuid, getuid()));
}

static int try_setresgid(void)
{
    return result(syscall(SYS_setresgid, -1, -1, -1));
}

static int try_setpgid(void)
{
    return result(syscall(SYS_setpgid, 0, 0));
}

static int try_chroot(void)
{
    return result(syscall(SYS_chroot, NULL));
}

static int try_fork(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        _exit(0);
    }
    if (pid > 0) {
        waitpid(pid, NULL, 0);
    }
    return result(pid);
}

static int try_execve(void)
{
    char *none[] = { NULL };
    int e = result(execve("/nonexistent/program", none, none));

    return e == ENOENT ? 0 : e;
}

static int try_spawn(void)
{
    char *argv[] = { (char *)"/bin/true", NULL };
    pid_t pid;
    int e = posix_spawn(&pid, argv[0], NULL, NULL, argv, NULL);

    if (!e) {
        waitpid(pid, NULL, 0);
    }
    return e;
}

static int try_unshare(void)
{
    return result(unshare(0));
}

/* Not denied, but not there: so that the C library uses clone. */
static int try_clone3(void)
{
    return result(syscall(SYS_clone3, NULL, 0));
}

static void *nothing(void *opaque)
{
    return opaque;
}

static int try_thread(void)
{
    pthread_t t;
    int e = pthread_create(&t, NULL, nothing, NULL);

    if (!e) {
        pthread_join(t, NULL);
    }
    return e;
}

static int try_setpriority(void)
{
    return result(syscall(SYS_setpriority, PRIO_PROCESS, 0,
                          getpriority(PRIO_PROCESS, 0)));
}

static int try_affinity(void)
{
    cpu_set_t set;

    sched_getaffinity(0, sizeof(set), &set);
    return result(sched_setaffinity(0, sizeof(set), &set));
}

static int try_scheduler(int policy)
{
    struct sched_param p = { 0 };

    return result(sched_setscheduler(0, policy, &p));
}

static int try_sched_other(void)
{
    return try_scheduler(SCHED_OTHER);
}

static int try_sched_fifo(void)
{
    int e = try_scheduler(SCHED_FIFO);

    return e == EINVAL ? 0 : e; /* the priority is wrong */
}

static int try_sched_idle(void)
{
    return try_scheduler(SCHED_IDLE);
}

/* ---- cases ---- */

#define ON .enabled = true

static const SandboxConfig off = { 0 };
static const SandboxConfig on = { ON };
static const SandboxConfig no_privileges = { ON, .deny_privileges = true };
static const SandboxConfig no_spawn = { ON, .deny_spawn = true };
static const SandboxConfig no_resources = { ON, .deny_resources = true };
#ifdef SYS_sysfs
static const SandboxConfig obsolete = { ON, .allow_obsolete = true };
#endif

static const struct {
    const char *name;
    const SandboxConfig *config;
    int (*attempt)(void);
    int outcome;
} cases[] = {
    { "off/mount", &off, try_mount, ALLOWED },
    { "off/fork", &off, try_fork, ALLOWED },
    { "off/execve", &off, try_execve, ALLOWED },
    { "default/mount", &on, try_mount, KILLED },
    { "default/reboot", &on, try_reboot, KILLED },
    { "default/swapoff", &on, try_swapoff, KILLED },
    { "default/pivot_root", &on, try_pivot_root, KILLED },
    { "default/setuid", &on, try_setuid, ALLOWED },
    { "default/fork", &on, try_fork, ALLOWED },
    { "default/spawn", &on, try_spawn, ALLOWED },
    { "default/setpriority", &on, try_setpriority, ALLOWED },
#ifdef SYS_sysfs
    { "obsolete/sysfs-denied", &on, try_sysfs, KILLED },
    { "obsolete/sysfs-allowed", &obsolete, try_sysfs, ALLOWED },
#endif
    { "privileges/setuid", &no_privileges, try_setuid, KILLED },
    { "privileges/setresgid", &no_privileges, try_setresgid, KILLED },
    { "privileges/setpgid", &no_privileges, try_setpgid, KILLED },
    { "privileges/chroot", &no_privileges, try_chroot, KILLED },
    { "privileges/fork", &no_privileges, try_fork, ALLOWED },
    { "spawn/fork", &no_spawn, try_fork, EPERM },
    { "spawn/execve", &no_spawn, try_execve, EPERM },
    { "spawn/posix_spawn", &no_spawn, try_spawn, EPERM },
    { "spawn/unshare", &no_spawn, try_unshare, EPERM },
    { "spawn/clone3", &no_spawn, try_clone3, ENOSYS },
    { "spawn/thread", &no_spawn, try_thread, ALLOWED },
    { "spawn/mount", &no_spawn, try_mount, KILLED },
    { "resources/setpriority", &no_resources, try_setpriority, EPERM },
    { "resources/affinity", &no_resources, try_affinity, EPERM },
    { "resources/sched-other", &no_resources, try_sched_other, EPERM },
    { "resources/sched-fifo", &no_resources, try_sched_fifo, EPERM },
    { "resources/sched-idle", &no_resources, try_sched_idle, ALLOWED },
    { "resources/thread", &no_resources, try_thread, ALLOWED },
};

#define CHILD_FAILED 255

/* The wait status of a child that enters @c and then does @attempt. */
static int in_child(const SandboxConfig *c, int (*attempt)(void))
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        _exit(sandbox_enter(c, false, NULL) ? attempt() : CHILD_FAILED);
    }
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    return status;
}

static void assert_outcome(int status, int want)
{
    if (want == KILLED) {
        g_assert_true(WIFSIGNALED(status));
        g_assert_cmpint(WTERMSIG(status), ==, SIGSYS);
        return;
    }
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), !=, CHILD_FAILED);
    if (want == ALLOWED) {
        int e = WEXITSTATUS(status);

        /* The call's own errors are all right. */
        g_assert_true(e == 0 || e == EFAULT || e == EINVAL ||
                      (e == EPERM && geteuid() != 0));
    } else {
        g_assert_cmpint(WEXITSTATUS(status), ==, want);
    }
}

static void test_case(gconstpointer data)
{
    size_t i = GPOINTER_TO_SIZE(data);

    assert_outcome(in_child(cases[i].config, cases[i].attempt),
                   cases[i].outcome);
}

/* ---- threads ---- */

static _Atomic int go;

static void *other_thread(void *opaque)
{
    while (!atomic_load(&go)) {
        g_usleep(1000);
    }
    _exit(try_fork());
}

/* A thread that was there before is in it, too. */
static int enter_beside_thread(void)
{
    pthread_t t;

    pthread_create(&t, NULL, other_thread, NULL);
    if (!sandbox_enter(&no_spawn, false, NULL)) {
        return CHILD_FAILED;
    }
    atomic_store(&go, 1);
    pthread_join(t, NULL);
    return CHILD_FAILED;
}

static void test_threads(void)
{
    assert_outcome(in_child(&off, enter_beside_thread), EPERM);
}

/* ---- later ---- */

static int change_user_and_seal(void)
{
    if (!sandbox_enter(&no_privileges, true, NULL) || try_setuid() ||
        !sandbox_seal(&no_privileges, NULL)) {
        return CHILD_FAILED;
    }
    return try_setuid();
}

static void test_seal(void)
{
    assert_outcome(in_child(&off, change_user_and_seal), KILLED);
}

static int check_spawn_questions(void)
{
    g_autoptr(Error) err = NULL;

    if (!sandbox_check_spawn(NULL) || !sandbox_enter(&no_spawn, false, NULL)) {
        return CHILD_FAILED;
    }
    return !sandbox_check_spawn(&err) && strstr(error_get_pretty(err), "spawn")
               ? 0
               : CHILD_FAILED;
}

static void test_check_spawn(void)
{
    assert_outcome(in_child(&off, check_spawn_questions), ALLOWED);
}

static int no_new_privileges(void)
{
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 &&
                   prctl(PR_GET_SECCOMP) == 2
               ? 0
               : CHILD_FAILED;
}

static void test_state(void)
{
    assert_outcome(in_child(&on, no_new_privileges), ALLOWED);
}

static int enter(void)
{
    return sandbox_enter(&on, false, NULL) ? 0 : ENOTSUP;
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (WEXITSTATUS(in_child(&off, enter)) == ENOTSUP) {
        g_print("1..0 # SKIP no filters of system calls here\n");
        return 0;
    }
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        g_autofree char *path = g_strconcat("/sandbox/", cases[i].name, NULL);

        g_test_add_data_func(path, GSIZE_TO_POINTER(i), test_case);
    }
    g_test_add_func("/sandbox/threads", test_threads);
    g_test_add_func("/sandbox/seal", test_seal);
    g_test_add_func("/sandbox/check-spawn", test_check_spawn);
    g_test_add_func("/sandbox/state", test_state);
    return g_test_run();
}
