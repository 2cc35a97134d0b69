/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entry of a raw blob on the virt machine: EL1, MMU off, x0 = device tree.
 * Loaded at RAM + 0x80000. Stacks of 16 KiB, one for each vCPU. Enables
 * nothing: with the MMU off, memory is as the machine has it.
 */
    .section .text.start, "ax"
    .global _start
_start:
    adrp    x1, stacks
    add     x1, x1, :lo12:stacks
    add     sp, x1, #0x4000
    mov     x19, x0
    adrp    x1, bss_start
    add     x1, x1, :lo12:bss_start
    adrp    x2, bss_end
    add     x2, x2, :lo12:bss_end
1:  cmp     x1, x2
    b.hs    2f
    str     xzr, [x1], #8
    b       1b
2:  mov     x0, x19
    bl      arch_main
3:  wfi
    b       3b

/* x0: the context id given to PSCI CPU_ON, the vCPU's number. */
    .global secondary_start
secondary_start:
    adrp    x1, stacks
    add     x1, x1, :lo12:stacks
    add     x2, x0, #1
    add     x1, x1, x2, lsl #14
    mov     sp, x1
    bl      guest_main_secondary
4:  wfi
    b       4b

    .section .bss.stacks, "aw", @nobits
    .balign 16
stacks:
    .space  8 * 0x4000
