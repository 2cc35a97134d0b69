#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""make-seeds.py QEMU FOLDER: write the seeds that are made, not found.

Streams come from the binary itself, migrated to a file; the payloads of its
devices are cut out of them with the help of the description at the end.
"""
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time


def save(folder, target, name, data):
    os.makedirs(os.path.join(folder, target), exist_ok=True)
    with open(os.path.join(folder, target, name), 'wb') as f:
        f.write(data)


def record(qemu, args, caps=()):
    with tempfile.TemporaryDirectory() as tmp:
        path, out = tmp + '/qmp', tmp + '/stream'
        p = subprocess.Popen([qemu, *args.split(), '-nodefaults', '-S', '-qmp',
                              'unix:%s,server=on,wait=off' % path])
        while not os.path.exists(path):
            time.sleep(.01)
        s = socket.socket(socket.AF_UNIX)
        s.connect(path)
        f = s.makefile('rw')

        def cmd(name, **arguments):
            f.write(json.dumps({'execute': name, 'arguments': arguments}))
            f.flush()
            while True:
                r = json.loads(f.readline())
                if 'return' in r or 'error' in r:
                    return r
        f.readline()
        cmd('qmp_capabilities')
        if caps:
            cmd('migrate-set-capabilities', capabilities=[
                {'capability': c, 'state': True} for c in caps])
        cmd('migrate', uri='file:' + out)
        while cmd('query-migrate')['return']['status'] not in ('completed',
                                                              'failed'):
            time.sleep(.01)
        cmd('quit')
        p.wait()
        with open(out, 'rb') as stream:
            return stream.read()


def devices(stream):
    """(idstr, version, payload) of the FULL sections of @stream."""
    at = stream.rindex(b'{"configuration"')
    desc = json.loads(stream[at:stream.rindex(b'}') + 1])
    for d in desc['devices']:
        head = struct.pack('>B', len(d['name'])) + d['name'].encode() + \
            struct.pack('>II', d['instance_id'], d['version'])
        begin = stream.index(head) + len(head)
        size = stream.index(b'\x7e' + stream[begin - len(head) - 4:
                                             begin - len(head)], begin) - begin
        yield d['name'], d['version'], stream[begin:begin + size]


def main(qemu, folder):
    save(folder, 'stream', 'none', record(qemu, '-M none -m 1M'))
    virt = '-M virt,gic-version=3 -accel qtest -m 2M -smp 2'
    stream = record(qemu, virt)
    for i, (name, _, payload) in enumerate(devices(stream)):
        save(folder, 'vmstate', '%02d-%s' % (i, name.replace('/', '-')),
             bytes([i, 0]) + payload)
    uris = ['tcp:127.0.0.1:4444', 'tcp:[::1]:0,to=99,ipv4=off,ipv6=on',
            'tcp:h:1,keep-alive=on', 'unix:/tmp/x', 'fd:7', 'fd:name',
            'exec:cat > /tmp/x', 'file:/tmp/x,offset=0x1000', 'file:,offset=1',
            'tcp::0', 'tcp:[::', 'defer', '']
    for i, u in enumerate(uris):
        save(folder, 'uri', '%02d' % i, u.encode())
    save(folder, 'a64', 'mix', bytes.fromhex(
        '1f2003d5000080d2e00313aa0000009421000014c0035fd6e00741ad'
        '20fc5fc820fc00c8a3d0387f4000221e0040201e9f3f03d5003000d5'))
    lines = ['x', '-M', 'virt,gic-version=3,dumpdtb=x', '-accel',
             'tcg,thread=single', '-smp', '4,sockets=2,cores=2', '-m',
             '16M,slots=2,maxmem=1G', '-object',
             '{"qom-type":"memory-backend-ram","id":"m","size":1048576}',
             '-object', 'memory-backend-file,id=a,,b,size=1M,mem-path=/x',
             '-incoming', '{"channel-type":"main","addr":{"transport":"exec",'
             '"args":["a","b"]}}', '-incoming',
             'main,addr.transport=socket,addr.type=inet,addr.host=h,addr.port='
             '1,addr.keep-alive=on', '-chardev', 'socket,id=c,path=/x', '-d',
             'int,exec', '-global', 'migration.x-ignore-shared=on', '-uuid',
             '11111111-2222-3333-4444-555555555555', '-cpu', 'cortex-a57']
    save(folder, 'cmdline', 'all', '\n'.join(lines).encode())
    for i, words in enumerate((['x', '-help'], ['x', '-M', 'help'],
                               ['x', '-m', '1.5G'], ['x', '-d', '?'],
                               ['a.0.b=1,a.1.b=2,c=,,'])):
        save(folder, 'cmdline', '%02d' % i, '\n'.join(words).encode())
    qtest = ['read 0x40000000 16', 'write 0x40000000 4 0x01020304',
             'b64write 0x40000000 3 AAAA', 'b64read 0x40000000 3',
             'memset 0x40000000 64 0xff', 'writel 0x9000000 1',
             'readl 0x8000004', 'writel 0x80a0000 0xff', 'clock_step 1000',
             'clock_set 99', 'irq_intercept_in /machine/x', 'endianness',
             'set_irq_in /machine/unattached/device[0] x 0 1', 'outb 1 2',
             'inl 1', 'readq 0x9000fe0', 'writeq 0x8000000 0x1122334455667788']
    save(folder, 'qtest', 'all', '\n'.join(qtest).encode())
    for i, q in enumerate(qtest):
        save(folder, 'qtest', '%02d' % i, q.encode())
    qmp = ["{'execute':'query-status','id':[1,{}]}",
           "{'execute':'migrate-set-parameters','arguments':"
           "{'max-bandwidth':1,'downtime-limit':3}}",
           "{'execute':'qom-list','arguments':{'path':'/machine'}}",
           "{'execute':'qom-get','arguments':{'path':'/machine','property':"
           "'type'}}", "{'execute':'query-migrate'}",
           "{'execute':'qom-set','arguments':{'path':'/machine','property':"
           "'a','value':null}}",
           "{'execute':'migrate','arguments':{'channels':[{'channel-type':"
           "'main','addr':{'transport':'socket','type':'inet','host':'h',"
           "'port':'1'}}]}}",
           "{'execute':'object-add','arguments':{'qom-type':"
           "'memory-backend-memfd','id':'x','size':4096,'share':true}}",
           "{'execute':'migrate-set-capabilities','arguments':{'capabilities':"
           "[{'capability':'events','state':true}]}}",
           "{'execute':'device-list-properties','arguments':{'typename':"
           "'cortex-a57-arm-cpu'}}",
           "{'execute':'set-vcpu-dirty-limit','arguments':{'dirty-rate':1}}",
           '{"exec-oob":"migrate-recover","id":"\\ud83d\\ude00"}',
           '[1e400,-0.0,18446744073709551615]\xff{}']
    for i, q in enumerate(qmp):
        save(folder, 'qmp', '%02d' % i, q.encode('latin-1'))


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2])
