/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A PC under a guest program: 16550 at 0x3f8 (data register only), the TSC,
 * further vCPUs by INIT and SIPI, the command line of the start info.
 *
 * arch_setup() and arch_trap() run at CPL 0, all else at CPL 3. There IN and
 * OUT are let through by the I/O bitmap of the TSS alone, since not every host
 * honours IOPL; the local APIC is mapped for everyone.
 */
#include "../guest.h"
#include "x86.h"

#define SERIAL 0x3f8

/* Intel SDM volume 3, 8.7: the 64-bit task state segment. */
struct tss {
    uint32_t reserved;
    uint32_t rsp0[2];
    uint32_t unused[22];
    uint16_t reserved2;
    uint16_t io_bitmap; /* offset from the start of the segment */
} __attribute__((packed));

_Static_assert(sizeof(struct tss) == 0x68, "as the processor has it");

struct idt_gate {
    uint16_t low, selector;
    uint8_t ist, type;
    uint16_t middle;
    uint32_t high, zero;
};

struct trap_frame {
    uint64_t r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax;
    uint64_t vector, error, rip, cs, rflags, rsp, ss;
};

const uint64_t ram_base;

/* In start.S. */
extern uint64_t boot_cmdline, gdt_tss[], page_dir_pointers[];
extern volatile uint64_t starting_cpu;
extern char trampoline[], trampoline_end[], trap_stubs[], spurious_stub[];
extern char kernel_stacks[], cpu_stop_here[];

uint64_t arch_setup(uint64_t cpu);
void arch_trap(const struct trap_frame *f);
void arch_user_main(uint64_t cpu);

/* The segments of all vCPUs share one bitmap, which follows the last one. */
static struct {
    struct tss tss[MAX_CPUS];
    uint8_t bitmap[0x2000];
    uint8_t end;
} __attribute__((packed, aligned(64))) io;
static struct idt_gate idt[256] __attribute__((aligned(64)));
static struct kvm_clock clocks[MAX_CPUS] __attribute__((aligned(4096)));
static volatile uint8_t alive[MAX_CPUS];
static char cmdline[1024];
static uint64_t tsc_hz;

__attribute__((weak)) const int arch_wants_irqs;

__attribute__((weak)) void arch_interrupt(unsigned vector)
{
    (void)vector;
}

/* ---------------------------------------------------------- at CPL 0 */

static void cpuid(uint32_t leaf, uint32_t *r)
{
    __asm__ volatile("cpuid"
                     : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3])
                     : "a"(leaf), "c"(0));
}

static void wrmsr(uint32_t msr, uint64_t v)
{
    __asm__ volatile("wrmsr" ::"c"(msr), "a"((uint32_t)v),
                     "d"((uint32_t)(v >> 32)));
}

static void set_gate(unsigned vector, const char *stub)
{
    uint64_t addr = (uint64_t)stub;

    idt[vector] = (struct idt_gate){
        .low = (uint16_t)addr,
        .selector = SEL_CODE64,
        .type = 0x8e, /* interrupt gate, present, DPL 0 */
        .middle = (uint16_t)(addr >> 16),
        .high = (uint32_t)(addr >> 32),
    };
}

static void load_tables(uint64_t cpu)
{
    struct tss *tss = &io.tss[cpu];
    uint64_t base = (uint64_t)tss, end = (uint64_t)&io.end;
    uint64_t stack = (uint64_t)kernel_stacks + (cpu + 1) * KERNEL_STACK;
    struct {
        uint16_t limit;
        uint64_t base;
    } __attribute__((packed)) pointer = { sizeof(idt) - 1, (uint64_t)idt };

    tss->rsp0[0] = (uint32_t)stack;
    tss->rsp0[1] = (uint32_t)(stack >> 32);
    tss->io_bitmap = (uint16_t)((uint64_t)io.bitmap - base);
    io.end = 0xff;
    gdt_tss[2 * cpu] = ((end - base) & 0xffff) | (base & 0xffffff) << 16 |
                       0x89ull << 40 | ((base >> 24) & 0xff) << 56;
    gdt_tss[2 * cpu + 1] = base >> 32;
    __asm__ volatile("lidt %0" ::"m"(pointer));
    __asm__ volatile("ltr %w0" ::"r"(SEL_TSS + 16 * (unsigned)cpu));
}

/* Whether KVM's clock of @cpu is there; then it is on. */
static int kvm_clock_on(uint64_t cpu)
{
    uint32_t r[4];

    cpuid(1, r);
    if (!(r[2] & 1u << 31)) { /* no hypervisor's leaves */
        return 0;
    }
    cpuid(0x40000000, r);
    if (r[1] != 0x4b4d564b || r[2] != 0x564b4d56 || r[3] != 0x4d) {
        return 0; /* "KVMKVMKVM" */
    }
    cpuid(0x40000001, r);
    if (!(r[0] & 1u << 3)) {
        return 0;
    }
    wrmsr(0x4b564d01, (uint64_t)&clocks[cpu] | 1);
    return 1;
}

/* The PIT's second counter, let run for 1/100 s. */
static uint64_t hz_by_pit(void)
{
    const unsigned count = 1193182 / 100;
    uint64_t begin;

    outb(0x61, (inb(0x61) & ~2u) | 1u);
    outb(0x43, 0xb0);
    outb(0x42, count & 0xff);
    outb(0x42, count >> 8);
    begin = rdtsc();
    while (!(inb(0x61) & 0x20)) {
    }
    return (rdtsc() - begin) * 100;
}

static uint64_t find_tsc_hz(void)
{
    volatile struct kvm_clock *c = &clocks[0];
    uint64_t hz = param_u64(cmdline, "tsc", 0) * 1000;

    if (hz) {
        return hz;
    }
    if (!c->mul) {
        return hz_by_pit();
    }
    hz = (1000000000ull << 32) / c->mul;
    return c->shift >= 0 ? hz >> c->shift : hz << -c->shift;
}

/* Above 4 GiB the tables are made when asked for: map=GiB, up to MAP_MAX. */
#define MAP_MAX 32
static uint64_t high_dirs[MAP_MAX - 4][512] __attribute__((aligned(4096)));

static void map_high(void)
{
    uint64_t gib = param_u64(cmdline, "map", 4);

    for (uint64_t i = 4; i < gib && i < MAP_MAX; i++) {
        for (uint64_t k = 0; k < 512; k++) {
            high_dirs[i - 4][k] = (i << 30 | k << 21) + 0xe7;
        }
        page_dir_pointers[i] = (uint64_t)high_dirs[i - 4] + 0x27;
    }
}

static void copy_cmdline(void)
{
    const char *from = (const char *)boot_cmdline;

    for (unsigned i = 0; from && from[i] && i < sizeof(cmdline) - 1; i++) {
        cmdline[i] = from[i];
    }
}

static void setup_first(void)
{
    /* No interrupt of the two PICs until somebody asks for it. */
    outb(0x21, 0xff);
    outb(0xa1, 0xff);
    for (unsigned i = 0; i < NR_VECTORS; i++) {
        set_gate(i, trap_stubs + 16 * i);
    }
    set_gate(VECTOR_SPURIOUS, spurious_stub);
    copy_cmdline();
    map_high();
}

uint64_t arch_setup(uint64_t cpu)
{
    int has_clock;

    if (cpu == 0) {
        setup_first();
    }
    load_tables(cpu);
    has_clock = cpu == 0 || arch_wants_irqs ? kvm_clock_on(cpu) : 0;
    if (cpu == 0) {
        tsc_hz = find_tsc_hz();
    }
    if (has_clock && !arch_wants_irqs) {
        wrmsr(0x4b564d01, 0);
    }
    alive[cpu] = 1;
    return arch_wants_irqs ? 0x202 : 0x2;
}

static void put_hex(uint64_t v)
{
    for (int shift = 60; shift >= 0; shift -= 4) {
        console_putc("0123456789abcdef"[(v >> shift) & 15]);
    }
}

static void halt(void)
{
    for (;;) {
        __asm__ volatile("cli\n\thlt");
    }
}

void arch_trap(const struct trap_frame *f)
{
    uint64_t cr2;

    if (f->vector >= VECTOR_PIC) {
        arch_interrupt((unsigned)f->vector);
        return;
    }
    if (f->vector == 13 && f->rip == (uint64_t)cpu_stop_here) {
        halt();
    }
    __asm__ volatile("movq %%cr2, %0" : "=r"(cr2));
    console_puts("\nexception ");
    console_put_u64(f->vector);
    console_puts(", error ");
    put_hex(f->error);
    console_puts(", at ");
    put_hex(f->rip);
    console_puts(", cr2 ");
    put_hex(cr2);
    console_putc('\n');
    halt();
}

/* ---------------------------------------------------------- at CPL 3 */

void console_putc(char c)
{
    outb(SERIAL, (uint8_t)c);
}

uint64_t clock_ticks(void)
{
    return rdtsc();
}

uint64_t clock_hz(void)
{
    return tsc_hz;
}

void cpu_relax(void)
{
    __asm__ volatile("pause" ::: "memory");
}

const volatile struct kvm_clock *arch_kvm_clock(uint64_t cpu)
{
    return &clocks[cpu];
}

static void wait_ms(uint64_t ms)
{
    uint64_t end = rdtsc() + tsc_hz / 1000 * ms;

    while ((int64_t)(rdtsc() - end) < 0) {
        cpu_relax();
    }
}

int cpu_start(uint64_t cpu)
{
    if (cpu >= MAX_CPUS) {
        return -1;
    }
    for (long i = 0; i < trampoline_end - trampoline; i++) {
        ((volatile char *)TRAMPOLINE)[i] = trampoline[i];
    }
    starting_cpu = cpu;
    *lapic(LAPIC_SVR) = 0x100 | VECTOR_SPURIOUS;
    *lapic(LAPIC_ICR_HIGH) = (uint32_t)cpu << 24;
    *lapic(LAPIC_ICR_LOW) = 0x4500; /* INIT */
    wait_ms(10);
    *lapic(LAPIC_ICR_HIGH) = (uint32_t)cpu << 24;
    *lapic(LAPIC_ICR_LOW) = 0x4600 | TRAMPOLINE >> 12; /* SIPI */
    for (unsigned ms = 0; ms < 2000 && !alive[cpu]; ms++) {
        wait_ms(1);
    }
    return alive[cpu] ? 0 : -1;
}

void arch_user_main(uint64_t cpu)
{
    if (cpu) {
        guest_main_secondary(cpu);
    } else {
        guest_main(cmdline);
    }
    cpu_stop();
}
