/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: keys at an HMP prompt, up to the commands themselves. Those that
 * reach out of the process are not executed; their arguments are parsed.
 */
#include "qemu/osdep.h"

#include "fuzz.h"
#include "hmp-line.h"
#include "monitor-int.h"
#include "qemu/main-loop.h"

static const char *const not_executed[] = {
    "calc_dirty_rate", "chardev-add",   "chardev-remove", "closefd",
    "cont|c",          "dumpdtb",       "getfd",          "log",
    "logfile",         "memsave",       "migrate",        "migrate_incoming",
    "object_add",      "object_del",    "pmemsave",       "quit|q",
    "ringbuf_read",    "ringbuf_write", "system_wakeup",
};

static HmpLine *line_editor;

/* Each word may be an alias: the table's "quit|q" is "q" as well. */
static bool is_named(const char *names, const char *word)
{
    g_auto(GStrv) all = g_strsplit(names, "|", -1);

    return g_strv_contains((const char *const *)all, word);
}

static bool may_run(const char *word)
{
    for (size_t i = 0; i < ARRAY_SIZE(not_executed); i++) {
        if (is_named(not_executed[i], word)) {
            return false;
        }
    }
    return true;
}

static void only_parse(const char *word, const char *rest)
{
    for (const HMPCommand *const *t = hmp_command_tables(); *t; t++) {
        for (const HMPCommand *c = *t; c->name; c++) {
            if (is_named(c->name, word) && c->args_type) {
                json_object_put(hmp_parse_args(c->args_type, rest, NULL));
            }
        }
    }
}

static void enter(void *opaque, const char *line)
{
    const char *p = line + strspn(line, " \t\n\v\f\r");
    size_t len = strcspn(p, " \t\n\v\f\r");
    g_autofree char *word = g_strndup(p, len);
    g_autofree char *out = NULL;

    if (may_run(word)) {
        out = monitor_hmp_command(line, 0);
        g_assert_nonnull(out);
    } else {
        only_parse(word, p + len);
    }
}

static void echo(void *opaque, const char *text)
{
    g_assert_nonnull(text);
}

static const HmpLineOps ops = {
    .echo = echo,
    .enter = enter,
    .complete = hmp_complete,
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_machine_start("-M virt -accel qtest -m 2M -nodefaults -S");
    line_editor = hmp_line_new("", &ops, NULL);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hmp_line_restart(line_editor);
    for (size_t i = 0; i < size; i++) {
        hmp_line_key(line_editor, data[i]);
    }
    hmp_line_key(line_editor, '\r');
    while (g_main_context_iteration(NULL, false)) {
    }
    return 0;
}
