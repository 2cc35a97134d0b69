/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON text: reading it from those who may mean harm, and writing it.
 *
 * Strict RFC 8259 with two kindnesses that QMP's users rely on: strings may
 * be in single quotes, and \' is an escape. Refused with an error that says
 * where: trailing text, control characters, invalid UTF-8, \u0000, lone
 * surrogates, a key that occurs twice, numbers that are none, and anything
 * above the limits (depth, tokens, bytes). Integers are exact from INT64_MIN
 * to UINT64_MAX; integers beyond become doubles.
 *
 * Values are json-c's; JSON's null is a NULL pointer there.
 *
 * Used by: monitor/, system/cmdline/, qom/. Uses: util, json-c.
 */
#ifndef QAPI_JSON_H
#define QAPI_JSON_H

#include <json-c/json.h>

#include "qemu/error.h"

#define JSON_MAX_DEPTH  1024
#define JSON_MAX_TOKENS (2u << 20)
#define JSON_MAX_BYTES  (64u << 20)

/**
 * qobject_from_json: the value that @text is
 *
 * Returns NULL and sets an error on failure; NULL without one for "null".
 */
json_object *qobject_from_json(const char *text, Error **errp);

/* The same for @len bytes (which need no final NUL). @ret set on success. */
bool json_parse(const char *text, size_t len, json_object **ret, Error **errp);

/* One line / indented. Keys keep their order. Caller frees. */
char *qobject_to_json(json_object *v);
char *qobject_to_json_pretty(json_object *v);

/*
 * Parser of a stream of values, for a monitor's connection.
 *
 * Feed bytes as they come; @emit is called for each complete value, or with
 * an error (then @v is NULL and the parser has recovered: it drops the rest
 * of the broken value). A byte 0xff always brings it back to a clean state,
 * and so does a newline outside of any value.
 */
typedef struct JSONMessageParser JSONMessageParser;
typedef void JSONMessageEmit(void *opaque, json_object *v /* owned */,
                             Error *err /* owned */);

JSONMessageParser *json_message_parser_new(JSONMessageEmit *emit, void *opaque);
void json_message_parser_free(JSONMessageParser *parser);
/* @emit may not free @parser. */
void json_message_parser_feed(JSONMessageParser *parser, const char *buf,
                              size_t len);
/* End of input: a value still open is an error. Back to a clean state. */
void json_message_parser_flush(JSONMessageParser *parser);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(JSONMessageParser, json_message_parser_free)

/* g_autoptr(json_object). */
static inline void json_object_unref_void(json_object *v)
{
    json_object_put(v);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(json_object, json_object_unref_void)

#endif /* QAPI_JSON_H */
