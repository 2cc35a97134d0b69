/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Migration options: see options.h for the contract. */
#include "qemu/osdep.h"

#include <math.h>

#include "qapi/qapi-commands-migration.h"
#include "qemu/cutils.h"
#include "qemu/main-loop.h"
#include "qom/object.h"

#include "options.h"

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

bool migration_options_init(Error **errp)
{
    MigrationOptionsObject *o = MIGRATION_OPTIONS(
        object_new(TYPE_MIGRATION_OPTIONS));

    assert(!opts.props);
    if (!object_apply_globals(OBJECT(o), errp)) {
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
    opts.props = o;
    return true;
}

/* ------------------------------------------------------- capabilities */

static bool may_set_capabilities(Error **errp)
{
    return !opts.hooks || opts.hooks->may_set_capabilities(errp);
}

bool migration_capability_set(MigrationCapability cap, bool on, Error **errp)
{
    if (!may_set_capabilities(errp)) {
        return false;
    }
    atomic_store(&opts.caps[cap], on);
    return true;
}

void qmp_migrate_set_capabilities(MigrationCapabilityStatusList *capabilities,
                                  Error **errp)
{
    if (!may_set_capabilities(errp)) {
        return;
    }
    for (MigrationCapabilityStatusList *c = capabilities; c; c = c->next) {
        atomic_store(&opts.caps[c->value->capability], c->value->state);
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
    return true;
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
        PARAM_ZERO_PAGE
    } kind;
    size_t value, has_value; /* in MigrationParameters */
} ParameterInfo;

#define PARAMETER(n, u, k, f)                               \
    {                                                       \
        .name = (n), .unit = (u), .kind = (k),              \
        .value = offsetof(MigrationParameters, f),          \
        .has_value = offsetof(MigrationParameters, has_##f) \
    }

static const ParameterInfo parameter_infos[] = {
    PARAMETER("max-bandwidth", " bytes/second", PARAM_BANDWIDTH, max_bandwidth),
    PARAMETER("avail-switchover-bandwidth", " bytes/second", PARAM_BANDWIDTH,
              avail_switchover_bandwidth),
    PARAMETER("downtime-limit", " ms", PARAM_UINT, downtime_limit),
    PARAMETER("zero-page-detection", "", PARAM_ZERO_PAGE, zero_page_detection),
};

void migration_parameters_print(GString *out)
{
    g_autoptr(MigrationParameters) p = qmp_query_migrate_parameters(NULL);

    for (size_t i = 0; i < ARRAY_SIZE(parameter_infos); i++) {
        const ParameterInfo *info = &parameter_infos[i];
        void *value = (char *)p + info->value;

        if (info->kind == PARAM_ZERO_PAGE) {
            g_string_append_printf(
                out, "%s: %s\n", info->name,
                ZeroPageDetection_str(*(ZeroPageDetection *)value));
        } else {
            g_string_append_printf(out, "%s: %" PRIu64 "%s\n", info->name,
                                   *(uint64_t *)value, info->unit);
        }
    }
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
    int z;

    for (size_t i = 0; i < ARRAY_SIZE(parameter_infos); i++) {
        const ParameterInfo *info = &parameter_infos[i];
        uint64_t *number = (uint64_t *)((char *)&p + info->value);

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
            if (qemu_strtou64(value, NULL, 0, number) < 0) {
                error_setg(errp, "%s expects a number, not '%s'", name, value);
                return false;
            }
            break;
        case PARAM_ZERO_PAGE:
            z = qapi_enum_parse(&ZeroPageDetection_lookup, value, -1, errp);
            if (z < 0) {
                return false;
            }
            p.zero_page_detection = z;
            break;
        }
        qmp_migrate_set_parameters(&p, &err);
        error_propagate(errp, err);
        return !err;
    }
    error_setg(errp, "there is no migration parameter '%s'", name);
    return false;
}
