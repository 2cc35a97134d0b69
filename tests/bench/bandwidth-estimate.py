#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""bandwidth-estimate: what a migration reckons its link carries, and what it
does carry.

A guest that writes at random is migrated through a proxy that passes on a
known number of bytes a second; there is no max-bandwidth. The downtime-limit
is so small that the migration goes on from round to round, until it is
cancelled. Of what `query-migrate` says meanwhile (details, prediction,
bandwidth) all samples after the first round are compared with what the proxy carried in
the same time, while it had something to carry. (On a busy host that may be
less than it is asked for.)

With "by-page" each sync takes page by page (x-sync-by-page), of a guest that
is so large that it takes about 80 ms (--ram): such a sync must not be taken
for time in which the link was slow, nor the time in which it emptied what was
under way for a fast one. How long syncs took is shown.
"""
import mmap
import os
import select
import signal
import socket
import statistics
import time

import lab as lab_module
import report
import svg

MB = 1000000
PIECE = 16384


def options():
    p = report.parser(__doc__)
    p.add_argument('--runs', type=int, default=7, help='of each (7)')
    p.add_argument('--links', type=report.numbers, default=[50, 200],
                   help='rates of the proxy, MB/s (50,200)')
    p.add_argument('--engines', type=report.names,
                   default=['bitmap', 'by-page'],
                   help='bitmap and by-page (both)')
    p.add_argument('--ram', type=int, default=5376,
                   help='MiB, of which most is never touched (5376)')
    p.add_argument('--ws', type=int, default=48, help='working set, MiB (48)')
    p.add_argument('--dirty', type=float, default=0.4,
                   help='dirty rate, of the link (0.4)')
    p.add_argument('--span', type=float, default=2.5,
                   help='seconds of each migration (2.5)')
    return p.parse_args()


def pump(source, target, rate, carried=None):
    """From @source to @target, @rate bytes a second; answers at once. What it
    slept too long is made up for, time in which nothing came is not.
    @carried: gets bytes, and the seconds in which there were some to carry."""
    end = due = time.monotonic()
    piece = bytearray(PIECE)
    while True:
        idle = not select.select([source], [], [], 0)[0]
        n = source.recv_into(piece)
        if not n:
            return
        begin = end
        if idle:
            begin = time.monotonic()
            due = max(due, begin)
        target.sendall(memoryview(piece)[:n])
        due += n / rate
        wait = due - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        end = time.monotonic()
        if carried:
            carried[0] += n
            carried[1] += end - begin


class Proxy:
    """A process that listens at @uri for one connection at a time, and hands
    it on to @path."""

    def __init__(self, lab, rate):
        self.path = os.path.join(lab.folder, 'proxy%d' % lab.count)
        self.uri = 'unix:' + self.path
        self.rate = rate
        lab.count += 1
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(1)
        self.pid = None
        self.carried = memoryview(mmap.mmap(-1, mmap.PAGESIZE)).cast('d')

    def start(self, path):
        self.pid = os.fork()
        if self.pid:
            return
        try:
            source, _ = self.listener.accept()
            target = socket.socket(socket.AF_UNIX)
            target.connect(path)
            if os.fork() == 0:
                pump(target, source, 1e12)  # the way back
            else:
                pump(source, target, self.rate * MB, self.carried)
        finally:
            os._exit(0)

    def so_far(self):
        return self.carried[0], self.carried[1]

    def stop(self):
        os.kill(self.pid, signal.SIGTERM)
        os.waitpid(self.pid, 0)


def wait_until_over(vm):
    deadline = time.monotonic() + 20
    while vm.cmd('query-migrate')['status'] not in ('cancelled', 'completed',
                                                    'failed'):
        if time.monotonic() > deadline:
            raise lab_module.LabError('the migration does not end')
        time.sleep(0.01)


def measure(journey, link, o):
    lab, vm = journey.lab, journey.vm
    vm.cmd('cont')
    vm.set_ctl(rate=int(o.dirty * link * MB / lab_module.PAGE))
    target = lab.start_target(journey.kind.binary, *journey.kind.more,
                              **journey.options)
    target.set_migration()
    vm.set_migration(max_bandwidth=0, downtime_limit=1)
    proxy = Proxy(lab, link)
    uri = lab.uri()
    target.cmd('migrate-incoming', uri=uri)
    proxy.start(uri[len('unix:'):])
    vm.cmd('migrate', uri=proxy.uri)
    samples, syncs, first, last = [], [], None, None
    end = time.monotonic() + o.span
    while time.monotonic() < end:
        time.sleep(0.02)
        info = vm.cmd('query-migrate')
        if info['status'] in ('completed', 'failed'):
            break
        details = info.get('details', {})
        if info.get('ram', {}).get('dirty-sync-count', 0) >= 2 and \
                'prediction' in details:
            first = first or proxy.so_far()
            last = proxy.so_far()
            samples.append(details['prediction']['bandwidth'])
            syncs = [r['sync']['total'] / 1000
                     for r in details['recent-rounds']]
    if info['status'] not in ('completed', 'failed'):
        vm.cmd('migrate_cancel')
        wait_until_over(vm)
    proxy.stop()
    ended = vm.cmd('query-migrate')['status']
    if ended == 'completed':
        journey.vm = target
        lab.stop(vm)
    else:
        lab.stop(target)
    journey.vm.cmd('stop')
    if not samples or last[1] <= first[1]:
        raise lab_module.LabError('no second round within %g s' % o.span)
    real = (last[0] - first[0]) / (last[1] - first[1])
    return {'link': link, 'kind': journey.kind.name, 'ended': ended,
            'real': real / MB, 'estimate': statistics.median(samples) / real,
            'least': min(samples) / real, 'most': max(samples) / real,
            'rounds': info.get('ram', {}).get('dirty-sync-count'),
            'sync_ms': syncs}


def kinds(lab, wanted):
    accel = lab.accel + ',dirty-tracking=bitmap'
    there = {'bitmap': (), 'by-page': ('-global',
                                       'migration.x-sync-by-page=on')}
    return [lab_module.Kind(n, lab.ours, accel, more=there[n]) for n in wanted]


def main():
    o = options()
    out = report.Report('bandwidth-estimate', o)
    runs = {}
    with report.lab(o) as lab:
        journeys = [lab_module.Journey(
            lab, kind, 'ws=%d rate=1000 pat=random fill=1' % o.ws,
            ram_mib=o.ram) for kind in kinds(lab, o.engines)]
        for j in journeys:
            j.vm.cmd('stop')
        order = [(i, link) for i in range(o.runs) for link in o.links]
        for i, link in out.in_time(order):
            for j in journeys[::1 if i % 2 == 0 else -1]:
                run = out.run(**measure(j, link, o))
                runs.setdefault((link, j.kind.name), []).append(run)
                out.note('%d: %3g MB/s, %-8s %.1f, %.3f of it' % (
                    i + 1, link, j.kind.name, run['real'], run['estimate']))
    out.say('%d of %d MiB written at random at %g of the link; '
            'median (least-largest) of %d runs' % (
                o.ws, o.ram, o.dirty, o.runs))
    rows, shown = [], []
    for (link, name), rs in sorted(runs.items()):
        rows.append(['%g' % link, name,
                     report.summary([r['real'] for r in rs], 1),
                     report.summary([r['estimate'] for r in rs], 3),
                     '%.3f-%.3f' % (
                         min(r['least'] for r in rs),
                         max(r['most'] for r in rs)),
                     report.summary([s for r in rs for s in r['sync_ms']], 1),
                     report.summary([r['rounds'] for r in rs], 0)])
        shown.append(('%s, %g MB/s' % (name, link),
                      [r['estimate'] for r in rs]))
    out.table(['MB/s', '', 'carried', 'estimate / carried', 'of all samples', 'sync ms',
               'rounds'], rows)
    svg.intervals(out.path('.svg'), 'Estimated bandwidth / that of the link',
                  'ratio', shown)
    out.write()


if __name__ == '__main__':
    report.main(main)
