#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""auto-matrix: is dirty-tracking=auto as good as the best fixed engine?

Each cell of the matrix is a guest: pattern, working set, vCPUs, rate. It is
migrated over a link that cannot keep up, for some passes over memory; then it
is stopped, so that the migration ends, and another engine has its turn with the
same guest, by the parameter dirty-tracking, and so on, several times.

What is compared is counted, not timed: faults, pages made dirty without one,
words read by syncs, exits of vCPUs for full rings, and changes of the engine,
from query-dirty-tracking and query-migrate, priced by one list for all, and
divided by the pages that syncs found new: a vCPU that had to wait for the
host's other work is no cheaper. (Pages written again before their first sending
are not new, so a cell has a spread of its own.) What auto spends on looking and
on changing is in it.
"""
import statistics
import time

import lab as lab_module
import report

# Nanoseconds: what bench-tcg and dirty-log-perf found for the software engine.
# Each page found costs its fault (or its update, which costs the model the
# same) and its collection.
PRICES = {'pages': 30, 'words': 0.5, 'ring_exits': 20000, 'changes': 100000}
CELLS = [
    # name, guest's command line, vCPUs, MiB of RAM
    ('sequential, 2 MiB', 'ws=2 pat=sequential', 1, 96),
    ('sequential, 32 MiB', 'ws=32 pat=sequential', 1, 96),
    ('random, 2 MiB', 'ws=2 pat=random', 1, 96),
    ('random, 32 MiB, 2 vCPUs', 'ws=32 pat=random cpus=2', 2, 96),
    ('random, 32 MiB, 20,000/s', 'ws=32 pat=random rate=20000', 1, 96),
    ('sparse, 32 MiB', 'ws=32 pat=sparse stride=8', 1, 96),
    ('nearly idle, 1 GiB', 'ws=1 rate=100', 1, 1024),
]
# Engine, and ring size of the machine it runs in.
ENGINES = [('bitmap', 65536), ('ring', 65536), ('ring', 256), ('dbm', 65536),
           ('auto', 65536), ('auto', 256)]
RINGS = (65536, 256)


def options():
    p = report.parser(__doc__)
    p.add_argument('--runs', type=int, default=7, help='of each pair (7)')
    p.add_argument('--passes', type=int, default=5,
                   help='over memory, in a migration (5)')
    p.add_argument('--link', type=float, default=300,
                   help='max-bandwidth, MB/s (300)')
    p.add_argument('--cells', type=report.names,
                   help='only those whose name has one of these words in it')
    p.add_argument('--cap', type=float, default=8,
                   help='seconds after which the guest is stopped (8)')
    return p.parse_args()


class Guest:
    """A machine with the guest, and what its counters said last."""

    def __init__(self, lab, line, cpus, ram, ring):
        self.vm = lab.start_guest(
            lab.ours, line, ram_mib=ram, cpus=cpus,
            accel='tcg,dirty-tracking=auto,dirty-ring-size=%d' % ring)
        self.vm.wait_for_guest()
        self.vm.cmd('stop')
        self.ram_words = ram * 256 // 64
        self.last = {'pages': 0, 'group_entries': 0, 'summary': 0,
                     'ring_exits': 0}

    def counted(self):
        """Since the last call; and the whole answer. Counters of an engine
        that is not in use are not told, and have not changed."""
        info = self.vm.cmd('query-dirty-tracking')
        groups, rings = info.get('groups'), info.get('rings')
        now = dict(self.last, pages=sum(
            v.get('pages', 0) for v in info['vcpus']))
        if groups:
            now.update(group_entries=groups['entries-scanned'],
                       summary=groups['summary-words'])
        if rings:
            now['ring_exits'] = rings['soft-full']
        delta = {k: now[k] - self.last[k] for k in now}
        self.last = now
        return delta, info

    def move(self, engine, o):
        vm = self.vm
        vm.cmd('migrate-set-parameters', **{
            'max-bandwidth': int(o.link * 1e6), 'downtime-limit': 0,
            'dirty-tracking': engine})
        vm.cmd('cont')
        self.counted()
        vm.cmd('migrate', uri='exec:cat >/dev/null')
        deadline = time.monotonic() + o.cap
        while True:
            info = vm.cmd('query-migrate')
            syncs = info.get('ram', {}).get('dirty-sync-count', 0)
            if syncs > o.passes or time.monotonic() > deadline or \
                    info['status'] in ('completed', 'failed'):
                break
            time.sleep(0.01)
        # What it wrote is found now, and the migration ends.
        vm.cmd('stop')
        while info['status'] in ('setup', 'active', 'device'):
            time.sleep(0.01)
            info = vm.cmd('query-migrate')
        if info['status'] != 'completed':
            raise lab_module.LabError('the migration failed: %s'
                                      % info.get('error-desc', ''))
        delta, tracking = self.counted()
        while vm.cmd('query-status')['status'] != 'postmigrate':
            time.sleep(0.01)
        found = sum(r['sync']['new-pages']
                    for r in info['details']['recent-rounds'])
        return self.run_of(engine, delta, tracking, max(syncs, 1),
                           max(found, 1))

    def run_of(self, engine, delta, tracking, syncs, found):
        decision = tracking.get('decision') or {}
        words = delta['group_entries'] // 64 + delta['summary']
        if tracking['engine'] == 'bitmap':
            words += (syncs + (2 if engine == 'auto' else 0)) * self.ram_words
        counts = {'pages': delta['pages'], 'words': words,
                  'ring_exits': delta['ring_exits'],
                  'changes': decision.get('changes', 0)}
        return dict(counts, syncs=syncs, found=found,
                    ended_with=tracking['engine'], decision=decision,
                    ns_per_page=sum(PRICES[k] * counts[k]
                                    for k in PRICES) / found)


def measure(lab, out, o, cell):
    name, line, cpus, ram = cell
    guests = {ring: Guest(lab, line, cpus, ram, ring) for ring in RINGS}
    runs = {e: [] for e in ENGINES}
    for i in range(o.runs):
        for e in ENGINES[::1 if i % 2 == 0 else -1]:
            engine, ring = e
            run = guests[ring].move(engine, o)
            runs[e].append(out.run(cell=name, engine=engine, ring=ring,
                                   **run))
    lab.stop(*[g.vm for g in guests.values()])
    return runs


def label(e):
    return e[0] if e[1] == 65536 else '%s, rings of %d' % e


def verdict(runs, ring):
    """The best of the engines that auto could have chosen in its machine;
    median of auto over its median; and whether their intervals overlap."""
    def values(e):
        return [r['ns_per_page'] for r in runs[e]]
    fixed = {e: statistics.median(values(e)) for e in ENGINES
             if e[0] != 'auto' and (e[0] != 'ring' or e[1] == ring)}
    best = min(fixed, key=fixed.get)
    auto = values(('auto', ring))
    return (best, statistics.median(auto) / max(fixed[best], 1e-9),
            min(auto) <= max(values(best)))


def main():
    o = options()
    out = report.Report('auto-matrix', o)
    cells = [c for c in CELLS
             if not o.cells or any(w in c[0] for w in o.cells)]
    rows, verdicts = [], []
    with lab_module.Lab(o.build) as lab:
        for cell in cells:
            runs = measure(lab, out, o, cell)
            rows.append([cell[0]] + [report.summary(
                [r['ns_per_page'] for r in runs[e]], 0) for e in ENGINES])
            for ring in RINGS:
                best, ratio, overlap = verdict(runs, ring)
                ended = sorted({r['ended_with'] for r in runs[('auto', ring)]})
                changes = sum(r['changes'] for r in runs[('auto', ring)])
                verdicts.append([cell[0], ring, ', '.join(ended), changes,
                                 label(best), '%.2f' % ratio,
                                 'yes' if overlap else 'no'])
            out.note('%s: auto / best = %s' % (
                cell[0], ', '.join(v[-2] for v in verdicts[-2:])))
    out.say('Priced counts, ns per page found: median (least-largest) '
            'of %d' % o.runs)
    out.table(['guest'] + [label(e) for e in ENGINES], rows)
    out.say()
    out.say('auto against the best of those that it could choose')
    out.table(['guest', 'ring size', 'auto ended with', 'changes',
               'best fixed', 'auto / best', 'overlap'], verdicts)
    out.write()


if __name__ == '__main__':
    report.main(main)
