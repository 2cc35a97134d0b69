/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Section registry: see savevm.h for the contract.
 */
#include "qemu/osdep.h"

#include "vmstate/savevm.h"

/* One VM per process: what it consists of exists once. */
static struct {
    SaveStateEntry *first;
    uint32_t next_section_id;
} registry;

/*
 * Registering.
 */

static bool next_instance_id(const char *idstr, uint32_t *id, Error **errp)
{
    uint64_t next = 0;

    for (SaveStateEntry *se = registry.first; se; se = se->next) {
        if (g_str_equal(se->idstr, idstr)) {
            next = MAX(next, (uint64_t)se->instance_id + 1);
        }
    }
    if (next > UINT32_MAX) {
        error_setg(errp, "No instance id is left for section '%s'", idstr);
        return false;
    }
    *id = next;
    return true;
}

static bool choose_instance(const char *idstr, int64_t wanted, uint32_t *id,
                            Error **errp)
{
    if (wanted == VMSTATE_INSTANCE_ID_ANY) {
        return next_instance_id(idstr, id, errp);
    }
    assert(wanted >= 0 && wanted <= UINT32_MAX);
    if (savevm_find(idstr, wanted)) {
        error_setg(errp,
                   "Section '%s' instance %" PRId64 " is registered already",
                   idstr, wanted);
        return false;
    }
    *id = wanted;
    return true;
}

/* Behind all of its own or a higher priority. */
static void insert(SaveStateEntry *se)
{
    SaveStateEntry **p = &registry.first;

    while (*p && (*p)->priority >= se->priority) {
        p = &(*p)->next;
    }
    se->next = *p;
    *p = se;
}

/* @idstr: ours from now on, also on failure. */
static SaveStateEntry *add_entry(char *idstr, int64_t instance_id,
                                 int version_id, MigrationPriority priority,
                                 void *opaque, Error **errp)
{
    SaveStateEntry *se;
    uint32_t id;

    if (!*idstr || strlen(idstr) > UINT8_MAX) {
        error_setg(errp,
                   "'%.40s...' cannot be the name of a section: it must "
                   "have 1 to 255 bytes",
                   idstr);
        g_free(idstr);
        return NULL;
    }
    if (!choose_instance(idstr, instance_id, &id, errp)) {
        g_free(idstr);
        return NULL;
    }
    se = g_new0(SaveStateEntry, 1);
    se->idstr = idstr;
    se->instance_id = id;
    se->version_id = version_id;
    se->section_id = registry.next_section_id++;
    se->priority = priority == MIG_PRI_UNINITIALIZED ? MIG_PRI_DEFAULT
                                                     : priority;
    se->opaque = opaque;
    insert(se);
    return se;
}

bool vmstate_register(const char *id_prefix, int64_t instance_id,
                      const VMStateDescription *vmsd, void *opaque,
                      Error **errp)
{
    SaveStateEntry *se;
    char *idstr;

    if (!vmstate_check(vmsd, &error_abort)) {
        return false;
    }
    idstr = id_prefix ? g_strdup_printf("%s/%s", id_prefix, vmsd->name)
                      : g_strdup(vmsd->name);
    se = add_entry(idstr, instance_id, vmsd->version_id, vmsd->priority, opaque,
                   errp);
    if (!se) {
        return false;
    }
    se->vmsd = vmsd;
    return true;
}

bool register_savevm_live(const char *idstr, int64_t instance_id,
                          int version_id, const SaveVMHandlers *ops,
                          void *opaque, Error **errp)
{
    SaveStateEntry *se;

    assert(ops->load_state);
    assert(ops->save_live_iterate
               ? ops->save_setup && ops->save_live_complete_precopy
               : ops->save_state != NULL);
    se = add_entry(g_strdup(idstr), instance_id, version_id, MIG_PRI_DEFAULT,
                   opaque, errp);
    if (!se) {
        return false;
    }
    se->ops = ops;
    return true;
}

static void remove_entry(SaveStateEntry **p)
{
    SaveStateEntry *se = *p;

    *p = se->next;
    g_free(se->idstr);
    g_free(se);
}

void vmstate_unregister(const VMStateDescription *vmsd, void *opaque)
{
    SaveStateEntry **p = &registry.first;

    while (*p) {
        if ((*p)->vmsd == vmsd && (*p)->opaque == opaque) {
            remove_entry(p);
        } else {
            p = &(*p)->next;
        }
    }
}

void unregister_savevm(const char *idstr, void *opaque)
{
    SaveStateEntry **p = &registry.first;

    while (*p) {
        if ((*p)->ops && g_str_equal((*p)->idstr, idstr) &&
            (*p)->opaque == opaque) {
            remove_entry(p);
        } else {
            p = &(*p)->next;
        }
    }
}

/*
 * Looking.
 */

SaveStateEntry *savevm_first(void)
{
    return registry.first;
}

SaveStateEntry *savevm_find(const char *idstr, uint32_t instance_id)
{
    for (SaveStateEntry *se = registry.first; se; se = se->next) {
        if (se->instance_id == instance_id && g_str_equal(se->idstr, idstr)) {
            return se;
        }
    }
    return NULL;
}

SaveStateEntry *savevm_find_loaded(uint32_t section_id)
{
    for (SaveStateEntry *se = registry.first; se; se = se->next) {
        if (se->load_started && se->load_section_id == section_id) {
            return se;
        }
    }
    return NULL;
}

void savevm_load_reset(void)
{
    for (SaveStateEntry *se = registry.first; se; se = se->next) {
        se->load_started = se->load_seen = false;
        se->load_section_id = 0;
        se->load_version_id = 0;
    }
}

bool savevm_is_active(const SaveStateEntry *se)
{
    if (se->vmsd) {
        return vmstate_section_needed(se->vmsd, se->opaque);
    }
    return !se->ops->is_active || se->ops->is_active(se->opaque);
}

const char *savevm_unmigratable(void)
{
    for (SaveStateEntry *se = registry.first; se; se = se->next) {
        if (se->vmsd && se->vmsd->unmigratable) {
            return se->idstr;
        }
    }
    return NULL;
}

/*
 * Payloads.
 */

static void prepend_section(Error **errp, const SaveStateEntry *se)
{
    error_prepend(errp, "Section '%s' (instance %" PRIu32 "): ", se->idstr,
                  se->instance_id);
}

/* A section without a table is described by its size. */
static bool save_opaque(QEMUFile *f, SaveStateEntry *se, JSONWriter *vmdesc,
                        Error **errp)
{
    uint64_t start = qemu_file_position(f), size;

    if (!se->ops->save_state(f, se->opaque, errp) ||
        !qemu_file_check(f, errp)) {
        return false;
    }
    size = qemu_file_position(f) - start;
    json_writer_int64(vmdesc, "size", size);
    json_writer_start_array(vmdesc, "fields");
    json_writer_start_object(vmdesc, NULL);
    json_writer_str(vmdesc, "name", "data");
    json_writer_int64(vmdesc, "size", size);
    json_writer_str(vmdesc, "type", "buffer");
    json_writer_end_object(vmdesc);
    json_writer_end_array(vmdesc);
    return true;
}

bool savevm_save_full(QEMUFile *f, SaveStateEntry *se, JSONWriter *vmdesc,
                      Error **errp)
{
    ERRP_GUARD();
    bool ok;

    assert(!savevm_is_live(se));
    json_writer_start_object(vmdesc, NULL);
    json_writer_str(vmdesc, "name", se->idstr);
    json_writer_int64(vmdesc, "instance_id", se->instance_id);
    ok = se->vmsd ? vmstate_save_state(f, se->vmsd, se->opaque, vmdesc, errp)
                  : save_opaque(f, se, vmdesc, errp);
    json_writer_end_object(vmdesc);
    if (!ok) {
        prepend_section(errp, se);
    }
    return ok;
}

bool savevm_load_payload(QEMUFile *f, SaveStateEntry *se, int version_id,
                         Error **errp)
{
    ERRP_GUARD();
    bool ok;

    if (se->vmsd) {
        ok = vmstate_load_state(f, se->vmsd, se->opaque, version_id, errp);
    } else if (version_id < 0 || version_id > se->version_id) {
        error_setg(errp, "version %d is not known here, the newest is %d",
                   version_id, se->version_id);
        ok = false;
    } else {
        ok = se->ops->load_state(f, se->opaque, version_id, errp) &&
             qemu_file_check(f, errp);
    }
    if (!ok) {
        prepend_section(errp, se);
    }
    return ok;
}
