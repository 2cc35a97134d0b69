/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measuring the dirty rate: see include/system/dirty-rate.h. */
#include "qemu/osdep.h"

#include "dirty-sample.h"
#include "qapi/qapi-commands-dirty-rate.h"
#include "qemu/error.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"
#include "system/cpus.h"
#include "system/dirty-memory.h"
#include "system/dirty-rate.h"
#include "system/dirty-tracker.h"
#include "system/ram-block.h"
#include "system/runstate.h"

#define CALC_TIME_MIN_MS     50
#define CALC_TIME_MAX_MS     60000
#define SAMPLE_PAGES_MIN     128
#define SAMPLE_PAGES_MAX     16384
#define SAMPLE_PAGES_DEFAULT 512

#define NS_PER_S INT64_C(1000000000)

typedef struct VcpuRate {
    int cpu_index;
    uint64_t pages; /* written until the measurement began; then, in it */
    int64_t rate;   /* MiB per second */
} VcpuRate;

/* Singleton: the commands speak of "the" measurement. */
static struct {
    /* BQL. */
    bool initialized, thread_exists;
    QemuThread thread;

    /* Posted to end the wait. */
    QemuSemaphore quit;

    /* Guarded by lock. */
    QemuMutex lock;
    DirtyRateStatus status;
    DirtyRateMeasureMode mode;
    int64_t calc_time_ms;
    int64_t start_time_s;
    uint64_t sample_pages;
    int64_t rate;
    GArray *vcpus; /* VcpuRate; NULL: not known */
} measure;

int64_t dirty_rate_of_bytes(uint64_t bytes, int64_t span_ns)
{
    double mib = (double)bytes / (1024 * 1024);

    return span_ns > 0 ? (int64_t)(mib * (double)NS_PER_S / (double)span_ns)
                       : 0;
}

void dirty_rate_rearm_all(void)
{
    g_autoptr(GPtrArray) blocks = qemu_ram_blocks_snapshot();

    /* Clean takes back only what was collected. */
    memory_global_dirty_log_sync(false);
    for (guint i = 0; i < blocks->len; i++) {
        RAMBlock *rb = blocks->pdata[i];

        ram_block_clean(rb, 0, qemu_ram_get_max_length(rb));
    }
}

/* ------------------------------------------------------ the measurement */

/* Take the client's pages; returns how many there were. */
static uint64_t take_pages(void)
{
    g_autoptr(GPtrArray) blocks = qemu_ram_blocks_snapshot();
    uint64_t n = 0;

    for (guint i = 0; i < blocks->len; i++) {
        RAMBlock *rb = blocks->pdata[i];

        n += ram_block_collect_dirty(rb, 0, qemu_ram_get_max_length(rb),
                                     DIRTY_MEMORY_RATE, NULL);
    }
    return n;
}

/* What each vCPU has written so far; NULL if the tracker cannot tell. */
static GArray *vcpus_begin(void)
{
    g_autoptr(GArray) vcpus = g_array_new(false, false, sizeof(VcpuRate));
    CPUState *cpu;

    CPU_FOREACH (cpu) {
        VcpuRate v = { .cpu_index = cpu->cpu_index };

        if (!dirty_tracker_written(cpu, &v.pages)) {
            return NULL;
        }
        g_array_append_val(vcpus, v);
    }
    return vcpus->len ? g_steal_pointer(&vcpus) : NULL;
}

/* Returns the sum of their pages. */
static uint64_t vcpus_end(GArray *vcpus, int64_t span_ns)
{
    uint64_t sum = 0;

    for (guint i = 0; i < vcpus->len; i++) {
        VcpuRate *v = &g_array_index(vcpus, VcpuRate, i);
        uint64_t now = v->pages;

        dirty_tracker_written(qemu_get_cpu(v->cpu_index), &now);
        v->pages = now - v->pages;
        v->rate = dirty_rate_of_bytes(v->pages << DIRTY_PAGE_BITS, span_ns);
        sum += v->pages;
    }
    return sum;
}

static void wait_until_over(int64_t calc_time_ms)
{
    qemu_sem_timedwait(&measure.quit, (int)calc_time_ms);
}

/* Bytes written, and by whom. */
static uint64_t measure_by_tracking(DirtyRateMeasureMode mode, int64_t ms,
                                    int64_t *span_ns, GArray **vcpus)
{
    uint64_t pages, by_vcpus = 0;
    int64_t begin_ns;

    dirty_rate_rearm_all();
    take_pages();
    *vcpus = vcpus_begin();
    begin_ns = get_clock();
    wait_until_over(ms);
    memory_global_dirty_log_sync(false);
    *span_ns = get_clock() - begin_ns;
    pages = take_pages();
    if (*vcpus) {
        by_vcpus = vcpus_end(*vcpus, *span_ns);
    }
    {
        BQL_LOCK_GUARD();
        memory_global_dirty_log_stop(GLOBAL_DIRTY_DIRTY_RATE);
    }
    /* A ring has a page once for each time that it went through. */
    return (mode == DIRTY_RATE_MEASURE_MODE_DIRTY_RING && *vcpus ? by_vcpus
                                                                 : pages)
           << DIRTY_PAGE_BITS;
}

static uint64_t measure_by_samples(uint64_t pages_per_gib, int64_t ms,
                                   int64_t *span_ns)
{
    DirtySample *sample = dirty_sample_take(pages_per_gib);
    int64_t begin_ns = get_clock();
    uint64_t bytes;

    wait_until_over(ms);
    *span_ns = get_clock() - begin_ns;
    bytes = dirty_sample_compare(sample, NULL);
    dirty_sample_free(sample);
    return bytes;
}

static void *measure_thread(void *opaque)
{
    DirtyRateMeasureMode mode;
    int64_t calc_time_ms, span_ns;
    uint64_t sample_pages, bytes;
    GArray *vcpus = NULL;

    WITH_QEMU_LOCK_GUARD(&measure.lock)
    {
        mode = measure.mode;
        calc_time_ms = measure.calc_time_ms;
        sample_pages = measure.sample_pages;
    }
    if (mode == DIRTY_RATE_MEASURE_MODE_PAGE_SAMPLING) {
        bytes = measure_by_samples(sample_pages, calc_time_ms, &span_ns);
    } else {
        bytes = measure_by_tracking(mode, calc_time_ms, &span_ns, &vcpus);
    }
    QEMU_LOCK_GUARD(&measure.lock);
    measure.rate = dirty_rate_of_bytes(bytes, span_ns);
    measure.vcpus = vcpus;
    measure.status = DIRTY_RATE_STATUS_MEASURED;
    return NULL;
}

/* ---------------------------------------------------------- begin, end */

/* BQL, given up meanwhile: the thread may need it to end. */
static void TSA_NO_CHECK join(void)
{
    if (measure.thread_exists) {
        bql_unlock();
        qemu_thread_join(&measure.thread);
        bql_lock();
        measure.thread_exists = false;
    }
}

static void exit_notify(Notifier *notifier, void *data)
{
    qemu_sem_post(&measure.quit);
    join();
}

static void init_once(void)
{
    static Notifier exit_notifier = { .notify = exit_notify };

    if (!measure.initialized) {
        qemu_mutex_init(&measure.lock);
        qemu_sem_init(&measure.quit, 0);
        qemu_add_exit_notifier(&exit_notifier);
        measure.initialized = true;
    }
}

static int64_t ms_of(int64_t time, TimeUnit unit)
{
    if (unit == TIME_UNIT_MILLISECOND) {
        return time;
    }
    /* Out of range in any case, rather than wrapped. */
    return time > CALC_TIME_MAX_MS || time < 0 ? CALC_TIME_MAX_MS + 1
                                               : time * 1000;
}

static bool check(int64_t calc_time_ms, bool has_sample_pages,
                  int64_t sample_pages, DirtyRateMeasureMode mode, Error **errp)
{
    const char *tracker = dirty_tracker_active()->name;

    if (calc_time_ms < CALC_TIME_MIN_MS || calc_time_ms > CALC_TIME_MAX_MS) {
        error_setg(errp, "calc-time must be between %d and %d ms",
                   CALC_TIME_MIN_MS, CALC_TIME_MAX_MS);
        return false;
    }
    if (has_sample_pages && mode != DIRTY_RATE_MEASURE_MODE_PAGE_SAMPLING) {
        error_setg(errp, "sample-pages has a meaning only in mode "
                         "page-sampling");
        return false;
    }
    if (has_sample_pages &&
        (sample_pages < SAMPLE_PAGES_MIN || sample_pages > SAMPLE_PAGES_MAX)) {
        error_setg(errp, "sample-pages must be between %d and %d per GiB",
                   SAMPLE_PAGES_MIN, SAMPLE_PAGES_MAX);
        return false;
    }
    if (mode == DIRTY_RATE_MEASURE_MODE_DIRTY_RING && strcmp(tracker, "ring")) {
        error_setg(errp,
                   "mode dirty-ring needs dirty rings, but dirty "
                   "tracking is '%s' here: use another mode",
                   tracker);
        return false;
    }
    return true;
}

static bool is_measuring(void)
{
    QEMU_LOCK_GUARD(&measure.lock);
    return measure.status == DIRTY_RATE_STATUS_MEASURING;
}

static bool start(Error **errp)
{
    bool tracking = measure.mode != DIRTY_RATE_MEASURE_MODE_PAGE_SAMPLING;

    if (tracking &&
        !memory_global_dirty_log_start(GLOBAL_DIRTY_DIRTY_RATE, errp)) {
        return false;
    }
    measure.thread_exists = qemu_thread_create(&measure.thread, "mig/dirtyrate",
                                               measure_thread, NULL,
                                               QEMU_THREAD_JOINABLE, errp);
    if (!measure.thread_exists && tracking) {
        memory_global_dirty_log_stop(GLOBAL_DIRTY_DIRTY_RATE);
    }
    return measure.thread_exists;
}

void qmp_calc_dirty_rate(int64_t calc_time, bool has_calc_time_unit,
                         TimeUnit calc_time_unit, bool has_sample_pages,
                         int64_t sample_pages, bool has_mode,
                         DirtyRateMeasureMode mode, Error **errp)
{
    int64_t ms = ms_of(calc_time,
                       has_calc_time_unit ? calc_time_unit : TIME_UNIT_SECOND);

    init_once();
    mode = has_mode ? mode : DIRTY_RATE_MEASURE_MODE_PAGE_SAMPLING;
    if (is_measuring()) {
        error_setg(errp, "the dirty rate is being measured already");
        return;
    }
    if (!check(ms, has_sample_pages, sample_pages, mode, errp)) {
        return;
    }
    join();
    WITH_QEMU_LOCK_GUARD(&measure.lock)
    {
        measure.mode = mode;
        measure.calc_time_ms = ms;
        measure.start_time_s = g_get_real_time() / G_USEC_PER_SEC;
        measure.sample_pages = mode != DIRTY_RATE_MEASURE_MODE_PAGE_SAMPLING ? 0
                               : has_sample_pages ? (uint64_t)sample_pages
                                                  : SAMPLE_PAGES_DEFAULT;
        g_clear_pointer(&measure.vcpus, g_array_unref);
        measure.status = DIRTY_RATE_STATUS_MEASURING;
    }
    if (!start(errp)) {
        QEMU_LOCK_GUARD(&measure.lock);
        measure.status = DIRTY_RATE_STATUS_UNSTARTED;
    }
}

static void fill_vcpus(DirtyRateInfo *info)
{
    DirtyRateVcpuList **tail = &info->vcpu_dirty_rate;

    if (!measure.vcpus) {
        return;
    }
    info->has_vcpu_dirty_rate = true;
    for (guint i = 0; i < measure.vcpus->len; i++) {
        const VcpuRate *v = &g_array_index(measure.vcpus, VcpuRate, i);
        DirtyRateVcpu *out = g_new0(DirtyRateVcpu, 1);

        out->id = v->cpu_index;
        out->dirty_rate = v->rate;
        QAPI_LIST_APPEND(tail, out);
    }
}

DirtyRateInfo *qmp_query_dirty_rate(bool has_calc_time_unit,
                                    TimeUnit calc_time_unit, Error **errp)
{
    DirtyRateInfo *info = g_new0(DirtyRateInfo, 1);
    TimeUnit unit = has_calc_time_unit ? calc_time_unit : TIME_UNIT_SECOND;

    init_once();
    QEMU_LOCK_GUARD(&measure.lock);
    info->status = measure.status;
    info->start_time = measure.start_time_s;
    info->calc_time = unit == TIME_UNIT_SECOND ? measure.calc_time_ms / 1000
                                               : measure.calc_time_ms;
    info->calc_time_unit = unit;
    info->sample_pages = measure.sample_pages;
    info->mode = measure.mode;
    if (measure.status == DIRTY_RATE_STATUS_MEASURED) {
        info->has_dirty_rate = true;
        info->dirty_rate = measure.rate;
        fill_vcpus(info);
    }
    return info;
}
