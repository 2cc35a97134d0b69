#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The x86-64 guests boot under KVM, and do what they are for.

Usage: check-boot.py FOLDER BINARY

The very same files must boot on the real QEMU: with PEER_QEMU_X86_64 naming
its binary, they are booted there as well.
"""
import functools
import mmap
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                '..', '..', 'qmp'))
from qmp_client import Machine  # noqa: E402

MIB = 1 << 20
CTL, CLOCKS = 0x100000, 0x108000
RAM = 64 * MIB


def why_not(binary):
    """Why @binary can't run guests under KVM here; '' if it can."""
    if not os.path.exists('/dev/kvm'):
        return 'there is no /dev/kvm'
    if not os.access('/dev/kvm', os.R_OK | os.W_OK):
        return 'no permission for /dev/kvm'
    for what, name in ('accel', 'kvm'), ('machine', 'q35'):
        there = subprocess.run([binary, '-' + what, 'help'], text=True,
                               stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT).stdout
        if name not in there.split():
            return 'the binary has no %s %s' % (what, name)
    return ''


class Guest:
    """One guest of @cpus vCPUs; its memory is mapped here."""

    def __init__(self, binary, peer, image, cmdline, cpus=1, accel='kvm'):
        shm = '/dev/shm' if os.access('/dev/shm', os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix='guest-boot.', dir=shm)
        ram = os.path.join(self.folder, 'ram')
        with open(ram, 'w+b') as f:
            f.truncate(RAM)
            self.ram = mmap.mmap(f.fileno(), RAM)
        self.serial = os.path.join(self.folder, 'serial')
        self.machine = Machine(
            binary, '-M', 'q35,memory-backend=m', '-accel', accel,
            '-m', '%dM' % (RAM // MIB), '-smp', str(cpus), '-object',
            'memory-backend-file,id=m,size=%dM,mem-path=%s,share=on'
            % (RAM // MIB, ram), '-nodefaults', '-serial',
            'file:' + self.serial, '-kernel', image, '-append', cmdline,
            *(['-bios', 'qboot.rom'] if peer else []))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.machine.proc.kill()
        self.machine.proc.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def text(self):
        with open(self.serial, 'rb') as f:
            return f.read().decode('latin1')

    def word(self, address):
        return struct.unpack_from('<Q', self.ram, address)[0]

    def until(self, condition, what, seconds=100):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise AssertionError('%s; serial port: %r'
                                     % (what, self.text()[:200]))
            time.sleep(0.005)

    def stop(self):
        self.machine.cmd('stop')


def page_counter(start):
    with start('page-counter', 'ws=16 passes=4') as g:
        g.until(lambda: g.text().startswith('ABB'), 'no three letters')
        g.stop()
        values = [g.ram[a] for a in range(16 * MIB, 32 * MIB, 4096)]
        steps = [(a - b) % 256 for a, b in zip(values, values[1:])]
        assert sorted(steps)[:-1] == [0] * (len(steps) - 1), steps
        assert max(steps) <= 1, steps


def workload(cpus):
    def run(start):
        with start('workload', 'ws=16 bytes=64 cpus=%d' % cpus, cpus) as g:
            g.until(lambda: all(g.word(CTL + c * 4096 + 0x20) == 2
                                for c in range(cpus)), 'not all run')
            before = [g.word(CTL + c * 4096 + 8) for c in range(cpus)]
            g.until(lambda: all(g.word(CTL + c * 4096 + 8) > b + 10000
                                for c, b in enumerate(before)),
                    'not all go on')
            assert sorted(g.text()) == sorted('AaBbCcDd'[:2 * cpus]), g.text()
            g.stop()
            for c in range(cpus):
                p = CTL + c * 4096
                base, pages = g.word(p + 0x48), g.word(p + 0x50)
                total = sum(g.word(a) for a in range(
                    base, base + 4096 * pages, 4096))
                assert total - g.word(p + 0x10) in (0, 1), 'writes are lost'
                assert g.word(p + 0x28) == 0, 'errors'
    return run


def again(start):
    """After a reset the image is fresh, and further vCPUs start again."""
    with start('workload', 'ws=4 cpus=2', 2) as g:
        g.until(lambda: len(g.text()) == 4, 'did not start')
        g.machine.cmd('system_reset')
        g.until(lambda: len(g.text()) == 8, 'did not start again')
        assert sorted(g.text()[4:]) == sorted('AaBb'), g.text()


def clocks(tick, cpus=1):
    def run(start):
        with start('clocks', 'tick=%s cpus=%d rtc=2' % (tick, cpus),
                   cpus) as g:
            pages = [CLOCKS + c * 4096 for c in range(cpus)]
            ticking = pages[:1] if tick in ('pit', 'ioapic') else pages
            g.until(lambda: all(g.word(p + 0xb8) > 20 for p in ticking),
                    'no ticks')
            g.until(lambda: g.word(pages[0] + 0x70) > 3, 'no RTC')
            g.stop()
            for p in pages:
                steps = [g.word(p + at) for at in (0x28, 0x38, 0x48, 0x58)]
                assert steps == [0, 0, 0, 0], 'steps back: %s' % steps
                assert g.word(p + 0xc0) == 0, 'other interrupts'
                assert g.word(p + 0x68) == 1, 'KVM gives no clock'
    return run


TESTS = {
    'page counter': page_counter,
    'workload, 1 vCPU': workload(1),
    'workload, 3 vCPUs': workload(3),
    'workload, 2 vCPUs, after a reset': again,
    'clocks, PIT': clocks('pit'),
    'clocks, PIT by the I/O APIC': clocks('ioapic'),
    'clocks, local APICs, 2 vCPUs': clocks('lapic', 2),
    'clocks, one shot each': clocks('oneshot'),
}


def split(test):
    """The same with PICs and I/O APIC that are the program's."""
    return lambda start: test(functools.partial(
        start, accel='kvm,kernel-irqchip=split'))


TESTS.update({name + ', split irqchip': split(test)
              for name, test in TESTS.items()})


def main():
    folder, binary = (os.path.abspath(a) for a in sys.argv[1:])
    peer = os.environ.get('PEER_QEMU_X86_64')
    sides = [('ours', binary)] + ([('peer', peer)] if peer else [])
    print('1..%d' % (len(sides) * len(TESTS)))
    n = failed = 0
    for side, path in sides:
        skip = why_not(path)

        def start(guest, *args, **options):
            return Guest(path, side == 'peer',
                         os.path.join(folder, guest + '-x86_64.elf'), *args,
                         **options)
        for name, test in TESTS.items():
            n += 1
            what = '%d - %s: %s' % (n, side, name)
            if skip:
                print('ok %s # SKIP %s' % (what, skip))
                continue
            try:
                test(start)
                print('ok ' + what)
            except (AssertionError, OSError, EOFError) as e:
                failed += 1
                print('not ok %s\n# %s' % (what, e))
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
