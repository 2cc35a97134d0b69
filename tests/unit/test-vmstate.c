/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests of include/vmstate/vmstate.h: bytes, versions, subsections, hostile
 * streams. Descriptions (VMDESC) and the registry: test-savevm.c.
 */
#include "qemu/osdep.h"

#include "io/channel-buffer.h"
#include "qemu/timer.h"
#include "vmstate/vmstate.h"

/* Save into memory. */
static GByteArray *save(const VMStateDescription *vmsd, void *opaque,
                        Error **errp)
{
    QIOChannelBuffer *b = qio_channel_buffer_new(0);
    QEMUFile *f = qemu_file_new_output(QIO_CHANNEL(b));
    GByteArray *bytes = NULL;
    bool ok = vmstate_save_state(f, vmsd, opaque, NULL, errp);

    qemu_fclose(f, NULL);
    if (ok) {
        bytes = g_byte_array_new();
        g_byte_array_append(bytes, b->data, b->usage);
    }
    qio_channel_unref(QIO_CHANNEL(b));
    return bytes;
}

/* Load; *@taken gets the bytes used. */
static bool load(const VMStateDescription *vmsd, void *opaque, int version,
                 const void *data, size_t len, size_t *taken, Error **errp)
{
    QIOChannelBuffer *b = qio_channel_buffer_new_data(data, len);
    QEMUFile *f = qemu_file_new_input(QIO_CHANNEL(b));
    bool ok = vmstate_load_state(f, vmsd, opaque, version, errp);

    if (taken) {
        *taken = qemu_file_position(f);
    }
    qemu_fclose(f, NULL);
    qio_channel_unref(QIO_CHANNEL(b));
    return ok;
}

static void assert_load_fails(const VMStateDescription *vmsd, void *opaque,
                              int version, const void *data, size_t len,
                              const char *words)
{
    Error *err = NULL;

    g_assert_false(load(vmsd, opaque, version, data, len, NULL, &err));
    g_assert_nonnull(err);
    if (!strstr(error_get_pretty(err), words)) {
        g_error("'%s' is not in '%s'", words, error_get_pretty(err));
    }
    error_free(err);
}

#define assert_bytes(_ba, ...)                                          \
    do {                                                                \
        static const uint8_t want_[] = { __VA_ARGS__ };                 \
        g_assert_cmpmem((_ba)->data, (_ba)->len, want_, sizeof(want_)); \
    } while (0)

/*
 * Kinds.
 */

typedef struct Simple {
    bool b;
    uint8_t u8;
    int8_t i8;
    uint16_t u16;
    int16_t i16;
    uint32_t u32;
    int32_t i32;
    uint64_t u64;
    int64_t i64;
    uint8_t raw[3];
    uint16_t arr[2];
    uint8_t grid[2][2];
    uint32_t part[4];
} Simple;

static const VMStateDescription vmstate_simple = {
    .name = "simple",
    .version_id = 1,
    .fields =
        (const VMStateField[]){
            VMSTATE_BOOL(b, Simple),
            VMSTATE_UINT8(u8, Simple),
            VMSTATE_INT8(i8, Simple),
            VMSTATE_UINT16(u16, Simple),
            VMSTATE_INT16(i16, Simple),
            VMSTATE_UINT32(u32, Simple),
            VMSTATE_INT32(i32, Simple),
            VMSTATE_UINT64(u64, Simple),
            VMSTATE_INT64(i64, Simple),
            VMSTATE_BUFFER(raw, Simple),
            VMSTATE_UNUSED(2),
            VMSTATE_UINT16_ARRAY(arr, Simple, 2),
            VMSTATE_UINT8_2DARRAY(grid, Simple, 2, 2),
            VMSTATE_UINT32_SUB_ARRAY(part, Simple, 1, 2),
            VMSTATE_END_OF_LIST(),
        },
};

static const Simple simple_example = {
    .b = true,
    .u8 = 0x81,
    .i8 = -2,
    .u16 = 0x8182,
    .i16 = -3,
    .u32 = 0x81828384,
    .i32 = -4,
    .u64 = 0x8182838485868788,
    .i64 = -5,
    .raw = { 1, 2, 3 },
    .arr = { 0x0a0b, 0x0c0d },
    .grid = { { 4, 5 }, { 6, 7 } },
    .part = { 0x11, 0x12, 0x13, 0x14 },
};

static void test_kinds_bytes(void)
{
    Simple s = simple_example, t;
    GByteArray *ba = save(&vmstate_simple, &s, &error_abort);
    size_t taken;

    assert_bytes(ba, 1, 0x81, 0xfe, 0x81, 0x82, 0xff, 0xfd, 0x81, 0x82, 0x83,
                 0x84, 0xff, 0xff, 0xff, 0xfc, 0x81, 0x82, 0x83, 0x84, 0x85,
                 0x86, 0x87, 0x88, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                 0xfb, 1, 2, 3, 0, 0, 0x0a, 0x0b, 0x0c, 0x0d, 4, 5, 6, 7, 0, 0,
                 0, 0x12, 0, 0, 0, 0x13);
    memset(&t, 0, sizeof(t));
    g_assert_true(
        load(&vmstate_simple, &t, 1, ba->data, ba->len, &taken, &error_abort));
    g_assert_cmpuint(taken, ==, ba->len);
    g_assert_true(t.b);
    g_assert_cmphex(t.u64, ==, s.u64);
    g_assert_cmpint(t.i8, ==, -2);
    g_assert_cmpint(t.i16, ==, -3);
    g_assert_cmpint(t.i32, ==, -4);
    g_assert_cmpint(t.i64, ==, -5);
    g_assert_cmpmem(t.raw, 3, s.raw, 3);
    g_assert_cmpmem(t.arr, 4, s.arr, 4);
    g_assert_cmpmem(t.grid, 4, s.grid, 4);
    g_assert_cmphex(t.part[0], ==, 0);
    g_assert_cmphex(t.part[2], ==, 0x13);
    g_assert_cmphex(t.part[3], ==, 0);
    g_byte_array_unref(ba);
}

static void test_kinds_truncated_at_every_byte(void)
{
    Simple s = simple_example, t;
    GByteArray *ba = save(&vmstate_simple, &s, &error_abort);

    for (size_t len = 0; len < ba->len; len++) {
        /* An exact copy, so that ASAN sees a step beyond. */
        g_autofree uint8_t *copy = g_memdup2(ba->data, len);

        assert_load_fails(&vmstate_simple, &t, 1, copy, len,
                          "migration stream ended at offset");
    }
    g_byte_array_unref(ba);
}

static void test_kinds_bool_is_0_or_1(void)
{
    uint8_t bytes[64] = { 2 };
    Simple t = { .b = false };

    assert_load_fails(&vmstate_simple, &t, 1, bytes, sizeof(bytes),
                      "simple.b at offset 0 (0x0): the value is 2, expected 0 "
                      "or 1");
    g_assert_false(t.b);
}

typedef struct Checks {
    uint32_t u32;
    int32_t n;
    int32_t le;
    uint8_t u8;
} Checks;

static const VMStateDescription vmstate_checks = {
    .name = "checks",
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT32_EQUAL(u32, Checks, "use the same -smp"),
            VMSTATE_INT32_EQUAL(n, Checks, NULL),
            VMSTATE_INT32_POSITIVE_LE(le, Checks),
            VMSTATE_UINT8_EQUAL(u8, Checks, NULL),
            VMSTATE_END_OF_LIST(),
        },
};

static void test_kinds_equal(void)
{
    const uint8_t good[] = {
        0, 0, 0, 7, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 2, 9
    };
    uint8_t bad[sizeof(good)];
    Checks c = { 7, -1, 3, 9 };

    g_assert_true(
        load(&vmstate_checks, &c, 0, good, sizeof(good), NULL, &error_abort));
    g_assert_cmpint(c.le, ==, 2);

    memcpy(bad, good, sizeof(bad));
    bad[3] = 8;
    assert_load_fails(&vmstate_checks, &c, 0, bad, sizeof(bad),
                      "checks.u32 at offset 0 (0x0): the value is 8, but here "
                      "it is 7 and must be equal (use the same -smp)");
    memcpy(bad, good, sizeof(bad));
    bad[4] = 0;
    assert_load_fails(&vmstate_checks, &c, 0, bad, sizeof(bad), "checks.n");
    memcpy(bad, good, sizeof(bad));
    bad[8] = 0x80;
    assert_load_fails(&vmstate_checks, &c, 0, bad, sizeof(bad),
                      "expected 0 to 2");
    bad[8] = 0;
    bad[11] = 3;
    assert_load_fails(&vmstate_checks, &c, 0, bad, sizeof(bad),
                      "the value is 3");
    memcpy(bad, good, sizeof(bad));
    bad[12] = 1;
    assert_load_fails(&vmstate_checks, &c, 0, bad, sizeof(bad),
                      "checks.u8 at offset 12");
}

typedef struct Timed {
    QEMUTimer *timer;
    QEMUTimer *both[2];
} Timed;

static const VMStateDescription vmstate_timed = {
    .name = "timed",
    .fields =
        (const VMStateField[]){
            VMSTATE_TIMER_PTR(timer, Timed),
            VMSTATE_TIMER_PTR_ARRAY(both, Timed, 2),
            VMSTATE_END_OF_LIST(),
        },
};

static void no_cb(void *opaque)
{
}

static void test_kinds_timer(void)
{
    uint8_t bad[24] = { 0x80 };
    GByteArray *ba;
    Timed t;

    t.timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, no_cb, NULL);
    t.both[0] = timer_new_ns(QEMU_CLOCK_VIRTUAL, no_cb, NULL);
    t.both[1] = timer_new_ns(QEMU_CLOCK_VIRTUAL, no_cb, NULL);
    timer_mod_ns(t.both[0], 0x1122334455);
    ba = save(&vmstate_timed, &t, &error_abort);
    assert_bytes(ba, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0,
                 0x11, 0x22, 0x33, 0x44, 0x55, 0xff, 0xff, 0xff, 0xff, 0xff,
                 0xff, 0xff, 0xff);
    timer_mod_ns(t.timer, 5);
    timer_del(t.both[0]);
    g_assert_true(
        load(&vmstate_timed, &t, 0, ba->data, ba->len, NULL, &error_abort));
    g_assert_false(timer_pending(t.timer));
    g_assert_cmphex(timer_expire_time_ns(t.both[0]), ==, 0x1122334455);
    assert_load_fails(&vmstate_timed, &t, 0, bad, sizeof(bad), "timed.timer");
    g_byte_array_unref(ba);
    timer_free(t.timer);
    timer_free(t.both[0]);
    timer_free(t.both[1]);
}

/*
 * Counted arrays and buffers.
 */

typedef struct Elem {
    uint8_t a;
} Elem;

static const VMStateDescription vmstate_elem = {
    .name = "elem",
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT8(a, Elem),
            VMSTATE_END_OF_LIST(),
        },
};

#define MAX_N 4

typedef struct Counted {
    int32_t n;
    uint16_t *ptr; /* MAX_N */
    uint8_t inside_n;
    uint16_t inside[MAX_N];
    uint32_t elem_n;
    Elem *elems; /* MAX_N */
    uint32_t len;
    uint8_t *buf; /* MAX_N */
} Counted;

static const VMStateDescription vmstate_counted = {
    .name = "counted",
    .fields =
        (const VMStateField[]){
            VMSTATE_INT32(n, Counted),
            VMSTATE_VARRAY_POINTER_INT32(ptr, Counted, n, MAX_N, 0,
                                         vmstate_info_uint16, uint16_t),
            VMSTATE_UINT8(inside_n, Counted),
            VMSTATE_VARRAY_UINT8(inside, Counted, inside_n, MAX_N, 0,
                                 vmstate_info_uint16, uint16_t),
            VMSTATE_UINT32(elem_n, Counted),
            VMSTATE_STRUCT_VARRAY_POINTER_UINT32(elems, Counted, elem_n, MAX_N,
                                                 0, vmstate_elem, Elem),
            VMSTATE_UINT32(len, Counted),
            VMSTATE_VBUFFER_UINT32(buf, Counted, 0, MAX_N, len),
            VMSTATE_END_OF_LIST(),
        },
};

static void counted_init(Counted *c)
{
    *c = (Counted){ 0 };
    /* Exactly the maximum: an element more is a heap overflow. */
    c->ptr = g_new0(uint16_t, MAX_N);
    c->elems = g_new0(Elem, MAX_N);
    c->buf = g_new0(uint8_t, MAX_N);
}

static void counted_free(Counted *c)
{
    g_free(c->ptr);
    g_free(c->elems);
    g_free(c->buf);
}

static void test_counted_round_trip(void)
{
    Counted c, d;
    GByteArray *ba;

    counted_init(&c);
    counted_init(&d);
    c.n = 2;
    c.ptr[0] = 0x0102;
    c.ptr[1] = 0x0304;
    c.inside_n = 1;
    c.inside[0] = 0x0506;
    c.elem_n = MAX_N;
    c.elems[3].a = 9;
    c.len = 3;
    memcpy(c.buf, "xyz", 3);
    ba = save(&vmstate_counted, &c, &error_abort);
    assert_bytes(ba, 0, 0, 0, 2, 1, 2, 3, 4, 1, 5, 6, 0, 0, 0, 4, 0, 0, 0, 9, 0,
                 0, 0, 3, 'x', 'y', 'z');
    g_assert_true(
        load(&vmstate_counted, &d, 0, ba->data, ba->len, NULL, &error_abort));
    g_assert_cmpint(d.n, ==, 2);
    g_assert_cmphex(d.ptr[1], ==, 0x0304);
    g_assert_cmpint(d.elems[3].a, ==, 9);
    g_assert_cmpmem(d.buf, 3, "xyz", 3);
    for (size_t len = 0; len < ba->len; len++) {
        g_autofree uint8_t *copy = g_memdup2(ba->data, len);

        assert_load_fails(&vmstate_counted, &d, 0, copy, len, "ended at");
    }
    g_byte_array_unref(ba);
    counted_free(&c);
    counted_free(&d);
}

static void test_counted_hostile_counts(void)
{
    static const uint8_t too_many[] = { 0, 0, 0, 5, 0, 0, 0, 0 };
    static const uint8_t negative[] = { 0xff, 0xff, 0xff, 0xff, 0, 0 };
    static const uint8_t inside[] = { 0, 0, 0, 0, 0xff, 0, 0 };
    static const uint8_t elems[] = { 0, 0, 0, 0, 0, 0x80, 0, 0, 0 };
    static const uint8_t buf[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5 };
    Counted c;

    counted_init(&c);
    assert_load_fails(&vmstate_counted, &c, 0, too_many, sizeof(too_many),
                      "counted.ptr at offset 4 (0x4): it has 5 elements, "
                      "expected 0 to 4");
    assert_load_fails(&vmstate_counted, &c, 0, negative, sizeof(negative),
                      "it has -1 elements");
    assert_load_fails(&vmstate_counted, &c, 0, inside, sizeof(inside),
                      "counted.inside at offset 5 (0x5): it has 255 elements");
    assert_load_fails(&vmstate_counted, &c, 0, elems, sizeof(elems),
                      "it has 2147483648 elements");
    assert_load_fails(&vmstate_counted, &c, 0, buf, sizeof(buf),
                      "it has 5 bytes, expected 0 to 4");
    counted_free(&c);
}

static void test_counted_save_checks_too(void)
{
    g_autoptr(Error) err = NULL;
    Counted c;

    counted_init(&c);
    c.n = MAX_N + 1;
    g_assert_null(save(&vmstate_counted, &c, &err));
    g_assert_nonnull(strstr(error_get_pretty(err), "counted.ptr"));
    counted_free(&c);
}

/*
 * Versions.
 */

typedef struct Versioned {
    uint8_t always, since2, until1, tested;
    bool test_result;
} Versioned;

static bool versioned_test(void *opaque, int version_id)
{
    return ((Versioned *)opaque)->test_result;
}

static const VMStateDescription vmstate_versioned = {
    .name = "versioned",
    .version_id = 3,
    .minimum_version_id = 1,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT8(always, Versioned),
            VMSTATE_UINT8_V(since2, Versioned, 2),
            VMSTATE_SINGLE_RANGE(until1, Versioned, 0, 1, vmstate_info_uint8,
                                 uint8_t),
            VMSTATE_UINT8_TEST(tested, Versioned, versioned_test),
            VMSTATE_END_OF_LIST(),
        },
};

static void test_versions(void)
{
    static const uint8_t bytes[] = { 1, 2, 3 };
    Versioned v = { .test_result = true };
    GByteArray *ba = save(&vmstate_versioned, &v, &error_abort);
    size_t taken;

    g_assert_cmpuint(ba->len, ==, 3); /* always, since2, tested */
    g_byte_array_unref(ba);
    g_assert_true(
        load(&vmstate_versioned, &v, 1, bytes, 3, NULL, &error_abort));
    g_assert_cmpint(v.since2, ==, 0);
    g_assert_cmpint(v.until1, ==, 2);
    g_assert_cmpint(v.tested, ==, 3);
    v.test_result = false;
    g_assert_true(
        load(&vmstate_versioned, &v, 3, bytes, 3, &taken, &error_abort));
    g_assert_cmpuint(taken, ==, 2);
    assert_load_fails(&vmstate_versioned, &v, 4, bytes, 3,
                      "'versioned' has version 4, newer than 3");
    assert_load_fails(&vmstate_versioned, &v, 0, bytes, 3, "older than 1");
}

/*
 * Subsections and hooks.
 */

typedef struct Parent {
    uint8_t a, b, c, inner_x;
    bool need_b, need_c;
    GString *log;
    bool fail_pre_load, fail_post_load, fail_pre_save;
} Parent;

static bool need_b(void *opaque)
{
    return ((Parent *)opaque)->need_b;
}

static bool need_c(void *opaque)
{
    return ((Parent *)opaque)->need_c;
}

static bool hook(Parent *p, const char *what, bool fail, Error **errp)
{
    g_string_append_printf(p->log, "%s ", what);
    if (fail) {
        error_setg(errp, "%s says no", what);
    }
    return !fail;
}

static bool parent_pre_load(void *opaque, Error **errp)
{
    Parent *p = opaque;

    return hook(p, "pre_load", p->fail_pre_load, errp);
}

static bool parent_post_load(void *opaque, int version_id, Error **errp)
{
    Parent *p = opaque;

    return hook(p, "post_load", p->fail_post_load, errp);
}

static bool parent_pre_save(void *opaque, Error **errp)
{
    Parent *p = opaque;

    return hook(p, "pre_save", p->fail_pre_save, errp);
}

static void parent_post_save(void *opaque)
{
    hook(opaque, "post_save", false, NULL);
}

static bool sub_b_post_load(void *opaque, int version_id, Error **errp)
{
    return hook(opaque, "b", false, errp);
}

static const VMStateDescription vmstate_sub_b = {
    .name = "parent/b",
    .version_id = 2,
    .minimum_version_id = 2,
    .needed = need_b,
    .post_load = sub_b_post_load,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT8(b, Parent),
            VMSTATE_END_OF_LIST(),
        },
};

static const VMStateDescription vmstate_sub_c = {
    .name = "parent/c",
    .needed = need_c,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT8(c, Parent),
            VMSTATE_END_OF_LIST(),
        },
};

static const VMStateDescription vmstate_parent = {
    .name = "parent",
    .version_id = 1,
    .pre_load = parent_pre_load,
    .post_load = parent_post_load,
    .pre_save = parent_pre_save,
    .post_save = parent_post_save,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT8(a, Parent),
            VMSTATE_END_OF_LIST(),
        },
    .subsections =
        (const VMStateDescription *const[]){
            &vmstate_sub_b,
            &vmstate_sub_c,
            NULL,
        },
};

#define SUB(_letter, _version) \
    5, 8, 'p', 'a', 'r', 'e', 'n', 't', '/', _letter, 0, 0, 0, _version

static void test_subsections_saved_if_needed(void)
{
    Parent p = { .a = 1, .b = 2, .c = 3, .log = g_string_new(NULL) };
    GByteArray *ba = save(&vmstate_parent, &p, &error_abort);

    assert_bytes(ba, 1);
    g_byte_array_unref(ba);
    p.need_c = true;
    ba = save(&vmstate_parent, &p, &error_abort);
    assert_bytes(ba, 1, SUB('c', 0), 3);
    g_byte_array_unref(ba);
    p.need_b = true;
    ba = save(&vmstate_parent, &p, &error_abort);
    assert_bytes(ba, 1, SUB('b', 2), 2, SUB('c', 0), 3);
    for (size_t len = 0; len < ba->len; len++) {
        Parent q = { .log = p.log };
        g_autofree uint8_t *copy = g_memdup2(ba->data, len);
        bool ok = load(&vmstate_parent, &q, 1, copy, len, NULL, NULL);

        /* Complete without the second, or without both. A header cut short
         * is not taken for one: what surrounds the state says so. */
        g_assert_cmpint(ok, ==,
                        (len >= 1 && len < 11) || (len >= 16 && len < 26));
    }
    g_byte_array_unref(ba);
    g_string_free(p.log, true);
}

static void test_subsections_any_order_missing_ok(void)
{
    static const uint8_t swapped[] = {
        1, SUB('c', 0), 3, SUB('b', 2), 2, 0x7e
    };
    static const uint8_t none[] = { 9, 0x7e };
    Parent p = { .log = g_string_new(NULL) };
    size_t taken;

    g_assert_true(load(&vmstate_parent, &p, 1, swapped, sizeof(swapped), &taken,
                       &error_abort));
    g_assert_cmpuint(taken, ==, sizeof(swapped) - 1);
    g_assert_cmpint(p.b, ==, 2);
    g_assert_cmpint(p.c, ==, 3);
    g_assert_cmpstr(p.log->str, ==, "pre_load b post_load ");
    g_assert_true(
        load(&vmstate_parent, &p, 1, none, sizeof(none), &taken, &error_abort));
    g_assert_cmpuint(taken, ==, 1);
    g_string_free(p.log, true);
}

static void test_subsections_refused(void)
{
    static const uint8_t unknown[] = { 1, SUB('x', 0), 3 };
    static const uint8_t newer[] = { 1, SUB('b', 3), 3 };
    static const uint8_t older[] = { 1, SUB('b', 1), 3 };
    static const uint8_t huge[] = { 1,   5,   8,   'p',  'a',  'r',  'e', 'n',
                                    't', '/', 'b', 0xff, 0xff, 0xff, 0xff };
    static const uint8_t twice[] = { 1, SUB('c', 0), 3, SUB('c', 0), 4 };
    Parent p = { .log = g_string_new(NULL) };

    assert_load_fails(&vmstate_parent, &p, 1, unknown, sizeof(unknown),
                      "subsection 'parent/x' version 0 before offset 15 is not "
                      "known here");
    assert_load_fails(&vmstate_parent, &p, 1, newer, sizeof(newer),
                      "'parent/b' has version 3, newer than 2");
    assert_load_fails(&vmstate_parent, &p, 1, older, sizeof(older),
                      "'parent/b' has version 1, older than 2");
    assert_load_fails(&vmstate_parent, &p, 1, huge, sizeof(huge),
                      "'parent/b' version 4294967295");
    assert_load_fails(&vmstate_parent, &p, 1, twice, sizeof(twice),
                      "'parent/c' before offset 30 is there a second time");
    g_string_free(p.log, true);
}

/* A struct inside leaves the subsections of what surrounds it alone. */
typedef struct Outer {
    Parent inner;
    uint8_t after;
} Outer;

static bool need_after(void *opaque)
{
    return true;
}

static const VMStateDescription vmstate_outer_sub = {
    .name = "parenthesis/after",
    .needed = need_after,
    .fields =
        (const VMStateField[]){
            VMSTATE_UINT8(after, Outer),
            VMSTATE_END_OF_LIST(),
        },
};

static const VMStateDescription vmstate_outer = {
    .name = "parenthesis",
    .fields =
        (const VMStateField[]){
            VMSTATE_STRUCT(inner, Outer, 0, vmstate_parent, Parent),
            VMSTATE_END_OF_LIST(),
        },
    .subsections =
        (const VMStateDescription *const[]){
            &vmstate_outer_sub,
            NULL,
        },
};

static void test_subsections_of_the_right_owner(void)
{
    Outer o = { .inner = { .a = 1, .b = 2, .need_b = true }, .after = 7 };
    Outer p = { .after = 0 };
    GByteArray *ba;

    o.inner.log = p.inner.log = g_string_new(NULL);
    ba = save(&vmstate_outer, &o, &error_abort);
    g_assert_true(
        load(&vmstate_outer, &p, 0, ba->data, ba->len, NULL, &error_abort));
    g_assert_cmpint(p.inner.b, ==, 2);
    g_assert_cmpint(p.after, ==, 7);
    g_byte_array_unref(ba);
    g_string_free(o.inner.log, true);
}

static void test_hooks(void)
{
    static const uint8_t byte[] = { 9 };
    g_autoptr(Error) err = NULL;
    Parent p = { .log = g_string_new(NULL) };
    GByteArray *ba = save(&vmstate_parent, &p, &error_abort);

    g_assert_cmpstr(p.log->str, ==, "pre_save post_save ");
    g_byte_array_unref(ba);
    p.fail_pre_save = true;
    g_assert_null(save(&vmstate_parent, &p, &err));
    g_assert_cmpstr(error_get_pretty(err), ==,
                    "parent: preparing to save: pre_save says no");
    p.fail_post_load = true;
    assert_load_fails(&vmstate_parent, &p, 1, byte, 1,
                      "parent: the state that ends at offset 1 is not "
                      "accepted: post_load says no");
    p.fail_pre_load = true;
    assert_load_fails(&vmstate_parent, &p, 1, byte, 1,
                      "parent: preparing to load: pre_load says no");
    g_string_free(p.log, true);
}

/*
 * Checks in a table, and of tables.
 */

static bool counted_is_even(void *opaque, int version_id)
{
    return ((Counted *)opaque)->n % 2 == 0;
}

static const VMStateDescription vmstate_validated = {
    .name = "validated",
    .fields =
        (const VMStateField[]){
            VMSTATE_INT32(n, Counted),
            VMSTATE_VALIDATE("n is even", counted_is_even),
            VMSTATE_END_OF_LIST(),
        },
};

static void test_validate(void)
{
    static const uint8_t odd[] = { 0, 0, 0, 3 };
    static const uint8_t even[] = { 0, 0, 0, 4 };
    Counted c = { 0 };
    GByteArray *ba;

    g_assert_true(load(&vmstate_validated, &c, 0, even, 4, NULL, &error_abort));
    assert_load_fails(&vmstate_validated, &c, 0, odd, 4,
                      "validated: the check 'n is even' fails");
    c.n = 2;
    ba = save(&vmstate_validated, &c, &error_abort);
    g_assert_cmpuint(ba->len, ==, 4);
    g_byte_array_unref(ba);
}

static void test_check_finds_mistakes(void)
{
    static const VMStateDescription misnamed = { .name = "other/b",
                                                 .needed = need_b };
    const VMStateDescription bad_sub = {
        .name = "parent",
        .subsections = (const VMStateDescription *const[]){ &misnamed, NULL },
    };
    const VMStateDescription no_kind = {
        .name = "x",
        .fields =
            (const VMStateField[]){
                { .name = "f", .size = 1, .flags = VMS_SINGLE },
                VMSTATE_END_OF_LIST(),
            },
    };
    g_autoptr(Error) err = NULL, err2 = NULL;

    g_assert_true(vmstate_check(&vmstate_parent, &error_abort));
    g_assert_true(vmstate_check(&vmstate_counted, &error_abort));
    g_assert_false(vmstate_check(&bad_sub, &err));
    g_assert_cmpstr(error_get_pretty(err), ==,
                    "subsection 'other/b' is not named 'parent/...'");
    g_assert_false(vmstate_check(&no_kind, &err2));
    g_assert_cmpstr(error_get_pretty(err2), ==,
                    "'x.f' has no kind (info or vmsd)");
}

/* Any bytes at all: an error or not, but no harm (ASAN, UBSAN watch). */
static void test_random_bytes(void)
{
    guint32 seed = g_test_rand_int();
    GRand *rand = g_rand_new_with_seed(seed);
    Parent p = { .log = g_string_new(NULL) };
    Counted c;

    g_test_message("seed %u", seed);
    counted_init(&c);
    for (int round = 0; round < 3000; round++) {
        uint8_t bytes[48];
        size_t len = g_rand_int_range(rand, 0, sizeof(bytes));

        for (size_t i = 0; i < len; i++) {
            bytes[i] = g_rand_boolean(rand) ? g_rand_int_range(rand, 0, 6)
                                            : g_rand_int_range(rand, 0, 256);
        }
        load(&vmstate_counted, &c, 0, bytes, len, NULL, NULL);
        load(&vmstate_parent, &p, 1, bytes, len, NULL, NULL);
    }
    counted_free(&c);
    g_string_free(p.log, true);
    g_rand_free(rand);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/vmstate/kinds/bytes", test_kinds_bytes);
    g_test_add_func("/vmstate/kinds/truncated-at-every-byte",
                    test_kinds_truncated_at_every_byte);
    g_test_add_func("/vmstate/kinds/bool-is-0-or-1", test_kinds_bool_is_0_or_1);
    g_test_add_func("/vmstate/kinds/equal", test_kinds_equal);
    g_test_add_func("/vmstate/kinds/timer", test_kinds_timer);
    g_test_add_func("/vmstate/counted/round-trip", test_counted_round_trip);
    g_test_add_func("/vmstate/counted/hostile-counts",
                    test_counted_hostile_counts);
    g_test_add_func("/vmstate/counted/save-checks-too",
                    test_counted_save_checks_too);
    g_test_add_func("/vmstate/versions", test_versions);
    g_test_add_func("/vmstate/subsections/saved-if-needed",
                    test_subsections_saved_if_needed);
    g_test_add_func("/vmstate/subsections/any-order-missing-ok",
                    test_subsections_any_order_missing_ok);
    g_test_add_func("/vmstate/subsections/refused", test_subsections_refused);
    g_test_add_func("/vmstate/subsections/of-the-right-owner",
                    test_subsections_of_the_right_owner);
    g_test_add_func("/vmstate/hooks", test_hooks);
    g_test_add_func("/vmstate/validate", test_validate);
    g_test_add_func("/vmstate/check-finds-mistakes", test_check_finds_mistakes);
    g_test_add_func("/vmstate/random-bytes", test_random_bytes);
    return g_test_run();
}
