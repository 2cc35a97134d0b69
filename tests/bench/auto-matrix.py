#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""auto-matrix: is dirty-tracking=auto as good as the best fixed engine?

Each row of the matrix is a guest: pattern, working set, vCPUs, rate. It is
migrated over a link that cannot keep up, for some passes over memory; then it
is stopped, so that the migration ends, and another engine has its turn with the
same guest, by the parameter dirty-tracking, and so on, several times.

In some rows auto begins with an engine that is wrong for the guest, on a
machine where a fault is dear (x-dirty-fault-ns), or the guest changes in the
midst of a migration: there auto has to change by itself.

What is compared is counted, not timed: faults, pages made dirty without one,
words read by trackers, to pass pages on, and by the looks of auto, exits of
vCPUs for full rings, and changes of the engine, all from query-dirty-tracking,
priced by one list for all, and divided by the pages found: a vCPU that had to
wait for the host's other work is no cheaper.

The verdict of a row: "not worse" by counts if the median of auto is within one
percent of that of the best fixed engine; else by intervals if the two ranges,
of all runs, overlap; else how much is lost in a whole migration, and whether
that is less than a tenth of what one change costs. How auto compares with the
engine that it began with is told, too.

--rows makes it possible to measure a few rows at a time; with --keep the others
stay in the results as they are.
"""
import json
import os
import statistics
import time

import lab as lab_module
import report
import svg

# Nanoseconds: what bench-tcg and dirty-log-perf found for the software engine.
# Each page found costs a fault or an update, which cost the model the same, and
# its collection. Where a fault is dear, its price is added.
PRICES = {'faults': 30, 'updates': 30, 'words': 0.5, 'ring_exits': 20000,
          'changes': 100000}
DEAR = 5800
# What is lost in a whole migration is nothing if it is less: a tenth of a
# change.
NOTHING_NS = 10000


class Row:
    """@ring: entries of rings; @start: what auto begins with; @link: MB/s;
    @then: (after how many seconds, what the guest does from then on), as
    set_ctl() takes it."""

    def __init__(self, name, line, cpus=1, ram=96, ring=65536, start='bitmap',
                 fault_ns=0, link=None, then=None):
        self.name, self.line, self.cpus, self.ram = name, line, cpus, ram
        self.ring, self.start, self.fault_ns = ring, start, fault_ns
        self.link, self.then = link, then


ROWS = [
    Row('sequential, 2 MiB', 'ws=2 pat=sequential'),
    Row('sequential, 32 MiB', 'ws=32 pat=sequential'),
    Row('random, 2 MiB', 'ws=2 pat=random'),
    Row('random, 32 MiB, 2 vCPUs', 'ws=32 pat=random cpus=2', cpus=2),
    Row('random, 32 MiB, 20,000/s', 'ws=32 pat=random rate=20000'),
    Row('sparse, 32 MiB', 'ws=32 pat=sparse stride=8'),
    Row('nearly idle, 1 GiB', 'ws=1 rate=100', ram=1024),
    Row('a page per 16 MiB, 1 GiB', 'ws=768 pat=sparse stride=4096 rate=20000',
        ram=1024),
    Row('random, rings of 256 there', 'ws=32 pat=random', ring=256),
    Row('random, begun with rings of 256', 'ws=32 pat=random', ring=256,
        start='ring'),
    Row('dense, begun with rings of 256', 'ws=32 pat=sequential', ring=256,
        start='ring'),
    Row('dear faults, dense', 'ws=32 pat=sequential', fault_ns=DEAR),
    Row('dear faults, 1 of 8 pages, 1 GiB', 'ws=512 pat=sparse stride=8',
        ram=1024, fault_ns=DEAR),
    Row('dear faults, 1 of 64 pages, 1 GiB', 'ws=512 pat=sparse stride=64',
        ram=1024, fault_ns=DEAR),
    Row('dear faults, dense, begun with dbm', 'ws=32 pat=sequential',
        start='dbm', fault_ns=DEAR),
    Row('dear faults, idle, then dense', 'ws=32 pat=sequential fill=1 rate=100',
        fault_ns=DEAR, link=40, then=(0.4, {'rate': 0})),
]
ENGINES = ['bitmap', 'ring', 'dbm', 'auto']


def options():
    p = report.parser(__doc__)
    p.add_argument('--runs', type=int, default=7, help='of each pair (7)')
    p.add_argument('--passes', type=int, default=6,
                   help='over memory, in a migration (6)')
    p.add_argument('--link', type=float, default=300,
                   help='max-bandwidth, MB/s (300)')
    p.add_argument('--rows', help='only these, as numbers: 1-3,8')
    p.add_argument('--keep', action='store_true',
                   help='keep the results of other rows that are there')
    p.add_argument('--cap', type=float, default=6,
                   help='seconds after which the guest is stopped (6)')
    return p.parse_args()


def chosen(text):
    if not text:
        return ROWS
    rows = []
    for part in text.split(','):
        first, _, last = part.partition('-')
        rows += ROWS[int(first) - 1:int(last or first)]
    return rows


class Guest:
    """A machine with the guest, and what its counters said last."""

    def __init__(self, lab, row):
        accel = 'tcg,dirty-tracking=auto,dirty-ring-size=%d' % row.ring
        if row.fault_ns:
            accel += ',x-dirty-fault-ns=%d' % row.fault_ns
        self.row = row
        self.vm = lab.start_guest(lab.ours, row.line, ram_mib=row.ram,
                                  cpus=row.cpus, accel=accel)
        self.vm.wait_for_guest()
        self.rate = sum(self.vm.ctl(c, 'rate') for c in range(row.cpus))
        self.vm.cmd('stop')
        self.last = None

    def counted(self):
        """Since the last call; and the whole answer."""
        info = self.vm.cmd('query-dirty-tracking')
        work = info['work']
        now = {'pages': sum(v.get('pages', 0) for v in info['vcpus']),
               'words': work['tracker-words'] + work['block-words'] +
               work['look-words']}
        for k in 'updates', 'refaults', 'ring-exits', 'look-words':
            now[k] = work[k]
        last = self.last or now
        self.last = now
        return {k: now[k] - last[k] for k in now}, info

    def move(self, engine, o):
        vm, row = self.vm, self.row
        vm.cmd('migrate-set-parameters', **{
            'max-bandwidth': int((row.link or o.link) * 1e6),
            'downtime-limit': 0,
            'dirty-tracking': engine})
        then = row.then
        if then:
            vm.set_ctl(rate=self.rate)
        vm.cmd('cont')
        before = self.counted()[1]
        if engine == 'auto' and before['engine'] != row.start:
            raise lab_module.LabError('auto begins with ' + before['engine'])
        vm.cmd('migrate', uri='exec:cat >/dev/null')
        begin = time.monotonic()
        deadline = begin + (3 if then else o.cap)
        while True:
            info = vm.cmd('query-migrate')
            syncs = info.get('ram', {}).get('dirty-sync-count', 0)
            if then and time.monotonic() > begin + then[0]:
                vm.set_ctl(**then[1])
                then = None
            if syncs > o.passes or time.monotonic() > deadline or \
                    info['status'] in ('completed', 'failed'):
                break
            time.sleep(0.005)
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
        return self.run_of(delta, tracking, max(syncs, 1))

    def run_of(self, delta, tracking, syncs):
        decision = tracking.get('decision') or {}
        counts = {'faults': delta['pages'] - delta['updates'],
                  'updates': delta['updates'], 'words': delta['words'],
                  'ring_exits': delta['ring-exits'],
                  'changes': decision.get('changes', 0)}
        found = max(delta['pages'] - delta['refaults'], 1)
        cost = sum(PRICES[k] * counts[k] for k in PRICES) + \
            counts['faults'] * self.row.fault_ns
        return dict(counts, syncs=syncs, found=found, cost_ns=cost,
                    look_words=delta['look-words'],
                    ended_with=tracking['engine'], decision=decision,
                    ns_per_page=cost / found)


def measure(lab, out, o, row):
    guest = Guest(lab, row)
    # auto goes on with what was used before it.
    others = [e for e in ENGINES if e not in (row.start, 'auto')]
    turns = [others + [row.start, 'auto'],
             [row.start, 'auto'] + others[::-1]]
    for i in range(o.runs):
        for engine in turns[i % 2]:
            out.run(row=row.name, engine=engine, **guest.move(engine, o))
    lab.stop(guest.vm)


def values(runs, engine, what='ns_per_page'):
    return [r[what] for r in runs if r['engine'] == engine]


def median(runs, engine, what='ns_per_page'):
    return statistics.median(values(runs, engine, what))


def ratio_to(runs, engine):
    return median(runs, 'auto') / max(median(runs, engine), 1e-9)


def verdict(row, runs):
    """(best fixed engine, auto / best, text)"""
    best = min(ENGINES[:-1], key=lambda e: median(runs, e))
    ratio = ratio_to(runs, best)
    if ratio <= 1.01:
        text = 'not worse, by counts'
    elif min(values(runs, 'auto')) <= max(values(runs, best)):
        text = 'not worse, by intervals'
    else:
        lost = (median(runs, 'auto') - median(runs, best)) * \
            median(runs, 'auto', 'found')
        text = '%s by %.1f us a migration' % (
            'not worth a change: worse' if lost < NOTHING_NS else 'WORSE',
            lost / 1000)
    if any(r['changes'] for r in runs):
        text += '; %.3f of %s' % (ratio_to(runs, row.start), row.start)
    return best, ratio, text


def changes(runs):
    """How auto changed: from, to, after how many passes, in how many runs."""
    seen = {}
    for r in runs:
        path = [r['decision']['history'][0]['from']] if \
            r['decision'].get('history') else [r['ended_with']]
        for c in r['decision'].get('history', []):
            path.append('%s (pass %d)' % (c['to'], c['round'] + 1))
        path = ' > '.join(path)
        seen[path] = seen.get(path, 0) + 1
    return ', '.join('%s: %d' % kv for kv in sorted(seen.items()))


def tell(out):
    by_row = {}
    for r in out.data['runs']:
        by_row.setdefault(r['row'], []).append(r)
    shown = [(r, by_row[r.name]) for r in ROWS if r.name in by_row and
             all(values(by_row[r.name], e) for e in ENGINES)]
    out.say('Priced counts, ns per page found: median (least-largest)')
    out.table(['guest'] + ENGINES + ['runs'], [
        [row.name] + [report.summary(values(runs, e), 1) for e in ENGINES] +
        [len(values(runs, 'auto'))] for row, runs in shown])
    out.say()
    out.say('Counts of a migration, medians: faults/updates/words/ring exits')
    out.table(['guest'] + ENGINES + ['words of looks'], [
        [row.name] + ['/'.join('%d' % median(runs, e, k) for k in (
            'faults', 'updates', 'words', 'ring_exits')) for e in ENGINES] +
        ['%d' % median(runs, 'auto', 'look_words')] for row, runs in shown])
    out.say()
    out.say('auto against the best fixed engine of the same machine')
    out.table(['guest', 'best fixed', 'auto / best', 'what auto did: runs',
               'verdict'], [
        [row.name, best, '%.3f' % ratio,
         changes([r for r in runs if r['engine'] == 'auto']), text]
        for row, runs, (best, ratio, text) in (
            (row, runs, verdict(row, runs)) for row, runs in shown)])
    svg.intervals(out.path('.svg'),
                  'auto: cost of each run, by the median of the best engine',
                  'ratio of priced counts (1: as good as the best; those above '
                  '3 left out)',
                  [(row.name, [v / max(median(runs, verdict(row, runs)[0]),
                                       1e-9) for v in values(runs, 'auto')])
                   for row, runs in shown if verdict(row, runs)[1] < 3],
                  level=1)
    out.write()


def main():
    o = options()
    out = report.Report('auto-matrix', o)
    rows = chosen(o.rows)
    if o.keep and os.path.exists(out.path('.json')):
        with open(out.path('.json')) as f:
            out.data['runs'] = [r for r in json.load(f)['runs'] if r['row']
                                not in [row.name for row in rows]]
    try:
        with lab_module.Lab(o.build) as lab:
            for row in out.in_time(rows):
                measure(lab, out, o, row)
                runs = [r for r in out.data['runs'] if r['row'] == row.name]
                out.note('%-34s %.3f %s' % ((row.name,) +
                                            verdict(row, runs)[1:]))
    finally:  # ended from outside, too: what is measured is measured
        tell(out)


if __name__ == '__main__':
    report.main(main)
