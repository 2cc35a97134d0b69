#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""check-states.py TREE: docs and code have the same state tables.

Each move of legal_moves[] and each row of fates[] in migration/state.c stands
in docs/migration.rst, and the other way round. Speaks TAP; the first case
feeds the comparison something wrong.
"""
import re
import sys

CODE = 'migration/state.c'
DOC = 'docs/migration.rst'
GUEST = {'UNTOUCHED': 'was never stopped', 'RESUMES': 'goes on as before',
         'STAYS': 'stays'}


def name_of(constant):
    return constant.lower().replace('_', '-')


def array(text, name):
    return re.search(r'\b%s\[\] = \{(.*?)^\};' % name, text, re.M | re.S) \
        .group(1)


def moves_of_code(text):
    return {(side.lower(), name_of(a), name_of(b)) for side, a, b in re.findall(
        r'\{ (SOURCE|TARGET), S\((\w+)\), S\((\w+)\) \}',
        array(text, 'legal_moves'))}


def fates_of_code(text):
    return {(name_of(s), sent == 'true', failed == 'true', GUEST[fate])
            for s, sent, failed, fate in re.findall(
                r'\{ S\((\w+)\), (\w+), (\w+), MIGRATION_GUEST_(\w+) \}',
                array(text, 'fates'))}


def rows_of(text, *head):
    """Cells of the simple table with this head, continuations joined."""
    lines = text.split('\n')
    at = next((i for i, line in enumerate(lines)
               if re.split(r'  +', line.strip()) == list(head)), None)
    if at is None:
        return []
    begins = [m.start() for m in re.finditer('=+', lines[at - 1])]
    rows = []
    for line in lines[at + 2:]:
        if line.startswith('=='):
            break
        cells = [line[a:b].strip() for a, b in
                 zip(begins, begins[1:] + [None])]
        if cells[0]:
            rows.append(cells)
        else:
            rows[-1] = [' '.join(x).strip() for x in zip(rows[-1], cells)]
    return rows


def moves_of_doc(text):
    return {(side, state.strip('`'), to)
            for side, state, _, tos in rows_of(text, 'side', 'state', 'means',
                                               'may go to')
            for to in re.findall(r'``([\w-]+)``', tos)}


def states_of_doc(text):
    return {(row[0], row[1].strip('`')) for row in
            rows_of(text, 'side', 'state', 'means', 'may go to')}


def fates_of_doc(text):
    return {(state.strip('`'), sent == 'yes', said == 'that it failed',
             next((g for g in GUEST.values() if guest.startswith(g)), guest))
            for state, sent, said, guest in rows_of(
                text, 'found in', 'all was sent', 'the target said',
                'the guest')}


def differences(code, doc):
    for row in sorted(code - doc):
        yield 'not in %s: %s' % (DOC, row)
    for row in sorted(doc - code):
        yield 'not in %s: %s' % (CODE, row)
    if not code:
        yield '%s has no such table' % CODE


def missing_states(moves, states):
    used = {(side, s) for side, a, b in moves for s in (a, b)}
    return differences(used, states)


def main():
    with open('%s/%s' % (sys.argv[1], CODE), encoding='utf-8') as f:
        code = f.read()
    with open('%s/%s' % (sys.argv[1], DOC), encoding='utf-8') as f:
        doc = f.read()
    moves, fates = moves_of_code(code), fates_of_code(code)
    wrong = moves_of_doc(doc.replace('``device``', '``active``'))
    cases = [
        ('a difference is found', [] if list(differences(moves, wrong)) and
         list(differences(fates, set())) else ['it is not']),
        ('moves', differences(moves, moves_of_doc(doc))),
        ('states', missing_states(moves, states_of_doc(doc))),
        ('what becomes of the guest', differences(fates, fates_of_doc(doc))),
    ]
    bad = False
    print('1..%d' % len(cases))
    for n, (name, faults) in enumerate(cases, 1):
        faults = list(faults)
        for fault in faults:
            print('# %s' % fault)
        print('%sok %d - %s' % ('not ' if faults else '', n, name))
        bad |= bool(faults)
    return bad


if __name__ == '__main__':
    sys.exit(main())
