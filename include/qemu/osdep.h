/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * osdep: what every source file of the project sees first.
 *
 * The system and glib headers that are used everywhere, the address types,
 * a few arithmetic helpers, and the names of types that rooms hand to each
 * other without knowing what is inside.
 *
 * Used by: every .c file, as its first include.
 * Uses:    glib and libc.
 */
#ifndef QEMU_OSDEP_H
#define QEMU_OSDEP_H

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <glib.h>

/* Guest physical address; offset in the RAM address space; guest virtual. */
typedef uint64_t hwaddr;
typedef uint64_t ram_addr_t;
typedef uint64_t vaddr;
#define HWADDR_PRIx      PRIx64
#define HWADDR_MAX       UINT64_MAX
#define RAM_ADDR_FMT     "%" PRIx64
#define RAM_ADDR_INVALID UINT64_MAX

#ifndef container_of
#define container_of(ptr, type, member) \
    ((type *)((char *)(ptr)-offsetof(type, member)))
#endif
#ifndef ARRAY_SIZE
#define ARRAY_SIZE(x) (sizeof(x) / sizeof((x)[0]))
#endif

/* @n, @d: unsigned; @d of the _UP/_DOWN pairs must be a power of two. */
#ifndef DIV_ROUND_UP
#define DIV_ROUND_UP(n, d) (((n) + (d)-1) / (d))
#endif
#ifndef ROUND_UP
#define ROUND_UP(n, d) (((n) + (d)-1) & -(0 ? (n) : (d)))
#endif
#ifndef ROUND_DOWN
#define ROUND_DOWN(n, d) ((n) & -(0 ? (n) : (d)))
#endif
#define QEMU_ALIGN_DOWN(n, m)     ((n) / (m) * (m))
#define QEMU_ALIGN_UP(n, m)       QEMU_ALIGN_DOWN((n) + (m)-1, (m))
#define QEMU_IS_ALIGNED(n, m)     (((n) % (m)) == 0)
#define QEMU_PTR_IS_ALIGNED(p, n) QEMU_IS_ALIGNED((uintptr_t)(p), (n))

#define is_power_of_2(n) ((n) != 0 && ((n) & ((n)-1)) == 0)

#ifndef likely
#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif

#define QEMU_PACKED          __attribute__((packed))
#define QEMU_ALIGNED(x)      __attribute__((aligned(x)))
#define QEMU_BUILD_BUG_ON(x) _Static_assert(!(x), "not expecting: " #x)

/* Types named across rooms; their rooms' headers say what they are. */
typedef struct AddressSpace AddressSpace;
typedef struct Chardev Chardev;
typedef struct CPUState CPUState;
typedef struct DeviceState DeviceState;
typedef struct DirtyTrackerOps DirtyTrackerOps;
typedef struct Error Error;
typedef struct FlatView FlatView;
typedef struct HostMemoryBackend HostMemoryBackend;
typedef struct MachineClass MachineClass;
typedef struct MachineState MachineState;
typedef struct MemoryListener MemoryListener;
typedef struct MemoryRegion MemoryRegion;
typedef struct MemoryRegionOps MemoryRegionOps;
typedef struct MemoryRegionSection MemoryRegionSection;
typedef struct Monitor Monitor;
typedef struct Notifier Notifier;
typedef struct Object Object;
typedef struct ObjectClass ObjectClass;
typedef struct QEMUFile QEMUFile;
typedef struct QEMUTimer QEMUTimer;
typedef struct QIOChannel QIOChannel;
typedef struct RAMBlock RAMBlock;
typedef struct VMStateDescription VMStateDescription;
typedef struct IRQState *qemu_irq;
typedef struct json_object json_object;

#endif /* QEMU_OSDEP_H */
