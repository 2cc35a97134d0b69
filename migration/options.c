/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Migration options: see options.h for the contract. */
#include "qemu/osdep.h"

#include <math.h>

#include "qapi/qapi-commands-migration.h"
#include "qemu/cutils.h"
#include "qemu/main-loop.h"
#include "qom/object.h"
#include "system/dirty-choice.h"

#include "options-throttle.h"
#include "options.h"
#include "system/dirty-tracker.h"

#define NS_PER_MS INT64_C(1000000)

#define DOWNTIME_LIMIT_MAX_MS      2000000
#define CLEAR_BITMAP_SHIFT_DEFAULT 18
#define CLEAR_BITMAP_SHIFT_MIN     6 /* one word of a tracker's bitmap */
#define CLEAR_BITMAP_SHIFT_MAX     31
#define MAX_BANDWIDTH_DEFAULT      (UINT64_C(128) * 1024 * 1024)
#define DOWNTIME_LIMIT_DEFAULT_MS  300

/* What -global sets, and where the values start from. */
typedef struct MigrationOptionsObject {
    Object parent_obj;

    bool caps[MIGRATION_CAPABILITY__MAX];
    uint64_t max_bandwidth, avail_switchover_bandwidth, downtime_limit_ms;
    ZeroPageDetection zero_page_detection;
    bool send_configuration, send_section_footer, send_switchover_start;
    bool store_global_state;
    uint8_t clear_bitmap_shift;
    bool change_tracking, sync_by_page;
    uint8_t throttle_trigger, throttle_initial, throttle_increment;
    uint8_t throttle_max;
    bool throttle_tailslow;
    uint64_t vcpu_dirty_limit, vcpu_dirty_limit_period;
} MigrationOptionsObject;

#define TYPE_MIGRATION_OPTIONS "migration"
OBJECT_DECLARE_SIMPLE_TYPE(MigrationOptionsObject, MIGRATION_OPTIONS)

/*
 * Singleton: options are the process's, they outlive each migration. Written
 * under the BQL; read by any thread, each value for itself.
 */
static struct {
    _Atomic bool caps[MIGRATION_CAPABILITY__MAX];
    _Atomic uint64_t max_bandwidth, avail_switchover_bandwidth;
    _Atomic uint64_t downtime_limit_ms;
    _Atomic int zero_page_detection;
    _Atomic bool detect_zero;
    const MigrationOptionsHooks *hooks;

    /* Guarded by the BQL. */
    bool has_dirty_tracking;
    DirtyTrackingMode dirty_tracking;

    /* Constant after migration_options_init(). */
    const MigrationOptionsObject *props;
} opts;

/* What is special about a capability. */
static const struct {
    bool validated;
} cap_info[MIGRATION_CAPABILITY__MAX] = {
    [MIGRATION_CAPABILITY_X_IGNORE_SHARED] = { .validated = true },
};

bool migration_cap(MigrationCapability cap)
{
    return atomic_load_explicit(&opts.caps[cap], memory_order_relaxed);
}

bool migration_cap_is_validated(MigrationCapability cap)
{
    return cap_info[cap].validated;
}

uint64_t migrate_max_bandwidth(void)
{
    return atomic_load_explicit(&opts.max_bandwidth, memory_order_relaxed);
}

uint64_t migrate_avail_switchover_bandwidth(void)
{
    return atomic_load_explicit(&opts.avail_switchover_bandwidth,
                                memory_order_relaxed);
}

uint64_t migrate_downtime_limit_ms(void)
{
    return atomic_load_explicit(&opts.downtime_limit_ms, memory_order_relaxed);
}

int64_t migrate_downtime_limit_ns(void)
{
    return (int64_t)migrate_downtime_limit_ms() * NS_PER_MS;
}

bool migrate_detect_zero_pages(void)
{
    return atomic_load_explicit(&opts.detect_zero, memory_order_relaxed);
}

_Atomic bool *migrate_detect_zero_pages_flag(void)
{
    return &opts.detect_zero;
}

bool migrate_send_configuration(void)
{
    return opts.props->send_configuration;
}

bool migrate_send_section_footer(void)
{
    return opts.props->send_section_footer;
}

bool migrate_send_switchover_start(void)
{
    return opts.props->send_switchover_start;
}

bool migrate_store_global_state(void)
{
    return opts.props->store_global_state;
}

unsigned migrate_clear_bitmap_shift(void)
{
    return opts.props->clear_bitmap_shift;
}

bool migrate_dirty_tracking(DirtyTrackingMode *mode)
{
    *mode = opts.dirty_tracking;
    return opts.has_dirty_tracking;
}

bool migrate_change_tracking(void)
{
    return opts.props->change_tracking;
}

bool migrate_sync_by_page(void)
{
    return opts.props->sync_by_page;
}

void migration_options_set_hooks(const MigrationOptionsHooks *hooks)
{
    opts.hooks = hooks;
}

/* ------------------------------------------------------------ -global */

static bool check_clear_bitmap_shift(Object *obj, const Property *prop,
                                     json_object *value, Error **errp)
{
    int64_t shift = json_object_get_int64(value);

    if (shift < CLEAR_BITMAP_SHIFT_MIN || shift > CLEAR_BITMAP_SHIFT_MAX) {
        error_setg(errp, "%s must be between %d and %d", prop->name,
                   CLEAR_BITMAP_SHIFT_MIN, CLEAR_BITMAP_SHIFT_MAX);
        return false;
    }
    return true;
}

static bool check_downtime_limit(Object *obj, const Property *prop,
                                 json_object *value, Error **errp)
{
    if (json_object_get_uint64(value) > DOWNTIME_LIMIT_MAX_MS) {
        error_setg(errp, "%s must be at most %d ms", prop->name,
                   DOWNTIME_LIMIT_MAX_MS);
        return false;
    }
    return true;
}

static bool check_throttle(Object *obj, const Property *prop,
                           json_object *value, Error **errp)
{
    return throttle_option_check_value(prop->name,
                                       json_object_get_uint64(value), errp);
}

#define PROP_THROTTLE(name, field, bits, def)                                  \
    DEFINE_PROP_(name, MigrationOptionsObject, field, &qapi_uint##bits##_type, \
                 uint##bits##_t, .set_default = true,                          \
                 .defval = { .u = (def) }, .check = check_throttle)

#define PROP_CAP(name, cap)                          \
    DEFINE_PROP_BOOL((name), MigrationOptionsObject, \
                     caps[MIGRATION_CAPABILITY_##cap], false)

static const Property option_props[] = {
    DEFINE_PROP_BOOL("store-global-state", MigrationOptionsObject,
                     store_global_state, true),
    DEFINE_PROP_BOOL("send-configuration", MigrationOptionsObject,
                     send_configuration, true),
    DEFINE_PROP_BOOL("send-section-footer", MigrationOptionsObject,
                     send_section_footer, true),
    DEFINE_PROP_BOOL("send-switchover-start", MigrationOptionsObject,
                     send_switchover_start, true),
    DEFINE_PROP_("x-clear-bitmap-shift", MigrationOptionsObject,
                 clear_bitmap_shift, &qapi_uint8_type, uint8_t,
                 .set_default = true,
                 .defval = { .u = CLEAR_BITMAP_SHIFT_DEFAULT },
                 .check = check_clear_bitmap_shift),
    DEFINE_PROP_BOOL("x-change-dirty-tracking", MigrationOptionsObject,
                     change_tracking, false),
    DEFINE_PROP_BOOL("x-sync-by-page", MigrationOptionsObject, sync_by_page,
                     false),
    DEFINE_PROP_SIZE("x-max-bandwidth", MigrationOptionsObject, max_bandwidth,
                     MAX_BANDWIDTH_DEFAULT),
    DEFINE_PROP_SIZE("avail-switchover-bandwidth", MigrationOptionsObject,
                     avail_switchover_bandwidth, 0),
    DEFINE_PROP_("x-downtime-limit", MigrationOptionsObject, downtime_limit_ms,
                 &qapi_uint64_type, uint64_t, .set_default = true,
                 .defval = { .u = DOWNTIME_LIMIT_DEFAULT_MS },
                 .check = check_downtime_limit),
    DEFINE_PROP_ENUM("zero-page-detection", MigrationOptionsObject,
                     zero_page_detection, ZeroPageDetection,
                     ZERO_PAGE_DETECTION_MULTIFD),
    PROP_CAP("x-events", EVENTS),
    PROP_CAP("x-return-path", RETURN_PATH),
    PROP_CAP("x-ignore-shared", X_IGNORE_SHARED),
    PROP_CAP("x-auto-converge", AUTO_CONVERGE),
    PROP_CAP("x-dirty-limit", DIRTY_LIMIT),
    PROP_CAP("x-omit-holes", X_OMIT_HOLES),
    PROP_THROTTLE("x-throttle-trigger-threshold", throttle_trigger, 8, 50),
    PROP_THROTTLE("x-cpu-throttle-initial", throttle_initial, 8, 20),
    PROP_THROTTLE("x-cpu-throttle-increment", throttle_increment, 8, 10),
    PROP_THROTTLE("max-cpu-throttle", throttle_max, 8, 99),
    DEFINE_PROP_BOOL("x-cpu-throttle-tailslow", MigrationOptionsObject,
                     throttle_tailslow, false),
    PROP_THROTTLE("vcpu-dirty-limit", vcpu_dirty_limit, 64, 1),
    PROP_THROTTLE("x-vcpu-dirty-limit-period", vcpu_dirty_limit_period, 64,
                  1000),
    DEFINE_PROP_END_OF_LIST(),
};

static const TypeInfo option_type = {
    .name = TYPE_MIGRATION_OPTIONS,
    .instance_size = sizeof(MigrationOptionsObject),
    .props = option_props,
};

void migration_options_register_type(void)
{
    type_register_static(&option_type);
}

static void set_zero_page_detection(ZeroPageDetection z)
{
    atomic_store(&opts.zero_page_detection, z);
    /* Without further channels `multifd` and `legacy` are the same. */
    atomic_store(&opts.detect_zero, z != ZERO_PAGE_DETECTION_NONE);
}

/* What single properties cannot check. */
static bool check_properties(const MigrationOptionsObject *o, Error **errp)
{
    if (o->throttle_initial > o->throttle_max) {
        error_setg(errp,
                   "max-cpu-throttle must be at least x-cpu-throttle-initial "
                   "(%u), not %u",
                   o->throttle_initial, o->throttle_max);
        return false;
    }
    if (o->caps[MIGRATION_CAPABILITY_AUTO_CONVERGE] &&
        o->caps[MIGRATION_CAPABILITY_DIRTY_LIMIT]) {
        error_setg(errp, "x-dirty-limit and x-auto-converge both throttle the "
                         "guest: only one of them can be on");
        return false;
    }
    return true;
}

bool migration_options_init(Error **errp)
{
    MigrationOptionsObject *o = MIGRATION_OPTIONS(
        object_new(TYPE_MIGRATION_OPTIONS));

    assert(!opts.props);
    if (!object_apply_globals(OBJECT(o), errp) || !check_properties(o, errp)) {
        object_unref(o);
        return false;
    }
    for (int i = 0; i < MIGRATION_CAPABILITY__MAX; i++) {
        atomic_store(&opts.caps[i], o->caps[i]);
    }
    atomic_store(&opts.max_bandwidth, o->max_bandwidth);
    atomic_store(&opts.avail_switchover_bandwidth,
                 o->avail_switchover_bandwidth);
    atomic_store(&opts.downtime_limit_ms, o->downtime_limit_ms);
    set_zero_page_detection(o->zero_page_detection);
    throttle_options_init((const uint64_t[THROTTLE_OPTION__MAX]){
        [THROTTLE_OPTION_TRIGGER] = o->throttle_trigger,
        [THROTTLE_OPTION_INITIAL] = o->throttle_initial,
        [THROTTLE_OPTION_INCREMENT] = o->throttle_increment,
        [THROTTLE_OPTION_MAX] = o->throttle_max,
        [THROTTLE_OPTION_TAILSLOW] = o->throttle_tailslow,
        [THROTTLE_OPTION_LIMIT] = o->vcpu_dirty_limit,
        [THROTTLE_OPTION_PERIOD] = o->vcpu_dirty_limit_period,
    });
    opts.props = o;
    return true;
}

/* ------------------------------------------------------- capabilities */

static bool may_set_capabilities(Error **errp)
{
    return !opts.hooks || opts.hooks->may_set_capabilities(errp);
}

/* What would be on, if all that is in @caps were done. */
static bool check_caps(const bool caps[MIGRATION_CAPABILITY__MAX], Error **errp)
{
    const DirtyTrackerOps *tracker = dirty_tracker_active();

    if (!caps[MIGRATION_CAPABILITY_DIRTY_LIMIT]) {
        return true;
    }
    if (caps[MIGRATION_CAPABILITY_AUTO_CONVERGE]) {
        error_setg(errp, "dirty-limit and auto-converge both throttle the "
                         "guest: only one of them can be on");
        return false;
    }
    if (!tracker->attribute) {
        error_setg(errp,
                   "dirty-limit needs to know which vCPU writes, which "
                   "dirty tracking '%s' does not tell",
                   tracker->name);
        return false;
    }
    return true;
}

bool migration_capability_set(MigrationCapability cap, bool on, Error **errp)
{
    MigrationCapabilityStatus status = { .capability = cap, .state = on };
    MigrationCapabilityStatusList list = { .value = &status };
    Error *err = NULL;

    qmp_migrate_set_capabilities(&list, &err);
    error_propagate(errp, err);
    return !err;
}

void qmp_migrate_set_capabilities(MigrationCapabilityStatusList *capabilities,
                                  Error **errp)
{
    bool caps[MIGRATION_CAPABILITY__MAX];

    if (!may_set_capabilities(errp)) {
        return;
    }
    for (int i = 0; i < MIGRATION_CAPABILITY__MAX; i++) {
        caps[i] = migration_cap(i);
    }
    for (MigrationCapabilityStatusList *c = capabilities; c; c = c->next) {
        caps[c->value->capability] = c->value->state;
    }
    if (!check_caps(caps, errp)) {
        return;
    }
    for (int i = 0; i < MIGRATION_CAPABILITY__MAX; i++) {
        atomic_store(&opts.caps[i], caps[i]);
    }
}

MigrationCapabilityStatusList *qmp_query_migrate_capabilities(Error **errp)
{
    MigrationCapabilityStatusList *head = NULL, **tail = &head;

    for (int i = 0; i < MIGRATION_CAPABILITY__MAX; i++) {
        MigrationCapabilityStatus *c = g_new0(MigrationCapabilityStatus, 1);

        c->capability = i;
        c->state = migration_cap(i);
        QAPI_LIST_APPEND(tail, c);
    }
    return head;
}

/* --------------------------------------------------------- parameters */

static bool parameters_check(const MigrationParameters *p, Error **errp)
{
    if (p->has_max_bandwidth && p->max_bandwidth > INT64_MAX) {
        error_setg(errp,
                   "max-bandwidth must be at most %" PRId64 " bytes/second",
                   INT64_MAX);
        return false;
    }
    if (p->has_avail_switchover_bandwidth &&
        p->avail_switchover_bandwidth > INT64_MAX) {
        error_setg(errp,
                   "avail-switchover-bandwidth must be at most %" PRId64
                   " bytes/second",
                   INT64_MAX);
        return false;
    }
    if (p->has_downtime_limit && p->downtime_limit > DOWNTIME_LIMIT_MAX_MS) {
        error_setg(errp, "downtime-limit must be between 0 and %d ms",
                   DOWNTIME_LIMIT_MAX_MS);
        return false;
    }
    return (!p->has_dirty_tracking ||
            dirty_tracking_is_possible(p->dirty_tracking, errp)) &&
           throttle_options_check(p, errp);
}

void qmp_migrate_set_parameters(MigrationParameters *p, Error **errp)
{
    if (!parameters_check(p, errp)) {
        return;
    }
    if (p->has_max_bandwidth) {
        atomic_store(&opts.max_bandwidth, p->max_bandwidth);
    }
    if (p->has_avail_switchover_bandwidth) {
        atomic_store(&opts.avail_switchover_bandwidth,
                     p->avail_switchover_bandwidth);
    }
    if (p->has_downtime_limit) {
        atomic_store(&opts.downtime_limit_ms, p->downtime_limit);
    }
    if (p->has_zero_page_detection) {
        set_zero_page_detection(p->zero_page_detection);
    }
    throttle_options_set(p);
    if (p->has_dirty_tracking) {
        opts.has_dirty_tracking = true;
        opts.dirty_tracking = p->dirty_tracking;
    }
    if (opts.hooks) {
        opts.hooks->changed();
    }
}

MigrationParameters *qmp_query_migrate_parameters(Error **errp)
{
    MigrationParameters *p = g_new0(MigrationParameters, 1);

    p->has_max_bandwidth = true;
    p->max_bandwidth = migrate_max_bandwidth();
    p->has_avail_switchover_bandwidth = true;
    p->avail_switchover_bandwidth = migrate_avail_switchover_bandwidth();
    p->has_downtime_limit = true;
    p->downtime_limit = migrate_downtime_limit_ms();
    p->has_zero_page_detection = true;
    p->zero_page_detection = atomic_load(&opts.zero_page_detection);
    throttle_options_get(p);
    /* Absent as long as nobody said how: clients do not know it. */
    p->has_dirty_tracking = opts.has_dirty_tracking;
    p->dirty_tracking = opts.dirty_tracking;
    return p;
}

/*
 * Parameters as HMP shows and takes them. Bandwidths without a suffix are
 * MiB/s there.
 */
typedef struct ParameterInfo {
    const char *name;
    const char *unit; /* shown after the value */
    enum {
        PARAM_BANDWIDTH,
        PARAM_UINT,
        PARAM_UINT8,
        PARAM_BOOL,
        PARAM_ENUM
    } kind;
    size_t value, has_value;   /* in MigrationParameters */
    const QEnumLookup *lookup; /* of PARAM_ENUM */
} ParameterInfo;

/* Enumerations are stored and shown as int. */
QEMU_BUILD_BUG_ON(sizeof(ZeroPageDetection) != sizeof(int));
QEMU_BUILD_BUG_ON(sizeof(DirtyTrackingMode) != sizeof(int));

#define PARAMETER(n, u, k, f)                               \
    {                                                       \
        .name = (n), .unit = (u), .kind = (k),              \
        .value = offsetof(MigrationParameters, f),          \
        .has_value = offsetof(MigrationParameters, has_##f) \
    }

#define PARAMETER_ENUM(n, f, E)                              \
    {                                                        \
        .name = (n), .unit = "", .kind = PARAM_ENUM,         \
        .value = offsetof(MigrationParameters, f),           \
        .has_value = offsetof(MigrationParameters, has_##f), \
        .lookup = &E##_lookup                                \
    }

static const ParameterInfo parameter_infos[] = {
    PARAMETER("throttle-trigger-threshold", "", PARAM_UINT8,
              throttle_trigger_threshold),
    PARAMETER("cpu-throttle-initial", "", PARAM_UINT8, cpu_throttle_initial),
    PARAMETER("cpu-throttle-increment", "", PARAM_UINT8,
              cpu_throttle_increment),
    PARAMETER("cpu-throttle-tailslow", "", PARAM_BOOL, cpu_throttle_tailslow),
    PARAMETER("max-cpu-throttle", "", PARAM_UINT8, max_cpu_throttle),
    PARAMETER("max-bandwidth", " bytes/second", PARAM_BANDWIDTH, max_bandwidth),
    PARAMETER("avail-switchover-bandwidth", " bytes/second", PARAM_BANDWIDTH,
              avail_switchover_bandwidth),
    PARAMETER("downtime-limit", " ms", PARAM_UINT, downtime_limit),
    PARAMETER_ENUM("zero-page-detection", zero_page_detection,
                   ZeroPageDetection),
    PARAMETER_ENUM("dirty-tracking", dirty_tracking, DirtyTrackingMode),
    PARAMETER("x-vcpu-dirty-limit-period", " ms", PARAM_UINT,
              x_vcpu_dirty_limit_period),
    PARAMETER("vcpu-dirty-limit", " MB/s", PARAM_UINT, vcpu_dirty_limit),
};

void migration_parameters_print(GString *out)
{
    g_autoptr(MigrationParameters) p = qmp_query_migrate_parameters(NULL);

    for (size_t i = 0; i < ARRAY_SIZE(parameter_infos); i++) {
        const ParameterInfo *info = &parameter_infos[i];
        void *value = (char *)p + info->value;

        if (!*(bool *)((char *)p + info->has_value)) {
            continue;
        }
        g_string_append_printf(out, "%s: ", info->name);
        switch (info->kind) {
        case PARAM_ENUM:
            g_string_append(out, qapi_enum_lookup(info->lookup, *(int *)value));
            break;
        case PARAM_BOOL:
            g_string_append(out, *(bool *)value ? "on" : "off");
            break;
        case PARAM_UINT8:
            g_string_append_printf(out, "%u", *(uint8_t *)value);
            break;
        case PARAM_UINT:
        case PARAM_BANDWIDTH:
            g_string_append_printf(out, "%" PRIu64, *(uint64_t *)value);
            break;
        }
        g_string_append_printf(out, "%s\n", info->unit);
    }
}

static void foreach_value(const ParameterInfo *info,
                          void (*fn)(const char *word, void *opaque),
                          void *opaque)
{
    if (info->kind == PARAM_BOOL) {
        fn("off", opaque);
        fn("on", opaque);
    }
    for (int i = 0; info->lookup && i < info->lookup->size; i++) {
        fn(info->lookup->array[i], opaque);
    }
}

void migration_parameter_foreach(const char *name,
                                 void (*fn)(const char *word, void *opaque),
                                 void *opaque)
{
    for (size_t i = 0; i < ARRAY_SIZE(parameter_infos); i++) {
        const ParameterInfo *info = &parameter_infos[i];

        if (!name) {
            fn(info->name, opaque);
        } else if (g_str_equal(name, info->name)) {
            foreach_value(info, fn, opaque);
        }
    }
}

static bool parse_number(const char *name, const char *text, uint64_t max,
                         uint64_t *value, Error **errp)
{
    uint64_t n;

    if (qemu_strtou64(text, NULL, 0, &n) < 0 || n > max) {
        error_setg(errp, "%s expects a number up to %" PRIu64 ", not '%s'",
                   name, max, text);
        return false;
    }
    *value = n;
    return true;
}

static bool parse_bool(const char *name, const char *text, bool *value,
                       Error **errp)
{
    *value = !strcmp(text, "on") || !strcmp(text, "true") ||
             !strcmp(text, "yes");
    if (!*value && strcmp(text, "off") && strcmp(text, "false") &&
        strcmp(text, "no")) {
        error_setg(errp, "%s expects 'on' or 'off', not '%s'", name, text);
        return false;
    }
    return true;
}

static bool parse_bandwidth(const char *text, uint64_t *value, Error **errp)
{
    if (qemu_strtosz_MiB(text, NULL, value) < 0) {
        error_setg(errp, "invalid size '%s'", text);
        return false;
    }
    return true;
}

bool migration_parameter_set_str(const char *name, const char *value,
                                 Error **errp)
{
    MigrationParameters p = { 0 };
    Error *err = NULL;
    int e;

    for (size_t i = 0; i < ARRAY_SIZE(parameter_infos); i++) {
        const ParameterInfo *info = &parameter_infos[i];
        uint64_t *number = (uint64_t *)((char *)&p + info->value);
        uint64_t small;

        if (strcmp(name, info->name)) {
            continue;
        }
        *(bool *)((char *)&p + info->has_value) = true;
        switch (info->kind) {
        case PARAM_BANDWIDTH:
            if (!parse_bandwidth(value, number, errp)) {
                return false;
            }
            break;
        case PARAM_UINT:
            if (!parse_number(name, value, UINT64_MAX, number, errp)) {
                return false;
            }
            break;
        case PARAM_UINT8:
            if (!parse_number(name, value, UINT8_MAX, &small, errp)) {
                return false;
            }
            *(uint8_t *)number = (uint8_t)small;
            break;
        case PARAM_BOOL:
            if (!parse_bool(name, value, (bool *)number, errp)) {
                return false;
            }
            break;
        case PARAM_ENUM:
            e = qapi_enum_parse(info->lookup, value, -1, errp);
            if (e < 0) {
                return false;
            }
            *(int *)((char *)&p + info->value) = e;
            break;
        }
        qmp_migrate_set_parameters(&p, &err);
        error_propagate(errp, err);
        return !err;
    }
    error_setg(errp, "there is no migration parameter '%s'", name);
    return false;
}
