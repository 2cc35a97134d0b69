/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Throttling for a migration: see throttle.h for the contract. */
#include "qemu/osdep.h"

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "system/cpu-throttle.h"
#include "system/dirty-limit.h"
#include "system/dirty-tracker.h"

#include "options-throttle.h"
#include "options.h"
#include "ram/ram.h"
#include "source.h"
#include "throttle.h"
#include "trace-migration.h"

/* Time between two checks; longer if a check is dear. */
#define CHECK_NS       INT64_C(200000000)
#define CHECK_PER_COST 20
/* Checks in a row that must find too much. */
#define HIGH_CHECKS 2
/* Weight of the latest window in a vCPU's demand. */
#define DEMAND_WEIGHT 0.5
/* Pages of all vCPUs that say enough about who writes. */
#define ENOUGH_PAGES 64

struct ThrottleVcpu {
    CPUState *cpu;
    uint64_t written; /* at the last check */
    double demand;    /* pages a window, if it did not sleep; averaged */
    /* When the migration began. */
    uint64_t written_base;
    CpuThrottleStats stats_base;
};

/* ---------------------------------------------------------- arithmetic */

static double ratio(uint64_t written, uint64_t base, unsigned trigger_pct)
{
    double allowed = (double)base * trigger_pct / 100;

    return allowed > 0 ? (double)written / allowed : written ? G_MAXDOUBLE : 0;
}

double throttle_excess(const ThrottleSample *s, unsigned trigger_pct)
{
    return MAX(ratio(s->dirtied, s->sent, trigger_pct),
               ratio(s->round_dirtied, s->round_owed, trigger_pct));
}

unsigned throttle_next_pct(unsigned now_pct, double excess,
                           const ThrottleSteps *steps)
{
    unsigned step = steps->increment;

    if (now_pct == 0) {
        return MIN(steps->initial, steps->max);
    }
    if (steps->tailslow && excess > 0) {
        /* Running less in this proportion would be enough. */
        double awake = 100 - now_pct;
        double too_much = awake - awake / excess;

        step = MIN(step, (unsigned)MAX(too_much, 0));
    }
    return MIN(now_pct + step, MAX(steps->max, now_pct));
}

/* -------------------------------------------------------- who writes */

static void find_vcpus(MigrationThrottle *t)
{
    CPUState *cpu;

    t->nr_vcpus = cpu_count();
    t->vcpus = g_new0(struct ThrottleVcpu, t->nr_vcpus);
    CPU_FOREACH (cpu) {
        struct ThrottleVcpu *v = &t->vcpus[cpu->cpu_index];

        v->cpu = cpu;
        v->stats_base = cpu_throttle_stats(cpu);
        t->attributes = dirty_tracker_written(cpu, &v->written_base);
        v->written = v->written_base;
    }
}

/*
 * What each wrote since the last look, as it would have been without sleeps.
 * A few pages do not tell: a writer that slept, or got no host CPU, must not
 * change places with one that only touched its stack. So they are left for the
 * next look, and until then who wrote before still counts.
 */
static void look_who_writes(MigrationThrottle *t)
{
    g_autofree uint64_t *now = g_new0(uint64_t, t->nr_vcpus);
    uint64_t sum = 0;

    if (!t->attributes) {
        return;
    }
    for (unsigned i = 0; i < t->nr_vcpus; i++) {
        dirty_tracker_written(t->vcpus[i].cpu, &now[i]);
        sum += now[i] - t->vcpus[i].written;
    }
    for (unsigned i = 0; i < t->nr_vcpus && sum >= ENOUGH_PAGES; i++) {
        struct ThrottleVcpu *v = &t->vcpus[i];
        double awake = (double)(CPU_THROTTLE_ONE - cpu_throttle_get(v->cpu)) /
                       CPU_THROTTLE_ONE;
        double demand = (double)(now[i] - v->written) / awake;

        v->demand = v->demand == 0 ? demand
                                   : v->demand * (1 - DEMAND_WEIGHT) +
                                         demand * DEMAND_WEIGHT;
        v->written = now[i];
    }
}

static void apply(MigrationThrottle *t)
{
    g_autofree double *demand = g_new0(double, t->nr_vcpus);
    g_autofree uint32_t *share = g_new0(uint32_t, t->nr_vcpus);
    unsigned pct = atomic_load(&t->pct);
    bool known = !t->attributes;

    for (unsigned i = 0; i < t->nr_vcpus; i++) {
        demand[i] = t->vcpus[i].demand;
        known |= demand[i] > 0;
    }
    if (!known) {
        return; /* who writes will show */
    }
    cpu_throttle_divide(demand, t->nr_vcpus, pct * CPU_THROTTLE_PCT, share);
    for (unsigned i = 0; i < t->nr_vcpus; i++) {
        cpu_throttle_set(CPU_THROTTLE_CONVERGE, t->vcpus[i].cpu, share[i]);
    }
}

static void report(MigrationThrottle *t)
{
    GArray *report = g_array_new(false, false, sizeof(ThrottledVcpu));

    for (unsigned i = 0; i < t->nr_vcpus; i++) {
        const struct ThrottleVcpu *v = &t->vcpus[i];
        CpuThrottleStats stats = cpu_throttle_stats(v->cpu);
        ThrottledVcpu r = {
            .cpu_index = v->cpu->cpu_index,
            .share = cpu_throttle_get(v->cpu),
            .sleeps = stats.sleeps - v->stats_base.sleeps,
            .slept_ns = stats.slept_ns - v->stats_base.slept_ns,
            .written_pages = v->written - v->written_base,
        };

        g_array_append_val(report, r);
    }
    QEMU_LOCK_GUARD(&t->lock);
    g_clear_pointer(&t->report, g_array_unref);
    t->report = report;
}

/* ------------------------------------------------------------- checking */

void migration_throttle_init(MigrationThrottle *t)
{
    qemu_mutex_init(&t->lock);
}

void migration_throttle_reset(MigrationThrottle *t)
{
    atomic_store(&t->pct, 0);
    atomic_store(&t->limiting, false);
    atomic_store(&t->checks, 0);
    QEMU_LOCK_GUARD(&t->lock);
    g_clear_pointer(&t->report, g_array_unref);
}

/*
 * To the guest a sleep is a pause, and right before a switchover it is a part of
 * that one: so none may be long beside the downtime limit, whoever throttles.
 */
static void bound_sleeps(void)
{
    cpu_throttle_bound_sleep(
        cpu_throttle_bound_for_limit(migrate_downtime_limit_ms()));
}

void migration_throttle_begin(MigrationState *s)
{
    MigrationThrottle *t = &s->throttle;

    bound_sleeps();
    t->by_limit = migrate_dirty_limit();
    t->on = (migrate_auto_converge() || t->by_limit) && cpu_count();
    t->has_base = false;
    t->high = 0;
    t->last_check_ns = get_clock();
    t->check_cost_ns = 0;
    if (t->on) {
        find_vcpus(t);
    }
    if (t->on && !t->by_limit) {
        cpu_throttle_begin(CPU_THROTTLE_CONVERGE);
    }
}

static ThrottleSample take_sample(MigrationState *s)
{
    MigrationThrottle *t = &s->throttle;
    const RamSave *rs = ram_save_state();
    uint64_t pending = ram_pending_pages(rs);
    uint64_t dirtied = rs->synced_pages + pending;
    uint64_t sent = rs->sent_pages;
    ThrottleSample sample = {
        .dirtied = dirtied - t->base_dirtied,
        .sent = sent - t->base_sent,
        .round_dirtied = pending,
        .round_owed = rs->round_owed_pages,
    };

    t->base_dirtied = dirtied;
    t->base_sent = sent;
    return sample;
}

/* Begin to limit, or follow a parameter that was changed. */
static void limit(MigrationState *s)
{
    MigrationThrottle *t = &s->throttle;
    Error *err = NULL;

    BQL_LOCK_GUARD();
    /* A cancel sets it under the BQL, and then ends limits: not after that. */
    if (atomic_load(&s->quit)) {
        return;
    }
    dirty_limit_set_period(
        (int)migrate_throttle_option(THROTTLE_OPTION_PERIOD));
    if (dirty_limit_set(DIRTY_LIMIT_BY_MIGRATION, -1,
                        migrate_throttle_option(THROTTLE_OPTION_LIMIT), &err)) {
        t->limit_mib = migrate_throttle_option(THROTTLE_OPTION_LIMIT);
        t->period_ms = migrate_throttle_option(THROTTLE_OPTION_PERIOD);
        atomic_store(&t->limiting, true);
    } else {
        warn_report_err(err);
        t->on = false; /* once is enough */
    }
}

static bool limit_is_stale(const MigrationThrottle *t)
{
    return t->limit_mib != migrate_throttle_option(THROTTLE_OPTION_LIMIT) ||
           t->period_ms != migrate_throttle_option(THROTTLE_OPTION_PERIOD);
}

static void decide_by_limit(MigrationState *s, double excess)
{
    MigrationThrottle *t = &s->throttle;

    t->high = excess > 1 ? t->high + 1 : 0;
    if (atomic_load(&t->limiting) ? limit_is_stale(t)
                                  : t->high >= HIGH_CHECKS) {
        limit(s);
    }
}

static void decide_by_steps(MigrationThrottle *t, double excess)
{
    unsigned pct = atomic_load(&t->pct);
    ThrottleSteps steps = {
        .initial = migrate_throttle_option(THROTTLE_OPTION_INITIAL),
        .increment = migrate_throttle_option(THROTTLE_OPTION_INCREMENT),
        .max = migrate_throttle_option(THROTTLE_OPTION_MAX),
        .tailslow = migrate_throttle_option(THROTTLE_OPTION_TAILSLOW),
    };

    t->high = excess > 1 ? t->high + 1 : 0;
    if (t->high >= HIGH_CHECKS) {
        t->high = 0;
        pct = throttle_next_pct(pct, excess, &steps);
        atomic_store(&t->pct, pct);
    }
    if (pct) {
        apply(t);
    }
}

static void decide(MigrationState *s, const ThrottleSample *sample)
{
    MigrationThrottle *t = &s->throttle;
    double excess = throttle_excess(
        sample, migrate_throttle_option(THROTTLE_OPTION_TRIGGER));

    atomic_fetch_add(&t->checks, 1);
    trace_migration_throttle(sample->dirtied, sample->sent,
                             sample->round_dirtied, sample->round_owed,
                             atomic_load(&t->pct));
    if (t->by_limit) {
        decide_by_limit(s, excess);
    } else {
        decide_by_steps(t, excess);
    }
}

void migration_throttle_check(MigrationState *s, bool first_pass_done)
{
    MigrationThrottle *t = &s->throttle;
    int64_t now = get_clock();
    ThrottleSample sample;

    bound_sleeps(); /* the limit may have been changed */
    if (!t->on || !first_pass_done ||
        now - t->last_check_ns <
            MAX(CHECK_NS, t->check_cost_ns * CHECK_PER_COST)) {
        return;
    }
    t->last_check_ns = now;
    sample = take_sample(s);
    look_who_writes(t);
    if (t->has_base) {
        decide(s, &sample);
    }
    t->has_base = true;
    report(t);
    t->check_cost_ns = get_clock() - now;
}

void migration_throttle_stop(MigrationState *s)
{
    cpu_throttle_end(CPU_THROTTLE_CONVERGE);
    if (atomic_exchange(&s->throttle.limiting, false)) {
        dirty_limit_cancel(DIRTY_LIMIT_BY_MIGRATION, -1);
        dirty_limit_set_period(DIRTY_LIMIT_PERIOD_DEFAULT_MS);
    }
}

void migration_throttle_end(MigrationState *s)
{
    MigrationThrottle *t = &s->throttle;

    cpu_throttle_bound_sleep(CPU_THROTTLE_LONGEST_NS);
    if (!t->vcpus) {
        return;
    }
    look_who_writes(t);
    report(t); /* with the last shares */
    cpu_throttle_end(CPU_THROTTLE_CONVERGE);
    {
        BQL_LOCK_GUARD();
        migration_throttle_stop(s);
    }
    g_clear_pointer(&t->vcpus, g_free);
    t->on = false;
}
