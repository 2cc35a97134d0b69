/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON text: see include/qapi/json.h for the contract.
 *
 * Two steps. A scanner looks at each byte once: it finds where a value ends,
 * counts depth, tokens and bytes against the limits, checks characters,
 * escapes and the spelling of words and numbers, and writes the value down
 * again without our two liberties. Only then json-c gets the whole value, and
 * checks what is left: the order of tokens.
 *
 * Errors within a value are remembered until its brackets are closed, so that
 * one bad value causes one error. Where brackets can't be trusted any more
 * (hard errors), the rest is dropped up to a newline, a 0xff, or a '{'.
 *
 * A key that occurs twice is found by counting: json-c keeps one of the two,
 * so its objects have fewer members than the text has colons.
 */
#include "qemu/osdep.h"

#include <math.h>

#include "qapi/json.h"

typedef enum ScanState {
    SCAN_BETWEEN, /* tokens */
    SCAN_STRING,
    SCAN_ESCAPE,  /* after a backslash */
    SCAN_UNICODE, /* in the digits after \u */
    SCAN_WORD,    /* in a number, true, false or null */
} ScanState;

struct JSONMessageParser {
    /* Constant. */
    JSONMessageEmit *emit;
    void *opaque;

    /* The value being read; all zero between values. */
    GString *text;     /* in strict JSON */
    GByteArray *stack; /* the brackets that are open */
    ScanState state;
    char quote;
    unsigned hex_digits; /* of a \u, read so far */
    unsigned unit;       /* its value */
    bool want_low;       /* a high surrogate was read */
    size_t word_start;   /* in text */
    size_t nr_bytes;     /* read, of the value */
    size_t nr_tokens;
    size_t nr_members;
    Error *err; /* the first one */

    /* After a hard error. */
    bool skipping;
};

/* -------------------------------------------------------------- states */

static void scan_reset(JSONMessageParser *p)
{
    if (p->text->allocated_len > 1 << 20) {
        g_string_free(p->text, TRUE); /* don't sit on a large buffer */
        p->text = g_string_new(NULL);
    }
    g_string_truncate(p->text, 0);
    g_byte_array_set_size(p->stack, 0);
    p->state = SCAN_BETWEEN;
    p->want_low = false;
    p->nr_bytes = p->nr_tokens = p->nr_members = 0;
    g_clear_pointer(&p->err, error_free);
}

static bool value_open(const JSONMessageParser *p)
{
    return p->stack->len || p->state != SCAN_BETWEEN;
}

/* Remember what is wrong; the first one counts. */
static void G_GNUC_PRINTF(2, 3)
    soft_error(JSONMessageParser *p, const char *fmt, ...)
{
    g_autofree char *words = NULL;
    va_list ap;

    if (p->err) {
        return;
    }
    va_start(ap, fmt);
    words = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    error_setg(&p->err, "JSON parse error, %s at offset %zu", words,
               p->nr_bytes ? p->nr_bytes - 1 : 0);
}

/* Give the error away and start afresh. */
static void emit_error(JSONMessageParser *p)
{
    Error *err = g_steal_pointer(&p->err);

    scan_reset(p);
    p->emit(p->opaque, NULL, err);
}

static void hard_error(JSONMessageParser *p, const char *what)
{
    soft_error(p, "%s", what);
    p->skipping = true;
    emit_error(p);
}

/* ------------------------------------------------------- whole values */

static size_t count_members(json_object *v)
{
    size_t n = 0;

    if (json_object_is_type(v, json_type_object)) {
        json_object_object_foreach(v, key, child)
        {
            (void)key;
            n += 1 + count_members(child);
        }
    } else if (json_object_is_type(v, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(v); i++) {
            n += count_members(json_object_array_get_idx(v, i));
        }
    }
    return n;
}

static json_object *parse_text(JSONMessageParser *p)
{
    json_tokener *tok = json_tokener_new_ex(JSON_MAX_DEPTH + 1);
    enum json_tokener_error status;
    json_object *v;

    json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
    /* With the final NUL, which ends a number or word. */
    v = json_tokener_parse_ex(tok, p->text->str, p->text->len + 1);
    status = json_tokener_get_error(tok);
    if (status != json_tokener_success) {
        p->nr_bytes = json_tokener_get_parse_end(tok) + 1;
        soft_error(p, "%s", json_tokener_error_desc(status));
    } else if (p->nr_members && count_members(v) != p->nr_members) {
        json_object_put(v);
        v = NULL;
        soft_error(p, "a key occurs twice in an object which ends");
    }
    json_tokener_free(tok);
    return v;
}

static void value_complete(JSONMessageParser *p)
{
    json_object *v = NULL;

    if (!p->err && !g_utf8_validate(p->text->str, p->text->len, NULL)) {
        soft_error(p, "invalid UTF-8 in the value which ends");
    }
    if (!p->err) {
        v = parse_text(p);
    }
    if (p->err) {
        emit_error(p);
        return;
    }
    scan_reset(p);
    p->emit(p->opaque, v, NULL);
}

/* -------------------------------------------------------------- tokens */

static const char *skip_digits(const char *s)
{
    while (g_ascii_isdigit(*s)) {
        s++;
    }
    return s;
}

/* RFC 8259 section 6. *@p_integer: neither fraction nor exponent. */
static bool is_number(const char *s, bool *p_integer)
{
    const char *digits;

    *p_integer = true;
    s += *s == '-';
    digits = s;
    s = skip_digits(s);
    if (s == digits || (*digits == '0' && s - digits > 1)) {
        return false;
    }
    if (*s == '.') {
        *p_integer = false;
        digits = ++s;
        s = skip_digits(s);
        if (s == digits) {
            return false;
        }
    }
    if (*s == 'e' || *s == 'E') {
        *p_integer = false;
        s++;
        s += *s == '+' || *s == '-';
        digits = s;
        s = skip_digits(s);
        if (s == digits) {
            return false;
        }
    }
    return *s == '\0';
}

static bool fits_64_bits(const char *word)
{
    errno = 0;
    if (*word == '-') {
        g_ascii_strtoll(word, NULL, 10);
    } else {
        g_ascii_strtoull(word, NULL, 10);
    }
    return errno != ERANGE;
}

static void end_word(JSONMessageParser *p)
{
    const char *word = p->text->str + p->word_start;
    bool integer;

    p->state = SCAN_BETWEEN;
    if (is_number(word, &integer)) {
        if (!isfinite(g_ascii_strtod(word, NULL))) {
            soft_error(p, "number out of range");
        } else if (integer && !fits_64_bits(word)) {
            g_string_append(p->text, ".0"); /* a double, then */
        }
    } else if (strcmp(word, "true") != 0 && strcmp(word, "false") != 0 &&
               strcmp(word, "null") != 0) {
        soft_error(p, "invalid keyword '%.32s'", word);
    }
    if (!p->stack->len) {
        value_complete(p);
    }
}

static bool is_word_char(unsigned char c)
{
    return g_ascii_isalnum(c) || (c && strchr("+-._", c));
}

static void open_bracket(JSONMessageParser *p, char c)
{
    uint8_t byte = c;

    if (p->stack->len == JSON_MAX_DEPTH) {
        hard_error(p, "nested too deeply");
        return;
    }
    g_byte_array_append(p->stack, &byte, 1);
    g_string_append_c(p->text, c);
}

static void close_bracket(JSONMessageParser *p, char c)
{
    char open = c == '}' ? '{' : '[';

    if (!p->stack->len || p->stack->data[p->stack->len - 1] != open) {
        hard_error(p, "closing bracket that closes nothing");
        return;
    }
    g_byte_array_set_size(p->stack, p->stack->len - 1);
    g_string_append_c(p->text, c);
    if (!p->stack->len) {
        value_complete(p);
    }
}

static void scan_between(JSONMessageParser *p, char c)
{
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        if (p->stack->len) {
            g_string_append_c(p->text, ' ');
        } else {
            p->nr_bytes = 0;
        }
        return;
    }
    if (++p->nr_tokens > JSON_MAX_TOKENS) {
        hard_error(p, "too many tokens");
        return;
    }
    if (c == '{' || c == '[') {
        open_bracket(p, c);
    } else if (c == '}' || c == ']') {
        close_bracket(p, c);
    } else if ((c == ':' || c == ',') && p->stack->len) {
        p->nr_members += c == ':';
        g_string_append_c(p->text, c);
    } else if (c == '"' || c == '\'') {
        p->state = SCAN_STRING;
        p->quote = c;
        g_string_append_c(p->text, '"');
    } else if (is_word_char(c)) {
        p->state = SCAN_WORD;
        p->word_start = p->text->len;
        g_string_append_c(p->text, c);
    } else {
        hard_error(p, "invalid character");
    }
}

/* ------------------------------------------------------------- strings */

static void end_escape(JSONMessageParser *p)
{
    bool high = p->unit >= 0xd800 && p->unit < 0xdc00;
    bool low = p->unit >= 0xdc00 && p->unit < 0xe000;

    p->state = SCAN_STRING;
    if (p->unit == 0) {
        soft_error(p, "\\u0000 in a string");
    }
    if (low != p->want_low) {
        soft_error(p, "half a surrogate pair in a string");
    }
    p->want_low = high && !p->want_low;
}

static void scan_escape(JSONMessageParser *p, char c)
{
    if (p->want_low && c != 'u') {
        soft_error(p, "half a surrogate pair in a string");
        p->want_low = false;
    }
    p->state = SCAN_STRING;
    if (c == 'u') {
        p->state = SCAN_UNICODE;
        p->hex_digits = p->unit = 0;
        g_string_append(p->text, "\\u");
    } else if (c == '\'') {
        g_string_append_c(p->text, c);
    } else if (c && strchr("\"\\/bfnrt", c)) {
        g_string_append_c(p->text, '\\');
        g_string_append_c(p->text, c);
    } else {
        soft_error(p, "invalid escape in a string");
    }
}

static void scan_unicode(JSONMessageParser *p, char c)
{
    if (!g_ascii_isxdigit(c)) {
        soft_error(p, "invalid escape in a string");
        p->state = SCAN_STRING;
        return;
    }
    g_string_append_c(p->text, c);
    p->unit = p->unit << 4 | (unsigned)g_ascii_xdigit_value(c);
    if (++p->hex_digits == 4) {
        end_escape(p);
    }
}

static void scan_string(JSONMessageParser *p, char c)
{
    if (p->want_low && c != '\\') {
        soft_error(p, "half a surrogate pair in a string");
        p->want_low = false;
    }
    if (c == p->quote) {
        g_string_append_c(p->text, '"');
        p->state = SCAN_BETWEEN;
        if (!p->stack->len) {
            value_complete(p);
        }
    } else if (c == '\\') {
        p->state = SCAN_ESCAPE;
    } else if (c == '"') {
        g_string_append(p->text, "\\\"");
    } else {
        g_string_append_c(p->text, c);
    }
}

static void scan_byte(JSONMessageParser *p, unsigned char c)
{
    if (p->skipping) {
        p->skipping = c != '\n' && c != 0xff && c != '{';
        if (c != '{') {
            return;
        }
    }
    if (++p->nr_bytes > JSON_MAX_BYTES) {
        hard_error(p, "value too long");
        return;
    }
    if (p->state == SCAN_WORD && !is_word_char(c)) {
        end_word(p);
        p->nr_bytes += !p->nr_bytes; /* when that was a whole value */
    }
    if (c == 0xff && !value_open(p)) {
        p->nr_bytes = 0; /* back to a clean state: so it is */
        return;
    }
    if (c == 0xff || (c < 0x20 && (p->state != SCAN_BETWEEN ||
                                   !strchr("\t\r\n", c) || !c))) {
        hard_error(p, c == 0xff ? "value cut off by byte 0xff"
                                : "control character");
        p->skipping = c != '\n' && c != 0xff;
        return;
    }
    switch (p->state) {
    case SCAN_BETWEEN:
        scan_between(p, c);
        break;
    case SCAN_STRING:
        scan_string(p, c);
        break;
    case SCAN_ESCAPE:
        scan_escape(p, c);
        break;
    case SCAN_UNICODE:
        scan_unicode(p, c);
        break;
    case SCAN_WORD:
        g_string_append_c(p->text, c);
        break;
    }
}

/* -------------------------------------------------------------- public */

JSONMessageParser *json_message_parser_new(JSONMessageEmit *emit, void *opaque)
{
    JSONMessageParser *p = g_new0(JSONMessageParser, 1);

    p->emit = emit;
    p->opaque = opaque;
    p->text = g_string_new(NULL);
    p->stack = g_byte_array_new();
    return p;
}

void json_message_parser_free(JSONMessageParser *p)
{
    if (p) {
        scan_reset(p);
        g_string_free(p->text, TRUE);
        g_byte_array_free(p->stack, TRUE);
        g_free(p);
    }
}

void json_message_parser_feed(JSONMessageParser *p, const char *buf, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        scan_byte(p, buf[i]);
    }
}

void json_message_parser_flush(JSONMessageParser *p)
{
    if (p->state == SCAN_WORD) {
        end_word(p);
    }
    if (value_open(p)) {
        soft_error(p, "the text ends within a value");
        emit_error(p);
    }
    scan_reset(p);
    p->skipping = false;
}

typedef struct Single {
    unsigned nr_values;
    json_object *v;
    Error *err;
} Single;

static void take_single(void *opaque, json_object *v, Error *err)
{
    Single *single = opaque;

    single->nr_values++;
    if (single->nr_values == 1) {
        single->v = v;
        single->err = err;
        return;
    }
    if (!single->err) {
        error_setg(&single->err,
                   "JSON parse error, there is more text after the value");
    }
    json_object_put(v);
    error_free(err);
}

bool json_parse(const char *text, size_t len, json_object **ret, Error **errp)
{
    Single single = { 0 };
    g_autoptr(JSONMessageParser)
        p = json_message_parser_new(take_single, &single);

    json_message_parser_feed(p, text, len);
    json_message_parser_flush(p);
    if (!single.nr_values) {
        error_setg(&single.err, "JSON parse error, there is no value");
    }
    if (single.err) {
        json_object_put(single.v);
        error_propagate(errp, single.err);
        return false;
    }
    *ret = single.v;
    return true;
}

json_object *qobject_from_json(const char *text, Error **errp)
{
    json_object *v = NULL;

    json_parse(text, strlen(text), &v, errp);
    return v;
}

char *qobject_to_json(json_object *v)
{
    return g_strdup(json_object_to_json_string_ext(
        v, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
}

char *qobject_to_json_pretty(json_object *v)
{
    return g_strdup(json_object_to_json_string_ext(
        v, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
               JSON_C_TO_STRING_NOSLASHESCAPE));
}
