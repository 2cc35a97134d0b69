/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bandwidth estimate: what the channel carries while we really send.
 *
 * Fed with batches: so many page bytes took so many nanoseconds of sending.
 * The time of dirty syncs, of waiting for the rate limit and of having
 * nothing to send never enters; neither do batches that were mostly zero
 * pages, whose time is spent reading memory and says nothing about the
 * channel. (With the sync's time inside the sample, the smallest downtime
 * limit a migration can reach grows by the factor bandwidth over dirty rate.)
 *
 * The estimate is the mean over the last BANDWIDTH_WINDOW_NS of sending time.
 * It says how fast a switchover could go; what a user allowed by
 * max-bandwidth or promised by avail-switchover-bandwidth is the downtime
 * budget's business (downtime.h).
 *
 * Threads: one, the sender. Used by: the migration thread. Uses: nothing.
 */
#ifndef MIGRATION_BANDWIDTH_H
#define MIGRATION_BANDWIDTH_H

#define BANDWIDTH_SLOT_NS   INT64_C(50000000)
#define BANDWIDTH_NR_SLOTS  16
#define BANDWIDTH_WINDOW_NS (BANDWIDTH_SLOT_NS * BANDWIDTH_NR_SLOTS)

typedef struct BandwidthSlot {
    uint64_t bytes;
    int64_t busy_ns;
} BandwidthSlot;

typedef struct BandwidthEstimate {
    BandwidthSlot slots[BANDWIDTH_NR_SLOTS];
    unsigned current;     /* slot being filled */
    BandwidthSlot sum;    /* over all slots */
    BandwidthSlot coarse; /* all batches ever, zero pages at their raw size */
} BandwidthEstimate;

void bandwidth_init(BandwidthEstimate *bw);

/**
 * bandwidth_add: note one batch
 *
 * @wire_bytes: bytes written to the channel
 * @raw_bytes: guest memory that they stand for (zero pages at full size)
 * @busy_ns: time spent on it, waits for the rate limit and syncs left out
 */
void bandwidth_add(BandwidthEstimate *bw, uint64_t wire_bytes,
                   uint64_t raw_bytes, int64_t busy_ns);

/**
 * bandwidth_bytes_per_s: the estimate
 *
 * Returns 0 as long as nothing is known. If there have been only batches of
 * zero pages, returns the rate of guest memory passed: better than nothing.
 */
uint64_t bandwidth_bytes_per_s(const BandwidthEstimate *bw);

#endif /* MIGRATION_BANDWIDTH_H */
