#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Run the probe guests and compare what they print with what they print on a
real QEMU (TAP).

  run-probes.py QEMU GUEST-DIR DATA-DIR
  run-probes.py --record COMMAND SHARED-DIR INSIDE-DIR GUEST-DIR DATA-DIR

The second form makes the data anew: COMMAND runs the QEMU that is the judge,
which sees SHARED-DIR as INSIDE-DIR.
"""
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

A57 = ['-cpu', 'cortex-a57', '-m', '64M']
# name, guest, options, file with the expected lines
PROBES = [
    ('sysregs/cortex-a53', 'sysregs', ['-M', 'virt', '-cpu', 'cortex-a53',
                                       '-m', '64M'],
     'sysregs-cortex-a53.txt'),
    ('sysregs/cortex-a57', 'sysregs', ['-M', 'virt', *A57],
     'sysregs-cortex-a57.txt'),
    ('sysregs/cortex-a72', 'sysregs', ['-M', 'virt', '-cpu', 'cortex-a72',
                                       '-m', '64M'],
     'sysregs-cortex-a72.txt'),
    ('psci', 'psci', ['-M', 'virt', '-smp', '2', *A57], 'psci.txt'),
    ('power', 'power', ['-M', 'virt', '-smp', '8', *A57], 'power.txt'),
    ('gicv3', 'gicv3', ['-M', 'virt,gic-version=3', '-smp', '2', *A57],
     'gicv3.txt'),
]


def expected(path):
    with open(path) as f:
        return [l.rstrip('\n') for l in f if not l.startswith('#')]


def run(command, guest, options, serial, serial_name):
    cmd = [*command, *options, '-nodefaults', '-display', 'none',
           '-kernel', guest, '-serial', 'file:' + serial_name]
    p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True, timeout=100)
    with open(serial) as f:
        return p.returncode, p.stdout, f.read().splitlines()


def difference(got, want):
    """None if the same; else words. A '*' that ends a line fits anything."""
    for i, line in enumerate(want):
        if i >= len(got):
            return f'line {i + 1} is missing: {line}'
        if line.endswith('*') and got[i].startswith(line[:-1]):
            continue
        if got[i] != line:
            return f'line {i + 1} is "{got[i]}", expected "{line}"'
    if len(got) > len(want):
        return f'{len(got) - len(want)} lines too many: {got[len(want)]}'
    return None


def check(qemu, guest_dir, data_dir):
    failed = False
    print(f'1..{len(PROBES)}')
    with tempfile.TemporaryDirectory() as tmp:
        for i, (name, guest, options, data) in enumerate(PROBES, 1):
            serial = os.path.join(tmp, 'serial')
            rc, text, got = run([qemu],
                                os.path.join(guest_dir, f'probe-{guest}.bin'),
                                options, serial, serial)
            why = difference(got, expected(os.path.join(data_dir, data)))
            if rc != 0:
                why = f'exit status {rc}: {text}'
            print('ok' if why is None else 'not ok', i, name)
            if why:
                failed = True
                print('#', why)
    return failed


def record(command, shared, inside, guest_dir, data_dir):
    """Only what has no other source: the other files are kept by hand."""
    for name, guest, options, data in PROBES:
        if data not in ('gicv3.txt', 'power.txt'):
            continue
        blob = f'probe-{guest}.bin'
        shutil.copy(os.path.join(guest_dir, blob), shared)
        _, text, got = run(shlex.split(command), f'{inside}/{blob}', options,
                           os.path.join(shared, 'serial'), f'{inside}/serial')
        with open(os.path.join(data_dir, data), 'w') as f:
            f.write(f'# Printed by the probe {guest}.c on QEMU 11.1.3 ('
                    + ' '.join(options) + ')\n')
            f.write('\n'.join(got) + '\n')
        print(name, len(got), 'lines', text)


if sys.argv[1] == '--record':
    record(*sys.argv[2:7])
else:
    sys.exit(check(*sys.argv[1:4]))
