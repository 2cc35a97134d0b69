#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test-options.py BINARY TREE: what is asked for in JSON, or what is not
there, is right or refused with a reason. Speaks TAP, a case for each row."""

import json
import os
import re
import subprocess
import sys

from qmp_client import Machine, QmpError

RAM = {'qom-type': 'memory-backend-ram', 'id': 'a', 'size': 4096}
OK = None  # it starts

# Option, value (an object: as JSON), and what the error must say, or OK.
# The machine is `none` unless the option names one.
OPTIONS = [
    ('-object', RAM, OK),
    ('-object', 'memory-backend-ram,id=a,size=4k', OK),
    ('-object', {**RAM, 'share': True}, OK),
    ('-object', {**RAM, 'share': 'on'}, "'share', expected: boolean"),
    ('-object', {**RAM, 'size': '4096'}, "'size', expected: integer"),
    ('-object', {**RAM, 'size': -1}, "'size'"),
    ('-object', {**RAM, 'lamp': 1}, "'memory-backend-ram.lamp' not found"),
    ('-object', {**RAM, 'id': '1a'}, "'id' expects an identifier"),
    ('-object', {**RAM, 'id': 1}, "'id', expected: string"),
    ('-object', {**RAM, 'qom-type': 'lamp'}, 'invalid object type: lamp'),
    ('-object', {**RAM, 'qom-type': 7}, "'qom-type', expected: string"),
    ('-object', {'id': 'a'}, "'qom-type' is missing"),
    ('-object', {'qom-type': 'memory-backend-ram'}, "'id' is missing"),
    ('-object', '{}', "'qom-type' is missing"),
    ('-object', '{', 'JSON parse error'),
    ('-object', '{"a": 1} 2', 'more text after the value'),
    ('-object', '[]', "'id' is missing"),
    ('-device', {'driver': 'lamp'}, "there is no device 'lamp'"),
    ('-device', 'lamp', "there is no device 'lamp'"),
    ('-device', {'driver': 'virtio-net-pci', 'id': 'n'}, 'virtio-net-pci'),
    ('-device', {'driver': 5}, "'driver', expected: string"),
    ('-device', '{}', "'driver' is missing"),
    ('-device', '{', 'JSON parse error'),
    ('-device', '[]', "there is no device '[]'"),
    ('-machine', {'type': 'none'}, OK),
    ('-machine', {'type': 'none', 'memory': {'size': 1 << 20}}, OK),
    ('-machine', {'type': 'none', 'suppress-vmdesc': True}, OK),
    ('-machine', {'type': 'none', 'suppress-vmdesc': 7}, 'suppress-vmdesc'),
    ('-machine', {'type': 'none', 'lamp': 1}, "lamp' not found"),
    ('-machine', {'type': 'lamp'}, 'unsupported machine type: "lamp"'),
    ('-machine', '{', 'JSON parse error'),
    ('-machine', 'none,accel=', "accelerator's name is missing"),
    ('-incoming', {'channel-type': 'main', 'addr': {
        'transport': 'file', 'filename': '/no/such', 'offset': 0}},
     '/no/such'),
    ('-incoming', {'channel-type': 'main', 'addr': {'transport': 'lamp'}},
     "'lamp'"),
    ('-incoming', {'channel-type': 'main'}, "'addr'"),
    ('-incoming', '{', 'JSON parse error'),
    ('-display', {'type': 'none'}, OK),
    ('-display', 'none', OK),
    ('-display', {'type': 'gtk'}, 'there are no displays'),
    ('-display', 'sdl,gl=on', 'there are no displays'),
    ('-audiodev', {'driver': 'none', 'id': 'a'}, OK),
    ('-audiodev', 'none,id=a', OK),
    ('-audiodev', {'driver': 'alsa', 'id': 'a'}, 'no machine has sound'),
    ('-netdev', {'type': 'user', 'id': 'n'}, 'there are no network devices'),
    ('-netdev', 'user,id=n', 'there are no network devices'),
    ('-nic', 'user', 'only \'none\''),
    ('-net', 'none', OK),
    ('-blockdev', {'driver': 'null-co', 'node-name': 'n'}, 'no block layer'),
    ('-blockdev', 'driver=null-co,node-name=n', 'no block layer'),
    ('-accel', {'accel': 'qtest'}, 'takes no JSON'),
    ('-cpu', {'model': 'max'}, 'takes no JSON'),
    ('-smp', {'cpus': 1}, 'takes no JSON'),
    ('-m', {'size': 4096}, 'takes no JSON'),
    ('-chardev', {'id': 'c', 'backend': {'type': 'null', 'data': {}}},
     'takes no JSON'),
    ('-chardev', 'null,id=a-b_c.1', OK),
    ('-chardev', 'null,id=', "'id' expects an identifier"),
    ('-chardev', 'null,id=1a', "'id' expects an identifier"),
    ('-chardev', 'null,id=a b', "'id' expects an identifier"),
    ('-chardev', 'ringbuf,id=a,size=3', 'a power of two'),
    ('-chardev', 'ringbuf,id=a,size=1T', 'at most 1 GiB'),
    ('-mon', {'chardev': 'c'}, 'takes no JSON'),
    ('-drive', {'file': 'f'}, 'takes no JSON'),
    ('-rtc', {'base': 'utc'}, 'takes no JSON'),
    ('-trace', {'enable': '*'}, 'takes no JSON'),
    ('-msg', {'timestamp': True}, 'takes no JSON'),
]

# Of q35 alone, which has what -device makes something for.
PC_OPTIONS = [
    ('-device', {'driver': 'isa-debug-exit', 'iobase': 0x501}, OK),
    ('-device', {'driver': 'isa-debug-exit', 'id': 'e'}, OK),
    ('-device', 'isa-debug-exit,id=e', OK),
    ('-device', {'driver': 'isa-debug-exit', 'id': ''}, "'id' expects"),
    ('-device', 'isa-debug-exit,id=', "'id' expects"),
    ('-device', {'driver': 'isa-debug-exit', 'id': 7}, "'id', expected"),
    ('-device', {'driver': 'isa-debug-exit', 'iobase': 'x'}, 'iobase'),
    ('-device', {'driver': 'isa-debug-exit', 'bus': 'pci.0'}, 'bus'),
    ('-device', {'driver': 'isa-debug-exit', 'lamp': 1}, 'lamp'),
    ('-device', 'isa-debug-exit,lamp=1', 'lamp'),
    ('-device', {'driver': 'isa-serial', 'chardev': 'none-such'},
     'none-such'),
    ('-device', {'driver': 'ide-hd', 'drive': 'none-such'}, 'none-such'),
]

# QMP's and HMP's device_add and device_del: the error.
PLUG = [
    ('device_add', {}, "'driver' is missing"),
    ('device_add', {'driver': 5}, "'driver', expected: string"),
    ('device_add', {'driver': 'lamp'}, "there is no device 'lamp'"),
    ('device_add', {'driver': 'lamp', 'id': 7}, "'id', expected: string"),
    ('device_add', {'driver': 'virtio-net-pci', 'id': 'n', 'mac': 'x'},
     "there is no device 'virtio-net-pci'"),
    ('device_del', {'id': 'lamp'}, "Device 'lamp' not found"),
    ('device_del', {'id': '/machine'}, "Device '/machine' not found"),
    ('device_del', {}, "'id'"),
    ('chardev-add', {'id': '', 'backend': {'type': 'null', 'data': {}}},
     "'id' expects an identifier"),
    ('chardev-add', {'id': '1', 'backend': {'type': 'null', 'data': {}}},
     "'id' expects an identifier"),
    ('netdev_add', {'type': 'user', 'id': 'n'}, 'There is no command'),
    ('blockdev-add', {'driver': 'null-co', 'node-name': 'n'},
     'There is no command'),
]
PC_PLUG = [
    ('device_add', {'driver': 'isa-serial', 'id': 's'}, 'no hot-plug'),
    ('device_del', {'id': 'there'}, 'no hot-unplug'),
    ('device_del', {'id': '/machine/peripheral/there'}, 'no hot-unplug'),
]
PLUG_LINES = [
    ('device_add lamp', "Error: there is no device 'lamp'"),
    ('device_add virtio-net-pci,id=n,mac=00:11', 'virtio-net-pci'),
    ('device_add id=n', "'driver' is missing"),
    ('device_add help', 'Devices that can be made:'),
    ('device_del lamp', "Error: Device 'lamp' not found"),
    ('device_del', 'device_del'),
    ('chardev-add null,id=', "'id' expects an identifier"),
    # The format may follow the command at once; a machine has an address
    # space also if nothing is in it.
    ('xp/4xb 16', '00000010: Cannot access memory'),
    ('xp /4xb 16', '00000010: Cannot access memory'),
    ('xp/4xq 0', "invalid char in format: 'q'"),
    ('xp//4 0', 'invalid char in format'),
    ('info/2 status', 'unknown command'),
    ('nonsense/4 0', "unknown command: 'nonsense'"),
    ('/4 0', "unknown command: '/4'"),
]

# Words that follow what would otherwise be no more than "invalid option".
REFUSED = re.compile(r'^    \{ "([^"]+)", ', re.M)


class Outcome:
    def __init__(self):
        self.n, self.failed = 0, False

    def row(self, name, got, expected):
        """@got is what was said, or OK."""
        good = got is OK if expected is OK else \
            got is not OK and expected in got
        self.n += 1
        if not good:
            self.failed = True
            print('# said: %r\n# expected: %r' % (got, expected))
        print('%sok %d %s' % ('' if good else 'not ', self.n,
                              name.replace('#', '\\#')), flush=True)


def start(binary, option, value, machine):
    """What it says when it does not start, or OK."""
    if not isinstance(value, str):
        value = json.dumps(value)
    words = [option, value] + ([] if option == '-machine' else
                               ['-M', machine])
    done = subprocess.run(
        [binary, '-accel', 'qtest', '-qmp', 'stdio', *words], text=True,
        capture_output=True, timeout=60,
        input='{"execute": "qmp_capabilities"}\n{"execute": "quit"}\n')
    if done.returncode == 0:
        return OK
    if done.returncode != 1 or not done.stderr.strip():
        return 'exit status %s, said: %s' % (done.returncode, done.stderr)
    return done.stderr


def options(outcome, binary, rows, machine):
    for option, value, expected in rows:
        outcome.row('/options/%s/%s %s' % (machine, option, value),
                    start(binary, option, value, machine), expected)


def plugging(outcome, binary, rows, lines, *args):
    with Machine(binary, '-accel', 'qtest', *args) as vm:
        for name, arguments, expected in rows:
            got = OK
            try:
                vm.cmd(name, **arguments)
            except QmpError as err:
                got = err.desc
                if 'not found' in expected and \
                        err.error_class != 'DeviceNotFound':
                    got = err.error_class
            outcome.row('/plug/%s %s' % (name, arguments), got, expected)
        for line, expected in lines:
            outcome.row('/plug/hmp/' + line,
                        vm.cmd('human-monitor-command',
                               **{'command-line': line}), expected)


def refusals(outcome, binary, tree):
    """Each name of opts-refused.c is refused with its reason, and no option."""
    with open(os.path.join(tree, 'system/cmdline/opts-refused.c'),
              encoding='utf-8') as f:
        names = REFUSED.findall(f.read())
    outcome.row('/refused/names', OK if len(names) > 20 else str(names), OK)
    for name in names:
        for dash in '-', '--':
            said = start(binary, dash + name, 'x', 'none')
            outcome.row('/refused/' + dash + name, said,
                        dash + name + ': invalid option: ')
    outcome.row('/refused/others', start(binary, '-lamp', 'x', 'none'),
                '-lamp: invalid option\n')


def main():
    binary, tree = sys.argv[1:]
    outcome = Outcome()
    options(outcome, binary, OPTIONS, 'none')
    plugging(outcome, binary, PLUG, PLUG_LINES, '-M', 'none')
    if 'x86_64' in binary:
        options(outcome, binary, PC_OPTIONS, 'q35')
        plugging(outcome, binary, PC_PLUG, [], '-M', 'q35', '-device',
                 'isa-debug-exit,id=there')
    refusals(outcome, binary, tree)
    print('1..%d' % outcome.n)
    return outcome.failed


if __name__ == '__main__':
    sys.exit(main())
