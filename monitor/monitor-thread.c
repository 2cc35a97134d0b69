/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread in which QMP is read. See monitor-int.h. */
#include "qemu/osdep.h"

#include "monitor-int.h"
#include "qemu/tsan.h"

/* One per process: shared by all QMP monitors, as their work there is small. */
static struct {
    QemuThread thread;
    GMainContext *context; /* NULL: not running */
    GMainLoop *loop;
} monitor_thread;

static void *monitor_thread_main(void *opaque)
{
    g_main_context_push_thread_default(monitor_thread.context);
    g_main_loop_run(monitor_thread.loop);
    g_main_context_pop_thread_default(monitor_thread.context);
    return NULL;
}

GMainContext *monitor_thread_context(void)
{
    if (!monitor_thread.context) {
        monitor_thread.context = g_main_context_new();
        monitor_thread.loop = g_main_loop_new(monitor_thread.context, FALSE);
        qemu_thread_create(&monitor_thread.thread, "IO mon_iothread",
                           monitor_thread_main, NULL, QEMU_THREAD_JOINABLE,
                           &error_fatal);
    }
    return monitor_thread.context;
}

typedef struct ThreadCall {
    void (*fn)(void *opaque);
    void *opaque;
    QemuEvent done;
} ThreadCall;

static gboolean thread_call_run(gpointer opaque)
{
    ThreadCall *call = opaque;

    tsan_acquire(call);
    call->fn(call->opaque);
    qemu_event_set(&call->done);
    return G_SOURCE_REMOVE;
}

/* As an idle source: g_main_context_invoke() could run it right here. */
static void thread_call_post(ThreadCall *call)
{
    GSource *source = g_idle_source_new();

    tsan_release(call);
    g_source_set_priority(source, G_PRIORITY_DEFAULT);
    g_source_set_callback(source, thread_call_run, call, NULL);
    g_source_attach(source, monitor_thread.context);
    g_source_unref(source);
}

void monitor_thread_run(void (*fn)(void *opaque), void *opaque)
{
    ThreadCall call = { fn, opaque };

    qemu_event_init(&call.done, false);
    thread_call_post(&call);
    qemu_event_wait(&call.done);
    qemu_event_destroy(&call.done);
}

static void quit_loop(void *opaque)
{
    g_main_loop_quit(monitor_thread.loop);
}

void monitor_thread_stop(void)
{
    if (!monitor_thread.context) {
        return;
    }
    monitor_thread_run(quit_loop, NULL);
    qemu_thread_join(&monitor_thread.thread);
    g_clear_pointer(&monitor_thread.loop, g_main_loop_unref);
    g_clear_pointer(&monitor_thread.context, g_main_context_unref);
}
