/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Saving by table: see vmstate.h for the contract.
 *
 * The description that goes with it (VMDESC), one object per field:
 *   {"name", ["array_len" | "index"], "type", ["struct": {...}], "size"}
 * An array whose elements are all alike is described by its first element and
 * "array_len"; others get one object per element, with "index". "size" is what
 * was written for that element. Several fields of one name in a table are
 * called name[0], name[1] ..., counting those too that are absent now.
 */
#include "qemu/osdep.h"

#include "vmstate-field.h"

bool vmstate_section_needed(const VMStateDescription *vmsd, void *opaque)
{
    return !vmsd->needed || vmsd->needed(opaque);
}

/* Are elements of this kind described alike, whatever is in them? */
static bool elements_alike(const VMStateField *field)
{
    if (field->field_exists) {
        return false;
    }
    if (!(field->flags & VMS_STRUCT)) {
        return true;
    }
    if (field->vmsd->subsections && field->vmsd->subsections[0]) {
        return false;
    }
    for (const VMStateField *f = field->vmsd->fields; f && f->name; f++) {
        if ((f->flags & (VMS_VARRAY | VMS_VBUFFER)) || !elements_alike(f)) {
            return false;
        }
    }
    return true;
}

static char *described_name(const VMStateDescription *vmsd,
                            const VMStateField *field)
{
    unsigned same = 0, index = 0;

    for (const VMStateField *f = vmsd->fields; f->name; f++) {
        if (f == field) {
            index = same;
        }
        same += g_str_equal(f->name, field->name);
    }
    return same > 1 ? g_strdup_printf("%s[%u]", field->name, index)
                    : g_strdup(field->name);
}

static void describe_begin(JSONWriter *w, const VMStateDescription *vmsd,
                           const VMStateField *field, size_t i, size_t count,
                           bool alike)
{
    g_autofree char *name = w ? described_name(vmsd, field) : NULL;
    bool is_struct = field->flags & VMS_STRUCT;

    json_writer_start_object(w, NULL);
    json_writer_str(w, "name", name);
    if (count > 1) {
        json_writer_int64(w, alike ? "array_len" : "index",
                          alike ? (int64_t)count : (int64_t)i);
    }
    json_writer_str(w, "type", is_struct ? "struct" : field->info->name);
    if (is_struct) {
        json_writer_start_object(w, "struct");
    }
}

static void describe_end(JSONWriter *w, const VMStateField *field,
                         uint64_t size)
{
    if (field->flags & VMS_STRUCT) {
        json_writer_end_object(w);
    }
    json_writer_int64(w, "size", size);
    json_writer_end_object(w);
}

static bool save_element(QEMUFile *f, const VMStateField *field, void *elem,
                         size_t size, JSONWriter *vmdesc, Error **errp)
{
    if (field->flags & VMS_STRUCT) {
        return vmstate_save_state(f, field->vmsd, elem, vmdesc, errp);
    }
    return field->info->put(f, elem, size, field, errp);
}

static bool save_field(QEMUFile *f, const VMStateDescription *vmsd,
                       const VMStateField *field, void *opaque,
                       JSONWriter *vmdesc, Error **errp)
{
    ERRP_GUARD();
    bool alike = vmdesc && elements_alike(field);
    FieldSpan span;

    if (!vmstate_field_span(field, opaque, &span, errp)) {
        vmstate_field_prepend(errp, vmsd, field, 0, 0, UINT64_MAX);
        return false;
    }
    for (size_t i = 0; i < span.count; i++) {
        JSONWriter *w = i > 0 && alike ? NULL : vmdesc;
        uint64_t start = qemu_file_position(f);
        void *elem = vmstate_field_element(field, &span, i, errp);

        describe_begin(w, vmsd, field, i, span.count, alike);
        if (!elem || !save_element(f, field, elem, span.size, w, errp)) {
            vmstate_field_prepend(errp, vmsd, field, i, span.count, UINT64_MAX);
            return false;
        }
        describe_end(w, field, qemu_file_position(f) - start);
    }
    return true;
}

static bool save_fields(QEMUFile *f, const VMStateDescription *vmsd,
                        void *opaque, JSONWriter *vmdesc, Error **errp)
{
    ERRP_GUARD();

    json_writer_start_array(vmdesc, "fields");
    for (const VMStateField *field = vmsd->fields; field && field->name;
         field++) {
        if (vmstate_field_exists(field, opaque, vmsd->version_id)) {
            if (!save_field(f, vmsd, field, opaque, vmdesc, errp)) {
                return false;
            }
        } else if (field->flags & VMS_MUST_EXIST) {
            error_setg(errp, "%s: the check '%s' fails", vmsd->name,
                       field->name);
            return false;
        }
    }
    json_writer_end_array(vmdesc);
    return true;
}

static bool save_subsections(QEMUFile *f, const VMStateDescription *vmsd,
                             void *opaque, JSONWriter *vmdesc, Error **errp)
{
    bool any = false;

    for (const VMStateDescription *const *p = vmsd->subsections; p && *p; p++) {
        const VMStateDescription *sub = *p;

        if (!vmstate_section_needed(sub, opaque)) {
            continue;
        }
        if (!any) {
            json_writer_start_array(vmdesc, "subsections");
            any = true;
        }
        json_writer_start_object(vmdesc, NULL);
        qemu_put_byte(f, SECTION_SUBSECTION);
        qemu_put_counted_string(f, sub->name);
        qemu_put_be32(f, sub->version_id);
        if (!vmstate_save_state(f, sub, opaque, vmdesc, errp)) {
            return false;
        }
        json_writer_end_object(vmdesc);
    }
    if (any) {
        json_writer_end_array(vmdesc);
    }
    return true;
}

bool vmstate_save_state(QEMUFile *f, const VMStateDescription *vmsd,
                        void *opaque, JSONWriter *vmdesc, Error **errp)
{
    ERRP_GUARD();
    bool ok;

    if (vmsd->pre_save && !vmsd->pre_save(opaque, errp)) {
        error_prepend(errp, "%s: preparing to save: ", vmsd->name);
        return false;
    }
    json_writer_str(vmdesc, "vmsd_name", vmsd->name);
    json_writer_int64(vmdesc, "version", vmsd->version_id);
    ok = save_fields(f, vmsd, opaque, vmdesc, errp) &&
         save_subsections(f, vmsd, opaque, vmdesc, errp);
    if (vmsd->post_save) {
        vmsd->post_save(opaque);
    }
    return ok && qemu_file_check(f, errp);
}
