/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chardevs: the list of them, making and deleting. See chardev/char.h. */
#include "qemu/osdep.h"

#include "char-int.h"
#include "qemu/cutils.h"
#include "qemu/fd-store.h"

const ChardevClass *const chardev_classes[] = {
    &chardev_class_file,    &chardev_class_null,
    &chardev_class_pipe,    &chardev_class_pty,
    &chardev_class_ringbuf, &chardev_class_socket,
    &chardev_class_stdio,   NULL,
};

/* One list per process, as labels are unique in it. Main loop only. */
static struct {
    GList *all; /* of Chardev, in order of creation */
    const ChardevMuxHooks *mux_hooks;
} chardevs;

/* Guards Chardev.filename: back ends change it in their own context. */
static QemuMutex filename_lock = { PTHREAD_MUTEX_INITIALIZER };

const ChardevClass *chardev_class_find(const char *name)
{
    for (unsigned i = 0; chardev_classes[i]; i++) {
        if (g_str_equal(chardev_classes[i]->name, name)) {
            return chardev_classes[i];
        }
    }
    return NULL;
}

void qemu_chr_set_mux_hooks(const ChardevMuxHooks *hooks)
{
    chardevs.mux_hooks = hooks;
}

const ChardevMuxHooks *chardev_mux_hooks(void)
{
    return chardevs.mux_hooks;
}

Chardev *qemu_chr_find(const char *label)
{
    for (GList *it = chardevs.all; it; it = it->next) {
        Chardev *chr = it->data;

        if (g_str_equal(chr->label, label)) {
            return chr;
        }
    }
    return NULL;
}

void chardev_foreach(void (*fn)(Chardev *chr, void *opaque), void *opaque)
{
    for (GList *it = chardevs.all; it; it = it->next) {
        fn(it->data, opaque);
    }
}

const char *qemu_chr_label(const Chardev *chr)
{
    return chr->label;
}

char *qemu_chr_filename(const Chardev *chr)
{
    QEMU_LOCK_GUARD(&filename_lock);
    return g_strdup(chr->filename ? chr->filename : chr->klass->name);
}

void chr_set_filename(Chardev *chr, char *owned)
{
    QEMU_LOCK_GUARD(&filename_lock);
    g_free(chr->filename);
    chr->filename = owned;
}

bool qemu_chr_has_mux(const Chardev *chr)
{
    return chr->klass->attach;
}

bool chardev_is_busy(const Chardev *chr)
{
    return chr->fe;
}

/*
 * Making
 */

static bool open_logfile(Chardev *chr, const ChardevOptions *o, Error **errp)
{
    int flags = O_WRONLY | (o->logappend ? O_APPEND : O_TRUNC);

    if (!o->logfile) {
        return true;
    }
    chr->logfd = qemu_create(o->logfile, flags, 0666, errp);
    return chr->logfd >= 0;
}

static void chardev_free(Chardev *chr)
{
    if (chr->klass->close) {
        chr->klass->close(chr);
    }
    if (chr->logfd >= 0) {
        qemu_close(chr->logfd);
    }
    qemu_mutex_destroy(&chr->lock);
    g_free(chr->filename);
    g_free(chr->label);
    g_free(chr);
}

Chardev *chardev_new(const char *label, const ChardevClass *klass,
                     const ChardevOptions *o, Error **errp)
{
    Chardev *chr;
    bool opened = true;

    if (qemu_chr_find(label)) {
        error_setg(errp, "Chardev with id '%s' already exists", label);
        return NULL;
    }
    chr = g_malloc0(klass->instance_size);
    chr->klass = klass;
    chr->label = g_strdup(label);
    chr->logfd = -1;
    qemu_mutex_init(&chr->lock);
    if (!open_logfile(chr, o, errp) || !klass->open(chr, o, &opened, errp)) {
        chardev_free(chr);
        return NULL;
    }
    if (opened) {
        chr->be_open = true;
    }
    chardevs.all = g_list_append(chardevs.all, chr);
    return chr;
}

void chardev_delete(Chardev *chr)
{
    assert(!chr->fe);
    chardevs.all = g_list_remove(chardevs.all, chr);
    chardev_free(chr);
}

Chardev *chardev_new_from_options(const ChardevOptions *o, Error **errp)
{
    const ChardevClass *klass = chardev_class_find(o->backend);
    g_autofree char *base_label = NULL;
    Chardev *base, *mux;

    if (!klass) {
        error_setg(errp, "'%s' is not a valid char driver name", o->backend);
        return NULL;
    }
    if (!chardev_options_check(o, klass, errp)) {
        return NULL;
    }
    if (!o->mux) {
        return chardev_new(o->id, klass, o, errp);
    }
    if (qemu_chr_find(o->id)) {
        error_setg(errp, "Chardev with id '%s' already exists", o->id);
        return NULL;
    }
    base_label = g_strdup_printf("%s-base", o->id);
    base = chardev_new(base_label, klass, o, errp);
    if (!base) {
        return NULL;
    }
    mux = chardev_mux_new(o->id, base, errp);
    if (!mux) {
        chardev_delete(base);
    }
    return mux;
}

static void print_help(void)
{
    printf("Available chardev backend types:\n");
    for (unsigned i = 0; chardev_classes[i]; i++) {
        printf("  %s\n", chardev_classes[i]->name);
    }
}

Chardev *qemu_chr_new_from_opts(const char *optarg, Error **errp)
{
    g_autoptr(ChardevOptions) o = NULL;

    if (g_str_equal(optarg, "help") || g_str_equal(optarg, "?")) {
        print_help();
        return NULL;
    }
    o = chardev_options_parse(optarg, errp);
    return o ? chardev_new_from_options(o, errp) : NULL;
}

/* "mon:SPEC": SPEC as a mux that a monitor and the caller's device share. */
static Chardev *new_with_monitor(const char *label, const char *spec,
                                 Error **errp)
{
    g_autoptr(ChardevOptions) o = chardev_options_from_spec(label, spec, errp);
    Chardev *chr;

    if (!o) {
        return NULL;
    }
    if (!chardevs.mux_hooks) {
        error_setg(errp, "'mon:%s': there is no monitor here", spec);
        return NULL;
    }
    /* The monitor's user is at a terminal: ^C is for the guest. */
    o->mux = o->has_mux = true;
    o->signal = false;
    o->has_signal = g_str_equal(o->backend, "stdio");
    chr = chardev_new_from_options(o, errp);
    if (chr && !chardevs.mux_hooks->make_monitor(chr, errp)) {
        chardev_delete(chr);
        return NULL;
    }
    return chr;
}

Chardev *qemu_chr_new(const char *label, const char *spec, Error **errp)
{
    g_autoptr(ChardevOptions) o = NULL;
    const char *rest;
    Chardev *chr;

    if (g_str_equal(spec, "none")) {
        return NULL;
    }
    if (strstart(spec, "chardev:", &rest)) {
        chr = qemu_chr_find(rest);
        if (!chr) {
            error_setg(errp, "chardev '%s' not found", rest);
        }
        return chr;
    }
    if (strstart(spec, "mon:", &rest)) {
        return new_with_monitor(label, rest, errp);
    }
    o = chardev_options_from_spec(label, spec, errp);
    return o ? chardev_new_from_options(o, errp) : NULL;
}

void qemu_chr_cleanup_all(void)
{
    /* A mux before its base: newest first. Front ends may still be there. */
    while (chardevs.all) {
        Chardev *chr = g_list_last(chardevs.all)->data;
        CharFrontend *fe = chr->fe;

        if (chr->klass->attach) {
            chardev_mux_forget_frontends(chr);
        } else if (fe) {
            qemu_chr_fe_deinit(fe, false);
        }
        chardev_delete(chr);
    }
}
