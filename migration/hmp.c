/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Human monitor: migrate, migrate_*, info migrate*. QEMU's layout first. */
#include "qemu/osdep.h"

#include <json-c/json.h>

#include "migration/migration.h"
#include "io/channel-socket.h"
#include "qapi/qapi-commands-migration.h"
#include "qemu/cutils.h"
#include "qemu/fd-store.h"
#include "qemu/timer.h"
#include "system/machine-info.h"

#include "source.h"
#include "options.h"
#include "transport.h"

static const char *arg_str(json_object *args, const char *name)
{
    json_object *v;

    return json_object_object_get_ex(args, name, &v) ? json_object_get_string(v)
                                                     : NULL;
}

static bool arg_flag(json_object *args, const char *name)
{
    json_object *v;

    return json_object_object_get_ex(args, name, &v) &&
           json_object_get_boolean(v);
}

/* ------------------------------------------------------- info migrate */

static void print_size(Monitor *mon, const char *before, uint64_t bytes)
{
    g_autofree char *text = size_to_str(bytes);

    monitor_printf(mon, "%s%s", before, text);
}

static void print_ram(Monitor *mon, const MigrationRAMStats *ram)
{
    monitor_printf(mon, "RAM info:\n");
    monitor_printf(mon, "  Throughput (Mbps): \t%0.2f\n", ram->mbps);
    print_size(mon, "  Sizes: \t\tpagesize=", ram->page_size);
    print_size(mon, ", total=", ram->total);
    print_size(mon, "\n  Transfers: \t\ttransferred=", ram->transferred);
    print_size(mon, ", remain=", ram->remaining);
    print_size(mon, "\n    Channels: \t\tprecopy=", ram->precopy_bytes);
    print_size(mon, ", multifd=", ram->multifd_bytes);
    print_size(mon, ", postcopy=", ram->postcopy_bytes);
    monitor_printf(mon,
                   "\n    Page Types: \tnormal=%" PRId64 ", zero=%" PRId64 "\n",
                   ram->normal, ram->duplicate);
    monitor_printf(mon, "  Page Rates (pps): \ttransfer=%" PRIu64,
                   ram->pages_per_second);
    if (ram->dirty_pages_rate) {
        monitor_printf(mon, ", dirty=%" PRId64, ram->dirty_pages_rate);
    }
    monitor_printf(mon, "\n  Others: \t\tdirty_syncs=%" PRId64,
                   ram->dirty_sync_count);
    if (ram->downtime_bytes) {
        monitor_printf(mon, ", downtime_bytes=%" PRIu64, ram->downtime_bytes);
    }
    monitor_printf(mon, "\n");
}

static void print_times(Monitor *mon, const MigrationInfo *info)
{
    if (!info->has_total_time) {
        return;
    }
    monitor_printf(mon, "Time (ms): \t\ttotal=%" PRId64 ", setup=%" PRId64,
                   info->total_time, info->setup_time);
    if (info->has_downtime) {
        monitor_printf(mon, ", down=%" PRId64, info->downtime);
    } else {
        monitor_printf(mon, ", exp_down=%" PRId64, info->expected_downtime);
    }
    monitor_printf(mon, "\n");
}

static void print_part(Monitor *mon, const char *name, bool has, int64_t us)
{
    if (has) {
        monitor_printf(mon, " %s=%.3f", name, (double)us / 1000);
    }
}

static void print_blackout(Monitor *mon, const MigrationBlackoutInfo *b)
{
    monitor_printf(mon, "Blackout (ms): \t\t");
    print_part(mon, "total", b->has_total, b->total);
    monitor_printf(mon, b->has_total ? " =" : " so far");
    print_part(mon, "stop", b->has_stop, b->stop);
    print_part(mon, "save", b->has_save, b->save);
    print_part(mon, "collect", b->has_collect, b->collect);
    print_part(mon, "pages", b->has_pages, b->pages);
    print_part(mon, "devices", b->has_devices, b->devices);
    print_part(mon, "wait", b->has_wait, b->wait);
    monitor_printf(mon, "\n");
    if (b->has_restore_devices && b->has_restore_start) {
        monitor_printf(mon, "  At the target: \t");
        print_part(mon, "devices", true, b->restore_devices);
        print_part(mon, "start", true, b->restore_start);
        monitor_printf(mon, "\n");
    }
    print_size(mon, "  Last pages: \t\t", b->pages_bytes);
    print_size(mon, ", devices: ", b->device_bytes);
    monitor_printf(mon, "\n");
}

static void print_round(Monitor *mon, const MigrationRoundInfo *r)
{
    g_autofree char *owed = size_to_str(r->remaining);
    g_autofree char *sent = size_to_str(r->bytes);

    monitor_printf(mon,
                   "  %3" PRId64 ": owed=%s sent=%s ms=%.1f normal=%" PRIu64
                   " zero=%" PRIu64 " sync_us=%" PRId64 " (collect=%" PRId64
                   " sweep=%" PRId64 ") clean_us=%" PRId64 " wait_us=%" PRId64
                   " clears=%" PRIu64 "\n",
                   r->number, owed, sent, r->duration, r->normal, r->duplicate,
                   r->sync->total, r->sync->collect, r->sync->sweep,
                   r->sync->clean, r->sync->wait, r->sync->clears);
}

static void print_throttle(Monitor *mon, const MigrationThrottleInfo *t)
{
    monitor_printf(mon,
                   "Throttle: \t\t%" PRId64 " %% after %" PRIu64 " checks\n",
                   t->percentage, t->checks);
    for (MigrationThrottledVcpuList *v = t->vcpus; v; v = v->next) {
        monitor_printf(mon,
                       "  vcpu[%" PRId64 "]: \t\tasleep=%.1f %% sleeps=%" PRIu64
                       " slept=%" PRId64 " ms written=%" PRIu64 " pages\n",
                       v->value->id, v->value->asleep, v->value->sleeps,
                       v->value->slept, v->value->written);
    }
}

static void print_details(Monitor *mon, const MigrationDetails *d)
{
    if (!d->rounds) {
        return; /* it never came to that */
    }
    monitor_printf(mon,
                   "Rounds: \t\t%" PRId64 ", waited for the bandwidth "
                   "limit %" PRId64 " ms%s\n",
                   d->rounds, d->idle_time,
                   d->own_kind ? ", target is our own kind" : "");
    if (d->holes) {
        monitor_printf(mon,
                       "Holes (pages): \t\t%" PRIu64 ", %" PRIu64
                       " of them not sent\n",
                       d->holes, d->skipped);
    }
    for (MigrationRoundInfoList *r = d->recent_rounds; r; r = r->next) {
        print_round(mon, r->value);
    }
    if (d->prediction) {
        print_size(mon, "Prediction: \t\tbandwidth=", d->prediction->bandwidth);
        monitor_printf(mon, "/s, pause=%.1f ms (fixed %.1f ms), ",
                       (double)d->prediction->downtime / 1000,
                       (double)d->prediction->downtime_fixed / 1000);
        if (d->prediction->has_time_left) {
            monitor_printf(mon, "time left=%" PRId64 " ms\n",
                           d->prediction->time_left);
        } else {
            monitor_printf(mon, "does not end at this rate\n");
        }
    }
    if (d->prediction && d->prediction->stall) {
        const MigrationStallInfo *stall = d->prediction->stall;

        print_size(mon, "Stalled: \t\tat ", stall->remaining);
        monitor_printf(mon,
                       " for %" PRId64 " ms, could end with a pause of "
                       "%.1f ms\n",
                       stall->duration, (double)stall->downtime / 1000);
    }
    if (d->throttle) {
        print_throttle(mon, d->throttle);
    }
    if (d->called_off) {
        monitor_printf(mon,
                       "Pauses called off: \t%" PRIu64 " (%.3f ms in all)\n",
                       d->called_off, (double)d->called_off_time / 1000);
    }
    if (d->blackout) {
        print_blackout(mon, d->blackout);
    }
}

static void print_cost(Monitor *mon, const char *what, bool has, double ns)
{
    if (has) {
        monitor_printf(mon, " %s=%.1f", what, ns);
    }
}

/* `info dirty_tracking` shows everything; here is what a migration is about. */
static void print_tracking(Monitor *mon, const DirtyTrackingCounters *c)
{
    const DirtyTrackingRings *r = c->rings;
    const DirtyTrackingGroups *g = c->groups;

    if (!c->has_engine) {
        return; /* nothing executes guest code */
    }
    monitor_printf(mon, "Dirty tracking: \t%s, pages written:",
                   DirtyTrackingMode_str(c->engine));
    for (DirtyTrackingVCPUList *v = c->vcpus; v; v = v->next) {
        if (v->value->has_pages) {
            monitor_printf(mon, " vcpu[%" PRId64 "]=%" PRIu64,
                           v->value->cpu_index, v->value->pages);
        }
    }
    if (r) {
        monitor_printf(mon,
                       "\n  Rings: \t\t%u of %u, entries=%" PRIu64
                       " again=%" PRIu64 " soft_full=%" PRIu64
                       " hard_full=%" PRIu64 " longest_wait_ms=%.3f "
                       "batches=%" PRIu64 " reap_ms=%.3f",
                       r->rings, r->size, r->entries, r->refaults, r->soft_full,
                       r->hard_full, (double)r->longest_wait / 1e6, r->batches,
                       (double)r->reap_time / 1e6);
    }
    if (g) {
        monitor_printf(mon,
                       "\n  Groups: \t\t%" PRIu64 " armed, faults=%" PRIu64
                       " without=%" PRIu64 " entries_read=%" PRIu64
                       " collected=%" PRIu64,
                       g->armed_now, g->faults, g->hardware_updates,
                       g->entries_scanned, g->pages_collected);
    }
    monitor_printf(mon, "\n  Costs (ns): \t\t");
    print_cost(mon, "collect_page", c->cost->has_collect_page,
               c->cost->collect_page);
    print_cost(mon, "scan_gib", c->cost->has_scan_gib, c->cost->scan_gib);
    print_cost(mon, "clean_range", c->cost->has_clean_range,
               c->cost->clean_range);
    print_cost(mon, "clean_page", c->cost->has_clean_page, c->cost->clean_page);
    print_cost(mon, "fault_page", c->cost->has_fault_page, c->cost->fault_page);
    monitor_printf(mon, "\n");
}

static void print_sockets(Monitor *mon, const MigrationInfo *info)
{
    if (!info->socket_address) {
        return;
    }
    monitor_printf(mon, "Sockets: [\n");
    for (SocketAddressList *a = info->socket_address; a; a = a->next) {
        g_autofree char *uri = socket_uri(a->value);

        monitor_printf(mon, "\t%s\n", uri);
    }
    monitor_printf(mon, "]\n");
}

static void print_globals(Monitor *mon)
{
    static const char *const on_off[] = { "off", "on" };

    monitor_printf(mon, "Globals:\n");
    monitor_printf(mon, "  store-global-state: %s\n",
                   on_off[migrate_store_global_state()]);
    monitor_printf(mon, "  only-migratable: %s\n",
                   on_off[machine_info()->only_migratable]);
    monitor_printf(mon, "  send-configuration: %s\n",
                   on_off[migrate_send_configuration()]);
    monitor_printf(mon, "  send-section-footer: %s\n",
                   on_off[migrate_send_section_footer()]);
    monitor_printf(mon, "  send-switchover-start: %s\n",
                   on_off[migrate_send_switchover_start()]);
    monitor_printf(mon, "  clear-bitmap-shift: %u\n",
                   migrate_clear_bitmap_shift());
}

static void hmp_info_migrate(Monitor *mon, json_object *args)
{
    g_autoptr(MigrationInfo) info = qmp_query_migrate(NULL);

    for (strList *r = info->blocked_reasons; r; r = r->next) {
        monitor_printf(mon, "%s%s\n",
                       r == info->blocked_reasons ? "Outgoing migration "
                                                    "blocked:\n  "
                                                  : "  ",
                       r->value);
    }
    if (info->has_status) {
        monitor_printf(mon, "Status: \t\t%s",
                       MigrationStatus_str(info->status));
        if (info->error_desc) {
            monitor_printf(mon, " (%s)", info->error_desc);
        }
        monitor_printf(mon, "\n");
        print_times(mon, info);
    }
    if (info->has_remaining) {
        print_size(mon, "Remaining: \t\t", info->remaining);
        monitor_printf(mon, "\n");
    }
    print_sockets(mon, info);
    if (info->ram) {
        print_ram(mon, info->ram);
    }
    if (info->details) {
        print_details(mon, info->details);
    }
    if (info->dirty_tracking) {
        print_tracking(mon, info->dirty_tracking);
    }
    if (info->restore) {
        monitor_printf(
            mon,
            "Restore (ms): \t\tload=%.3f devices=%.3f start=%.3f, "
            "pages: normal=%" PRIu64 " zero=%" PRIu64 " cleared=%" PRIu64 "\n",
            (double)info->restore->load / 1000,
            (double)info->restore->devices / 1000,
            (double)info->restore->start / 1000, info->restore->normal,
            info->restore->duplicate, info->restore->cleared);
    }
    if (arg_flag(args, "all")) {
        print_globals(mon);
    }
    if (arg_flag(args, "all") && info->has_cpu_throttle_percentage) {
        monitor_printf(mon, "CPU Throttle (%%): %" PRId64 "\n",
                       info->cpu_throttle_percentage);
    }
    if (arg_flag(args, "all") &&
        info->has_dirty_limit_throttle_time_per_round) {
        monitor_printf(mon, "Dirty-limit Throttle (us): %" PRIu64 "\n",
                       info->dirty_limit_throttle_time_per_round);
    }
    if (arg_flag(args, "all") && info->has_dirty_limit_ring_full_time) {
        monitor_printf(mon, "Dirty-limit Ring Full (us): %" PRIu64 "\n",
                       info->dirty_limit_ring_full_time);
    }
}

static void hmp_info_migrate_capabilities(Monitor *mon, json_object *args)
{
    g_autoptr(MigrationCapabilityStatusList)
        list = qmp_query_migrate_capabilities(NULL);

    for (MigrationCapabilityStatusList *c = list; c; c = c->next) {
        monitor_printf(mon, "%s: %s\n",
                       MigrationCapability_str(c->value->capability),
                       c->value->state ? "on" : "off");
    }
}

static void hmp_info_migrate_parameters(Monitor *mon, json_object *args)
{
    g_autoptr(GString) text = g_string_new(NULL);

    migration_parameters_print(text);
    monitor_puts(mon, text->str);
}

/* ------------------------------------------------------------ migrate */

#define PROGRESS_MS 250

/* A monitor that waits for a migration's end. */
typedef struct MigrateWait {
    Monitor *mon;
    QEMUTimer *timer;
    bool printed;
} MigrateWait;

static void print_progress(MigrateWait *w, const MigrationRAMStats *ram)
{
    double done = ram->total ? 100.0 * (double)(ram->total - ram->remaining) /
                                   (double)ram->total
                             : 100;

    monitor_printf(w->mon, "\rCompleted %3.0f %%, pass %" PRId64, done,
                   ram->dirty_sync_count);
    w->printed = true;
}

static void migrate_wait_tick(void *opaque)
{
    MigrateWait *w = opaque;
    g_autoptr(MigrationInfo) info = qmp_query_migrate(NULL);

    if (info->ram) {
        print_progress(w, info->ram);
    }
    if (migration_is_running()) {
        timer_mod(w->timer,
                  qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + PROGRESS_MS);
        return;
    }
    if (w->printed) {
        monitor_printf(w->mon, "\n");
    }
    if (info->status == MIGRATION_STATUS_FAILED) {
        monitor_printf(w->mon, "Error: migration failed: %s\n",
                       info->error_desc ? info->error_desc : "no reason known");
    }
    monitor_resume(w->mon);
    timer_free(w->timer);
    g_free(w);
}

static void hmp_migrate(Monitor *mon, json_object *args)
{
    Error *err = NULL;
    MigrateWait *w;

    if (arg_flag(args, "resume")) {
        error_setg(&err, "there is no paused migration to resume");
    } else {
        qmp_migrate(arg_str(args, "uri"), false, NULL, false, false, &err);
    }
    if (hmp_handle_error(mon, err) || arg_flag(args, "detach") ||
        !monitor_suspend(mon)) {
        return;
    }
    w = g_new0(MigrateWait, 1);
    w->mon = mon;
    w->timer = timer_new_ms(QEMU_CLOCK_REALTIME, migrate_wait_tick, w);
    timer_mod(w->timer, qemu_clock_get_ms(QEMU_CLOCK_REALTIME));
}

static void hmp_migrate_cancel(Monitor *mon, json_object *args)
{
    qmp_migrate_cancel(NULL);
}

static void hmp_migrate_continue(Monitor *mon, json_object *args)
{
    Error *err = NULL;
    int state = qapi_enum_parse(&MigrationStatus_lookup, arg_str(args, "state"),
                                -1, &err);

    if (state >= 0) {
        qmp_migrate_continue(state, &err);
    }
    hmp_handle_error(mon, err);
}

static void hmp_migrate_incoming(Monitor *mon, json_object *args)
{
    Error *err = NULL;

    qmp_migrate_incoming(arg_str(args, "uri"), false, NULL, false, false, &err);
    hmp_handle_error(mon, err);
}

static void hmp_migrate_set_capability(Monitor *mon, json_object *args)
{
    Error *err = NULL;
    int cap = qapi_enum_parse(&MigrationCapability_lookup,
                              arg_str(args, "capability"), -1, &err);

    if (cap >= 0) {
        migration_capability_set(cap, arg_flag(args, "state"), &err);
    }
    hmp_handle_error(mon, err);
}

static void hmp_migrate_set_parameter(Monitor *mon, json_object *args)
{
    Error *err = NULL;

    migration_parameter_set_str(arg_str(args, "parameter"),
                                arg_str(args, "value"), &err);
    hmp_handle_error(mon, err);
}

static void add_fd_uri(void *opaque, const char *name)
{
    g_autofree char *uri = g_strconcat("fd:", name, NULL);

    hmp_completion_add(opaque, uri);
}

static void complete_uri(HMPCompletion *c, const char *const *words, unsigned n)
{
    static const char *const kinds[] = { "exec:", "fd:", "file:", "tcp:",
                                         "unix:" };

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        hmp_completion_add(c, kinds[i]);
    }
    if (g_str_has_prefix(c->word, "fd:")) {
        fd_store_foreach(add_fd_uri, c);
    }
}

static void complete_state(HMPCompletion *c, const char *const *words,
                           unsigned n)
{
    hmp_completion_add(c, MigrationStatus_str(MIGRATION_STATUS_PRE_SWITCHOVER));
}

static void complete_capability(HMPCompletion *c, const char *const *words,
                                unsigned n)
{
    for (int i = 0; i < MIGRATION_CAPABILITY__MAX; i++) {
        hmp_completion_add(c, MigrationCapability_str(i));
    }
}

static void add_to_completion(const char *name, void *opaque)
{
    hmp_completion_add(opaque, name);
}

static void complete_parameter(HMPCompletion *c, const char *const *words,
                               unsigned n)
{
    migration_parameter_foreach(n ? words[0] : NULL, add_to_completion, c);
}

const HMPCommand hmp_migration_commands[] = {
    {
        .name = "migrate",
        .args_type = "detach:-d,resume:-r,uri:s",
        .params = "[-d] [-r] uri",
        .help = "move the guest to URI (-d: do not wait for the end; -r: "
                "resume a paused postcopy)",
        .cmd = hmp_migrate,
        .complete = complete_uri,
    },
    {
        .name = "migrate_cancel",
        .args_type = "",
        .params = "",
        .help = "give up the migration under way",
        .cmd = hmp_migrate_cancel,
    },
    {
        .name = "migrate_continue",
        .args_type = "state:s",
        .params = "state",
        .help = "go on with a migration that waits in STATE",
        .cmd = hmp_migrate_continue,
        .complete = complete_state,
    },
    {
        .name = "migrate_incoming",
        .args_type = "uri:s",
        .params = "uri",
        .help = "wait for a migration at URI (after -incoming defer)",
        .cmd = hmp_migrate_incoming,
        .complete = complete_uri,
    },
    {
        .name = "migrate_set_capability",
        .args_type = "capability:s,state:b",
        .params = "capability state",
        .help = "switch a capability on or off",
        .cmd = hmp_migrate_set_capability,
        .complete = complete_capability,
    },
    {
        .name = "migrate_set_parameter",
        .args_type = "parameter:s,value:s",
        .params = "parameter value",
        .help = "set a parameter (bandwidths without a suffix are MiB/s)",
        .cmd = hmp_migrate_set_parameter,
        .complete = complete_parameter,
    },
    { .name = NULL },
};

const HMPCommand hmp_migration_info_commands[] = {
    {
        .name = "migrate",
        .args_type = "all:-a",
        .params = "[-a]",
        .help = "show how the migration is getting on, or went (-a: and "
                "settings that -global makes)",
        .cmd = hmp_info_migrate,
    },
    {
        .name = "migrate_capabilities",
        .args_type = "",
        .params = "",
        .help = "show the capabilities and which are on",
        .cmd = hmp_info_migrate_capabilities,
    },
    {
        .name = "migrate_parameters",
        .args_type = "",
        .params = "",
        .help = "show the parameters",
        .cmd = hmp_info_migrate_parameters,
    },
    { .name = NULL },
};
