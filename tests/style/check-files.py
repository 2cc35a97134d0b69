#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""check-files.py TREE: how a file looks. Speaks TAP, one case a habit."""
import os
import re
import shutil
import subprocess
import sys

MAX_LINES = 1000


def tracked(tree):
    out = subprocess.run(['git', '-C', tree, 'ls-files'],
                         capture_output=True, text=True)
    if out.returncode:
        return None
    return [p for p in out.stdout.split('\n')
            if p and os.path.isfile(os.path.join(tree, p))]


def text_of(tree, path):
    with open(os.path.join(tree, path), encoding='utf-8',
              errors='replace') as f:
        return f.read()


def spdx(tree, files):
    for p in files:
        if p.endswith(('.c', '.h', '.S', '.py')) and \
                'SPDX-License-Identifier: GPL-2.0-or-later' not in \
                '\n'.join(text_of(tree, p).split('\n')[:3]):
            yield p + ': no SPDX line at the top'


def size(tree, files):
    for p in files:
        if not p.endswith(('.c', '.h')):
            continue
        text = text_of(tree, p)
        n = text.count('\n')
        if n > MAX_LINES and 'Over 1,000 lines because' not in text[:2500]:
            yield '%s: %d lines and does not say why' % (p, n)


def osdep_first(tree, files):
    for p in files:
        if p.endswith('.c') and not p.startswith('tests/guest/'):
            m = re.search(r'^#\s*include\s*([<"][^>"]+)', text_of(tree, p), re.M)
            if m and m.group(1) != '"qemu/osdep.h':
                yield p + ': the first include is not "qemu/osdep.h"'


def guards(tree, files):
    for p in files:
        if p.startswith('include/') and p.endswith('.h'):
            want = re.sub(r'[^A-Za-z0-9]', '_', p[len('include/'):]).upper()
            if '#ifndef ' + want not in text_of(tree, p):
                yield '%s: no guard %s' % (p, want)


def blanks(tree, files):
    for p in files:
        if not p.endswith(('.c', '.h', '.py', '.rst', '.build', '.S', '.json')):
            continue
        text = text_of(tree, p)
        if re.search(r'[ \t]+$', text, re.M):
            yield p + ': blanks at the end of a line'
        if text and not text.endswith('\n'):
            yield p + ': no newline at the end'
        if '\t' in text and p.endswith(('.c', '.h', '.py', '.rst')):
            yield p + ': tab'


def clang_format(tree, files):
    ours = [p for p in files if p.endswith(('.c', '.h'))]
    tool = shutil.which('clang-format')
    for i in range(0, len(ours), 50):
        out = subprocess.run([tool, '--dry-run', '-Werror'] + ours[i:i + 50],
                             cwd=tree, capture_output=True, text=True)
        for p in sorted({line.split(':')[0]
                         for line in out.stderr.split('\n')
                         if 'clang-format-violations' in line}):
            yield p + ': not as clang-format leaves it'


CASES = [
    ('each file names its licence', spdx),
    ('long files say why', size),
    ('sources begin with osdep.h', osdep_first),
    ('public headers are guarded by their path', guards),
    ('no stray blanks and tabs', blanks),
    ('clang-format changes nothing', clang_format),
]


def main():
    tree = sys.argv[1]
    files = tracked(tree)
    if files is None:
        print('1..0 # SKIP not a git checkout')
        return 0
    print('1..%d' % len(CASES))
    bad = 0
    for n, (name, check) in enumerate(CASES, 1):
        if check is clang_format and not shutil.which('clang-format'):
            print('ok %d - %s # SKIP no clang-format here' % (n, name))
            continue
        faults = list(check(tree, files))
        print('%s %d - %s' % ('not ok' if faults else 'ok', n, name))
        for fault in faults:
            print('# ' + fault)
        bad |= bool(faults)
    return bad


if __name__ == '__main__':
    sys.exit(main())
