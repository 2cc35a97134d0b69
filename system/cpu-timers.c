/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Section `timer`, version 2: where guest time stands.
 *   i64 cpu_ticks_offset, 8 unused bytes, i64 cpu_clock_offset
 * Both are the values themselves, since the VM is stopped when it is saved.
 */
#include "qemu/osdep.h"

#include "qemu/timer.h"
#include "system/cpus.h"
#include "vmstate/savevm.h"

/* A copy that lives while the section is saved or loaded. */
static CpuTimersState timers_copy;

static bool timer_pre_save(void *opaque, Error **errp)
{
    timers_copy = cpu_timers_get_state();
    return true;
}

static bool timer_pre_load(void *opaque, Error **errp)
{
    timers_copy = cpu_timers_get_state();
    return true;
}

static bool timer_post_load(void *opaque, int version_id, Error **errp)
{
    /*
     * Guest time begins at 0 and counts up; a value near the ends of its
     * range would overflow the moment that the clock runs on.
     */
    if (timers_copy.cpu_clock_offset < 0 ||
        timers_copy.cpu_clock_offset > INT64_MAX / 2) {
        error_setg(errp,
                   "cpu_clock_offset is %" PRId64 " ns, expected 0 to %" PRId64,
                   timers_copy.cpu_clock_offset, INT64_MAX / 2);
        return false;
    }
    cpu_timers_set_state(timers_copy);
    return true;
}

static const VMStateDescription vmstate_timers = {
    .name = "timer",
    .version_id = 2,
    .minimum_version_id = 2,
    .pre_save = timer_pre_save,
    .pre_load = timer_pre_load,
    .post_load = timer_post_load,
    .fields =
        (const VMStateField[]){
            VMSTATE_INT64(cpu_ticks_offset, CpuTimersState),
            VMSTATE_UNUSED(8),
            VMSTATE_INT64(cpu_clock_offset, CpuTimersState),
            VMSTATE_END_OF_LIST(),
        },
};

void cpu_timers_register(void)
{
    vmstate_register(NULL, 0, &vmstate_timers, &timers_copy, &error_abort);
}
