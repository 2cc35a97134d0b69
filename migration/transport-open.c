/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opening what needs no peer to be there: files, descriptors, commands. See
 * transport.h.
 */
#include "qemu/osdep.h"

#include "io/channel-command.h"
#include "io/channel-file.h"
#include "io/channel-socket.h"
#include "qemu/fd-store.h"
#include "system/sandbox.h"

#include "transport-internal.h"

/* After the stream has been read, a command has nothing left to do for us. */
#define INCOMING_PATIENCE_MS 1000

/*
 * Files.
 */

static bool prepare_outgoing(QIOChannelFile *fioc,
                             const FileMigrationArgs *args, Error **errp)
{
    int fd = qio_channel_get_fd(QIO_CHANNEL(fioc), G_IO_OUT);
    struct stat st;

    if (fstat(fd, &st) < 0) {
        error_setg_errno(errp, errno, "file: '%s'", args->filename);
        return false;
    }
    if (S_ISREG(st.st_mode) &&
        !qio_channel_file_truncate(fioc, args->offset, errp)) {
        return false;
    }
    return true;
}

static bool prepare_incoming(QIOChannelFile *fioc,
                             const FileMigrationArgs *args, Error **errp)
{
    struct stat st;

    if (fstat(qio_channel_get_fd(QIO_CHANNEL(fioc), G_IO_IN), &st) == 0 &&
        S_ISREG(st.st_mode) && args->offset > (uint64_t)st.st_size) {
        error_setg(errp,
                   "file: '%s' has %lld bytes, the stream cannot begin at "
                   "offset %" PRIu64,
                   args->filename, (long long)st.st_size, args->offset);
        return false;
    }
    return true;
}

QIOChannel *transport_file_open(const FileMigrationArgs *args, bool outgoing,
                                Error **errp)
{
    ERRP_GUARD();
    g_autoptr(QIOChannel) ioc = NULL;
    g_autoptr(Error) err = NULL;
    QIOChannelFile *fioc;
    int os_errno = 0;

    fioc = qio_channel_file_new_path(args->filename,
                                     outgoing ? O_WRONLY | O_CREAT : O_RDONLY,
                                     0600, &os_errno, &err);
    if (!fioc) {
        if (os_errno != ENXIO) {
            error_propagate(errp, g_steal_pointer(&err));
            error_prepend(errp, "file: ");
        }
        return NULL;
    }
    ioc = QIO_CHANNEL(fioc);
    if (!(outgoing ? prepare_outgoing : prepare_incoming)(fioc, args, errp)) {
        return NULL;
    }
    /* A fdset's descriptor has a position of its own; ours is the offset. */
    if (qio_channel_has_feature(ioc, QIO_CHANNEL_FEATURE_SEEKABLE)) {
        if (qio_channel_io_seek(ioc, args->offset, SEEK_SET, errp) < 0) {
            return NULL;
        }
    } else if (args->offset) {
        error_setg(errp, "file: '%s' has no positions, an offset needs them",
                   args->filename);
        return NULL;
    }
    return g_steal_pointer(&ioc);
}

/*
 * Descriptors.
 */

static bool check_fd(int fd, const char *str, bool outgoing, Error **errp)
{
    int access = fcntl(fd, F_GETFL) & O_ACCMODE;
    struct stat st;

    if (fstat(fd, &st) < 0) {
        error_setg_errno(errp, errno, "fd: '%s'", str);
        return false;
    }
    if (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode) &&
        !S_ISCHR(st.st_mode)) {
        error_setg(errp,
                   "fd: '%s' is a file, not a pipe or socket; use file: (with "
                   "/dev/fdset/N) instead",
                   str);
        return false;
    }
    if (access == (outgoing ? O_RDONLY : O_WRONLY)) {
        error_setg(errp, "fd: '%s' is not open for %s", str,
                   outgoing ? "writing" : "reading");
        return false;
    }
    return true;
}

static bool fd_is_socket(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

QIOChannel *transport_fd_open(const char *str, bool outgoing, Error **errp)
{
    int fd = fd_store_param(str, errp);
    bool ours = !g_ascii_isdigit(*str); /* to close on failure */
    QIOChannel *ioc;

    if (fd < 0) {
        return NULL;
    }
    if (fd <= STDERR_FILENO) {
        /* Not ours alone: leave it to those who print on it. */
        fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        ours = true;
    }
    if (!check_fd(fd, str, outgoing, errp)) {
        /* By number it stays the client's, who may want to use it rightly. */
        if (ours && fd >= 0) {
            close(fd);
        }
        return NULL;
    }
    ioc = fd_is_socket(fd) ? QIO_CHANNEL(qio_channel_socket_new_fd(fd, errp))
                           : QIO_CHANNEL(qio_channel_file_new_fd(fd));
    if (!ioc) {
        if (ours) {
            close(fd);
        }
        return NULL;
    }
    if (qio_channel_has_feature(ioc, QIO_CHANNEL_FEATURE_LISTEN)) {
        error_setg(errp, "fd: '%s' is a listening socket, not a connected one",
                   str);
        qio_channel_unref(ioc);
        return NULL;
    }
    return ioc;
}

/*
 * Commands.
 */

QIOChannel *transport_exec_open(const MigrationExecCommand *cmd, bool outgoing,
                                Error **errp)
{
    ERRP_GUARD();
    g_autoptr(GPtrArray) argv = g_ptr_array_new();
    QIOChannelCommand *cioc;

    for (const strList *it = cmd->args; it; it = it->next) {
        g_ptr_array_add(argv, it->value);
    }
    if (!argv->len) {
        error_setg(errp, "exec: there is no command");
        return NULL;
    }
    if (!sandbox_check_spawn(errp)) {
        error_prepend(errp, "exec: ");
        return NULL;
    }
    g_ptr_array_add(argv, NULL);
    /* Both ways: some commands carry the return path too. */
    cioc = qio_channel_command_new_spawn((const char *const *)argv->pdata,
                                         O_RDWR, errp);
    if (cioc && !outgoing) {
        qio_channel_command_set_patience_ms(cioc, INCOMING_PATIENCE_MS);
    }
    return QIO_CHANNEL(cioc);
}
