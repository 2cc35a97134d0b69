/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ide-hd: the disk on an image; see drive.h. It has no state. */
#include "qemu/osdep.h"

#include "hw/block/drive.h"
#include "qemu/error.h"
#include "qemu/fd-store.h"

typedef struct IdeHd {
    DeviceState parent_obj;

    char *drive_id;             /* property drive */
    uint32_t cyls, heads, secs; /* properties; 0: not given */
    DriveInfo *drive;
} IdeHd;

DECLARE_INSTANCE_CHECKER(IdeHd, IDE_HD, TYPE_IDE_HD)

/* One machine per process; first come, first booted. */
static const DriveInfo *boot_disk;

bool disk_present(void)
{
    return boot_disk != NULL;
}

const char *disk_file(void)
{
    return boot_disk ? boot_disk->file : NULL;
}

bool disk_read_boot_sector(uint8_t sector[SECTOR_SIZE], Error **errp)
{
    int fd = qemu_open(boot_disk->file, O_RDONLY, errp);
    ssize_t n;

    if (fd < 0) {
        return false;
    }
    do {
        n = pread(fd, sector, SECTOR_SIZE, 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        error_setg_errno(errp, errno, "could not read '%s'", boot_disk->file);
    } else if (n < SECTOR_SIZE) {
        error_setg(errp, "'%s' has %zd bytes, a boot sector has %d",
                   boot_disk->file, n, SECTOR_SIZE);
    }
    qemu_close(fd);
    return n == SECTOR_SIZE;
}

static bool check_geometry(const IdeHd *s, Error **errp)
{
    static const struct {
        const char *name;
        size_t offset;
        uint32_t max;
    } part[] = {
        { "cyls", offsetof(IdeHd, cyls), 65535 },
        { "heads", offsetof(IdeHd, heads), 16 },
        { "secs", offsetof(IdeHd, secs), 255 },
    };

    if (!s->cyls && !s->heads && !s->secs) {
        return true;
    }
    for (size_t i = 0; i < ARRAY_SIZE(part); i++) {
        uint32_t v = *(const uint32_t *)((const char *)s + part[i].offset);

        if (v < 1 || v > part[i].max) {
            error_setg(errp,
                       "%s is %" PRIu32 ", expected 1 to %" PRIu32
                       " (cyls, heads and secs go together)",
                       part[i].name, v, part[i].max);
            return false;
        }
    }
    return true;
}

static bool ide_hd_realize(DeviceState *dev, Error **errp)
{
    IdeHd *s = IDE_HD(dev);

    if (!s->drive_id) {
        error_setg(errp, "'drive' is missing: ID of a -drive");
        return false;
    }
    s->drive = drive_find(s->drive_id);
    if (!s->drive) {
        error_setg(errp, "there is no drive '%s'", s->drive_id);
        return false;
    }
    if (s->drive->in_use) {
        error_setg(errp, "drive '%s' is in use by another disk", s->drive_id);
        return false;
    }
    if (!check_geometry(s, errp)) {
        return false;
    }
    s->drive->in_use = true;
    if (!boot_disk) {
        boot_disk = s->drive;
    }
    return true;
}

static void ide_hd_class_init(ObjectClass *oc, const void *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);

    dc->realize = ide_hd_realize;
    dc->desc = "disk of which the machine boots the first sector";
    dc->user_creatable = true;
}

static const Property ide_hd_props[] = {
    DEFINE_PROP_STRING("drive", IdeHd, drive_id),
    DEFINE_PROP_UINT32("cyls", IdeHd, cyls, 0),
    DEFINE_PROP_UINT32("heads", IdeHd, heads, 0),
    DEFINE_PROP_UINT32("secs", IdeHd, secs, 0),
    DEFINE_PROP_END_OF_LIST(),
};

static const TypeInfo ide_hd_type = {
    .name = TYPE_IDE_HD,
    .parent = TYPE_DEVICE,
    .instance_size = sizeof(IdeHd),
    .class_init = ide_hd_class_init,
    .props = ide_hd_props,
};

void ide_hd_register_types(void)
{
    type_register_static(&ide_hd_type);
}
