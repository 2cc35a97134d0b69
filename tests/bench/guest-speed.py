#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""guest-speed: how fast a guest writes, and what tracking takes of that.

One vCPU of the workload guest goes flat out over its memory, in order or at
random, by engine and by what is tracked:

  off    nothing
  on     a migration makes one round after the other (--link, which the guest
         outruns), so that pages are made ready to be noticed all the time
  dirty  a migration at 1 MB/s is in its second round, and all pages that the
         guest writes are dirty already

A writer that has the host's other processor takes nothing from the vCPU; on a
host with one, "on" has the migration's own work in it. PEER_QEMU_AARCH64 names
the binary of another QEMU, to be compared with. All take turns within a run.
"""
import statistics
import time

import lab as lab_module
import report
import svg
from tracked import Sink, Tracked

MB = 1000000
MODES = ['off', 'on', 'dirty']


def options():
    p = report.parser(__doc__)
    p.add_argument('--runs', type=int, default=7, help='of each (7)')
    p.add_argument('--engines', type=report.names,
                   default=['bitmap', 'ring', 'dbm', 'peer'],
                   help='as those of lost-computation '
                   '(bitmap,ring,dbm,peer)')
    p.add_argument('--patterns', type=report.names, default=['random', 'seq'],
                   help='seq, random, sparse (random,seq)')
    p.add_argument('--ws', type=int, default=32, help='working set, MiB (32)')
    p.add_argument('--link', type=float, default=200,
                   help='max-bandwidth with "on", MB/s (200)')
    p.add_argument('--span', type=float, default=0.4,
                   help='seconds of each measurement (0.4)')
    return p.parse_args()


def start(lab, kind, pattern, o):
    vm = lab.start_guest(
        kind.binary, 'ws=%d rate=0 bytes=64 pat=%s fill=1' % (o.ws, pattern),
        ram_mib=o.ws + 48, accel=kind.accel)
    vm.wait_for_guest()
    vm.cmd('stop')
    return vm


def settle(vm, mode):
    """Until what is measured is what @mode says."""
    if mode == 'off':
        return
    deadline = time.monotonic() + 5
    while vm.cmd('query-migrate')['ram']['dirty-sync-count'] < 2 and \
            time.monotonic() < deadline:
        time.sleep(0.01)
        if mode == 'dirty':
            break  # its first round takes long; all is dirty in it anyway
    time.sleep(0.2)


def measure(vm, mode, sink, o):
    """Operations a second, and those of a processor's second."""
    vm.cmd('migrate-set-parameters', **{
        'max-bandwidth': int(o.link * MB) if mode == 'on' else MB,
        'downtime-limit': 1})
    vm.cmd('cont')
    with Tracked(vm, None if mode == 'off' else sink):
        settle(vm, mode)
        cpu, ops = vm.thread_seconds('CPU 0'), vm.ops()
        begin = time.monotonic()
        time.sleep(o.span)
        ops, cpu = vm.ops() - ops, vm.thread_seconds('CPU 0') - cpu
        rate = ops / (time.monotonic() - begin)
    vm.cmd('stop')
    return {'rate': rate, 'per_cpu_s': ops / cpu if cpu else None}


def main():
    o = options()
    out = report.Report('guest-speed', o)
    runs = {}
    with report.lab(o) as lab:
        sink = Sink(lab)
        vms = {}
        for pattern in o.patterns:
            for kind in lab_module.kinds(lab, o.engines):
                vms[pattern, kind.name] = start(lab, kind, pattern, o)
        order = [(i, mode) for i in range(o.runs) for mode in MODES]
        for i, mode in out.in_time(order):
            for (pattern, name), vm in list(vms.items())[::1 if i % 2 == 0
                                                         else -1]:
                run = measure(vm, mode, sink, o)
                out.run(pattern=pattern, kind=name, mode=mode, **run)
                runs.setdefault((pattern, name, mode), []).append(
                    run['per_cpu_s'])
            out.note('run %d of %d, %s' % (i + 1, o.runs, mode))
    out.say('Operations (64 bytes written to a page), million in a second of '
            'the vCPU\'s processor; %d MiB; median (least-largest) of %d' % (
                o.ws, o.runs))
    rows, shown = [], []
    for pattern, name in vms:
        row, off = [pattern, name], runs[pattern, name, 'off']
        for mode in MODES:
            rs = runs.get((pattern, name, mode), [])
            row.append(report.summary([r / 1e6 for r in rs]))
            if mode != 'off':
                row.append(report.summary([a / b for a, b in zip(rs, off)]))
            other = runs.get((pattern, 'peer', mode))
            row.append(report.summary([a / b for a, b in zip(rs, other)])
                       if other and name != 'peer' else '-')
            shown.append(('%s, %s, %s' % (pattern, name, mode),
                          [r / 1e6 for r in rs]))
        rows.append(row)
    out.table(['', '', 'off', 'to peer', 'on', 'to off', 'to peer', 'dirty',
               'to off', 'to peer'], rows)
    for pattern in o.patterns:
        if (pattern, 'peer') in vms:
            ratio = statistics.median(runs[pattern, 'bitmap', 'off']) / \
                statistics.median(runs[pattern, 'peer', 'off'])
            out.say('%s, off: bitmap / peer = %.2f' % (pattern, ratio))
    svg.intervals(out.path('.svg'), 'Speed of a guest that writes flat out',
                  'million operations per CPU second', shown)
    out.write()


if __name__ == '__main__':
    report.main(main)
