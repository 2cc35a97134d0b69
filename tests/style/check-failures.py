#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""check-failures.py TREE: docs and test have the same failure table.

Each row of tests/migration/failure-table.h stands in docs/devel/failures.rst,
in the same order, with the same words; and each state of the source has the
faults that the loss of a peer may be. Speaks TAP; the first case feeds the
comparison something wrong.
"""
import re
import sys

TABLE = 'tests/migration/failure-table.h'
DOC = 'docs/devel/failures.rst'
EVERYWHERE = {'kill-target', 'kill-source', 'cut', 'hold'}
STATES = [s + way for way in ('', '-one-way')
          for s in ('active', 'pre-switchover', 'device', 'handed-over')]


def rows_of_table(text):
    for m in re.finditer(r'^FAILURE\((.*)\)$', text, re.M):
        yield tuple(re.findall(r'"([^"]*)"', m.group(1)))


def rows_of_doc(text):
    """The simple table whose head begins with `state` and `fault`."""
    lines = text.split('\n')
    for i, line in enumerate(lines):
        if re.match(r'state +fault ', line):
            break
    else:
        return
    columns = [m.span() for m in re.finditer('=+', lines[i - 1])]
    columns = [(a, columns[n + 1][0] if n + 1 < len(columns) else None)
               for n, (a, _) in enumerate(columns)]
    for line in lines[i + 2:]:
        if line.startswith('==='):
            return
        yield tuple(line[a:b].strip().strip('\\') for a, b in columns)


def differences(table, doc):
    for row in table:
        if row not in doc:
            yield 'not in %s: %s' % (DOC, ' | '.join(row))
    for row in doc:
        if row not in table:
            yield 'not in %s: %s' % (TABLE, ' | '.join(row))
    if not table:
        yield '%s has no rows' % TABLE


def gaps(table):
    for state in STATES:
        missing = EVERYWHERE - {r[1] for r in table if r[0] == state}
        if missing:
            yield '%s: no row for %s' % (state, ', '.join(sorted(missing)))


def read(tree, path):
    with open('%s/%s' % (tree, path), encoding='utf-8') as f:
        return f.read()


def main(tree):
    table = list(rows_of_table(read(tree, TABLE)))
    doc = list(rows_of_doc(read(tree, DOC)))
    wrong = [tuple('x' for _ in r) for r in table[:1]]
    cases = [
        ('the comparison finds what is wrong',
         [] if len(list(differences(table[:1], wrong))) == 2
         and list(gaps(table[:1])) else ['it does not']),
        ('docs and test have the same rows', list(differences(table, doc))),
        ('each state has the faults of a lost peer', list(gaps(table))),
    ]
    print('1..%d' % len(cases))
    for i, (name, found) in enumerate(cases):
        print('%sok %d - %s' % ('not ' if found else '', i + 1, name))
        for line in found:
            print('# ' + line)
    return any(found for _, found in cases)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
