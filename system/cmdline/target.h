/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Target: what makes one binary differ from the other.
 *
 * Each binary links one system/types-ARCH.c, which defines it.
 *
 * Used by: system/main.c, system/cmdline/. Uses: nothing.
 */
#ifndef SYSTEM_CMDLINE_TARGET_H
#define SYSTEM_CMDLINE_TARGET_H

typedef struct TargetDesc {
    const char *name; /* "aarch64" */
    /* log2 of the smallest page its streams may use. */
    unsigned page_bits_min;
    /* All object types of this binary, once. */
    void (*register_types)(void);
} TargetDesc;

extern const TargetDesc target_desc;

#endif /* SYSTEM_CMDLINE_TARGET_H */
