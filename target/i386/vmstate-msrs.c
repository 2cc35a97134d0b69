/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Subsections of `cpu` that hold one register of 64 bits each, version 1, sent
 * if it is not what it is after a reset. Names are QEMU's, but for
 * cpu/ferry-NAME, which are ours.
 */
#include "qemu/osdep.h"

#include "internals.h"

#define MSR_SUBSECTION(section, field, value)            \
    static bool needed_##field(void *opaque)             \
    {                                                    \
        return ((X86CPU *)opaque)->env.field != (value); \
    }                                                    \
    const VMStateDescription vmstate_x86_##field = {     \
        .name = section,                                 \
        .version_id = 1,                                 \
        .minimum_version_id = 1,                         \
        .needed = needed_##field,                        \
        .fields =                                        \
            (const VMStateField[]){                      \
                VMSTATE_UINT64(env.field, X86CPU),       \
                VMSTATE_END_OF_LIST(),                   \
            },                                           \
    };

X86_MSR_SUBSECTIONS(MSR_SUBSECTION)

#define MSR_DEFAULT(section, field, value) env->field = (value);

void x86_msr_subsections_default(CPUX86State *env)
{
    X86_MSR_SUBSECTIONS(MSR_DEFAULT)
}
