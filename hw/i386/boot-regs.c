/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first vCPU's registers where the board boots: see boot.h. */
#include "qemu/osdep.h"

#include "boot-internal.h"

#define FLAT_LIMIT 0xffffffffu
#define DATA_FLAGS                                                         \
    (DESC_P_MASK | DESC_S_MASK | DESC_W_MASK | DESC_A_MASK | DESC_B_MASK | \
     DESC_G_MASK)
#define CODE_FLAGS                                                          \
    (DESC_P_MASK | DESC_S_MASK | DESC_CS_MASK | DESC_R_MASK | DESC_A_MASK | \
     DESC_G_MASK)
#define TSS_BUSY_FLAGS (DESC_P_MASK | 11u << DESC_TYPE_SHIFT)
#define TSS_LIMIT      0x67
#define TSS_OFFSET     0x100 /* in the GDT's page */
#define FIRST_DISK     0x80

/* Real mode at @seg:@ip, as after a reset otherwise. */
static void enter_real_mode(CPUX86State *env, uint16_t seg, uint32_t ip)
{
    env->segs[R_CS].selector = seg;
    env->segs[R_CS].base = (uint64_t)seg << 4;
    env->eip = ip;
    env->cr[0] &= ~(uint64_t)(CR0_CD_MASK | CR0_NW_MASK); /* caches on */
}

/* Flat segments out of the board's GDT, protected mode without paging. */
static void enter_flat(CPUX86State *env, hwaddr entry, unsigned cs,
                       uint32_t cs_flag)
{
    cpu_x86_load_seg_cache(env, R_CS, cs, 0, FLAT_LIMIT, CODE_FLAGS | cs_flag);
    for (int i = 0; i < CPU_NB_SEGS; i++) {
        if (i != R_CS) {
            cpu_x86_load_seg_cache(env, i, X86_BOOT_DATA, 0, FLAT_LIMIT,
                                   DATA_FLAGS);
        }
    }
    env->tr = (SegmentCache){ X86_BOOT_TSS, X86_BOOT_GDT + TSS_OFFSET,
                              TSS_LIMIT, TSS_BUSY_FLAGS };
    env->gdt.base = X86_BOOT_GDT;
    env->gdt.limit = X86_BOOT_GDT_SIZE - 1;
    env->idt.limit = 0;
    env->cr[0] = CR0_ET_MASK | CR0_PE_MASK;
    env->eip = entry;
}

static void enter_long_mode(CPUX86State *env, hwaddr entry)
{
    enter_flat(env, entry, X86_BOOT_CODE64, DESC_L_MASK);
    env->cr[0] |= CR0_PG_MASK | CR0_NE_MASK | CR0_WP_MASK | CR0_MP_MASK;
    env->cr[3] = X86_BOOT_PML4;
    env->cr[4] = CR4_PAE_MASK;
    env->efer = MSR_EFER_LME | MSR_EFER_LMA;
}

void x86_boot_set_registers(const X86BootInfo *info, X86CPU *cpu)
{
    CPUX86State *env = &cpu->env;

    if (info->waking_vector) {
        enter_real_mode(env, info->waking_vector >> 4,
                        info->waking_vector & 15);
        return;
    }
    switch (info->kind) {
    case X86_BOOT_FIRMWARE:
        break; /* at its reset vector */
    case X86_BOOT_NOTHING:
        env->mp_state = X86_MP_HALTED;
        CPU(cpu)->halted = 1;
        break;
    case X86_BOOT_DISK:
        enter_real_mode(env, 0, X86_BOOT_SECTOR);
        env->regs[R_EDX] = FIRST_DISK;
        env->regs[R_ESP] = X86_BOOT_SECTOR;
        break;
    case X86_BOOT_PVH:
        enter_flat(env, info->entry, X86_BOOT_CODE32, DESC_B_MASK);
        env->regs[R_EBX] = X86_BOOT_INFO;
        break;
    case X86_BOOT_ELF64:
        enter_long_mode(env, info->entry);
        env->regs[R_EDI] = info->kernel_cmdline[0] ? X86_BOOT_CMDLINE : 0;
        env->regs[R_ESP] = X86_BOOT_INFO; /* a little stack below */
        break;
    case X86_BOOT_LINUX:
        enter_long_mode(env, info->entry);
        env->regs[R_ESI] = X86_BOOT_INFO;
        break;
    }
}
