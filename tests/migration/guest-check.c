/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guest check: see guest-check.h. */
#include "qemu/osdep.h"

#include "guest-check.h"

#define MAX_FAULTS 8
#define HIGH_BASE  (UINT64_C(1) << 32)

static bool fault(GString *why, unsigned *n, const char *fmt, ...)
    G_GNUC_PRINTF(3, 4);

static bool fault(GString *why, unsigned *n, const char *fmt, ...)
{
    va_list ap;

    if ((*n)++ < MAX_FAULTS) {
        va_start(ap, fmt);
        g_string_append_vprintf(why, fmt, ap);
        va_end(ap);
        g_string_append_c(why, '\n');
    }
    return false;
}

bool page_counter_check(const uint8_t *ram, uint64_t start_bytes,
                        uint64_t length_bytes, uint8_t *page_value,
                        GString *why)
{
    const uint8_t *set = ram + start_bytes;
    uint8_t first = set[0], expected = first;
    bool dropped = false;
    unsigned faults = 0;

    for (uint64_t off = 0; off < length_bytes; off += 4096) {
        if (set[off] == expected) {
            continue;
        }
        if (!dropped && set[off] == (uint8_t)(first - 1)) {
            dropped = true;
            expected = set[off];
            continue;
        }
        fault(why, &faults, "page at %#" PRIx64 " holds %u, should hold %u",
              start_bytes + off, set[off], expected);
    }
    if (page_value) {
        *page_value = first;
    }
    return faults == 0;
}

typedef struct GuestRam {
    const uint8_t *ram;
    uint64_t bytes, base, low;
} GuestRam;

/* Where @bytes from the guest's @addr on are; NULL: not, or not all in RAM. */
static const uint8_t *at(const GuestRam *g, uint64_t addr, uint64_t bytes)
{
    uint64_t low = g->low ? g->low : g->bytes, offset = addr - g->base;

    if (addr >= HIGH_BASE && g->low) {
        offset = addr - HIGH_BASE;
        return offset <= g->bytes - low && bytes <= g->bytes - low - offset
                   ? g->ram + low + offset
                   : NULL;
    }
    return addr >= g->base && offset <= low && bytes <= low - offset
               ? g->ram + offset
               : NULL;
}

static bool check_cpu(const GuestRam *g, unsigned cpu, GString *why)
{
    const volatile struct ctl_page *c = workload_ctl(g->ram, cpu);
    uint64_t base = c->base, pages = c->pages, words = c->bytes / 8;
    const uint8_t *set;
    uint64_t total = 0;
    unsigned faults = 0;

    if (c->magic != CTL_MAGIC || c->state != CTL_RUNNING) {
        return fault(why, &faults, "vCPU %u does not run the workload", cpu);
    }
    set = pages <= g->bytes / 4096 ? at(g, base, pages * 4096) : NULL;
    if (!set || words > 512) {
        return fault(why, &faults, "vCPU %u: working set is not in RAM", cpu);
    }

    for (uint64_t p = 0; p < pages; p++) {
        uint64_t addr = base + p * 4096;
        const uint64_t *q = (const uint64_t *)(set + p * 4096);
        bool torn = q[1] != (q[0] ^ ~addr);

        for (uint64_t i = 2; i < words; i++) {
            torn |= q[i] != q[0];
        }
        if (torn && addr != c->current) {
            fault(why, &faults, "vCPU %u: page %#" PRIx64 " is torn", cpu,
                  addr);
        }
        total += q[0];
    }
    if (total != c->writes && total != c->writes + 1) {
        fault(why, &faults,
              "vCPU %u: %" PRIu64 " writes done, %" PRIu64 " found", cpu,
              c->writes, total);
    }
    if (c->errors) {
        fault(why, &faults, "vCPU %u: found %" PRIu64 " torn pages itself", cpu,
              c->errors);
    }
    return faults == 0;
}

bool workload_check(const uint8_t *ram, uint64_t ram_bytes, uint64_t ram_base,
                    uint64_t low_bytes, unsigned nr_cpus, GString *why)
{
    GuestRam g = { ram, ram_bytes, ram_base, low_bytes };
    bool ok = true;

    for (unsigned cpu = 0; cpu < nr_cpus; cpu++) {
        ok &= check_cpu(&g, cpu, why);
    }
    return ok;
}

bool remap_check(const uint8_t *ram, GString *why)
{
    const volatile struct remap_page *r = remap_page(ram);
    unsigned faults = 0;

    if (r->magic != REMAP_MAGIC) {
        return fault(why, &faults, "the guest does not change its mapping");
    }
    for (unsigned i = 0; i < REMAP_PAGES; i++) {
        uint64_t addr = REMAP_FIRST + i * 4096, n = r->count[i];
        uint64_t held = *(const volatile uint64_t *)(ram + addr);
        bool writing = addr == r->current[0] || addr == r->current[1];

        if (held != n && !(writing && held == n + 1)) {
            fault(why, &faults,
                  "page %#" PRIx64 " was written %" PRIu64
                  " times, but holds %" PRIu64,
                  addr, n, held);
        }
    }
    if (r->errors) {
        fault(why, &faults, "the guest found %" PRIu64 " wrong pages itself",
              r->errors);
    }
    return faults == 0;
}

static bool clock_steps(GString *why, unsigned *faults, unsigned cpu,
                        const char *clock, uint64_t steps, uint64_t largest)
{
    return steps == 0 || fault(why, faults,
                               "vCPU %u: %s stepped back %" PRIu64
                               " times, by up to %" PRIu64,
                               cpu, clock, steps, largest);
}

bool clocks_check(const uint8_t *ram, unsigned nr_cpus, GString *why)
{
    unsigned faults = 0;

    for (unsigned cpu = 0; cpu < nr_cpus; cpu++) {
        const volatile struct clock_page *p = clocks_page(ram, cpu);

        if (p->magic != CLOCKS_MAGIC) {
            fault(why, &faults, "vCPU %u does not look at clocks", cpu);
            continue;
        }
        clock_steps(why, &faults, cpu, "the TSC", p->tsc_steps, p->tsc_largest);
        clock_steps(why, &faults, cpu, "kvmclock", p->kvm_steps,
                    p->kvm_largest);
        clock_steps(why, &faults, cpu, "the TSC of all", p->all_steps,
                    p->all_largest);
        clock_steps(why, &faults, cpu, "the RTC", p->rtc_steps, p->rtc_largest);
        if (p->others) {
            fault(why, &faults, "vCPU %u: %" PRIu64 " interrupts of others",
                  cpu, p->others);
        }
    }
    return faults == 0;
}
