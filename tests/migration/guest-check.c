/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guest check: see guest-check.h. */
#include "qemu/osdep.h"

#include "guest-check.h"

#define MAX_FAULTS 8

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

static bool check_cpu(const uint8_t *ram, uint64_t ram_bytes, uint64_t ram_base,
                      unsigned cpu, GString *why)
{
    const volatile struct ctl_page *c = workload_ctl(ram, cpu);
    uint64_t base = c->base, pages = c->pages, words = c->bytes / 8;
    uint64_t total = 0;
    unsigned faults = 0;

    if (c->magic != CTL_MAGIC || c->state != CTL_RUNNING) {
        return fault(why, &faults, "vCPU %u does not run the workload", cpu);
    }
    if (base < ram_base || base - ram_base > ram_bytes ||
        pages > (ram_bytes - (base - ram_base)) / 4096 || words > 512) {
        return fault(why, &faults, "vCPU %u: working set is not in RAM", cpu);
    }

    for (uint64_t p = 0; p < pages; p++) {
        uint64_t addr = base + p * 4096;
        const uint64_t *q = (const uint64_t *)(ram + (addr - ram_base));
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
                    unsigned nr_cpus, GString *why)
{
    bool ok = true;

    for (unsigned cpu = 0; cpu < nr_cpus; cpu++) {
        ok &= check_cpu(ram, ram_bytes, ram_base, cpu, why);
    }
    return ok;
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
