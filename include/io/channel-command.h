/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command channel: the standard input and output of a child process.
 *
 * The child gets its standard error from us, default signal handling and no
 * other descriptor. Shutting the channel down wakes our threads; the child
 * sees its pipes close when the channel is closed. Closing waits for the
 * child up to some seconds (it has to write out what it got), then sends
 * SIGTERM, then SIGKILL; it is always reaped.
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

/* The child's process id, or -1 once it was reaped. */
pid_t qio_channel_command_get_pid(QIOChannelCommand *cioc);

#endif /* IO_CHANNEL_COMMAND_H */
