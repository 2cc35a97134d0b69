/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Monitor sink: see include/qemu/monitor-sink.h. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/monitor-sink.h"

static __thread Monitor *this_thread_monitor;

/* The tables that start-up added; written before the main loop runs. */
static struct {
    GPtrArray *commands;
    GPtrArray *info;
} tables;

void monitor_puts(Monitor *mon, const char *text)
{
    if (mon) {
        mon->ops->puts(mon, text);
    } else {
        fputs(text, stdout);
    }
}

void monitor_vprintf(Monitor *mon, const char *fmt, va_list ap)
{
    g_autofree char *text = g_strdup_vprintf(fmt, ap);

    monitor_puts(mon, text);
}

void monitor_printf(Monitor *mon, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    monitor_vprintf(mon, fmt, ap);
    va_end(ap);
}

bool monitor_suspend(Monitor *mon)
{
    return mon && mon->ops->suspend && mon->ops->suspend(mon);
}

void monitor_resume(Monitor *mon)
{
    mon->ops->resume(mon);
}

Monitor *monitor_cur(void)
{
    return this_thread_monitor;
}

Monitor *monitor_set_cur(Monitor *mon)
{
    Monitor *old = this_thread_monitor;

    this_thread_monitor = mon;
    return old;
}

static GPtrArray *table_list(GPtrArray **list)
{
    if (!*list) {
        *list = g_ptr_array_new();
        g_ptr_array_add(*list, NULL);
    }
    return *list;
}

static void table_list_add(GPtrArray **list, const HMPCommand *table)
{
    GPtrArray *array = table_list(list);

    g_ptr_array_insert(array, array->len - 1, (gpointer)table);
}

void hmp_add_commands(const HMPCommand *table)
{
    table_list_add(&tables.commands, table);
}

void hmp_add_info_commands(const HMPCommand *table)
{
    table_list_add(&tables.info, table);
}

const HMPCommand *const *hmp_command_tables(void)
{
    return (const HMPCommand *const *)table_list(&tables.commands)->pdata;
}

const HMPCommand *const *hmp_info_command_tables(void)
{
    return (const HMPCommand *const *)table_list(&tables.info)->pdata;
}

/* More are of no use on a screen, and a directory may have millions. */
#define MAX_COMPLETIONS 1000

void hmp_completion_add(HMPCompletion *c, const char *name)
{
    /* What has a blank cannot be typed without quotes, which we don't do. */
    if (c->names->len < MAX_COMPLETIONS && g_str_has_prefix(name, c->word) &&
        !strpbrk(name, " \"\t\n")) {
        g_ptr_array_add(c->names, g_strdup(name));
    }
}

bool hmp_handle_error(Monitor *mon, Error *err)
{
    if (!err) {
        return false;
    }
    monitor_printf(mon, "Error: %s\n", error_get_pretty(err));
    if (error_get_hint(err)) {
        monitor_puts(mon, error_get_hint(err));
    }
    error_free(err);
    return true;
}
