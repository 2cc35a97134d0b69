/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The filter: see include/system/sandbox.h.
 *
 * A list of what is denied, not of what is allowed: threads of libraries and
 * commands of exec: run under it, too, and nobody knows what they need.
 */
#include "qemu/osdep.h"

#include <sched.h>

#include "system/sandbox.h"

#ifdef CONFIG_SECCOMP

#include <seccomp.h>

typedef enum Group {
    GROUP_DEFAULT,
    GROUP_OBSOLETE,
    GROUP_PRIVILEGES,
    GROUP_SPAWN,
    GROUP_RESOURCES,
    GROUP__MAX,
} Group;

/* By name: what a kernel or a library does not know is not there to deny. */
static const struct {
    const char *title;
    int denied_errno; /* 0: the process is killed */
    const char *calls;
} groups[GROUP__MAX] = {
    [GROUP_DEFAULT] = { .title = "default",
                        .calls =
                            "reboot kexec_load kexec_file_load swapon swapoff syslog "
                            "mount umount umount2 pivot_root open_tree move_mount "
                            "fsopen fsconfig fsmount fspick mount_setattr "
                            "init_module finit_module delete_module "
                            "settimeofday clock_settime stime adjtimex clock_adjtime "
                            "acct quotactl quotactl_fd nfsservctl iopl ioperm vhangup "
                            "sethostname setdomainname lookup_dcookie bpf "
                            "open_by_handle_at "
                            "afs_syscall break ftime getpmsg gtty lock mpx prof "
                            "profil putpmsg security stty tuxcall ulimit vserver" },
    [GROUP_OBSOLETE] = { .title = "obsolete",
                         .calls = "readdir _sysctl bdflush create_module "
                                  "get_kernel_syms query_module sgetmask "
                                  "ssetmask sysfs uselib ustat" },
    [GROUP_PRIVILEGES] = { .title = "privileges",
                           .calls = "setuid setgid setpgid setsid setreuid "
                                    "setregid setresuid setresgid setfsuid "
                                    "setfsgid setgroups capset chroot "
                                    "setuid32 setgid32 setreuid32 setregid32 "
                                    "setresuid32 setresgid32 setfsuid32 "
                                    "setfsgid32 setgroups32" },
    [GROUP_SPAWN] = { .title = "spawn",
                      .denied_errno = EPERM,
                      .calls = "fork vfork execve execveat unshare setns" },
    [GROUP_RESOURCES] = { .title = "resources",
                          .denied_errno = EPERM,
                          .calls = "setpriority sched_setparam "
                                   "sched_setaffinity sched_setattr "
                                   "ioprio_set" },
};

static int add_call(scmp_filter_ctx ctx, Group g, const char *name)
{
    int nr = seccomp_syscall_resolve_name(name);
    uint32_t action = groups[g].denied_errno
                          ? SCMP_ACT_ERRNO(groups[g].denied_errno)
                          : SCMP_ACT_KILL_PROCESS;

    return nr == __NR_SCMP_ERROR ? 0 : seccomp_rule_add(ctx, action, nr, 0);
}

/*
 * A thread is made by the same call as a process. Its older form can be told
 * by its flags; of the newer one they lie in memory, where a filter cannot
 * look: it is said not to be there, and the C library uses the older one.
 */
static int add_clone(scmp_filter_ctx ctx)
{
    int rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                              SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
    int nr = seccomp_syscall_resolve_name("clone3");

    return rc || nr == __NR_SCMP_ERROR
               ? rc
               : seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), nr, 0);
}

/* Less than one has is not denied. */
static int add_scheduler(scmp_filter_ctx ctx)
{
    static const int lower[] = { SCHED_IDLE, SCHED_BATCH };
    int highest = MAX(lower[0], lower[1]);
    int rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM),
                              SCMP_SYS(sched_setscheduler), 1,
                              SCMP_A1(SCMP_CMP_GT, (scmp_datum_t)highest));

    for (int policy = 0; !rc && policy <= highest; policy++) {
        if (policy != lower[0] && policy != lower[1]) {
            rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM),
                                  SCMP_SYS(sched_setscheduler), 1,
                                  SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)policy));
        }
    }
    return rc;
}

static int add_group(scmp_filter_ctx ctx, Group g)
{
    g_auto(GStrv) calls = g_strsplit(groups[g].calls, " ", -1);
    int rc = 0;

    for (char **call = calls; *call && !rc; call++) {
        rc = add_call(ctx, g, *call);
    }
    if (!rc && g == GROUP_SPAWN) {
        rc = add_clone(ctx);
    }
    if (!rc && g == GROUP_RESOURCES) {
        rc = add_scheduler(ctx);
    }
    return rc;
}

/* Deny all of @wanted. */
static bool install(const bool wanted[GROUP__MAX], Error **errp)
{
    ERRP_GUARD();
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
    int rc = ctx ? 0 : -ENOMEM;

    for (int g = 0; g < GROUP__MAX && !rc; g++) {
        if (wanted[g]) {
            rc = add_group(ctx, g);
            if (rc) {
                error_setg_errno(errp, -rc, "group '%s'", groups[g].title);
            }
        }
    }
    /* For threads that are there already, too, or for none. */
    if (!rc) {
        rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);
    }
    if (!rc) {
        rc = seccomp_load(ctx);
    }
    if (rc && !*errp) {
        error_setg_errno(errp, -rc, "cannot install the system call filter");
    }
    if (ctx) {
        seccomp_release(ctx);
    }
    if (rc) {
        error_prepend(errp, "-sandbox on: ");
    }
    return rc == 0;
}

/* Singleton: the process is in it or not, and never gets out. */
static struct {
    bool entered, sealed;
    _Atomic bool no_spawn;
} sandbox;

bool sandbox_enter(const SandboxConfig *config, bool privileges_later,
                   Error **errp)
{
    const bool wanted[GROUP__MAX] = {
        [GROUP_DEFAULT] = true,
        [GROUP_OBSOLETE] = !config->allow_obsolete,
        [GROUP_PRIVILEGES] = config->deny_privileges && !privileges_later,
        [GROUP_SPAWN] = config->deny_spawn,
        [GROUP_RESOURCES] = config->deny_resources,
    };

    if (!config->enabled) {
        return true;
    }
    if (!install(wanted, errp)) {
        return false;
    }
    sandbox.entered = true;
    sandbox.sealed = !config->deny_privileges || !privileges_later;
    atomic_store(&sandbox.no_spawn, config->deny_spawn);
    return true;
}

bool sandbox_seal(const SandboxConfig *config, Error **errp)
{
    const bool wanted[GROUP__MAX] = { [GROUP_PRIVILEGES] = true };

    if (!sandbox.entered || sandbox.sealed) {
        return true;
    }
    sandbox.sealed = install(wanted, errp);
    return sandbox.sealed;
}

bool sandbox_check_spawn(Error **errp)
{
    if (atomic_load(&sandbox.no_spawn)) {
        error_setg(errp, "no command can be started: -sandbox on,spawn=deny "
                         "was given");
        return false;
    }
    return true;
}

#else /* !CONFIG_SECCOMP */

bool sandbox_enter(const SandboxConfig *config, bool privileges_later,
                   Error **errp)
{
    if (config->enabled) {
        error_setg(errp, "-sandbox on: this program was built without "
                         "libseccomp");
        return false;
    }
    return true;
}

bool sandbox_seal(const SandboxConfig *config, Error **errp)
{
    return true;
}

bool sandbox_check_spawn(Error **errp)
{
    return true;
}

#endif
