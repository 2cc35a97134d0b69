/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -drive: see drive.h. */
#include "qemu/osdep.h"

#include "hw/block/drive.h"
#include "qemu/cutils.h"
#include "qemu/error.h"
#include "qemu/fd-store.h"
#include "system/own-files.h"

/* One list per process, in the order of the command line. */
static GSList *drives;

DriveInfo *drive_find(const char *id)
{
    for (GSList *l = drives; l; l = l->next) {
        DriveInfo *d = l->data;

        if (d->id && g_str_equal(d->id, id)) {
            return d;
        }
    }
    return NULL;
}

static const char *take(json_object *props, const char *key)
{
    json_object *v = json_object_object_get(props, key);

    return v ? json_object_get_string(v) : NULL;
}

/* Of some options one value is what there is. */
static bool check_fixed(json_object *props, Error **errp)
{
    static const struct {
        const char *key, *value, *why;
    } fixed[] = {
        { "format", "raw", "only raw images can be read" },
        { "media", "disk", "there is no drive for other media" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
        const char *v = take(props, fixed[i].key);

        if (v && !g_str_equal(v, fixed[i].value)) {
            error_setg(errp, "%s=%s: %s", fixed[i].key, v, fixed[i].why);
            return false;
        }
    }
    return true;
}

static bool check_keys(json_object *props, Error **errp)
{
    static const char *const known[] = { "file",  "format",   "if",    "id",
                                         "media", "readonly", "index", NULL };

    json_object_object_foreach(props, key, value)
    {
        (void)value;
        if (!g_strv_contains(known, key)) {
            error_setg(errp,
                       "'%s' is not supported; there are file, format, if, "
                       "id, media, readonly, index",
                       key);
            return false;
        }
    }
    return true;
}

/* Formats that a user may mean by leaving `format` out. */
static bool check_image(const char *file, bool format_given, uint64_t number,
                        Error **errp)
{
    uint8_t sector[SECTOR_SIZE] = { 0 };
    int fd = qemu_open(file, O_RDONLY, errp);
    ssize_t n;

    if (fd < 0) {
        return false;
    }
    n = pread(fd, sector, sizeof(sector), 0);
    if (n < 0) {
        error_setg_errno(errp, errno, "could not read '%s'", file);
    } else {
        g_autofree char *what = g_strdup_printf(
            "the image of drive %" PRIu64 " ('%s')", number, file);

        own_file_register(fd, what);
    }
    qemu_close(fd);
    if (n < 0) {
        return false;
    }
    if (!format_given && memcmp(sector, "QFI\xfb", 4) == 0) {
        error_setg(errp, "'%s' is a qcow2 image; only raw ones can be read",
                   file);
        return false;
    }
    return true;
}

static bool check_interface(const char *iface, bool *on_board, Error **errp)
{
    *on_board = !iface || g_str_equal(iface, "ide");
    if (*on_board || g_str_equal(iface, "none")) {
        return true;
    }
    error_setg(errp, "if=%s: there is no such controller; use ide or none",
               iface);
    return false;
}

bool drive_add(json_object *props, Error **errp)
{
    const char *file = take(props, "file"), *id = take(props, "id");
    const char *readonly = take(props, "readonly");
    const char *index = take(props, "index");
    uint64_t number = g_slist_length(drives);
    bool on_board, ro; /* nothing is written, whatever is asked for */
    DriveInfo *d;

    if (!check_keys(props, errp) || !check_fixed(props, errp) ||
        !check_interface(take(props, "if"), &on_board, errp) ||
        (readonly && !qemu_parse_bool("readonly", readonly, &ro, errp))) {
        return false;
    }
    if (!file) {
        error_setg(errp, "'file' is missing");
        return false;
    }
    if (id && drive_find(id)) {
        error_setg(errp, "there is a drive '%s' already", id);
        return false;
    }
    if (index && (qemu_strtou64(index, NULL, 10, &number) < 0 ||
                  number != g_slist_length(drives))) {
        error_setg(errp,
                   "index=%s: drives are numbered in the order given, "
                   "this is %u",
                   index, g_slist_length(drives));
        return false;
    }
    if (!check_image(file, take(props, "format") != NULL, number, errp)) {
        return false;
    }
    d = g_new0(DriveInfo, 1);
    d->id = g_strdup(id);
    d->file = g_strdup(file);
    d->on_board = on_board;
    drives = g_slist_append(drives, d);
    return true;
}

static bool make_disk(DriveInfo *d, Error **errp)
{
    DeviceState *dev;

    if (!d->id) {
        static unsigned next;

        d->id = g_strdup_printf("ide0-hd%u", next++);
    }
    dev = qdev_new(TYPE_IDE_HD, errp);
    if (!dev) {
        return false;
    }
    if (!object_property_set_str(OBJECT(dev), "drive", d->id, errp)) {
        object_unref(OBJECT(dev));
        return false;
    }
    return qdev_realize_and_unref(dev, errp);
}

bool drives_make_disks(bool has_ide, Error **errp)
{
    for (GSList *l = drives; l; l = l->next) {
        DriveInfo *d = l->data;

        if (!has_ide) {
            error_setg(errp, "-drive file=%s: this machine has no disks",
                       d->file);
            return false;
        }
        if (d->on_board && !d->in_use && !make_disk(d, errp)) {
            return false;
        }
    }
    return true;
}
