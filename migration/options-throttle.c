/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters of throttling: see options-throttle.h. */
#include "qemu/osdep.h"

#include "options-throttle.h"
#include "qemu/error.h"

typedef struct OptionInfo {
    const char *name;
    uint64_t min, max;
    size_t size;             /* of the member */
    size_t value, has_value; /* in MigrationParameters */
} OptionInfo;

#define OPTION(n, f, lo, hi)                                \
    {                                                       \
        .name = (n), .min = (lo), .max = (hi),              \
        .size = sizeof(((MigrationParameters *)0)->f),      \
        .value = offsetof(MigrationParameters, f),          \
        .has_value = offsetof(MigrationParameters, has_##f) \
    }

static const OptionInfo infos[THROTTLE_OPTION__MAX] = {
    [THROTTLE_OPTION_TRIGGER] = OPTION("throttle-trigger-threshold",
                                       throttle_trigger_threshold, 1, 100),
    [THROTTLE_OPTION_INITIAL] = OPTION("cpu-throttle-initial",
                                       cpu_throttle_initial, 1, 99),
    [THROTTLE_OPTION_INCREMENT] = OPTION("cpu-throttle-increment",
                                         cpu_throttle_increment, 1, 99),
    [THROTTLE_OPTION_MAX] = OPTION("max-cpu-throttle", max_cpu_throttle, 1, 99),
    [THROTTLE_OPTION_TAILSLOW] = OPTION("cpu-throttle-tailslow",
                                        cpu_throttle_tailslow, 0, 1),
    [THROTTLE_OPTION_LIMIT] = OPTION("vcpu-dirty-limit", vcpu_dirty_limit, 1,
                                     INT64_MAX >> 20),
    [THROTTLE_OPTION_PERIOD] = OPTION("x-vcpu-dirty-limit-period",
                                      x_vcpu_dirty_limit_period, 1, 1000),
};

/* Singleton: see options.c. */
static _Atomic uint64_t values[THROTTLE_OPTION__MAX];

uint64_t migrate_throttle_option(ThrottleOption option)
{
    return atomic_load_explicit(&values[option], memory_order_relaxed);
}

static bool has(const MigrationParameters *p, const OptionInfo *info)
{
    return *(const bool *)((const char *)p + info->has_value);
}

static uint64_t value_of(const MigrationParameters *p, const OptionInfo *info)
{
    const void *v = (const char *)p + info->value;

    return info->size == 1 ? *(const uint8_t *)v : *(const uint64_t *)v;
}

static bool check(const OptionInfo *info, uint64_t value, Error **errp)
{
    if (value < info->min || value > info->max) {
        error_setg(errp,
                   "%s must be between %" PRIu64 " and %" PRIu64
                   ", not %" PRIu64,
                   info->name, info->min, info->max, value);
        return false;
    }
    return true;
}

bool throttle_options_check(const MigrationParameters *p, Error **errp)
{
    const OptionInfo *initial = &infos[THROTTLE_OPTION_INITIAL];
    const OptionInfo *max = &infos[THROTTLE_OPTION_MAX];
    uint64_t from, to;

    for (int i = 0; i < THROTTLE_OPTION__MAX; i++) {
        if (has(p, &infos[i]) &&
            !check(&infos[i], value_of(p, &infos[i]), errp)) {
            return false;
        }
    }
    from = has(p, initial) ? value_of(p, initial)
                           : migrate_throttle_option(THROTTLE_OPTION_INITIAL);
    to = has(p, max) ? value_of(p, max)
                     : migrate_throttle_option(THROTTLE_OPTION_MAX);
    if (from > to) {
        error_setg(errp,
                   "max-cpu-throttle must be between cpu-throttle-initial "
                   "(%" PRIu64 ") and %" PRIu64 ", not %" PRIu64,
                   from, max->max, to);
        return false;
    }
    return true;
}

void throttle_options_set(const MigrationParameters *p)
{
    for (int i = 0; i < THROTTLE_OPTION__MAX; i++) {
        if (has(p, &infos[i])) {
            atomic_store(&values[i], value_of(p, &infos[i]));
        }
    }
}

void throttle_options_get(MigrationParameters *p)
{
    for (int i = 0; i < THROTTLE_OPTION__MAX; i++) {
        void *v = (char *)p + infos[i].value;
        uint64_t value = migrate_throttle_option(i);

        *(bool *)((char *)p + infos[i].has_value) = true;
        if (infos[i].size == 1) {
            *(uint8_t *)v = (uint8_t)value;
        } else {
            *(uint64_t *)v = value;
        }
    }
}

bool throttle_option_check_value(const char *name, uint64_t value, Error **errp)
{
    for (int i = 0; i < THROTTLE_OPTION__MAX; i++) {
        if (g_str_has_suffix(name, infos[i].name)) {
            return check(&infos[i], value, errp);
        }
    }
    g_assert_not_reached();
}

void throttle_options_init(const uint64_t start[THROTTLE_OPTION__MAX])
{
    for (int i = 0; i < THROTTLE_OPTION__MAX; i++) {
        atomic_store(&values[i], start[i]);
    }
}
