/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command channel: see channel-command.h for the contract.
 *
 * posix_spawn, not fork: a fork would copy the page tables of all guest
 * memory and make the guest fault on it.
 */
#include "qemu/osdep.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "io/channel-command.h"
#include "qemu/thread.h"

#include "fd-io.h"

#define REAP_POLL_MS       5
#define KILL_AFTER_TERM_MS 1000

extern char **environ;

struct QIOChannelCommand {
    QIOChannel parent;
    int read_fd;  /* child's stdout, or -1 */
    int write_fd; /* child's stdin, or -1 */
    int patience_ms;
    pid_t pid; /* -1: reaped */
};

static QIOChannelCommand *to_command(QIOChannel *ioc)
{
    return container_of(ioc, QIOChannelCommand, parent);
}

static ssize_t command_readv(QIOChannel *ioc, const struct iovec *iov,
                             size_t niov, int **fds, size_t *nfds, int flags,
                             Error **errp)
{
    QIOChannelCommand *cioc = to_command(ioc);

    if (cioc->read_fd < 0) {
        error_setg(errp, "The output of '%s' is not ours to read",
                   qio_channel_get_name(ioc));
        return -1;
    }
    return qio_fd_readv(ioc, cioc->read_fd, iov, niov, errp);
}

static ssize_t command_writev(QIOChannel *ioc, const struct iovec *iov,
                              size_t niov, const int *fds, size_t nfds,
                              Error **errp)
{
    QIOChannelCommand *cioc = to_command(ioc);

    if (cioc->write_fd < 0) {
        error_setg(errp, "The input of '%s' is not ours to write",
                   qio_channel_get_name(ioc));
        return -1;
    }
    return qio_fd_writev(ioc, cioc->write_fd, iov, niov, errp);
}

static void close_pipes(QIOChannelCommand *cioc)
{
    if (cioc->read_fd >= 0) {
        close(cioc->read_fd);
        cioc->read_fd = -1;
    }
    if (cioc->write_fd >= 0) {
        close(cioc->write_fd);
        cioc->write_fd = -1;
    }
}

/*
 * Wait for @pid; end it after @patience_ms (< 0: never) or once *@shut.
 * Returns its wait status.
 */
static int reap(pid_t pid, int patience_ms, const _Atomic int *shut)
{
    int status = 0;
    int term_ms = -1; /* since SIGTERM */

    for (int ms = 0;; ms += REAP_POLL_MS) {
        pid_t got = waitpid(pid, &status, WNOHANG);

        if (got == pid || (got < 0 && errno != EINTR)) {
            return status;
        }
        if (term_ms >= 0) {
            term_ms += REAP_POLL_MS;
            if (term_ms >= KILL_AFTER_TERM_MS) {
                kill(pid, SIGKILL);
            }
        } else if ((patience_ms >= 0 && ms >= patience_ms) ||
                   (shut && atomic_load(shut))) {
            kill(pid, SIGTERM);
            term_ms = 0;
        }
        g_usleep(REAP_POLL_MS * 1000);
    }
}

static bool command_close(QIOChannel *ioc, Error **errp)
{
    QIOChannelCommand *cioc = to_command(ioc);
    pid_t pid = cioc->pid;
    int status;

    close_pipes(cioc);
    if (pid < 0) {
        return true;
    }
    cioc->pid = -1;
    status = reap(pid, cioc->patience_ms, &ioc->shut);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return true;
    }
    if (WIFSIGNALED(status)) {
        error_setg(errp, "The command '%s' was ended by signal %d",
                   qio_channel_get_name(ioc), WTERMSIG(status));
    } else {
        error_setg(errp, "The command '%s' ended with exit code %d",
                   qio_channel_get_name(ioc), WEXITSTATUS(status));
    }
    return false;
}

typedef struct Orphan {
    pid_t pid;
    int patience_ms;
} Orphan;

static void *orphan_thread(void *opaque)
{
    Orphan *o = opaque;

    reap(o->pid, o->patience_ms, NULL);
    g_free(o);
    return NULL;
}

static void command_finalize(QIOChannel *ioc)
{
    QIOChannelCommand *cioc = to_command(ioc);

    close_pipes(cioc);
    if (cioc->pid >= 0) {
        Orphan *o = g_new(Orphan, 1);
        QemuThread thread;

        *o = (Orphan){ cioc->pid,
                       atomic_load(&ioc->shut) ? 0 : cioc->patience_ms };
        if (!qemu_thread_create(&thread, "reap-command", orphan_thread, o,
                                QEMU_THREAD_DETACHED, NULL)) {
            orphan_thread(o);
        }
    }
    g_free(cioc);
}

static int command_get_fd(QIOChannel *ioc, GIOCondition cond)
{
    QIOChannelCommand *cioc = to_command(ioc);

    return cond & G_IO_OUT ? cioc->write_fd : cioc->read_fd;
}

static const QIOChannelClass command_class = {
    .type_name = "command",
    .readv = command_readv,
    .writev = command_writev,
    .close = command_close,
    .get_fd = command_get_fd,
    .finalize = command_finalize,
};

/* Make the child's descriptor @child_fd one end of @pipefd, or /dev/null. */
static void map_stdio(posix_spawn_file_actions_t *fa, bool piped,
                      const int pipefd[2], int child_fd)
{
    if (piped) {
        posix_spawn_file_actions_adddup2(
            fa, pipefd[child_fd == STDIN_FILENO ? 0 : 1], child_fd);
    } else {
        posix_spawn_file_actions_addopen(fa, child_fd, "/dev/null", O_RDWR, 0);
    }
}

static int spawn(pid_t *pid, const char *const argv[], int flags,
                 const int in[2], const int out[2])
{
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t attr;
    sigset_t all, none;
    int ret;

    sigfillset(&all);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&fa);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr,
                             POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setsigmask(&attr, &none);
    map_stdio(&fa, flags != O_RDONLY, in, STDIN_FILENO);
    map_stdio(&fa, flags != O_WRONLY, out, STDOUT_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&fa, STDERR_FILENO + 1);
    ret = posix_spawn(pid, argv[0], &fa, &attr, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&fa);
    return ret;
}

/* A pipe whose ends are none of 0, 1, 2: dup2 in the child must not collide. */
static bool make_pipe(int fds[2], Error **errp)
{
    if (pipe2(fds, O_CLOEXEC) < 0) {
        error_setg_errno(errp, errno, "Cannot make a pipe");
        return false;
    }
    for (int i = 0; i < 2; i++) {
        if (fds[i] <= STDERR_FILENO) {
            int high = fcntl(fds[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

            if (high < 0) {
                error_setg_errno(errp, errno, "Cannot make a pipe");
                close(fds[0]);
                close(fds[1]);
                return false;
            }
            close(fds[i]);
            fds[i] = high;
        }
    }
    return true;
}

static void close_fd(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

QIOChannelCommand *qio_channel_command_new_spawn(const char *const argv[],
                                                 int flags, Error **errp)
{
    int in[2] = { -1, -1 }, out[2] = { -1, -1 };
    g_autofree char *name = g_strjoinv(" ", (char **)argv);
    QIOChannelCommand *cioc;
    pid_t pid = -1;
    int ret;

    if (flags != O_RDONLY && !make_pipe(in, errp)) {
        return NULL;
    }
    if (flags != O_WRONLY && !make_pipe(out, errp)) {
        close_fd(in[0]);
        close_fd(in[1]);
        return NULL;
    }
    ret = spawn(&pid, argv, flags, in, out);
    close_fd(in[0]);
    close_fd(out[1]);
    if (ret) {
        error_setg_errno(errp, ret, "Cannot execute '%s'", argv[0]);
        close_fd(in[1]);
        close_fd(out[0]);
        return NULL;
    }

    cioc = g_new0(QIOChannelCommand, 1);
    cioc->write_fd = in[1];
    cioc->read_fd = out[0];
    cioc->pid = pid;
    cioc->patience_ms = -1;
    qio_channel_init(&cioc->parent, &command_class, true);
    qio_channel_set_name(&cioc->parent, name);
    if (flags == O_RDWR) {
        qio_channel_set_feature(&cioc->parent, QIO_CHANNEL_FEATURE_DUPLEX);
    }
    if (in[1] >= 0) {
        qio_fd_set_nonblock(in[1], true);
    }
    if (out[0] >= 0) {
        qio_fd_set_nonblock(out[0], true);
    }
    qio_ignore_sigpipe();
    return cioc;
}

void qio_channel_command_set_patience_ms(QIOChannelCommand *cioc, int ms)
{
    cioc->patience_ms = ms;
}

pid_t qio_channel_command_get_pid(QIOChannelCommand *cioc)
{
    return cioc->pid;
}
