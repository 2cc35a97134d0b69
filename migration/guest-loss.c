/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the guest loses to tracking: see guest-loss.h. */
#include "qemu/osdep.h"

#include "system/dirty-reaper.h"
#include "system/dirty-tracker.h"
#include "system/vcpu-time.h"

#include "guest-loss.h"

/* A share of less time of vCPU threads than this says nothing. */
#define LEAST_NS INT64_C(10000000)

double guest_loss_share(uint64_t faults, double fault_ns, uint64_t wait_ns,
                        int64_t ran_ns)
{
    double lost = (double)faults * fault_ns + (double)wait_ns;
    double all = (double)ran_ns + (double)wait_ns;

    return all > 0 ? MIN(lost / all, 1) : 0;
}

static GuestLoss look(const RamSave *rs)
{
    DirtyReaperStats rings;

    dirty_reaper_get_stats(&rings);
    return (GuestLoss){
        .ran_ns = vcpus_ran_ns(),
        .pages = rs->synced_pages,
        .entries = rings.entries_harvested,
        .wait_ns = rings.full_wait_ns,
    };
}

void guest_loss_begin(GuestLoss *loss, const RamSave *rs)
{
    *loss = look(rs);
}

void guest_loss_round(GuestLoss *loss, const RamSave *rs)
{
    GuestLoss now = look(rs);
    DirtyTrackerCost cost;

    if (now.ran_ns - loss->ran_ns < LEAST_NS) {
        return;
    }
    dirty_tracker_cost(&cost);
    /* With rings each fault made an entry, without them a page of the sync. */
    now.share = guest_loss_share(
        MAX(now.pages - loss->pages, now.entries - loss->entries),
        cost.fault_ns_per_page, now.wait_ns - loss->wait_ns,
        now.ran_ns - loss->ran_ns);
    *loss = now;
}
