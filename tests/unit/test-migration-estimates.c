/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rate limit, bandwidth estimate and downtime budget: promises of headers. */
#include "qemu/osdep.h"

#include "../../migration/bandwidth.h"
#include "../../migration/downtime.h"
#include "../../migration/rate-limit.h"

#define MS INT64_C(1000000)
#define S  INT64_C(1000000000)

/* Send pages for @duration_ns of simulated time; returns bytes sent. */
static uint64_t simulate(RateLimit *rl, int64_t *now_ns, int64_t duration_ns,
                         uint64_t page)
{
    int64_t end = *now_ns + duration_ns;
    uint64_t sent = 0;

    while (*now_ns < end) {
        int64_t wait = rate_limit_has_credit(rl)
                           ? 0
                           : rate_limit_wait_ns(rl, *now_ns);

        if (wait) {
            g_assert_cmpint(wait, <=, RATE_LIMIT_MAX_WAIT_NS);
            *now_ns += wait;
            continue;
        }
        rate_limit_spend(rl, page);
        sent += page;
        *now_ns += 1000;
    }
    return sent;
}

static void assert_near(uint64_t got, uint64_t want, unsigned pct)
{
    g_assert_cmpuint(got, >=, want - want * pct / 100);
    g_assert_cmpuint(got, <=, want + want * pct / 100);
}

static void test_rate_honoured(void)
{
    int64_t now = 5 * S;
    RateLimit rl;

    rate_limit_init(&rl, 3000000, now);
    assert_near(simulate(&rl, &now, 2 * S, 4096), 6000000, 1);
}

static void test_rate_tiny(void)
{
    int64_t now = 0;
    RateLimit rl;

    /* One page in 41 s: the fractions of a byte must add up. */
    rate_limit_init(&rl, 100, now);
    g_assert_cmpuint(simulate(&rl, &now, 400 * S, 4096), <=, 11 * 4096);
    g_assert_cmpuint(simulate(&rl, &now, 400 * S, 4096), >=, 9 * 4096);
}

static void test_rate_change_acts_at_once(void)
{
    int64_t now = 0;
    RateLimit rl;

    rate_limit_init(&rl, 1000, now);
    simulate(&rl, &now, 5 * MS, 4096);
    g_assert_cmpint(rate_limit_wait_ns(&rl, now), >, 0);
    /* In debt by a page: at 100 MB/s that is 41 us, not four seconds. */
    rate_limit_set_rate(&rl, 100000000);
    assert_near(simulate(&rl, &now, 100 * MS, 4096), 10000000, 5);
    rate_limit_set_rate(&rl, 0);
    g_assert_cmpint(rate_limit_wait_ns(&rl, now), ==, 0);
    g_assert_true(rate_limit_has_credit(&rl));
    rate_limit_set_rate(&rl, 1000000);
    assert_near(simulate(&rl, &now, S, 4096), 1000000, 2);
}

/* What left while there was no limit is not owed to the limit that follows. */
static void test_rate_after_unlimited(void)
{
    int64_t now = 0;
    RateLimit rl;

    rate_limit_init(&rl, 0, now);
    g_assert_cmpint(rate_limit_wait_ns(&rl, now), ==, 0);
    for (int i = 0; i < 8192; i++) { /* a piece of 50 ms, at 640 MB/s */
        g_assert_true(rate_limit_has_credit(&rl));
        rate_limit_spend(&rl, 4096);
    }
    now += 50 * MS;
    rate_limit_set_rate(&rl, 3000000);
    assert_near(simulate(&rl, &now, S, 4096), 3000000, 5);
}

static void test_rate_no_burst_after_quiet(void)
{
    int64_t now = 0;
    RateLimit rl;

    rate_limit_init(&rl, 10000000, now);
    now += 100 * S;
    /* 20 ms worth may have been saved up, not 100 s. */
    g_assert_cmpuint(simulate(&rl, &now, 10 * MS, 4096), <=, 310000);
}

static void test_bandwidth_mean(void)
{
    BandwidthEstimate bw;

    bandwidth_init(&bw);
    g_assert_cmpuint(bandwidth_bytes_per_s(&bw), ==, 0);
    for (int i = 0; i < 1000; i++) {
        bandwidth_add(&bw, 100000, 100000, 1 * MS); /* 100 MB/s */
    }
    assert_near(bandwidth_bytes_per_s(&bw), 100000000, 1);
    /* The window forgets: after 0.9 s at half of it, half is what counts. */
    for (int i = 0; i < 900; i++) {
        bandwidth_add(&bw, 50000, 50000, 1 * MS);
    }
    assert_near(bandwidth_bytes_per_s(&bw), 50000000, 1);
}

static void test_bandwidth_zero_pages_do_not_count(void)
{
    BandwidthEstimate bw;

    bandwidth_init(&bw);
    bandwidth_add(&bw, 9 * 1024, 4096 * 1024, 4 * MS);
    /* Nothing better is known: memory passed by at 1 GB/s. */
    assert_near(bandwidth_bytes_per_s(&bw), 1048576000, 1);
    for (int i = 0; i < 10; i++) {
        bandwidth_add(&bw, 100000, 100000, 1 * MS);
        bandwidth_add(&bw, 9 * 1024, 4096 * 1024, 1 * MS);
    }
    assert_near(bandwidth_bytes_per_s(&bw), 100000000, 1);
}

/*
 * A link that carries @rate, behind a socket that holds 208 KiB: what is sent
 * is in it at once until it is full; while a sync goes on it empties.
 */
typedef struct Link {
    double rate, held;
} Link;

#define SOCKET_HOLDS 212992.0

static int64_t link_send(Link *link, uint64_t bytes)
{
    const int64_t call_ns = 10000;
    double wait_s;

    link->held = MAX(0, link->held - link->rate * call_ns / 1e9) + bytes;
    wait_s = MAX(0, (link->held - SOCKET_HOLDS) / link->rate);
    link->held -= wait_s * link->rate;
    return call_ns + (int64_t)(wait_s * 1e9);
}

/* Within a tenth of what the link carries, with syncs of 80 ms and without. */
static void test_bandwidth_of_link(void)
{
    static const double rates[] = { 1e7, 5e7, 1e8, 4e8 };

    for (size_t r = 0; r < ARRAY_SIZE(rates); r++) {
        for (int sync_ms = 0; sync_ms <= 80; sync_ms += 80) {
            Link link = { .rate = rates[r] };
            BandwidthEstimate bw;

            bandwidth_init(&bw);
            for (int round = 0; round < 20; round++) {
                for (int i = 0; i < 128; i++) {
                    bandwidth_add(&bw, 65536, 65536, link_send(&link, 65536));
                }
                link.held = MAX(0, link.held - link.rate * sync_ms / 1e3);
            }
            assert_near(bandwidth_bytes_per_s(&bw), (uint64_t)rates[r], 10);
        }
    }
}

static const DowntimeInputs usual = {
    .remaining_bytes = 10000000,
    .bandwidth_bytes = 100000000,
    .device_bytes = 100000,
    .stop_ns = 1 * MS,
    .device_save_ns = 2 * MS,
    .sync_ns = 30 * MS,
    .restore_ns = 4 * MS,
};

static void test_downtime_counts_all_parts(void)
{
    DowntimeInputs in = usual;

    g_assert_cmpint(downtime_fixed_ns(&in), ==, 38 * MS);
    g_assert_cmpint(downtime_predict_ns(&in), ==, 138 * MS);
    g_assert_false(downtime_allows(&in, 137 * MS));
    g_assert_true(downtime_allows(&in, 138 * MS));
    g_assert_cmpuint(downtime_page_budget(&in, 138 * MS), ==, 10000000);
    g_assert_cmpuint(downtime_page_budget(&in, 38 * MS), ==, 0);
    g_assert_cmpuint(downtime_page_budget(&in, 1 * MS), ==, 0);
}

static void test_downtime_limits(void)
{
    DowntimeInputs in = usual;

    in.max_bandwidth = 10000000;
    g_assert_cmpuint(downtime_bandwidth(&in), ==, 10000000);
    in.avail_switchover = 500000000;
    g_assert_cmpuint(downtime_bandwidth(&in), ==, 500000000);
    in.avail_switchover = 0;
    in.max_bandwidth = 0;
    g_assert_cmpuint(downtime_bandwidth(&in), ==, 100000000);
}

static void test_downtime_small_limit(void)
{
    DowntimeInputs in = usual;

    /* 3 MB/s and 1 ms: one dirty page is too much, none is as good as it
     * gets even if the fixed parts are over the limit. */
    in.max_bandwidth = 3000000;
    in.remaining_bytes = 4096;
    in.sync_ns = in.stop_ns = in.device_save_ns = in.restore_ns = 0;
    in.device_bytes = 0;
    g_assert_false(downtime_allows(&in, 1 * MS));
    in.remaining_bytes = 0;
    g_assert_true(downtime_allows(&in, 1 * MS));
    in.restore_ns = 50 * MS;
    g_assert_true(downtime_allows(&in, 1 * MS));
}

static void test_downtime_unknown_bandwidth(void)
{
    DowntimeInputs in = usual;

    in.bandwidth_bytes = 0;
    g_assert_cmpint(downtime_predict_ns(&in), ==, INT64_MAX);
    g_assert_false(downtime_allows(&in, INT64_MAX - 1));
    g_assert_cmpuint(downtime_page_budget(&in, 100 * MS), ==, 0);
    in.remaining_bytes = 0;
    g_assert_true(downtime_allows(&in, 0));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/rate-limit/honoured", test_rate_honoured);
    g_test_add_func("/rate-limit/tiny-rate", test_rate_tiny);
    g_test_add_func("/rate-limit/change-acts-at-once",
                    test_rate_change_acts_at_once);
    g_test_add_func("/rate-limit/after-unlimited", test_rate_after_unlimited);
    g_test_add_func("/rate-limit/no-burst-after-quiet",
                    test_rate_no_burst_after_quiet);
    g_test_add_func("/bandwidth/mean-of-window", test_bandwidth_mean);
    g_test_add_func("/bandwidth/of-link", test_bandwidth_of_link);
    g_test_add_func("/bandwidth/zero-pages-do-not-count",
                    test_bandwidth_zero_pages_do_not_count);
    g_test_add_func("/downtime/counts-all-parts",
                    test_downtime_counts_all_parts);
    g_test_add_func("/downtime/bandwidth-of-user", test_downtime_limits);
    g_test_add_func("/downtime/small-limit", test_downtime_small_limit);
    g_test_add_func("/downtime/unknown-bandwidth",
                    test_downtime_unknown_bandwidth);
    return g_test_run();
}
