/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Human commands about how fast the guest writes. QEMU's layout. */
#include "qemu/osdep.h"

#include <json-c/json.h>

#include "qapi/qapi-commands-dirty-rate.h"
#include "qemu/error.h"
#include "system/monitor-cmds.h"

static int64_t arg_int(json_object *args, const char *name, int64_t otherwise)
{
    json_object *v;

    return json_object_object_get_ex(args, name, &v) ? json_object_get_int64(v)
                                                     : otherwise;
}

static bool has_arg(json_object *args, const char *name)
{
    return json_object_object_get_ex(args, name, NULL);
}

static void hmp_calc_dirty_rate(Monitor *mon, json_object *args)
{
    bool ring = has_arg(args, "dirty_ring");
    bool bitmap = has_arg(args, "dirty_bitmap");
    int64_t seconds = arg_int(args, "second", 0);
    Error *err = NULL;

    if (ring && bitmap) {
        monitor_puts(mon, "Either -r or -b can be given, not both\n");
        return;
    }
    qmp_calc_dirty_rate(seconds, true, TIME_UNIT_SECOND,
                        has_arg(args, "sample_pages_per_GB"),
                        arg_int(args, "sample_pages_per_GB", 0), true,
                        ring     ? DIRTY_RATE_MEASURE_MODE_DIRTY_RING
                        : bitmap ? DIRTY_RATE_MEASURE_MODE_DIRTY_BITMAP
                                 : DIRTY_RATE_MEASURE_MODE_PAGE_SAMPLING,
                        &err);
    if (hmp_handle_error(mon, err)) {
        return;
    }
    monitor_printf(mon,
                   "Starting dirty rate measurement with period %" PRId64
                   " seconds\n"
                   "[Please use 'info dirty_rate' to check results]\n",
                   seconds);
}

static void hmp_info_dirty_rate(Monitor *mon, json_object *args)
{
    g_autoptr(DirtyRateInfo) info = qmp_query_dirty_rate(false, 0, NULL);

    monitor_printf(mon, "Status: %s\n", DirtyRateStatus_str(info->status));
    monitor_printf(mon, "Start Time: %" PRId64 " (ms)\n", info->start_time);
    if (info->mode == DIRTY_RATE_MEASURE_MODE_PAGE_SAMPLING) {
        monitor_printf(mon, "Sample Pages: %" PRIu64 " (per GB)\n",
                       info->sample_pages);
    }
    monitor_printf(mon, "Period: %" PRId64 " (sec)\n", info->calc_time);
    monitor_printf(mon, "Mode: %s\n", DirtyRateMeasureMode_str(info->mode));
    if (!info->has_dirty_rate) {
        monitor_puts(mon, "Dirty rate: (not ready)\n");
        return;
    }
    monitor_printf(mon, "Dirty rate: %" PRId64 " (MB/s)\n", info->dirty_rate);
    for (DirtyRateVcpuList *v = info->vcpu_dirty_rate; v; v = v->next) {
        monitor_printf(mon,
                       "vcpu[%" PRId64 "], Dirty rate: %" PRId64 " (MB/s)\n",
                       v->value->id, v->value->dirty_rate);
    }
}

static void hmp_set_vcpu_dirty_limit(Monitor *mon, json_object *args)
{
    int64_t rate = arg_int(args, "dirty_rate", 0);
    Error *err = NULL;

    if (rate < 0) {
        monitor_puts(mon, "Error: a limit cannot be negative\n");
        return;
    }
    qmp_set_vcpu_dirty_limit(has_arg(args, "cpu_index"),
                             arg_int(args, "cpu_index", 0), (uint64_t)rate,
                             &err);
    if (!hmp_handle_error(mon, err)) {
        monitor_puts(mon, "[Please use 'info vcpu_dirty_limit' to query dirty "
                          "limit for virtual CPU]\n");
    }
}

static void hmp_cancel_vcpu_dirty_limit(Monitor *mon, json_object *args)
{
    Error *err = NULL;

    qmp_cancel_vcpu_dirty_limit(has_arg(args, "cpu_index"),
                                arg_int(args, "cpu_index", 0), &err);
    if (!hmp_handle_error(mon, err)) {
        monitor_puts(mon, "[Please use 'info vcpu_dirty_limit' to query dirty "
                          "limit for virtual CPU]\n");
    }
}

static void hmp_info_vcpu_dirty_limit(Monitor *mon, json_object *args)
{
    g_autoptr(DirtyLimitInfoList) list = qmp_query_vcpu_dirty_limit(NULL);

    if (!list) {
        monitor_puts(mon, "Dirty page limit not enabled!\n");
    }
    for (DirtyLimitInfoList *v = list; v; v = v->next) {
        monitor_printf(mon,
                       "vcpu[%" PRId64 "], limit rate %" PRIu64
                       " (MB/s), current rate %" PRIu64 " (MB/s)\n",
                       v->value->cpu_index, v->value->limit_rate,
                       v->value->current_rate);
    }
}

static void complete_limit(HMPCompletion *c, const char *const *words,
                           unsigned n)
{
    if (n == 1) { /* behind the rate */
        hmp_complete_cpu_index(c, words, n);
    }
}

const HMPCommand hmp_dirty_rate_commands[] = {
    { .name = "calc_dirty_rate",
      .args_type = "dirty_ring:-r,dirty_bitmap:-b,second:l,"
                   "sample_pages_per_GB:l?",
      .params = "[-r] [-b] second [sample_pages_per_GB]",
      .help = "measure how much memory the guest writes (by samples; -r: with "
              "dirty rings, -b: by tracking and counting)",
      .cmd = hmp_calc_dirty_rate },
    { .name = "set_vcpu_dirty_limit",
      .args_type = "dirty_rate:l,cpu_index:l?",
      .params = "dirty_rate [cpu_index]",
      .help = "limit how much a vCPU, or each, may write, in MB/s (0: no "
              "limit)",
      .cmd = hmp_set_vcpu_dirty_limit,
      .complete = complete_limit },
    { .name = "cancel_vcpu_dirty_limit",
      .args_type = "cpu_index:l?",
      .params = "[cpu_index]",
      .help = "take the limit of a vCPU, or of all, away",
      .cmd = hmp_cancel_vcpu_dirty_limit,
      .complete = hmp_complete_cpu_index },
    { .name = NULL },
};

const HMPCommand hmp_dirty_rate_info_commands[] = {
    { .name = "dirty_rate",
      .args_type = "",
      .params = "",
      .help = "show the latest result of calc_dirty_rate",
      .cmd = hmp_info_dirty_rate },
    { .name = "vcpu_dirty_limit",
      .args_type = "",
      .params = "",
      .help = "show how much vCPUs may write, and do",
      .cmd = hmp_info_vcpu_dirty_limit },
    { .name = NULL },
};
