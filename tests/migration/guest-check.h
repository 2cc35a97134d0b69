/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest check: did a guest of tests/guest lose or tear a write, or
 * see a clock step back?
 *
 * They look at the guest's RAM as the test process sees it (a shared
 * memory-backend-file mapped here, or a pmemsave file read in). The guest
 * must be stopped. They return true, or false with the first faults in words
 * appended to @why.
 *
 * Used by: tests/migration. Uses: tests/guest.
 */
#ifndef TESTS_MIGRATION_GUEST_CHECK_H
#define TESTS_MIGRATION_GUEST_CHECK_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "../guest/ctl.h"
#include "../guest/x86_64/clocks.h"
#include "../guest/x86_64/remap.h"

/**
 * page_counter_check: pages up to one hold v + 1, all after it v
 *
 * @ram: start of RAM; @start_bytes, @length_bytes: the counted range in it
 * @page_value: if not NULL, gets the first page's byte
 */
bool page_counter_check(const uint8_t *ram, uint64_t start_bytes,
                        uint64_t length_bytes, uint8_t *page_value,
                        GString *why);

/**
 * workload_check: stamps of all pages of @nr_cpus working sets, see ctl.h
 *
 * @ram: start of RAM; @ram_bytes: its size, against which the guest's own
 *       description of its sets is checked
 * @ram_base: guest physical address of RAM
 * @low_bytes: so much of RAM is there, the rest begins at guest physical
 *             address 4 GiB; 0: all is there
 */
bool workload_check(const uint8_t *ram, uint64_t ram_bytes, uint64_t ram_base,
                    uint64_t low_bytes, unsigned nr_cpus, GString *why);

/**
 * clocks_check: no clock of the guest `clocks` has ever stepped back, and no
 * interrupt came that it had not asked for (see clocks.h)
 */
bool clocks_check(const uint8_t *ram, unsigned nr_cpus, GString *why);

/**
 * remap_check: pages whose mapping changed all the time hold the counts that
 * the guest `remap` keeps of them (see remap.h)
 */
bool remap_check(const uint8_t *ram, GString *why);

static inline volatile struct remap_page *remap_page(const uint8_t *ram)
{
    return (volatile struct remap_page *)(ram + REMAP_OFFSET);
}

/* What vCPU @cpu of the guest `clocks` tells; changes while it runs. */
static inline volatile struct clock_page *clocks_page(const uint8_t *ram,
                                                      unsigned cpu)
{
    return (volatile struct clock_page *)(ram + CLOCKS_OFFSET + cpu * 4096);
}

/* The control page of @cpu; fields may change while the guest runs. */
static inline const volatile struct ctl_page *workload_ctl(const uint8_t *ram,
                                                           unsigned cpu)
{
    return (const volatile struct ctl_page *)(ram + CTL_OFFSET +
                                              cpu * CTL_PAGE_SIZE);
}

#endif /* TESTS_MIGRATION_GUEST_CHECK_H */
