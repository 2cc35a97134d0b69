#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test-monitors.py BINARY: every way to make a monitor, used from outside.

Unix and TCP, server and client, inherited sockets, objects, pipes on standard
input, a terminal shared by serial port and monitor, descriptors that come
along. Speaks TAP, one case per way.
"""

import array
import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time

BINARY = sys.argv[1]
COMMON = ['-M', 'none', '-accel', 'qtest', '-display', 'none']
TIMEOUT = 20


def check(condition, text):
    if not condition:
        raise AssertionError(text)


class Child:
    """Runs BINARY ARGS; ends it at the end, and looks at its exit status."""

    def __init__(self, *args, common=COMMON, **kw):
        kw.setdefault('stdin', subprocess.DEVNULL)
        self.proc = subprocess.Popen([BINARY, *common, *args], **kw)

    def __enter__(self):
        return self

    def __exit__(self, kind, *exc):
        if self.proc.poll() is None:
            self.proc.send_signal(signal.SIGTERM)
        status = self.proc.wait(TIMEOUT)
        check(kind or status == 0, f'exit status {status}')


class Peer:
    """A QMP or HMP connection on a socket."""

    def __init__(self, sock):
        sock.settimeout(TIMEOUT)
        self.sock = sock
        self.buf = b''

    def line(self):
        while b'\n' not in self.buf:
            self.fill()
        line, self.buf = self.buf.split(b'\n', 1)
        return line

    def fill(self):
        data = self.sock.recv(65536)
        if not data:
            raise EOFError(self.buf)
        self.buf += data

    def until(self, text):
        while text not in self.buf:
            self.fill()
        got, self.buf = self.buf.split(text, 1)
        return got

    def reply(self):
        while True:
            value = json.loads(self.line())
            if 'event' not in value:
                return value

    def cmd(self, name, fds=(), **args):
        data = json.dumps({'execute': name, 'arguments': args}).encode()
        anc = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))]
        self.sock.sendmsg([data], anc if fds else [])
        return self.reply()

    def hello(self, *capabilities):
        greeting = json.loads(self.line())
        check('QMP' in greeting, greeting)
        check(self.cmd('qmp_capabilities', enable=capabilities)
              == {'return': {}}, 'negotiation')
        return self


def connect(address):
    """To a path or to (host, port), as soon as someone listens there."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    end = time.monotonic() + TIMEOUT
    while True:
        sock = socket.socket(family)
        try:
            sock.connect(address)
            return Peer(sock)
        except OSError:
            sock.close()
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


def listening(path):
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(path)
    sock.listen(1)
    sock.settimeout(TIMEOUT)
    return sock


def status_of(peer):
    return peer.cmd('query-status')['return']['status']


def qmp_unix_server(tmp):
    path = tmp + '/q'
    with Child('-qmp', f'unix:{path},server=on,wait=off'):
        for _ in range(3):  # a new greeting for each client
            peer = connect(path).hello()
            check(status_of(peer) == 'running', 'status')
            peer.sock.close()
    check(not os.path.exists(path), 'the socket is left behind')


def qmp_unix_client(tmp):
    server = listening(tmp + '/q')
    with Child('-S', '-qmp', f'unix:{tmp}/q'):
        peer = Peer(server.accept()[0]).hello()
        check(status_of(peer) == 'prelaunch', 'status')
    server.close()


def qmp_tcp_server_waits(tmp):
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        port = probe.getsockname()[1]
    with Child('-qmp', f'tcp:127.0.0.1:{port},server=on',
               '-monitor', f'unix:{tmp}/m,server=on,wait=off',
               stderr=subprocess.DEVNULL):
        time.sleep(0.1)
        check(not os.path.exists(tmp + '/m'), 'it did not wait')
        peer = connect(('127.0.0.1', port)).hello()
        check(status_of(peer) == 'running', 'status')
        connect(tmp + '/m').until(b'(qemu) ')


def chardev_and_mon(tmp):
    path = tmp + '/q'
    with Child('-chardev', f'socket,path={path},id=char0,server=on,wait=off',
               '-mon', 'chardev=char0,mode=control,pretty=on'):
        peer = connect(path)
        peer.until(b'{\r\n    "QMP": {\r\n')
        # A greeting may come while it starts, when SIGTERM ends it at once.
        for command in b'qmp_capabilities', b'query-status':
            peer.sock.sendall(b'{"execute": "%s"}' % command)
            peer.until(b'\r\n    "return": {')


def inherited_listener(tmp):
    server = listening(tmp + '/q')
    with Child('-chardev', f'socket,id=c,fd={server.fileno()},server=on,'
               'wait=off', '-mon', 'chardev=c,mode=control',
               pass_fds=[server.fileno()]):
        server.close()
        connect(tmp + '/q').hello().sock.close()
        connect(tmp + '/q').hello().sock.close()


def objects(tmp):
    with Child('-chardev', f'socket,id=a,path={tmp}/a,server=on,wait=off',
               '-chardev', f'socket,id=b,path={tmp}/b,server=on,wait=off',
               '-object', 'monitor-qmp,id=ma,chardev=a',
               '-object', '{"qom-type":"monitor-hmp","id":"mb",'
               '"chardev":"b"}'):
        qmp, hmp = connect(tmp + '/a').hello(), connect(tmp + '/b')
        hmp.until(b'(qemu) ')
        check('error' in qmp.cmd('chardev-remove', id='b'), 'b is in use')
        check(qmp.cmd('object-del', id='mb') == {'return': {}}, 'object-del')
        check(qmp.cmd('chardev-remove', id='b') == {'return': {}}, 'remove')
        check('error' in qmp.cmd('object-del', id='ma'),
              'a monitor cannot delete itself')
        add = {'type': 'socket', 'data': {
            'addr': {'type': 'unix', 'data': {'path': tmp + '/c'}},
            'server': True, 'wait': False}}
        check(qmp.cmd('chardev-add', id='c', backend=add) == {'return': {}},
              'chardev-add')
        check(qmp.cmd('object-add', **{'qom-type': 'monitor-qmp', 'id': 'mc',
                                       'chardev': 'c'}) == {'return': {}},
              'object-add')
        check(status_of(connect(tmp + '/c').hello()) == 'running', 'status')


def many_monitors_hear_events(tmp):
    args = []
    for i in range(6):
        args += ['-qmp', f'unix:{tmp}/{i},server=on,wait=off']
    with Child(*args):
        peers = [connect(f'{tmp}/{i}').hello() for i in range(6)]
        check(peers[0].cmd('stop') == {'return': {}}, 'stop')
        for peer in peers[1:]:
            check(json.loads(peer.line())['event'] == 'STOP', 'event')


def quit_is_answered(tmp):
    with Child('-qmp', f'unix:{tmp}/q,server=on,wait=off') as child:
        peer = connect(tmp + '/q').hello()
        check(peer.cmd('quit') == {'return': {}}, 'quit')
        event = json.loads(peer.line())
        check(event['event'] == 'SHUTDOWN', event)
        check(event['data'] == {'guest': False, 'reason': 'host-qmp-quit'},
              event)
        check(child.proc.wait(TIMEOUT) == 0, 'exit status')


def commands_on_standard_input(tmp):
    ask = ''.join(json.dumps({'execute': c}) for c in
                  ('qmp_capabilities', 'query-status', 'query-version'))
    with Child('-qmp', 'stdio', stdin=subprocess.PIPE,
               stdout=subprocess.PIPE, text=True) as child:
        child.proc.stdin.write(ask)
        child.proc.stdin.close()
        lines = [json.loads(child.proc.stdout.readline()) for _ in range(4)]
    child.proc.stdout.close()
    check(lines[2]['return']['status'] == 'running', lines)
    check(lines[3]['return']['qemu']['major'] >= 11, lines)


def hmp_on_a_socket(tmp):
    with Child('-monitor', f'unix:{tmp}/m,server,nowait') as child:
        hmp = connect(tmp + '/m')
        hmp.until(b'(qemu) ')
        hmp.sock.sendall(b'info status\n')
        check(b'VM status: running' in hmp.until(b'(qemu) '), 'info status')
        hmp.sock.sendall(b'frob\n')
        check(b"unknown command: 'frob'" in hmp.until(b'(qemu) '), 'unknown')
        hmp.sock.sendall(b'quit\n')
        check(child.proc.wait(TIMEOUT) == 0, 'exit status')


def read_until(fd, text):
    got = b''
    end = time.monotonic() + TIMEOUT
    while text not in got:
        ready, _, _ = select.select([fd], [], [], max(0, end - time.monotonic()))
        if not ready:
            raise AssertionError(f'{text} did not come: {got}')
        got += os.read(fd, 4096)
    return got


def mux_on_a_terminal(tmp):
    master, slave = pty.openpty()
    with Child('-chardev', 'stdio,mux=on,id=c', '-mon', 'chardev=c',
               stdin=slave, stdout=slave, stderr=slave) as child:
        read_until(master, b'(qemu) ')
        os.write(master, b'info status\r')
        read_until(master, b'VM status: running')
        os.write(master, b'\x01h')
        read_until(master, b'C-a x')
        os.write(master, b'\x01x')
        check(child.proc.wait(TIMEOUT) == 0, 'exit status')
    os.close(slave)
    os.close(master)


def getfd_with_the_command(tmp):
    with Child('-qmp', f'unix:{tmp}/q,server=on,wait=off'):
        peer = connect(tmp + '/q').hello()
        r, w = os.pipe()
        check(peer.cmd('getfd', [w], fdname='out') == {'return': {}}, 'getfd')
        os.close(w)
        check(not select.select([r], [], [], 0.1)[0], 'it is held open')
        check(peer.cmd('closefd', fdname='out') == {'return': {}}, 'closefd')
        check(os.read(r, 1) == b'', 'it is closed')
        check('error' in peer.cmd('closefd', fdname='out'), 'twice')
        check('error' in peer.cmd('getfd', fdname='out'), 'without one')
        info = peer.cmd('add-fd', [r], opaque='mine')['return']
        check(info['fdset-id'] == 0, info)
        check(peer.cmd('query-fdsets')['return'] == [
            {'fdset-id': 0, 'fds': [{'fd': info['fd'], 'opaque': 'mine'}]}],
            'query-fdsets')
        check(peer.cmd('remove-fd', **{'fdset-id': 0}) == {'return': {}}, '')
        os.close(r)


def garbage_and_half_requests(tmp):
    with Child('-qmp', f'unix:{tmp}/q,server=on,wait=off'):
        for data in (b'\x16\x03\x01\x02\x00', b'GET / HTTP/1.0\r\n\r\n',
                     b'[' * 5000, b'{"execute": "quit', b'\0' * 1000):
            peer = connect(tmp + '/q')
            peer.sock.sendall(data)
            peer.sock.close()
        peer = connect(tmp + '/q').hello()
        peer.sock.sendall(b'{"execute": }\xff')
        check('error' in peer.reply(), 'garbage is an error')
        check(status_of(peer) == 'running', 'status')


def refused(tmp):
    for args, words in (
            (['-mon', 'chardev=nobody'], 'nobody'),
            (['-monitor', 'vc'], 'vc'),
            (['-qmp', 'telnet:localhost:1,server'], 'telnet'),
            (['-qmp', f'unix:{tmp}/none'], tmp),
            (['-chardev', 'null,id=a', '-chardev', 'null,id=a'], "'a'"),
            (['-chardev', 'socket,id=a,path=/x,bogus=1'], 'bogus'),
            (['-chardev', 'null,id=a', '-mon', 'a', '-mon', 'a'], 'use')):
        proc = subprocess.run([BINARY, *COMMON, *args], text=True,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT,
                              capture_output=True, check=False)
        check(proc.returncode == 1, f'{args}: exit {proc.returncode}')
        check(words in proc.stderr, f'{args}: {proc.stderr}')


CASES = [qmp_unix_server, qmp_unix_client, qmp_tcp_server_waits,
         chardev_and_mon, inherited_listener, objects,
         many_monitors_hear_events, quit_is_answered,
         commands_on_standard_input, hmp_on_a_socket, mux_on_a_terminal,
         getfd_with_the_command, garbage_and_half_requests, refused]


def main():
    print(f'1..{len(CASES)}', flush=True)
    bad = 0
    for n, case in enumerate(CASES, 1):
        name = case.__name__.replace('_', ' ')
        try:
            with tempfile.TemporaryDirectory() as tmp:
                case(tmp)
            print(f'ok {n} - {name}', flush=True)
        except Exception as e:  # a case must not stop the others
            bad = 1
            print(f'not ok {n} - {name}\n# {type(e).__name__}: {e}',
                  flush=True)
    return bad


if __name__ == '__main__':
    sys.exit(main())
