/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command channel: the standard input and output of a child process.
 *
 * The child gets its standard error from us, default signal handling and no
 * other descriptor. Shutting the channel down wakes our threads; the child
 * sees its pipes close when the channel is closed.
 *
 * Closing waits for the child, which may still have to write out what it got,
 * for as long as it takes (or as its patience is set). Once the channel was
 * shut down, before or meanwhile, by any thread, or patience is over, the
 * child gets SIGTERM and a second later SIGKILL. It is always reaped; if the
 * channel is dropped without being closed, by a thread of its own, so that
 * nobody waits.
 *
 * Used by: migration/. Uses: util.
 */
#ifndef IO_CHANNEL_COMMAND_H
#define IO_CHANNEL_COMMAND_H

#include "io/channel.h"

typedef struct QIOChannelCommand QIOChannelCommand;

/**
 * qio_channel_command_new_spawn: start @argv (NULL-terminated, path in [0])
 *
 * @flags: O_RDONLY (we read its output; its input is /dev/null), O_WRONLY (we
 *     write its input; its output is /dev/null) or O_RDWR
 *
 * Fails if the program cannot be executed.
 */
QIOChannelCommand *qio_channel_command_new_spawn(const char *const argv[],
                                                 int flags, Error **errp);

/* How long close waits for the child before it ends it; < 0: for ever. */
void qio_channel_command_set_patience_ms(QIOChannelCommand *cioc, int ms);

/* The child's process id, or -1 once it was reaped. */
pid_t qio_channel_command_get_pid(QIOChannelCommand *cioc);

#endif /* IO_CHANNEL_COMMAND_H */
