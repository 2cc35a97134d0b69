#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test-nth-failure.py QEMU SHIM: the Nth call fails, N = 1, 2, 3...

From start-up through one migration to the end of the process, once with a
source and once with a target whose Nth call of a kind fails (fail-nth.c). It
ends with an error that says something, or goes on as if nothing had been;
never by a signal, and never late. A source that is left has its guest, and
the retry gives every byte to a new target. Speaks TAP, one case a kind and
side.
"""
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time

MIB = 1
PATIENCE = 30
# All of the first calls; then they repeat themselves, and a few will do.
EACH = 24
MOST = 2000


class Lost(Exception):
    """The process ended."""


class Process:
    def __init__(self, qemu, folder, name, args, env):
        self.path = '%s/%s.qmp' % (folder, name)
        self.err = open('%s/%s.err' % (folder, name), 'w+')
        self.p = subprocess.Popen(
            [qemu, '-display', 'none', '-nodefaults', '-accel', 'qtest',
             '-qmp', 'unix:%s,server=on,wait=off' % self.path, '-object',
             'memory-backend-file,id=m,share=on,size=%dM,mem-path=%s/%s.ram' %
             (MIB, folder, name), '-M', 'none,memory-backend=m', '-m',
             '%dM' % MIB] + args, env=dict(os.environ, **env),
            stdin=subprocess.DEVNULL, stderr=self.err)
        self.f = None
        try:
            self.connect()
        except (Lost, OSError):
            self.f = None

    def connect(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(PATIENCE)
            try:
                s.connect(self.path)
                break
            except OSError:
                s.close()
                if self.p.poll() is not None:
                    raise Lost from None
                time.sleep(.005)
        self.f = s.makefile('rw')
        if not self.f.readline():
            raise Lost
        self.cmd('qmp_capabilities')

    def cmd(self, name, **args):
        try:
            self.f.write(json.dumps({'execute': name, 'arguments': args}))
            self.f.flush()
            while True:
                line = self.f.readline()
                if not line:
                    raise Lost
                reply = json.loads(line)
                if 'return' in reply or 'error' in reply:
                    return reply
        except TimeoutError as e:
            raise AssertionError('the monitor hangs: ' + name) from e
        except (BrokenPipeError, ConnectionResetError) as e:
            raise Lost from e

    def wait_end(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            info = self.cmd('query-migrate')['return']
            if info.get('status') in ('completed', 'failed', 'cancelled'):
                return info
            time.sleep(.005)
        raise AssertionError('a migration hangs: %s' % info)

    def listen(self):
        self.cmd('migrate-set-capabilities', capabilities=[
            {'capability': 'return-path', 'state': True}])
        return self.cmd('migrate-incoming', uri='unix:' + self.path + '.mig')

    def end(self, ask=True):
        """Exit status and stderr."""
        try:
            if ask and self.f:
                self.cmd('quit')
        except Lost:
            # The call that failed was the monitor's: its client was let go.
            self.p.terminate()
        try:
            status = self.p.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.p.kill()
            raise AssertionError('it does not end') from None
        self.err.seek(0)
        return status, self.err.read()


def check_end(process, what, ask=True):
    status, said = process.end(ask)
    assert status in (0, 1), '%s: ended with %d: %s' % (what, status, said)
    assert status == 0 or said, '%s: ended with 1 and said nothing' % what
    return status


def same(folder, a, b):
    with open('%s/%s.ram' % (folder, a), 'rb') as f, \
            open('%s/%s.ram' % (folder, b), 'rb') as g:
        return f.read() == g.read()


def migrate(src, dst):
    """What the source says at the end."""
    reply = dst.listen()
    if 'error' in reply:
        return {'status': 'failed', 'error-desc': reply['error']['desc']}
    reply = src.cmd('migrate', uri='unix:' + dst.path + '.mig')
    if 'error' in reply:
        assert reply['error']['desc']
        return {'status': 'failed', 'error-desc': reply['error']['desc']}
    return src.wait_end()


def try_once(qemu, folder, side, env):
    """One source and one target, of which @side has a failure before it."""
    none = {}
    with open(folder + '/src.ram', 'wb') as f:
        f.write(random.Random(7).randbytes(MIB << 19))
        f.truncate(MIB << 20)
    dst = Process(qemu, folder, 'dst', ['-incoming', 'defer'],
                  env if side == 'dst' else none)
    src = Process(qemu, folder, 'src', [], env if side == 'src' else none)
    info = None
    try:
        if src.f and dst.f:
            src.cmd('migrate-set-capabilities', capabilities=[
                {'capability': 'return-path', 'state': True}])
            info = migrate(src, dst)
    except Lost:
        pass
    if info and info['status'] == 'completed':
        assert same(folder, 'src', 'dst'), 'a page was lost'
    elif info:
        assert info.get('error-desc'), 'it failed and does not say why'
    check_end(dst, 'target', ask=True)
    if src.f and src.p.poll() is None and info and \
            info['status'] != 'completed':
        retry(qemu, folder, src)
    check_end(src, 'source')


def retry(qemu, folder, src):
    """The guest is still here, and whole."""
    state = src.cmd('query-status')['return']['status']
    if state == 'paused':
        src.cmd('cont')
        state = src.cmd('query-status')['return']['status']
    assert state == 'running', 'after a failure the guest is ' + state
    again = Process(qemu, folder, 'again', ['-incoming', 'defer'], {})
    info = migrate(src, again)
    assert info['status'] == 'completed', 'the retry: %s' % info
    assert same(folder, 'src', 'again'), 'a page was lost in the retry'
    check_end(again, 'second target')


def walk(qemu, shim, kind, side):
    """Returns how many calls were made to fail."""
    n, tried = 1, 0
    while n < MOST:
        with tempfile.TemporaryDirectory(prefix='nth-') as folder:
            log = folder + '/failed'
            try:
                try_once(qemu, folder, side,
                         {'LD_PRELOAD': shim, 'FAIL_NTH': '%s:%d' % (kind, n),
                          'FAIL_NTH_LOG': log})
            except AssertionError as e:
                raise AssertionError('%s call %d of the %s: %s' %
                                     (kind, n, side, e)) from e
            if not os.path.exists(log):
                break
        tried += 1
        n += 1 if n < EACH else n // 2
    return tried


def main(qemu, shim):
    cases = [(k, s) for k in ('alloc', 'mmap', 'thread', 'read', 'write',
                              'sendmsg', 'recvmsg') for s in ('src', 'dst')]
    print('1..%d' % len(cases))
    for i, (kind, side) in enumerate(cases):
        try:
            tried = walk(qemu, shim, kind, side)
            result, why = 'ok', ' # %d calls' % tried
        except AssertionError as e:
            result, why = 'not ok', ''
            print('# ' + str(e).replace('\n', '\n# '))
        print('%s %d %s of the %s%s' % (result, i + 1, kind, side, why),
              flush=True)


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2])
