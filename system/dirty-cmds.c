/* SPDX-License-Identifier: GPL-2.0-or-later */
/* query-dirty-tracking and `info dirty_tracking`. */
#include "qemu/osdep.h"

#include "qapi/qapi-commands-dirty-tracking.h"
#include "qemu/monitor-sink.h"
#include "system/accel.h"
#include "system/dirty-auto.h"
#include "system/dirty-choice.h"
#include "system/dirty-counters.h"
#include "system/dirty-memory.h"
#include "system/monitor-cmds.h"

static DirtyTrackingUserList *query_users(void)
{
    DirtyTrackingUserList *list = NULL, **tail = &list;
    unsigned users = dirty_log_all_users();

    for (int i = 0; i < DIRTY_TRACKING_USER__MAX; i++) {
        if (users & (1u << i)) {
            QAPI_LIST_APPEND(tail, i);
        }
    }
    return list;
}

DirtyTrackingInfo *qmp_query_dirty_tracking(Error **errp)
{
    DirtyTrackingInfo *info = g_new0(DirtyTrackingInfo, 1);
    g_autoptr(DirtyTrackingCounters) c = dirty_counters_now();

    dirty_counters_trim(c);
    info->has_engine = c->has_engine;
    info->engine = c->engine;
    info->vcpus = g_steal_pointer(&c->vcpus);
    info->cost = g_steal_pointer(&c->cost);
    info->work = g_steal_pointer(&c->work);
    info->rings = g_steal_pointer(&c->rings);
    info->groups = g_steal_pointer(&c->groups);
    info->accelerator = qapi_enum_parse(&Accelerator_lookup,
                                        current_accel_name(), 0, &error_abort);
    info->mode = dirty_tracking_mode();
    info->users = query_users();
    info->engines = dirty_tracking_engines();
    info->decision = dirty_auto_query();
    return info;
}

/* ---- HMP ---- */

static void print_users(Monitor *mon, const DirtyTrackingUserList *users)
{
    monitor_puts(mon, "users:");
    for (; users; users = users->next) {
        monitor_printf(mon, " %s", DirtyTrackingUser_str(users->value));
    }
    monitor_puts(mon, "\n");
}

static void print_engines(Monitor *mon, const DirtyTrackingEngineList *list)
{
    for (; list; list = list->next) {
        const DirtyTrackingEngine *e = list->value;

        monitor_printf(mon, "  %s: %s%s\n", DirtyTrackingMode_str(e->name),
                       e->available ? "possible" : "not possible: ",
                       e->available ? "" : e->reason);
    }
}

static void print_cost(Monitor *mon, const char *what, bool has, double ns)
{
    if (has) {
        monitor_printf(mon, "  %s: %.1f ns\n", what, ns);
    }
}

static void print_costs(Monitor *mon, const DirtyTrackingCost *c)
{
    print_cost(mon, "collect, per page", c->has_collect_page, c->collect_page);
    print_cost(mon, "collect, per GiB", c->has_scan_gib, c->scan_gib);
    print_cost(mon, "clean, per range", c->has_clean_range, c->clean_range);
    print_cost(mon, "clean, per page", c->has_clean_page, c->clean_page);
    print_cost(mon, "next write to a page", c->has_fault_page, c->fault_page);
    print_cost(mon, "or in an armed group", c->has_update_page, c->update_page);
}

static void print_vcpus(Monitor *mon, const DirtyTrackingVCPUList *list)
{
    for (; list; list = list->next) {
        const DirtyTrackingVCPU *v = list->value;

        monitor_printf(mon, "  vCPU %" PRId64 ":", v->cpu_index);
        if (v->has_pages) {
            monitor_printf(mon, " %" PRIu64 " pages written", v->pages);
        }
        if (v->has_ring_entries) {
            monitor_printf(mon,
                           ", %" PRIu64 " entries, %" PRIu64 " soft full, "
                           "%" PRIu64 " hard full",
                           v->ring_entries, v->soft_full, v->hard_full);
        }
        if (v->sleeps) {
            monitor_printf(mon, ", %" PRIu64 " sleeps, %.1f %% of the time now",
                           v->sleeps, v->asleep);
        }
        monitor_puts(mon, "\n");
    }
}

static void print_rings(Monitor *mon, const DirtyTrackingRings *r)
{
    monitor_printf(mon,
                   "rings: %u of %u entries\n"
                   "  entries: %" PRIu64 ", %" PRIu64 " of them again, %" PRIu64
                   " dropped (no slot), %" PRIu64 " dropped (beyond slot)\n",
                   r->rings, r->size, r->entries, r->refaults, r->unknown,
                   r->beyond);
    monitor_printf(mon,
                   "  reaps: %" PRIu64 " full, %" PRIu64 " collect, %" PRIu64
                   " period, %" PRIu64 " drain; %" PRIu64 " batches\n",
                   r->reaps_full, r->reaps_collect, r->reaps_period,
                   r->reaps_drain, r->batches);
    monitor_printf(mon,
                   "  reap time: %.3f ms, reset %.3f ms, longest reap "
                   "%.3f ms, period %" PRIu64 " ms\n",
                   r->reap_time / 1e6, r->reset_time / 1e6,
                   r->longest_reap / 1e6, r->period);
    monitor_printf(mon,
                   "  vCPU exits: %" PRIu64 " soft full, %" PRIu64
                   " hard full; waited %.3f ms, longest %.3f ms\n"
                   "  big lock taken by the reaper: %" PRIu64 "\n",
                   r->soft_full, r->hard_full, r->full_time / 1e6,
                   r->longest_wait / 1e6, r->big_lock);
}

static void print_work(Monitor *mon, const DirtyTrackingWork *w)
{
    monitor_printf(mon,
                   "work: %" PRIu64 " collects, %" PRIu64 " cleans; words "
                   "read: %" PRIu64 " by the engine, %" PRIu64
                   " to pass pages on, %" PRIu64 " by looks of auto\n",
                   w->collects, w->cleans, w->tracker_words, w->block_words,
                   w->look_words);
}

static void print_groups(Monitor *mon, const DirtyTrackingGroups *g)
{
    monitor_printf(
        mon,
        "groups of 64 pages: %" PRIu64 " armed now; %" PRIu64 " armed, %" PRIu64
        " disarmed, %" PRIu64 " fallen back, %" PRIu64 " come back\n",
        g->armed_now, g->armed, g->disarmed, g->fallen_back, g->come_back);
    monitor_printf(mon,
                   "  writes: %" PRIu64 " faults, %" PRIu64 " without\n"
                   "  collects read %" PRIu64 " groups, %" PRIu64
                   " entries, %" PRIu64 " words of the summary\n"
                   "  pages: %" PRIu64 " collected, %" PRIu64 " cleaned\n",
                   g->faults, g->hardware_updates, g->groups_scanned,
                   g->entries_scanned, g->summary_words, g->pages_collected,
                   g->pages_cleaned);
}

static void print_inputs(Monitor *mon, const DirtyTrackingInputs *i)
{
    monitor_printf(mon,
                   "  guest: %" PRIu64 " pages, %u vCPUs, %u of them write; "
                   "working set %" PRIu64 " pages, %" PRIu64
                   " page writes/s, %.1f pages per group\n",
                   i->ram_pages, i->vcpus, i->writers, i->working_set,
                   i->page_writes, i->pages_per_group);
    monitor_printf(mon,
                   "  link: %" PRIu64 " bytes/s, %" PRIu64 " pages to send; "
                   "rings of %u; sample of %" PRId64 " us took %" PRId64
                   " us\n",
                   i->bandwidth, i->owed_pages, i->ring_size, i->sample_time,
                   i->sample_cost);
}

static void print_decision(Monitor *mon, const DirtyTrackingDecision *d)
{
    monitor_printf(
        mon,
        "auto: %s (cheapest: %s), decided %" PRId64 " times, changed %" PRId64
        " times; a change costs %" PRId64 " us\n",
        DirtyTrackingMode_str(d->choice), DirtyTrackingMode_str(d->cheapest),
        d->decisions, d->changes, d->change_cost);
    for (const DirtyTrackingChangeList *c = d->history; c; c = c->next) {
        monitor_printf(
            mon,
            "  changed in round %" PRId64 ", after %" PRId64
            " us: %s to %s, for %" PRId64 " us instead of %" PRId64 "\n",
            c->value->round, c->value->time,
            DirtyTrackingMode_str(c->value->from),
            DirtyTrackingMode_str(c->value->to), c->value->go, c->value->stay);
    }
    if (d->refused) {
        monitor_printf(mon, "  refused: %s\n", d->refused);
    }
    print_inputs(mon, d->inputs);
    for (const DirtyTrackingPredictionList *l = d->predictions; l;
         l = l->next) {
        const DirtyTrackingPrediction *p = l->value;

        monitor_printf(
            mon,
            "  %s: %" PRIu64 " faults, %" PRIu64 " without, %" PRIu64
            " words, %" PRIu64 " pages, %" PRIu64 " cleans, %" PRIu64
            " ring exits: guest %" PRId64 " us, thread %" PRId64 " us\n",
            DirtyTrackingMode_str(p->engine), p->faults, p->updates, p->words,
            p->pages, p->cleans, p->ring_exits, p->guest_time, p->thread_time);
    }
}

static void hmp_info_dirty_tracking(Monitor *mon, json_object *args)
{
    g_autoptr(DirtyTrackingInfo) info = qmp_query_dirty_tracking(NULL);

    monitor_printf(
        mon, "accelerator: %s\nmode: %s\nengine: %s\n",
        Accelerator_str(info->accelerator), DirtyTrackingMode_str(info->mode),
        info->has_engine ? DirtyTrackingMode_str(info->engine) : "none");
    print_users(mon, info->users);
    monitor_puts(mon, "engines:\n");
    print_engines(mon, info->engines);
    monitor_puts(mon, "vcpus:\n");
    print_vcpus(mon, info->vcpus);
    if (info->rings) {
        print_rings(mon, info->rings);
    }
    if (info->groups) {
        print_groups(mon, info->groups);
    }
    if (info->decision) {
        print_decision(mon, info->decision);
    }
    monitor_puts(mon, "measured costs:\n");
    print_costs(mon, info->cost);
    print_work(mon, info->work);
}

const HMPCommand hmp_dirty_info_commands[] = {
    { .name = "dirty_tracking",
      .args_type = "",
      .params = "",
      .help = "show how the pages that the guest writes are found out (not "
              "about dirty bitmaps of block devices)",
      .cmd = hmp_info_dirty_tracking },
    { .name = NULL },
};
