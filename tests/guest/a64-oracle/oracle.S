/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest that executes test records and notes the results.
 *
 * Layout of memory (generate.py fills and reads it through a shared file):
 *   0x40200000  this program, vectors, page tables
 *   0x42000000  page of BRK #0; the code under test goes to +0x800
 *   0x43000f80  256 bytes of data, half of them in the next page
 *   0x44000000  number of records (8 bytes), of those left (8 bytes), then
 *               from +64 the records
 *
 * A record, all little-endian:
 *   0    4 x u32  instruction words
 *   16   u64      1: check alignment (SCTLR_EL1.A); 2: no translation (M)
 *   24   u64      SPSR: NZCV at 31:28
 *   32   u64      SP_EL0
 *   40   31 x u64 x0..x30
 *   288  32 x u64 data
 *   544  31 x u64 x0..x30 after
 *   792  u64      SP_EL0, SPSR, ELR, ESR, FAR after
 *   832  32 x u64 data after
 *   1088 (size)
 *
 * The code runs at EL1 on SP_EL0 until any exception. Translation is on with
 * one-to-one blocks of normal memory, so that misaligned accesses work.
 */
#define CODE     0x42000800
#define DATA     0x43000f80
#define RECORDS  0x44000000
#define OUT      544
#define SIZE     1088

        .text
        .global _start
_start:
        adr     x0, vectors
        msr     vbar_el1, x0
        ldr     x0, =0xff00             /* attribute 0 device, 1 normal */
        msr     mair_el1, x0
        ldr     x0, =0x280803519        /* T0SZ 25, 4 KiB, WB, inner, EPD1 */
        msr     tcr_el1, x0
        adrp    x0, table
        msr     ttbr0_el1, x0
        dsb     sy
        isb
        mrs     x0, sctlr_el1
        orr     x0, x0, #1              /* M */
        bic     x0, x0, #2              /* A */
        msr     sctlr_el1, x0
        isb
        ldr     x19, =RECORDS
        ldr     x20, [x19], #64
next:
        cbz     x20, done
        msr     tpidr_el1, x19
        ldr     x1, =RECORDS
        str     x20, [x1, #8]

        ldr     x1, =CODE
        ldp     x2, x3, [x19]
        stp     x2, x3, [x1]
        dc      cvau, x1
        dsb     ish
        ic      ivau, x1
        dsb     ish
        isb
        ldr     x1, =DATA
        add     x2, x19, #288
        mov     x3, #16
1:      ldp     x4, x5, [x2], #16
        stp     x4, x5, [x1], #16
        subs    x3, x3, #1
        b.ne    1b

        mrs     x0, sctlr_el1
        ldr     x1, [x19, #16]
        bfi     x0, x1, #1, #1          /* A */
        eor     x1, x1, #2
        lsr     x1, x1, #1
        bfi     x0, x1, #0, #1          /* M */
        msr     sctlr_el1, x0
        isb
        ldr     x0, [x19, #24]
        mov     x1, #0x3c4              /* EL1t, all masked */
        orr     x0, x0, x1
        msr     spsr_el1, x0
        ldr     x0, [x19, #32]
        msr     sp_el0, x0
        ldr     x0, =CODE
        msr     elr_el1, x0
        msr     far_el1, xzr
        add     sp, x19, #OUT
        add     x30, x19, #40
        ldp     x0, x1, [x30, #0]
        ldp     x2, x3, [x30, #16]
        ldp     x4, x5, [x30, #32]
        ldp     x6, x7, [x30, #48]
        ldp     x8, x9, [x30, #64]
        ldp     x10, x11, [x30, #80]
        ldp     x12, x13, [x30, #96]
        ldp     x14, x15, [x30, #112]
        ldp     x16, x17, [x30, #128]
        ldp     x18, x19, [x30, #144]
        ldp     x20, x21, [x30, #160]
        ldp     x22, x23, [x30, #176]
        ldp     x24, x25, [x30, #192]
        ldp     x26, x27, [x30, #208]
        ldp     x28, x29, [x30, #224]
        ldr     x30, [x30, #240]
        eret

stopped:
        stp     x0, x1, [sp, #0]
        stp     x2, x3, [sp, #16]
        stp     x4, x5, [sp, #32]
        stp     x6, x7, [sp, #48]
        stp     x8, x9, [sp, #64]
        stp     x10, x11, [sp, #80]
        stp     x12, x13, [sp, #96]
        stp     x14, x15, [sp, #112]
        stp     x16, x17, [sp, #128]
        stp     x18, x19, [sp, #144]
        stp     x20, x21, [sp, #160]
        stp     x22, x23, [sp, #176]
        stp     x24, x25, [sp, #192]
        stp     x26, x27, [sp, #208]
        stp     x28, x29, [sp, #224]
        str     x30, [sp, #240]
        mrs     x0, sp_el0
        mrs     x1, spsr_el1
        mrs     x2, elr_el1
        mrs     x3, esr_el1
        mrs     x4, far_el1
        str     x0, [sp, #248]
        stp     x1, x2, [sp, #256]
        stp     x3, x4, [sp, #272]
        mrs     x19, tpidr_el1
        ldr     x1, =RECORDS
        ldr     x20, [x1, #8]
        ldr     x1, =DATA
        add     x2, x19, #832
        mov     x3, #16
1:      ldp     x4, x5, [x1], #16
        stp     x4, x5, [x2], #16
        subs    x3, x3, #1
        b.ne    1b
        add     x19, x19, #SIZE
        sub     x20, x20, #1
        b       next

done:
        ldr     x0, =0x84000008         /* PSCI SYSTEM_OFF */
        hvc     #0
        b       .

        .balign 2048
vectors:
        b       stopped                 /* current EL, SP_EL0, synchronous */
        .balign 128
        b       .
        .balign 2048

        .balign 4096
table:
        .quad   0x0000000000000401      /* device */
        .quad   table2 + 3
        .balign 4096
table2: /* normal, inner shareable; the data is EL0's too (LDTR, STTR) */
        .set    block, 0
        .rept   512
        .if     block == 24
        .quad   0x0000000040000745 + (block << 21)
        .else
        .quad   0x0000000040000705 + (block << 21)
        .endif
        .set    block, block + 1
        .endr
