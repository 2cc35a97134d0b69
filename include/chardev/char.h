/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Character device: a two-way stream of bytes between a front end (UART,
 * monitor, qtest) and the host (socket, terminal, file, ...).
 *
 * A chardev has a name (label, id) and at most one front end; a mux has
 * several that take turns. Input reaches the front end by callbacks; output
 * is written by qemu_chr_fe_write*() from any thread.
 *
 * Threads and blocking
 *   can_read, read and event run in the front end's GMainContext (NULL: the
 *   default one, i.e. the main loop, under the BQL), never two at once.
 *   They may call any function here, qemu_chr_fe_deinit() included.
 *   Writing takes the chardev's own lock only and never waits for a peer
 *   for ever: what the peer does not take is queued by _write_all() up to a
 *   bound, beyond that dropped (a guest's output must not stop the guest);
 *   _write() takes what fits and says how much.
 *   All else: main loop, under the BQL.
 *
 * Used by: hw/char, monitor/, system/qtest, system/cmdline.
 * Uses:    util, qapi.
 */
#ifndef CHARDEV_CHAR_H
#define CHARDEV_CHAR_H

#include "qemu/monitor-sink.h"

typedef enum QEMUChrEvent {
    CHR_EVENT_BREAK,
    CHR_EVENT_OPENED,  /* someone is at the other end (again) */
    CHR_EVENT_MUX_IN,  /* this front end of a mux now has the input */
    CHR_EVENT_MUX_OUT, /* ... and now no longer */
    CHR_EVENT_CLOSED,  /* the other end has gone */
    CHR_EVENT_EOF,     /* dialogues only: it sends no more but may still read */
} QEMUChrEvent;

/* How many bytes read may be called with now; 0: ask again after
 * qemu_chr_fe_accept_input(). */
typedef int IOCanReadHandler(void *opaque);
typedef void IOReadHandler(void *opaque, const uint8_t *buf, int size);
typedef void IOEventHandler(void *opaque, QEMUChrEvent event);

/* A user's end of a chardev. Zeroed = not connected: writes go nowhere and
 * succeed, so that a UART without a back end needs no special case. Users
 * embed it; they touch no field. */
typedef struct CharFrontend {
    Chardev *chr;  /* constant between init and deinit */
    unsigned slot; /* of a mux; constant between init and deinit */

    /* Written by set_handlers, under the chardev's lock. */
    IOCanReadHandler *can_read;
    IOReadHandler *read;
    IOEventHandler *event;
    void *opaque;
    GMainContext *context;
} CharFrontend;
typedef CharFrontend CharBackend; /* its older name */

/**
 * qemu_chr_new: make a chardev from a spec as of -serial, -monitor, -qmp
 *
 * @label: its name; made unique by the caller
 * @spec: null | stdio | file:PATH | pty | unix:PATH[,server=on][,wait=off] |
 *        tcp:HOST:PORT[,...] | ringbuf | pipe:PATH | chardev:ID (an existing
 *        one) | mon:SPEC (a mux with a monitor beside) | none (no chardev)
 *
 * Returns it, or NULL with @errp set; "none" gives NULL without an error.
 */
Chardev *qemu_chr_new(const char *label, const char *spec, Error **errp);
/* Argument of -chardev: "BACKEND,id=ID,...". "help": prints the list of back
 * ends, returns NULL without an error. */
Chardev *qemu_chr_new_from_opts(const char *optarg, Error **errp);

Chardev *qemu_chr_find(const char *label);
const char *qemu_chr_label(const Chardev *chr);
/* Words for query-chardev: "unix:/tmp/s,server=on". The caller frees. */
char *qemu_chr_filename(const Chardev *chr);
bool qemu_chr_has_mux(const Chardev *chr);

/* What a mux needs of those above; set once by the monitor's start-up. */
typedef struct ChardevMuxHooks {
    bool (*make_monitor)(Chardev *mux, Error **errp); /* for "mon:SPEC" */
    void (*quit)(void);                               /* C-a x */
} ChardevMuxHooks;
void qemu_chr_set_mux_hooks(const ChardevMuxHooks *hooks);

/* From now on stdio chardevs are refused. @why ends "cannot use stdio ..." and
 * stays valid. Main thread. */
void qemu_chr_forbid_stdio(const char *why);

/* Exit: flush what can be flushed at once, restore the terminal, unlink. */
void qemu_chr_cleanup_all(void);

/*
 * Front end.
 */

/* Connect @fe to @chr (NULL: allowed, see above). Fails if it is in use. */
bool qemu_chr_fe_init(CharFrontend *fe, Chardev *chr, Error **errp);
/* Leave; @del: destroy the chardev as well. Also for one never connected. */
void qemu_chr_fe_deinit(CharFrontend *fe, bool del);
bool qemu_chr_fe_backend_connected(const CharFrontend *fe); /* has a chardev */
bool qemu_chr_fe_backend_open(const CharFrontend *fe);      /* has a peer */

/**
 * qemu_chr_fe_set_handlers: choose who hears input and events
 *
 * All NULL: none; input then waits in the host. @context NULL: main loop;
 * else the context of a thread that runs it (not for a mux). If a peer is
 * there already, an OPENED event follows at once, in @context. Call it in the
 * context's thread or while that thread stands still; a context other than
 * the default one can be left only for the default one.
 */
void qemu_chr_fe_set_handlers(CharFrontend *fe, IOCanReadHandler *can_read,
                              IOReadHandler *read, IOEventHandler *event,
                              void *opaque, GMainContext *context);

/* Returns bytes taken, 0..@len; -1 with errno if there is no peer or it
 * broke. EAGAIN never: 0 then. */
int qemu_chr_fe_write(CharFrontend *fe, const uint8_t *buf, int len);
/* Takes all or, if the queue is full or nobody listens, drops. Returns @len;
 * -1 if something was dropped. */
int qemu_chr_fe_write_all(CharFrontend *fe, const uint8_t *buf, int len);
void qemu_chr_fe_printf(CharFrontend *fe, const char *fmt, ...)
    G_GNUC_PRINTF(2, 3);
/* Bytes queued for the peer and not yet taken. Any thread. */
size_t qemu_chr_fe_queued(const CharFrontend *fe);
/* Call @cb(@opaque) once, in the front end's context, when the queue is empty
 * or given up. Returns false, and does nothing, if it is empty now. */
bool qemu_chr_fe_notify_drained(CharFrontend *fe, void (*cb)(void *opaque),
                                void *opaque);

/*
 * A front end that answers what it reads (a monitor): its queue may grow
 * to 64 MiB, and a peer that shuts down its sending half gives EOF instead of
 * CLOSED; the front end then calls qemu_chr_fe_disconnect() after its last
 * answer, which sends what is queued first.
 */
void qemu_chr_fe_set_dialogue(CharFrontend *fe);

/* can_read may now answer otherwise than 0. Any thread. */
void qemu_chr_fe_accept_input(CharFrontend *fe);

/*
 * File descriptors that came with the input read last: the oldest one, owned
 * by the caller; -1: none. Those nobody asked for are closed when the next
 * ones arrive or the peer leaves. Call in the front end's context, in or after
 * read.
 */
int qemu_chr_fe_get_msgfd(CharFrontend *fe);
/* The same, up to @num; returns how many. */
int qemu_chr_fe_get_msgfds(CharFrontend *fe, int *fds, int num);
/* Duplicates of @fds go out with the next byte written. */
bool qemu_chr_fe_set_msgfds(CharFrontend *fe, const int *fds, int num,
                            Error **errp);

/* Hang up; a server then waits for the next client. */
void qemu_chr_fe_disconnect(CharFrontend *fe);
/* Terminal: true leaves it in line mode with echo, false makes it raw. */
void qemu_chr_fe_set_echo(CharFrontend *fe, bool echo);
/* Wait until a peer is there (a server with wait=on waits when made). */
bool qemu_chr_fe_wait_connected(CharFrontend *fe, Error **errp);

/* chardev-add and kin, info chardev; monitor_init_globals() adds them. */
extern const HMPCommand hmp_chardev_commands[];
extern const HMPCommand hmp_chardev_info_commands[];

#endif /* CHARDEV_CHAR_H */
