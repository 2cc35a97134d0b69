/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Remap: memory whose mapping changes all the time, by the guest's own doing.
 *
 * The host bridge of a PC shows RAM between 0xc0000 and 0x100000 as RAM, as
 * read-only memory, or not at all, in segments of 16 KiB (PAM registers; here
 * those of q35: Intel 3 Series datasheet, 5.1.20). vCPU 0 takes one segment
 * after another through all of it: writes its pages, tries to write them while
 * they are read-only and while they are hidden, and looks whether they still
 * hold what it wrote. vCPU 1, if there is one, writes the segments before
 * those, whose mapping stays as it is.
 *
 * Command line: cpus=1|2 (1).
 */
#include "../guest.h"
#include "remap.h"
#include "x86.h"

#define PAM            0x90 /* in configuration space */
#define FIRST_FLIPPED  0xc8000u
#define SEGMENT        0x4000u
#define PAM_HIDDEN     0
#define PAM_READ_ONLY  1
#define PAM_READ_WRITE 3
#define GARBAGE        0xdeadbeefdeadbeefull

static volatile struct remap_page *const ctl =
    (volatile struct remap_page *)(uint64_t)REMAP_OFFSET;
static uint8_t pam[7];

static void outl(uint16_t port, uint32_t v)
{
    __asm__ volatile("outl %0, %1" ::"a"(v), "Nd"(port));
}

/* @segment: 0 is the one at 0xc0000. */
static void set_mode(unsigned segment, unsigned mode)
{
    unsigned byte = 1 + segment / 2, shift = segment % 2 * 4;

    pam[byte] = (uint8_t)((pam[byte] & ~(3u << shift)) | mode << shift);
    outl(0xcf8, 0x80000000u | ((PAM + byte) & 0xfc));
    outb((uint16_t)(0xcfc + ((PAM + byte) & 3)), pam[byte]);
    ctl->flips++;
}

static volatile uint64_t *page_at(uint64_t addr)
{
    return (volatile uint64_t *)addr;
}

static volatile uint64_t *count_of(uint64_t addr)
{
    return &ctl->count[(addr - REMAP_FIRST) / PAGE_SIZE];
}

static void write_page(unsigned cpu, uint64_t addr)
{
    uint64_t n = *count_of(addr) + 1;

    ctl->current[cpu] = addr;
    barrier();
    *page_at(addr) = n;
    barrier();
    *count_of(addr) = n;
    barrier();
    ctl->current[cpu] = 0;
}

static void check(uint64_t from)
{
    for (uint64_t a = from; a < from + SEGMENT; a += PAGE_SIZE) {
        if (*page_at(a) != *count_of(a)) {
            ctl->errors++;
        }
    }
}

static void write_garbage(uint64_t from)
{
    for (uint64_t a = from; a < from + SEGMENT; a += PAGE_SIZE) {
        *page_at(a) = GARBAGE;
        ctl->dropped++;
    }
}

static void one_segment(uint64_t from)
{
    unsigned segment = (unsigned)((from - REMAP_FIRST) / SEGMENT);

    for (uint64_t a = from; a < from + SEGMENT; a += PAGE_SIZE) {
        write_page(0, a);
    }
    set_mode(segment, PAM_READ_ONLY);
    check(from);
    write_garbage(from);
    check(from);
    set_mode(segment, PAM_HIDDEN);
    write_garbage(from);
    set_mode(segment, PAM_READ_WRITE);
    check(from);
}

void guest_main_secondary(uint64_t cpu)
{
    (void)cpu;
    for (;;) {
        for (uint64_t a = REMAP_FIRST; a < FIRST_FLIPPED; a += PAGE_SIZE) {
            write_page(1, a);
            ctl->neighbours++;
        }
    }
}

void guest_main(const char *cmdline)
{
    for (unsigned i = 0; i < PAGE_SIZE / 8; i++) {
        page_at(REMAP_OFFSET)[i] = 0;
    }
    for (unsigned segment = 0; segment < 8; segment++) {
        set_mode(segment, PAM_READ_WRITE);
    }
    for (uint64_t a = REMAP_FIRST; a < REMAP_END; a += PAGE_SIZE) {
        *page_at(a) = 0;
    }
    if (param_u64(cmdline, "cpus", 1) > 1 && cpu_start(1)) {
        console_puts("no vCPU 1\n");
    }
    console_putc('A');
    barrier();
    ctl->magic = REMAP_MAGIC;
    for (;;) {
        for (uint64_t a = FIRST_FLIPPED; a < REMAP_END; a += SEGMENT) {
            one_segment(a);
        }
        ctl->loops++;
    }
}
