/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machines: the base type of every board.
 *
 * A machine type is a QOM class "NAME-machine" below TYPE_MACHINE whose
 * class_init fills the MachineClass fields. Start-up makes the object, sets
 * what -M/-smp/-m/-kernel… say as properties, chooses the accelerator, and
 * calls machine_run_board_init(), which provides RAM and calls the class's
 * init. Properties of a board of its own (gic-version) are declared in its
 * TypeInfo like any object's.
 *
 * Threads: main thread, at start-up; constant afterwards.
 *
 * Used by: hw/ boards, system/main.c, system/cmdline/. Uses: qom, memory.
 */
#ifndef HW_BOARDS_H
#define HW_BOARDS_H

#include "qapi/qapi-types-machine.h"
#include "qom/object.h"

#define TYPE_MACHINE               "machine"
#define TYPE_MACHINE_SUFFIX        "-" TYPE_MACHINE
#define MACHINE_TYPE_NAME(machine) machine TYPE_MACHINE_SUFFIX

typedef struct CpuTopology {
    unsigned cpus; /* present at start */
    unsigned sockets, dies, clusters, cores, threads;
    unsigned max_cpus; /* product of the above */
} CpuTopology;

struct MachineClass {
    ObjectClass parent_class;

    /* ---- set by class_init, constant afterwards ---- */
    const char *name;  /* canonical: "virt-11.1"; default: type less suffix */
    const char *alias; /* "virt"; NULL: none */
    const char *desc;
    /* Build the board; RAM is ms->ram, CPUs ms->smp. Required. */
    bool (*init)(MachineState *ms, Error **errp);
    /*
     * Type of the vCPUs for -cpu @model; NULL: this machine takes no such
     * model. Optional: by default the CPUClass whose model it is, if it is
     * among cpu_models.
     */
    const char *(*cpu_type_from_model)(const char *model);
    const char *default_cpu_type; /* NULL: no vCPU unless -cpu is given */
    /* Models it takes; NULL-terminated; NULL: all of the binary. */
    const char *const *cpu_models;
    unsigned min_cpus, max_cpus, default_cpus; /* 0: taken as 1 */
    /* Which levels -smp may use; cores and threads always may. */
    bool smp_clusters, smp_dies;
    uint64_t default_ram_size_bytes; /* 0: no RAM unless -m is given */
    const char *default_ram_id;      /* block name of -m; NULL: takes no RAM */
    uint64_t max_ram_size_bytes;     /* 0: no limit of its own */
    unsigned minimum_page_bits;      /* target pages; 0: the target's least */
    bool is_default;
    bool no_serial; /* -nodefaults or not, it has no port to give */
    bool has_ide;   /* -drive may name an image for it */
    /* Optional: after the user's devices were made. */
    bool (*devices_done)(MachineState *ms, Error **errp);
    /*
     * Called for `dumpdtb` and the loader: the device tree, NULL if none;
     * owned by the machine.
     */
    const void *(*get_fdt)(MachineState *ms, size_t *size_bytes);
};

struct MachineState {
    Object parent_obj;

    /* ---- properties; constant after start-up ---- */
    char *kernel_filename;
    char *initrd_filename;
    char *kernel_cmdline; /* never NULL once the board is initialised */
    char *dtb;
    char *dumpdtb;
    char *memory_backend_id; /* memory-backend=ID; NULL: none */
    bool aux_ram_share;
    bool suppress_vmdesc;
    bool dump_guest_core; /* default off */
    bool mem_merge;       /* default on */
    bool graphics;        /* off: -nographic */
    uint64_t ram_size_bytes;
    bool ram_size_given; /* by -m; else the class's default */
    CpuTopology smp;
    const char *cpu_type;   /* type of all vCPUs; NULL: none asked for */
    json_object *cpu_props; /* -cpu MODEL,prop=val…; may be NULL */

    /* ---- made by machine_run_board_init() ---- */
    MemoryRegion *ram; /* main RAM, not yet mapped anywhere; NULL: none */
    bool init_done;
};

OBJECT_DECLARE_TYPE(MachineState, MachineClass, MACHINE)

/* The machine of this process; NULL before there is one. */
MachineState *current_machine(void);
void current_machine_set(MachineState *ms);

/* By canonical name or alias. NULL: this binary has none such. */
MachineClass *machine_find_class(const char *name);
/* The one used without -M; NULL: one must be given. */
MachineClass *machine_find_default_class(void);
/* All usable classes, sorted by name; g_slist_free() it. */
GSList *machine_get_classes(void);
/* True for `-M virt` and `-M virt-11.1` alike. */
bool machine_class_is(const MachineClass *mc, const char *name);

/**
 * machine_parse_smp: settle @ms->smp from what was asked for
 *
 * Members not given are derived, cores before sockets. Fails with the numbers
 * in words if they contradict each other or the machine.
 */
bool machine_parse_smp(MachineState *ms, const SMPConfiguration *config,
                       Error **errp);

/* Type of -cpu @model; NULL: not with this machine. */
const char *machine_cpu_type_from_model(const MachineClass *mc,
                                        const char *model);
/* One vCPU of ms->cpu_type with ms->cpu_props, not yet realized. */
CPUState *machine_create_cpu(MachineState *ms, Error **errp);

/**
 * machine_run_board_init: provide main RAM and build the board
 *
 * All options are parsed and all objects of -object exist. RAM is the
 * memory backend's, or a fresh anonymous block named default_ram_id.
 */
bool machine_run_board_init(MachineState *ms, Error **errp);

/* Write the machine's device tree to a file. An error if it has none. */
bool machine_dump_dtb(MachineState *ms, const char *filename, Error **errp);

/* The serial back ends in command line order; NULL: none for @index. */
Chardev *serial_hd(unsigned index);
void serial_hd_set(unsigned index, Chardev *chr);
#define MAX_SERIAL_HDS 4

void machine_register_types(void);      /* TYPE_MACHINE */
void null_machine_register_types(void); /* none */

#endif /* HW_BOARDS_H */
