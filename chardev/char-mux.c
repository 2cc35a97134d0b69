/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mux: several front ends on one chardev, one of which has the keyboard.
 *
 * Output of all goes to the base as it comes. Input goes to the front end in
 * focus, the one attached last at first. Control-A is the escape character:
 *
 *   C-a h  help    C-a c  next front end    C-a x  quit
 *   C-a b  break   C-a C-a  a plain C-a
 *
 * Threads: input and focus belong to the main loop.
 */
#include "qemu/osdep.h"

#include "char-int.h"
#include "qemu/main-loop.h"

#define MUX_MAX_FRONTENDS 8
#define MUX_BUFFER_BYTES  64
#define MUX_ESCAPE        0x01

/* Typed ahead for a front end that cannot take it yet. */
typedef struct MuxBuffer {
    uint8_t data[MUX_BUFFER_BYTES];
    unsigned len;
} MuxBuffer;

typedef struct MuxChardev {
    Chardev parent;
    Chardev *base;        /* constant */
    CharFrontend base_fe; /* our end of base; constant */

    /* Main loop. */
    CharFrontend *fes[MUX_MAX_FRONTENDS]; /* NULL: free */
    MuxBuffer buffers[MUX_MAX_FRONTENDS];
    int focus; /* index; -1: nobody */
    bool escaped;
} MuxChardev;

#define MUX(chr) container_of(chr, MuxChardev, parent)

static void mux_event_to(MuxChardev *m, int i, QEMUChrEvent event)
{
    CharFrontend *fe = i >= 0 ? m->fes[i] : NULL;

    if (fe && fe->event) {
        fe->event(fe->opaque, event);
    }
}

static void mux_flush_buffer(MuxChardev *m, int i)
{
    CharFrontend *fe = m->fes[i];
    MuxBuffer *b = &m->buffers[i];

    while (fe && fe->read && b->len) {
        int may = fe->can_read ? fe->can_read(fe->opaque) : INT_MAX;
        uint8_t chunk[MUX_BUFFER_BYTES];
        unsigned n = MIN((unsigned)MAX(may, 0), b->len);

        if (!n) {
            return;
        }
        memcpy(chunk, b->data, n);
        b->len -= n;
        memmove(b->data, b->data + n, b->len);
        fe->read(fe->opaque, chunk, n);
    }
}

static void mux_set_focus(MuxChardev *m, int i)
{
    if (m->focus == i) {
        return;
    }
    mux_event_to(m, m->focus, CHR_EVENT_MUX_OUT);
    m->focus = i;
    mux_event_to(m, m->focus, CHR_EVENT_MUX_IN);
    if (i >= 0) {
        mux_flush_buffer(m, i);
    }
}

static void mux_next_focus(MuxChardev *m)
{
    for (int n = 1; n <= MUX_MAX_FRONTENDS; n++) {
        int i = (MAX(m->focus, 0) + n) % MUX_MAX_FRONTENDS;

        if (m->fes[i]) {
            mux_set_focus(m, i);
            return;
        }
    }
}

static void mux_print_help(MuxChardev *m)
{
    qemu_chr_fe_printf(&m->base_fe,
                       "\r\n"
                       "C-a h    this help\r\n"
                       "C-a x    quit\r\n"
                       "C-a c    give the keyboard to the next one\r\n"
                       "C-a b    send a break\r\n"
                       "C-a C-a  send a C-a\r\n");
}

static void mux_command(MuxChardev *m, uint8_t ch)
{
    switch (ch) {
    case 'h':
    case '?':
        mux_print_help(m);
        break;
    case 'c':
        mux_next_focus(m);
        break;
    case 'b':
        mux_event_to(m, m->focus, CHR_EVENT_BREAK);
        break;
    case 'x':
        qemu_chr_fe_printf(&m->base_fe, "%s: Terminated\r\n",
                           error_get_progname());
        if (chardev_mux_hooks()) {
            chardev_mux_hooks()->quit();
        }
        break;
    default: /* not ours: nothing happens */
        break;
    }
}

static void mux_input(MuxChardev *m, uint8_t ch)
{
    MuxBuffer *b;

    if (m->escaped) {
        m->escaped = false;
        if (ch != MUX_ESCAPE) {
            mux_command(m, ch);
            return;
        }
    } else if (ch == MUX_ESCAPE) {
        m->escaped = true;
        return;
    }
    if (m->focus < 0) {
        return;
    }
    b = &m->buffers[m->focus];
    if (b->len < sizeof(b->data)) { /* else typed too far ahead */
        b->data[b->len++] = ch;
    }
    mux_flush_buffer(m, m->focus);
}

/* Always takes a byte: the escape must work whatever the front end does. */
static int mux_can_read(void *opaque)
{
    return 1;
}

static void mux_read(void *opaque, const uint8_t *buf, int size)
{
    MuxChardev *m = opaque;

    for (int i = 0; i < size; i++) {
        mux_input(m, buf[i]);
    }
}

static void mux_event(void *opaque, QEMUChrEvent event)
{
    MuxChardev *m = opaque;

    if (event == CHR_EVENT_OPENED || event == CHR_EVENT_CLOSED) {
        m->parent.be_open = event == CHR_EVENT_OPENED;
    }
    for (int i = 0; i < MUX_MAX_FRONTENDS; i++) {
        mux_event_to(m, i, event);
    }
}

static bool mux_attach(Chardev *chr, CharFrontend *fe, Error **errp)
{
    MuxChardev *m = MUX(chr);

    for (int i = 0; i < MUX_MAX_FRONTENDS; i++) {
        if (!m->fes[i]) {
            m->fes[i] = fe;
            m->buffers[i].len = 0;
            fe->slot = i;
            chr->fe = fe; /* busy */
            return true;
        }
    }
    error_setg(errp, "chardev '%s' has %d users already, more are not possible",
               chr->label, MUX_MAX_FRONTENDS);
    return false;
}

static void mux_detach(Chardev *chr, CharFrontend *fe)
{
    MuxChardev *m = MUX(chr);

    m->fes[fe->slot] = NULL;
    chr->fe = NULL;
    for (int i = 0; i < MUX_MAX_FRONTENDS; i++) {
        if (m->fes[i]) {
            chr->fe = m->fes[i];
        }
    }
    if (m->focus == (int)fe->slot) {
        m->focus = -1;
        mux_next_focus(m);
    }
}

static void mux_update_handlers(Chardev *chr, CharFrontend *fe)
{
    MuxChardev *m = MUX(chr);

    if (!fe->read && !fe->event) {
        return;
    }
    assert(!fe->context);
    if (chr->be_open) {
        mux_event_to(m, fe->slot, CHR_EVENT_OPENED);
    }
    mux_set_focus(m, fe->slot);
}

static void mux_accept_input(Chardev *chr, CharFrontend *fe)
{
    if (bql_locked()) {
        mux_flush_buffer(MUX(chr), fe->slot);
    }
}

static int mux_write_locked(Chardev *chr, const uint8_t *buf, int len)
{
    return qemu_chr_fe_write(&MUX(chr)->base_fe, buf, len);
}

static int mux_queue_locked(Chardev *chr, const uint8_t *buf, int len)
{
    return qemu_chr_fe_write_all(&MUX(chr)->base_fe, buf, len);
}

static size_t mux_queued_locked(Chardev *chr)
{
    return qemu_chr_fe_queued(&MUX(chr)->base_fe);
}

static bool mux_open(Chardev *chr, const ChardevOptions *o, bool *opened,
                     Error **errp)
{
    MUX(chr)->focus = -1;
    *opened = false; /* the base will tell */
    return true;
}

static void mux_close(Chardev *chr)
{
    MuxChardev *m = MUX(chr);

    qemu_chr_fe_deinit(&m->base_fe, true);
}

const ChardevClass chardev_class_mux = {
    .name = "mux",
    .instance_size = sizeof(MuxChardev),
    .open = mux_open,
    .close = mux_close,
    .write_locked = mux_write_locked,
    .queue_locked = mux_queue_locked,
    .queued_locked = mux_queued_locked,
    .update_handlers = mux_update_handlers,
    .accept_input = mux_accept_input,
    .attach = mux_attach,
    .detach = mux_detach,
};

Chardev *chardev_mux_new(const char *label, Chardev *base, Error **errp)
{
    static const ChardevOptions no_options;
    Chardev *chr = chardev_new(label, &chardev_class_mux, &no_options, errp);
    MuxChardev *m;

    if (!chr) {
        return NULL;
    }
    m = MUX(chr);
    m->base = base;
    qemu_chr_fe_init(&m->base_fe, base, &error_abort);
    chr->be_open = base->be_open;
    qemu_chr_fe_set_handlers(&m->base_fe, mux_can_read, mux_read, mux_event, m,
                             NULL);
    return chr;
}

void chardev_mux_forget_frontends(Chardev *chr)
{
    MuxChardev *m = MUX(chr);

    for (int i = 0; i < MUX_MAX_FRONTENDS; i++) {
        if (m->fes[i]) {
            qemu_chr_fe_deinit(m->fes[i], false);
        }
    }
}
