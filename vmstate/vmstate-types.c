/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kinds of values in device tables: see vmstate.h for the contract.
 *
 * Every get reads its bytes first; if the stream failed the value is zero, is
 * not stored, and the walker reports the stream's error.
 */
#include "qemu/osdep.h"

#include "qemu/timer.h"
#include "vmstate/vmstate.h"

/* Tell what was read and what would have been right. */
static bool unexpected(const VMStateField *field, Error **errp, const char *fmt,
                       ...) G_GNUC_PRINTF(3, 4);
static bool unexpected(const VMStateField *field, Error **errp, const char *fmt,
                       ...)
{
    g_autofree char *words = NULL;
    va_list ap;

    va_start(ap, fmt);
    words = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    error_setg(errp, "%s%s%s%s", words, field->err_hint ? " (" : "",
               field->err_hint ? field->err_hint : "",
               field->err_hint ? ")" : "");
    return false;
}

/*
 * Integers.
 */

#define DEFINE_INT(_suffix, _type, _get, _put)                         \
    static bool get_##_suffix(QEMUFile *f, void *pv, size_t size,      \
                              const VMStateField *field, Error **errp) \
    {                                                                  \
        _type v = (_type)_get(f);                                      \
        if (!qemu_file_get_error(f)) {                                 \
            *(_type *)pv = v;                                          \
        }                                                              \
        return true;                                                   \
    }                                                                  \
    static bool put_##_suffix(QEMUFile *f, void *pv, size_t size,      \
                              const VMStateField *field, Error **errp) \
    {                                                                  \
        _put(f, *(const _type *)pv);                                   \
        return true;                                                   \
    }                                                                  \
    const VMStateInfo vmstate_info_##_suffix = {                       \
        .name = #_suffix,                                              \
        .get = get_##_suffix,                                          \
        .put = put_##_suffix,                                          \
    }

DEFINE_INT(int8, int8_t, qemu_get_byte, qemu_put_sbyte);
DEFINE_INT(int16, int16_t, qemu_get_be16, qemu_put_sbe16);
DEFINE_INT(int32, int32_t, qemu_get_be32, qemu_put_sbe32);
DEFINE_INT(int64, int64_t, qemu_get_be64, qemu_put_sbe64);
DEFINE_INT(uint8, uint8_t, qemu_get_byte, qemu_put_byte);
DEFINE_INT(uint16, uint16_t, qemu_get_be16, qemu_put_be16);
DEFINE_INT(uint32, uint32_t, qemu_get_be32, qemu_put_be32);
DEFINE_INT(uint64, uint64_t, qemu_get_be64, qemu_put_be64);

#define DEFINE_EQUAL(_suffix, _type, _get, _fmt)                               \
    static bool get_##_suffix##_equal(QEMUFile *f, void *pv, size_t size,      \
                                      const VMStateField *field, Error **errp) \
    {                                                                          \
        _type v = (_type)_get(f), mine = *(const _type *)pv;                   \
        if (v != mine && !qemu_file_get_error(f)) {                            \
            return unexpected(field, errp,                                     \
                              "the value is %" _fmt ", but here it is "        \
                              "%" _fmt " and must be equal",                   \
                              v, mine);                                        \
        }                                                                      \
        return true;                                                           \
    }                                                                          \
    const VMStateInfo vmstate_info_##_suffix##_equal = {                       \
        .name = #_suffix " equal",                                             \
        .get = get_##_suffix##_equal,                                          \
        .put = put_##_suffix,                                                  \
    }

DEFINE_EQUAL(uint8, uint8_t, qemu_get_byte, PRIu8);
DEFINE_EQUAL(uint16, uint16_t, qemu_get_be16, PRIu16);
DEFINE_EQUAL(uint32, uint32_t, qemu_get_be32, PRIu32);
DEFINE_EQUAL(int32, int32_t, qemu_get_be32, PRId32);
DEFINE_EQUAL(uint64, uint64_t, qemu_get_be64, PRIu64);

static bool get_int32_le(QEMUFile *f, void *pv, size_t size,
                         const VMStateField *field, Error **errp)
{
    int32_t v = qemu_get_sbe32(f), mine = *(const int32_t *)pv;

    if (qemu_file_get_error(f)) {
        return true;
    }
    if (v < 0 || v > mine) {
        return unexpected(field, errp,
                          "the value is %" PRId32 ", expected 0 to %" PRId32, v,
                          mine);
    }
    *(int32_t *)pv = v;
    return true;
}

const VMStateInfo vmstate_info_int32_le = {
    .name = "int32 le",
    .get = get_int32_le,
    .put = put_int32,
};

static bool get_bool(QEMUFile *f, void *pv, size_t size,
                     const VMStateField *field, Error **errp)
{
    unsigned v = qemu_get_byte(f);

    if (v > 1) {
        return unexpected(field, errp, "the value is %u, expected 0 or 1", v);
    }
    if (!qemu_file_get_error(f)) {
        *(bool *)pv = v;
    }
    return true;
}

static bool put_bool(QEMUFile *f, void *pv, size_t size,
                     const VMStateField *field, Error **errp)
{
    qemu_put_byte(f, *(const bool *)pv);
    return true;
}

const VMStateInfo vmstate_info_bool = {
    .name = "bool",
    .get = get_bool,
    .put = put_bool,
};

/*
 * Timers: the walker hands us the timer itself.
 */

static bool get_timer(QEMUFile *f, void *pv, size_t size,
                      const VMStateField *field, Error **errp)
{
    QEMUTimer *ts = pv;
    uint64_t expire_ns = qemu_get_be64(f);

    if (qemu_file_get_error(f)) {
        return true;
    }
    if (expire_ns == UINT64_MAX) {
        timer_del(ts);
    } else if (expire_ns > INT64_MAX) {
        return unexpected(field, errp,
                          "the expiry is %" PRId64 " ns, expected -1 (not "
                          "armed) or a time from 0 on",
                          (int64_t)expire_ns);
    } else {
        timer_mod_ns(ts, expire_ns);
    }
    return true;
}

static bool put_timer(QEMUFile *f, void *pv, size_t size,
                      const VMStateField *field, Error **errp)
{
    qemu_put_be64(f, timer_expire_time_ns(pv));
    return true;
}

const VMStateInfo vmstate_info_timer = {
    .name = "timer",
    .get = get_timer,
    .put = put_timer,
};

/*
 * Bytes.
 */

static bool get_buffer(QEMUFile *f, void *pv, size_t size,
                       const VMStateField *field, Error **errp)
{
    qemu_get_buffer(f, pv, size);
    return true;
}

static bool put_buffer(QEMUFile *f, void *pv, size_t size,
                       const VMStateField *field, Error **errp)
{
    qemu_put_buffer(f, pv, size);
    return true;
}

const VMStateInfo vmstate_info_buffer = {
    .name = "buffer",
    .get = get_buffer,
    .put = put_buffer,
};

static bool get_unused(QEMUFile *f, void *pv, size_t size,
                       const VMStateField *field, Error **errp)
{
    qemu_file_skip(f, size);
    return true;
}

static bool put_unused(QEMUFile *f, void *pv, size_t size,
                       const VMStateField *field, Error **errp)
{
    static const uint8_t zeros[256];

    while (size) {
        size_t n = MIN(size, sizeof(zeros));

        qemu_put_buffer(f, zeros, n);
        size -= n;
    }
    return true;
}

const VMStateInfo vmstate_info_unused_buffer = {
    .name = "unused_buffer",
    .get = get_unused,
    .put = put_unused,
};

static bool get_bitmap(QEMUFile *f, void *pv, size_t size,
                       const VMStateField *field, Error **errp)
{
    uint64_t *words = pv;
    size_t n = DIV_ROUND_UP(size, 64);

    for (size_t i = 0; i < n; i++) {
        words[i] = qemu_get_be64(f);
    }
    if (size % 64 && words[n - 1] >> (size % 64)) {
        return unexpected(field, errp,
                          "the last word is 0x%" PRIx64 ", but there are only "
                          "%zu bits",
                          words[n - 1], size);
    }
    return true;
}

static bool put_bitmap(QEMUFile *f, void *pv, size_t size,
                       const VMStateField *field, Error **errp)
{
    const uint64_t *words = pv;

    for (size_t i = 0; i < DIV_ROUND_UP(size, 64); i++) {
        qemu_put_be64(f, words[i]);
    }
    return true;
}

const VMStateInfo vmstate_info_bitmap = {
    .name = "bitmap",
    .get = get_bitmap,
    .put = put_bitmap,
};
