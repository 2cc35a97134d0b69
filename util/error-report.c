/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports: the printing half of include/qemu/error.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"

/*
 * One per process, since stderr is: set by main() before any thread exists,
 * read by all. Only the redirection is per thread.
 */
static struct {
    const char *progname;
    char *guest_name;
    bool timestamps;
} report = { .progname = "qemu-system" };

static __thread struct {
    void (*puts)(void *opaque, const char *text);
    void *opaque;
} redirect;

void error_init(const char *argv0)
{
    const char *slash = strrchr(argv0, '/');

    report.progname = slash ? slash + 1 : argv0;
}

const char *error_get_progname(void)
{
    return report.progname;
}

void error_set_timestamps(bool enabled)
{
    report.timestamps = enabled;
}

bool error_timestamps_enabled(void)
{
    return report.timestamps;
}

void error_set_guest_name(const char *guest_name)
{
    g_free(report.guest_name);
    report.guest_name = g_strdup(guest_name);
}

void error_report_set_monitor(void (*puts)(void *opaque, const char *text),
                              void *opaque)
{
    redirect.puts = puts;
    redirect.opaque = opaque;
}

/* One write, so that lines of several threads and processes do not mix. */
static void report_line(const char *kind, const char *words, const char *hint)
{
    GString *line;

    if (redirect.puts) {
        /* What was typed needs no program name in the answer. */
        line = g_string_new(kind[0] ? kind : "Error: ");
        g_string_append_printf(line, "%s\n", words);
        if (hint) {
            g_string_append(line, hint);
        }
        redirect.puts(redirect.opaque, line->str);
        g_string_free(line, TRUE);
        return;
    }

    line = g_string_new(NULL);
    if (report.timestamps) {
        g_autoptr(GDateTime) now = g_date_time_new_now_utc();
        g_autofree char *text = g_date_time_format(now, "%Y-%m-%dT%H:%M:%S");

        g_string_append_printf(line, "%s.%06dZ ", text,
                               g_date_time_get_microsecond(now));
    }
    if (report.guest_name) {
        g_string_append_printf(line, "%s ", report.guest_name);
    }
    g_string_append_printf(line, "%s: %s%s\n", report.progname, kind, words);
    if (hint) {
        g_string_append(line, hint);
    }
    fflush(stdout);
    fputs(line->str, stderr);
    fflush(stderr);
    g_string_free(line, TRUE);
}

static void G_GNUC_PRINTF(2, 0)
    vreport(const char *kind, const char *fmt, va_list ap)
{
    g_autofree char *words = g_strdup_vprintf(fmt, ap);

    report_line(kind, words, NULL);
}

void error_report(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vreport("", fmt, ap);
    va_end(ap);
}

void warn_report(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vreport("warning: ", fmt, ap);
    va_end(ap);
}

void info_report(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vreport("info: ", fmt, ap);
    va_end(ap);
}

void error_report_err(Error *err)
{
    report_line("", error_get_pretty(err), error_get_hint(err));
    error_free(err);
}

void warn_report_err(Error *err)
{
    report_line("warning: ", error_get_pretty(err), error_get_hint(err));
    error_free(err);
}

void error_reportf_err(Error *err, const char *fmt, ...)
{
    g_autofree char *prefix = NULL, *words = NULL;
    va_list ap;

    va_start(ap, fmt);
    prefix = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    words = g_strconcat(prefix, error_get_pretty(err), NULL);
    report_line("", words, error_get_hint(err));
    error_free(err);
}
