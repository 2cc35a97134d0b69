#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""qmp-latency: how long a QMP command takes while vCPUs write flat out.

query-status, one after the other with a short pause between them, by engine
and number of vCPUs: without tracking; with rings of 256 entries, which are full
all the time; with the bitmap. Tracking is on because a migration is under way,
at 1 MB/s, so that it never gets to its end. PEER_QEMU_AARCH64 names the binary
of another QEMU, to be compared with: its TCG has a bitmap only.

All of them take turns within a run; percentiles are over all samples of all
runs, and the range is that of the runs.
"""
import time

import lab as lab_module
import report
import svg
from tracked import Sink, Tracked

PERCENTILES = [50, 90, 99, 99.9, 100]


def options():
    p = report.parser(__doc__)
    p.add_argument('--runs', type=int, default=7, help='of each (7)')
    p.add_argument('--cpus', type=report.numbers, default=[1, 2, 4],
                   help='numbers of vCPUs (1,2,4)')
    p.add_argument('--span', type=float, default=0.5,
                   help='seconds of each (0.5)')
    p.add_argument('--pause', type=float, default=0.2,
                   help='between an answer and the next command, ms (0.2)')
    p.add_argument('--ring', type=int, default=256,
                   help='entries of a ring (256)')
    p.add_argument('--ws', type=int, default=16,
                   help='working set, MiB; random (16)')
    return p.parse_args()


def sample(vm, o):
    """Round trips in microseconds."""
    samples = []
    end = time.perf_counter() + o.span
    while True:
        begin = time.perf_counter()
        vm.cmd('query-status')
        now = time.perf_counter()
        samples.append((now - begin) * 1e6)
        if now > end:
            return samples
        time.sleep(o.pause / 1000)


def percentile(samples, p):
    """The least value that @p percent are not above."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(len(ordered) * p / 100))]


def ring_counts(vm):
    try:
        rings = vm.cmd('query-dirty-tracking').get('rings', {})
    except lab_module.QmpError:
        return 0
    return rings.get('soft-full', 0) + rings.get('hard-full', 0)


def start(lab, kind, cpus, o):
    vm = lab.start_guest(
        kind.binary, 'cpus=%d ws=%d rate=0 bytes=64 pat=random fill=1'
        % (cpus, o.ws), ram_mib=o.ws + 48, cpus=cpus, accel=kind.accel)
    vm.wait_for_guest()
    # QEMU's would wait for a target that talks back.
    vm.cmd('migrate-set-parameters',
           **{'max-bandwidth': 1000000, 'downtime-limit': 1})
    vm.cmd('stop')
    return vm


def cells_of(lab, cpus, sink, o):
    """(name, machine, sink or None) of all that take turns."""
    cells = []
    ring = 'ring/dirty-ring-size=%d' % o.ring
    for kind in lab_module.kinds(lab, [ring, 'bitmap', 'peer']):
        vm = start(lab, kind, cpus, o)
        name = {ring: 'rings of %d' % o.ring}.get(kind.name, kind.name)
        if kind.name != 'bitmap':
            which = 'peer' if kind.name == 'peer' else 'ours'
            cells.append((which + ', not tracked', vm, None))
        name += ', bitmap' if kind.name == 'peer' else ''
        cells.append((name, vm, sink))
    return cells


def measure(lab, o, out):
    found, exits = {}, {}
    sink = Sink(lab)
    for cpus in (int(c) for c in o.cpus):
        cells = cells_of(lab, cpus, sink, o)
        for i in out.in_time(range(o.runs)):
            for name, vm, to in cells[::1 if i % 2 == 0 else -1]:
                vm.cmd('cont')
                with Tracked(vm, to):
                    before = ring_counts(vm)
                    samples = sample(vm, o)
                    full = ring_counts(vm) - before
                vm.cmd('stop')
                found.setdefault((cpus, name), []).append(samples)
                exits.setdefault((cpus, name), []).append(full / o.span)
                out.run(cpus=cpus, name=name, samples=len(samples),
                        full_per_s=full / o.span,
                        us={str(p): percentile(samples, p)
                            for p in PERCENTILES})
            out.note('%d vCPUs: run %d of %d' % (cpus, i + 1, o.runs))
        lab.stop(*{vm for _, vm, _ in cells})
    return found, exits


def show(found, exits, o, out):
    rows, shown = [], []
    for (cpus, name), runs in found.items():
        every = [s for run in runs for s in run]
        p99 = [percentile(run, 99) for run in runs]
        rows.append([cpus, name] + ['%.0f' % percentile(every, p)
                                    for p in PERCENTILES] +
                    ['%.0f-%.0f' % (min(p99), max(p99)), len(every),
                     report.summary(exits[(cpus, name)], 0)])
        shown.append(('%d, %s' % (cpus, name), p99))
    out.say('Round trip of query-status in microseconds, vCPUs writing flat '
            'out over %d MiB; %d runs of %g s' % (o.ws, o.runs, o.span))
    out.table(['vCPUs', ''] + ['max' if p == 100 else 'p%g' % p
                               for p in PERCENTILES] +
              ['p99 by run', 'samples', 'full rings/s'], rows)
    svg.intervals(out.path('.svg'), 'QMP round trip, p99 of each run',
                  'microseconds', shown)


def main():
    o = options()
    out = report.Report('qmp-latency', o)
    with lab_module.Lab(o.build) as lab:
        found, exits = measure(lab, o, out)
        show(found, exits, o, out)
    out.write()


if __name__ == '__main__':
    report.main(main)
