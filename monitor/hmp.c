/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HMP monitor: a prompt on a chardev, for people.
 *
 * Threads: main loop; printing and monitor_resume() from any thread.
 */
#include "qemu/osdep.h"

#include "config-host.h"
#include "hmp-line.h"
#include "monitor-int.h"
#include "qemu/main-loop.h"
#include "trace-monitor.h"

#define HMP_PROMPT "(qemu) "

typedef struct HmpMonitor {
    Monitor common;
    CharFrontend fe;       /* constant until monitor_hmp_delete() */
    _Atomic unsigned refs; /* who made it, each suspend, each bottom half */

    /* Main loop. */
    HmpLine *line;
    GByteArray *typed_ahead; /* came behind a line that suspended */
    unsigned suspended;      /* nested */
    bool unfocused;          /* on a mux, someone else has the keyboard */
    bool greeted;            /* this client */
    bool prompt_due;         /* as soon as the focus has settled */
    bool closed;             /* no client */
} HmpMonitor;

#define HMP(mon) container_of(mon, HmpMonitor, common)

static void hmp_puts(Monitor *m, const char *text)
{
    GString *out = g_string_sized_new(strlen(text) + 16);

    monitor_append_crlf(out, text);
    qemu_chr_fe_write_all(&HMP(m)->fe, (uint8_t *)out->str, out->len);
    g_string_free(out, TRUE);
}

static void hmp_unref(HmpMonitor *mon)
{
    if (atomic_fetch_sub(&mon->refs, 1) == 1) {
        hmp_line_free(mon->line);
        g_byte_array_unref(mon->typed_ahead);
        g_free(mon);
    }
}

static void hmp_prompt(HmpMonitor *mon)
{
    if (mon->suspended || mon->unfocused || mon->closed) {
        return;
    }
    if (!mon->greeted) {
        mon->greeted = true;
        monitor_printf(&mon->common,
                       "%s %s monitor; 'help' lists its commands\n",
                       PROJECT_NAME, PROJECT_VERSION);
    }
    hmp_line_show(mon->line);
}

static void hmp_enter(void *opaque, const char *text)
{
    HmpMonitor *mon = opaque;

    /* Guards against a command that suspends and resumes at once. */
    trace_handle_hmp_command(mon, text);
    mon->suspended++;
    hmp_execute(&mon->common, text);
    mon->suspended--;
    hmp_prompt(mon);
}

static void hmp_echo(void *opaque, const char *text)
{
    HmpMonitor *mon = opaque;

    hmp_puts(&mon->common, text);
}

static const HmpLineOps hmp_line_ops = {
    .echo = hmp_echo,
    .enter = hmp_enter,
    .complete = hmp_complete,
};

static void hmp_prompt_if_due(HmpMonitor *mon)
{
    if (mon->prompt_due) {
        mon->prompt_due = false;
        hmp_prompt(mon);
    }
}

static int hmp_can_read(void *opaque)
{
    HmpMonitor *mon = opaque;

    return mon->suspended || mon->typed_ahead->len ? 0 : INT_MAX;
}

/* What follows a line that suspends waits. */
static void hmp_type(HmpMonitor *mon)
{
    while (mon->typed_ahead->len && !mon->suspended) {
        uint8_t ch = mon->typed_ahead->data[0];

        g_byte_array_remove_index(mon->typed_ahead, 0);
        hmp_line_key(mon->line, ch);
    }
}

static void hmp_read(void *opaque, const uint8_t *buf, int size)
{
    HmpMonitor *mon = opaque;

    g_byte_array_append(mon->typed_ahead, buf, size);
    hmp_prompt_if_due(mon);
    mon->refs++; /* a command may delete its own monitor */
    hmp_type(mon);
    hmp_unref(mon);
}

static void hmp_prompt_later(void *opaque)
{
    HmpMonitor *mon = opaque;

    hmp_prompt_if_due(mon);
    hmp_unref(mon);
}

static void hmp_event(void *opaque, QEMUChrEvent event)
{
    HmpMonitor *mon = opaque;

    switch (event) {
    case CHR_EVENT_OPENED:
        mon->closed = false;
        mon->greeted = false;
        hmp_line_restart(mon->line);
        hmp_prompt(mon);
        break;
    case CHR_EVENT_CLOSED:
        mon->closed = true;
        g_byte_array_set_size(mon->typed_ahead, 0);
        hmp_line_restart(mon->line);
        break;
    case CHR_EVENT_EOF:
        /* Its last command is done, except one that suspended. */
        qemu_chr_fe_disconnect(&mon->fe);
        break;
    case CHR_EVENT_MUX_IN:
        /* At start-up the focus goes from one to the next: wait and see. */
        mon->unfocused = false;
        mon->prompt_due = true;
        mon->refs++;
        aio_bh_schedule_oneshot(hmp_prompt_later, mon);
        break;
    case CHR_EVENT_MUX_OUT:
        if (!mon->unfocused && mon->greeted) {
            monitor_puts(&mon->common, "\n");
        }
        mon->unfocused = true;
        break;
    default:
        break;
    }
}

static bool hmp_suspend(Monitor *m)
{
    HmpMonitor *mon = HMP(m);

    if (mon->closed) {
        return false;
    }
    mon->suspended++;
    mon->refs++;
    return true;
}

static void hmp_resume_in_main(void *opaque)
{
    HmpMonitor *mon = opaque;

    assert(mon->suspended > 0);
    if (--mon->suspended == 0) {
        hmp_prompt(mon);
        hmp_type(mon);
        qemu_chr_fe_accept_input(&mon->fe);
    }
    hmp_unref(mon);
}

static void hmp_resume(Monitor *m)
{
    aio_bh_schedule_oneshot(hmp_resume_in_main, HMP(m));
}

static const MonitorOps hmp_ops = {
    .puts = hmp_puts,
    .suspend = hmp_suspend,
    .resume = hmp_resume,
};

bool monitor_hmp_is_suspended(const Monitor *mon)
{
    return mon->ops == &hmp_ops && HMP(mon)->suspended;
}

int monitor_hmp_take_fd(Monitor *mon)
{
    return mon->ops == &hmp_ops ? qemu_chr_fe_get_msgfd(&HMP(mon)->fe) : -1;
}

Monitor *monitor_new_hmp(Chardev *chr, Error **errp)
{
    HmpMonitor *mon = g_new0(HmpMonitor, 1);

    mon->common.ops = &hmp_ops;
    mon->refs = 1;
    if (!qemu_chr_fe_init(&mon->fe, chr, errp)) {
        g_free(mon);
        return NULL;
    }
    /* On a mux the greeting waits until someone turns to it. */
    mon->unfocused = qemu_chr_has_mux(chr);
    mon->closed = true;
    mon->typed_ahead = g_byte_array_new();
    mon->line = hmp_line_new(HMP_PROMPT, &hmp_line_ops, mon);
    qemu_chr_fe_set_dialogue(&mon->fe);
    qemu_chr_fe_set_echo(&mon->fe, false);
    qemu_chr_fe_set_handlers(&mon->fe, hmp_can_read, hmp_read, hmp_event, mon,
                             NULL);
    return &mon->common;
}

void monitor_hmp_delete(Monitor *m)
{
    HmpMonitor *mon = HMP(m);

    qemu_chr_fe_deinit(&mon->fe, false);
    mon->closed = true;
    hmp_unref(mon);
}

/*
 * human-monitor-command
 */

typedef struct HmpCapture {
    Monitor common;
    QemuMutex lock;
    GString *out; /* guarded by lock */
} HmpCapture;

static void capture_puts(Monitor *m, const char *text)
{
    HmpCapture *c = container_of(m, HmpCapture, common);

    QEMU_LOCK_GUARD(&c->lock);
    monitor_append_crlf(c->out, text);
}

static const MonitorOps capture_ops = {
    .puts = capture_puts,
};

char *monitor_hmp_command(const char *line, int cpu_index)
{
    HmpCapture c = { .common = { .ops = &capture_ops,
                                 .cpu_index = cpu_index } };

    qemu_mutex_init(&c.lock);
    c.out = g_string_new(NULL);
    hmp_execute(&c.common, line);
    qemu_mutex_destroy(&c.lock);
    return g_string_free(c.out, FALSE);
}
