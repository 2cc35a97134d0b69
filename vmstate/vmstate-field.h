/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One field of a device table, as both directions of the walker see it.
 *
 * Used by: vmstate/ only.
 */
#ifndef VMSTATE_FIELD_H
#define VMSTATE_FIELD_H

#include "vmstate/vmstate.h"

/* The first byte of a subsection inside a state. */
#define SECTION_SUBSECTION 0x05

/* What a field amounts to in one object: resolved before anything is moved. */
typedef struct FieldSpan {
    char *first;   /* of the elements (or of the pointers to them) */
    size_t stride; /* bytes from one to the next */
    size_t size;   /* handed to the kind's functions */
    size_t count;  /* elements */
} FieldSpan;

bool vmstate_field_exists(const VMStateField *field, void *opaque,
                          int version_id);

/* False with an Error: a count out of its bounds, memory that is missing. */
bool vmstate_field_span(const VMStateField *field, void *opaque,
                        FieldSpan *span, Error **errp);
/* Element @i, or NULL with an Error if it is a pointer to nothing. */
void *vmstate_field_element(const VMStateField *field, const FieldSpan *span,
                            size_t i, Error **errp);

/*
 * Put "VMSD.FIELD[i] at offset N: " before the words. @pos: of the element's
 * first byte; UINT64_MAX: an outer level, whose inner one has said it.
 */
void vmstate_field_prepend(Error **errp, const VMStateDescription *vmsd,
                           const VMStateField *field, size_t i, size_t count,
                           uint64_t pos);

#endif /* VMSTATE_FIELD_H */
