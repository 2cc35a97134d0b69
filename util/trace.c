/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trace points: see include/qemu/trace.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/log.h"
#include "qemu/thread.h"
#include "qemu/trace.h"

/*
 * Generated code puts each TraceEvent into the section "trace_events"; the
 * linker makes these two names. Weak: a program may have no points at all.
 */
extern const TraceEvent __start_trace_events[] __attribute__((weak));
extern const TraceEvent __stop_trace_events[] __attribute__((weak));

const TraceEvent *trace_event_first(void)
{
    bool none = &__start_trace_events[0] == &__stop_trace_events[0];

    return none ? NULL : __start_trace_events;
}

const TraceEvent *trace_event_next(const TraceEvent *ev)
{
    return ev + 1 == __stop_trace_events ? NULL : ev + 1;
}

const TraceEvent *trace_event_find(const char *name)
{
    const TraceEvent *ev;

    for (ev = trace_event_first(); ev; ev = trace_event_next(ev)) {
        if (g_str_equal(ev->name, name)) {
            return ev;
        }
    }
    return NULL;
}

unsigned trace_enable_events(const char *pattern, bool on)
{
    const TraceEvent *ev;
    unsigned n = 0;

    for (ev = trace_event_first(); ev; ev = trace_event_next(ev)) {
        if (g_pattern_match_simple(pattern, ev->name)) {
            atomic_store_explicit(ev->enabled, on, memory_order_relaxed);
            n++;
        }
    }
    return n;
}

/* Points are of no use without the log item they write to. */
static bool open_log(Error **errp)
{
    return qemu_set_log(
        atomic_load_explicit(&qemu_loglevel, memory_order_relaxed) | LOG_TRACE,
        errp);
}

static void enable_one(const char *pattern)
{
    bool on = *pattern != '-';
    const char *name = on ? pattern : pattern + 1;
    bool is_pattern = strpbrk(name, "*?") != NULL;

    /* Points come and go between versions: lists of them outlive both. */
    if (!trace_enable_events(name, on) && !is_pattern) {
        warn_report("there is no trace point '%s'", name);
    }
}

bool trace_set_state(const char *name, bool on, Error **errp)
{
    if (!trace_enable_events(name, on) && !strpbrk(name, "*?")) {
        error_setg(errp, "There is no trace point '%s'", name);
        return false;
    }
    return !on || open_log(errp);
}

bool trace_enable(const char *pattern, Error **errp)
{
    g_auto(GStrv) parts = g_strsplit(pattern, ",", -1);

    for (char **p = parts; *p; p++) {
        if (**p) {
            enable_one(*p);
        }
    }
    return open_log(errp);
}

bool trace_enable_file(const char *filename, Error **errp)
{
    g_autofree char *text = NULL;
    g_autoptr(GError) gerr = NULL;
    g_auto(GStrv) lines = NULL;

    if (!g_file_get_contents(filename, &text, NULL, &gerr)) {
        error_setg(errp, "Could not read the list of trace points: %s",
                   gerr->message);
        return false;
    }
    lines = g_strsplit(text, "\n", -1);
    for (char **p = lines; *p; p++) {
        g_strstrip(*p);
        if (**p && **p != '#') {
            enable_one(*p);
        }
    }
    return open_log(errp);
}

void trace_write(const TraceEvent *ev, const char *fmt, ...)
{
    FILE *log;
    va_list ap;

    if (!qemu_loglevel_mask(LOG_TRACE)) {
        return;
    }
    log = qemu_log_lock();
    if (!log) {
        return;
    }
    if (error_timestamps_enabled()) {
        struct timespec ts;

        clock_gettime(CLOCK_REALTIME, &ts);
        fprintf(log, "%d@%lld.%06ld:", qemu_get_thread_id(),
                (long long)ts.tv_sec, ts.tv_nsec / 1000);
    }
    fprintf(log, "%s ", ev->name);
    va_start(ap, fmt);
    vfprintf(log, fmt, ap);
    va_end(ap);
    fputc('\n', log);
    qemu_log_unlock(log);
}
