/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line's parser: see cmdline.h. */
#include "qemu/osdep.h"

#include "cmdline.h"
#include "config-host.h"
#include "qapi/keyval.h"

const CmdGroup option_groups[] = {
    { "Machine", opts_machine },
    { "Devices", opts_device },
    { "Back ends: consoles, monitors, files", opts_backend },
    { "Running", opts_run },
    { "What the process may do", opts_confine },
    { "Debugging and information", opts_debug },
    { "Accepted, since they ask for nothing that is there", opts_ignored },
    { NULL, NULL },
};

static const CmdOption *find_option(const char *name)
{
    for (const CmdGroup *g = option_groups; g->title; g++) {
        for (const CmdOption *c = g->options; c->name; c++) {
            if (g_str_equal(c->name, name)) {
                return c;
            }
        }
    }
    return NULL;
}

/* Why there is no option @name; NULL: nobody would look for it. */
static const char *refusal(const char *name)
{
    for (const CmdRefusal *r = opts_refused; r->name; r++) {
        if (g_str_equal(r->name, name)) {
            return r->reason;
        }
    }
    return NULL;
}

static void free_backend(void *opaque)
{
    Backend *b = opaque;

    g_free(b->arg);
    g_free(b);
}

static void free_json(void *opaque)
{
    json_object_put(opaque);
}

static Options *options_new(void)
{
    Options *o = g_new0(Options, 1);

    o->machine = json_object_new_object();
    o->accels = g_ptr_array_new_with_free_func(g_free);
    o->backends = g_ptr_array_new_with_free_func(free_backend);
    o->incoming = g_ptr_array_new_with_free_func(g_free);
    o->traces = g_ptr_array_new_with_free_func(free_json);
    return o;
}

void options_free(Options *o)
{
    if (!o) {
        return;
    }
    json_object_put(o->machine);
    json_object_put(o->smp);
    json_object_put(o->memory);
    g_ptr_array_free(o->accels, TRUE);
    g_ptr_array_free(o->backends, TRUE);
    g_ptr_array_free(o->incoming, TRUE);
    g_ptr_array_free(o->traces, TRUE);
    g_free(o->cpu);
    g_free(o->qtest);
    g_free(o->qtest_log);
    g_free(o->name);
    g_free(o->process_name);
    g_free(o->pidfile);
    run_as_free(&o->run_as);
    g_free(o->log_items);
    g_free(o->log_file);
    g_free(o->log_ranges);
    g_free(o);
}

bool options_merge(json_object **into, const char *arg, const char *implied_key,
                   const char *help_hint, Error **errp)
{
    bool help = false;

    if (!*into) {
        *into = json_object_new_object();
    }
    if (!keyval_parse_into(*into, arg, implied_key, &help, errp)) {
        return false;
    }
    if (help) {
        printf("%s\n", help_hint);
        exit(0);
    }
    return true;
}

void options_set_machine(Options *o, const char *key, const char *value)
{
    json_object_object_add(o->machine, key, json_object_new_string(value));
}

void options_add_backend(Options *o, BackendKind kind, const char *arg)
{
    Backend *b = g_new(Backend, 1);

    *b = (Backend){ kind, g_strdup(arg) };
    g_ptr_array_add(o->backends, b);
}

void options_print_help(void)
{
    printf("QEMU emulator version " PROJECT_VERSION " (" PROJECT_NAME ")\n"
           "usage: %s [options]\n",
           error_get_progname());
    for (const CmdGroup *g = option_groups; g->title; g++) {
        printf("\n%s:\n", g->title);
        for (const CmdOption *c = g->options; c->name; c++) {
            int width = printf("-%s%s%s", c->name, c->params ? " " : "",
                               c->params ? c->params : "");

            if (width > 30) {
                printf("\n%*s", 32, "");
            } else {
                printf("%*s", 32 - width, "");
            }
            printf("%s\n", c->help);
        }
    }
}

Options *options_parse(int argc, char **argv, Error **errp)
{
    ERRP_GUARD();
    g_autoptr(Options) o = options_new();

    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *name = word, *arg = NULL;
        const CmdOption *c;

        if (*name != '-') {
            error_setg(errp,
                       "%s: an image of a disk is given by -drive or -hda",
                       word);
            return NULL;
        }
        name += name[1] == '-' ? 2 : 1;
        c = find_option(name);
        if (!c) {
            const char *reason = refusal(name);

            error_setg(errp, "%s: invalid option%s%s", word, reason ? ": " : "",
                       reason ? reason : "");
            return NULL;
        }
        if (c->params) {
            if (i + 1 >= argc) {
                error_setg(errp, "%s: requires an argument", word);
                return NULL;
            }
            arg = argv[++i];
            if (c->no_json && *arg == '{') {
                error_setg(errp,
                           "%s %s: this option takes no JSON; it takes %s",
                           word, arg, c->params);
                return NULL;
            }
        }
        if (!c->parse(o, arg, errp)) {
            error_prepend(errp, arg ? "%s %s: " : "%s: ", word, arg);
            return NULL;
        }
    }
    return g_steal_pointer(&o);
}
