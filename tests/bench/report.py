# SPDX-License-Identifier: GPL-2.0-or-later
"""What benchmarks have in common: options, statistics, and their results as
text and JSON."""
import argparse
import json
import math
import os
import platform
import signal
import statistics
import sys
import time

from lab import Lab, LabError, NotHere


def parser(doc):
    """@doc: a module's text, its first line is the summary."""
    p = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--build', default='build', help='build directory (build)')
    p.add_argument('--out', help='where results go (BUILD/bench)')
    p.add_argument('--arch', default='aarch64', choices=['aarch64', 'x86_64'],
                   help='whose binary, guest and machine (aarch64)')
    p.add_argument('--accel', default='tcg', help='tcg or kvm (tcg)')
    p.add_argument('--tracking', type=names, default=None,
                   help='in place of --engines: ours and the peer side by '
                   'side for each of bitmap, ring4096, ring65536, pagemap')
    p.add_argument('--seconds', type=float, default=160,
                   help='nothing new is begun after that long; the results '
                   'then tell how many runs there were (160)')
    return p


def lab(o):
    return Lab(o.build, o.arch, o.accel, o.tracking)


def numbers(text):
    return [float(x) for x in text.split(',')]


def names(text):
    return [x for x in text.split(',') if x]


def confidence(n):
    """How sure the median lies between the least and the largest of @n."""
    return 1 - 2 * 0.5 ** n


def summary(values, digits=2):
    """median (least-largest)"""
    values = [v for v in values if v is not None and not math.isnan(v)]
    if not values:
        return '-'
    return '%.*f (%.*f-%.*f)' % (digits, statistics.median(values),
                                 digits, min(values), digits, max(values))


class Report:
    """Text to the terminal and BUILD/bench/NAME.txt; data to NAME.json."""

    def __init__(self, name, options):
        self.name = name
        self.until = time.monotonic() + options.seconds
        self.folder = options.out or os.path.join(options.build, 'bench')
        os.makedirs(self.folder, exist_ok=True)
        self.lines = []
        self.data = {
            'benchmark': name,
            'command': ' '.join(['tests/bench/%s.py' % name] + sys.argv[1:]),
            'date': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime()),
            'host': {'machine': platform.machine(), 'cpus': os.cpu_count(),
                     'load': os.getloadavg()[0]},
            'options': {k: v for k, v in vars(options).items()
                        if k not in ('build', 'out')},
            'runs': []}

    def in_time(self, of):
        """@of, as long as there is time to begin another of them."""
        for thing in of:
            if time.monotonic() > self.until:
                self.say('not all was run: --seconds was not enough')
                break
            yield thing

    def path(self, suffix):
        return os.path.join(self.folder, self.name + suffix)

    def say(self, text=''):
        print(text, flush=True)
        self.lines.append(text)

    def note(self, text):
        """Progress: to the terminal only."""
        print(text, flush=True)

    def run(self, **what):
        self.data['runs'].append(what)
        return what

    def table(self, heads, rows):
        rows = [[str(c) for c in row] for row in rows]
        widths = [max(len(r[i]) for r in [heads] + rows)
                  for i in range(len(heads))]
        for row in [heads, ['-' * w for w in widths]] + rows:
            self.say('  '.join(c.ljust(w) for c, w in zip(row, widths))
                     .rstrip())

    def write(self):
        self.data['load_at_end'] = os.getloadavg()[0]
        with open(self.path('.txt'), 'w') as f:
            f.write('\n'.join(self.lines) + '\n')
        with open(self.path('.json'), 'w') as f:
            json.dump(self.data, f, indent=1)
        self.note('results: %s.{txt,json}' % self.path(''))


def main(func):
    """Runs @func; what can't be measured is said in one line, status 1, or 77
    if it never can be on this host. Being ended
    from outside still ends the machines."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit('ended by a signal'))
    try:
        func()
    except NotHere as e:
        print('skipped: %s' % e)
        sys.exit(77)
    except LabError as e:
        sys.exit('%s: %s' % (os.path.basename(sys.argv[0]), e))
