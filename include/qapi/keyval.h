/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keyval: the KEY=VALUE,... syntax of command line options, as JSON.
 *
 *   key-vals = [ key-val { ',' key-val } [ ',' ] ]
 *   key-val  = key '=' value | 'help' | '?' | value (only first: implied key)
 *   key      = fragment { '.' fragment }       fragment: name, or list index
 *   value    = any text in which ',,' stands for one comma
 *
 * Dotted keys build nested objects; an object whose keys are all list
 * indices becomes an array, and its indices must be 0..n-1. A later value
 * of a key replaces an earlier one. All scalars are strings: convert them
 * with qapi_X_from_keyval().
 *
 * Used by: system/cmdline/, qom/, chardev/. Uses: util, json-c.
 */
#ifndef QAPI_KEYVAL_H
#define QAPI_KEYVAL_H

#include "qemu/error.h"

/**
 * keyval_parse: parse @params
 *
 * @implied_key: key of a first element without '='; NULL: there is none
 * @p_help: set to whether 'help' or '?' was given (such elements are left
 *          out); NULL: asking for help is an error
 *
 * Returns a new object; NULL on failure.
 */
json_object *keyval_parse(const char *params, const char *implied_key,
                          bool *p_help, Error **errp);

/* Parse @params as above into @dict, whose members it may replace. */
bool keyval_parse_into(json_object *dict, const char *params,
                       const char *implied_key, bool *p_help, Error **errp);

/*
 * Merge @src over @dst: objects member by member, arrays appended, scalars
 * replaced. How several -machine options become one.
 */
bool keyval_merge(json_object *dst, json_object *src, Error **errp);

#endif /* QAPI_KEYVAL_H */
