#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test-exit-status.py BINARY DOCS: the statuses in the table of
docs/using.rst, each brought about. Speaks TAP, a case for each row."""

import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

NONE = ['-M', 'none', '-accel', 'qtest']
SECONDS = 60


def check(condition, text):
    if not condition:
        raise AssertionError(text)


class Skip(Exception):
    pass


class Process:
    """With QMP on its standard streams. wait(): how it ended."""

    def __init__(self, binary, *args):
        self.proc = subprocess.Popen(
            [binary, *args, '-qmp', 'stdio'], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.proc.stdout.readline()
        self.cmd('qmp_capabilities')

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.proc.poll() is None:
            self.proc.kill()
        self.proc.communicate()

    def cmd(self, command, /, **args):
        self.proc.stdin.write(json.dumps(
            {'execute': command, 'arguments': args}) + '\n')
        self.proc.stdin.flush()
        while True:
            line = self.proc.stdout.readline()
            check(line, '%s: it ended' % command)
            reply = json.loads(line)
            if 'event' not in reply:
                check('return' in reply, reply)
                return reply['return']

    def wait(self):
        return self.proc.wait(SECONDS)


def run(binary, *args):
    return subprocess.run([binary, *args], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, timeout=SECONDS,
                          stderr=subprocess.DEVNULL).returncode


def blob(folder, *words):
    path = os.path.join(folder, 'blob')
    with open(path, 'wb') as f:
        f.write(struct.pack('<%dI' % len(words), *words))
    return path


def call(function):
    """movz w0, low; movk w0, 0x8400, lsl 16; hvc 0"""
    return (0x52800000 | function << 5, 0x72b08000, 0xd4000002)


def guest(binary, folder, function, *more):
    if 'aarch64' not in binary:
        raise Skip('it needs a guest')
    return run(binary, '-M', 'virt', '-accel', 'tcg', '-serial', 'null',
               '-kernel', blob(folder, *call(function)), *more)


def by_quit(binary, folder):
    with Process(binary, *NONE) as p:
        p.cmd('quit')
        return p.wait()


def by_signal(binary, folder):
    ends = set()
    for sig in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
        for more in [], ['-incoming', 'defer'], \
                ['-incoming', 'unix:' + os.path.join(folder, 'm')]:
            with Process(binary, *NONE, *more) as p:
                p.proc.send_signal(sig)
                ends.add(p.wait())
    with Process(binary, *NONE, '-m', '64M') as p:
        p.cmd('migrate-set-parameters', **{'max-bandwidth': 1})
        p.cmd('migrate', uri='exec:cat > /dev/null')
        while p.cmd('query-migrate')['status'] != 'active':
            time.sleep(0.01)
        p.proc.send_signal(signal.SIGTERM)
        ends.add(p.wait())
    check(len(ends) == 1, ends)
    return ends.pop()


def switched_off(binary, folder):
    return guest(binary, folder, 8)


def reset(binary, folder):
    return guest(binary, folder, 9, '-no-reboot')


def helps(binary, folder):
    ends = {run(binary, *words) for words in (
        ['-help'], ['-h'], ['--help'], ['-version'], ['-M', 'help'],
        ['-M', 'none,help'], ['-accel', 'help'], ['-cpu', 'help'],
        ['-device', 'help'], ['-object', 'help'], ['-chardev', 'help'],
        ['-d', 'help'], ['-trace', 'help'], ['-smp', 'help'])}
    check(len(ends) == 1, ends)
    return ends.pop()


def daemon(binary, folder):
    pid = os.path.join(folder, 'pid')
    sock = os.path.join(folder, 'q')
    end = run(binary, *NONE, '-daemonize', '-pidfile', pid, '-qmp',
              'unix:%s,server=on,wait=off' % sock)
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(sock)
        check(b'QMP' in s.recv(4096), 'it cannot be reached')
    with open(pid, encoding='utf-8') as f:
        os.kill(int(f.read()), signal.SIGTERM)
    deadline = time.monotonic() + SECONDS
    while os.path.exists(pid):
        check(time.monotonic() < deadline, 'it does not end')
        time.sleep(0.01)
    return end


def wrong_option(binary, folder):
    ends = {run(binary, *words) for words in (
        ['-lamp'], ['-M', 'lamp'], [], NONE + ['-m', 'much'],
        NONE + ['-kernel'], NONE + ['-serial', 'lamp'],
        NONE + ['-object', 'lamp,id=a'],
        NONE + ['-qmp', 'unix:/no/such/folder/q,server=on,wait=off'],
        ['-M', 'none', '-accel', 'lamp'])}
    check(len(ends) == 1, ends)
    return ends.pop()


def daemon_fails(binary, folder):
    return run(binary, *NONE, '-daemonize', '-serial', 'lamp')


def incoming_fails(binary, folder):
    junk = os.path.join(folder, 'junk')
    with open(junk, 'wb') as f:
        f.write(b'junk' * 100)
    with Process(binary, *NONE, '-incoming', 'defer') as p:
        p.cmd('migrate-incoming', uri='file:' + junk,
              **{'exit-on-error': False})
        deadline = time.monotonic() + SECONDS
        while p.cmd('query-migrate').get('status') != 'failed':
            check(time.monotonic() < deadline, 'it does not fail')
            time.sleep(0.01)
        p.cmd('quit')
        check(p.wait() == 0, 'with exit-on-error false')
    ends = {run(binary, *NONE, '-incoming', uri)
            for uri in ('file:' + junk, 'exec:true', 'file:/no/such')}
    check(len(ends) == 1, ends)
    return ends.pop()


def exit_device(binary, folder):
    """By qtest's out instruction, instead of a guest's."""
    if 'x86_64' not in binary:
        raise Skip('there is no such device')
    ends = {}
    for value in 0, 1, 5, 0x7f:
        path = os.path.join(folder, 'qtest%d' % value)
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(path)
            s.listen(1)
            s.settimeout(SECONDS)
            with Process(binary, '-M', 'q35', '-accel', 'qtest', '-device',
                         'isa-debug-exit', '-qtest', 'unix:' + path,
                         '-qtest-log', 'none') as p:
                conn = s.accept()[0]
                conn.sendall(b'outb 0x501 %d\n' % value)
                ends[value] = p.wait()
                conn.close()
    check(ends == {v: (v << 1 | 1) & 0xff for v in ends}, ends)
    return 'odd'


def early_signal(binary, folder):
    """While start-up waits for a client."""
    sock = os.path.join(folder, 'q')
    proc = subprocess.Popen([binary, *NONE, '-qmp',
                             'unix:%s,server=on,wait=on' % sock],
                            stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + SECONDS
        while not os.path.exists(sock):
            check(time.monotonic() < deadline, 'no socket')
            time.sleep(0.01)
        time.sleep(0.05)
        proc.terminate()
        end = proc.wait(SECONDS)
    finally:
        if proc.poll() is None:
            proc.kill()
    check(end == -signal.SIGTERM, end)
    return 'signal'


# How each row begins.
ROWS = {
    '``quit``': by_quit,
    'SIGTERM, SIGINT or SIGHUP': by_signal,
    'the guest switched itself off': switched_off,
    'the guest reset itself': reset,
    '``-help``': helps,
    '``-daemonize``: the command, when the machine in the background can be':
        daemon,
    'an option is wrong': wrong_option,
    '``-daemonize``: the command, when the machine in the background could':
        daemon_fails,
    'an incoming migration failed': incoming_fails,
    '``isa-debug-exit``': exit_device,
    'a signal came before': early_signal,
}


def table_of(path):
    """[(status, text)]"""
    with open(path, encoding='utf-8') as f:
        section = re.search(r'^Exit status\n=+\n.*?^=+  =+\n.*?^=+  =+\n'
                            r'(.*?)^=+  =+\n', f.read(), re.M | re.S).group(1)
    return re.findall(r'^(\w+) +(\S.*(?:\n {8}.*)*)', section, re.M)


def main():
    binary, docs = sys.argv[1:]
    rows = table_of(docs)
    failed = False
    print('1..%d' % (len(rows) + 1))
    tested = set()
    for n, (status, text) in enumerate(rows, 1):
        found = [k for k in ROWS if text.startswith(k)]
        name = '/exit/%s %s' % (status, text.split('\n')[0])
        try:
            check(len(found) == 1, 'what brings this about?')
            tested.add(found[0])
            with tempfile.TemporaryDirectory(prefix='test-exit-') as folder:
                end = ROWS[found[0]](binary, folder)
            check(str(end) == status, 'the status was %s' % end)
            print('ok %d %s' % (n, name), flush=True)
        except Skip as e:
            print('ok %d %s # SKIP %s' % (n, name, e), flush=True)
        except (AssertionError, OSError, subprocess.SubprocessError) as e:
            failed = True
            print('# %s\nnot ok %d %s' % (e, n, name), flush=True)
    left = set(ROWS) - tested
    print('# not in the table: %s\n%sok %d /exit/every-row' % (
        sorted(left), 'not ' if left else '', len(rows) + 1))
    return failed or bool(left)


if __name__ == '__main__':
    sys.exit(main())
