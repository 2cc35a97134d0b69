/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Workload: reads and writes pages by a pattern, counts what it does, and
 * leaves stamps by which a lost or torn write shows (see ctl.h).
 *
 * Command line, all optional:
 *   ws=MiB (64)       working set, split evenly over the vCPUs
 *   start=MiB (16)    where it begins, from the start of RAM
 *   cpus=N (1)        vCPUs to use, 1...8
 *   pat=sequential|random|sparse   stride=N (8, for sparse)
 *   bytes=N (16)      written at each write, 16...4096, multiples of 8
 *   write=PCT (100)   share of the operations that write
 *   rate=N (0)        operations a second of all vCPUs; 0: flat out
 *   fill=0|1 (0)      fill the set with noise beyond the stamps first
 *
 * The console gets 'A' + cpu on start, 'a' + cpu when the set is filled.
 */
#include "ctl.h"
#include "guest.h"

#define BURST 16u

static struct ctl_page *ctl_of(uint64_t cpu)
{
    return (struct ctl_page *)(ram_base + CTL_OFFSET + cpu * CTL_PAGE_SIZE);
}

static uint64_t nr_cpus, fill;

static uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x * 0x2545f4914f6cdd1dull;
}

/* @n of the range 0...@n - 1, without a division. */
static uint64_t scale(uint64_t random, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)random * n) >> 64);
}

static void set_parameters(const char *cmdline)
{
    const char *pat = param_find(cmdline, "pat");
    uint64_t pages, bytes = param_u64(cmdline, "bytes", 16) & ~7ull;

    nr_cpus = param_u64(cmdline, "cpus", 1);
    nr_cpus = nr_cpus < 1 ? 1 : nr_cpus > CTL_MAX_CPUS ? CTL_MAX_CPUS : nr_cpus;
    fill = param_u64(cmdline, "fill", 0);
    pages = param_u64(cmdline, "ws", 64) * 256 / nr_cpus;
    bytes = bytes < 16 ? 16 : bytes > PAGE_SIZE ? PAGE_SIZE : bytes;

    for (uint64_t cpu = 0; cpu < nr_cpus; cpu++) {
        struct ctl_page *c = ctl_of(cpu);

        for (unsigned i = 0; i < CTL_PAGE_SIZE / 8; i++) {
            ((volatile uint64_t *)c)[i] = 0;
        }
        c->ticks_hz = clock_hz();
        c->base = ram_base + (param_u64(cmdline, "start", 16) << 20) +
                  cpu * pages * PAGE_SIZE;
        c->pages = pages;
        c->bytes = bytes;
        c->rate = param_u64(cmdline, "rate", 0) / nr_cpus;
        c->pattern = !pat                             ? CTL_SEQUENTIAL
                     : pat[0] == 'r'                  ? CTL_RANDOM
                     : pat[0] == 's' && pat[1] == 'p' ? CTL_SPARSE
                                                      : CTL_SEQUENTIAL;
        c->stride = param_u64(cmdline, "stride", 8);
        c->stride = c->stride ? c->stride : 1;
        c->write_pct = param_u64(cmdline, "write", 100);
        barrier();
        c->magic = CTL_MAGIC;
    }
}

static void fill_set(struct ctl_page *c, uint64_t *x)
{
    for (uint64_t p = 0; p < c->pages; p++) {
        uint64_t addr = c->base + p * PAGE_SIZE;
        volatile uint64_t *q = (volatile uint64_t *)addr;

        for (unsigned i = c->bytes / 8; fill && i < PAGE_SIZE / 8; i++) {
            q[i] = next_random(x);
        }
        for (unsigned i = 2; i < c->bytes / 8; i++) {
            q[i] = 0;
        }
        q[0] = 0;
        q[1] = ~addr;
    }
}

static void write_page(volatile struct ctl_page *c, uint64_t addr,
                       uint64_t bytes)
{
    volatile uint64_t *q = (volatile uint64_t *)addr;
    uint64_t n = q[0];

    if (q[1] != (n ^ ~addr)) {
        c->errors++;
    }
    c->current = addr;
    n++;
    q[0] = n;
    q[1] = n ^ ~addr;
    for (uint64_t i = 2; i < bytes / 8; i++) {
        q[i] = n;
    }
    c->writes++;
    c->current = 0;
}

static void read_page(volatile struct ctl_page *c, uint64_t addr)
{
    volatile uint64_t *q = (volatile uint64_t *)addr;

    if (q[1] != (q[0] ^ ~addr)) {
        c->errors++;
    }
}

/* Ticks that BURST operations must take; 0: as fast as it goes. */
static uint64_t burst_ticks(const volatile struct ctl_page *c)
{
    return c->rate ? c->ticks_hz * BURST / c->rate : 0;
}

static void run(volatile struct ctl_page *c, uint64_t *x)
{
    uint64_t idx = 0, seq = c->seq, per_burst = burst_ticks(c);
    uint64_t last = clock_ticks(), due = last;

    for (;;) {
        uint64_t now, gap, slack = c->ticks_hz / 1000;

        for (unsigned k = 0; k < BURST; k++) {
            uint64_t page = idx;

            if (c->pattern == CTL_RANDOM) {
                page = scale(next_random(x), c->pages);
            } else {
                idx += c->pattern == CTL_SPARSE ? c->stride : 1;
                if (idx >= c->pages) {
                    idx = 0;
                    c->passes++;
                }
            }
            if (c->write_pct >= 100 ||
                scale(next_random(x), 100) < c->write_pct) {
                write_page(c, c->base + page * PAGE_SIZE, c->bytes);
            } else {
                read_page(c, c->base + page * PAGE_SIZE);
            }
            c->ops++;
        }

        now = clock_ticks();
        gap = now - last;
        if (gap > c->max_gap) {
            c->max_gap = gap;
        }
        if (per_burst) {
            due += per_burst;
            /* What was missed while stopped is not made up for. */
            if ((int64_t)(now - due) > (int64_t)slack) {
                due = now - slack;
            }
            while ((int64_t)(now - due) < 0) {
                cpu_relax();
                now = clock_ticks();
            }
        }
        last = now;
        c->ticks = now;
        if (c->seq != seq) {
            seq = c->seq;
            per_burst = burst_ticks(c);
            due = now;
        }
    }
}

void guest_main_secondary(uint64_t cpu)
{
    struct ctl_page *c = ctl_of(cpu);
    uint64_t x = 0x9e3779b97f4a7c15ull * (cpu + 1);

    console_putc((char)('A' + cpu));
    c->state = CTL_FILLING;
    fill_set(c, &x);
    barrier();
    c->state = CTL_RUNNING;
    console_putc((char)('a' + cpu));
    run(c, &x);
}

void guest_main(const char *cmdline)
{
    set_parameters(cmdline);
    for (uint64_t cpu = 1; cpu < nr_cpus; cpu++) {
        if (cpu_start(cpu)) {
            console_puts("no vCPU ");
            console_put_u64(cpu);
            console_putc('\n');
        }
    }
    guest_main_secondary(0);
}
