#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""ping-pong: six migrations back and forth of a guest that writes a lot.

The set-up of a table that came with the first dirty rings of KVM, scaled to a
small machine: 20/24 of the memory are written at random at 0.7 of the link's
speed. There, rings of 4,096 entries took 73 s in the mean and a bitmap 55 s:
a third longer. Here the engines take turns, migration by migration.

PEER_QEMU_AARCH64 (or _X86_64) names the binary of another QEMU, to be
compared with.
"""
import statistics

import lab as lab_module
import report
import svg

MB = 1000000


def options():
    p = report.parser(__doc__)
    p.add_argument('--trips', type=int, default=6, help='migrations (6)')
    p.add_argument('--engines', type=report.names,
                   default=['ring/dirty-ring-size=4096', 'bitmap'],
                   help='as those of lost-computation '
                   '(ring/dirty-ring-size=4096,bitmap)')
    p.add_argument('--ram', type=int, default=384, help='MiB (384)')
    p.add_argument('--cpus', type=int, default=1, help='vCPUs (1)')
    p.add_argument('--link', type=float, default=150,
                   help='max-bandwidth, MB/s (150)')
    p.add_argument('--rate', type=float, default=0.7,
                   help='dirty rate, of the link (0.7)')
    p.add_argument('--limit', type=int, default=300,
                   help='downtime-limit, ms (300)')
    p.add_argument('--cap', type=float, default=40,
                   help='seconds after which a migration is cancelled (40)')
    return p.parse_args()


def trip(journey, o):
    steady = journey.vm.rate(0.5)
    info, watch = journey.move(o.cap, max_bandwidth=int(o.link * MB),
                               downtime_limit=o.limit)
    run = {'engine': journey.kind.name, 'status': info['status'],
           'steady': steady}
    if info['status'] == 'completed':
        run.update(total_s=info['total-time'] / 1000,
                   blackout_ms=watch.blackout_ms(),
                   reported_ms=info['downtime'],
                   parts=info.get('details', {}).get('blackout'),
                   sent_mb=info['ram']['transferred'] / MB,
                   rounds=info['ram']['dirty-sync-count'])
    return run


def main():
    o = options()
    out = report.Report('ping-pong', o)
    ws = o.ram * 20 // 24
    rate = int(o.rate * o.link * MB / lab_module.PAGE)
    runs = {}
    with report.lab(o) as lab:
        # One guest at a time would be idle otherwise, so each is stopped
        # while another one travels.
        journeys = []
        for kind in lab_module.kinds(lab, o.engines):
            j = lab_module.Journey(
                lab, kind, 'cpus=%d ws=%d rate=%d pat=random fill=1 start=48'
                % (o.cpus, ws, rate), ram_mib=o.ram + 64, cpus=o.cpus)
            j.vm.cmd('stop')
            journeys.append(j)
            runs[kind.name] = []
        for i in out.in_time(range(o.trips)):
            for j in journeys[::1 if i % 2 == 0 else -1]:
                j.vm.cmd('cont')
                run = out.run(**trip(j, o))
                j.vm.cmd('stop')
                runs[j.kind.name].append(run)
                out.note('%d: %-26s %s' % (i + 1, j.kind.name, '%.2f s'
                         % run['total_s'] if 'total_s' in run
                         else run['status']))
    out.say('Seconds of each migration: %d MiB written at random at %g MB/s, '
            'link %g MB/s, limit %d ms' % (ws, o.rate * o.link, o.link,
                                           o.limit))
    names = list(runs)
    out.table(names, [
        ['%.2f' % r['total_s'] if 'total_s' in r else r['status']
         for r in row] for row in zip(*runs.values())])
    out.say()
    times = {n: [r['total_s'] for r in rs if 'total_s' in r]
             for n, rs in runs.items()}
    out.table(['', 'mean s', 'median (least-largest)', 'blackout ms', 'rounds',
               'sent MB', '% of asked rate'], [
        [n, '%.2f' % statistics.mean(times[n]) if times[n] else '-',
         report.summary(times[n]),
         report.summary([r.get('blackout_ms') for r in rs], 0),
         report.summary([r.get('rounds') for r in rs], 0),
         report.summary([r.get('sent_mb') for r in rs], 0),
         report.summary([100 * r['steady'] / rate for r in rs], 0)]
        for n, rs in runs.items()])
    for j in journeys:
        rival = lab_module.rival_of(j.kind, [k.kind for k in journeys[::-1]])
        pairs = [(a['total_s'], b['total_s'])
                 for a, b in zip(runs[j.kind.name],
                                 runs[rival.name] if rival else [])
                 if 'total_s' in a and 'total_s' in b]
        if pairs:
            out.say('%s / %s = %s' % (j.kind.name, rival.name, report.summary(
                [a / b for a, b in pairs])))
    svg.intervals(out.path('.svg'), 'Ping-pong: each migration, and medians',
                  'seconds', list(times.items()))
    out.write()


if __name__ == '__main__':
    report.main(main)
