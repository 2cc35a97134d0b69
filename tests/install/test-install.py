#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test-install.py TREE BUILD: what `make install` puts where, and that it
works from there, and that `make uninstall` takes all of it away. The build
directory keeps its record of the user's own last installation. Speaks TAP."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

NAMES = ['qemu-system-aarch64', 'qemu-system-x86_64']


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def run(*args, **kw):
    done = subprocess.run(args, capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, **kw)
    check(done.returncode == 0, '%s: %s' % (args, done.stdout + done.stderr))
    return done.stdout


class Installation:
    """In a root of its own."""

    def __init__(self, tree, build, root):
        self.tree, self.build, self.root = tree, build, root
        self.prefix = self.option('prefix')
        run('meson', 'install', '-C', build, '--no-rebuild', '--destdir', root)

    def option(self, name):
        for o in json.loads(run('meson', 'introspect', '--buildoptions',
                                self.build)):
            if o['name'] == name:
                return o['value']
        raise AssertionError('no option ' + name)

    def path(self, *parts):
        return os.path.join(self.root + self.prefix, *parts)

    def files(self):
        return sorted(os.path.relpath(os.path.join(folder, n), self.path())
                      for folder, _, names in os.walk(self.path())
                      for n in names)


def programs(i):
    """They run from where nothing else is, and say which they are."""
    for name in NAMES:
        text = run(i.path('bin', name), '-version', cwd='/', env={})
        check(text.startswith('QEMU emulator version '), text)
    check(len([f for f in i.files() if f.startswith('bin/')]) == len(NAMES),
          i.files())


def manual_pages(i):
    for name in NAMES:
        path = i.path(i.option('mandir'), 'man1', name + '.1')
        if not os.path.exists(path) and shutil.which('rst2man') is None:
            continue
        with open(path, encoding='utf-8') as f:
            text = f.read().replace('\\-', '-').replace('\\fB', '') \
                           .replace('\\fP', '')
        check(name in text and '@' not in re.findall(r'^\.TH.*', text,
                                                     re.M)[0], text[:300])
        # Every option that the program has.
        options = re.findall(r'^-(\S+)', run(i.path('bin', name), '-help'),
                             re.M)
        check(len(options) > 40, options)
        missing = [o for o in options
                   if not re.search(r'(?<![\w-])-%s\b' % re.escape(o), text)]
        check(not missing, '%s: not in the page: %s' % (name, missing))
        check('EXIT STATUS' in text.upper(), 'exit status')
        if shutil.which('man'):
            shown = run('man', '-l', path, env={'LC_ALL': 'C',
                                                'MANPAGER': 'cat',
                                                'PATH': os.environ['PATH']})
            check('SYNOPSIS' in shown and '-machine' in shown, shown[:500])


def documentation(i):
    """All of docs/ is there, and its links lead somewhere."""
    base = i.path(i.option('datadir'), 'doc', 'ferry')
    for name in 'README.rst', 'COPYING', 'qmp-reference.rst':
        check(os.path.getsize(os.path.join(base, name)) > 0, name)
    for folder, _, names in os.walk(os.path.join(i.tree, 'docs')):
        if os.path.relpath(folder, i.tree).startswith('docs/man'):
            continue
        for n in names:
            path = os.path.join(base, os.path.relpath(folder, i.tree), n)
            check(os.path.exists(path), path)
    faults = []
    for folder, _, names in os.walk(base):
        for n in names:
            if n.endswith('.rst'):
                path = os.path.join(folder, n)
                with open(path, encoding='utf-8') as f:
                    text = f.read()
                for link in re.findall(r'<([\w./-]+\.rst)>`_', text) + \
                        re.findall(r'^\.\. _[^:]+: (\S+\.rst)$', text, re.M):
                    if not os.path.exists(os.path.join(folder, link)):
                        faults.append('%s: %s' % (path, link))
    check(not faults, faults)


def nothing_else(i):
    strange = [f for f in i.files() if not re.match(
        r'bin/qemu-system-|share/man/man1/qemu-system-|share/doc/ferry/', f)]
    check(not strange, strange)


def removed(i):
    run('ninja', '-C', i.build, 'uninstall')
    check(i.files() == [], i.files())


def main():
    tree, build = sys.argv[1:]
    log = os.path.join(build, 'meson-logs', 'install-log.txt')
    kept = None
    if os.path.exists(log):
        with open(log, 'rb') as f:
            kept = f.read()
    cases = [programs, manual_pages, documentation, nothing_else, removed]
    failed = False
    print('1..%d' % len(cases))
    with tempfile.TemporaryDirectory(prefix='test-install-') as root:
        try:
            i = Installation(tree, build, root)
            for n, case in enumerate(cases, 1):
                name = '/install/' + case.__name__
                try:
                    case(i)
                    print('ok %d %s' % (n, name), flush=True)
                except (AssertionError, OSError) as e:
                    failed = True
                    text = str(e).replace('\n', '\n# ')
                    print('# %s\nnot ok %d %s' % (text, n, name), flush=True)
        finally:
            if kept is not None:
                with open(log, 'wb') as f:
                    f.write(kept)
            elif os.path.exists(log):
                os.unlink(log)
    return failed


if __name__ == '__main__':
    sys.exit(main())
