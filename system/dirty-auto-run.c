/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dirty-tracking=auto while a migration goes on: see dirty-auto.h.
 *
 *   begin   clean what was collected so far, as would come soon anyway: a page
 *           that is writable would hide from the counts
 *   look    count once, count again, decide
 *   round   correct the curves by what the round really was, decide again
 *
 * The counts are of the migration's own bits, which stay where they are. A
 * first pass that is over before the second count is too short to matter.
 */
#include "qemu/osdep.h"

#include <math.h>

#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/thread.h"
#include "qemu/timer.h"
#include "system/cpus.h"
#include "system/dirty-auto.h"
#include "system/dirty-choice.h"
#include "system/dirty-memory.h"
#include "system/dirty-reaper.h"
#include "system/ram-block.h"

#define NS_PER_S 1e9
/* Of the first count; and if rings fill meanwhile, so often for each vCPU. */
#define SAMPLE_NS       INT64_C(10000000)
#define SAMPLE_SHORT_NS INT64_C(1000000)
#define SAMPLE_EXITS    8
/* Rounds between two changes, and how many in a migration. */
#define REST_ROUNDS 2
#define CHANGES_MAX 4
/* A vCPU that writes less than this part of the busiest one is no writer. */
#define WRITER_SHARE 16

typedef enum Step {
    STEP_OFF,
    STEP_FIRST,  /* wait for the first count */
    STEP_SECOND, /* and for the second */
    STEP_KNOWN,  /* the guest is known */
    STEP_LATE,   /* it will not be in this migration */
} Step;

/* Singleton: there is one migration. */
static struct {
    /* The migration thread's. */
    Step step;
    bool change_always;
    int64_t begin_ns, first_ns, wait_ns;
    uint64_t exits; /* of vCPUs, for rings, at the beginning */
    DirtyCount first;
    uint64_t *written; /* per vCPU, at the beginning */
    unsigned rounds, changed_in;

    /* Guarded by lock; written by the migration thread alone. */
    QemuMutex lock;
    bool known;
    unsigned decisions, changes;
    int64_t sample_ns; /* time spent on counting */
    double second_s;   /* when the second count was */
    char *refused;
    DirtyTrackingChange history[CHANGES_MAX];
    DirtyAutoInputs in;
    DirtyAutoDecision decision;
} run = {
    .lock = { PTHREAD_MUTEX_INITIALIZER },
};

/* ---- counting ---- */

/* What has been written and not been taken; @at_ns: when. */
static DirtyCount count(int64_t *at_ns)
{
    g_autoptr(GPtrArray) blocks = qemu_ram_blocks_snapshot();
    DirtyCount n = { 0 };

    *at_ns = get_clock();
    memory_global_dirty_log_sync(false);
    for (guint i = 0; i < blocks->len; i++) {
        ram_block_survey_dirty(blocks->pdata[i], DIRTY_MEMORY_MIGRATION, &n);
    }
    QEMU_LOCK_GUARD(&run.lock);
    run.sample_ns += get_clock() - *at_ns;
    return n;
}

static uint64_t pages_of_ram(void)
{
    g_autoptr(GPtrArray) blocks = qemu_ram_blocks_snapshot();
    uint64_t n = 0;

    for (guint i = 0; i < blocks->len; i++) {
        n += qemu_ram_get_max_length(blocks->pdata[i]) >> DIRTY_PAGE_BITS;
    }
    return n;
}

/* Pages that each vCPU has written since @from (NULL: ever). */
static uint64_t *written_since(const uint64_t *from)
{
    uint64_t *pages = g_new0(uint64_t, MAX(cpu_count(), 1));
    unsigned i = 0;
    CPUState *cpu;

    CPU_FOREACH (cpu) {
        if (i < cpu_count() && dirty_tracker_written(cpu, &pages[i])) {
            pages[i] -= from ? from[i] : 0;
        }
        i++;
    }
    return pages;
}

/* 0: nobody knows. */
static unsigned count_writers(void)
{
    g_autofree uint64_t *pages = written_since(run.written);
    uint64_t most = 0;
    unsigned n = 0;

    for (unsigned i = 0; i < cpu_count(); i++) {
        most = MAX(most, pages[i]);
    }
    for (unsigned i = 0; most && i < cpu_count(); i++) {
        n += pages[i] * WRITER_SHARE >= most;
    }
    return n;
}

/* ---- deciding ---- */

static const DirtyTrackerOps *tracker_of(DirtyAutoEngine e)
{
    int mode = qapi_enum_parse(&DirtyTrackingMode_lookup,
                               dirty_auto_engine_name(e), -1, NULL);

    return mode < 0 ? NULL : dirty_tracking_find(mode);
}

static void fill_costs(DirtyAutoInputs *in)
{
    DirtyReaperStats s;

    for (unsigned e = 0; e < DIRTY_AUTO_NR; e++) {
        const DirtyTrackerOps *ops = tracker_of(e);

        if (ops && ops->cost) {
            ops->cost(&in->cost[e]);
        }
        in->must_move[e] = ops && dirty_tracker_must_move(ops);
        if (in->must_move[e] && ops->move->cost) {
            ops->move->cost(&in->move[e]);
        }
    }
    dirty_reaper_get_stats(&s);
    in->ring_exit_ns = s.full_exit_ns;
}

static DirtyTrackingMode mode_of(DirtyAutoEngine e)
{
    return qapi_enum_parse(&DirtyTrackingMode_lookup, dirty_auto_engine_name(e),
                           0, &error_abort);
}

static void note_change_locked(DirtyAutoEngine from, DirtyAutoEngine to)
{
    const DirtyAutoPrediction *p = run.decision.predicted;

    if (run.changes < CHANGES_MAX) { /* a test makes more */
        run.history[run.changes] = (DirtyTrackingChange){
            .round = run.rounds,
            .time = (get_clock() - run.begin_ns) / 1000,
            .from = mode_of(from),
            .to = mode_of(to),
            .stay = (int64_t)(dirty_auto_cost_ns(&p[from]) / 1000),
            .go = (int64_t)(dirty_auto_cost_ns(&p[to]) / 1000),
        };
    }
    run.changes++;
}

static void change(DirtyAutoEngine to)
{
    const DirtyTrackerOps *ops = tracker_of(to);
    Error *err = NULL;
    bool ok;

    bql_lock();
    ok = memory_global_dirty_log_switch(ops, GLOBAL_DIRTY_MIGRATION, &err);
    bql_unlock();
    run.changed_in = run.rounds;
    QEMU_LOCK_GUARD(&run.lock);
    g_clear_pointer(&run.refused, g_free);
    if (ok) {
        note_change_locked(run.in.current, to);
        run.in.current = to;
    } else {
        run.refused = g_strdup(error_get_pretty(err));
        error_free(err);
    }
}

static void decide(const DirtyAutoLink *link)
{
    DirtyAutoEngine now = dirty_auto_engine(dirty_tracker_active()->name);
    DirtyAutoInputs in = run.in;
    DirtyAutoDecision d;

    if (now == DIRTY_AUTO_NR) {
        return;
    }
    in.owed_pages = link->owed_pages;
    in.chunk_pages = link->chunk_pages;
    in.bandwidth = link->bandwidth;
    in.current = now;
    in.possible[now] = true;
    fill_costs(&in);
    dirty_auto_decide(&in, &d);
    WITH_QEMU_LOCK_GUARD(&run.lock)
    {
        run.in = in;
        run.decision = d;
        run.known = true;
        run.decisions++;
    }
    if (d.choice != now &&
        (run.changed_in == 0 || run.rounds - run.changed_in >= REST_ROUNDS) &&
        run.changes < CHANGES_MAX) {
        change(d.choice);
    }
}

static void change_to_next(void)
{
    DirtyAutoEngine now = dirty_auto_engine(dirty_tracker_active()->name);

    for (unsigned i = 1; now < DIRTY_AUTO_NR && i < DIRTY_AUTO_NR; i++) {
        DirtyAutoEngine e = (now + i) % DIRTY_AUTO_NR;

        if (run.in.possible[e]) {
            change(e);
            return;
        }
    }
}

/* ---- what the migration calls ---- */

static void clean_all(void)
{
    g_autoptr(GPtrArray) blocks = qemu_ram_blocks_snapshot();

    for (guint i = 0; i < blocks->len; i++) {
        RAMBlock *rb = blocks->pdata[i];

        ram_block_clean(rb, 0, qemu_ram_get_max_length(rb));
    }
}

/* BQL. Whether there is anything to decide. */
static bool begin_locked(DirtyAutoInputs *in, bool change_always)
{
    DirtyAutoEngine now = dirty_auto_engine(dirty_tracker_active()->name);

    *in = (DirtyAutoInputs){
        .ram_pages = pages_of_ram(),
        .vcpus = cpu_count(),
        .ring_entries = dirty_tracking_ring_entries(),
    };
    for (unsigned e = 0; e < DIRTY_AUTO_NR; e++) {
        const DirtyTrackerOps *ops = tracker_of(e);

        in->possible[e] = ops && ops->probe(NULL);
    }
    if (dirty_tracking_mode() != DIRTY_TRACKING_MODE_AUTO ||
        now == DIRTY_AUTO_NR) {
        return false;
    }
    in->current = now;
    fill_costs(in);
    return change_always || dirty_auto_has_choice(in);
}

void dirty_auto_begin(bool change_always)
{
    DirtyAutoInputs in;
    bool has_choice;

    WITH_QEMU_LOCK_GUARD(&run.lock)
    {
        run.known = false;
        run.decisions = run.changes = 0;
        run.decision = (DirtyAutoDecision){ 0 };
        run.second_s = 0;
        run.sample_ns = 0;
        g_clear_pointer(&run.refused, g_free);
    }
    bql_lock();
    has_choice = begin_locked(&in, change_always);
    bql_unlock();
    WITH_QEMU_LOCK_GUARD(&run.lock)
    {
        run.in = in;
        run.decision.choice = run.decision.best = in.current;
    }
    run.step = has_choice ? STEP_FIRST : STEP_OFF;
    run.change_always = change_always;
    run.rounds = run.changed_in = 0;
    if (run.step == STEP_OFF) {
        return;
    }
    clean_all();
    g_free(run.written);
    run.written = written_since(NULL);
    run.begin_ns = get_clock();
    run.wait_ns = SAMPLE_NS;
    run.exits = dirty_reaper_soft_full_exits();
}

static void know(const DirtyCount *second, int64_t at_ns)
{
    double first_s = (double)(run.first_ns - run.begin_ns) / NS_PER_S;
    double second_s = (double)(at_ns - run.begin_ns) / NS_PER_S;
    unsigned writers = count_writers();

    QEMU_LOCK_GUARD(&run.lock);
    run.second_s = second_s;
    run.in.writers = writers;
#define FIT(what, unit)                                                   \
    dirty_auto_fit((double)run.first.what, first_s, (double)second->what, \
                   second_s, ceil((double)run.in.ram_pages / (unit)))
    run.in.pages = FIT(pages, 1);
    run.in.groups = FIT(groups, DIRTY_AUTO_GROUP_PAGES);
    run.in.units = FIT(units, DIRTY_AUTO_UNIT_PAGES);
#undef FIT
}

/* Each of many exits costs as much as hundreds of faults. */
static bool rings_fill(void)
{
    return dirty_reaper_soft_full_exits() - run.exits >=
           SAMPLE_EXITS * MAX(run.in.vcpus, 1);
}

static bool is_time_to_count(void)
{
    int64_t ns = get_clock() - run.begin_ns;

    return ns >= run.wait_ns ||
           (run.step == STEP_FIRST && ns >= SAMPLE_SHORT_NS && rings_fill());
}

void dirty_auto_look(const DirtyAutoLink *link)
{
    int64_t at_ns;
    DirtyCount n;

    if ((run.step != STEP_FIRST && run.step != STEP_SECOND) ||
        !is_time_to_count()) {
        return;
    }
    n = count(&at_ns);
    if (run.step == STEP_FIRST) {
        run.first = n;
        run.first_ns = at_ns;
        run.wait_ns = 2 * (at_ns - run.begin_ns);
        run.step = STEP_SECOND;
        return;
    }
    know(&n, at_ns);
    run.step = STEP_KNOWN;
    decide(link);
}

void dirty_auto_round(uint64_t new_pages, double s, const DirtyAutoLink *link)
{
    if (run.step == STEP_OFF) {
        return;
    }
    run.rounds++;
    if (run.step != STEP_KNOWN) {
        run.step = STEP_LATE;
    } else if (run.rounds > 1 && s > 0) {
        unsigned writers = count_writers();
        double before, times;

        WITH_QEMU_LOCK_GUARD(&run.lock)
        {
            run.in.writers = writers;
            before = run.in.pages.rate_per_s;
            dirty_auto_refit(&run.in.pages, (double)new_pages, s);
            times = before > 0 ? run.in.pages.rate_per_s / before : 1;
            run.in.groups.rate_per_s *= times;
            run.in.units.rate_per_s *= times;
        }
    }
    if (run.change_always) {
        change_to_next();
    } else if (run.step == STEP_KNOWN) {
        decide(link);
    }
}

void dirty_auto_end(void)
{
    run.step = STEP_OFF;
    g_clear_pointer(&run.written, g_free);
}

/* ---- what is told ---- */

static DirtyTrackingChangeList *history_locked(void)
{
    DirtyTrackingChangeList *list = NULL, **tail = &list;

    for (unsigned i = 0; i < MIN(run.changes, CHANGES_MAX); i++) {
        DirtyTrackingChange *c = g_new(DirtyTrackingChange, 1);

        *c = run.history[i];
        QAPI_LIST_APPEND(tail, c);
    }
    return list;
}

static DirtyTrackingInputs *inputs_locked(void)
{
    DirtyTrackingInputs *i = g_new0(DirtyTrackingInputs, 1);
    const DirtyAutoInputs *in = &run.in;
    double pages = dirty_auto_at(&in->pages, run.second_s);
    double groups = dirty_auto_at(&in->groups, run.second_s);

    i->ram_pages = in->ram_pages;
    i->vcpus = in->vcpus;
    i->writers = in->writers;
    i->working_set = (uint64_t)in->pages.limit;
    i->page_writes = (uint64_t)in->pages.rate_per_s;
    i->pages_per_group = groups > 0 ? pages / groups : 0;
    i->bandwidth = in->bandwidth;
    i->owed_pages = in->owed_pages;
    i->ring_size = in->ring_entries;
    i->sample_time = (int64_t)(run.second_s * 1e6);
    i->sample_cost = run.sample_ns / 1000;
    return i;
}

static DirtyTrackingPredictionList *predictions_locked(void)
{
    DirtyTrackingPredictionList *list = NULL, **tail = &list;

    for (unsigned e = 0; e < DIRTY_AUTO_NR; e++) {
        const DirtyAutoPrediction *p = &run.decision.predicted[e];
        DirtyTrackingPrediction *q;

        if (!p->possible) {
            continue;
        }
        q = g_new0(DirtyTrackingPrediction, 1);
        *q = (DirtyTrackingPrediction){
            .engine = mode_of(e),
            .faults = (uint64_t)p->faults,
            .updates = (uint64_t)p->updates,
            .words = (uint64_t)p->scanned_words,
            .pages = (uint64_t)p->collected,
            .cleans = (uint64_t)p->cleaned_ranges,
            .ring_exits = (uint64_t)p->ring_exits,
            .guest_time = (int64_t)(p->guest_ns / 1000),
            .thread_time = (int64_t)(p->thread_ns / 1000),
        };
        QAPI_LIST_APPEND(tail, q);
    }
    return list;
}

DirtyTrackingDecision *dirty_auto_query(void)
{
    DirtyTrackingDecision *d;

    QEMU_LOCK_GUARD(&run.lock);
    /* Changed for a test before the guest was known: that counts, too. */
    if (!run.known && !run.changes) {
        return NULL;
    }
    d = g_new0(DirtyTrackingDecision, 1);
    d->choice = mode_of(run.decision.choice);
    d->cheapest = mode_of(run.decision.best);
    d->decisions = run.decisions;
    d->changes = run.changes;
    d->change_cost = (int64_t)(run.decision.change_ns / 1000);
    d->history = history_locked();
    d->refused = g_strdup(run.refused);
    d->inputs = inputs_locked();
    d->predictions = predictions_locked();
    return d;
}
