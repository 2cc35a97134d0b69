/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries of an ELF64 guest, its way to 64-bit code at CPL 3, its traps.
 *
 *   pvh_start   32-bit protected, EBX = hvm_start_info (the PVH note says so)
 *   _start      64-bit at CPL 0 with identity paging, RDI = command line or 0
 *   trampoline  real mode, a further vCPU after SIPI
 *
 * All of them meet in long_mode: EBP = the vCPU's number, on its own stack,
 * with the tables from here. C code at CPL 0 (arch_setup) does the rest, then
 * everything runs at CPL 3: some hosts interpret what is not. Nothing here
 * uses SSE or newer instructions, which such a host may not know at CPL 0.
 */
#include "x86.h"

    .section .note.Xen, "a", @note
    .long   4, 4, 18                /* XEN_ELFNOTE_PHYS32_ENTRY */
    .asciz  "Xen"
    .long   pvh_start

    .text
    .code32
    .globl pvh_start
pvh_start:
    cld
    cli
    movl    24(%ebx), %eax          /* cmdline_paddr; below 4 GiB */
    movl    %eax, boot_cmdline
    xorl    %ebp, %ebp
enter_long:                         /* EBP: the vCPU's number */
    lgdtl   gdt_pointer
    movl    $SEL_DATA, %eax
    movl    %eax, %ds
    movl    %eax, %es
    movl    %eax, %ss
    movl    %eax, %fs
    movl    %eax, %gs
    movl    %cr4, %eax
    orl     $0x620, %eax            /* PAE, OSFXSR, OSXMMEXCPT */
    movl    %eax, %cr4
    movl    $pml4, %eax
    movl    %eax, %cr3
    movl    $0xc0000080, %ecx       /* EFER.LME */
    rdmsr
    orl     $0x100, %eax
    wrmsr
    movl    %cr0, %eax
    andl    $0x9ffffff3, %eax       /* caches on, no x87 emulation */
    orl     $0x80010023, %eax       /* PG, WP, NE, MP, PE */
    movl    %eax, %cr0
    ljmpl   $SEL_CODE64, $long_mode

    .code64
    .globl _start
_start:
    cld
    cli
    movq    %rdi, boot_cmdline(%rip)
    xorl    %ebp, %ebp
    movl    $pml4, %eax
    movq    %rax, %cr3
    lgdt    gdt_pointer(%rip)
    movl    $SEL_DATA, %eax
    movl    %eax, %ds
    movl    %eax, %es
    movl    %eax, %ss
    movq    %cr4, %rax
    orl     $0x600, %eax
    movq    %rax, %cr4
    movl    $kernel_stacks + KERNEL_STACK, %esp
    pushq   $SEL_CODE64
    pushq   $long_mode
    lretq

long_mode:
    movl    %ebp, %ebp
    leal    1(%rbp), %ecx
    imull   $KERNEL_STACK, %ecx, %eax
    leaq    kernel_stacks(%rax), %rsp
    movl    %ebp, %edi
    call    arch_setup              /* CPL 0; RAX: RFLAGS to run with */
    leal    1(%rbp), %ecx
    imull   $USER_STACK, %ecx, %ecx
    addq    $user_stacks, %rcx
    pushq   $SEL_UDATA
    pushq   %rcx
    pushq   %rax
    pushq   $SEL_UCODE
    pushq   $user_mode
    movl    $SEL_UDATA, %eax
    movl    %eax, %ds
    movl    %eax, %es
    movl    %ebp, %edi
    iretq
user_mode:
    call    arch_user_main
    ud2

/* Copied to TRAMPOLINE; what it needs is addressed from there. */
    .code16
    .globl trampoline, trampoline_end
trampoline:
    cli
    cld
    xorw    %ax, %ax
    movw    %ax, %ds
    lgdtl   TRAMPOLINE + (trampoline_gdt - trampoline)
    movl    %cr0, %eax
    orb     $1, %al
    movl    %eax, %cr0
    ljmpl   $SEL_CODE32, $secondary32
    .balign 4
trampoline_gdt:
    .word   gdt_end - gdt - 1
    .long   gdt
trampoline_end:
    .code32
secondary32:
    movl    $SEL_DATA, %eax
    movl    %eax, %ds
    movl    starting_cpu, %ebp
    jmp     enter_long

/* ------------------------------------------------------------- traps */
    .code64
/* Stubs of 16 bytes each; those whose exception has no error code push one. */
    .balign 16
    .globl trap_stubs
trap_stubs:
    .set    vector, 0
    .rept   NR_VECTORS
    .balign 16
    .if !((vector == 8) || (vector >= 10 && vector <= 14) || (vector == 17))
    pushq   $0
    .endif
    pushq   $vector
    jmp     trap
    .set    vector, vector + 1
    .endr

    .balign 16
    .globl spurious_stub
spurious_stub:
    iretq

trap:
    pushq   %rax
    pushq   %rcx
    pushq   %rdx
    pushq   %rsi
    pushq   %rdi
    pushq   %r8
    pushq   %r9
    pushq   %r10
    pushq   %r11
    movq    %rsp, %rdi
    cld
    call    arch_trap
    popq    %r11
    popq    %r10
    popq    %r9
    popq    %r8
    popq    %rdi
    popq    %rsi
    popq    %rdx
    popq    %rcx
    popq    %rax
    addq    $16, %rsp
    iretq

/* At CPL 3 this is #GP, which arch_trap knows by its address. */
    .globl cpu_stop, cpu_stop_here
cpu_stop:
cpu_stop_here:
    hlt
    jmp     cpu_stop

/* ------------------------------------------------------------ tables */
    .data
    .balign 8
    .globl boot_cmdline, starting_cpu
boot_cmdline:
    .quad   0
starting_cpu:
    .quad   0

    .balign 16
    .globl gdt_tss
gdt:
    .quad   0
    .quad   0x00cf9b000000ffff      /* 08 code, 32-bit, CPL 0 */
    .quad   0x00cf93000000ffff      /* 10 data */
    .quad   0x00af9b000000ffff      /* 18 code, 64-bit, CPL 0 */
    .quad   0x00cff3000000ffff      /* 20 data, CPL 3 */
    .quad   0x00affb000000ffff      /* 28 code, 64-bit, CPL 3 */
gdt_tss:                            /* 30... filled by arch_setup */
    .fill   2 * MAX_CPUS, 8, 0
gdt_end:
gdt_pointer:
    .word   gdt_end - gdt - 1
    .quad   gdt

/* The first 4 GiB as they are, in pages of 2 MiB, open to CPL 3; accessed and
 * dirty already, so that nothing needs to write here. */
    .balign 4096
    .globl pml4, page_dir_pointers
pml4:
    .quad   page_dir_pointers + 0x27
    .fill   511, 8, 0
page_dir_pointers:
    .set    i, 0
    .rept   4
    .quad   page_dirs + i * 0x1000 + 0x27
    .set    i, i + 1
    .endr
    .fill   508, 8, 0
page_dirs:
    .set    i, 0
    .rept   4 * 512
    .quad   i * 0x200000 + 0xe7
    .set    i, i + 1
    .endr

    .section .bss.stacks, "aw", @nobits
    .balign 16
    .globl kernel_stacks
kernel_stacks:
    .space  MAX_CPUS * KERNEL_STACK
user_stacks:
    .space  MAX_CPUS * USER_STACK

    .section .note.GNU-stack, "", @progbits
