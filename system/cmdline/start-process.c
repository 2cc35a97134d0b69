/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Start-up: log, signals, -daemonize, -pidfile. */
#include "qemu/osdep.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "chardev/char.h"
#include "cmdline.h"
#include "qemu/log.h"
#include "qemu/trace.h"
#include "qemu/write-guard.h"
#include "system/runstate.h"

/* What outlives the call that set it up; one process, one of each. */
static struct {
    int pipe_fd;          /* the waiting parent's; -1: none */
    int null_fd;          /* of -daemonize; a new root may have no /dev */
    char *pidfile;        /* its name in pidfile_dir; NULL: none */
    int pidfile_dir;      /* O_PATH: also reached from another root */
    _Atomic bool started; /* the main loop will act on signals soon */
} proc = { .pipe_fd = -1, .null_fd = -1, .pidfile_dir = -1 };

/* ---- log ---- */

static const char *member(json_object *v, const char *key)
{
    json_object *m = json_object_object_get(v, key);

    return m ? json_object_get_string(m) : NULL;
}

static bool start_trace(json_object *v, Error **errp)
{
    const char *file = member(v, "file"), *events = member(v, "events");
    const char *enable = member(v, "enable");

    return (!file || qemu_set_log_filename(file, errp)) &&
           (!events || trace_enable_file(events, errp)) &&
           (!enable || trace_enable(enable, errp));
}

bool start_log(const Options *o, Error **errp)
{
    ERRP_GUARD();
    uint32_t mask = 0;

    if (o->log_file && !qemu_set_log_filename(o->log_file, errp)) {
        error_prepend(errp, "-D %s: ", o->log_file);
        return false;
    }
    if (o->log_ranges && !qemu_set_dfilter_ranges(o->log_ranges, errp)) {
        error_prepend(errp, "-dfilter %s: ", o->log_ranges);
        return false;
    }
    if (o->log_items) {
        if (!qemu_str_to_log_mask(o->log_items, &mask, errp) ||
            !qemu_set_log(mask, errp)) {
            error_prepend(errp, "-d %s: ", o->log_items);
            return false;
        }
    }
    for (guint i = 0; i < o->traces->len; i++) {
        if (!start_trace(o->traces->pdata[i], errp)) {
            error_prepend(errp, "-trace: ");
            return false;
        }
    }
    error_set_guest_name(o->msg_guest_name ? o->name : NULL);
    return true;
}

/* ---- signals ---- */

static void end_by_signal(int sig, siginfo_t *info, void *context)
{
    int saved_errno = errno;

    if (!atomic_load(&proc.started)) {
        /*
         * Start-up may be waiting for a client or for memory, and nobody
         * would ever look at a request: end at once.
         */
        if (proc.pidfile) {
            unlinkat(proc.pidfile_dir, proc.pidfile, 0);
        }
        signal(sig, SIG_DFL);
        raise(sig);
        return; /* it is blocked here; it acts on the way out */
    }
    qemu_system_killed(sig, info->si_code <= 0 ? info->si_pid : 0);
    errno = saved_errno;
}

void start_signals(void)
{
    struct sigaction sa = {
        .sa_sigaction = end_by_signal,
        .sa_flags = SA_SIGINFO | SA_RESTART,
    };

    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGHUP, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
    /* A peer that hung up is an error of write(), not our death. */
    signal(SIGPIPE, SIG_IGN);
}

void signals_started(void)
{
    atomic_store(&proc.started, true);
}

/* ---- -pidfile ---- */

bool pidfile_write(const char *path, Error **errp)
{
    ERRP_GUARD();
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    g_autofree char *text = g_strdup_printf("%d\n", getpid());
    g_autofree char *dir = g_path_get_dirname(path);
    /* Open until the process ends: the lock says that it lives. */
    int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    struct stat st;
    bool regular;

    if (fd < 0) {
        error_setg_errno(errp, errno, "cannot create PID file '%s'", path);
        return false;
    }
    if (!qemu_begin_write(fd, path, false, errp)) {
        error_prepend(errp, "-pidfile: ");
        close(fd);
        return false;
    }
    if (fcntl(fd, F_SETLK, &lock) < 0) {
        error_setg_errno(errp, errno, "cannot lock PID file '%s'", path);
        close(fd);
        return false;
    }
    /* A device is not ours to remove, at the end or now. */
    regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if ((regular && ftruncate(fd, 0) < 0) ||
        write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
        error_setg_errno(errp, errno, "cannot write PID file '%s'", path);
        if (regular) {
            unlink(path);
        }
        close(fd);
        return false;
    }
    if (!regular) {
        return true;
    }
    proc.pidfile_dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    proc.pidfile = g_path_get_basename(path);
    return true;
}

void pidfile_remove(void)
{
    if (proc.pidfile) {
        unlinkat(proc.pidfile_dir, proc.pidfile, 0);
        g_clear_pointer(&proc.pidfile, g_free);
    }
}

/* ---- -daemonize ---- */

static void G_GNUC_NORETURN wait_for_child(int fd, pid_t pid)
{
    uint8_t status = 1;
    ssize_t n;

    do {
        n = read(fd, &status, 1);
    } while (n < 0 && errno == EINTR);
    if (n == 1 && status == 0) {
        _exit(0);
    }
    waitpid(pid, NULL, 0); /* it has said why */
    _exit(1);
}

bool daemonize_begin(Error **errp)
{
    int fds[2];
    pid_t pid;

    proc.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (proc.null_fd < 0) {
        error_setg_errno(errp, errno, "-daemonize: /dev/null");
        return false;
    }
    if (pipe2(fds, O_CLOEXEC) < 0) {
        error_setg_errno(errp, errno, "-daemonize: pipe");
        return false;
    }
    pid = fork();
    if (pid < 0) {
        error_setg_errno(errp, errno, "-daemonize: fork");
        return false;
    }
    if (pid > 0) {
        close(fds[1]);
        wait_for_child(fds[0], pid);
    }
    close(fds[0]);
    proc.pipe_fd = fds[1];
    setsid();
    /* Not the session's leader: it can never get a terminal. */
    pid = fork();
    if (pid < 0) {
        error_setg_errno(errp, errno, "-daemonize: fork");
        return false;
    }
    if (pid > 0) {
        _exit(0);
    }
    qemu_chr_forbid_stdio("with -daemonize");
    umask(027);
    signal(SIGTSTP, SIG_IGN);
    signal(SIGTTOU, SIG_IGN);
    signal(SIGTTIN, SIG_IGN);
    return true;
}

bool daemonize_finish(Error **errp)
{
    uint8_t status = 0;

    if (proc.pipe_fd < 0) {
        return true;
    }
    if (chdir("/") < 0) {
        error_setg_errno(errp, errno, "-daemonize: chdir to /");
        return false;
    }
    dup2(proc.null_fd, STDIN_FILENO);
    dup2(proc.null_fd, STDOUT_FILENO);
    /* A log on stderr stays where it was asked for. */
    if (!qemu_log_enabled()) {
        dup2(proc.null_fd, STDERR_FILENO);
    }
    close(proc.null_fd);
    if (write(proc.pipe_fd, &status, 1) != 1) {
        error_setg_errno(errp, errno, "-daemonize: parent");
        return false;
    }
    close(proc.pipe_fd);
    proc.pipe_fd = -1;
    return true;
}
