#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Usage: test-kvm-faults.py BINARY GUEST [TRACKING...]

The Nth call of KVM fails, for every N (FERRY_KVM_FAULT), in a whole process:

  start      it ends with status 1 and says why, or the guest works, or the
             machine stands in internal-error and said why
  source     of a migration, from the begin of tracking on; and
  target     from the start on: the migration fails, said on both sides, and
             the source's guest works on; or it succeeds, and then the memory
             of both is the same, byte by byte

Speaks TAP. With FERRY_SOAK in the environment every N is tried, else every
third from a begin that differs by case.
"""
import filecmp
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from qmp_client import Machine, QmpError  # noqa: E402

BINARY, GUEST = sys.argv[1:3]
MODES = sys.argv[3:] or ['bitmap']
RAM_MIB = 32
STEP = 1 if os.environ.get('FERRY_SOAK') else 3
ENOSPC = 28
PATIENCE = 60      # seconds; the host may be busy
FIRED = 'FERRY_KVM_FAULT: '
# Said where the fault is made up for, too; not what the fault did.
REMARKS = (FIRED, 'warning: ')


def why_not():
    if not os.path.exists('/dev/kvm'):
        return 'there is no /dev/kvm'
    if not os.access('/dev/kvm', os.R_OK | os.W_OK):
        return 'no permission for /dev/kvm'
    if not os.path.exists(GUEST):
        return 'the guest was not built'
    machines = subprocess.run([BINARY, '-machine', 'help'], text=True,
                              stdout=subprocess.PIPE, check=True).stdout
    return '' if 'q35' in machines.split() else 'the binary has no q35'


def complaints_in(text):
    return [line for line in text.split('\n')
            if line and not any(r in line for r in REMARKS)]


class Vm(Machine):
    """A machine with RAM in a file of @folder; @fault as in the variable."""

    def __init__(self, folder, name, mode, fault, *args):
        self.ram = os.path.join(folder, name + '.ram')
        self.errors = os.path.join(folder, name + '.err')
        with open(self.ram, 'wb') as f:
            f.truncate(RAM_MIB << 20)
        env = dict(os.environ)
        if fault:
            env['FERRY_KVM_FAULT'] = fault
        with open(self.errors, 'wb') as err:
            self.proc = subprocess.Popen(
                [BINARY, '-M', 'q35,memory-backend=m', '-accel',
                 'kvm,dirty-tracking=' + mode, '-m', '%dM' % RAM_MIB, '-object',
                 'memory-backend-file,id=m,share=on,size=%dM,mem-path=%s'
                 % (RAM_MIB, self.ram), '-nodefaults', '-display', 'none',
                 '-kernel', GUEST, '-append', 'start=8 ws=16', '-qmp',
                 'stdio', *args],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err,
                text=True, env=env)
        self.events = []
        self.greeting = self.receive()
        self.cmd('qmp_capabilities')

    def said(self):
        with open(self.errors, encoding='utf-8') as f:
            return f.read()

    def fired(self):
        return FIRED in self.said()

    def complaints(self):
        return complaints_in(self.said())

    def status(self):
        return self.cmd('query-status')['status']

    def memory(self):
        with open(self.ram, 'rb') as f:
            return f.read()

    def works(self):
        """Does the guest write memory? Waits for it."""
        before = self.memory()
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.status() == 'running':
            time.sleep(0.02)
            if self.memory() != before:
                return True
        return False

    def close(self):
        self.proc.kill()
        self.proc.wait()
        self.proc.stdout.close()
        try:
            self.proc.stdin.close()
        except BrokenPipeError:
            pass    # it ended before it had read all


def vm_or_status(*args):
    """A Vm, or (status, complaints) of one that ended."""
    try:
        return Vm(*args), None
    except (EOFError, BrokenPipeError):
        pass
    folder, name = args[0], args[1]
    with open(os.path.join(folder, name + '.err'), encoding='utf-8') as f:
        text = f.read()
    return None, complaints_in(text)


def check(ok, *what):
    if not ok:
        raise AssertionError(' '.join(str(w) for w in what))


def start_once(folder, n, mode):
    """Returns whether the fault came."""
    vm, complaints = vm_or_status(folder, 'vm', mode, '%d:%d' % (n, ENOSPC),
                                  '-smp', '2')
    if vm is None:
        check(complaints, n, 'it ended without a word')
        check(len(complaints) <= 2, n, complaints)
        return True
    try:
        if not vm.works():
            check(vm.fired(), n, 'the guest does not work')
            check(vm.status() == 'internal-error', n, vm.status())
            check(vm.complaints(), n, 'it stands still without a word')
        return vm.fired()
    finally:
        vm.close()


def migrate(src, dst, uri):
    """The source's last status."""
    src.cmd('migrate-set-parameters', **{'downtime-limit': 2000,
                                         'max-bandwidth': 8 << 30})
    src.cmd('migrate', uri=uri)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        info = src.cmd('query-migrate')
        if info['status'] in ('completed', 'failed'):
            return info
        time.sleep(0.01)
    raise AssertionError('the migration does not end: %s' % info)


def wait_for(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        check(time.monotonic() < end, what)
        time.sleep(0.01)


def target_status(dst):
    """Of its migration; 'gone': one that failed ends, sooner or later."""
    try:
        return dst.cmd('query-migrate').get('status')
    except (EOFError, BrokenPipeError):
        return 'gone'


def migrate_once(folder, n, mode, side):
    src_fault = '%d:%d:any:tracking' % (n, ENOSPC) if side == 'source' else ''
    dst_fault = '%d:%d' % (n, ENOSPC) if side == 'target' else ''
    dst, complaints = vm_or_status(folder, 'dst', mode, dst_fault, '-incoming',
                                   'defer', '-S')
    if dst is None:
        check(complaints, n, 'the target ended without a word')
        return True
    src = Vm(folder, 'src', mode, src_fault)
    faulty = src if side == 'source' else dst
    try:
        check(src.works(), n, 'the guest does not work')
        uri = 'unix:' + src.ram + '.sock'
        try:
            dst.cmd('migrate-incoming', uri=uri)
            info = migrate(src, dst, uri)
        except QmpError as e:
            check(src.fired(), n, e.desc)
            check(src.works(), n, 'the guest was stopped:', e.desc)
            return True
        if info['status'] == 'failed':
            check(faulty.fired(), n, 'failed for no reason', src.said(),
                  dst.said())
            check(info.get('error-desc') or dst.said(), n, 'not a word')
            check(src.works(), n, 'the guest was stopped:', info, src.said())
            return True
        wait_for(lambda: target_status(dst) in ('completed', 'gone'),
                 'the target does not finish')
        if target_status(dst) == 'completed':
            check(filecmp.cmp(src.ram, dst.ram, shallow=False), n,
                  'memory differs', src.said(), dst.said())
            dst.cmd('cont')
            if not dst.works():
                check(dst.fired() and dst.complaints(), n,
                      'the target does not go on', dst.status(), dst.said())
        else:
            check(dst.fired() and dst.complaints(), n, 'the target is gone')
        return faulty.fired()
    finally:
        src.close()
        dst.close()


def walk(begin, once):
    """N until no fault comes; the number of runs."""
    n, runs = begin, 0
    while True:
        with tempfile.TemporaryDirectory(prefix='kvm-faults.') as folder:
            runs += 1
            if not once(folder, n):
                return runs
        n += STEP


def main():
    cases = []
    for i, mode in enumerate(MODES):
        cases.append(('start with %s: each call fails once' % mode, 1 + i,
                      lambda f, n, m=mode: start_once(f, n, m)))
        for k, side in enumerate(('source', 'target')):
            cases.append(('%s of a migration with %s' % (side, mode),
                          1 + (i + k) % 3,
                          lambda f, n, m=mode, s=side: migrate_once(f, n, m,
                                                                    s)))
    reason = why_not()
    print('1..%d' % len(cases))
    status = 0
    for number, (name, begin, once) in enumerate(cases, 1):
        if reason:
            print('ok %d - %s # SKIP %s' % (number, name, reason))
            continue
        try:
            print('# %d runs' % walk(1 if STEP == 1 else begin, once))
            print('ok %d - %s' % (number, name))
        except (AssertionError, EOFError, QmpError) as e:
            status = 1
            print('not ok %d - %s' % (number, name))
            print('# ' + re.sub('\n', '\n# ', str(e)))
        sys.stdout.flush()
    return status


if __name__ == '__main__':
    sys.exit(main())
