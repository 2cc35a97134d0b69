#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""blackout: how long a writing guest stands still, against its limit.

For each downtime-limit and dirty rate a guest is migrated again and again; how
long it stood still is seen from outside, by its operation counter (to 1 ms or
one burst of the guest, whichever is longer). Before that the fixed part: a
guest that only reads, with 1 and with 8 vCPUs, of which one or all run.

PEER_QEMU_AARCH64 (or _X86_64) names the binary of another QEMU, to be
compared with; they take turns.
"""
import lab as lab_module
import report
import svg

MB = 1000000


def options():
    p = report.parser(__doc__)
    p.add_argument('--runs', type=int, default=3, help='of each (3)')
    p.add_argument('--engines', type=report.names, default=['bitmap', 'peer'],
                   help='as those of lost-computation (bitmap,peer)')
    p.add_argument('--limits', type=report.numbers, default=[50, 100, 300],
                   help='downtime-limits, ms; 0: none of this part '
                   '(50,100,300)')
    p.add_argument('--rates', type=report.numbers, default=[0.2, 0.5, 0.8],
                   help='dirty rates, of the link (0.2,0.5,0.8)')
    p.add_argument('--fixed', default='1:1,8:1,8:8', type=report.names,
                   help='fixed part, vCPUs:running (1:1,8:1,8:8)')
    p.add_argument('--ws', type=int, default=64, help='working set, MiB (64)')
    p.add_argument('--link', type=float, default=100,
                   help='max-bandwidth, MB/s (100)')
    p.add_argument('--cap', type=float, default=12,
                   help='seconds after which a migration is cancelled (12)')
    return p.parse_args()


def move(journey, limit, o):
    info, watch = journey.move(o.cap, max_bandwidth=int(o.link * MB),
                               downtime_limit=int(limit))
    run = {'kind': journey.kind.name, 'limit': limit, 'status': info['status']}
    if info['status'] == 'completed':
        run.update(blackout_ms=watch.blackout_ms(), total_s=info['total-time']
                   / 1000, reported_ms=info['downtime'],
                   rounds=info['ram']['dirty-sync-count'],
                   parts=info.get('details', {}).get('blackout'))
    return run


def limits_part(lab, o, out):
    cells = {}
    journeys = [lab_module.Journey(
        lab, kind, 'ws=%d rate=5000 pat=random fill=1' % o.ws,
        ram_mib=o.ws + 64) for kind in lab_module.kinds(lab, o.engines)]
    for j in journeys:
        j.vm.cmd('stop')
    order = [(i, limit, rate) for i in range(o.runs) for limit in o.limits
             for rate in o.rates]
    for i, limit, rate in out.in_time(order):
        for j in journeys[::1 if i % 2 == 0 else -1]:
            asked = int(rate * o.link * MB / lab_module.PAGE)
            j.vm.cmd('cont')
            j.vm.set_ctl(rate=asked)
            steady = j.vm.rate(0.4)
            run = out.run(rate=rate, steady=steady, asked=asked,
                          **move(j, limit, o))
            j.vm.cmd('stop')
            cells.setdefault((limit, rate, j.kind.name), []).append(run)
            out.note('%d: limit %3g, rate %g, %-8s %s' % (
                i + 1, limit, rate, j.kind.name, '%.1f ms' %
                run['blackout_ms'] if 'blackout_ms' in run
                else run['status']))
    lab.stop(*[j.vm for j in journeys])
    rows, shown = [], {}
    for (limit, rate, name), runs in sorted(cells.items()):
        done = [r for r in runs if 'blackout_ms' in r]
        ratio = [r['blackout_ms'] / limit for r in done]
        shown.setdefault('%s, limit %g' % (name, limit), []).extend(ratio)
        rows.append(['%g' % limit, '%g' % rate, name,
                     '%d/%d' % (len(done), len(runs)), report.summary(ratio),
                     report.summary([r['blackout_ms'] for r in done], 1),
                     report.summary([r['reported_ms'] for r in done], 0),
                     report.summary([r['total_s'] for r in done]),
                     report.summary([100 * r['steady'] / r['asked']
                                     for r in runs], 0)])
    out.say('A working set of %d MiB written at random, link %g MB/s; median '
            '(least-largest) of %d' % (o.ws, o.link, o.runs))
    out.table(['limit ms', 'rate/link', '', 'ended', 'blackout / limit',
               'blackout ms', 'reported ms', 'total s', '% of asked rate'],
              rows)
    for name in sorted({k[2] for k in cells}):
        every = [r['blackout_ms'] / k[0] for k, runs in cells.items()
                 if k[2] == name for r in runs if 'blackout_ms' in r]
        out.say('%s: blackout / limit over all: %s; over the limit %d of %d'
                % (name, report.summary(every), sum(x > 1 for x in every),
                   len(every)))
    svg.intervals(out.path('.svg'), 'Blackout / limit: each run, and medians',
                  'blackout / limit', list(shown.items()))


def fixed_part(lab, o, out):
    cells = {}
    for shape in out.in_time(o.fixed):
        cpus, running = (int(x) for x in shape.split(':'))
        journeys = [lab_module.Journey(
            lab, kind, 'cpus=%d ws=8 rate=0 write=0' % running, running,
            ram_mib=64, cpus=cpus)
            for kind in lab_module.kinds(lab, o.engines)]
        for j in journeys:
            j.vm.cmd('stop')
        for i in range(max(3, o.runs)):
            for j in journeys[::1 if i % 2 == 0 else -1]:
                j.vm.cmd('cont')
                j.vm.rate(0.2)
                run = out.run(fixed=shape, **move(j, 300, o))
                j.vm.cmd('stop')
                cells.setdefault((shape, j.kind.name), []).append(run)
        lab.stop(*[j.vm for j in journeys])
    rows = []
    for (shape, name), runs in cells.items():
        done = [r for r in runs if 'blackout_ms' in r]
        parts = [sum(r['parts'].get(k, 0) for k in (
            'stop', 'save', 'collect', 'pages', 'devices', 'wait')) / 1000
            for r in done if r['parts']]
        rows.append(shape.split(':') + [
            name, report.summary([r['blackout_ms'] for r in done], 1),
            report.summary([r['reported_ms'] for r in done], 0),
            report.summary(parts, 2)])
    out.say('The fixed part: a guest that only reads, median (least-largest) '
            'of %d' % max(3, o.runs))
    out.table(['vCPUs', 'running', '', 'blackout ms', 'reported ms',
               'sum of own parts, ms'], rows)
    out.say()


def main():
    o = options()
    out = report.Report('blackout', o)
    with report.lab(o) as lab:
        if o.fixed:
            fixed_part(lab, o, out)
        if o.limits != [0]:
            limits_part(lab, o, out)
    out.write()


if __name__ == '__main__':
    report.main(main)
