#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""lost-computation: what a live migration costs its guest.

A guest writes pages without end. Its steady rate is measured, then it is
migrated while it goes on. Its operation counter is watched from outside on
both sides. Lost computation is the area under (steady rate - rate), from the
command `migrate` until the rate is back at 95 % on the target, in seconds of
the steady rate: 1.0 is what the guest does in one second of its usual life.
It is split into precopy, blackout, and the time after.

On a host with more to do than CPUs the guest also loses what others take.
So there is a second figure for guests that go flat out, `net`: time in which
vCPUs were ready to run and had no CPU of the host is left out, of the steady
rate as well. What is left is what tracking, throttling and the blackout cost.
A guest with a rate of its own makes up for such time, so it has no such
figure.

All that are compared have the same working set, the same absolute dirty rate
and the same link. Their runs alternate.

PEER_QEMU_AARCH64 (or _X86_64) names the binary of another QEMU, to be
compared with.

A measurement that has to be made in pieces is continued with --append: what
the file has counts as well, and pairs are of the same turn.

Throttling, as --throttle: none; ac-20-10 (auto-converge with its defaults);
ac-20-15 (increment 15); dl-N (dirty-limit, N MB/s for each vCPU). What a
binary does not have is left out, and said.
"""
import json
import os
import statistics
import time

import lab as lab_module
import report
import svg

MB = 1000000
BIN = 0.010    # seconds per sample in the results
WINDOW = 0.1   # the rate is back when it is so for that long
NOISE = 0.1    # seconds; a ratio to less says nothing
# What must be the same for runs to be put together.
SAME = ('cpus', 'link', 'rate', 'limit', 'pattern', 'steady', 'after', 'cap')
FIGURES = {True: ('all',), False: ('all', 'net')}  # by: has it a rate?


def options():
    p = report.parser(__doc__)
    p.add_argument('--runs', type=int, default=7, help='of each (7)')
    p.add_argument('--engines', type=report.names, default=None,
                   help='bitmap, ring, dbm, peer (all there are); settings '
                   'may follow: ring/dirty-ring-size=4096')
    p.add_argument('--throttle', type=report.names, default=['none'],
                   help='settings, see above (none)')
    p.add_argument('--cpus', type=int, default=1, help='vCPUs (1)')
    p.add_argument('--ws', type=report.numbers, default=[96],
                   help='working set for each vCPU, MiB; a list (96)')
    p.add_argument('--link', type=float, default=100,
                   help='max-bandwidth, MB/s (100)')
    p.add_argument('--rate', type=float, default=0.5,
                   help='dirty rate of all vCPUs, of the link; 0: flat out '
                   '(0.5)')
    p.add_argument('--limit', type=int, default=300,
                   help='downtime-limit, ms (300)')
    p.add_argument('--pattern', default='random',
                   help='random, sequential or sparse (random)')
    p.add_argument('--steady', type=float, default=1.0,
                   help='seconds to measure the steady rate (1)')
    p.add_argument('--after', type=float, default=1.0,
                   help='seconds to wait for the rate to come back (1)')
    p.add_argument('--cap', type=float, default=15,
                   help='seconds after which a migration is cancelled (15)')
    p.add_argument('--append', metavar='FILE',
                   help='take the runs in FILE along, add these to it')
    return p.parse_args()


def throttle_settings(name):
    """Capabilities and parameters of a setting's name."""
    kind, *values = name.split('-')
    if kind == 'none':
        return [], {}
    if kind == 'ac':
        return ['auto-converge'], {'cpu_throttle_initial': int(values[0]),
                                   'cpu_throttle_increment': int(values[1])}
    if kind == 'dl':
        return ['dirty-limit'], {'vcpu_dirty_limit': int(values[0])}
    raise lab_module.LabError('no throttling is called %s' % name)


def binned(samples, begin, steady):
    """[(seconds since begin, rate / steady)] of BIN each."""
    points, edge, last = [], None, None
    for now, ops, _ in samples:
        if edge is None:
            edge, last = now, (now, ops)
        elif now - last[0] >= BIN:
            rate = (ops - last[1]) / (now - last[0])
            points.append(((last[0] + now) / 2 - begin, rate / steady))
            last = (now, ops)
    return points


def sample_at(samples, when):
    """The last sample not after it."""
    low, high = 0, len(samples)
    while high - low > 1:
        middle = (low + high) // 2
        if samples[middle][0] <= when:
            low = middle
        else:
            high = middle
    return samples[low]


def between(samples, a, b):
    """(operations, seconds waited) from @a to @b."""
    first, last = sample_at(samples, a), sample_at(samples, b)
    return last[1] - first[1], last[2] - first[2]


def recovery(samples, since, steady):
    """When the rate is back at 95 %; None: not within the samples."""
    end = samples[-1][0] - WINDOW
    when = since
    while when <= end:
        done, _ = between(samples, when, when + WINDOW)
        if done >= 0.95 * steady * WINDOW:
            return when
        when += BIN
    return None


def account(watch, begin, steady, steady_net):
    """Lost seconds by phase; `net` is without what others took."""
    samples = watch.samples
    stop, go = watch.last_on_source, watch.first_on_target
    back = recovery(samples, go, steady)
    end = back if back is not None else samples[-1][0]

    def lost(a, b):
        return (b - a) - between(samples, a, b)[0] / steady
    parts = {'precopy': lost(begin, stop), 'blackout': lost(stop, go),
             'after': lost(go, end)}
    parts['all'] = sum(parts.values())
    ops, waited = between(samples, begin, end)
    parts['net'] = (end - begin) - waited - ops / steady_net
    ops, waited = between(samples, begin, stop)
    parts['kept_net'] = ops / steady_net / ((stop - begin) - waited)
    parts['recovered'] = back is not None
    parts['recovery_s'] = end - go
    return parts


class Case:
    """One cell: who, with which throttling, and how much memory per vCPU."""

    def __init__(self, kind, throttle, ws):
        self.kind, self.throttle, self.ws = kind, throttle, int(ws)
        self.runs = []

    def key(self):
        return [self.kind.name, self.throttle, self.ws]

    def name(self, o):
        parts = [self.kind.name]
        parts += [self.throttle] if len(o.throttle) > 1 else []
        parts += ['%d MiB' % self.ws] if len(o.ws) > 1 else []
        return ' '.join(parts)


def one_run(lab, case, o):
    ram = (o.cpus * case.ws + 64 + 31) // 32 * 32
    vm_options = {'ram_mib': ram, 'cpus': o.cpus, 'accel': case.kind.accel}
    rate = int(o.rate * o.link * MB / lab_module.PAGE)
    source = lab.start_guest(
        case.kind.binary, 'cpus=%d ws=%d rate=%d pat=%s fill=1' % (
            o.cpus, o.cpus * case.ws, rate, o.pattern), **vm_options)
    target = lab.start_target(case.kind.binary, **vm_options)
    caps, parameters = throttle_settings(case.throttle)
    target.set_migration()
    source.set_migration(caps, max_bandwidth=int(o.link * MB),
                         downtime_limit=o.limit, **parameters)
    source.wait_for_guest()
    time.sleep(0.3)
    watch = lab_module.Watch(source, target)
    watch.start()
    steady_begin = time.monotonic()
    time.sleep(o.steady)
    begin = time.monotonic()
    info = lab_module.migrate(source, target, lab.uri(), o.cap)
    if info['status'] == 'completed':
        time.sleep(o.after)
    watch.finish()
    ops, waited = between(watch.samples, steady_begin, begin)
    steady = ops / (begin - steady_begin)
    steady_net = ops / (begin - steady_begin - waited)
    cpu = source.cpu_seconds() + target.cpu_seconds()
    work = source.ring_work()
    lab.stop(source, target)
    run = {'steady': steady, 'steady_net': steady_net, 'cpu_s': cpu, **work,
           'status': info['status'], 'asked': rate,
           'samples': binned(watch.samples, begin, steady)}
    if info['status'] == 'completed':
        run.update(
            lost=account(watch, begin, steady, steady_net),
            total_s=info['total-time'] / 1000, downtime_ms=info['downtime'],
            blackout_ms=watch.blackout_ms(),
            parts=info.get('details', {}).get('blackout'),
            blackout_at=(watch.last_on_source - begin,
                         watch.first_on_target - begin),
            sent_mb=info['ram']['transferred'] / MB,
            rounds=info['ram']['dirty-sync-count'])
    else:
        last = watch.samples[-1][0]
        ops, waited = between(watch.samples, last - 3, last)
        run['kept'] = ops / 3 / steady if o.rate else \
            ops / (3 - waited) / steady_net
    return run


def cases_of(lab, o, out):
    cases = []
    for kind in lab_module.kinds(lab, o.engines):
        for throttle in o.throttle:
            caps, parameters = throttle_settings(throttle)
            vm = lab.start(kind.binary, ram_mib=64, accel=kind.accel)
            try:
                vm.set_migration(caps, **parameters)
            except lab_module.QmpError as e:
                out.say('left out: %s with %s: %s'
                        % (kind.name, throttle, e.desc))
                continue
            finally:
                lab.stop(vm)
            cases += [Case(kind, throttle, ws) for ws in o.ws]
    return cases


def row_of(case, o):
    done = [r for r in case.runs if r['status'] == 'completed']
    lost = [r['lost'] for r in done]

    def column(get, digits, of=done):
        return report.summary([get(r) for r in of], digits)
    return [case.name(o), '%d/%d' % (len(done), len(case.runs)),
            column(lambda r: r['steady' if o.rate else 'steady_net'] / 1000, 1,
                   case.runs),
            column(lambda r: 100 * r['steady'] / r['asked'], 0, case.runs)
            if o.rate else '-',
            column(lambda r: r['total_s'], 2), column(
                lambda r: r['blackout_ms'], 0),
            column(lambda r: r['precopy'], 2, lost),
            column(lambda r: r['blackout'], 3, lost),
            column(lambda r: r['after'], 2, lost),
            column(lambda r: r['all'], 2, lost),
            '-' if o.rate else column(lambda r: r['net'], 2, lost),
            '-' if o.rate else column(lambda r: 100 * r['kept_net'], 0, lost),
            column(lambda r: r['sent_mb'], 0), column(lambda r: r['rounds'], 0),
            column(lambda r: r['full_exits'], 0),
            column(lambda r: r['reaper_s'], 3), column(lambda r: r['cpu_s'], 2)]


def ratios(cases, o, out):
    """Each against its rival of the same throttling and memory (the first of
    them, unless it has one), run by run."""
    for case in cases:
        group = [c for c in cases
                 if (c.throttle, c.ws) == (case.throttle, case.ws)]
        rival = lab_module.rival_of(case.kind, [c.kind for c in group])
        first = next((c for c in group if c.kind is rival), None)
        for what in FIGURES[bool(o.rate)]:
            of_first = {r['turn']: r for r in (first.runs if first else [])
                        if 'lost' in r}
            pairs = [(a['lost'][what], of_first[a['turn']]['lost'][what])
                     for a in case.runs
                     if 'lost' in a and a['turn'] in of_first]
            if not pairs:
                continue
            out.say('lost, %s: %s - %s = %s s%s' % (
                what, case.name(o), first.name(o),
                report.summary([a - b for a, b in pairs]),
                ', ratio ' + report.summary([a / b for a, b in pairs])
                if all(b > NOISE for _, b in pairs) else ''))
        pairs = [(a['blackout_ms'], b['blackout_ms'])
                 for a, b in zip(case.runs, first.runs if first else [])
                 if 'lost' in a and 'lost' in b]
        if pairs and case.kind.rival:
            out.say('blackout: %s / %s = %s' % (
                case.name(o), first.name(o),
                report.summary([a / b for a, b in pairs])))
        late = [r['blackout_ms'] for r in case.runs
                if r.get('blackout_ms', 0) > o.limit]
        if late:
            out.say('%s: blackout over the limit in %d of %d runs, %.0f ms at '
                    'worst' % (case.name(o), len(late), len(case.runs),
                               max(late)))
        stuck = [r for r in case.runs if 'kept' in r]
        if stuck:
            out.say('%s: %d of %d did not end within %g s; the guest kept '
                    '%.0f %% of its rate' % (
                        case.name(o), len(stuck), len(case.runs), o.cap,
                        100 * statistics.median(r['kept'] for r in stuck)))


def pictures(cases, o, out):
    for case in cases:
        for i, run in enumerate(case.runs):
            bands = [tuple(run['blackout_at']) + ('blackout',)] \
                if 'blackout_at' in run else []
            bands.append((0, 0, 'migrate'))
            svg.lines(out.path('-%s-%d.svg' % (
                case.name(o).replace(' ', '-').replace('/', '-'), i + 1)),
                '%s, run %d: rate of the guest' % (case.name(o), i + 1),
                'seconds since migrate', 'rate / steady rate',
                {case.name(o): run['samples']}, bands, (1.0, 'steady'))
    svg.intervals(out.path('.svg'), 'Lost computation: each run, and medians',
                  'seconds of steady state, %g MB/s link' % o.link,
                  [(c.name(o) + ', ' + what, [
                      r['lost'][what] for r in c.runs if 'lost' in r])
                   for c in cases for what in FIGURES[bool(o.rate)]])


def load(cases, o, out):
    """The runs of earlier invocations. Returns the next turn."""
    if not o.append or not os.path.exists(o.append):
        return 0
    with open(o.append) as f:
        before = json.load(f)
    for name in SAME:
        if before['options'][name] != getattr(o, name):
            raise lab_module.LabError('%s was measured with --%s %s' % (
                o.append, name, before['options'][name]))
    for run in before['runs']:
        for case in cases:
            if case.key() == run['key']:
                case.runs.append(run)
                out.run(case=case.name(o), **run)
    return 1 + max((run['turn'] for run in before['runs']), default=-1)


def save(cases, o):
    if o.append:
        with open(o.append, 'w') as f:
            json.dump({'options': {name: getattr(o, name) for name in SAME},
                       'runs': [run for c in cases for run in c.runs]}, f)


def main():
    o = options()
    out = report.Report('lost-computation', o)
    with report.lab(o) as lab:
        cases = cases_of(lab, o, out)
        turn = load(cases, o, out)
        order = [(i, case) for i in range(turn, turn + o.runs)
                 for case in cases[i % len(cases):] + cases[:i % len(cases)]]
        for i, case in out.in_time(order):
            run = dict(one_run(lab, case, o), turn=i, key=case.key())
            case.runs.append(run)
            out.run(case=case.name(o), **run)
            out.note('%d: %-24s %s' % (
                i + 1, case.name(o), 'lost %.2f s of %.2f s' % (
                    run['lost']['all'], run['total_s'])
                if 'lost' in run else run['status']))
    save(cases, o)
    runs = min(len(c.runs) for c in cases)
    out.say('%d vCPU(s), %s MiB each written %sly at %s, link %g MB/s, limit '
            '%d ms' % (o.cpus, '/'.join('%d' % w for w in o.ws),
                       o.pattern, 'full speed' if not o.rate else
                       '%g MB/s' % (o.rate * o.link), o.link, o.limit))
    out.say('median (least-largest) of %d runs; with so many, the true median '
            'is between them with %.1f %%' % (
                runs, 100 * report.confidence(runs)))
    out.table(['', 'ended', 'steady k/s', '% of asked', 'total s',
               'blackout ms', 'lost: precopy', 'blackout', 'after', 'all, s',
               'net, s', 'net rate in precopy, %', 'sent MB', 'rounds',
               'full exits', 'reaper s', 'CPU s of both'],
              [row_of(c, o) for c in cases])
    ratios(cases, o, out)
    pictures(cases, o, out)
    out.write()


if __name__ == '__main__':
    report.main(main)
