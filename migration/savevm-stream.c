/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing the main channel: see savevm-stream.h and stream-format.h. */
#include "qemu/osdep.h"

#include "qemu/main-loop.h"
#include "system/cpus.h"
#include "system/machine-info.h"

#include "config.h"
#include "options.h"
#include "savevm-stream.h"
#include "stream-format.h"
#include "trace-migration.h"

void stream_put_header(QEMUFile *f)
{
    qemu_put_be32(f, QEMU_VM_FILE_MAGIC);
    qemu_put_be32(f, QEMU_VM_FILE_VERSION);
}

void stream_put_command(QEMUFile *f, unsigned command, const void *data,
                        uint16_t len)
{
    qemu_put_byte(f, QEMU_VM_COMMAND);
    qemu_put_be16(f, command);
    qemu_put_be16(f, len);
    if (len) {
        qemu_put_buffer(f, data, len);
    }
}

void stream_put_ping(QEMUFile *f, uint32_t value)
{
    uint32_t wire = GUINT32_TO_BE(value);

    stream_put_command(f, MIG_CMD_PING, &wire, sizeof(wire));
}

void stream_put_eof(QEMUFile *f)
{
    qemu_put_byte(f, QEMU_VM_EOF);
}

static void put_section_head(QEMUFile *f, const SaveStateEntry *se,
                             enum QemuVmSection type)
{
    trace_savevm_section_start(se->idstr, se->section_id, type);
    qemu_put_byte(f, type);
    qemu_put_be32(f, se->section_id);
    if (type == QEMU_VM_SECTION_START || type == QEMU_VM_SECTION_FULL) {
        qemu_put_counted_string(f, se->idstr);
        qemu_put_be32(f, se->instance_id);
        qemu_put_be32(f, se->version_id);
    }
}

static void put_footer(QEMUFile *f, const SaveStateEntry *se)
{
    if (migrate_send_section_footer()) {
        qemu_put_byte(f, QEMU_VM_SECTION_FOOTER);
        qemu_put_be32(f, se->section_id);
    }
    trace_savevm_section_end(se->idstr, se->section_id);
}

static bool takes_part_live(const SaveStateEntry *se)
{
    return savevm_is_live(se) && savevm_is_active(se);
}

bool stream_save_setup(QEMUFile *f, Error **errp)
{
    ERRP_GUARD();

    for (SaveStateEntry *se = savevm_first(); se; se = se->next) {
        if (!takes_part_live(se)) {
            continue;
        }
        if (se->ops->save_prepare && !se->ops->save_prepare(se->opaque, errp)) {
            error_prepend(errp, "cannot prepare section '%s': ", se->idstr);
            return false;
        }
        put_section_head(f, se, QEMU_VM_SECTION_START);
        if (!se->ops->save_setup(f, se->opaque, errp)) {
            error_prepend(errp, "cannot begin section '%s': ", se->idstr);
            return false;
        }
        put_footer(f, se);
    }
    return true;
}

int stream_save_iterate(QEMUFile *f, Error **errp)
{
    ERRP_GUARD();
    int all_done = 1;

    for (SaveStateEntry *se = savevm_first(); se; se = se->next) {
        int done;

        if (!takes_part_live(se)) {
            continue;
        }
        put_section_head(f, se, QEMU_VM_SECTION_PART);
        done = se->ops->save_live_iterate(f, se->opaque, errp);
        if (done < 0) {
            error_prepend(errp, "section '%s': ", se->idstr);
            return -1;
        }
        put_footer(f, se);
        all_done &= done;
    }
    return all_done;
}

bool stream_save_complete(QEMUFile *f, Error **errp)
{
    ERRP_GUARD();

    for (SaveStateEntry *se = savevm_first(); se; se = se->next) {
        if (!takes_part_live(se)) {
            continue;
        }
        put_section_head(f, se, QEMU_VM_SECTION_END);
        if (!se->ops->save_live_complete_precopy(f, se->opaque, errp)) {
            error_prepend(errp, "cannot end section '%s': ", se->idstr);
            return false;
        }
        put_footer(f, se);
    }
    return true;
}

bool stream_save_devices(QEMUFile *f, JSONWriter *vmdesc, Error **errp)
{
    assert(bql_locked());
    cpu_synchronize_all_states();
    for (SaveStateEntry *se = savevm_first(); se; se = se->next) {
        if (savevm_is_live(se) || !savevm_is_active(se)) {
            continue;
        }
        put_section_head(f, se, QEMU_VM_SECTION_FULL);
        if (!savevm_save_full(f, se, vmdesc, errp)) {
            return false;
        }
        put_footer(f, se);
    }
    return qemu_fflush(f, errp);
}

JSONWriter *stream_vmdesc_new(void)
{
    JSONWriter *w = json_writer_new();

    json_writer_start_object(w, NULL);
    return w;
}

bool stream_put_configuration(QEMUFile *f, JSONWriter *vmdesc, Error **errp)
{
    if (migrate_send_configuration()) {
        qemu_put_byte(f, QEMU_VM_CONFIGURATION);
        json_writer_start_object(vmdesc, "configuration");
        if (!migration_config_save(f, vmdesc, errp)) {
            return false;
        }
        json_writer_end_object(vmdesc);
    }
    json_writer_int64(vmdesc, "page_size",
                      INT64_C(1) << machine_info()->target_page_bits);
    json_writer_start_array(vmdesc, "devices");
    return true;
}

void stream_put_vmdesc(QEMUFile *f, JSONWriter *vmdesc)
{
    const char *text;
    size_t len;

    json_writer_end_array(vmdesc);
    json_writer_end_object(vmdesc);
    if (machine_info()->suppress_vmdesc) {
        return;
    }
    text = json_writer_get(vmdesc, &len);
    qemu_put_byte(f, QEMU_VM_VMDESCRIPTION);
    qemu_put_be32(f, len);
    qemu_put_buffer(f, text, len);
}

void stream_save_cleanup(void)
{
    assert(bql_locked());
    for (SaveStateEntry *se = savevm_first(); se; se = se->next) {
        if (se->ops && se->ops->save_cleanup) {
            se->ops->save_cleanup(se->opaque);
        }
    }
}
