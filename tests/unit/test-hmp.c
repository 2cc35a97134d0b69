/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of HMP: arguments by args_type, the line editor, help, suspending.
 * The prompt is used through a unix socket, as by a person with a terminal.
 */
#include "qemu/osdep.h"

#include <glib/gstdio.h>

#include "../../monitor/monitor-int.h"
#include "qapi/qmp-command.h"
#include "qemu/fd-store.h"
#include "qmp-client.h"

/* The binary's list: there is no QMP here. */
const QmpCommand qmp_commands[] = { { NULL, NULL, 0 } };
const char qmp_schema_json[] = "[]";

const QmpCommand *qmp_command_find(const char *name)
{
    return NULL;
}

static char *tmpdir;

/*
 * Arguments
 */

static void assert_args(const char *type, const char *text, const char *want)
{
    assert_json(hmp_parse_args(type, text, &error_abort), want);
}

static void assert_no_args(const char *type, const char *text)
{
    Error *err = NULL;

    if (hmp_parse_args(type, text, &err)) {
        g_error("'%s' was taken as %s", text, type);
    }
    error_free_or_abort(&err);
}

static void test_args_strings(void)
{
    assert_args("", "  ", "{}");
    assert_no_args("", "x");
    assert_args("a:s", " foo ", "{\"a\": \"foo\"}");
    assert_args("a:s", "\"b c\\n\\\"\"", "{\"a\": \"b c\\n\\\"\"}");
    assert_args("a:s,b:s?", "x", "{\"a\": \"x\"}");
    assert_args("a:s,b:s?", "x y", "{\"a\": \"x\", \"b\": \"y\"}");
    assert_args("a:s,b:S", "x  y z ", "{\"a\": \"x\", \"b\": \"y z \"}");
    assert_args("f:F,b:B", "/x/y vda", "{\"f\": \"/x/y\", \"b\": \"vda\"}");
    assert_no_args("a:s", "");
    assert_no_args("a:s", "x y");
    assert_no_args("a:s", "\"open");
    assert_no_args("a:s", "\"bad \\q\"");
}

static void test_args_numbers(void)
{
    assert_args("a:i", "0x10", "{\"a\": 16}");
    assert_args("a:l", "1+2*3", "{\"a\": 7}");
    assert_args("a:l,b:l?", "1 + 2 5", "{\"a\": 3, \"b\": 5}");
    assert_args("a:l", "(1 + 2) * -3", "{\"a\": -9}");
    assert_args("a:l", "~0 & 0xff ^ 1", "{\"a\": 254}");
    assert_args("a:l", "7 % 4 | 8", "{\"a\": 11}");
    assert_args("a:l", "'A'", "{\"a\": 65}");
    assert_args("a:l", "0x8000000000000000/-1",
                "{\"a\": -9223372036854775808}");
    assert_args("a:M", "2", "{\"a\": 2097152}");
    assert_args("a:o", "3", "{\"a\": 3145728}");
    assert_args("a:o", "1.5G", "{\"a\": 1610612736}");
    assert_args("a:o,b:s", "4k x", "{\"a\": 4096, \"b\": \"x\"}");
    assert_args("a:T", "20ms", "{\"a\": 0.02}");
    assert_no_args("a:i", "0x100000000");
    assert_no_args("a:l", "1/0");
    assert_no_args("a:l", "1%0");
    assert_no_args("a:l", "(1");
    assert_no_args("a:l", "1x");
    assert_no_args("a:l", "$pc");
    assert_no_args("a:o", "3q");
    assert_no_args("a:M", "-1");
    {
        g_autofree char *deep = g_strnfill(100000, '(');
        g_autofree char *minus = g_strnfill(100000, '-');

        assert_no_args("a:l", deep);
        assert_no_args("a:l", minus);
    }
}

static void test_args_flags(void)
{
    const char *migrate = "detach:-d,resume:-r,uri:s";

    assert_args(migrate, "tcp:h:1", "{\"uri\": \"tcp:h:1\"}");
    assert_args(migrate, "-d tcp:h:1",
                "{\"detach\": true, \"uri\": \"tcp:h:1\"}");
    assert_args(migrate, "-d -r x",
                "{\"detach\": true, \"resume\": true, \"uri\": \"x\"}");
    assert_args(migrate, "-r -d x",
                "{\"detach\": true, \"resume\": true, \"uri\": \"x\"}");
    assert_args("all:-a", "-a", "{\"all\": true}");
    assert_args("set:-ss,x:b", "-s v on", "{\"set\": \"v\", \"x\": true}");
    assert_no_args("x:b", "maybe");
    assert_no_args("set:-ss", "-s");
    assert_no_args(migrate, "-x tcp:h:1");
    assert_no_args("all:-a", "-b");
    assert_no_args("all:-a", "-ab");
}

static void test_args_format(void)
{
    assert_args("fmt:/,addr:l", "/16xb 0x40",
                "{\"count\": 16, \"format\": 120, \"size\": 1,"
                " \"addr\": 64}");
    assert_args("fmt:/,addr:l", "8",
                "{\"count\": 1, \"format\": 120, \"size\": 4,"
                " \"addr\": 8}");
    assert_args("fmt:/,addr:l", "/2i 8",
                "{\"count\": 2, \"format\": 105, \"size\": 4,"
                " \"addr\": 8}");
    assert_no_args("fmt:/,addr:l", "/9z 8");
}

/*
 * Commands of the test
 */

static Monitor *suspended;

static void cmd_echo(Monitor *mon, json_object *args)
{
    json_object *words = json_object_object_get(args, "words");

    monitor_printf(mon, "<%s>\n", words ? json_object_get_string(words) : "");
}

static void cmd_wait(Monitor *mon, json_object *args)
{
    if (monitor_suspend(mon)) {
        suspended = mon;
    } else {
        monitor_puts(mon, "cannot wait\n");
    }
}

static void cmd_fail(Monitor *mon, json_object *args)
{
    error_report("it broke");
}

static const HMPCommand sub_commands[] = {
    { .name = "inner", .args_type = "words:S?", .cmd = cmd_echo, .help = "in" },
    { .name = NULL },
};

static void complete_colour(HMPCompletion *c, const char *const *words,
                            unsigned n)
{
    if (n == 0) {
        hmp_completion_add(c, "red");
        hmp_completion_add(c, "blue");
        hmp_completion_add(c, "black");
        hmp_completion_add(c, "red");
        hmp_completion_add(c, "not this");
    } else {
        g_autofree char *text = g_strconcat("after-", words[0], NULL);

        g_assert_cmpuint(n, ==, 2);
        g_assert_cmpstr(words[1], ==, "on");
        hmp_completion_add(c, text);
    }
}

static const HMPCommand commands[] = {
    { .name = "colour",
      .args_type = "fast:-f,size:-ss,name:s,lit:b,more:s?",
      .cmd = cmd_echo,
      .complete = complete_colour },
    { .name = "file", .args_type = "name:F", .cmd = cmd_echo },
    { .name = "echo|e", .args_type = "words:S?", .cmd = cmd_echo },
    { .name = "wait", .cmd = cmd_wait },
    { .name = "fail", .cmd = cmd_fail },
    { .name = "outer", .sub_table = sub_commands },
    { .name = NULL },
};

static const HMPCommand info_commands[] = {
    { .name = "thing", .args_type = "all:-a", .cmd = cmd_echo, .help = "t" },
    { .name = NULL },
};

static void assert_command(const char *line, const char *want)
{
    g_autofree char *out = monitor_hmp_command(line, 0);

    g_assert_cmpstr(out, ==, want);
}

static void test_commands(void)
{
    assert_command("echo a b", "<a b>\r\n");
    assert_command("  e c", "<c>\r\n");
    assert_command("outer inner x", "<x>\r\n");
    assert_command("info thing -a", "<>\r\n");
    assert_command("", "");
    assert_command("# remark", "");
    assert_command("nothing", "unknown command: 'nothing'\r\n");
    assert_command("info nothing", "unknown command: 'info nothing'\r\n");
    assert_command("outer nothing x", "unknown command: 'outer nothing'\r\n");
    assert_command("wait", "cannot wait\r\n");
    {
        g_autofree char *out = monitor_hmp_command("fail", 0);
        g_autofree char *extra = monitor_hmp_command("info thing x", 0);

        g_assert_nonnull(strstr(out, "it broke"));
        g_assert_nonnull(strstr(extra, "Try \"help info thing"));
    }
}

static void test_help(void)
{
    g_autofree char *all = monitor_hmp_command("help", 0);
    g_autofree char *one = monitor_hmp_command("help info thing", 0);
    g_autofree char *info = monitor_hmp_command("help info", 0);
    g_autofree char *bare = monitor_hmp_command("info", 0);

    g_assert_nonnull(strstr(all, "echo|e "));
    g_assert_nonnull(strstr(all, "help|? "));
    g_assert_cmpstr(one, ==, "info thing  -- t\r\n");
    g_assert_nonnull(strstr(info, "info version "));
    g_assert_nonnull(strstr(info, "info chardev "));
    g_assert_cmpstr(info, ==, bare);
    assert_command("help nothing", "unknown command: 'nothing'\r\n");
}

/* @want: what could stand there, and how all of it begins. */
static void assert_completion(const char *line, const char *want,
                              const char *want_common)
{
    g_autofree char *common = NULL, *list = hmp_complete(line, &common);

    g_assert_cmpstr(list, ==, want);
    g_assert_cmpstr(common, ==, want_common);
}

static void test_completion(void)
{
    assert_completion("ec", "echo", "echo");
    assert_completion("  ec", "echo", "echo");
    assert_completion("info th", "thing", "thing");
    assert_completion("info  \tth", "thing", "thing");
    assert_completion("help info th", "thing", "thing");
    assert_completion("closefd ", NULL, NULL);
    g_assert_true(fd_store_put("pipe1", dup(0), &error_abort));
    assert_completion("closefd ", "pipe1", "pipe1");
    assert_completion("closefd pipe1 ", NULL, NULL);
    g_assert_true(fd_store_close("pipe1", &error_abort));
    assert_completion("? ec", "echo", "echo");
    assert_completion("outer ", "inner", "inner");
    assert_completion("zz", NULL, NULL);
    assert_completion("zz e", NULL, NULL);
    assert_completion("echo ", NULL, NULL);
}

static void test_completion_of_arguments(void)
{
    /* Flags, and what they leave of the arguments. */
    assert_completion("info thing -", "-a", "-a");
    assert_completion("colour -", "-f -s", "-");
    assert_completion("colour ", "black blue red", "");
    assert_completion("colour bl", "black blue", "bl");
    assert_completion("colour blu", "blue", "blue");
    assert_completion("colour -f bla", "black", "black");
    assert_completion("colour -s ", NULL, NULL);
    assert_completion("colour -s wide r", "red", "red");
    /* on|off by type, and the last by what went before. */
    assert_completion("colour red ", "off on", "o");
    assert_completion("colour red of", "off", "off");
    assert_completion("colour red on ", "after-red", "after-red");
    assert_completion("colour -f blue on ", "after-blue", "after-blue");
    assert_completion("colour red on x y", NULL, NULL);
}

static void test_completion_of_files(void)
{
    g_autofree char *folder = g_build_filename(tmpdir, "files", NULL);
    g_autofree char *below = g_build_filename(folder, "below", NULL);
    static const char *const names[] = { "bell", "bed", ".hid", "two words" };
    g_autofree char *line = g_strdup_printf("file %s/be", folder);
    g_autofree char *hidden = g_strdup_printf("file %s/.", folder);
    g_autofree char *all = g_strdup_printf("file %s/", folder);
    g_autofree char *list = g_strdup_printf("%s/bed %s/bell %s/below/", folder,
                                            folder, folder);
    g_autofree char *be = g_strdup_printf("%s/be", folder);
    g_autofree char *hid = g_strdup_printf("%s/.hid", folder);

    g_assert_cmpint(g_mkdir_with_parents(below, 0700), ==, 0);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        g_autofree char *path = g_build_filename(folder, names[i], NULL);

        g_assert_true(g_file_set_contents(path, "", 0, NULL));
    }
    assert_completion(line, list, be);
    assert_completion(all, list, be);
    assert_completion(hidden, hid, hid);
    assert_completion("file /no/such/folder/", NULL, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        g_autofree char *path = g_build_filename(folder, names[i], NULL);

        g_unlink(path);
    }
    g_rmdir(below);
    g_rmdir(folder);
}

/*
 * A prompt
 */

typedef struct Prompt {
    Monitor *mon;
    Client *client;
    char *path;
} Prompt;

static unsigned nr_prompts;

static Prompt *prompt_new(void)
{
    Prompt *p = g_new0(Prompt, 1);
    g_autofree char *id = g_strdup_printf("p%u", nr_prompts++);
    g_autofree char *spec = NULL;

    p->path = g_strdup_printf("%s/%s", tmpdir, id);
    spec = g_strdup_printf("unix:%s,server,nowait", p->path);
    p->mon = monitor_new_hmp(qemu_chr_new(id, spec, &error_abort),
                             &error_abort);
    p->client = client_connect(p->path);
    client_expect(p->client, "monitor");
    client_expect(p->client, "(qemu) ");
    return p;
}

static void prompt_free(Prompt *p)
{
    client_close(p->client);
    turn_for_ms(5);
    monitor_delete(p->mon);
    g_free(p->path);
    g_free(p);
}

static void test_prompt(void)
{
    Prompt *p = prompt_new();

    client_puts(p->client, "echo one\n");
    client_expect(p->client, "echo one\r\n<one>\r\n(qemu) ");
    client_puts(p->client, "echo two\r\n");
    client_expect(p->client, "<two>\r\n(qemu) ");
    client_puts(p->client, "nonsense\n");
    client_expect(p->client, "unknown command: 'nonsense'\r\n(qemu) ");
    prompt_free(p);
}

static void test_editing(void)
{
    static const struct {
        const char *keys, *want;
    } cases[] = {
        { "echo abx\b\x7f"
          "c\n",
          "<ac>" }, /* backspace */
        { "echo junk\x15"
          "echo clean\n",
          "<clean>" }, /* ^U */
        { "cho z\x01"
          "e\n",
          "<z>" },                                    /* ^A */
        { "echo b\x1b[Da\n", "<ab>" },                /* left */
        { "echo q\x1b[D\x1b[Cr\n", "<qr>" },          /* right */
        { "echo xy\x1b[D\x04\n", "<x>" },             /* ^D deletes */
        { "echo one two\x17three\n", "<one three>" }, /* ^W */
        { "echo cut\x1b[D\x1b[D\x0b\n", "<c>" },      /* ^K */
        { "\x1b[A\n", "<c>" },                        /* up */
        { "\x10\x10\n", "<one three>" },              /* ^P twice */
        { "garbage\x03"
          "echo new\n",
          "<new>" },                                /* ^C */
        { "ec\tok\n", "<ok>" },                     /* Tab */
        { "echo \x1b[3~\x1b[1~\x1b[4~e\n", "<e>" }, /* Del, Home, End */
    };
    Prompt *p = prompt_new();

    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        g_autofree char *want = g_strdup_printf("\r\n%s\r\n(qemu) ",
                                                cases[i].want);

        client_puts(p->client, cases[i].keys);
        client_expect(p->client, want);
    }
    prompt_free(p);
}

static void test_long_line(void)
{
    Prompt *p = prompt_new();
    g_autofree char *junk = g_strnfill(100000, 'x');

    client_puts(p->client, junk);
    client_puts(p->client, "\n");
    client_expect(p->client, "unknown command");
    client_puts(p->client, "\necho alive\n");
    client_expect(p->client, "<alive>\r\n(qemu) ");
    prompt_free(p);
}

static bool is_suspended(void *opaque)
{
    return suspended;
}

static void test_suspend(void)
{
    Prompt *p = prompt_new();

    client_puts(p->client, "wait\necho later\n");
    g_assert_true(turn_until(is_suspended, NULL));
    g_assert_false(monitor_can_be_deleted(p->mon));
    monitor_printf(suspended, "50 %%\n");
    client_expect(p->client, "wait\r\n50 %\r\n");
    turn_for_ms(20);
    {
        bool eof;

        client_fill(p->client, &eof);
        g_assert_cmpint(p->client->in->len, ==, 0); /* no prompt meanwhile */
    }
    monitor_resume(suspended);
    suspended = NULL;
    client_expect(p->client, "(qemu) ");
    client_expect(p->client, "<later>\r\n(qemu) ");
    prompt_free(p);
}

static void test_suspend_client_leaves(void)
{
    Prompt *p = prompt_new();

    client_puts(p->client, "wait\n");
    g_assert_true(turn_until(is_suspended, NULL));
    client_close(p->client);
    turn_for_ms(10);
    monitor_printf(suspended, "to nobody\n");
    monitor_resume(suspended);
    suspended = NULL;
    turn_for_ms(10);
    p->client = client_connect(p->path);
    client_expect(p->client, "(qemu) ");
    client_puts(p->client, "echo again\n");
    client_expect(p->client, "<again>");
    prompt_free(p);
}

int TSA_NO_CHECK main(int argc, char **argv)
{
    int ret;

    g_test_init(&argc, &argv, NULL);
    main_loop_init();
    monitor_init_globals();
    hmp_add_commands(commands);
    hmp_add_info_commands(info_commands);
    tmpdir = g_dir_make_tmp("test-hmp-XXXXXX", NULL);
    g_test_add_func("/hmp/args/strings", test_args_strings);
    g_test_add_func("/hmp/args/numbers", test_args_numbers);
    g_test_add_func("/hmp/args/flags", test_args_flags);
    g_test_add_func("/hmp/args/format", test_args_format);
    g_test_add_func("/hmp/commands", test_commands);
    g_test_add_func("/hmp/help", test_help);
    g_test_add_func("/hmp/completion/commands", test_completion);
    g_test_add_func("/hmp/completion/arguments", test_completion_of_arguments);
    g_test_add_func("/hmp/completion/files", test_completion_of_files);
    g_test_add_func("/hmp/prompt", test_prompt);
    g_test_add_func("/hmp/editing", test_editing);
    g_test_add_func("/hmp/long-line", test_long_line);
    g_test_add_func("/hmp/suspend", test_suspend);
    g_test_add_func("/hmp/suspend-client-leaves", test_suspend_client_leaves);
    ret = g_test_run();
    monitor_cleanup();
    qemu_chr_cleanup_all();
    g_rmdir(tmpdir);
    g_free(tmpdir);
    return ret;
}
