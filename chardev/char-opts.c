/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chardev options: the two spellings people use.
 *
 *   -chardev BACKEND,id=ID,KEY=VALUE,...     (a comma in a value is doubled)
 *   -serial  stdio | file:PATH | unix:PATH,server=on,wait=off | ...
 *
 * A key without a value means "on", and "noKEY" means "KEY=off", as in
 * "server,nowait", which old command lines are full of.
 */
#include "qemu/osdep.h"

#include "char-int.h"
#include "qemu/cutils.h"

typedef enum OptionKind {
    OPTION_STR,
    OPTION_BOOL,
    OPTION_NUMBER,
    OPTION_SIZE,
} OptionKind;

typedef struct OptionDesc {
    const char *name;
    OptionKind kind;
    size_t offset;     /* in ChardevOptions */
    size_t has_offset; /* of has_NAME; strings have none */
} OptionDesc;

#define STR(n, f)                                     \
    {                                                 \
        n, OPTION_STR, offsetof(ChardevOptions, f), 0 \
    }
#define OPT(n, f, kind)                       \
    {                                         \
        n, kind, offsetof(ChardevOptions, f), \
            offsetof(ChardevOptions, has_##f) \
    }
#define BOOL(n, f) OPT(n, f, OPTION_BOOL)

static const OptionDesc option_descs[] = {
    STR("backend", backend),
    STR("id", id),
    STR("path", path),
    STR("input-path", input_path),
    STR("host", host),
    STR("port", port),
    STR("fd", fd),
    STR("logfile", logfile),
    STR("tls-creds", tls_creds),
    BOOL("telnet", telnet),
    BOOL("tn3270", tn3270),
    BOOL("websocket", websocket),
    BOOL("server", server),
    BOOL("wait", wait),
    BOOL("nodelay", nodelay),
    BOOL("delay", delay),
    BOOL("ipv4", ipv4),
    BOOL("ipv6", ipv6),
    BOOL("abstract", abstract),
    BOOL("tight", tight),
    BOOL("append", append),
    BOOL("logappend", logappend),
    BOOL("signal", signal),
    BOOL("mux", mux),
    OPT("to", to, OPTION_NUMBER),
    OPT("reconnect", reconnect, OPTION_NUMBER),
    OPT("reconnect-ms", reconnect_ms, OPTION_NUMBER),
    OPT("size", size, OPTION_SIZE),
};

void chardev_options_free(ChardevOptions *o)
{
    if (!o) {
        return;
    }
    for (unsigned i = 0; i < ARRAY_SIZE(option_descs); i++) {
        if (option_descs[i].kind == OPTION_STR) {
            g_free(*(char **)((char *)o + option_descs[i].offset));
        }
    }
    g_free(o);
}

static const OptionDesc *option_find(const char *name)
{
    for (unsigned i = 0; i < ARRAY_SIZE(option_descs); i++) {
        if (g_str_equal(option_descs[i].name, name)) {
            return &option_descs[i];
        }
    }
    return NULL;
}

static bool option_set(ChardevOptions *o, const OptionDesc *d,
                       const char *value, Error **errp)
{
    void *field = (char *)o + d->offset;
    uint64_t number;
    bool flag;

    switch (d->kind) {
    case OPTION_STR:
        g_free(*(char **)field);
        *(char **)field = g_strdup(value);
        return true;
    case OPTION_BOOL:
        if (!qemu_parse_bool(d->name, value, &flag, errp)) {
            return false;
        }
        *(bool *)field = flag;
        *(bool *)((char *)o + d->has_offset) = true;
        return true;
    case OPTION_NUMBER:
        if (parse_uint_full(value, 10, &number) < 0) {
            error_setg(errp, "Parameter '%s' expects a number", d->name);
            return false;
        }
        break;
    case OPTION_SIZE:
        if (qemu_strtosz(value, NULL, &number) < 0) {
            error_setg(errp, "Parameter '%s' expects a size", d->name);
            return false;
        }
        break;
    }
    *(uint64_t *)field = number;
    *(bool *)((char *)o + d->has_offset) = true;
    return true;
}

/* Up to the next single comma; doubled ones become one. NULL at the end. */
static char *next_word(const char **p)
{
    GString *word;

    if (!**p) {
        return NULL;
    }
    word = g_string_new(NULL);
    for (; **p; (*p)++) {
        if (**p == ',') {
            if ((*p)[1] != ',') {
                (*p)++;
                break;
            }
            (*p)++;
        }
        g_string_append_c(word, **p);
    }
    return g_string_free(word, FALSE);
}

/* "KEY=VALUE", "KEY" (on) or "noKEY" (off). */
static bool set_word(ChardevOptions *o, const char *word, Error **errp)
{
    const char *eq = strchr(word, '=');
    g_autofree char *key = eq ? g_strndup(word, eq - word) : g_strdup(word);
    const char *value = eq ? eq + 1 : "on";
    const OptionDesc *d = option_find(key);

    if (!d && !eq && g_str_has_prefix(key, "no")) {
        d = option_find(key + 2);
        value = "off";
    }
    if (!d || (!eq && d->kind != OPTION_BOOL)) {
        error_setg(
            errp, d ? "Parameter '%s' needs a value" : "Invalid parameter '%s'",
            key);
        return false;
    }
    return option_set(o, d, value, errp);
}

static bool set_words(ChardevOptions *o, const char *p, Error **errp)
{
    for (;;) {
        g_autofree char *word = next_word(&p);

        if (!word) {
            return true;
        }
        if (!set_word(o, word, errp)) {
            return false;
        }
    }
}

ChardevOptions *chardev_options_parse(const char *optarg, Error **errp)
{
    g_autoptr(ChardevOptions) o = g_new0(ChardevOptions, 1);
    const char *p = optarg;
    g_autofree char *first = next_word(&p);

    /* The first word is the back end, unless it has a key. */
    if (first && !strchr(first, '=')) {
        o->backend = g_steal_pointer(&first);
    } else {
        p = optarg;
    }
    if (!set_words(o, p, errp)) {
        return NULL;
    }
    if (!o->id) {
        error_setg(errp, "Parameter 'id' is missing");
        return NULL;
    }
    if (!id_check(o->id, errp)) {
        return NULL;
    }
    if (!o->backend) {
        error_setg(errp, "chardev: '%s' names no back end", o->id);
        return NULL;
    }
    return g_steal_pointer(&o);
}

/* "HOST:PORT", "[V6]:PORT", ":PORT" */
static bool split_host_port(ChardevOptions *o, const char *address,
                            Error **errp)
{
    const char *colon = strrchr(address, ':');
    size_t len;

    if (!colon || !colon[1]) {
        error_setg(errp, "'%s' is not HOST:PORT", address);
        return false;
    }
    len = colon - address;
    if (len >= 2 && address[0] == '[' && address[len - 1] == ']') {
        o->host = g_strndup(address + 1, len - 2);
    } else {
        o->host = g_strndup(address, len);
    }
    o->port = g_strdup(colon + 1);
    return true;
}

static bool spec_socket(ChardevOptions *o, const char *rest, bool is_unix,
                        Error **errp)
{
    const char *p = rest;
    g_autofree char *address = next_word(&p);

    o->backend = g_strdup("socket");
    if (!address) {
        error_setg(errp, "socket chardev '%s' has no address", o->id);
        return false;
    }
    if (is_unix) {
        o->path = g_steal_pointer(&address);
    } else if (!split_host_port(o, address, errp)) {
        return false;
    }
    return set_words(o, p, errp);
}

/* Everything behind the colon is the path, commas and all. */
static const char *const path_specs[] = { "file", "pipe", "pty" };

ChardevOptions *chardev_options_from_spec(const char *label, const char *spec,
                                          Error **errp)
{
    g_autoptr(ChardevOptions) o = g_new0(ChardevOptions, 1);
    const char *rest;

    o->id = g_strdup(label);
    if (strstart(spec, "unix:", &rest) || strstart(spec, "tcp:", &rest)) {
        bool ok = spec_socket(o, rest, spec[0] == 'u', errp);

        return ok ? g_steal_pointer(&o) : NULL;
    }
    if (g_str_equal(spec, "vc") || g_str_has_prefix(spec, "vc:")) {
        error_setg(errp, "'vc' needs a graphical display, and there is none: "
                         "use stdio, pty or a socket");
        return NULL;
    }
    if (g_str_has_prefix(spec, "telnet:")) {
        error_setg(errp, "'telnet' is not supported: use tcp:");
        return NULL;
    }
    for (unsigned i = 0; i < ARRAY_SIZE(path_specs); i++) {
        if (strstart(spec, path_specs[i], &rest) && *rest == ':') {
            o->backend = g_strdup(path_specs[i]);
            o->path = g_strdup(rest + 1);
            return g_steal_pointer(&o);
        }
    }
    if (!strchr(spec, ':') && !strchr(spec, ',') && chardev_class_find(spec)) {
        o->backend = g_strdup(spec);
        return g_steal_pointer(&o);
    }
    error_setg(errp, "'%s' is not a valid char driver", spec);
    return NULL;
}

bool chardev_options_check(const ChardevOptions *o, const ChardevClass *klass,
                           Error **errp)
{
    static const char *const common[] = { "backend",   "id",  "logfile",
                                          "logappend", "mux", NULL };

    for (unsigned i = 0; i < ARRAY_SIZE(option_descs); i++) {
        const OptionDesc *d = &option_descs[i];
        bool said = d->kind == OPTION_STR
                        ? *(char *const *)((const char *)o + d->offset) != NULL
                        : *(const bool *)((const char *)o + d->has_offset);

        if (said && !g_strv_contains(common, d->name) &&
            !(klass->options && g_strv_contains(klass->options, d->name))) {
            error_setg(errp, "chardev: %s: invalid parameter '%s'", klass->name,
                       d->name);
            return false;
        }
    }
    return true;
}
