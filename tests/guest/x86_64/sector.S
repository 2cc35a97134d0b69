/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Page counter as a boot sector: what page-counter.c does, in 512 bytes.
 *
 * The firmware loads it at 0x7c00 and enters it in real mode; it opens A20 by
 * port 0x92 and goes on in 32-bit protected mode, flat, without paging.
 * Serial port 0x3f8 without any set-up: 'A' at the start, then 'B' after
 * every `passes` rounds.
 *
 * Its parameters stand in the sector at PARAMETERS, for who makes a disk of
 * it to change (see counter-sector.h). With `suspend` set it counts one round
 * and falls asleep (S3), and counts on when it is booted again; a word below
 * the range tells the two apart.
 */
#include "counter-sector.h"

#ifndef SUSPEND
#define SUSPEND 0
#endif

#define CODE32 0x08
#define DATA32 0x10
#define SERIAL 0x3f8

    .section .text, "ax"
    .code16
    .globl _start
_start:
    cli
    cld
    xorw    %ax, %ax
    movw    %ax, %ds
    inb     $0x92, %al
    orb     $0x02, %al
    andb    $0xfe, %al              /* bit 0 would be a reset */
    outb    %al, $0x92
    lgdtl   gdt_pointer
    movl    %cr0, %eax
    orb     $1, %al
    movl    %eax, %cr0
    ljmpl   $CODE32, $protected

    .code32
protected:
    movl    $DATA32, %eax
    movl    %eax, %ds
    movl    %eax, %es
    movl    %eax, %ss
    movl    first, %esi             /* ESI...EDI: the range */
    movl    %esi, %edi
    addl    length, %edi
    movl    %esi, %ebp
    subl    $4096, %ebp             /* EBP: the word that tells */
    cmpl    $SECTOR_ASLEEP, (%ebp)
    je      count                   /* woken: the pages go on as they are */

    movl    %esi, %eax
1:  movb    $0, (%eax)
    addl    $4096, %eax
    cmpl    %edi, %eax
    jb      1b

count:
    movl    $SERIAL, %edx
    movb    $'A', %al
    outb    %al, %dx
    testl   $1, suspend
    jz      rounds
    cmpl    $SECTOR_ASLEEP, (%ebp)
    movl    $0, (%ebp)
    je      rounds
    call    one_round
    movl    $SECTOR_ASLEEP, (%ebp)
    movb    $0xf1, %al
    outb    %al, $0xb2
    movw    $0x604, %dx             /* PM1a control: SLP_EN, S3 */
    movw    $0x2401, %ax
    outw    %ax, %dx
2:  hlt
    jmp     2b

rounds:
    movl    passes, %ecx
3:  call    one_round
    decl    %ecx
    jnz     3b
    movl    $SERIAL, %edx
    movb    $'B', %al
    outb    %al, %dx
    jmp     rounds

one_round:
    movl    %esi, %eax
4:  incb    (%eax)
    addl    $4096, %eax
    cmpl    %edi, %eax
    jb      4b
    ret

    .balign 8
gdt:
    .quad   0
    .quad   0x00cf9b000000ffff      /* code, 4 GiB */
    .quad   0x00cf93000000ffff      /* data, 4 GiB */
gdt_pointer:
    .word   gdt_pointer - gdt - 1
    .long   gdt

    .org    SECTOR_PARAMETERS
    .ascii  SECTOR_MAGIC
first:
    .long   16 << 20
length:
    .long   100 << 20
passes:
    .long   2
suspend:
    .long   SUSPEND
    .org    510
    .byte   0x55, 0xaa
