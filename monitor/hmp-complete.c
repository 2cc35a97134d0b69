/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HMP: what could stand at the end of a line that is being typed: commands,
 * options, and whatever the command's own `complete` knows for an argument.
 */
#include "qemu/osdep.h"

#include <sys/stat.h>

#include "monitor-int.h"

static void add_commands(HMPCompletion *c, const HMPCommand *const *tables)
{
    for (; *tables; tables++) {
        for (const HMPCommand *cmd = *tables; cmd->name; cmd++) {
            g_autofree char *name = g_strndup(cmd->name,
                                              strcspn(cmd->name, "|"));

            hmp_completion_add(c, name);
        }
    }
}

static void add_files(HMPCompletion *c)
{
    const char *slash = strrchr(c->word, '/');
    g_autofree char *head = slash ? g_strndup(c->word, slash + 1 - c->word)
                                  : g_strdup("");
    g_autoptr(GDir) dir = g_dir_open(*head ? head : ".", 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *path = g_strconcat(head, name, NULL);

        if (g_str_has_prefix(path, c->word) &&
            (*name != '.' || c->word[strlen(head)] == '.')) {
            g_autofree char *folder = g_strconcat(path, "/", NULL);
            bool is_dir = g_file_test(path, G_FILE_TEST_IS_DIR);

            hmp_completion_add(c, is_dir ? folder : path);
        }
    }
}

/* @words: those between the command and the one that is typed. */
static void add_arguments(HMPCompletion *c, const HMPCommand *cmd,
                          const char *const *words, unsigned n)
{
    g_autoptr(GPtrArray) before = g_ptr_array_new();
    g_autofree char *flags = NULL;
    char type = hmp_next_arg(cmd->args_type ? cmd->args_type : "", words, n,
                             before, &flags);

    if (*c->word == '-' && *flags) {
        for (const char *f = flags; *f; f++) {
            char text[] = { '-', *f, '\0' };

            hmp_completion_add(c, text);
        }
    } else if (type == 'b') {
        hmp_completion_add(c, "off");
        hmp_completion_add(c, "on");
    } else if (type == 'F') {
        add_files(c);
    } else if (type && cmd->complete) {
        cmd->complete(c, (const char *const *)before->pdata, before->len);
    }
}

static void collect(HMPCompletion *c, const char *const *words, unsigned n)
{
    const HMPCommand *const *tables = hmp_command_tables();
    const HMPCommand *room[2];

    for (unsigned i = 0; i < n; i++) {
        const HMPCommand *cmd = hmp_find(tables, words[i], strlen(words[i]));

        if (!cmd) {
            return;
        }
        if (hmp_is_help(cmd)) {
            continue; /* commands follow, from the beginning */
        }
        tables = hmp_tables_below(cmd, room);
        if (!tables) {
            add_arguments(c, cmd, words + i + 1, n - i - 1);
            return;
        }
    }
    add_commands(c, tables);
}

static gint by_text(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorted, each once, separated by blanks; *@common: how all begin. */
static char *join(GPtrArray *names, char **common)
{
    GString *list = g_string_new(NULL);
    const char *last = NULL;

    g_ptr_array_sort(names, by_text);
    for (guint i = 0; i < names->len; i++) {
        const char *name = names->pdata[i];
        size_t n = 0;

        if (last && g_str_equal(last, name)) {
            continue;
        }
        g_string_append_printf(list, "%s%s", last ? " " : "", name);
        last = name;
        if (!*common) {
            *common = g_strdup(name);
        }
        while ((*common)[n] && (*common)[n] == name[n]) {
            n++;
        }
        (*common)[n] = '\0';
    }
    return g_string_free(list, FALSE);
}

char *hmp_complete(const char *line, char **common)
{
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    HMPCompletion c = { .names = names };
    const char *p = line;

    *common = NULL;
    for (;;) {
        size_t blanks = strspn(p, " \t"), len = strcspn(p + blanks, " \t");

        p += blanks;
        if (!p[len]) {
            break;
        }
        g_ptr_array_add(words, g_strndup(p, len));
        p += len;
    }
    c.word = p;
    collect(&c, (const char *const *)words->pdata, words->len);
    return names->len ? join(names, common) : NULL;
}
