/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chardev inside: what back ends share and front ends must not see.
 *
 * A back end is one ChardevClass in the table of char.c. Three kinds exist:
 * sinks without a peer (null, ringbuf), streams on a channel (char-stream.h:
 * socket, stdio, file, pipe, pty), and the mux.
 *
 * Locks: Chardev.lock guards what writers touch. It is never held while a
 * front end's callback runs. The callbacks run in one thread only, that of
 * the front end's context, and so do all changes of the back end's state that
 * a peer causes; hence they read the front end's handlers without the lock.
 */
#ifndef CHARDEV_CHAR_INT_H
#define CHARDEV_CHAR_INT_H

#include <json-c/json.h>

#include "chardev/char.h"
#include "qemu/error.h"
#include "qemu/thread.h"

/* What a peer may leave unread before output is dropped. */
#define CHR_QUEUE_MAX_BYTES (1024 * 1024)
/* The same if the front end asked to lose nothing (monitors). */
#define CHR_QUEUE_HARD_MAX_BYTES (64 * 1024 * 1024)
#define CHR_READ_BYTES           4096

/* Everything that can be said of a chardev, whoever says it. has_X: said. */
typedef struct ChardevOptions {
    char *id;
    char *backend;
    char *path;
    char *input_path;
    char *host;
    char *port;
    char *fd;
    char *logfile;
    char *tls_creds; /* refused with a reason, as are the next ones */
    bool has_telnet, telnet;
    bool has_tn3270, tn3270;
    bool has_websocket, websocket;
    bool has_server, server;
    bool has_wait, wait;
    bool has_nodelay, nodelay;
    bool has_delay, delay;
    bool has_ipv4, ipv4;
    bool has_ipv6, ipv6;
    bool has_abstract, abstract;
    bool has_tight, tight;
    bool has_append, append;
    bool has_logappend, logappend;
    bool has_signal, signal;
    bool has_mux, mux;
    bool has_to;
    uint64_t to;
    bool has_reconnect;
    uint64_t reconnect;
    bool has_reconnect_ms;
    uint64_t reconnect_ms;
    bool has_size;
    uint64_t size;
} ChardevOptions;

void chardev_options_free(ChardevOptions *o);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ChardevOptions, chardev_options_free)

/* "BACKEND,id=...": of -chardev. */
ChardevOptions *chardev_options_parse(const char *optarg, Error **errp);
/* A spec as of -serial, without mon: and chardev:. */
ChardevOptions *chardev_options_from_spec(const char *label, const char *spec,
                                          Error **errp);

typedef struct ChardevClass {
    const char *name;
    /* Names of ChardevOptions it takes beside id, logfile, logappend, mux. */
    const char *const *options;
    size_t instance_size;

    /* Required. @opened: set to false if there is no peer yet. */
    bool (*open)(Chardev *chr, const ChardevOptions *o, bool *opened,
                 Error **errp);
    /* Required. Bytes taken, 0..@len; -1 with errno. Called with the lock. */
    int (*write_locked)(Chardev *chr, const uint8_t *buf, int len);

    /* Optional: no duty, no hook. */
    void (*close)(Chardev *chr); /* also after a failed open */
    /* The front end's handlers or context are new. Without the lock. */
    void (*update_handlers)(Chardev *chr, CharFrontend *fe);
    void (*accept_input)(Chardev *chr, CharFrontend *fe);
    size_t (*queued_locked)(Chardev *chr);
    /* Queue up to CHR_QUEUE_(HARD_)MAX_BYTES; as write_locked otherwise. */
    int (*queue_locked)(Chardev *chr, const uint8_t *buf, int len);
    int (*get_msgfds)(Chardev *chr, int *fds, int num);
    bool (*set_msgfds)(Chardev *chr, const int *fds, int num, Error **errp);
    void (*disconnect)(Chardev *chr);
    void (*set_echo)(Chardev *chr, bool echo);
    bool (*wait_connected)(Chardev *chr, Error **errp);
    /* Mux only: several front ends. Without these there is one. */
    bool (*attach)(Chardev *chr, CharFrontend *fe, Error **errp);
    void (*detach)(Chardev *chr, CharFrontend *fe);
} ChardevClass;

struct Chardev {
    const ChardevClass *klass; /* constant */
    char *label;               /* constant */
    bool dialogue;             /* constant after the front end said so */

    /* Main loop: list of all, words for people. */
    char *filename;

    /* The front end's context thread; NULL: nobody attached. */
    CharFrontend *fe;

    QemuMutex lock;
    int logfd;            /* guarded by lock; -1: none */
    _Atomic bool be_open; /* a peer is there */

    /* Guarded by lock. */
    void (*drained_cb)(void *opaque);
    void *drained_opaque;
};

extern const ChardevClass chardev_class_null, chardev_class_file,
    chardev_class_stdio, chardev_class_socket, chardev_class_pty,
    chardev_class_ringbuf, chardev_class_mux, chardev_class_pipe;

/* Table of all that -chardev knows, NULL-terminated. */
extern const ChardevClass *const chardev_classes[];
const ChardevClass *chardev_class_find(const char *name);

/* Make, open and list a chardev. */
Chardev *chardev_new(const char *label, const ChardevClass *klass,
                     const ChardevOptions *o, Error **errp);
/* Make it with a mux in front of it if the options say so. */
Chardev *chardev_new_from_options(const ChardevOptions *o, Error **errp);
void chardev_delete(Chardev *chr);
/* @base becomes the mux's and goes with it. */
Chardev *chardev_mux_new(const char *label, Chardev *base, Error **errp);
void chardev_mux_forget_frontends(Chardev *chr);
bool chardev_options_check(const ChardevOptions *o, const ChardevClass *klass,
                           Error **errp);
void chardev_foreach(void (*fn)(Chardev *chr, void *opaque), void *opaque);
const ChardevMuxHooks *chardev_mux_hooks(void); /* may be NULL */
bool chardev_is_busy(const Chardev *chr);

/* For back ends, in the context's thread. */
GMainContext *chr_context(Chardev *chr);
int chr_can_read(Chardev *chr); /* 0 without a reader */
void chr_read(Chardev *chr, const uint8_t *buf, int len);
void chr_event(Chardev *chr, QEMUChrEvent event);

/* Replace the words shown by query-chardev. Any thread. */
void chr_set_filename(Chardev *chr, char *owned);

#endif /* CHARDEV_CHAR_INT_H */
