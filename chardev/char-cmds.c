/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chardev commands: QMP and HMP. */
#include "qemu/osdep.h"

#include "char-ringbuf.h"
#include "qapi/qapi-commands-char.h"
#include "qemu/cutils.h"

/*
 * query-chardev
 */

static void collect_info(Chardev *chr, void *opaque)
{
    ChardevInfoList ***tail = opaque;
    ChardevInfo *info = g_new0(ChardevInfo, 1);

    info->label = g_strdup(chr->label);
    info->filename = qemu_chr_filename(chr);
    info->frontend_open = chardev_is_busy(chr);
    QAPI_LIST_APPEND(*tail, info);
}

ChardevInfoList *qmp_query_chardev(Error **errp)
{
    ChardevInfoList *list = NULL, **tail = &list;

    chardev_foreach(collect_info, &tail);
    return list;
}

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(a, b);
}

ChardevBackendInfoList *qmp_query_chardev_backends(Error **errp)
{
    ChardevBackendInfoList *list = NULL, **tail = &list;
    GSList *names = NULL;

    for (unsigned i = 0; chardev_classes[i]; i++) {
        names = g_slist_insert_sorted(names, (gpointer)chardev_classes[i]->name,
                                      compare_names);
    }
    for (GSList *it = names; it; it = it->next) {
        ChardevBackendInfo *info = g_new0(ChardevBackendInfo, 1);

        info->name = g_strdup(it->data);
        QAPI_LIST_APPEND(tail, info);
    }
    g_slist_free(names);
    return list;
}

/*
 * chardev-add
 */

static void options_common(ChardevOptions *o, const char *logfile,
                           bool has_logappend, bool logappend)
{
    o->logfile = g_strdup(logfile);
    o->has_logappend = has_logappend;
    o->logappend = logappend;
}

static void options_address(ChardevOptions *o, const SocketAddressLegacy *addr)
{
    const InetSocketAddress *inet;
    const UnixSocketAddress *un;

    switch (addr->type) {
    case SOCKET_ADDRESS_TYPE_INET:
        inet = addr->u.inet.data;
        o->host = g_strdup(inet->host);
        o->port = g_strdup(inet->port);
        o->has_to = inet->has_to;
        o->to = inet->to;
        o->has_ipv4 = inet->has_ipv4;
        o->ipv4 = inet->ipv4;
        o->has_ipv6 = inet->has_ipv6;
        o->ipv6 = inet->ipv6;
        break;
    case SOCKET_ADDRESS_TYPE_UNIX:
        un = addr->u.q_unix.data;
        o->path = g_strdup(un->path);
        o->has_abstract = un->has_abstract;
        o->abstract = un->abstract;
        o->has_tight = un->has_tight;
        o->tight = un->tight;
        break;
    case SOCKET_ADDRESS_TYPE_FD:
        o->fd = g_strdup(addr->u.fd.data->str);
        break;
    default:
        g_assert_not_reached();
    }
}

static void options_socket(ChardevOptions *o, const ChardevSocket *s)
{
    options_common(o, s->logfile, s->has_logappend, s->logappend);
    options_address(o, s->addr);
    /* QMP's defaults are not the command line's. */
    o->has_server = true;
    o->server = s->has_server ? s->server : true;
    o->has_wait = o->server || s->has_wait;
    o->wait = s->has_wait && s->wait;
    o->has_nodelay = s->has_nodelay;
    o->nodelay = s->nodelay;
    o->has_reconnect_ms = s->has_reconnect_ms;
    o->reconnect_ms = s->reconnect_ms;
}

/* Names of back ends and members are the command line's. */
static bool options_from_backend(ChardevOptions *o, const ChardevBackend *b,
                                 Error **errp)
{
    o->backend = g_strdup(ChardevBackendKind_str(b->type));
    switch (b->type) {
    case CHARDEV_BACKEND_KIND_FILE: {
        const ChardevFile *f = b->u.file.data;

        options_common(o, f->logfile, f->has_logappend, f->logappend);
        o->path = g_strdup(f->out);
        o->input_path = g_strdup(f->in);
        o->has_append = f->has_append;
        o->append = f->append;
        return true;
    }
    case CHARDEV_BACKEND_KIND_PIPE: {
        const ChardevHostdev *p = b->u.pipe.data;

        options_common(o, p->logfile, p->has_logappend, p->logappend);
        o->path = g_strdup(p->device);
        return true;
    }
    case CHARDEV_BACKEND_KIND_SOCKET:
        if (b->u.socket.data->has_reconnect_ms &&
            (b->u.socket.data->reconnect_ms < 0 ||
             b->u.socket.data->reconnect_ms > INT_MAX)) {
            error_setg(errp, "Parameter 'reconnect-ms' is out of range");
            return false;
        }
        options_socket(o, b->u.socket.data);
        return true;
    case CHARDEV_BACKEND_KIND_PTY: {
        const ChardevPty *p = b->u.pty.data;

        options_common(o, p->logfile, p->has_logappend, p->logappend);
        o->path = g_strdup(p->path);
        return true;
    }
    case CHARDEV_BACKEND_KIND_NULL: {
        const ChardevCommon *c = b->u.null.data;

        options_common(o, c->logfile, c->has_logappend, c->logappend);
        return true;
    }
    case CHARDEV_BACKEND_KIND_STDIO: {
        const ChardevStdio *s = b->u.stdio.data;

        options_common(o, s->logfile, s->has_logappend, s->logappend);
        o->has_signal = s->has_signal;
        o->signal = s->signal;
        return true;
    }
    case CHARDEV_BACKEND_KIND_RINGBUF: {
        const ChardevRingbuf *r = b->u.ringbuf.data;

        options_common(o, r->logfile, r->has_logappend, r->logappend);
        o->has_size = r->has_size;
        o->size = r->size;
        return true;
    }
    default:
        g_assert_not_reached();
    }
}

ChardevReturn *qmp_chardev_add(const char *id, ChardevBackend *backend,
                               Error **errp)
{
    g_autoptr(ChardevOptions) o = g_new0(ChardevOptions, 1);
    g_autofree char *filename = NULL;
    ChardevReturn *ret;
    Chardev *chr;

    o->id = g_strdup(id);
    if (!id_check(id, errp) || !options_from_backend(o, backend, errp)) {
        return NULL;
    }
    chr = chardev_new_from_options(o, errp);
    if (!chr) {
        return NULL;
    }
    ret = g_new0(ChardevReturn, 1);
    filename = qemu_chr_filename(chr);
    if (g_str_has_prefix(filename, "pty:")) {
        ret->pty = g_strdup(filename + strlen("pty:"));
    }
    return ret;
}

void qmp_chardev_remove(const char *id, Error **errp)
{
    Chardev *chr = qemu_chr_find(id);

    if (!chr) {
        error_setg(errp, "Chardev '%s' not found", id);
    } else if (chardev_is_busy(chr)) {
        error_setg(errp, "Chardev '%s' is busy", id);
    } else {
        chardev_delete(chr);
    }
}

/*
 * Ring buffers
 */

static Chardev *find_ringbuf(const char *device, Error **errp)
{
    Chardev *chr = qemu_chr_find(device);

    if (!chr) {
        error_setg(errp, "Device '%s' not found", device);
    } else if (!chardev_is_ringbuf(chr)) {
        error_setg(errp, "%s is not a ringbuf device", device);
        chr = NULL;
    }
    return chr;
}

void qmp_ringbuf_write(const char *device, const char *data, bool has_format,
                       DataFormat format, Error **errp)
{
    Chardev *chr = find_ringbuf(device, errp);
    g_autofree guchar *bytes = NULL;
    gsize len;

    if (!chr) {
        return;
    }
    if (has_format && format == DATA_FORMAT_BASE64) {
        bytes = g_base64_decode(data, &len);
    } else {
        len = strlen(data);
    }
    chardev_ringbuf_write(chr, bytes ? bytes : (const uint8_t *)data, len);
}

char *qmp_ringbuf_read(const char *device, int64_t size, bool has_format,
                       DataFormat format, Error **errp)
{
    Chardev *chr = find_ringbuf(device, errp);
    g_autofree uint8_t *bytes = NULL;
    int len;

    if (!chr) {
        return NULL;
    }
    if (size <= 0) {
        error_setg(errp, "size must be greater than zero");
        return NULL;
    }
    size = MIN(size, (int64_t)chardev_ringbuf_used(chr));
    bytes = g_malloc(size + 1);
    len = chardev_ringbuf_read(chr, bytes, size);
    bytes[len] = '\0';
    if (has_format && format == DATA_FORMAT_BASE64) {
        return g_base64_encode(bytes, len);
    }
    /* Bytes that are no UTF-8 become U+FFFD: it travels as JSON. */
    return g_utf8_make_valid((const char *)bytes, len);
}

/*
 * HMP
 */

static const char *arg_string(json_object *args, const char *name)
{
    return json_object_get_string(json_object_object_get(args, name));
}

static void hmp_chardev_add(Monitor *mon, json_object *args)
{
    const char *spec = arg_string(args, "args");
    Error *err = NULL;

    if (g_str_equal(spec, "help") || g_str_equal(spec, "?")) {
        monitor_printf(mon, "Available chardev backend types:\n");
        for (unsigned i = 0; chardev_classes[i]; i++) {
            monitor_printf(mon, "  %s\n", chardev_classes[i]->name);
        }
        return;
    }
    qemu_chr_new_from_opts(spec, &err);
    hmp_handle_error(mon, err);
}

static void hmp_chardev_remove(Monitor *mon, json_object *args)
{
    Error *err = NULL;

    qmp_chardev_remove(arg_string(args, "id"), &err);
    hmp_handle_error(mon, err);
}

static void hmp_ringbuf_write(Monitor *mon, json_object *args)
{
    Error *err = NULL;

    qmp_ringbuf_write(arg_string(args, "device"), arg_string(args, "data"),
                      false, 0, &err);
    hmp_handle_error(mon, err);
}

static void hmp_ringbuf_read(Monitor *mon, json_object *args)
{
    int64_t size = json_object_get_int64(json_object_object_get(args, "size"));
    Error *err = NULL;
    g_autofree char *data = qmp_ringbuf_read(arg_string(args, "device"), size,
                                             false, 0, &err);

    if (!hmp_handle_error(mon, err)) {
        monitor_printf(mon, "%s\n", data);
    }
}

static void print_chardev(Chardev *chr, void *opaque)
{
    g_autofree char *filename = qemu_chr_filename(chr);

    monitor_printf(opaque, "%s: filename=%s\n", chr->label, filename);
}

static void hmp_info_chardev(Monitor *mon, json_object *args)
{
    chardev_foreach(print_chardev, mon);
}

static void complete_kind(HMPCompletion *c, const char *const *words,
                          unsigned n)
{
    for (unsigned i = 0; chardev_classes[i]; i++) {
        g_autofree char *text = g_strconcat(chardev_classes[i]->name, ",",
                                            NULL);

        hmp_completion_add(c, text);
    }
}

static void add_label(Chardev *chr, void *opaque)
{
    hmp_completion_add(opaque, chr->label);
}

static void add_ringbuf(Chardev *chr, void *opaque)
{
    if (chardev_is_ringbuf(chr)) {
        hmp_completion_add(opaque, chr->label);
    }
}

static void complete_ringbuf(HMPCompletion *c, const char *const *words,
                             unsigned n)
{
    if (n == 0) {
        chardev_foreach(add_ringbuf, c);
    }
}

static void complete_label(HMPCompletion *c, const char *const *words,
                           unsigned n)
{
    if (n == 0) {
        chardev_foreach(add_label, c);
    }
}

const HMPCommand hmp_chardev_commands[] = {
    {
        .name = "chardev-add",
        .args_type = "args:s",
        .params = "args",
        .help = "make a chardev, as -chardev does",
        .cmd = hmp_chardev_add,
        .complete = complete_kind,
    },
    {
        .name = "chardev-remove",
        .args_type = "id:s",
        .params = "id",
        .help = "delete a chardev that is not in use",
        .cmd = hmp_chardev_remove,
        .complete = complete_label,
    },
    {
        .name = "ringbuf_write",
        .args_type = "device:s,data:s",
        .params = "device data",
        .help = "write to a ring buffer chardev",
        .cmd = hmp_ringbuf_write,
        .complete = complete_ringbuf,
    },
    {
        .name = "ringbuf_read",
        .args_type = "device:s,size:i",
        .params = "device size",
        .help = "take the oldest bytes out of a ring buffer chardev",
        .cmd = hmp_ringbuf_read,
        .complete = complete_ringbuf,
    },
    { .name = NULL },
};

const HMPCommand hmp_chardev_info_commands[] = {
    {
        .name = "chardev",
        .help = "show the character devices",
        .cmd = hmp_info_chardev,
    },
    { .name = NULL },
};
