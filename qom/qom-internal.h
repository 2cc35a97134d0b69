/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the object model's own files share: an object's slots.
 *
 * A slot is a name that one object has beyond its class's properties: a
 * child, a link, or an alias of another object's property.
 */
#ifndef QOM_QOM_INTERNAL_H
#define QOM_QOM_INTERNAL_H

#include "qom/object.h"

typedef enum SlotKind {
    SLOT_CHILD,
    SLOT_LINK,
    SLOT_ALIAS,
} SlotKind;

typedef struct Slot {
    char *name;
    SlotKind kind;
    Object *child;     /* child: owned */
    char *target_type; /* link */
    Object **field;    /* link: weak */
    Object *target;    /* alias: weak */
    char *target_name; /* alias */
} Slot;

struct ObjectSlots {
    GPtrArray *array; /* of Slot *, in order of addition */
};

Slot *object_find_slot(const Object *obj, const char *name);

/* In properties' file, for object.c's use. */
void object_init_properties(Object *obj);
void object_clear_properties(Object *obj);

#endif /* QOM_QOM_INTERNAL_H */
