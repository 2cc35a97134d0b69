#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""small-costs: what a process costs that has nothing to do.

Round trips of QMP (query-status) and of qtest (readl) over unix sockets;
start-up, from the start of the process to its QMP greeting, and to its end
after `quit`; and what an idle machine is: its own memory (Pss, and what only
it has), its threads, and how often they run in a second.

PEER_QEMU_AARCH64 (or _X86_64) names the binary of another QEMU, to be compared
with; they take turns. If it is a wrapper, what that takes is in its start-up.
"""
import os
import socket
import statistics
import time

import lab as lab_module
import report

from qmp_client import Machine

MACHINES = ['none', 'board']


def options():
    p = report.parser(__doc__)
    p.add_argument('--runs', type=int, default=9, help='of each (9)')
    p.add_argument('--trips', type=int, default=2000,
                   help='round trips in a run (2000)')
    p.add_argument('--idle', type=float, default=1,
                   help='seconds of watching an idle machine (1)')
    return p.parse_args()


def connect(path):
    deadline = time.monotonic() + 10
    while True:
        s = socket.socket(socket.AF_UNIX)
        try:
            s.connect(path)
            return s.makefile('rw', buffering=1)
        except OSError:
            s.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.001)


def trips(file, line, n, good):
    """Microseconds of each of @n round trips; ends of lines apart."""
    found = []
    for _ in range(n):
        begin = time.perf_counter()
        file.write(line + '\n')
        answer = file.readline()
        found.append((time.perf_counter() - begin) * 1e6)
        if good not in answer:
            raise lab_module.LabError('%s: %s' % (line, answer))
    return found


def figures(pid):
    """(Pss, private) of a process in KiB, threads, and how often they slept."""
    sums = {}
    with open('/proc/%d/smaps_rollup' % pid) as f:
        for line in f:
            fields = line.split()
            if fields[-1] == 'kB':
                sums[fields[0][:-1]] = int(fields[1])
    tids, switches = os.listdir('/proc/%d/task' % pid), 0
    for tid in tids:
        with open('/proc/%d/task/%s/status' % (pid, tid)) as f:
            switches += sum(int(line.split()[1]) for line in f
                            if line.startswith('voluntary_ctxt'))
    return (sums['Pss'], sums['Private_Dirty'] + sums['Private_Clean'],
            len(tids), switches)


def one(lab, binary, machine, o):
    lab.count += 1
    qtest = os.path.join(lab.folder, 'qtest%d' % lab.count)
    qmp = os.path.join(lab.folder, 'qmp%d' % lab.count)
    begin = time.monotonic()
    with Machine(binary, '-M', lab.arch.machine if machine == 'board'
                 else machine, '-m', '128M', '-nodefaults', '-accel', 'qtest',
                 '-qtest-log', 'none',
                 '-qtest', 'unix:%s,server=on,wait=off' % qtest,
                 '-qmp', 'unix:%s,server=on,wait=off' % qmp) as vm:
        run = {'greeting_ms': (time.monotonic() - begin) * 1000}
        with connect(qmp) as f:
            f.readline()
            trips(f, '{"execute": "qmp_capabilities"}', 1, 'return')
            run['qmp_us'] = statistics.median(trips(
                f, '{"execute": "query-status"}', o.trips, '"status"'))
        if machine == 'board':
            with connect(qtest) as f:
                run['qtest_us'] = statistics.median(trips(
                    f, 'readl %#x' % (lab.arch.ram_base + 0x1000), o.trips,
                    'OK'))
        vm.cmd('query-status')
        before = figures(vm.proc.pid)
        time.sleep(o.idle)
        after = figures(vm.proc.pid)
        run.update(pss_mib=after[0] / 1024, private_mib=after[1] / 1024,
                   threads=after[2],
                   wakes_per_s=(after[3] - before[3]) / o.idle)
        begin = time.monotonic()
        vm.cmd('quit')
        vm.proc.wait(20)
        run['end_ms'] = (time.monotonic() - begin) * 1000
    return run


COLUMNS = [('greeting_ms', 'start ms', 1), ('end_ms', 'end ms', 1),
           ('qmp_us', 'QMP us', 1), ('qtest_us', 'qtest us', 1),
           ('pss_mib', 'Pss MiB', 1), ('private_mib', 'private MiB', 1),
           ('threads', 'threads', 0), ('wakes_per_s', 'wakes/s', 0)]


def main():
    o = options()
    out = report.Report('small-costs', o)
    runs = {}
    with report.lab(o) as lab:
        who = [('ours', lab.ours)]
        if lab.arch.peer:
            who.append(('peer', lab.arch.peer))
        for i in out.in_time(range(o.runs)):
            for machine in MACHINES:
                for name, binary in who[::1 if i % 2 == 0 else -1]:
                    run = out.run(machine=machine, kind=name,
                                  **one(lab, binary, machine, o))
                    runs.setdefault((machine, name), []).append(run)
            out.note('run %d of %d' % (i + 1, o.runs))
    out.say('128 MiB, qtest accelerator; medians (least-largest) of %d, round '
            'trips: of the medians of %d' % (o.runs, o.trips))
    rows = []
    for (machine, name), rs in runs.items():
        rows.append([machine, name] + [
            report.summary([r.get(key) for r in rs], digits)
            for key, _, digits in COLUMNS])
        other = runs.get((machine, 'peer'))
        if other and name != 'peer':
            rows.append(['..', 'to peer'] + [
                report.summary([a[key] / b[key] for a, b in zip(rs, other)
                                if b.get(key)])
                for key, _, _ in COLUMNS])
    out.table(['', ''] + [head for _, head, _ in COLUMNS], rows)
    out.write()


if __name__ == '__main__':
    report.main(main)
