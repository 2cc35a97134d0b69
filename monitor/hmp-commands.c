/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HMP: finding and executing commands, help, completion; our own commands. */
#include "qemu/osdep.h"

#include "monitor-int.h"
#include "qemu/fd-store.h"

/* Is @name one of the names in "quit|q"? */
static bool name_in(const char *names, const char *name, size_t len)
{
    while (*names) {
        const char *end = strchrnul(names, '|');

        if ((size_t)(end - names) == len && !memcmp(names, name, len)) {
            return true;
        }
        names = *end ? end + 1 : end;
    }
    return false;
}

const HMPCommand *hmp_find(const HMPCommand *const *tables, const char *name,
                           size_t len)
{
    for (; *tables; tables++) {
        for (const HMPCommand *c = *tables; c->name; c++) {
            if (name_in(c->name, name, len)) {
                return c;
            }
        }
    }
    return NULL;
}

/* The next word's extent; @p skips blanks first. */
static size_t word_length(const char **p)
{
    while (g_ascii_isspace(**p)) {
        (*p)++;
    }
    return strcspn(*p, " \t\r\n");
}

static bool is_info(const HMPCommand *c)
{
    return !c->cmd && !c->sub_table;
}

const HMPCommand *const *hmp_tables_below(const HMPCommand *c,
                                          const HMPCommand *room[2])
{
    if (is_info(c)) {
        return hmp_info_command_tables();
    }
    if (c->sub_table) {
        room[0] = c->sub_table;
        room[1] = NULL;
        return room;
    }
    return NULL;
}

/* The same of a command's name, which may have its /fmt attached. */
static size_t name_length(const char **p)
{
    size_t len = word_length(p), name = strcspn(*p, "/");

    return name ? MIN(len, name) : len;
}

/*
 * Find the command at *@p and step behind its words, which become *@words, the
 * caller's. NULL: unknown; *@words is then what was looked for. A command that
 * only heads a table (info) is found when nothing follows.
 */
static const HMPCommand *find_command(const char **p, char **words)
{
    const HMPCommand *const *tables = hmp_command_tables();
    const HMPCommand *room[2], *found = NULL;
    const char *start;

    word_length(p);
    start = *p;
    while (tables) {
        size_t len = name_length(p);
        const HMPCommand *c;

        if (!len && found) {
            break;
        }
        c = hmp_find(tables, *p, len);
        *p += len;
        found = c;
        if (!c) {
            break;
        }
        tables = hmp_tables_below(c, room);
    }
    *words = g_strchomp(g_strndup(start, *p - start));
    return found;
}

/*
 * Help
 */

static void help_line(Monitor *mon, const char *prefix, const HMPCommand *c)
{
    monitor_printf(mon, "%s%s %s -- %s\n", prefix, c->name,
                   c->params ? c->params : "", c->help ? c->help : "");
}

static int compare_commands(gconstpointer a, gconstpointer b)
{
    const HMPCommand *const *ca = a, *const *cb = b;

    return strcmp((*ca)->name, (*cb)->name);
}

static void help_tables(Monitor *mon, const char *prefix,
                        const HMPCommand *const *tables)
{
    g_autoptr(GPtrArray) list = g_ptr_array_new();

    for (; *tables; tables++) {
        for (const HMPCommand *c = *tables; c->name; c++) {
            g_ptr_array_add(list, (gpointer)c);
        }
    }
    g_ptr_array_sort(list, compare_commands);
    for (guint i = 0; i < list->len; i++) {
        help_line(mon, prefix, list->pdata[i]);
    }
}

static void help_of(Monitor *mon, const char *text)
{
    g_autofree char *words = NULL, *prefix = NULL;
    const char *p = text;
    const HMPCommand *room[2], *const *below;
    const HMPCommand *c = find_command(&p, &words);

    if (!c) {
        monitor_printf(mon, "unknown command: '%s'\n", words);
        return;
    }
    below = hmp_tables_below(c, room);
    if (below) {
        prefix = g_strdup_printf("%s ", c->name);
        help_tables(mon, prefix, below);
    } else {
        prefix = g_str_has_prefix(text, "info ") ? g_strdup("info ")
                                                 : g_strdup("");
        help_line(mon, prefix, c);
    }
}

static void hmp_help(Monitor *mon, json_object *args)
{
    json_object *name;

    if (json_object_object_get_ex(args, "name", &name)) {
        help_of(mon, json_object_get_string(name));
    } else {
        help_tables(mon, "", hmp_command_tables());
    }
}

bool hmp_is_help(const HMPCommand *c)
{
    return c->cmd == hmp_help;
}

/*
 * Execution
 */

static void puts_to_monitor(void *opaque, const char *text)
{
    monitor_puts(opaque, text);
}

void hmp_execute(Monitor *mon, const char *line)
{
    g_autofree char *words = NULL;
    const HMPCommand *room[2], *c;
    const char *p = line;
    json_object *args;
    Error *err = NULL;
    Monitor *old;

    if (!word_length(&p) || *p == '#') {
        return;
    }
    c = find_command(&p, &words);
    if (!c) {
        monitor_printf(mon, "unknown command: '%s'\n", words);
        return;
    }
    if (hmp_tables_below(c, room)) {
        help_of(mon, c->name);
        return;
    }
    args = hmp_parse_args(c->args_type ? c->args_type : "", p, &err);
    if (!args) {
        monitor_printf(mon, "%s\n", error_get_pretty(err));
        monitor_printf(mon, "Try \"help %s\" for more information\n", words);
        error_free(err);
        return;
    }
    old = monitor_set_cur(mon);
    error_report_set_monitor(puts_to_monitor, mon);
    c->cmd(mon, args);
    error_report_set_monitor(NULL, NULL);
    monitor_set_cur(old);
    json_object_put(args);
}

/*
 * Commands of the monitor itself
 */

static const char *arg_string(json_object *args, const char *name)
{
    return json_object_get_string(json_object_object_get(args, name));
}

static void hmp_closefd(Monitor *mon, json_object *args)
{
    Error *err = NULL;

    fd_store_close(arg_string(args, "fdname"), &err);
    hmp_handle_error(mon, err);
}

static void hmp_getfd(Monitor *mon, json_object *args)
{
    Error *err = NULL;
    int fd = monitor_hmp_take_fd(mon);

    if (fd < 0) {
        error_setg(&err, "No file descriptor supplied via SCM_RIGHTS");
    } else {
        fd_store_put(arg_string(args, "fdname"), fd, &err);
    }
    hmp_handle_error(mon, err);
}

static void add_fd_name(void *opaque, const char *name)
{
    hmp_completion_add(opaque, name);
}

static void complete_fd_name(HMPCompletion *c, const char *const *words,
                             unsigned n)
{
    fd_store_foreach(add_fd_name, c);
}

const HMPCommand hmp_monitor_commands[] = {
    {
        .name = "help|?",
        .args_type = "name:S?",
        .params = "[cmd]",
        .help = "list all commands, or say what one does",
        .cmd = hmp_help,
    },
    {
        .name = "info",
        .args_type = "item:s?",
        .params = "[subcommand]",
        .help = "show information about the machine",
    },
    {
        .name = "getfd",
        .args_type = "fdname:s",
        .params = "name",
        .help = "keep a file descriptor that came over a unix socket",
        .cmd = hmp_getfd,
    },
    {
        .name = "closefd",
        .args_type = "fdname:s",
        .params = "name",
        .help = "close a file descriptor that getfd keeps",
        .cmd = hmp_closefd,
        .complete = complete_fd_name,
    },
    { .name = NULL },
};
