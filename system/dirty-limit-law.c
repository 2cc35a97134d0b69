/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control law of dirty limits: see include/system/dirty-limit.h.
 *
 * A vCPU that executes for e seconds writes x * e times to a set of S MiB; of
 * pages, which is what is counted, it finds S * (1 - exp(-x * e / S)). Far below
 * saturation that is in proportion to e, and one step is enough. Above, less
 * time makes hardly less of it: from one look alone the demand seems small, and
 * step by step turns out to be larger. Two looks at different e give both x and
 * S, so that the next step goes to where it is wanted.
 */
#include "qemu/osdep.h"

#include <math.h>

#include "system/cpu-throttle.h"
#include "system/dirty-limit.h"

/* Looks must differ by so much in e to be compared; in their result by less. */
#define DIFFERENT 1.2
/* Of the largest jump, beyond what the last look alone says. */
#define JUMP_MAX 16
/* So few MiB (64 pages) do not tell what it would write if it slept less. */
#define FEW_MIB 0.25
/* Nearly all of the set was written: more is not told by a look. */
#define SATURATED  1.0001
#define BISECTIONS 60

/*
 * S of two looks, the first at the longer time; 0: they are in proportion, there
 * is no telling.
 */
static double set_of(const DirtyLimitLook *longer,
                     const DirtyLimitLook *shorter)
{
    double times = longer->executed_s / shorter->executed_s;
    double low = longer->mib, high = longer->mib * 1e4;

    if (longer->mib <= shorter->mib) {
        return shorter->mib * SATURATED;
    }
    if (longer->mib >= shorter->mib * times * 0.98) {
        return 0;
    }
    for (int i = 0; i < BISECTIONS; i++) {
        double s = (low + high) / 2;

        if (s <= longer->mib ||
            log1p(-longer->mib / s) < log1p(-shorter->mib / s) * times) {
            low = s;
        } else {
            high = s;
        }
    }
    return high;
}

/* By how much to shorten the time, if two looks tell more than one. */
static double factor_of(const DirtyLimitLook *before, const DirtyLimitLook *now,
                        double wanted_mib)
{
    double plain = wanted_mib / now->mib, set, factor;

    if (plain >= 1 || before->mib <= 0 ||
        MAX(before->executed_s, now->executed_s) <
            DIFFERENT * MIN(before->executed_s, now->executed_s)) {
        return plain;
    }
    set = before->executed_s > now->executed_s ? set_of(before, now)
                                               : set_of(now, before);
    if (set <= now->mib) {
        return plain;
    }
    factor = log1p(-wanted_mib / set) / log1p(-now->mib / set);
    return CLAMP(factor, plain / JUMP_MAX, plain);
}

uint32_t dirty_limit_step(DirtyLimitLook *last, uint32_t share, double mib,
                          double executed_s, double seconds, double limit)
{
    DirtyLimitLook before = *last;
    uint32_t next = 0;

    *last = (DirtyLimitLook){ .executed_s = executed_s, .mib = mib };
    if (mib > 0) {
        double awake = executed_s / seconds *
                       factor_of(&before, last, limit * seconds);

        next = awake < 1 ? (uint32_t)((1 - awake) * CPU_THROTTLE_ONE) : 0;
    }
    if (next < share && mib < FEW_MIB) {
        /* What it would write is a guess; so go only half of the way. */
        next = share - (share - next + 1) / 2;
    }
    return MIN(next, CPU_THROTTLE_MAX);
}
