/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Start of the probe guests: a stack, vectors that note the exception and
 * skip the instruction, a way to run code at EL0 and come back, secondary
 * CPUs, and the end by PSCI SYSTEM_OFF.
 */
    .section .text.start, "ax"
    .globl _start
_start:
    ldr     x1, =stack_top
    mov     sp, x1
    ldr     x1, =vectors
    msr     vbar_el1, x1
    isb
    bl      probe_main
    ldr     x0, =0x84000008         // PSCI SYSTEM_OFF
    hvc     #0
1:  wfi
    b       1b

    /* CPU_ON's entry: x0 is the number of the CPU. */
    .globl secondary_entry
secondary_entry:
    ldr     x1, =secondary_stacks
    add     x1, x1, x0, lsl #12
    add     x1, x1, #4096
    mov     sp, x1
    ldr     x1, =vectors
    msr     vbar_el1, x1
    isb
    bl      secondary_main
1:  wfi
    b       1b

    .balign 2048
vectors:
    .rept   16
    b       handler
    .balign 128
    .endr

handler:
    stp     x1, x2, [sp, #-16]!
    mrs     x1, esr_el1
    lsr     x2, x1, #26
    cmp     x2, #0x15               // SVC: the way back from EL0
    b.eq    1f
    ldr     x2, =last_esr
    str     x1, [x2]
    mrs     x1, elr_el1
    add     x1, x1, #4
    msr     elr_el1, x1
    ldp     x1, x2, [sp], #16
    eret
1:  mov     x1, #0x3c5              // EL1h, all masked
    msr     spsr_el1, x1
    msr     elr_el1, x19
    ldp     x1, x2, [sp], #16
    eret

    /* uint64_t run_at_el1(uint64_t x0, void *code) */
    .globl run_at_el1
run_at_el1:
    stp     x29, x30, [sp, #-16]!
    blr     x1
    ldp     x29, x30, [sp], #16
    ret

    /* uint64_t run_at_el0(uint64_t x0, void *code) */
    .globl run_at_el0
run_at_el0:
    stp     x29, x30, [sp, #-16]!
    stp     x19, x20, [sp, #-16]!
    mov     x2, #0x3c0              // EL0t, all masked
    msr     spsr_el1, x2
    ldr     x2, =1f
    msr     elr_el1, x2
    adr     x19, 2f
    eret
1:  blr     x1
    svc     #0
2:  ldp     x19, x20, [sp], #16
    ldp     x29, x30, [sp], #16
    ret

    .weak secondary_main
secondary_main:
    ret

    .bss
    .balign 16
    .space  65536
stack_top:
    .balign 4096
secondary_stacks:
    .space  4096 * 8
    .globl last_esr
    .balign 8
last_esr:
    .space  8
