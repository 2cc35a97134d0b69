#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Make data/ anew with a QEMU that is the judge.

  record.py gic2|gic3 SMP SEED STEPS OUT   accesses by chance, with answers
  record.py section NAME INSTANCE OUT ARG...   a device's part of a stream

QEMU_ORACLE is the command that runs it (default qemu-system-aarch64).
ORACLE_DIR is a directory that this script and that command share,
ORACLE_DIR_INSIDE its name for the command (default: the same).
"""
import json
import os
import random
import shlex
import socket
import struct
import subprocess
import sys
import time

COMMAND = shlex.split(os.environ.get('QEMU_ORACLE', 'qemu-system-aarch64'))
SHARED = os.environ.get('ORACLE_DIR', '/tmp')
INSIDE = os.environ.get('ORACLE_DIR_INSIDE', SHARED)


class Qemu:
    def __init__(self, *args):
        path = os.path.join(SHARED, 'record.sock')
        if os.path.exists(path):
            os.unlink(path)
        self.proc = subprocess.Popen(
            [*COMMAND, *args, '-nodefaults', '-display', 'none', '-qtest',
             'stdio', '-qtest-log', '/dev/null', '-qmp',
             f'unix:{INSIDE}/record.sock,server=on,wait=off'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            bufsize=1)
        for _ in range(200):
            try:
                sock = socket.socket(socket.AF_UNIX)
                sock.connect(path)
                break
            except OSError:
                time.sleep(0.05)
        self.qmp_file = sock.makefile('rw')
        self.qmp_file.readline()
        self.qmp('qmp_capabilities')

    def qmp(self, command, **args):
        self.qmp_file.write(
            json.dumps({'execute': command, 'arguments': args}) + '\n')
        self.qmp_file.flush()
        while True:
            answer = json.loads(self.qmp_file.readline())
            if 'return' in answer or 'error' in answer:
                return answer['return']

    def qtest(self, line):
        self.proc.stdin.write(line + '\n')
        self.proc.stdin.flush()
        while True:
            answer = self.proc.stdout.readline().split()
            if answer[0] != 'IRQ':
                assert answer[0] == 'OK', (line, answer)
                return answer[1] if len(answer) > 1 else None


class Recorder:
    LETTER = {1: 'b', 4: 'l', 8: 'q'}

    def __init__(self, qemu, gic_type, out):
        self.q, self.out = qemu, out
        for o in qemu.qmp('qom-list', path='/machine/unattached'):
            if o['type'] == f'child<{gic_type}>':
                self.path = '/machine/unattached/' + o['name']

    def write(self, addr, val, size=4):
        self.q.qtest(f'write{self.LETTER[size]} {addr:#x} {val:#x}')
        self.out.write(f'w{size} {addr:x} {val:x}\n')

    def read(self, addr, size=4):
        val = int(self.q.qtest(f'read{self.LETTER[size]} {addr:#x}'), 16)
        self.out.write(f'r{size} {addr:x} {val:x}\n')
        return val

    def line(self, n, level):
        self.q.qtest(f'set_irq_in {self.path} unnamed-gpio-in {n} {level}')
        self.out.write(f'i {n} {level}\n')


BITS = [0x80, 0x100, 0x180, 0x200, 0x280, 0x300, 0x380]


def gic2(r, rng, smp, steps):
    dist, cpu = 0x08000000, 0x08010000
    for a in [*range(0, 0x20, 4), *range(0xfd0, 0x1000, 4)]:
        r.read(dist + a)
    for a in (0, 4, 8, 0x14, 0x18, 0x1c, 0xd0, 0xd4, 0xe0, 0xfc):
        r.read(cpu + a)
    r.write(dist, 3)
    r.write(cpu, rng.choice([1, 3, 7, 0xb]))
    r.write(cpu + 4, 0xf0)
    for i in range(0, 288, 4):
        r.write(dist + 0x400 + i, rng.getrandbits(32) & 0xf8f8f8f8)
    for i in range(9):
        r.write(dist + 0x100 + 4 * i,
                rng.getrandbits(32) | rng.getrandbits(32))
    for i in range(1, 9):
        r.write(dist + 0x80 + 4 * i, rng.getrandbits(32) & rng.getrandbits(32))
    for i in range(2, 18):
        r.write(dist + 0xc00 + 4 * i, rng.getrandbits(32) & 0xaaaaaaaa)
    if smp > 1:
        for i in range(32, 288, 4):
            r.write(dist + 0x800 + i, rng.getrandbits(32) | 0x01000001)
    taken = []
    for _ in range(steps):
        x = rng.random()
        if x < 0.25:
            r.line(rng.randrange(256) if rng.random() < 0.8
                   else 256 + rng.randrange(16, 32), rng.randrange(2))
        elif x < 0.45:
            val = r.read(cpu + 0xc)
            if val & 0x3ff < 1020:
                taken.append(val)
        elif x < 0.62 and taken:
            r.write(cpu + 0x10, taken.pop())
        elif x < 0.66:
            r.write(dist + 0xf00, rng.choice([0, 2]) << 24 | 1 << 16 |
                    rng.randrange(16))
        elif x < 0.69:
            r.write(cpu + 4, rng.choice([0xff, 0xf0, 0x80, 0x40, 0xe0]))
        elif x < 0.73:
            r.write(cpu + rng.choice([8, 0x1c]), rng.randrange(8))
        elif x < 0.75:
            r.write(cpu, rng.choice([0, 1, 3, 7, 0xf, 0x13, 0x17]))
        elif x < 0.77:
            r.write(dist + rng.choice([0x100, 0x180]) + 4 * rng.randrange(9),
                    rng.getrandbits(32) & rng.getrandbits(32))
        elif x < 0.79:
            r.write(dist + 0x400 + rng.randrange(288),
                    rng.randrange(256) & 0xf8, 1)
        elif x < 0.81:
            r.write(dist + rng.choice([0x200, 0x280]) + 4 * rng.randrange(9),
                    1 << rng.randrange(32))
        elif x < 0.82:
            r.write(dist, rng.choice([3, 3, 1, 0, 2]))
        elif x < 0.9:
            r.read(cpu + rng.choice([0x14, 0x18, 0xd0, 0xd4, 0xd8, 0xe0,
                                     0xe4]))
        else:
            r.read(dist + rng.choice(BITS) + 4 * rng.randrange(9))


def gic3(r, rng, smp, steps):
    """Without GICD_TYPER, GICR_TYPER and what belongs to LPIs."""
    dist, redist = 0x08000000, 0x080a0000
    frames = [redist + 0x20000 * i for i in range(smp)]
    for a in [0, 8, *range(0x10, 0x20, 4), *range(0xffd0, 0x10000, 4), *BITS,
              0x400, 0x800, 0xc00, 0xd00, 0xe00, 0xf00]:
        r.read(dist + a)
    for b in frames:
        for a in [0, 4, *range(0x10, 0x20, 4), *range(0xffd0, 0x10000, 4)]:
            r.read(b + a)
        for a in [*BITS, 0x400, 0x41c, 0x420, 0xc00, 0xc04, 0xd00, 0xe00]:
            r.read(b + 0x10000 + a)
    for val in (3, 0xffffffff, 0, 3):
        r.write(dist, val)
        r.read(dist)
    for b in frames:
        for val in (0, 2, 0):
            r.write(b + 0x14, val)
            r.read(b + 0x14)
    roots = [dist] + [b + 0x10000 for b in frames]
    for _ in range(steps):
        x, base = rng.random(), rng.choice(roots)
        word = rng.randrange(1, 9) if base == dist else 0
        icfgr = base + 0xc00 + 4 * (rng.randrange(2, 18) if base == dist
                                    else rng.randrange(2))
        if x < 0.25:
            r.line(rng.randrange(256) if rng.random() < 0.6 else
                   256 + 32 * rng.randrange(smp) + rng.randrange(16, 32),
                   rng.randrange(2))
        elif x < 0.55:
            r.write(base + rng.choice(BITS) + 4 * word,
                    rng.getrandbits(32) & rng.getrandbits(32))
        elif x < 0.6:
            r.write(icfgr, rng.getrandbits(32))
        elif x < 0.65:
            r.write(base + 0x400 + (rng.randrange(32, 288) if base == dist
                                    else rng.randrange(32)),
                    rng.randrange(256), 1)
        elif x < 0.68:
            r.write(dist + 0x6000 + 8 * rng.randrange(32, 288),
                    rng.choice([0, 1, 2, 3, 0x80000000, 0x100, 0xff00000000]),
                    8)
        elif x < 0.70:
            r.write(dist, rng.randrange(4))
        elif x < 0.91:
            r.read(base + rng.choice(BITS) + 4 * word)
        elif x < 0.94:
            r.read(icfgr)
        elif x < 0.97:
            r.read(base + 0x400 + 4 * (rng.randrange(8, 72) if base == dist
                                       else rng.randrange(8)))
        else:
            r.read(dist + 0x6000 + 8 * rng.randrange(32, 288), 8)


def record_gic(kind, smp, seed, steps, path):
    machine, gic_type, fn = {
        'gic2': ('virt,gic-version=2', 'arm_gic', gic2),
        'gic3': ('virt,gic-version=3,its=off', 'arm-gicv3', gic3),
    }[kind]
    qemu = Qemu('-M', machine, '-cpu', 'cortex-a57', '-smp', smp, '-m', '64M',
                '-accel', 'qtest')
    with open(path, 'w') as out:
        out.write(f'# Accesses by chance to QEMU (-M {machine} -smp {smp}, '
                  'engine qtest) and its\n# answers. wN/rN address value (N '
                  'bytes); i input level.\n')
        fn(Recorder(qemu, gic_type, out), random.Random(int(seed)), int(smp),
           int(steps))
    qemu.qmp('quit')


def size_of(desc, data, pos):
    """Where the state that @desc (of the stream's own description) ends."""
    for f in desc.get('fields', []):
        for _ in range(f.get('array_len', 1)):
            pos = size_of(f['struct'], data, pos) if 'struct' in f \
                else pos + f['size']
    for sub in desc.get('subsections', []):
        assert data[pos] == 5
        pos = size_of(sub, data, pos + 2 + data[pos + 1] + 4)
    return pos


def record_section(name, instance, path, *args):
    qemu = Qemu('-S', *args)
    qemu.qmp('migrate', uri=f'exec:cat > {INSIDE}/record.stream')
    while qemu.qmp('query-migrate')['status'] != 'completed':
        time.sleep(0.1)
    qemu.qmp('quit')
    with open(os.path.join(SHARED, 'record.stream'), 'rb') as f:
        data = f.read()
    desc = json.loads(data[data.rindex(b'{"configuration"'):])
    dev, = [d for d in desc['devices'] if d['name'] == name and
            d['instance_id'] == int(instance)]
    head = bytes([len(name)]) + name.encode() + \
        struct.pack('>II', int(instance), dev['version'])
    start = data.index(head) + len(head)
    end = size_of(dev, data, start)
    assert data[end] == 0x7e, 'no footer where the section ends'
    with open(path, 'wb') as f:
        f.write(data[start:end])
    print(name, 'version', dev['version'], end - start, 'bytes')


if sys.argv[1] == 'section':
    record_section(*sys.argv[2:])
else:
    record_gic(*sys.argv[1:6])
