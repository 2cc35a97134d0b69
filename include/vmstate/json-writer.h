/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON writer: text piece by piece, with ", " and ": " as separators.
 *
 * Made for the description at the end of a stream, whose bytes equal QEMU's:
 * keys in the order they were written, no newline, non-ASCII and control
 * characters escaped.
 *
 * Threads: one at a time. All functions accept a NULL writer and do nothing.
 * Used by: vmstate/, migration/. Uses: glib.
 */
#ifndef VMSTATE_JSON_WRITER_H
#define VMSTATE_JSON_WRITER_H

typedef struct JSONWriter JSONWriter;

JSONWriter *json_writer_new(void);
void json_writer_free(JSONWriter *w);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(JSONWriter, json_writer_free)
/* The text so far; valid until the next call. */
const char *json_writer_get(JSONWriter *w, size_t *len);

/* @name: NULL in an array and for the outermost value, else the key. */
void json_writer_start_object(JSONWriter *w, const char *name);
void json_writer_end_object(JSONWriter *w);
void json_writer_start_array(JSONWriter *w, const char *name);
void json_writer_end_array(JSONWriter *w);
void json_writer_str(JSONWriter *w, const char *name, const char *value);
void json_writer_int64(JSONWriter *w, const char *name, int64_t value);
void json_writer_bool(JSONWriter *w, const char *name, bool value);

#endif /* VMSTATE_JSON_WRITER_H */
