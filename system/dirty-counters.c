/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters of dirty tracking: see include/system/dirty-counters.h. */
#include "qemu/osdep.h"

#include "system/cpu-throttle.h"
#include "system/cpus.h"
#include "system/dirty-choice.h"
#include "system/dirty-counters.h"
#include "system/dirty-memory.h"
#include "system/dirty-reaper.h"
#include "system/dirty-tracker.h"

/* ---- now ---- */

static DirtyTrackingCost *cost_now(void)
{
    DirtyTrackingCost *cost = g_new0(DirtyTrackingCost, 1);
    DirtyTrackerCost c;

    dirty_tracker_cost(&c);
    cost->has_collect_page = c.collect_ns_per_page != 0;
    cost->collect_page = c.collect_ns_per_page;
    cost->has_scan_gib = c.scan_ns_per_gib != 0;
    cost->scan_gib = c.scan_ns_per_gib;
    cost->has_clean_range = c.clean_ns_per_range != 0;
    cost->clean_range = c.clean_ns_per_range;
    cost->has_clean_page = c.clean_ns_per_page != 0;
    cost->clean_page = c.clean_ns_per_page;
    cost->has_fault_page = c.fault_ns_per_page != 0;
    cost->fault_page = c.fault_ns_per_page;
    cost->has_update_page = c.update_ns_per_page != 0;
    cost->update_page = c.update_ns_per_page;
    return cost;
}

static DirtyTrackingVCPUList *vcpus_now(void)
{
    DirtyTrackingVCPUList *list = NULL, **tail = &list;
    CPUState *cpu;

    CPU_FOREACH (cpu) {
        DirtyTrackingVCPU *v = g_new0(DirtyTrackingVCPU, 1);
        CpuRingStats r;

        v->cpu_index = cpu->cpu_index;
        v->has_pages = dirty_tracker_written(cpu, &v->pages);
        v->sleeps = cpu_throttle_stats(cpu).sleeps;
        v->asleep = (double)cpu_throttle_get(cpu) / CPU_THROTTLE_PCT;
        if (dirty_reaper_vcpu_stats(cpu, &r)) {
            v->has_ring_entries = v->has_soft_full = v->has_hard_full = true;
            v->ring_entries = r.harvested;
            v->soft_full = r.soft_full_exits;
            v->hard_full = r.hard_full_exits;
        }
        QAPI_LIST_APPEND(tail, v);
    }
    return list;
}

static DirtyTrackingWork *work_now(void)
{
    DirtyTrackingWork *work = g_new0(DirtyTrackingWork, 1);
    const DirtyTrackerOps *dbm = dirty_tracking_find(DIRTY_TRACKING_MODE_DBM);
    DirtyTrackerGroups groups = { 0 };
    DirtyReaperStats rings;
    DirtyMemoryStats s;

    dirty_memory_get_stats(&s);
    dirty_reaper_get_stats(&rings);
    if (dbm && dbm->groups) {
        dbm->groups(&groups);
    }
    *work = (DirtyTrackingWork){
        .collects = s.tracker_collects,
        .cleans = s.tracker_cleans,
        .tracker_words = s.tracker_words,
        .block_words = s.sweep_words + s.merge_words,
        .look_words = s.survey_words,
        .updates = groups.hw_updates,
        .refaults = rings.entries_refault,
        .ring_exits = rings.soft_full_exits,
    };
    return work;
}

static DirtyTrackingRings *rings_now(void)
{
    DirtyTrackingRings *rings = g_new0(DirtyTrackingRings, 1);
    DirtyReaperStats s;

    dirty_reaper_get_stats(&s);
    *rings = (DirtyTrackingRings){
        .size = dirty_tracking_ring_entries(),
        .rings = s.rings_now,
        .entries = s.entries_harvested,
        .refaults = s.entries_refault,
        .unknown = s.entries_unknown,
        .beyond = s.entries_beyond,
        .batches = s.batches,
        .reaps_full = s.reaps_full,
        .reaps_collect = s.reaps_collect,
        .reaps_period = s.reaps_period,
        .reaps_drain = s.reaps_drain,
        .reap_time = s.reap_ns,
        .reset_time = s.reset_ns,
        .longest_reap = s.longest_reap_ns,
        .soft_full = s.soft_full_exits,
        .hard_full = s.hard_full_exits,
        .full_time = s.full_wait_ns,
        .longest_wait = s.longest_wait_ns,
        .period = s.period_ms,
        .big_lock = s.thread_bql_acquisitions,
    };
    return rings;
}

/* At most one tracker of an accelerator has groups, be it active or not. */
static DirtyTrackingGroups *groups_now(void)
{
    DirtyTrackingGroups *groups = g_new0(DirtyTrackingGroups, 1);
    const DirtyTrackerOps *ops = dirty_tracking_find(DIRTY_TRACKING_MODE_DBM);
    DirtyTrackerGroups g = { 0 };

    if (ops && ops->groups) {
        ops->groups(&g);
    }
    *groups = (DirtyTrackingGroups){
        .faults = g.faults,
        .hardware_updates = g.hw_updates,
        .armed = g.groups_armed,
        .disarmed = g.groups_disarmed,
        .fallen_back = g.groups_fallen,
        .come_back = g.groups_back,
        .groups_scanned = g.groups_scanned,
        .entries_scanned = g.entries_scanned,
        .summary_words = g.summary_words,
        .pages_collected = g.pages_collected,
        .pages_cleaned = g.pages_cleaned,
        .armed_now = g.groups_armed_now,
    };
    return groups;
}

DirtyTrackingCounters *dirty_counters_now(void)
{
    DirtyTrackingCounters *c = g_new0(DirtyTrackingCounters, 1);
    int engine = qapi_enum_parse(&DirtyTrackingMode_lookup,
                                 dirty_tracker_active()->name, -1, NULL);

    c->has_engine = engine >= 0;
    c->engine = MAX(engine, 0);
    c->vcpus = vcpus_now();
    c->cost = cost_now();
    c->work = work_now();
    c->rings = rings_now();
    c->groups = groups_now();
    return c;
}

void dirty_counters_trim(DirtyTrackingCounters *c)
{
    bool is_ring = c->has_engine && c->engine == DIRTY_TRACKING_MODE_RING;
    bool is_dbm = c->has_engine && c->engine == DIRTY_TRACKING_MODE_DBM;

    if (!is_ring && !c->rings->entries) {
        g_clear_pointer(&c->rings, qapi_free_DirtyTrackingRings);
    }
    if (!is_dbm && !c->groups->faults && !c->groups->groups_scanned) {
        g_clear_pointer(&c->groups, qapi_free_DirtyTrackingGroups);
    }
}

/* ---- between two moments ---- */

#define LESS(now, begin, field) ((now)->field -= (begin)->field)

static void subtract_work(DirtyTrackingWork *w, const DirtyTrackingWork *b)
{
    LESS(w, b, collects);
    LESS(w, b, cleans);
    LESS(w, b, tracker_words);
    LESS(w, b, block_words);
    LESS(w, b, look_words);
    LESS(w, b, updates);
    LESS(w, b, refaults);
    LESS(w, b, ring_exits);
}

static void subtract_rings(DirtyTrackingRings *r, const DirtyTrackingRings *b)
{
    DirtyReaperStats s;

    LESS(r, b, entries);
    LESS(r, b, refaults);
    LESS(r, b, unknown);
    LESS(r, b, beyond);
    LESS(r, b, batches);
    LESS(r, b, reaps_full);
    LESS(r, b, reaps_collect);
    LESS(r, b, reaps_period);
    LESS(r, b, reaps_drain);
    LESS(r, b, reap_time);
    LESS(r, b, reset_time);
    LESS(r, b, soft_full);
    LESS(r, b, hard_full);
    LESS(r, b, full_time);
    LESS(r, b, big_lock);
    dirty_reaper_get_stats(&s);
    r->longest_reap = s.marked_longest_reap_ns;
    r->longest_wait = s.marked_longest_wait_ns;
}

static void subtract_groups(DirtyTrackingGroups *g,
                            const DirtyTrackingGroups *b)
{
    LESS(g, b, faults);
    LESS(g, b, hardware_updates);
    LESS(g, b, armed);
    LESS(g, b, disarmed);
    LESS(g, b, fallen_back);
    LESS(g, b, come_back);
    LESS(g, b, groups_scanned);
    LESS(g, b, entries_scanned);
    LESS(g, b, summary_words);
    LESS(g, b, pages_collected);
    LESS(g, b, pages_cleaned);
}

static const DirtyTrackingVCPU *find_vcpu(const DirtyTrackingVCPUList *list,
                                          int64_t cpu_index)
{
    for (; list; list = list->next) {
        if (list->value->cpu_index == cpu_index) {
            return list->value;
        }
    }
    return NULL;
}

static void subtract_vcpus(DirtyTrackingVCPUList *list,
                           const DirtyTrackingVCPUList *begin)
{
    for (; list; list = list->next) {
        DirtyTrackingVCPU *v = list->value;
        const DirtyTrackingVCPU *b = find_vcpu(begin, v->cpu_index);

        /* What it has not got is 0. */
        if (b) {
            LESS(v, b, pages);
            LESS(v, b, sleeps);
            LESS(v, b, ring_entries);
            LESS(v, b, soft_full);
            LESS(v, b, hard_full);
        }
    }
}

void dirty_counters_subtract(DirtyTrackingCounters *now,
                             const DirtyTrackingCounters *begin)
{
    subtract_vcpus(now->vcpus, begin->vcpus);
    subtract_work(now->work, begin->work);
    subtract_rings(now->rings, begin->rings);
    subtract_groups(now->groups, begin->groups);
}
