/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fields of device tables: see vmstate-field.h; and the check of tables.
 */
#include "qemu/osdep.h"

#include "vmstate-field.h"

bool vmstate_field_exists(const VMStateField *field, void *opaque,
                          int version_id)
{
    return field->version_id <= version_id &&
           (!field->version_max || version_id <= field->version_max) &&
           (!field->field_exists || field->field_exists(opaque, version_id));
}

/* The value of the field that counts this one. */
static int64_t read_count(const VMStateField *field, const char *at)
{
    uint32_t v;

    switch (field->num_size) {
    case 1:
        v = *(const uint8_t *)at;
        return field->flags & VMS_COUNT_SIGNED ? (int8_t)v : (int64_t)v;
    case 2:
        v = *(const uint16_t *)at;
        return field->flags & VMS_COUNT_SIGNED ? (int16_t)v : (int64_t)v;
    default:
        v = *(const uint32_t *)at;
        return field->flags & VMS_COUNT_SIGNED ? (int32_t)v : (int64_t)v;
    }
}

static bool bounded_count(const VMStateField *field, const char *at,
                          size_t *count, Error **errp)
{
    int64_t n = read_count(field, at);

    if (n < 0 || (uint64_t)n > field->num) {
        error_setg(errp, "it has %" PRId64 " %s, expected 0 to %zu", n,
                   field->flags & VMS_VBUFFER ? "bytes" : "elements",
                   field->num);
        return false;
    }
    *count = n;
    return true;
}

bool vmstate_field_span(const VMStateField *field, void *opaque,
                        FieldSpan *span, Error **errp)
{
    char *base = opaque;
    FieldSpan s = { .first = base + field->offset,
                    .stride = field->size,
                    .size = field->size,
                    .count = 1 };

    if (field->flags & VMS_MUST_EXIST) {
        s.count = 0;
    } else if (field->flags & VMS_ARRAY) {
        s.count = field->num;
    } else if (field->flags & VMS_VARRAY) {
        if (!bounded_count(field, base + field->num_offset, &s.count, errp)) {
            return false;
        }
    } else if (field->flags & VMS_VBUFFER) {
        if (!bounded_count(field, base + field->size_offset, &s.size, errp)) {
            return false;
        }
        s.stride = s.size;
    }
    if (field->flags & VMS_POINTER) {
        s.first = *(char **)s.first;
        if (!s.first && s.count && s.size) {
            error_setg(errp, "there is no memory for it here");
            return false;
        }
    }
    *span = s;
    return true;
}

void *vmstate_field_element(const VMStateField *field, const FieldSpan *span,
                            size_t i, Error **errp)
{
    void *elem;

    if (!(field->flags & VMS_ARRAY_OF_POINTER)) {
        return span->first + i * span->stride;
    }
    elem = *(void **)(span->first + i * sizeof(void *));
    if (!elem) {
        error_setg(errp, "there is no object for it here");
    }
    return elem;
}

void vmstate_field_prepend(Error **errp, const VMStateDescription *vmsd,
                           const VMStateField *field, size_t i, size_t count,
                           uint64_t pos)
{
    g_autofree char *index = count > 1 ? g_strdup_printf("[%zu]", i)
                                       : g_strdup("");
    g_autofree char *where = pos == UINT64_MAX
                                 ? g_strdup("")
                                 : g_strdup_printf(" at offset %" PRIu64
                                                   " (0x%" PRIx64 ")",
                                                   pos, pos);

    error_prepend(errp, "%s.%s%s%s: ", vmsd->name, field->name, index, where);
}

/*
 * The check of tables.
 */

static const char *field_mistake(const VMStateField *f)
{
    bool is_struct = f->flags & VMS_STRUCT;
    bool counted = f->flags & (VMS_VARRAY | VMS_VBUFFER);

    if (f->flags & VMS_MUST_EXIST) {
        return f->field_exists ? NULL : "a check without a function";
    }
    if (is_struct ? !f->vmsd : !f->info) {
        return "no kind (info or vmsd)";
    }
    if (!is_struct && (!f->info->get || !f->info->put || !f->info->name)) {
        return "an incomplete kind";
    }
    if (counted && f->num_size != 1 && f->num_size != 2 && f->num_size != 4) {
        return "a count field of an odd size";
    }
    if (counted && f->num == 0) {
        return "no maximum";
    }
    if ((f->flags & VMS_ARRAY) && f->num == 0) {
        return "an array of nothing";
    }
    if ((f->flags & VMS_VARRAY) && f->num_offset >= f->offset &&
        !(f->flags & VMS_POINTER) && f->num_offset < f->offset + f->size) {
        return "a count inside the array";
    }
    if (f->version_max && f->version_max < f->version_id) {
        return "no version that has it";
    }
    return NULL;
}

static bool check_subsection(const VMStateDescription *vmsd,
                             const VMStateDescription *sub, Error **errp)
{
    size_t len = strlen(vmsd->name);

    if (!sub->name || strncmp(sub->name, vmsd->name, len) ||
        sub->name[len] != '/' || strlen(sub->name) > UINT8_MAX) {
        error_setg(errp, "subsection '%s' is not named '%s/...'",
                   sub->name ? sub->name : "", vmsd->name);
        return false;
    }
    return vmstate_check(sub, errp);
}

bool vmstate_check(const VMStateDescription *vmsd, Error **errp)
{
    if (!vmsd->name || !*vmsd->name || strlen(vmsd->name) > UINT8_MAX) {
        error_setg(errp, "a table has no name or too long a one");
        return false;
    }
    if (vmsd->minimum_version_id > vmsd->version_id) {
        error_setg(errp, "'%s': the minimum version is above the version",
                   vmsd->name);
        return false;
    }
    for (const VMStateField *f = vmsd->fields; f && f->name; f++) {
        const char *mistake = field_mistake(f);

        if (mistake) {
            error_setg(errp, "'%s.%s' has %s", vmsd->name, f->name, mistake);
            return false;
        }
        if ((f->flags & VMS_STRUCT) && !vmstate_check(f->vmsd, errp)) {
            return false;
        }
    }
    for (const VMStateDescription *const *sub = vmsd->subsections; sub && *sub;
         sub++) {
        if (!check_subsection(vmsd, *sub, errp)) {
            return false;
        }
    }
    return true;
}
