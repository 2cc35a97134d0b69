/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clocks: looks at every clock there is, for ever, and counts interrupts.
 *
 * Command line, all optional:
 *   cpus=N (1)      vCPUs to use, 1...8
 *   tick=none|pit|ioapic|lapic|oneshot (none)   hz=N (1000)   see clocks.h
 *   rtc=MS (20)     between two readings of the RTC; 0: it is left alone
 *   ws=MiB (4)      memory that is written beside that, a page each loop
 *   start=MiB (16)  where it begins
 *
 * The console gets 'A' + cpu when a vCPU begins.
 */
#include "../guest.h"
#include "clocks.h"
#include "x86.h"

#define PIT_HZ 1193182u

static uint64_t nr_cpus, rtc_every, ws_start, ws_pages;
static enum clocks_tick tick_kind;
static uint64_t tick_hz;
static volatile uint64_t latest_tsc; /* that any vCPU has seen */

const int arch_wants_irqs = 1;

static volatile struct clock_page *page_of(uint64_t cpu)
{
    return (volatile struct clock_page *)(ram_base + CLOCKS_OFFSET +
                                          cpu * 0x1000);
}

static void step(volatile uint64_t *steps, volatile uint64_t *largest,
                 uint64_t before, uint64_t now)
{
    if ((int64_t)(now - before) < 0) {
        (*steps)++;
        if (before - now > *largest) {
            *largest = before - now;
        }
    }
}

/* ------------------------------------------------------------- ticks */

static void arm_oneshot(void)
{
    *lapic(LAPIC_TIMER_INIT) = (uint32_t)(1000000000 / tick_hz);
}

/* At CPL 0. Which vCPU this is, its local APIC knows. */
void arch_interrupt(unsigned vector)
{
    uint64_t cpu = vector == VECTOR_TIMER ? *lapic(0x20) >> 24 : 0;
    volatile struct clock_page *p = page_of(cpu);
    uint64_t now = rdtsc(), gap;

    if (vector == VECTOR_TIMER) {
        if (tick_kind == TICK_ONESHOT) {
            arm_oneshot();
        }
        *lapic(LAPIC_EOI) = 0;
    } else {
        outb(0x20, 0x20);
        if (vector != VECTOR_PIC) {
            p->others++;
            return;
        }
    }
    gap = now - p->last_tick_tsc;
    if (p->ticks && gap > p->longest_tick_gap) {
        p->longest_tick_gap = gap;
    }
    p->last_tick_tsc = now;
    p->ticks++;
}

static void pit_count(void)
{
    uint32_t count = PIT_HZ / (uint32_t)tick_hz;

    outb(0x43, 0x34); /* counter 0, both bytes, rate generator */
    outb(0x40, count & 0xff);
    outb(0x40, (uint8_t)(count >> 8));
}

static void ioapic_start(void)
{
    volatile uint32_t *io = (volatile uint32_t *)0xfec00000;

    *lapic(LAPIC_SVR) = 0x100 | VECTOR_SPURIOUS;
    io[0] = 0x15; /* pin 2: to APIC 0, an edge */
    io[4] = 0;
    io[0] = 0x14;
    io[4] = VECTOR_TIMER;
    pit_count();
}

static void pit_start(void)
{
    static const uint8_t words[][2] = {
        { 0x20, 0x11 }, { 0x21, VECTOR_PIC }, { 0x21, 0x04 },
        { 0x21, 0x01 }, { 0xa0, 0x11 },       { 0xa1, VECTOR_PIC + 8 },
        { 0xa1, 0x02 }, { 0xa1, 0x01 },       { 0x21, 0xfe },
        { 0xa1, 0xff },
    };
    *lapic(LAPIC_SVR) = 0x100 | VECTOR_SPURIOUS;
    /* The first word lets all in, and vectors are not yet as wanted. */
    *lapic(LAPIC_LVT_LINT0) = 0x10700;
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        outb(words[i][0], words[i][1]);
    }
    *lapic(LAPIC_LVT_LINT0) = 0x700; /* ExtINT: the PIC's */
    pit_count();
}

static void lapic_start(void)
{
    *lapic(LAPIC_SVR) = 0x100 | VECTOR_SPURIOUS;
    *lapic(LAPIC_TIMER_DIV) = 0xb; /* by 1 */
    *lapic(LAPIC_LVT_TIMER) = VECTOR_TIMER |
                              (tick_kind == TICK_LAPIC ? 1u << 17 : 0);
    arm_oneshot();
}

static void tick_start(uint64_t cpu)
{
    if (tick_kind == TICK_PIT && cpu == 0) {
        pit_start();
    } else if (tick_kind == TICK_IOAPIC && cpu == 0) {
        ioapic_start();
    } else if (tick_kind == TICK_LAPIC || tick_kind == TICK_ONESHOT) {
        lapic_start();
    }
}

/* --------------------------------------------------------------- RTC */

static uint8_t rtc_register(uint8_t reg)
{
    outb(0x70, reg);
    return inb(0x71);
}

static uint64_t rtc_number(uint8_t reg, int binary)
{
    uint8_t v = rtc_register(reg);

    return binary ? v : (v >> 4) * 10u + (v & 15u);
}

/* Seconds of the day; all ones: it was just changing. */
static uint64_t rtc_read(void)
{
    int binary = rtc_register(0xb) & 4;
    uint64_t s, m, h, again;

    s = rtc_number(0, binary);
    m = rtc_number(2, binary);
    h = rtc_number(4, binary);
    again = rtc_number(0, binary);
    return s == again ? (h * 60 + m) * 60 + s : ~0ull;
}

static void look_at_rtc(volatile struct clock_page *p)
{
    uint64_t now = rtc_read(), before = p->rtc_seconds;

    if (now == ~0ull) {
        return;
    }
    /* Midnight is no step back. */
    if (p->rtc_reads && now + 43200 > before) {
        step(&p->rtc_steps, &p->rtc_largest, before, now);
    }
    p->rtc_seconds = now;
    p->rtc_reads++;
}

/* ------------------------------------------------------------ clocks */

static uint64_t read_kvm_clock(uint64_t cpu, uint64_t *tsc)
{
    const volatile struct kvm_clock *c = arch_kvm_clock(cpu);
    uint32_t version;
    uint64_t ns;

    do {
        version = c->version;
        barrier();
        *tsc = rdtsc();
        ns = kvm_clock_at(c, *tsc);
        barrier();
    } while ((version & 1) || version != c->version);
    return ns;
}

static void look_at_all_tsc(volatile struct clock_page *p)
{
    uint64_t seen = latest_tsc, now = rdtsc();

    step(&p->all_steps, &p->all_largest, seen, now);
    while ((int64_t)(now - seen) > 0 &&
           !__atomic_compare_exchange_n(&latest_tsc, &seen, now, 0,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
}

static void look(volatile struct clock_page *p, uint64_t cpu)
{
    uint64_t tsc, ns = 0, ticks;

    do { /* once more if a tick came meanwhile */
        ticks = p->ticks;
        barrier();
        if (p->has_kvm_clock) {
            ns = read_kvm_clock(cpu, &tsc);
        } else {
            tsc = rdtsc();
        }
        barrier();
    } while (ticks != p->ticks);
    if (p->has_kvm_clock) {
        if (arch_kvm_clock(cpu)->flags & KVM_CLOCK_WITH_TSC) {
            step(&p->kvm_steps, &p->kvm_largest, p->now_kvm_ns, ns);
        } else {
            p->kvm_loose++;
        }
    }
    step(&p->tsc_steps, &p->tsc_largest, p->now_tsc, tsc);
    if (p->loops && tsc - p->now_tsc > p->longest_loop_gap) {
        p->longest_loop_gap = tsc - p->now_tsc;
    }
    p->begin = p->loops;
    barrier();
    p->now_tsc = tsc;
    p->now_kvm_ns = ns;
    p->now_ticks = ticks;
    barrier();
    p->end = p->loops;
}

void guest_main_secondary(uint64_t cpu)
{
    volatile struct clock_page *p = page_of(cpu);
    uint64_t rtc_due, rtc_step = clock_hz() / 1000 * rtc_every;
    uint64_t page = cpu;

    console_putc((char)('A' + cpu));
    p->tsc_hz = clock_hz();
    p->tick_kind = tick_kind;
    p->tick_hz = tick_hz;
    p->has_kvm_clock = arch_kvm_clock(cpu)->mul != 0;
    look(p, cpu);
    tick_start(cpu);
    look(p, cpu);
    p->first_tsc = rtc_due = p->now_tsc;
    p->first_kvm_ns = p->now_kvm_ns;
    p->first_ticks = p->now_ticks;
    barrier();
    p->magic = CLOCKS_MAGIC;

    for (;;) {
        p->loops++;
        look(p, cpu);
        look_at_all_tsc(p);
        if (cpu == 0 && rtc_every && (int64_t)(p->now_tsc - rtc_due) >= 0) {
            look_at_rtc(p);
            rtc_due = p->now_tsc + rtc_step;
        }
        if (ws_pages) {
            (*(volatile uint64_t *)(ws_start + page * PAGE_SIZE))++;
            p->pages_written++;
            page = page + nr_cpus >= ws_pages ? cpu : page + nr_cpus;
        }
    }
}

static enum clocks_tick kind_of(const char *name)
{
    if (!name) {
        return TICK_NONE;
    }
    return name[0] == 'p'   ? TICK_PIT
           : name[0] == 'i' ? TICK_IOAPIC
           : name[0] == 'l' ? TICK_LAPIC
           : name[0] == 'o' ? TICK_ONESHOT
                            : TICK_NONE;
}

void guest_main(const char *cmdline)
{
    nr_cpus = param_u64(cmdline, "cpus", 1);
    nr_cpus = nr_cpus < 1 ? 1 : nr_cpus > MAX_CPUS ? MAX_CPUS : nr_cpus;
    tick_kind = kind_of(param_find(cmdline, "tick"));
    tick_hz = param_u64(cmdline, "hz", 1000);
    tick_hz = tick_hz < 20 ? 20 : tick_hz > 20000 ? 20000 : tick_hz;
    rtc_every = param_u64(cmdline, "rtc", 20);
    ws_start = ram_base + (param_u64(cmdline, "start", 16) << 20);
    ws_pages = param_u64(cmdline, "ws", 4) * 256;
    for (uint64_t cpu = 0; cpu < nr_cpus; cpu++) {
        for (unsigned i = 0; i < PAGE_SIZE / 8; i++) {
            ((volatile uint64_t *)page_of(cpu))[i] = 0;
        }
    }
    for (uint64_t cpu = 1; cpu < nr_cpus; cpu++) {
        if (cpu_start(cpu)) {
            console_puts("no vCPU ");
            console_put_u64(cpu);
            console_putc('\n');
        }
    }
    guest_main_secondary(0);
}
