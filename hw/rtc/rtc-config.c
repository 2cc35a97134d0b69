/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -rtc: what the guest's clock begins with and which host clock drives it. */
#include "qemu/osdep.h"

#include "hw/rtc/mc146818rtc.h"
#include "qemu/error.h"
#include "rtc-internal.h"

/* One clock per process; constant once the machine is built. */
static struct {
    QEMUClockType clock;
    bool localtime;
    bool dated;
    int64_t date_s; /* if dated */
} config = { .clock = QEMU_CLOCK_HOST };

static bool parse_date(const char *text, Error **errp)
{
    struct tm tm = { 0 };
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

    if (!end) {
        memset(&tm, 0, sizeof(tm));
        end = strptime(text, "%Y-%m-%d", &tm);
    }
    if (!end || *end) {
        error_setg(errp,
                   "base=%s: expected utc, localtime, or a date such as "
                   "2006-06-17T16:01:21 or 2006-06-17",
                   text);
        return false;
    }
    config.dated = true;
    config.date_s = timegm(&tm);
    return true;
}

bool rtc_configure(const char *base, const char *clock, Error **errp)
{
    if (base && !g_str_equal(base, "utc")) {
        if (g_str_equal(base, "localtime")) {
            config.localtime = true;
        } else if (!parse_date(base, errp)) {
            return false;
        }
    }
    if (!clock || g_str_equal(clock, "host")) {
        config.clock = QEMU_CLOCK_HOST;
    } else if (g_str_equal(clock, "rt")) {
        config.clock = QEMU_CLOCK_REALTIME;
    } else if (g_str_equal(clock, "vm")) {
        config.clock = QEMU_CLOCK_VIRTUAL;
    } else {
        error_setg(errp, "clock=%s: expected host, rt, or vm", clock);
        return false;
    }
    return true;
}

QEMUClockType rtc_clock(void)
{
    return config.clock;
}

int64_t rtc_initial_time_s(void)
{
    time_t now = time(NULL);
    struct tm tm;

    if (config.dated) {
        return config.date_s;
    }
    if (config.localtime) {
        localtime_r(&now, &tm);
        return timegm(&tm); /* as if it were UTC: what the registers show */
    }
    return now;
}
