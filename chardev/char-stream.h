/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stream chardev: the part shared by back ends that talk through channels.
 *
 * It watches the input channel in the front end's context, hands bytes and
 * descriptors up, and writes without waiting: what the peer does not take is
 * queued and sent when it does. What it means that the peer left is the back
 * end's affair (peer_gone).
 *
 * Used by: the back ends of this directory. Uses: io.
 */
#ifndef CHARDEV_CHAR_STREAM_H
#define CHARDEV_CHAR_STREAM_H

#include "char-int.h"
#include "io/channel.h"

typedef struct StreamChardev StreamChardev;

struct StreamChardev {
    Chardev parent;

    /* Set by open(), then constant. In the context's thread; may be NULL: then
     * input ends with CLOSED, output goes on. */
    void (*peer_gone)(StreamChardev *s);
    /* When context or handlers change; may be NULL: stop what goes on in the
     * old context (from set_handlers), and begin it in the new one (there). */
    void (*context_leaving)(StreamChardev *s);
    void (*context_changed)(StreamChardev *s);

    /* Guarded by parent.lock. Sources live in the front end's context. */
    QIOChannel *in;  /* NULL: nothing to read */
    QIOChannel *out; /* NULL: no peer; may be the same as in */
    GSource *in_source;
    GSource *out_source;
    GSource *hup_source;    /* only while input is paused */
    GSource *start_source;  /* OPENED is under way to another context */
    GSource *hangup_source; /* disconnect() from another thread */
    GByteArray *queue;      /* not sent yet from queue_done on */
    size_t queue_done;
    bool out_broken;     /* a write failed: drop until the peer is gone */
    bool closing;        /* hang up once the queue is empty */
    unsigned nr_accepts; /* calls of accept_input, to notice a race */
    int *out_fds;        /* go with the next byte written */
    int nr_out_fds;

    /* The context's thread. */
    int *in_fds; /* came with the last input, not yet asked for */
    int nr_in_fds;
    bool in_ended; /* written under the lock */
};

/* References move to @s. Either may be NULL; both the same is fine. */
void stream_set_channels(StreamChardev *s, QIOChannel *in, QIOChannel *out);
/* Forget the channels, what is queued and the fds; stop watching. */
void stream_drop(StreamChardev *s);
/* Begin or continue to watch for input. The context's thread. */
void stream_watch(StreamChardev *s);
/* Wait up to @ms for the queue to be taken: on the way out. */
void stream_flush(StreamChardev *s, int ms);

/* A source calling @fn in @chr's context; for timers and listeners too. */
void stream_attach_source(Chardev *chr, GSource **slot, GSource *source,
                          GSourceFunc fn, void *opaque);
void stream_destroy_source(GSource **slot);
/* First thing in a source's callback; returns the parent. */
Chardev *stream_woken(StreamChardev *s);

/* Hooks of ChardevClass. */
int stream_write_locked(Chardev *chr, const uint8_t *buf, int len);
int stream_queue_locked(Chardev *chr, const uint8_t *buf, int len);
size_t stream_queued_locked(Chardev *chr);
void stream_update_handlers(Chardev *chr, CharFrontend *fe);
void stream_accept_input(Chardev *chr, CharFrontend *fe);
int stream_get_msgfds(Chardev *chr, int *fds, int num);
bool stream_set_msgfds(Chardev *chr, const int *fds, int num, Error **errp);
void stream_disconnect(Chardev *chr);
void stream_close(Chardev *chr);

#define STREAM_HOOKS                                                          \
    .write_locked = stream_write_locked, .queue_locked = stream_queue_locked, \
    .queued_locked = stream_queued_locked,                                    \
    .update_handlers = stream_update_handlers,                                \
    .accept_input = stream_accept_input

#endif /* CHARDEV_CHAR_STREAM_H */
