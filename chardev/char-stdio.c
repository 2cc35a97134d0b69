/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stdio chardev: standard input and output, raw if they are a terminal.
 *
 * Raw means: bytes as typed, no echo; ^C stays a signal unless signal=off.
 * The terminal is put back by the chardev's end, by exit(), and, being a
 * courtesy only, not after a crash.
 *
 * The descriptors are opened anew where the system lets us, so that making
 * them non-blocking does not leak to the shell that shares them.
 */
#include "qemu/osdep.h"

#include <signal.h>
#include <termios.h>

#include "char-stream.h"
#include "io/channel-file.h"

typedef struct StdioChardev {
    StreamChardev parent;
    bool signals; /* constant */
} StdioChardev;

/* One per process: there is one terminal, and exit() must put it back. */
static struct {
    bool in_use;
    const char *forbidden; /* why nobody may use it; NULL: one may */
    bool saved;            /* original is valid */
    struct termios original;
    struct termios wanted; /* after SIGCONT again */
} terminal;

static void terminal_restore(void)
{
    sigset_t set, old;

    if (!terminal.saved) {
        return;
    }
    /* In the background the terminal would stop us on our way out. */
    sigemptyset(&set);
    sigaddset(&set, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    tcsetattr(STDIN_FILENO, TCSANOW, &terminal.original);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* The shell may have changed it while we were stopped. */
static void terminal_continued(int signum)
{
    int saved_errno = errno;

    tcsetattr(STDIN_FILENO, TCSANOW, &terminal.wanted);
    errno = saved_errno;
}

static void terminal_set(bool cooked, bool signals)
{
    struct termios tty;

    if (!terminal.saved) {
        return;
    }
    tty = terminal.original;
    if (!cooked) {
        tty.c_iflag &= ~(IGNBRK | BRKINT | PARMRK | ISTRIP | INLCR | IGNCR |
                         ICRNL | IXON);
        tty.c_oflag |= OPOST;
        tty.c_lflag &= ~(ECHO | ECHONL | ICANON | IEXTEN);
        tty.c_cflag &= ~(CSIZE | PARENB);
        tty.c_cflag |= CS8;
        tty.c_cc[VMIN] = 1;
        tty.c_cc[VTIME] = 0;
    }
    if (!signals) {
        tty.c_lflag &= ~ISIG;
    }
    terminal.wanted = tty;
    tcsetattr(STDIN_FILENO, TCSANOW, &tty);
}

static void terminal_take(void)
{
    struct sigaction act = { .sa_handler = terminal_continued,
                             .sa_flags = SA_RESTART };
    static bool at_exit;

    if (!isatty(STDIN_FILENO) ||
        tcgetattr(STDIN_FILENO, &terminal.original) < 0) {
        return;
    }
    terminal.saved = true;
    if (!at_exit) {
        at_exit = true;
        atexit(terminal_restore);
    }
    terminal.wanted = terminal.original;
    sigaction(SIGCONT, &act, NULL);
}

/* An own open file description of @fd, or a duplicate of its present one. */
static QIOChannel *stdio_channel(int fd, int flags, Error **errp)
{
    g_autofree char *path = g_strdup_printf("/proc/self/fd/%d", fd);
    struct stat st;
    int own = -1;

    if (fstat(fd, &st) == 0 && (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode))) {
        own = open(path, flags | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    }
    if (own < 0) {
        own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    }
    if (own < 0) {
        error_setg_errno(errp, errno, "chardev: stdio");
        return NULL;
    }
    return QIO_CHANNEL(qio_channel_file_new_fd(own));
}

void qemu_chr_forbid_stdio(const char *why)
{
    terminal.forbidden = why;
}

static bool stdio_open(Chardev *chr, const ChardevOptions *o, bool *opened,
                       Error **errp)
{
    StdioChardev *s = container_of(chr, StdioChardev, parent.parent);
    QIOChannel *in, *out;

    if (terminal.forbidden) {
        error_setg(errp, "cannot use stdio %s", terminal.forbidden);
        return false;
    }
    if (terminal.in_use) {
        error_setg(errp, "cannot use stdio by multiple character devices");
        return false;
    }
    in = stdio_channel(STDIN_FILENO, O_RDONLY, errp);
    out = in ? stdio_channel(STDOUT_FILENO, O_WRONLY, errp) : NULL;
    if (!out) {
        qio_channel_unref(in);
        return false;
    }
    terminal.in_use = true;
    s->signals = o->has_signal ? o->signal : true;
    stream_set_channels(&s->parent, in, out);
    terminal_take();
    terminal_set(false, s->signals);
    return true;
}

static void stdio_close(Chardev *chr)
{
    StdioChardev *s = container_of(chr, StdioChardev, parent.parent);
    bool ours = s->parent.out;

    stream_close(chr);
    if (ours) {
        terminal_restore();
        terminal.saved = terminal.in_use = false;
        signal(SIGCONT, SIG_DFL);
    }
}

static void stdio_set_echo(Chardev *chr, bool echo)
{
    StdioChardev *s = container_of(chr, StdioChardev, parent.parent);

    terminal_set(echo, s->signals);
}

static const char *const stdio_options[] = { "signal", NULL };

const ChardevClass chardev_class_stdio = {
    .name = "stdio",
    .options = stdio_options,
    .instance_size = sizeof(StdioChardev),
    .open = stdio_open,
    .close = stdio_close,
    .disconnect = stream_disconnect,
    .set_echo = stdio_set_echo,
    STREAM_HOOKS,
};
