/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loading by table: see vmstate.h for the contract.
 */
#include "qemu/osdep.h"

#include "vmstate-field.h"

static bool load_element(QEMUFile *f, const VMStateField *field, void *elem,
                         size_t size, Error **errp)
{
    if (field->flags & VMS_STRUCT) {
        return vmstate_load_state(f, field->vmsd, elem, field->vmsd->version_id,
                                  errp);
    }
    /* The stream's error is the cause, what the value looks like is not. */
    return field->info->get(f, elem, size, field, errp) &&
           qemu_file_check(f, errp);
}

static bool load_field(QEMUFile *f, const VMStateDescription *vmsd,
                       const VMStateField *field, void *opaque, Error **errp)
{
    ERRP_GUARD();
    FieldSpan span;

    if (!vmstate_field_span(field, opaque, &span, errp)) {
        vmstate_field_prepend(errp, vmsd, field, 0, 0, qemu_file_position(f));
        return false;
    }
    for (size_t i = 0; i < span.count; i++) {
        uint64_t start = qemu_file_position(f);
        void *elem = vmstate_field_element(field, &span, i, errp);

        if (!elem || !load_element(f, field, elem, span.size, errp)) {
            bool said = elem && (field->flags & VMS_STRUCT);

            vmstate_field_prepend(errp, vmsd, field, i, span.count,
                                  said ? UINT64_MAX : start);
            return false;
        }
    }
    return true;
}

static bool load_fields(QEMUFile *f, const VMStateDescription *vmsd,
                        void *opaque, int version_id, Error **errp)
{
    for (const VMStateField *field = vmsd->fields; field && field->name;
         field++) {
        if (vmstate_field_exists(field, opaque, version_id)) {
            if (!load_field(f, vmsd, field, opaque, errp)) {
                return false;
            }
        } else if (field->flags & VMS_MUST_EXIST) {
            error_setg(errp,
                       "%s: the check '%s' fails for the values up to offset "
                       "%" PRIu64,
                       vmsd->name, field->name, qemu_file_position(f));
            return false;
        }
    }
    return true;
}

/*
 * Is a subsection of @vmsd next? Takes its header then. A name that does not
 * begin with "VMSD/" belongs to somebody else, around us or behind us.
 */
static bool next_subsection(QEMUFile *f, const VMStateDescription *vmsd,
                            char name[256], uint32_t *version_id)
{
    size_t own = strlen(vmsd->name);
    const uint8_t *p;
    int len;

    if (qemu_peek_byte(f, 0) != SECTION_SUBSECTION) {
        return false;
    }
    len = qemu_peek_byte(f, 1);
    if (len < 0 || (size_t)len <= own ||
        qemu_peek_buffer(f, &p, len, 2) != (size_t)len ||
        memcmp(p, vmsd->name, own) || p[own] != '/' || memchr(p, 0, len)) {
        return false;
    }
    memcpy(name, p, len);
    name[len] = '\0';
    qemu_file_skip(f, 2 + len);
    *version_id = qemu_get_be32(f);
    return true;
}

/* The index of subsection @name in the table, or -1. */
static int find_subsection(const VMStateDescription *vmsd, const char *name)
{
    for (int i = 0; vmsd->subsections && vmsd->subsections[i]; i++) {
        if (g_str_equal(vmsd->subsections[i]->name, name)) {
            return i;
        }
    }
    return -1;
}

static bool load_subsections(QEMUFile *f, const VMStateDescription *vmsd,
                             void *opaque, Error **errp)
{
    ERRP_GUARD();
    uint64_t seen = 0;
    uint32_t version_id;
    char name[256];

    while (next_subsection(f, vmsd, name, &version_id)) {
        uint64_t pos = qemu_file_position(f);
        int i = find_subsection(vmsd, name);

        if (!qemu_file_check(f, errp)) {
            return false;
        }
        if (i < 0 || version_id > INT_MAX) {
            error_setg(errp,
                       "subsection '%s' version %" PRIu32
                       " before offset %" PRIu64 " is not known here",
                       name, version_id, pos);
            return false;
        }
        if (i < 64 && (seen & (UINT64_C(1) << i))) {
            error_setg(errp,
                       "subsection '%s' before offset %" PRIu64
                       " is there a second time",
                       name, pos);
            return false;
        }
        seen |= i < 64 ? UINT64_C(1) << i : 0;
        if (!vmstate_load_state(f, vmsd->subsections[i], opaque, version_id,
                                errp)) {
            return false;
        }
    }
    return qemu_file_check(f, errp);
}

static bool check_version(const VMStateDescription *vmsd, int version_id,
                          Error **errp)
{
    if (version_id > vmsd->version_id) {
        error_setg(errp,
                   "'%s' has version %d, newer than %d, the newest known here",
                   vmsd->name, version_id, vmsd->version_id);
        return false;
    }
    if (version_id < vmsd->minimum_version_id) {
        error_setg(errp,
                   "'%s' has version %d, older than %d, the oldest supported "
                   "here",
                   vmsd->name, version_id, vmsd->minimum_version_id);
        return false;
    }
    return true;
}

bool vmstate_load_state(QEMUFile *f, const VMStateDescription *vmsd,
                        void *opaque, int version_id, Error **errp)
{
    ERRP_GUARD();

    if (!check_version(vmsd, version_id, errp)) {
        return false;
    }
    if (vmsd->pre_load && !vmsd->pre_load(opaque, errp)) {
        error_prepend(errp, "%s: preparing to load: ", vmsd->name);
        return false;
    }
    if (!load_fields(f, vmsd, opaque, version_id, errp) ||
        !load_subsections(f, vmsd, opaque, errp)) {
        return false;
    }
    if (vmsd->post_load && !vmsd->post_load(opaque, version_id, errp)) {
        error_prepend(errp,
                      "%s: the state that ends at offset %" PRIu64
                      " is not accepted: ",
                      vmsd->name, qemu_file_position(f));
        return false;
    }
    return true;
}
