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
    /*
     * Optional: -cpu @text as the model (the caller frees it) and properties,
     * where this is not MODEL,prop=value...
     */
    json_object *(*parse_cpu)(const char *text, char **model, Error **errp);
    /* Optional: what -cpu help says after the models. */
    void (*print_cpu_options)(void);
    /* Optional: what -rtc says; either may be NULL. */
    bool (*configure_rtc)(const char *base, const char *clock, Error **errp);
    /* All object types of this binary, once. */
    void (*register_types)(void);
} TargetDesc;

extern const TargetDesc target_desc;

#endif /* SYSTEM_CMDLINE_TARGET_H */
