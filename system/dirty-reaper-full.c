/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vCPUs whose ring is full, and what is known of reaps: see dirty-reaper.h. */
#include "qemu/osdep.h"

#include "dirty-reaper-internal.h"

/* ---- full rings ---- */

/* Marks @cpu's ring as waited for; false: there is nothing to wait for. */
static bool begin_wait(CPUState *cpu, bool hard)
{
    ReaperRing *r;

    QEMU_LOCK_GUARD(&dirty_reaper.lock);
    r = dirty_reaper_find_ring_locked(cpu);
    /* What is in flight is not room yet. */
    if (!r || (!r->in_flight && !dirty_ring_has(&r->ring, 1))) {
        return false;
    }
    r->full = true;
    if (hard) {
        cpu->ring_stats.hard_full_exits++;
        dirty_reaper_count(&dirty_reaper.stats.hard_full, 1);
    } else {
        cpu->ring_stats.soft_full_exits++;
        dirty_reaper_count(&dirty_reaper.stats.soft_full, 1);
    }
    dirty_reaper_wake_thread();
    return true;
}

void dirty_reaper_vcpu_sleeps(CPUState *cpu, bool hard)
{
    begin_wait(cpu, hard);
}

static bool is_waited_for(CPUState *cpu)
{
    const ReaperRing *r;

    QEMU_LOCK_GUARD(&dirty_reaper.lock);
    r = dirty_reaper_find_ring_locked(cpu);
    return r && r->full;
}

void dirty_reaper_vcpu_full(CPUState *cpu, bool hard)
{
    int64_t begin_ns = dirty_stats_clock_ns();
    uint64_t ns;

    if (!begin_wait(cpu, hard)) {
        return;
    }
    for (;;) {
        /* Reset, look, wait: who changes what we look at sets it after. */
        qemu_event_reset(&cpu->wake);
        if (atomic_load(&cpu->exit_request) || !is_waited_for(cpu)) {
            break;
        }
        qemu_event_wait(&cpu->wake);
    }
    ns = dirty_stats_clock_ns() - begin_ns;
    dirty_reaper_count(&dirty_reaper.stats.full_wait_ns, ns);
    dirty_cost_add(&dirty_reaper.stats.full_exit, (double)ns, 1, 0);
    dirty_reaper_note_longest(&dirty_reaper.stats.longest_wait_ns, ns);
    dirty_reaper_note_longest(&dirty_reaper.stats.marked_wait_ns, ns);
}

/* ---- what is known ---- */

bool dirty_reaper_entered(CPUState *cpu, uint64_t *pages)
{
    ReaperRing *r;

    QEMU_LOCK_GUARD(&dirty_reaper.lock);
    r = dirty_reaper_find_ring_locked(cpu);
    if (!r) {
        return false;
    }
    *pages = cpu->ring_stats.harvested + dirty_ring_count(&r->ring);
    return true;
}

uint64_t dirty_reaper_soft_full_exits(void)
{
    return dirty_stats_get(&dirty_reaper.stats.soft_full);
}

void dirty_reaper_get_stats(DirtyReaperStats *stats)
{
    *stats = (DirtyReaperStats){
        .entries_harvested = dirty_stats_get(&dirty_reaper.stats.harvested),
        .entries_refault = dirty_stats_get(&dirty_reaper.stats.refault),
        .entries_unknown = dirty_stats_get(&dirty_reaper.stats.unknown),
        .entries_beyond = dirty_stats_get(&dirty_reaper.stats.beyond),
        .batches = dirty_stats_get(&dirty_reaper.stats.batches),
        .reaps_full = dirty_stats_get(&dirty_reaper.stats.reaps[CAUSE_FULL]),
        .reaps_collect = dirty_stats_get(
            &dirty_reaper.stats.reaps[CAUSE_COLLECT]),
        .reaps_period = dirty_stats_get(
            &dirty_reaper.stats.reaps[CAUSE_PERIOD]),
        .reaps_drain = dirty_stats_get(&dirty_reaper.stats.reaps[CAUSE_DRAIN]),
        .reap_ns = dirty_stats_get(&dirty_reaper.stats.reap_ns),
        .reset_ns = dirty_stats_get(&dirty_reaper.stats.reset_ns),
        .longest_reap_ns = dirty_stats_get(&dirty_reaper.stats.longest_reap_ns),
        .soft_full_exits = dirty_stats_get(&dirty_reaper.stats.soft_full),
        .hard_full_exits = dirty_stats_get(&dirty_reaper.stats.hard_full),
        .full_wait_ns = dirty_stats_get(&dirty_reaper.stats.full_wait_ns),
        .longest_wait_ns = dirty_stats_get(&dirty_reaper.stats.longest_wait_ns),
        .entry_ns = dirty_cost_ns(&dirty_reaper.stats.entry),
        .full_exit_ns = dirty_cost_ns(&dirty_reaper.stats.full_exit),
        .marked_longest_reap_ns = dirty_stats_get(
            &dirty_reaper.stats.marked_reap_ns),
        .marked_longest_wait_ns = dirty_stats_get(
            &dirty_reaper.stats.marked_wait_ns),
        .period_ms = REAPER_PERIOD_MS,
        .thread_bql_acquisitions = dirty_stats_get(
            &dirty_reaper.stats.bql_acquisitions),
    };
    QEMU_LOCK_GUARD(&dirty_reaper.lock);
    stats->rings_now = dirty_reaper.rings ? dirty_reaper.rings->len : 0;
    stats->slots_now = dirty_reaper.slots
                           ? g_hash_table_size(dirty_reaper.slots)
                           : 0;
}

void dirty_reaper_mark(void)
{
    atomic_store(&dirty_reaper.stats.marked_reap_ns, 0);
    atomic_store(&dirty_reaper.stats.marked_wait_ns, 0);
}

bool dirty_reaper_vcpu_stats(CPUState *cpu, CpuRingStats *stats)
{
    QEMU_LOCK_GUARD(&dirty_reaper.lock);
    *stats = cpu->ring_stats;
    return stats->has_ring;
}
