/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bandwidth estimate: see bandwidth.h for the contract. */
#include "qemu/osdep.h"

#include "bandwidth.h"

/* Below this much sending time an estimate is only noise. */
#define MIN_BUSY_NS INT64_C(1000000)

void bandwidth_init(BandwidthEstimate *bw)
{
    memset(bw, 0, sizeof(*bw));
}

static void next_slot(BandwidthEstimate *bw)
{
    BandwidthSlot *slot;

    bw->current = (bw->current + 1) % BANDWIDTH_NR_SLOTS;
    slot = &bw->slots[bw->current];
    bw->sum.bytes -= slot->bytes;
    bw->sum.busy_ns -= slot->busy_ns;
    *slot = (BandwidthSlot){ 0 };
}

void bandwidth_add(BandwidthEstimate *bw, uint64_t wire_bytes,
                   uint64_t raw_bytes, int64_t busy_ns)
{
    BandwidthSlot *slot = &bw->slots[bw->current];

    if (busy_ns <= 0) {
        return;
    }
    bw->coarse.bytes += raw_bytes;
    bw->coarse.busy_ns += busy_ns;
    if (wire_bytes < raw_bytes / 2) {
        return;
    }
    slot->bytes += wire_bytes;
    slot->busy_ns += busy_ns;
    bw->sum.bytes += wire_bytes;
    bw->sum.busy_ns += busy_ns;
    if (slot->busy_ns >= BANDWIDTH_SLOT_NS) {
        next_slot(bw);
    }
}

uint64_t bandwidth_bytes_per_s(const BandwidthEstimate *bw)
{
    const BandwidthSlot *s = &bw->sum;

    if (s->busy_ns < MIN_BUSY_NS && bw->coarse.busy_ns > s->busy_ns) {
        s = &bw->coarse;
    }
    if (s->busy_ns <= 0) {
        return 0;
    }
    return (uint64_t)((double)s->bytes * 1e9 / (double)s->busy_ns);
}
