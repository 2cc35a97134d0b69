/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * User-creatable objects: what -object and object-add make.
 *
 * A type opts in by the interface TYPE_USER_CREATABLE. Its properties are
 * set in the order given, then `complete` runs; on success the object is the
 * child ID of /objects, and is frozen.
 *
 * Threads: under the BQL.
 *
 * Used by: system (memory back ends), monitor, crypto. Uses: qom, qapi.
 */
#ifndef QOM_USER_CREATABLE_H
#define QOM_USER_CREATABLE_H

#include "qom/object.h"

typedef struct UserCreatable UserCreatable;
typedef struct UserCreatableClass {
    ObjectClass parent_class;
    /* Optional: all properties are set; make it work or say why not. */
    bool (*complete)(UserCreatable *uc, Error **errp);
    /* Optional: false refuses object-del (in use). */
    bool (*can_be_deleted)(UserCreatable *uc);
} UserCreatableClass;

#define USER_CREATABLE(obj)                       \
    ((UserCreatable *)object_dynamic_cast_assert( \
        OBJECT(obj), TYPE_USER_CREATABLE, __func__))
DECLARE_CLASS_CHECKERS(UserCreatableClass, USER_CREATABLE, TYPE_USER_CREATABLE)

/**
 * user_creatable_add: make the object that @options describe
 *
 * @options: "qom-type", "id", and properties; borrowed
 * @keyval: scalars are strings, from keyval_parse()
 *
 * Returns the object (owned by /objects); NULL on failure, nothing left.
 */
Object *user_creatable_add(json_object *options, bool keyval, Error **errp);
bool user_creatable_del(const char *id, Error **errp);
/* At exit: all that can be deleted. */
void user_creatable_cleanup(void);

/*
 * The argument of -object: JSON in braces, or KEY=VALUE,... with qom-type
 * first. *@p_help: "help" or "TYPE,help" was asked for and printed on stdout.
 */
json_object *user_creatable_parse(const char *optarg, bool *p_keyval,
                                  bool *p_help, Error **errp);

#endif /* QOM_USER_CREATABLE_H */
