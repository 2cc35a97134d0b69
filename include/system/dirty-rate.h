/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dirty rate: how much memory the guest writes in a second.
 *
 * A measurement has a thread of its own, which takes the BQL only to switch
 * tracking off. It may go on beside a migration, or beside other users of
 * dirty tracking: it has its own client (RATE), and takes nothing from theirs;
 * but pages are write-protected anew when it begins, so the guest faults once
 * more on those it keeps writing. One at a time; the result stays.
 *
 *   calc-dirty-rate, BQL      track ; start the thread
 *   thread                    collect, forget, clean everything: from here on
 *                             each first write to a page is seen
 *                             wait for calc-time, or the process's end
 *                             collect, count
 *                             BQL: stop tracking
 *
 * Used by: monitor (QMP and HMP), tests. Uses: dirty-memory.h, dirty-tracker.h,
 * cpus.h.
 */
#ifndef SYSTEM_DIRTY_RATE_H
#define SYSTEM_DIRTY_RATE_H

/*
 * Write-protect everything anew: each write after the return is a first one,
 * and is seen. Pages written before stay dirty for every client. Any thread.
 */
void dirty_rate_rearm_all(void);

/* MiB per second. */
int64_t dirty_rate_of_bytes(uint64_t bytes, int64_t span_ns);

#endif /* SYSTEM_DIRTY_RATE_H */
