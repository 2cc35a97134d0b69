/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CONFIGURATION section: see config.h and stream-format.h. */
#include "qemu/osdep.h"

#include "system/machine-info.h"

#include "config.h"
#include "options.h"
#include "stream-format.h"

typedef struct MigrationConfig {
    uint32_t len;
    uint8_t *name; /* room for CONFIG_NAME_MAX_BYTES */
    uint32_t target_page_bits;
    uint32_t nr_caps;
    int32_t caps[CONFIG_CAPS_MAX];
    uint8_t uuid[16];
    bool has_uuid;
} MigrationConfig;

static bool page_bits_needed(void *opaque)
{
    const MigrationConfig *c = opaque;

    return c->target_page_bits > machine_info()->target_page_bits_min;
}

static const VMStateDescription vmstate_page_bits = {
    .name = "configuration/target-page-bits",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = page_bits_needed,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT32(target_page_bits, MigrationConfig),
            VMSTATE_END_OF_LIST(),
        },
};

/* A capability travels by name. */
static bool get_capability(QEMUFile *f, void *pv, size_t size,
                           const VMStateField *field, Error **errp)
{
    char name[256];
    int32_t *cap = pv;

    if (!qemu_get_counted_string(f, name)) {
        return qemu_file_check(f, errp);
    }
    for (int i = 0; i < MIGRATION_CAPABILITY__MAX; i++) {
        if (!strcmp(name, MigrationCapability_str(i))) {
            *cap = i;
            return true;
        }
    }
    error_setg(errp, "the source has the capability '%s', unknown here", name);
    return false;
}

static bool put_capability(QEMUFile *f, void *pv, size_t size,
                           const VMStateField *field, Error **errp)
{
    qemu_put_counted_string(f, MigrationCapability_str(*(int32_t *)pv));
    return true;
}

static const VMStateInfo vmstate_info_capability = {
    .name = "capability",
    .get = get_capability,
    .put = put_capability,
};

static bool caps_needed(void *opaque)
{
    const MigrationConfig *c = opaque;

    return c->nr_caps > 0;
}

static const VMStateDescription vmstate_caps = {
    .name = "configuration/capabilities",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = caps_needed,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT32(nr_caps, MigrationConfig),
            VMSTATE_VARRAY_UINT32(caps, MigrationConfig, nr_caps,
                                  CONFIG_CAPS_MAX, 1, vmstate_info_capability,
                                  int32_t),
            VMSTATE_END_OF_LIST(),
        },
};

static bool uuid_needed(void *opaque)
{
    const MigrationConfig *c = opaque;

    return c->has_uuid;
}

static bool uuid_post_load(void *opaque, int version_id, Error **errp)
{
    MigrationConfig *c = opaque;

    c->has_uuid = true;
    return true;
}

static const VMStateDescription vmstate_uuid = {
    .name = "configuration/uuid",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = uuid_needed,
    .post_load = uuid_post_load,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT8_ARRAY(uuid, MigrationConfig, 16),
            VMSTATE_END_OF_LIST(),
        },
};

static const VMStateDescription vmstate_configuration = {
    .name = "configuration",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT32(len, MigrationConfig),
            VMSTATE_VBUFFER_UINT32(name, MigrationConfig, 0,
                                   CONFIG_NAME_MAX_BYTES, len),
            VMSTATE_END_OF_LIST(),
        },
    .subsections =
        (const VMStateDescription *const[]){
            &vmstate_page_bits,
            &vmstate_caps,
            &vmstate_uuid,
            NULL,
        },
};

bool migration_config_save(QEMUFile *f, JSONWriter *vmdesc, Error **errp)
{
    const SystemMachineInfo *machine = machine_info();
    uint8_t name[CONFIG_NAME_MAX_BYTES + 1] = { 0 };
    MigrationConfig c = {
        .len = strlen(machine->name),
        .name = name,
        .target_page_bits = machine->target_page_bits,
        .has_uuid = migrate_validate_uuid() && machine->uuid_set,
    };

    assert(c.len <= CONFIG_NAME_MAX_BYTES);
    memcpy(name, machine->name, c.len);
    memcpy(c.uuid, machine->uuid, sizeof(c.uuid));
    for (int i = 0; i < MIGRATION_CAPABILITY__MAX; i++) {
        if (migration_cap_is_validated(i) && migration_cap(i)) {
            c.caps[c.nr_caps++] = i;
        }
    }
    return vmstate_save_state(f, &vmstate_configuration, &c, vmdesc, errp);
}

static bool check_caps(const MigrationConfig *c, Error **errp)
{
    bool theirs[MIGRATION_CAPABILITY__MAX] = { false };

    for (uint32_t i = 0; i < c->nr_caps; i++) {
        theirs[c->caps[i]] = true;
    }
    for (int i = 0; i < MIGRATION_CAPABILITY__MAX; i++) {
        if (migration_cap_is_validated(i) && theirs[i] != migration_cap(i)) {
            error_setg(errp, "capability '%s' is %s at the source, and %s here",
                       MigrationCapability_str(i), theirs[i] ? "on" : "off",
                       theirs[i] ? "off" : "on");
            return false;
        }
    }
    return true;
}

static char *uuid_text(const uint8_t *u)
{
    return g_strdup_printf("%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
                           "%02x%02x%02x%02x%02x%02x",
                           u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8],
                           u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

static bool check_uuid(const MigrationConfig *c, Error **errp)
{
    const SystemMachineInfo *machine = machine_info();
    g_autofree char *theirs = uuid_text(c->uuid);
    g_autofree char *ours = uuid_text(machine->uuid);

    if (!c->has_uuid || !migrate_validate_uuid()) {
        return true;
    }
    if (!machine->uuid_set) {
        warn_report("the source has the UUID %s, none is set here", theirs);
        return true;
    }
    if (memcmp(c->uuid, machine->uuid, sizeof(c->uuid))) {
        error_setg(errp, "the source has the UUID %s, here it is %s", theirs,
                   ours);
        return false;
    }
    return true;
}

static bool check_config(const MigrationConfig *c, Error **errp)
{
    const SystemMachineInfo *machine = machine_info();

    if (c->len != strlen(machine->name) ||
        memcmp(c->name, machine->name, c->len)) {
        g_autofree char *theirs = g_strescape((const char *)c->name, NULL);

        error_setg(errp, "the source is a machine '%s', this is a '%s'", theirs,
                   machine->name);
        return false;
    }
    if (c->target_page_bits != machine->target_page_bits) {
        error_setg(errp,
                   "the source has pages of 2^%u bytes, this machine of 2^%u",
                   c->target_page_bits, machine->target_page_bits);
        return false;
    }
    return check_caps(c, errp) && check_uuid(c, errp);
}

bool migration_config_load(QEMUFile *f, Error **errp)
{
    ERRP_GUARD();
    uint8_t name[CONFIG_NAME_MAX_BYTES + 1] = { 0 };
    MigrationConfig c = {
        .name = name,
        .target_page_bits = machine_info()->target_page_bits_min,
    };

    if (!vmstate_load_state(f, &vmstate_configuration, &c, 1, errp) ||
        !check_config(&c, errp)) {
        error_prepend(errp, "configuration section: ");
        return false;
    }
    return true;
}
