/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Units: binary multiples of a byte, and nanoseconds in longer times.
 *
 * Used by: all. Uses: nothing.
 */
#ifndef QEMU_UNITS_H
#define QEMU_UNITS_H

#define KiB (INT64_C(1) << 10)
#define MiB (INT64_C(1) << 20)
#define GiB (INT64_C(1) << 30)
#define TiB (INT64_C(1) << 40)
#define PiB (INT64_C(1) << 50)

#define SCALE_MS               1000000
#define SCALE_US               1000
#define SCALE_NS               1
#define NANOSECONDS_PER_SECOND INT64_C(1000000000)

#endif /* QEMU_UNITS_H */
