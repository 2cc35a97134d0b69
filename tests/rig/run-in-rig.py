#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""run-in-rig.py PROGRAM [ARG...]: run a TAP test on another Linux.

$FERRY_KVM_RIG is the command (words as a shell's) that does it: with PROGRAM and
its arguments appended it boots a Linux that has the KVM to be tested, runs
PROGRAM there as root and prints what it prints. Lines that are not TAP (a
kernel's, say) are made comments. What the test did not come to is a failure: the
plan that it printed first says how many there are.
"""
import os
import re
import shlex
import subprocess
import sys

TAP = re.compile(r'(not )?ok \d+|1\.\.\d+|#|Bail out!|TAP version')


def main():
    rig = os.environ.get('FERRY_KVM_RIG')
    if not rig:
        print('1..0 # SKIP FERRY_KVM_RIG names no command that runs a program '
              'where there is a KVM')
        return 0
    done = subprocess.run(shlex.split(rig) + sys.argv[1:],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    planned = False
    for line in done.stdout.decode(errors='replace').splitlines():
        planned |= line.startswith('1..')
        print(line if TAP.match(line) else '# ' + line)
    if not planned:
        print('Bail out! the program printed no plan')
    return 0


sys.exit(main())
