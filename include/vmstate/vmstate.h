/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vmstate: what a device saves, as a table of fields.
 *
 *   static const VMStateDescription vmstate_pl999 = {
 *       .name = "pl999",
 *       .version_id = 2,
 *       .minimum_version_id = 1,
 *       .post_load = pl999_post_load,
 *       .fields = (const VMStateField[]){
 *           VMSTATE_UINT32(ctrl, PL999State),
 *           VMSTATE_UINT8_ARRAY(fifo, PL999State, 16),
 *           VMSTATE_UINT32_V(extra, PL999State, 2),
 *           VMSTATE_END_OF_LIST(),
 *       },
 *       .subsections = (const VMStateDescription *const[]){
 *           &vmstate_pl999_clock, NULL },
 *   };
 *
 * Bytes of a state: all fields in order, without framing, integers big-endian;
 * then every subsection that is needed: 0x05, u8 length, "parent/child", u32
 * version, its own state.
 *
 * The stream is hostile. The walker bounds every count by what the table
 * declares (arrays whose length is in an earlier field carry a maximum), never
 * allocates by a number from the stream, and on failure says section, field,
 * offset in the stream, value and what was expected. Whether a value makes
 * sense for the device is its post_load's business: it must check each index,
 * length and enumeration before anything uses it.
 *
 * A failed load leaves the object partly filled; the VM does not run then.
 *
 * Used by: hw/, target/, system/, migration/. Uses: qemu-file.h, timer.h.
 */
#ifndef VMSTATE_VMSTATE_H
#define VMSTATE_VMSTATE_H

#include "qemu/error.h"
#include "vmstate/json-writer.h"
#include "vmstate/qemu-file.h"

typedef struct VMStateField VMStateField;

/*
 * How one kind of value is written and read. @pv points at the value, @size is
 * the field's size in memory (buffers: in the stream). A get that fails says
 * what it read and what it expected; the walker adds where. A stream error
 * need not be looked at: the walker does after each value.
 */
typedef struct VMStateInfo {
    const char *name; /* QEMU's, appears in the stream's description */
    bool (*get)(QEMUFile *f, void *pv, size_t size, const VMStateField *field,
                Error **errp);
    bool (*put)(QEMUFile *f, void *pv, size_t size, const VMStateField *field,
                Error **errp);
} VMStateInfo;

/* What a field is; combined by the macros below. */
enum {
    VMS_SINGLE = 0x0001,
    VMS_POINTER = 0x0002, /* the field holds a pointer to the value(s) */
    VMS_ARRAY = 0x0004,   /* num elements */
    VMS_STRUCT = 0x0008,  /* by vmsd, not info */
    VMS_VARRAY = 0x0010,  /* count is in the field at num_offset */
    VMS_VBUFFER = 0x0020, /* size is in the field at size_offset */
    VMS_BUFFER = 0x0040,  /* size bytes */
    VMS_ARRAY_OF_POINTER = 0x0080, /* each element is a pointer to it */
    VMS_COUNT_SIGNED = 0x0100,     /* the count field is signed */
    VMS_MUST_EXIST = 0x0200,       /* field_exists false: error, not absent */
};

struct VMStateField {
    const char *name;   /* NULL: end of the list */
    size_t offset;      /* in the struct */
    size_t size;        /* of one element, in memory */
    size_t num;         /* elements; of VMS_VARRAY: the most allowed */
    size_t num_offset;  /* VMS_VARRAY: where the count is */
    size_t num_size;    /* VMS_VARRAY, VMS_VBUFFER: bytes of that field */
    size_t size_offset; /* VMS_VBUFFER: where the length is */
    unsigned flags;
    int version_id;  /* present from this version of the state on */
    int version_max; /* and up to this one; 0 = for ever */
    const VMStateInfo *info;
    const VMStateDescription *vmsd;
    bool (*field_exists)(void *opaque, int version_id);
    const char *err_hint; /* for the equal checks: what to do about it */
};

/*
 * Sections are saved by falling priority, then in order of registration.
 */
typedef enum MigrationPriority {
    MIG_PRI_UNINITIALIZED = 0, /* same as default */
    MIG_PRI_LOW,               /* after default */
    MIG_PRI_DEFAULT,
    MIG_PRI_IOMMU,
    MIG_PRI_PCI_BUS,
    MIG_PRI_VIRTIO_MEM,
    MIG_PRI_APIC,
    MIG_PRI_GICV3_ITS,
    MIG_PRI_GICV3, /* before the ITS */
    MIG_PRI_MAX,
} MigrationPriority;

/*
 * Hooks are all optional. With an Error they return false. pre_load runs
 * before the first field, post_load after the fields and subsections
 * (@version_id: the stream's); pre_save before and post_save after saving,
 * also when saving failed in between; needed says whether a subsection (or a
 * whole section) is saved now, and is not asked on load.
 */
struct VMStateDescription {
    const char *name;
    bool unmigratable; /* while such a device exists no migration starts */
    int version_id;
    int minimum_version_id;
    MigrationPriority priority;
    bool (*pre_load)(void *opaque, Error **errp);
    bool (*post_load)(void *opaque, int version_id, Error **errp);
    bool (*pre_save)(void *opaque, Error **errp);
    void (*post_save)(void *opaque);
    bool (*needed)(void *opaque);
    const VMStateField *fields;                   /* may be NULL: none */
    const VMStateDescription *const *subsections; /* NULL-terminated or NULL */
};

/**
 * vmstate_save_state: write @opaque as @vmsd says
 *
 * @vmdesc: NULL, or inside an object: gets vmsd_name, version, fields,
 *     subsections
 */
bool vmstate_save_state(QEMUFile *f, const VMStateDescription *vmsd,
                        void *opaque, JSONWriter *vmdesc, Error **errp);

/**
 * vmstate_load_state: read @opaque from @f
 *
 * @version_id: what the sender said; newer than @vmsd's or older than its
 *     minimum is an error
 */
bool vmstate_load_state(QEMUFile *f, const VMStateDescription *vmsd,
                        void *opaque, int version_id, Error **errp);

/* True unless @vmsd has a `needed` that says no. */
bool vmstate_section_needed(const VMStateDescription *vmsd, void *opaque);

/**
 * vmstate_check: find a table's mistakes
 *
 * Missing name or info, count field too large, subsection whose name does not
 * begin with its parent's and a slash, ... Registering asserts it.
 */
bool vmstate_check(const VMStateDescription *vmsd, Error **errp);

/* --- kinds --- */

extern const VMStateInfo vmstate_info_bool;
extern const VMStateInfo vmstate_info_int8, vmstate_info_int16,
    vmstate_info_int32, vmstate_info_int64;
extern const VMStateInfo vmstate_info_uint8, vmstate_info_uint16,
    vmstate_info_uint32, vmstate_info_uint64;
/* The receiver's value must be the same. */
extern const VMStateInfo vmstate_info_uint8_equal, vmstate_info_uint16_equal,
    vmstate_info_uint32_equal, vmstate_info_int32_equal,
    vmstate_info_uint64_equal;
/* "int32 le": 0 <= value <= the receiver's. */
extern const VMStateInfo vmstate_info_int32_le;
/* The value is a QEMUTimer *; expiry in ns, -1 = not armed. */
extern const VMStateInfo vmstate_info_timer;
extern const VMStateInfo vmstate_info_buffer, vmstate_info_unused_buffer;
/* See VMSTATE_BITMAP: field->size is a number of bits. */
extern const VMStateInfo vmstate_info_bitmap;

/* --- macros, by QEMU's names ---
 * _f: field; _s: struct; _v: first version; _test: field_exists; _n: count
 * The type of the field is checked at compile time.
 */
/* 0; an array of negative size if the types differ. */
#define VMSTATE_TYPE_CHECK(_t1, _t2) \
    (0 * sizeof(char[__builtin_types_compatible_p(_t1, _t2) ? 1 : -1]))
#define VMSTATE_OFFSET_VALUE(_s, _f, _type) \
    (offsetof(_s, _f) + VMSTATE_TYPE_CHECK(_type, __typeof__(((_s *)0)->_f)))
#define VMSTATE_OFFSET_POINTER(_s, _f, _type) \
    (offsetof(_s, _f) + VMSTATE_TYPE_CHECK(_type *, __typeof__(((_s *)0)->_f)))
#define VMSTATE_OFFSET_ARRAY(_s, _f, _type, _n) \
    (offsetof(_s, _f) +                         \
     VMSTATE_TYPE_CHECK(_type[_n], __typeof__(((_s *)0)->_f)))
#define VMSTATE_OFFSET_2DARRAY(_s, _f, _type, _n1, _n2) \
    (offsetof(_s, _f) +                                 \
     VMSTATE_TYPE_CHECK(_type[_n1][_n2], __typeof__(((_s *)0)->_f)))
#define VMSTATE_OFFSET_SUB_ARRAY(_s, _f, _type, _start)        \
    (offsetof(_s, _f) +                                        \
     VMSTATE_TYPE_CHECK(_type, __typeof__(((_s *)0)->_f[0])) + \
     sizeof(_type) * (_start))

#define VMSTATE_END_OF_LIST() \
    {                         \
        .name = NULL          \
    }

#define VMSTATE_SINGLE_FULL(_f, _s, _test, _v, _info, _type, _hint)         \
    {                                                                       \
        .name = #_f, .version_id = (_v), .field_exists = (_test),           \
        .size = sizeof(_type), .info = &(_info), .flags = VMS_SINGLE,       \
        .err_hint = (_hint), .offset = VMSTATE_OFFSET_VALUE(_s, _f, _type), \
    }
#define VMSTATE_SINGLE(_f, _s, _v, _info, _type) \
    VMSTATE_SINGLE_FULL(_f, _s, NULL, _v, _info, _type, NULL)
#define VMSTATE_SINGLE_TEST(_f, _s, _test, _v, _info, _type) \
    VMSTATE_SINGLE_FULL(_f, _s, _test, _v, _info, _type, NULL)

/* Last version that has the field: VMSTATE_..._RANGE. */
#define VMSTATE_SINGLE_RANGE(_f, _s, _v, _vmax, _info, _type)         \
    {                                                                 \
        .name = #_f, .version_id = (_v), .version_max = (_vmax),      \
        .size = sizeof(_type), .info = &(_info), .flags = VMS_SINGLE, \
        .offset = VMSTATE_OFFSET_VALUE(_s, _f, _type),                \
    }

#define VMSTATE_POINTER(_f, _s, _v, _info, _type)                 \
    {                                                             \
        .name = #_f, .version_id = (_v), .info = &(_info),        \
        .size = sizeof(_type), .flags = VMS_SINGLE | VMS_POINTER, \
        .offset = VMSTATE_OFFSET_VALUE(_s, _f, _type),            \
    }

#define VMSTATE_ARRAY_TEST(_f, _s, _n, _test, _v, _info, _type)                \
    {                                                                          \
        .name = #_f, .version_id = (_v), .field_exists = (_test), .num = (_n), \
        .info = &(_info), .size = sizeof(_type), .flags = VMS_ARRAY,           \
        .offset = VMSTATE_OFFSET_ARRAY(_s, _f, _type, _n),                     \
    }
#define VMSTATE_ARRAY(_f, _s, _n, _v, _info, _type) \
    VMSTATE_ARRAY_TEST(_f, _s, _n, NULL, _v, _info, _type)
#define VMSTATE_2DARRAY(_f, _s, _n1, _n2, _v, _info, _type)          \
    {                                                                \
        .name = #_f, .version_id = (_v), .num = (_n1) * (_n2),       \
        .info = &(_info), .size = sizeof(_type), .flags = VMS_ARRAY, \
        .offset = VMSTATE_OFFSET_2DARRAY(_s, _f, _type, _n1, _n2),   \
    }
#define VMSTATE_SUB_ARRAY(_f, _s, _start, _n, _v, _info, _type)         \
    {                                                                   \
        .name = #_f, .version_id = (_v), .num = (_n), .info = &(_info), \
        .size = sizeof(_type), .flags = VMS_ARRAY,                      \
        .offset = VMSTATE_OFFSET_SUB_ARRAY(_s, _f, _type, _start),      \
    }

/*
 * Arrays whose count is an earlier field @_cf of @_s, of type int32_t (_INT32)
 * or uint32_t/uint16_t/uint8_t: at most @_max elements. VARRAY_*: the elements
 * lie in the struct as an array of at least @_max; VARRAY_POINTER_*: the field
 * points to memory for @_max (the device allocated it; not the walker).
 */
#define VMSTATE_VARRAY_FULL(_f, _s, _cf, _ctype, _cflags, _max, _v, _info,   \
                            _type)                                           \
    {                                                                        \
        .name = #_f, .version_id = (_v), .num = (_max),                      \
        .num_offset = VMSTATE_OFFSET_VALUE(_s, _cf, _ctype),                 \
        .num_size = sizeof(_ctype), .info = &(_info), .size = sizeof(_type), \
        .flags = VMS_VARRAY | (_cflags),                                     \
        .offset = VMSTATE_OFFSET_SUB_ARRAY(_s, _f, _type, 0),                \
    }
#define VMSTATE_VARRAY_POINTER_FULL(_f, _s, _cf, _ctype, _cflags, _max, _v,  \
                                    _info, _type)                            \
    {                                                                        \
        .name = #_f, .version_id = (_v), .num = (_max),                      \
        .num_offset = VMSTATE_OFFSET_VALUE(_s, _cf, _ctype),                 \
        .num_size = sizeof(_ctype), .info = &(_info), .size = sizeof(_type), \
        .flags = VMS_VARRAY | VMS_POINTER | (_cflags),                       \
        .offset = VMSTATE_OFFSET_POINTER(_s, _f, _type),                     \
    }
#define VMSTATE_VARRAY_INT32(_f, _s, _cf, _max, _v, _info, _type)         \
    VMSTATE_VARRAY_FULL(_f, _s, _cf, int32_t, VMS_COUNT_SIGNED, _max, _v, \
                        _info, _type)
#define VMSTATE_VARRAY_UINT32(_f, _s, _cf, _max, _v, _info, _type) \
    VMSTATE_VARRAY_FULL(_f, _s, _cf, uint32_t, 0, _max, _v, _info, _type)
#define VMSTATE_VARRAY_UINT16(_f, _s, _cf, _max, _v, _info, _type) \
    VMSTATE_VARRAY_FULL(_f, _s, _cf, uint16_t, 0, _max, _v, _info, _type)
#define VMSTATE_VARRAY_UINT8(_f, _s, _cf, _max, _v, _info, _type) \
    VMSTATE_VARRAY_FULL(_f, _s, _cf, uint8_t, 0, _max, _v, _info, _type)
#define VMSTATE_VARRAY_POINTER_INT32(_f, _s, _cf, _max, _v, _info, _type)     \
    VMSTATE_VARRAY_POINTER_FULL(_f, _s, _cf, int32_t, VMS_COUNT_SIGNED, _max, \
                                _v, _info, _type)
#define VMSTATE_VARRAY_POINTER_UINT32(_f, _s, _cf, _max, _v, _info, _type) \
    VMSTATE_VARRAY_POINTER_FULL(_f, _s, _cf, uint32_t, 0, _max, _v, _info, \
                                _type)

/* Structs: inside, behind a pointer, arrays of both kinds. */
#define VMSTATE_STRUCT_TEST(_f, _s, _test, _v, _vmsd, _type)          \
    {                                                                 \
        .name = #_f, .version_id = (_v), .field_exists = (_test),     \
        .vmsd = &(_vmsd), .size = sizeof(_type), .flags = VMS_STRUCT, \
        .offset = VMSTATE_OFFSET_VALUE(_s, _f, _type),                \
    }
#define VMSTATE_STRUCT(_f, _s, _v, _vmsd, _type) \
    VMSTATE_STRUCT_TEST(_f, _s, NULL, _v, _vmsd, _type)
#define VMSTATE_STRUCT_POINTER_V(_f, _s, _v, _vmsd, _type)        \
    {                                                             \
        .name = #_f, .version_id = (_v), .vmsd = &(_vmsd),        \
        .size = sizeof(_type), .flags = VMS_STRUCT | VMS_POINTER, \
        .offset = VMSTATE_OFFSET_POINTER(_s, _f, _type),          \
    }
#define VMSTATE_STRUCT_POINTER(_f, _s, _vmsd, _type) \
    VMSTATE_STRUCT_POINTER_V(_f, _s, 0, _vmsd, _type)
#define VMSTATE_STRUCT_ARRAY(_f, _s, _n, _v, _vmsd, _type)              \
    {                                                                   \
        .name = #_f, .version_id = (_v), .num = (_n), .vmsd = &(_vmsd), \
        .size = sizeof(_type), .flags = VMS_STRUCT | VMS_ARRAY,         \
        .offset = VMSTATE_OFFSET_ARRAY(_s, _f, _type, _n),              \
    }
#define VMSTATE_STRUCT_SUB_ARRAY(_f, _s, _start, _n, _v, _vmsd, _type)  \
    {                                                                   \
        .name = #_f, .version_id = (_v), .num = (_n), .vmsd = &(_vmsd), \
        .size = sizeof(_type), .flags = VMS_STRUCT | VMS_ARRAY,         \
        .offset = VMSTATE_OFFSET_SUB_ARRAY(_s, _f, _type, _start),      \
    }
#define VMSTATE_STRUCT_VARRAY_UINT32(_f, _s, _cf, _max, _v, _vmsd, _type)      \
    {                                                                          \
        .name = #_f, .version_id = (_v), .num = (_max),                        \
        .num_offset = VMSTATE_OFFSET_VALUE(_s, _cf, uint32_t),                 \
        .num_size = sizeof(uint32_t), .vmsd = &(_vmsd), .size = sizeof(_type), \
        .flags = VMS_STRUCT | VMS_VARRAY,                                      \
        .offset = VMSTATE_OFFSET_SUB_ARRAY(_s, _f, _type, 0),                  \
    }
#define VMSTATE_STRUCT_VARRAY_POINTER_UINT32(_f, _s, _cf, _max, _v, _vmsd,     \
                                             _type)                            \
    {                                                                          \
        .name = #_f, .version_id = (_v), .num = (_max),                        \
        .num_offset = VMSTATE_OFFSET_VALUE(_s, _cf, uint32_t),                 \
        .num_size = sizeof(uint32_t), .vmsd = &(_vmsd), .size = sizeof(_type), \
        .flags = VMS_STRUCT | VMS_VARRAY | VMS_POINTER,                        \
        .offset = VMSTATE_OFFSET_POINTER(_s, _f, _type),                       \
    }

/* Raw bytes: a uint8_t (or char) array in the struct; a part of it; or behind
 * a pointer, with the length in an earlier uint32_t field, at most @_max. */
#define VMSTATE_BUFFER_UNSAFE_INFO(_f, _s, _v, _info, _size)                \
    {                                                                       \
        .name = #_f, .version_id = (_v), .size = (_size), .info = &(_info), \
        .flags = VMS_BUFFER, .offset = offsetof(_s, _f),                    \
    }
#define VMSTATE_BUFFER_V(_f, _s, _v)                            \
    VMSTATE_BUFFER_UNSAFE_INFO(_f, _s, _v, vmstate_info_buffer, \
                               sizeof(((_s *)0)->_f))
#define VMSTATE_BUFFER(_f, _s) VMSTATE_BUFFER_V(_f, _s, 0)
#define VMSTATE_PARTIAL_BUFFER(_f, _s, _size) \
    VMSTATE_BUFFER_UNSAFE_INFO(_f, _s, 0, vmstate_info_buffer, _size)
#define VMSTATE_VBUFFER_UINT32(_f, _s, _v, _max, _lenf)                 \
    {                                                                   \
        .name = #_f, .version_id = (_v), .num = (_max),                 \
        .size_offset = VMSTATE_OFFSET_VALUE(_s, _lenf, uint32_t),       \
        .num_size = sizeof(uint32_t), .info = &vmstate_info_buffer,     \
        .flags = VMS_VBUFFER | VMS_POINTER, .offset = offsetof(_s, _f), \
    }

/*
 * No bytes: @_test must be true of what was loaded before it, else the load
 * fails with the words @_name. For counts and indexes that later fields use.
 */
#define VMSTATE_VALIDATE(_name, _test)                                     \
    {                                                                      \
        .name = (_name), .field_exists = (_test), .flags = VMS_MUST_EXIST, \
    }

/* @_size bytes of 0, ignored on load. */
#define VMSTATE_UNUSED_FULL(_test, _v, _size)                          \
    {                                                                  \
        .name = "unused", .version_id = (_v), .field_exists = (_test), \
        .size = (_size), .info = &vmstate_info_unused_buffer,          \
        .flags = VMS_BUFFER,                                           \
    }
#define VMSTATE_UNUSED_V(_v, _size) VMSTATE_UNUSED_FULL(NULL, _v, _size)
#define VMSTATE_UNUSED(_size)       VMSTATE_UNUSED_V(0, _size)

/* @_f: uint64_t *, memory for @_nbits bits, which are constant. */
#define VMSTATE_BITMAP(_f, _s, _v, _nbits)                               \
    {                                                                    \
        .name = #_f, .version_id = (_v), .size = (_nbits),               \
        .info = &vmstate_info_bitmap, .flags = VMS_SINGLE | VMS_POINTER, \
        .offset = VMSTATE_OFFSET_POINTER(_s, _f, uint64_t),              \
    }

#define VMSTATE_BOOL_V(_f, _s, _v) \
    VMSTATE_SINGLE(_f, _s, _v, vmstate_info_bool, bool)
#define VMSTATE_INT8_V(_f, _s, _v) \
    VMSTATE_SINGLE(_f, _s, _v, vmstate_info_int8, int8_t)
#define VMSTATE_INT16_V(_f, _s, _v) \
    VMSTATE_SINGLE(_f, _s, _v, vmstate_info_int16, int16_t)
#define VMSTATE_INT32_V(_f, _s, _v) \
    VMSTATE_SINGLE(_f, _s, _v, vmstate_info_int32, int32_t)
#define VMSTATE_INT64_V(_f, _s, _v) \
    VMSTATE_SINGLE(_f, _s, _v, vmstate_info_int64, int64_t)
#define VMSTATE_UINT8_V(_f, _s, _v) \
    VMSTATE_SINGLE(_f, _s, _v, vmstate_info_uint8, uint8_t)
#define VMSTATE_UINT16_V(_f, _s, _v) \
    VMSTATE_SINGLE(_f, _s, _v, vmstate_info_uint16, uint16_t)
#define VMSTATE_UINT32_V(_f, _s, _v) \
    VMSTATE_SINGLE(_f, _s, _v, vmstate_info_uint32, uint32_t)
#define VMSTATE_UINT64_V(_f, _s, _v) \
    VMSTATE_SINGLE(_f, _s, _v, vmstate_info_uint64, uint64_t)
#define VMSTATE_BOOL(_f, _s)   VMSTATE_BOOL_V(_f, _s, 0)
#define VMSTATE_INT8(_f, _s)   VMSTATE_INT8_V(_f, _s, 0)
#define VMSTATE_INT16(_f, _s)  VMSTATE_INT16_V(_f, _s, 0)
#define VMSTATE_INT32(_f, _s)  VMSTATE_INT32_V(_f, _s, 0)
#define VMSTATE_INT64(_f, _s)  VMSTATE_INT64_V(_f, _s, 0)
#define VMSTATE_UINT8(_f, _s)  VMSTATE_UINT8_V(_f, _s, 0)
#define VMSTATE_UINT16(_f, _s) VMSTATE_UINT16_V(_f, _s, 0)
#define VMSTATE_UINT32(_f, _s) VMSTATE_UINT32_V(_f, _s, 0)
#define VMSTATE_UINT64(_f, _s) VMSTATE_UINT64_V(_f, _s, 0)
#define VMSTATE_BOOL_TEST(_f, _s, _t) \
    VMSTATE_SINGLE_TEST(_f, _s, _t, 0, vmstate_info_bool, bool)
#define VMSTATE_UINT8_TEST(_f, _s, _t) \
    VMSTATE_SINGLE_TEST(_f, _s, _t, 0, vmstate_info_uint8, uint8_t)
#define VMSTATE_UINT16_TEST(_f, _s, _t) \
    VMSTATE_SINGLE_TEST(_f, _s, _t, 0, vmstate_info_uint16, uint16_t)
#define VMSTATE_UINT32_TEST(_f, _s, _t) \
    VMSTATE_SINGLE_TEST(_f, _s, _t, 0, vmstate_info_uint32, uint32_t)
#define VMSTATE_UINT64_TEST(_f, _s, _t) \
    VMSTATE_SINGLE_TEST(_f, _s, _t, 0, vmstate_info_uint64, uint64_t)
#define VMSTATE_INT32_TEST(_f, _s, _t) \
    VMSTATE_SINGLE_TEST(_f, _s, _t, 0, vmstate_info_int32, int32_t)

#define VMSTATE_UINT8_EQUAL(_f, _s, _hint)                                  \
    VMSTATE_SINGLE_FULL(_f, _s, NULL, 0, vmstate_info_uint8_equal, uint8_t, \
                        _hint)
#define VMSTATE_UINT16_EQUAL(_f, _s, _hint)                                   \
    VMSTATE_SINGLE_FULL(_f, _s, NULL, 0, vmstate_info_uint16_equal, uint16_t, \
                        _hint)
#define VMSTATE_UINT32_EQUAL(_f, _s, _hint)                                   \
    VMSTATE_SINGLE_FULL(_f, _s, NULL, 0, vmstate_info_uint32_equal, uint32_t, \
                        _hint)
#define VMSTATE_INT32_EQUAL(_f, _s, _hint)                                  \
    VMSTATE_SINGLE_FULL(_f, _s, NULL, 0, vmstate_info_int32_equal, int32_t, \
                        _hint)
#define VMSTATE_UINT64_EQUAL(_f, _s, _hint)                                   \
    VMSTATE_SINGLE_FULL(_f, _s, NULL, 0, vmstate_info_uint64_equal, uint64_t, \
                        _hint)
#define VMSTATE_INT32_POSITIVE_LE(_f, _s) \
    VMSTATE_SINGLE(_f, _s, 0, vmstate_info_int32_le, int32_t)

#define VMSTATE_TIMER_PTR_V(_f, _s, _v) \
    VMSTATE_POINTER(_f, _s, _v, vmstate_info_timer, QEMUTimer *)
#define VMSTATE_TIMER_PTR(_f, _s) VMSTATE_TIMER_PTR_V(_f, _s, 0)
#define VMSTATE_TIMER_PTR_ARRAY(_f, _s, _n)                      \
    {                                                            \
        .name = #_f, .num = (_n), .info = &vmstate_info_timer,   \
        .size = sizeof(QEMUTimer *),                             \
        .flags = VMS_ARRAY | VMS_ARRAY_OF_POINTER,               \
        .offset = VMSTATE_OFFSET_ARRAY(_s, _f, QEMUTimer *, _n), \
    }

#define VMSTATE_BOOL_ARRAY_V(_f, _s, _n, _v) \
    VMSTATE_ARRAY(_f, _s, _n, _v, vmstate_info_bool, bool)
#define VMSTATE_INT32_ARRAY_V(_f, _s, _n, _v) \
    VMSTATE_ARRAY(_f, _s, _n, _v, vmstate_info_int32, int32_t)
#define VMSTATE_INT64_ARRAY_V(_f, _s, _n, _v) \
    VMSTATE_ARRAY(_f, _s, _n, _v, vmstate_info_int64, int64_t)
#define VMSTATE_UINT8_ARRAY_V(_f, _s, _n, _v) \
    VMSTATE_ARRAY(_f, _s, _n, _v, vmstate_info_uint8, uint8_t)
#define VMSTATE_UINT16_ARRAY_V(_f, _s, _n, _v) \
    VMSTATE_ARRAY(_f, _s, _n, _v, vmstate_info_uint16, uint16_t)
#define VMSTATE_UINT32_ARRAY_V(_f, _s, _n, _v) \
    VMSTATE_ARRAY(_f, _s, _n, _v, vmstate_info_uint32, uint32_t)
#define VMSTATE_UINT64_ARRAY_V(_f, _s, _n, _v) \
    VMSTATE_ARRAY(_f, _s, _n, _v, vmstate_info_uint64, uint64_t)
#define VMSTATE_BOOL_ARRAY(_f, _s, _n)   VMSTATE_BOOL_ARRAY_V(_f, _s, _n, 0)
#define VMSTATE_INT32_ARRAY(_f, _s, _n)  VMSTATE_INT32_ARRAY_V(_f, _s, _n, 0)
#define VMSTATE_INT64_ARRAY(_f, _s, _n)  VMSTATE_INT64_ARRAY_V(_f, _s, _n, 0)
#define VMSTATE_UINT8_ARRAY(_f, _s, _n)  VMSTATE_UINT8_ARRAY_V(_f, _s, _n, 0)
#define VMSTATE_UINT16_ARRAY(_f, _s, _n) VMSTATE_UINT16_ARRAY_V(_f, _s, _n, 0)
#define VMSTATE_UINT32_ARRAY(_f, _s, _n) VMSTATE_UINT32_ARRAY_V(_f, _s, _n, 0)
#define VMSTATE_UINT64_ARRAY(_f, _s, _n) VMSTATE_UINT64_ARRAY_V(_f, _s, _n, 0)
#define VMSTATE_UINT8_2DARRAY(_f, _s, _n1, _n2) \
    VMSTATE_2DARRAY(_f, _s, _n1, _n2, 0, vmstate_info_uint8, uint8_t)
#define VMSTATE_UINT16_2DARRAY(_f, _s, _n1, _n2) \
    VMSTATE_2DARRAY(_f, _s, _n1, _n2, 0, vmstate_info_uint16, uint16_t)
#define VMSTATE_UINT32_2DARRAY(_f, _s, _n1, _n2) \
    VMSTATE_2DARRAY(_f, _s, _n1, _n2, 0, vmstate_info_uint32, uint32_t)
#define VMSTATE_UINT64_2DARRAY(_f, _s, _n1, _n2) \
    VMSTATE_2DARRAY(_f, _s, _n1, _n2, 0, vmstate_info_uint64, uint64_t)
#define VMSTATE_UINT8_SUB_ARRAY(_f, _s, _start, _n) \
    VMSTATE_SUB_ARRAY(_f, _s, _start, _n, 0, vmstate_info_uint8, uint8_t)
#define VMSTATE_UINT16_SUB_ARRAY(_f, _s, _start, _n) \
    VMSTATE_SUB_ARRAY(_f, _s, _start, _n, 0, vmstate_info_uint16, uint16_t)
#define VMSTATE_UINT32_SUB_ARRAY(_f, _s, _start, _n) \
    VMSTATE_SUB_ARRAY(_f, _s, _start, _n, 0, vmstate_info_uint32, uint32_t)
#define VMSTATE_UINT64_SUB_ARRAY(_f, _s, _start, _n) \
    VMSTATE_SUB_ARRAY(_f, _s, _start, _n, 0, vmstate_info_uint64, uint64_t)

#endif /* VMSTATE_VMSTATE_H */
