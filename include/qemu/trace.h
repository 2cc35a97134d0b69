/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trace points: named places in the code that can say when they are passed.
 *
 * A room lists its points in <room>/trace-events, one a line:
 *     name(type arg, type arg) "format" ...
 * (`#` comments; the format may use PRIx64 and kin: "addr 0x%" PRIx64 " x").
 * scripts/tracegen.py makes trace-<room>.h from it, with a function
 * trace_name(args) that costs one relaxed load and a predicted branch while
 * off. -trace, `-d trace:PATTERN` and the monitors switch points; output is
 * the log's (see log.h), one line "name format" per pass.
 *
 * In meson.build of the room, and trace_foo among its library's sources:
 *     trace_foo = custom_target('trace-foo', input: 'trace-events',
 *       output: ['trace-foo.h', 'trace-foo.c'],
 *       command: tracegen + ['foo', '@INPUT@', '@OUTPUT@'])
 * Then #include "trace-foo.h" and call trace_name(args); costly arguments
 * are computed under `if (trace_name_enabled())`.
 *
 * Threads: any.
 * Used by: generated code, command line, monitors. Uses: log.h.
 */
#ifndef QEMU_TRACE_H
#define QEMU_TRACE_H

/* Alignment = size: they lie in their section as an array. */
typedef struct QEMU_ALIGNED(16) TraceEvent {
    const char *name;
    _Atomic bool *enabled;
} TraceEvent;
QEMU_BUILD_BUG_ON(sizeof(TraceEvent) != 16);

/* Every point linked into the binary: the linker collects them. */
const TraceEvent *trace_event_first(void);
const TraceEvent *trace_event_next(const TraceEvent *ev);
const TraceEvent *trace_event_find(const char *name);

static inline bool trace_event_enabled(const TraceEvent *ev)
{
    return atomic_load_explicit(ev->enabled, memory_order_relaxed);
}

/*
 * Switch all points whose name matches @pattern ('*' and '?'); a leading '-'
 * in the pattern of trace_enable() switches off. Returns how many matched.
 */
unsigned trace_enable_events(const char *pattern, bool on);
/*
 * For monitors: switch @name, which must exist, or the pattern @name, which
 * may match none; also open the log. False and @errp.
 */
bool trace_set_state(const char *name, bool on, Error **errp);
/* -trace's list: "PATTERN[,PATTERN]". A name that is no point: a warning. */
bool trace_enable(const char *pattern, Error **errp);
/* A file of patterns, one a line, '#' comments. */
bool trace_enable_file(const char *filename, Error **errp);

/* For generated code only. */
#define TRACE_EVENT_SECTION __attribute__((section("trace_events"), used))
void trace_write(const TraceEvent *ev, const char *fmt, ...)
    G_GNUC_PRINTF(2, 3);

#endif /* QEMU_TRACE_H */
