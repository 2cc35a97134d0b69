#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""min-downtime-limit: the smallest downtime-limit with which precopy ends.

A guest writes at random at dirty rate D, the link carries B, a sync of the
dirty bitmap takes x. While pages are sent, and while a sync goes on, others
are written; what is left after each round goes down to D*x / (1 - D/B) bytes,
and to send these takes D*x / (B - D). No limit below that is ever met, so a
sync that takes long makes a guest hard to migrate.

For each D the limit is halved and doubled (bisected on a logarithmic scale)
until its least value is known that let the migration end within --cap seconds.
Whether one ends is partly chance: the result is one of a distribution. Beside
it are the sync as the migration itself measured it, and the D*x / (B - D) of
that. How long the guest then really stood still is seen from outside.

"by-page" among the engines is "bitmap" without the sweep: each sync takes page
by page and makes each page that was dirty ready by itself (x-sync-by-page), which
is what a sync of blocks with unequal bit phases comes to without it. --before
takes nanoseconds per page and shows the D*x / (B - D) of larger guests.

PEER_QEMU_AARCH64 (or _X86_64) names the binary of another QEMU, to be
compared with. It does not tell how long its syncs took.
"""
import math
import statistics

import lab as lab_module
import report
import svg

MB = 1000000


def options():
    p = report.parser(__doc__)
    p.add_argument('--engines', type=report.names,
                   default=['bitmap', 'by-page', 'peer'],
                   help='by-page, and those of lost-computation '
                   '(bitmap,by-page,peer)')
    p.add_argument('--rates', type=report.numbers, default=[0.5, 0.8],
                   help='dirty rates, of the link (0.5,0.8)')
    p.add_argument('--link', type=float, default=100,
                   help='max-bandwidth, MB/s (100)')
    p.add_argument('--ws', type=int, default=48, help='working set, MiB (48)')
    p.add_argument('--ram', type=int, default=128, help='MiB (128)')
    p.add_argument('--most', type=int, default=512,
                   help='largest limit tried, ms (512)')
    p.add_argument('--tries', type=int, default=7,
                   help='per engine and rate, at most (7)')
    p.add_argument('--cap', type=float, default=5,
                   help='seconds that a migration may take (5)')
    p.add_argument('--before', type=float, default=None,
                   help='ns per page of a sync page by page')
    return p.parse_args()


def kinds(lab, wanted):
    """Those of the lab, and by-page."""
    there = lab_module.kinds(lab, [w for w in wanted if w != 'by-page'] or
                             ['bitmap'])
    if 'by-page' in wanted:
        there.insert(1, lab_module.Kind(
            'by-page', lab.ours, lab.accel + ',dirty-tracking=bitmap',
            more=('-global', 'migration.x-sync-by-page=on')))
    return there


def syncs_of(info):
    return [r['sync']['total'] for r in
            info.get('details', {}).get('recent-rounds', [])]


def bisect(journey, rate, o, out):
    """Tries limits; all that were tried."""
    low, high, tried = 0, o.most, []
    while len(tried) < o.tries and high > max(low + 1, low * 1.1):
        limit = high if not tried else max(
            low + 1, int(math.sqrt(max(low, 0.5) * high)))
        if limit in [t['limit'] for t in tried]:
            break
        journey.vm.cmd('cont')
        journey.vm.set_ctl(rate=int(rate * o.link * MB / lab_module.PAGE))
        steady = journey.vm.rate(0.3)
        info, watch = journey.move(o.cap, max_bandwidth=int(o.link * MB),
                                   downtime_limit=limit)
        journey.vm.cmd('stop')
        ended = info['status'] == 'completed'
        run = out.run(kind=journey.kind.name, rate=rate, limit=limit,
                      ended=ended, steady=steady, sync_us=syncs_of(info),
                      total_s=info['total-time'] / 1000 if ended else None,
                      blackout_ms=watch.blackout_ms() if ended else None)
        tried.append(run)
        out.note('%-8s rate %g limit %4d ms: %s' % (
            journey.kind.name, rate, limit, 'ended, %.1f ms' % run[
                'blackout_ms'] if ended else 'did not end'))
        if ended:
            high = limit
        else:
            low = limit
            if limit == o.most:
                break
    return tried


def floor_ms(sync_us, rate):
    """D*x / (B - D), with D = rate * B."""
    return sync_us / 1000 * rate / (1 - rate)


def row_of(name, rate, tried, o):
    ended = [t for t in tried if t['ended']]
    failed = [t['limit'] for t in tried if not t['ended']]
    syncs = [us for t in tried for us in t['sync_us']]
    least = min(ended, key=lambda t: t['limit']) if ended else None
    return ['%g' % rate, name, least['limit'] if least else '> %d' % o.most,
            max([f for f in failed if not least or f < least['limit']] or [0]),
            '%.1f' % least['blackout_ms'] if least else '-',
            '%.2f' % least['total_s'] if least else '-',
            report.summary(syncs, 0),
            '%.4f' % floor_ms(statistics.median(syncs), rate)
            if syncs else '-', len(tried),
            report.summary([100 * t['steady'] * lab_module.PAGE /
                            (rate * o.link * MB) for t in tried], 0)]


def before(o, out):
    out.say('\nPage by page, computed from %g ns a page, not measured in a '
            'migration:' % o.before)
    rows = []
    for gib in (o.ram / 1024, 256, 12288):
        us = o.before / 1000 * gib * 2 ** 18
        rows.append(['%g GiB' % gib, '%.3f' % (us / 1000)] + [
            '%.3f' % floor_ms(us, rate) for rate in o.rates])
    out.table(['guest', 'sync ms'] + ['limit ms at D/B %g' % r
                                      for r in o.rates], rows)


def main():
    o = options()
    out = report.Report('min-downtime-limit', o)
    rows, shown = [], []
    with report.lab(o) as lab:
        for kind in kinds(lab, o.engines):
            journey = lab_module.Journey(
                lab, kind, 'ws=%d rate=1000 pat=random fill=1' % o.ws,
                ram_mib=o.ram)
            for rate in out.in_time(o.rates):
                tried = bisect(journey, rate, o, out)
                rows.append(row_of(kind.name, rate, tried, o))
                shown.append(('%s, D/B %g' % (kind.name, rate),
                              [t['limit'] for t in tried if t['ended']]))
            lab.stop(journey.vm)
    out.say('Link %g MB/s, %d of %d MiB written at random, %g s allowed for '
            'each migration' % (o.link, o.ws, o.ram, o.cap))
    out.table(['D/B', '', 'least limit ms', 'too little', 'blackout ms then',
               'total s', 'sync us', 'D*x/(B-D) ms', 'tries',
               '% of asked rate'], sorted(rows))
    if o.before:
        before(o, out)
    svg.intervals(out.path('.svg'), 'Limits with which precopy ended',
                  'downtime-limit, ms (logarithmic)', shown, log=True)
    out.write()


if __name__ == '__main__':
    report.main(main)
