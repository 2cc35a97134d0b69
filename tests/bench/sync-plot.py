#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""sync-plot.py PROGRAM OUT [ARGS...]: run sync-bench, draw its JSON.

Both axes are logarithms, as sizes and times span four and six powers of ten.
"""
import json
import math
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import svg  # noqa: E402

SERIES = (
    ('clean', 'total ms', 0, '-'),
    ('1 % clustered', 'total ms', 1, 'clustered'),
    ('1 % random', 'total ms', 1, 'random'),
    ('all', 'total ms', 100, '-'),
    ('1 %, by page', 'by page ms', 1, 'random'),
)
SIZES = [(0, '1 GiB'), (4, '16 GiB'), (8, '256 GiB'), (10, '1 TiB'),
         (12, '4 TiB'), (math.log2(12288), '12 TiB')]


def points(rows, layout, key, percent, kind):
    return [(math.log2(r['GiB']), math.log10(max(r[key], 1e-3)))
            for r in rows if r['layout'] == layout
            and r['dirty %'] == percent and r['kind'] == kind]


def main():
    program, out, args = sys.argv[1], sys.argv[2], sys.argv[3:]
    subprocess.run([program, '--out', out] + args, check=True)
    with open(os.path.join(out, 'sync-bench.json')) as f:
        rows = [r for r in json.load(f)['rows'] if r['table'] == 'sync']
    for layout in sorted({r['layout'] for r in rows}):
        series = {name: points(rows, layout, key, percent, kind)
                  for name, key, percent, kind in SERIES}
        svg.lines(os.path.join(out, 'sync-bench-%s.svg' % layout),
                  'One bitmap sync, layout: %s' % layout,
                  'guest memory (logarithmic)', 'milliseconds (logarithmic)',
                  {k: v for k, v in series.items() if v}, x_ticks=SIZES,
                  y_ticks=[(e, '%g' % 10 ** e) for e in range(-3, 8)])


main()
