#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test-threads.py BINARY DOCS: the names of threads, as /proc/PID/task/*/comm
shows them, are those of the table in docs/architecture.rst. Speaks TAP."""

import os
import re
import struct
import subprocess
import sys
import tempfile
import threading
import time

from qmp_client import Machine, QmpError

# Rows of the table that this program does not bring about: they end at once.
PASSING = {'chr-connect', 'kvm-free', 'populate', 'reap-command'}


class Skip(Exception):
    pass


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def table_of(path):
    with open(path, encoding='utf-8') as f:
        text = f.read()
    section = re.search(r'^Threads\n=+\n(.*?)^[^\n]+\n=+\n\n', text,
                        re.M | re.S).group(1)
    return set(re.findall(r'^``([^`]+)``  ', section, re.M))


class Watcher(threading.Thread):
    """Every name that a process's threads ever had, while it is watched."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.folder, self.main = '/proc/%d/task' % pid, str(pid)
        self.seen, self.now, self.done = set(), [], threading.Event()

    def look(self):
        now = []
        try:
            for tid in os.listdir(self.folder):
                with open(os.path.join(self.folder, tid, 'comm'),
                          encoding='utf-8') as f:
                    name = f.read().rstrip('\n')
                if tid != self.main:
                    now.append(name)
        except OSError:
            return None  # a thread, or all of it, ended meanwhile
        self.seen.update(now)
        return sorted(now)

    def run(self):
        while not self.done.wait(0.001):
            self.look()

    def wait_for(self, *names):
        deadline = time.monotonic() + 60
        while not set(names) <= self.seen:
            check(time.monotonic() < deadline,
                  'no thread %s: %s' % (names, sorted(self.seen)))
            time.sleep(0.005)

    def wait_until_gone(self, *names):
        deadline = time.monotonic() + 60
        while set(names) & set(self.look() or names):
            check(time.monotonic() < deadline, '%s stay' % (names,))
            time.sleep(0.005)


class Watched(Machine):
    def __init__(self, binary, *args):
        super().__init__(binary, *args)
        self.watcher = Watcher(self.proc.pid)
        self.watcher.start()

    def __exit__(self, *exc):
        self.watcher.done.set()
        self.watcher.join()
        super().__exit__(*exc)

    def capabilities(self, *names):
        self.cmd('migrate-set-capabilities', capabilities=[
            {'capability': n, 'state': True} for n in names])


def known(vm, table):
    """Nothing has a name that is not in the table."""
    patterns = [re.sub(r'\bn\b', r'\\d+', name) for name in table]
    # A thread is born with its maker's name; that of a sanitizer keeps it.
    seen = vm.watcher.seen - {os.path.basename(vm.proc.args[0])[:15]}
    for name in seen:
        check(any(re.fullmatch(p, name) for p in patterns),
              'the thread %r is not in the table' % name)
    return seen


def writing_guest(folder):
    """A blob for virt that stores to 32 MiB of pages for ever."""
    path = os.path.join(folder, 'blob')
    with open(path, 'wb') as f:
        f.write(struct.pack('<7I',
                            0xd2a82001,    # mov x1, 0x41000000
                            0xd2a86002,    # mov x2, 0x43000000
                            0xf9000021,    # str x1, [x1]
                            0x91400421,    # add x1, x1, 4096
                            0xeb02003f,    # cmp x1, x2
                            0x54ffffa3,    # b.lo: to the store
                            0x17fffffa))   # b: to the first
    return path


def name_of_process(binary, folder, table):
    with Watched(binary, '-M', 'none', '-accel', 'qtest', '-name',
                 'guest=lamp,process=a-lamp-that-burns') as vm:
        with open('/proc/%d/comm' % vm.proc.pid, encoding='utf-8') as f:
            check(f.read() == 'a-lamp-that-bur\n', 'another name')
        check(vm.cmd('query-name') == {'name': 'lamp'}, 'guest')
    return set()


def idle(binary, folder, table):
    with Watched(binary, '-M', 'none', '-accel', 'qtest', '-cpu',
                 'cortex-a57' if 'aarch64' in binary else 'qemu64',
                 '-name', 'lamp,debug-threads=on') as vm:
        vm.watcher.wait_for('CPU 0/DUMMY')
        vm.send_text('{"execute": "qmp_capabilities"}\n')
        seen = known(vm, table)
        check(seen <= {'CPU 0/DUMMY', 'IO mon_iothread'}, seen)
        return seen


def migrating(binary, folder, table, options, cpu, tracking):
    """Both sides of a migration that cannot end yet, and what can be asked
    for beside it. Returns what was seen."""
    uri = 'unix:' + os.path.join(folder, 'm')
    with Watched(binary, *options, '-incoming', uri) as target, \
            Watched(binary, *options) as source:
        source.watcher.wait_for('CPU 0/' + cpu, 'CPU 1/' + cpu)
        for vm in source, target:
            vm.capabilities('return-path')
        source.capabilities('auto-converge')
        source.cmd('migrate-set-parameters', **{
            'max-bandwidth': 1 << 20, 'downtime-limit': 1})
        source.cmd('migrate', uri=uri)
        source.watcher.wait_for('mig/src/main', 'mig/src/return')
        target.watcher.wait_for('mig/dst/main')
        if tracking == 'ring':
            source.watcher.wait_for('dirty-reaper')
            source.cmd('set-vcpu-dirty-limit', **{'dirty-rate': 1})
            source.watcher.wait_for('dirty-limit')
            source.cmd('cancel-vcpu-dirty-limit')
        source.cmd('migrate_cancel')
        source.watcher.wait_until_gone('mig/src/main', 'mig/src/return')
        source.cmd('calc-dirty-rate', **{'calc-time': 1})
        source.watcher.wait_for('mig/dirtyrate')
        return known(source, table) | known(target, table)


def software_engine(binary, folder, table):
    if 'aarch64' not in binary:
        raise Skip('there is no software engine')
    seen = set()
    for tracking in 'bitmap', 'ring':
        seen |= migrating(binary, folder, table, [
            '-M', 'virt', '-accel', 'tcg,dirty-tracking=' + tracking, '-smp',
            '2', '-m', '128M', '-serial', 'null', '-kernel',
            writing_guest(folder)], 'TCG', tracking)
    return seen


def kernel_vm(binary, folder, table):
    if 'x86_64' not in binary or os.uname().machine != 'x86_64' or \
            not os.access('/dev/kvm', os.R_OK | os.W_OK):
        raise Skip('there is no KVM for this')
    seen = set()
    for tracking in 'bitmap', 'ring':
        seen |= migrating(binary, folder, table, [
            '-M', 'q35', '-accel', 'kvm,dirty-tracking=' + tracking, '-smp',
            '2', '-m', '128M', '-S'], 'KVM', tracking)
    return seen


def helpers(binary, folder, table):
    """Those that wait for somebody outside."""
    fifo = os.path.join(folder, 'fifo')
    os.mkfifo(fifo)
    with Watched(binary, '-M', 'none', '-m', '1M', '-accel', 'qtest') as vm:
        vm.cmd('migrate', uri='file:' + fifo)
        vm.watcher.wait_for('mig-connect')
        vm.cmd('migrate_cancel')
        with open(fifo, 'rb'):
            vm.watcher.wait_until_gone('mig-connect', 'mig/src/main')
        return known(vm, table)


def throttled(binary, folder, table):
    if 'aarch64' not in binary:
        raise Skip('there is no software engine')
    with Watched(binary, '-M', 'virt', '-accel', 'tcg', '-m', '128M',
                 '-serial', 'null', '-kernel', writing_guest(folder)) as vm:
        vm.capabilities('auto-converge')
        vm.cmd('migrate-set-parameters', **{
            'max-bandwidth': 100 << 20, 'downtime-limit': 1,
            'throttle-trigger-threshold': 1})
        vm.cmd('migrate', uri='exec:cat >/dev/null')
        vm.watcher.wait_for('cpu-throttle')
        vm.cmd('migrate_cancel')
        vm.watcher.wait_until_gone('cpu-throttle', 'mig/src/main')
        return known(vm, table)


def main():
    binary, docs = sys.argv[1:]
    table, seen = table_of(docs), set()
    cases = [name_of_process, idle, software_engine, kernel_vm, helpers, throttled]
    failed = skipped = 0
    print('1..%d' % (len(cases) + 1))
    for n, case in enumerate(cases, 1):
        name = '/threads/' + case.__name__
        try:
            with tempfile.TemporaryDirectory(prefix='test-threads-') as folder:
                seen |= case(binary, folder, table)
            print('ok %d %s' % (n, name), flush=True)
        except Skip as e:
            skipped += 1
            print('ok %d %s # SKIP %s' % (n, name, e), flush=True)
        except (AssertionError, EOFError, OSError, QmpError,
                subprocess.SubprocessError) as e:
            failed += 1
            print('# %r\nnot ok %d %s' % (e, n, name), flush=True)
    # The table has nothing that does not exist. What the other binary has
    # is its own test's.
    # mig/dst/ram: only of a target that gets much at a time.
    others = {'CPU n/KVM', 'CPU n/TCG', 'mig/dst/ram'}
    if skipped > (1 if 'aarch64' in binary else 2):
        others |= {'dirty-reaper', 'dirty-limit', 'mig/dst/main',
                   'mig/src/return', 'mig/dirtyrate', 'cpu-throttle'}
    if 'aarch64' not in binary:
        others.add('cpu-throttle')
    seen = {re.sub(r'^CPU \d+/', 'CPU n/', s) for s in seen}
    unseen = table - seen - PASSING - others
    print('%sok %d /threads/table%s' % (
        'not ' if unseen else '', len(cases) + 1,
        '' if not unseen else ' # never seen: %s' % sorted(unseen)))
    return failed or unseen


if __name__ == '__main__':
    sys.exit(1 if main() else 0)
