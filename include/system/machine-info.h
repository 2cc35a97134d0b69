/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machine info: the few facts about the machine that rooms below hw/ need.
 *
 * Filled by system/main.c once the command line is parsed and the machine is
 * made; constant from then on.
 *
 * Used by: migration/, monitors. Uses: nothing.
 */
#ifndef SYSTEM_MACHINE_INFO_H
#define SYSTEM_MACHINE_INFO_H

typedef struct SystemMachineInfo {
    const char *name;        /* canonical, as in the stream: "virt-11.1" */
    const char *target_name; /* "aarch64", "x86_64" */
    /*
     * log2 of the page size in the stream, and the smallest the target
     * knows: only a larger one is announced there.
     */
    unsigned target_page_bits;
    unsigned target_page_bits_min;
    const char *vm_name; /* -name; NULL: none */
    uint8_t uuid[16];    /* -uuid; zero if not set */
    bool uuid_set;
    bool suppress_vmdesc; /* -M suppress-vmdesc=on */
    bool only_migratable; /* -only-migratable */
    bool incoming;        /* started with -incoming */
    uint64_t ram_size_bytes;
} SystemMachineInfo;

const SystemMachineInfo *machine_info(void);
/* For system/main.c and tests. */
SystemMachineInfo *machine_info_for_update(void);

#endif /* SYSTEM_MACHINE_INFO_H */
