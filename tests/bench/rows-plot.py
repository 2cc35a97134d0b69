#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""rows-plot.py PROGRAM OUT [ARGS...]: run dirty-log-perf (or -kvm), or
bench-dbm, and draw its JSON, a value for each row."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import svg  # noqa: E402


def phases(rows, path):
    """Milliseconds of each phase, by engine."""
    values = [('%s, %s' % (phase, r['engine']), [max(r[phase], 1e-3)])
              for phase in rows[0] for r in rows
              if isinstance(r[phase], (int, float)) and phase not in (
                  'pages', 'faults', 'entries', 'handshakes', 'ioctls')]
    svg.intervals(path + '.svg', 'Phases of dirty logging',
                  'ms (logarithmic)', values, log=True)
    svg.intervals(path + '-counts.svg', 'Faults and entries read',
                  'number (logarithmic)', [
                      ('%s, %s' % (what, r['engine']), [max(r[what], 1)])
                      for what in ('pages', 'faults', 'entries')
                      for r in rows], log=True)


def policies(rows, path):
    """What each policy costs each writer, and the last collect with it."""
    for key, title in (('sum ms', 'Policies of dbm: guest and collects'),
                       ('blackout ms', 'Policies of dbm: the last collect')):
        svg.intervals('%s-%s.svg' % (path, key.split()[0]), title,
                      'ms (logarithmic)', [
                          ('%s, %g/%g/%g' % (r['writer'], r['fall'],
                                             r['back'], r['disarm']),
                           [max(r[key], 1e-3)]) for r in rows], log=True)


# What a program calls its results, if not as itself.
NAMES = {'bench-dbm': 'dbm-policy'}


def main():
    program, out, args = sys.argv[1], sys.argv[2], sys.argv[3:]
    subprocess.run([program, '--out', out] + args, check=True)
    name = os.path.basename(program)
    path = os.path.join(out, NAMES.get(name, name))
    with open(path + '.json') as f:
        rows = json.load(f)['rows']
    for table, draw in (('dirty-log-perf', phases), ('policy', policies)):
        found = [r for r in rows if r['table'] == table]
        if found:
            draw(found, path)


main()
