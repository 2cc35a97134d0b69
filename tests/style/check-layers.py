#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""check-layers.py TREE: hold every #include against tests/style/layers.json.

Speaks TAP: one case for the table itself (the rule must be able to fail), one
for each room.
"""
import json
import os
import re
import subprocess
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


class Rule:
    def __init__(self, table):
        self.rooms = table['rooms']
        self.prefixes = sorted(
            ((p, name) for name, r in self.rooms.items() for p in r['paths']),
            key=lambda x: -len(x[0]))

    def room_of(self, path):
        for prefix, name in self.prefixes:
            if path.startswith(prefix):
                return name
        return None

    def allowed(self, user, used):
        if user == used:
            return True
        u, o = self.rooms[user], self.rooms[used]
        return o['level'] < u['level'] or used in u.get('may', [])

    def resolve(self, path, header, files):
        """The path in the tree that an include names; None: not ours."""
        near = os.path.normpath(os.path.join(os.path.dirname(path), header))
        for candidate in (near, 'include/' + header, header):
            if candidate in files:
                return candidate
        if header.startswith('qapi/qapi-'):
            return 'qapi/'          # generated there
        return None

    def check(self, path, header, files):
        user = self.room_of(path)
        if user is None:
            return None
        target = self.resolve(path, header, files)
        if target is None:
            return None
        used = self.room_of(target)
        if used is None or self.allowed(user, used):
            if (used not in (None, user) and target.endswith('.h')
                    and not target.startswith('include/')
                    and user != 'tests'):
                return '%s (%s) includes private "%s" of %s' % (
                    path, user, header, used)
            return None
        return '%s (%s, level %d) includes "%s" of %s (level %d)' % (
            path, user, self.rooms[user]['level'], header, used,
            self.rooms[used]['level'])


def self_test(rule):
    files = {'include/monitor/monitor.h', 'include/qemu/error.h', 'hw/a/b.h'}
    return (rule.check('util/error.c', 'monitor/monitor.h', files)
            and rule.check('migration/ram.c', 'hw/a/b.h', files)
            and not rule.check('migration/ram.c', 'qemu/error.h', files))


def main():
    tree = sys.argv[1]
    with open(os.path.join(tree, 'tests/style/layers.json')) as f:
        rule = Rule(json.load(f))
    listed = subprocess.run(
        ['git', '-C', tree, 'ls-files', '-co', '--exclude-standard'],
        capture_output=True, text=True)
    if listed.returncode == 0:
        files = set(listed.stdout.split())
    else:                           # a tarball: no git
        files = {os.path.relpath(os.path.join(d, f), tree)
                 for d, _, fs in os.walk(tree) for f in fs}
    complaints = {name: [] for name in rule.rooms}
    for path in sorted(files):
        room = rule.room_of(path)
        if room is None or not path.endswith(('.c', '.h')):
            continue
        try:
            with open(os.path.join(tree, path)) as f:
                text = f.read()
        except FileNotFoundError:
            continue
        for header in INCLUDE.findall(text):
            fault = rule.check(path, header, files)
            if fault:
                complaints[room].append(fault)

    print('1..%d' % (len(complaints) + 1))
    print('%s 1 - the rule finds a forbidden include'
          % ('ok' if self_test(rule) else 'not ok'))
    bad = not self_test(rule)
    for n, (room, faults) in enumerate(sorted(complaints.items()), 2):
        print('%s %d - layers of %s' % ('not ok' if faults else 'ok', n, room))
        for fault in faults:
            print('# ' + fault)
            bad = True
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
