/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading the main channel: see loadvm.h and stream-format.h. */
#include "qemu/osdep.h"

#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "system/machine-info.h"

#include "config.h"
#include "loadvm.h"
#include "options.h"
#include "own-kind.h"
#include "ram/ram.h"
#include "return-path.h"
#include "stream-format.h"
#include "trace-migration.h"

/*
 * Sections that QEMU's machines have and ours do not, whose content is of no
 * use here and whose size is known: skipped, if the footer is where it should
 * be. slirp: a user-mode network back end without connections.
 */
static const struct {
    const char *idstr;
    uint32_t version_id;
    uint32_t bytes;
} foreign_sections[] = {
    { "slirp", 4, 131 },
};

static bool load_header(QEMUFile *f, Error **errp)
{
    uint32_t magic = qemu_get_be32(f), version = qemu_get_be32(f);

    if (!qemu_file_check(f, errp)) {
        return false;
    }
    if (magic != QEMU_VM_FILE_MAGIC) {
        error_setg(errp,
                   "not a migration stream: it begins with 0x%08x, expected "
                   "0x%08x",
                   magic, QEMU_VM_FILE_MAGIC);
        return false;
    }
    if (version != QEMU_VM_FILE_VERSION) {
        error_setg(errp, "stream of version %u, expected %u", version,
                   QEMU_VM_FILE_VERSION);
        return false;
    }
    return true;
}

static bool load_configuration(QEMUFile *f, Error **errp)
{
    unsigned type;

    if (!migrate_send_configuration()) {
        return true;
    }
    type = qemu_get_byte(f);
    if (!qemu_file_check(f, errp)) {
        return false;
    }
    if (type != QEMU_VM_CONFIGURATION) {
        error_setg(errp,
                   "configuration section missing: type 0x%02x, expected "
                   "0x%02x",
                   type, QEMU_VM_CONFIGURATION);
        return false;
    }
    return migration_config_load(f, errp);
}

static bool check_footer(QEMUFile *f, const char *idstr, uint32_t section_id,
                         Error **errp)
{
    ERRP_GUARD();
    unsigned type;
    uint32_t id;

    if (!migrate_send_section_footer()) {
        return true;
    }
    type = qemu_get_byte(f);
    id = qemu_get_be32(f);
    if (!qemu_file_check(f, errp)) {
        error_prepend(errp, "footer of section '%s' (id %u): ", idstr,
                      section_id);
        return false;
    }
    if (type != QEMU_VM_SECTION_FOOTER || id != section_id) {
        error_setg(errp,
                   "footer 0x%02x %u after section '%s' (id %u), expected "
                   "0x%02x %u: its content has another size than here",
                   type, id, idstr, section_id, QEMU_VM_SECTION_FOOTER,
                   section_id);
        return false;
    }
    return true;
}

static bool load_device(LoadVM *lv, SaveStateEntry *se, Error **errp)
{
    uint64_t begin_bytes = qemu_file_position(lv->f);
    int64_t begin_ns = get_clock();
    bool ok;

    {
        BQL_LOCK_GUARD();
        ok = savevm_load_payload(lv->f, se, se->load_version_id, errp);
    }
    lv->devices_ns += get_clock() - begin_ns;
    lv->device_bytes += qemu_file_position(lv->f) - begin_bytes;
    return ok;
}

static bool load_payload(LoadVM *lv, SaveStateEntry *se, Error **errp)
{
    bool ok = savevm_is_live(se)
                  ? savevm_load_payload(lv->f, se, se->load_version_id, errp)
                  : load_device(lv, se, errp);

    if (!ok || !check_footer(lv->f, se->idstr, se->load_section_id, errp)) {
        return false;
    }
    lv->after = se->idstr;
    return true;
}

static bool skip_foreign(LoadVM *lv, const char *idstr, uint32_t version_id,
                         uint32_t section_id, bool *skipped, Error **errp)
{
    *skipped = false;
    for (size_t i = 0; i < ARRAY_SIZE(foreign_sections); i++) {
        if (!strcmp(idstr, foreign_sections[i].idstr) &&
            version_id == foreign_sections[i].version_id) {
            *skipped = true;
            qemu_file_skip(lv->f, foreign_sections[i].bytes);
            return check_footer(lv->f, idstr, section_id, errp);
        }
    }
    return true;
}

/* Whether @se can take what the header of START or FULL announces. */
static bool check_section_head(SaveStateEntry *se, unsigned type,
                               uint32_t version_id, Error **errp)
{
    if (!se) {
        error_setg(errp, "no device here has this section: are both sides "
                         "started with the same devices?");
        return false;
    }
    if (version_id > (uint32_t)se->version_id) {
        error_setg(errp, "version %u, at most %d is known here", version_id,
                   se->version_id);
        return false;
    }
    if ((type == QEMU_VM_SECTION_START) != savevm_is_live(se)) {
        error_setg(errp, "section type 0x%02x, expected 0x%02x", type,
                   savevm_is_live(se) ? QEMU_VM_SECTION_START
                                      : QEMU_VM_SECTION_FULL);
        return false;
    }
    if (type == QEMU_VM_SECTION_START && se->load_started) {
        error_setg(errp, "begun twice");
        return false;
    }
    return true;
}

/* With x-omit-holes nobody says that pages were left out, or when. */
static bool begin_notes(Error **errp)
{
    if (migrate_omit_holes() && !ram_load_note_pages()) {
        error_setg(errp, "x-omit-holes: no memory to note which pages come");
        return false;
    }
    return true;
}

static bool end_notes(Error **errp)
{
    return !migrate_omit_holes() || ram_load_clear_rest(errp);
}

/* START or FULL. */
static bool load_section_start(LoadVM *lv, unsigned type, Error **errp)
{
    ERRP_GUARD();
    QEMUFile *f = lv->f;
    uint32_t section_id = qemu_get_be32(f), instance_id, version_id;
    char idstr[256];
    SaveStateEntry *se;
    bool skipped;

    qemu_get_counted_string(f, idstr);
    instance_id = qemu_get_be32(f);
    version_id = qemu_get_be32(f);
    if (!qemu_file_check(f, errp)) {
        error_prepend(errp, "header of section %u: ", section_id);
        return false;
    }
    trace_qemu_loadvm_state_section(type, idstr, instance_id, version_id);
    se = savevm_find(idstr, instance_id);
    if (!se) {
        if (!skip_foreign(lv, idstr, version_id, section_id, &skipped, errp) ||
            skipped) {
            return skipped && !*errp;
        }
    }
    if (!check_section_head(se, type, version_id, errp) ||
        (type == QEMU_VM_SECTION_START && se->ops->load_setup &&
         !se->ops->load_setup(f, se->opaque, errp))) {
        error_prepend(errp, "section '%s', instance %u (id %u): ", idstr,
                      instance_id, section_id);
        return false;
    }
    lv->live_open += type == QEMU_VM_SECTION_START;
    se->load_section_id = section_id;
    se->load_version_id = version_id;
    se->load_started = se->load_seen = true;
    return load_payload(lv, se, errp) &&
           (type != QEMU_VM_SECTION_START || begin_notes(errp));
}

/* PART or END. */
static bool load_section_more(LoadVM *lv, unsigned type, Error **errp)
{
    uint32_t section_id = qemu_get_be32(lv->f);
    SaveStateEntry *se;

    if (!qemu_file_check(lv->f, errp)) {
        return false;
    }
    se = savevm_find_loaded(section_id);
    if (!se || !savevm_is_live(se)) {
        error_setg(errp, "a further part of section %u, which was not begun",
                   section_id);
        return false;
    }
    if (!load_payload(lv, se, errp)) {
        return false;
    }
    if (type == QEMU_VM_SECTION_END) {
        lv->live_open--;
        se->load_started = false;
        return end_notes(errp);
    }
    return true;
}

static bool open_return_path(LoadVM *lv, Error **errp)
{
    if (!lv->rp) {
        lv->rp = qemu_file_get_return_path(lv->f);
    }
    return true;
}

static bool answer_ping(LoadVM *lv, uint32_t value, Error **errp)
{
    if (!lv->rp) {
        error_setg(errp,
                   "PING 0x%x, but this channel has no way back to the source",
                   value);
        return false;
    }
    switch (value) {
    case OWN_KIND_HELLO:
        lv->own_kind = true;
        return return_path_send_pong(lv->rp, OWN_KIND_ANSWER, errp);
    case OWN_KIND_ASK_TIMES:
        if (lv->own_kind) {
            lv->times_asked = true;
            return return_path_send_pong(
                lv->rp, own_kind_pack(OWN_KIND_EXPECT_US, lv->expect_ns / 1000),
                errp);
        }
        break;
    case OWN_KIND_ASK_HOLES:
        if (lv->own_kind && ram_load_note_pages()) {
            lv->notes_pages = true;
            return return_path_send_pong(
                lv->rp, own_kind_pack(OWN_KIND_HOLES, 1), errp);
        }
        break;
    case OWN_KIND_REST_IS_ZERO:
        if (lv->notes_pages) {
            lv->notes_pages = false;
            if (!ram_load_clear_rest(errp)) {
                return false;
            }
        }
        break;
    default:
        break;
    }
    return return_path_send_pong(lv->rp, value, errp);
}

/* What we take, and how long its payload is. */
static const struct {
    unsigned command;
    const char *name;
    uint16_t len;
} commands[] = {
    { MIG_CMD_OPEN_RETURN_PATH, "OPEN_RETURN_PATH", 0 },
    { MIG_CMD_PING, "PING", 4 },
    { MIG_CMD_SWITCHOVER_START, "SWITCHOVER_START", 0 },
};

static bool check_command(unsigned command, unsigned len, Error **errp)
{
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
        if (commands[i].command != command) {
            continue;
        }
        if (commands[i].len != len) {
            error_setg(errp, "command %s with %u bytes, expected %u",
                       commands[i].name, len, commands[i].len);
            return false;
        }
        return true;
    }
    if (command == MIG_CMD_INVALID || command > MIG_CMD_SWITCHOVER_START) {
        error_setg(errp, "command %u (%u bytes): there is no such command",
                   command, len);
    } else {
        error_setg(errp,
                   "command %u (%u bytes): belongs to a capability that this "
                   "version does not have",
                   command, len);
    }
    return false;
}

static bool load_command(LoadVM *lv, Error **errp)
{
    unsigned command = qemu_get_be16(lv->f), len = qemu_get_be16(lv->f);
    uint32_t value;

    if (!qemu_file_check(lv->f, errp) || !check_command(command, len, errp)) {
        return false;
    }
    trace_loadvm_process_command(command, len);
    switch (command) {
    case MIG_CMD_OPEN_RETURN_PATH:
        return open_return_path(lv, errp);
    case MIG_CMD_PING:
        value = qemu_get_be32(lv->f);
        return qemu_file_check(lv->f, errp) && answer_ping(lv, value, errp);
    default:
        return true; /* SWITCHOVER_START: nothing here waits for it */
    }
}

/* A device of which nothing came keeps the state of a reset: seldom right. */
static bool check_device_came(const LoadVM *lv, const SaveStateEntry *se,
                              Error **errp)
{
    if (se->load_seen || !savevm_is_active(se)) {
        return true;
    }
    if (lv->own_kind || savevm_is_live(se)) {
        error_setg(errp,
                   "the stream ends without section '%s', instance %" PRIu32
                   ", expected it once",
                   se->idstr, se->instance_id);
        return false;
    }
    warn_report("the stream ends without section '%s', instance %" PRIu32
                ": the device's state is that of a reset",
                se->idstr, se->instance_id);
    return true;
}

static bool check_complete(const LoadVM *lv, Error **errp)
{
    if (lv->live_open) {
        error_setg(errp, "the stream ends, but memory was not complete: "
                         "expected the end of section 'ram'");
        return false;
    }
    if (lv->notes_pages) {
        error_setg(errp, "the stream ends, but the source did not say that "
                         "it has left out pages for good");
        return false;
    }
    for (SaveStateEntry *se = savevm_first(); se; se = se->next) {
        if (!check_device_came(lv, se, errp)) {
            return false;
        }
    }
    return true;
}

static bool is_element(unsigned type, Error **errp)
{
    if (type <= QEMU_VM_SECTION_FULL || type == QEMU_VM_COMMAND) {
        return true;
    }
    error_setg(errp,
               "unknown section type 0x%02x, expected a section (0x01 to "
               "0x04), a command (0x08) or the end (0x00)",
               type);
    return false;
}

/* One element behind its type. Sets *@end at EOF. */
static bool load_element(LoadVM *lv, unsigned type, bool *end, Error **errp)
{
    switch (type) {
    case QEMU_VM_SECTION_START:
    case QEMU_VM_SECTION_FULL:
        return load_section_start(lv, type, errp);
    case QEMU_VM_SECTION_PART:
    case QEMU_VM_SECTION_END:
        return load_section_more(lv, type, errp);
    case QEMU_VM_COMMAND:
        return load_command(lv, errp);
    case QEMU_VM_EOF:
        *end = true;
        return check_complete(lv, errp);
    default:
        g_assert_not_reached(); /* see is_element() */
    }
}

static void load_cleanup(void)
{
    for (SaveStateEntry *se = savevm_first(); se; se = se->next) {
        if (se->ops && se->ops->load_cleanup) {
            se->ops->load_cleanup(se->opaque);
        }
    }
}

static bool load_all(LoadVM *lv, Error **errp)
{
    ERRP_GUARD();
    bool end = false;

    if (!load_header(lv->f, errp) || !load_configuration(lv->f, errp)) {
        return false;
    }
    while (!end) {
        unsigned type = qemu_get_byte(lv->f);

        if (!qemu_file_check(lv->f, errp) || !is_element(type, errp)) {
            if (lv->after) {
                /* What came before tells best where this is. */
                error_prepend(errp, "after section '%s': ", lv->after);
            }
            return false;
        }
        if (!load_element(lv, type, &end, errp)) {
            return false;
        }
    }
    return true;
}

bool loadvm_run(LoadVM *lv, Error **errp)
{
    ERRP_GUARD();
    bool ok;

    savevm_load_reset();
    ok = load_all(lv, errp);
    if (!ok) {
        error_prepend(errp, "at byte %" PRIu64 " of the stream: ",
                      qemu_file_position(lv->f));
    }
    load_cleanup();
    return ok;
}

void loadvm_skip_vmdesc(LoadVM *lv)
{
    unsigned type;
    uint32_t len;

    if (machine_info()->suppress_vmdesc) {
        return;
    }
    type = qemu_get_byte(lv->f);
    if (qemu_file_get_error(lv->f)) {
        warn_report("the stream ends without a description of its devices");
        return;
    }
    if (type != QEMU_VM_VMDESCRIPTION) {
        warn_report("0x%02x after the end of the stream, expected its "
                    "description (0x%02x)",
                    type, QEMU_VM_VMDESCRIPTION);
        return;
    }
    len = qemu_get_be32(lv->f);
    if (len > VMDESC_MAX_BYTES) {
        warn_report("the stream's description claims to have %u bytes", len);
        return;
    }
    qemu_file_skip(lv->f, len);
    if (qemu_file_get_error(lv->f)) {
        warn_report("the stream's description is cut short");
    }
}
