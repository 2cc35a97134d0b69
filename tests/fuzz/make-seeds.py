#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""make-seeds.py BUILD FOLDER: write the seeds that are made, not found.

Streams come from the binary itself, migrated to a file; the payloads of its
devices are cut out of them with the help of the description at the end.
"""
import gzip
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
    """(idstr, instance, payload) of the FULL sections of @stream."""
    at = stream.rindex(b'{"configuration"')
    desc = json.loads(stream[at:stream.rindex(b'}') + 1])
    for d in desc['devices']:
        head = struct.pack('>B', len(d['name'])) + d['name'].encode() + \
            struct.pack('>II', d['instance_id'], d['version'])
        begin = stream.index(head) + len(head)
        size = stream.index(b'\x7e' + stream[begin - len(head) - 4:
                                             begin - len(head)], begin) - begin
        yield d['name'], d['instance_id'], stream[begin:begin + size]


def number_of(name, instance):
    """The byte that chooses a section: as in fuzz-vmstate.c."""
    h = 5381 + instance
    for c in name.encode():
        h = (h * 33 + c) & 0xffffffff
    return (h ^ h >> 8 ^ h >> 16 ^ h >> 24) & 0xff


def save_devices(folder, target, stream):
    for name, instance, payload in devices(stream):
        save(folder, target, '%s-%d' % (name.replace('/', '-'), instance),
             bytes([number_of(name, instance), 0]) + payload)


def command(number, payload=b''):
    return struct.pack('>BHH', 8, number, len(payload)) + payload


def with_way_back(stream):
    """What a source of our kind says, put into @stream: see own-kind.h."""
    ping = [command(2, struct.pack('>I', v)) for v in
            (0x46659201, 0x46659202, 0x46659203, 0x46659204, 0x46659300,
             0x46659400)]
    start = stream.index(b'\x01\0\0\0')
    end = stream.index(b'\x03\0\0\0', start)
    return stream[:start] + command(1) + b''.join(ping[:3]) + \
        stream[start:end] + b''.join(ping[3:]) + command(11) + stream[end:]


def elf(machine, segments, entry, notes=b''):
    """@segments: (physical address, bytes, size in memory)."""
    n, body, heads = len(segments) + bool(notes), b'', b''
    at = 64 + 56 * n
    for kind, paddr, data, size in [(1, *s) for s in segments] + (
            [(4, 0, notes, len(notes))] if notes else []):
        heads += struct.pack('<IIQQQQQQ', kind, 7, at + len(body), paddr,
                             paddr, len(data), size, 4)
        body += data
    return b'\177ELF\2\1\1' + bytes(9) + struct.pack(
        '<HHIQQQIHHHHHH', 2, machine, 1, entry, 64, 0, 0, 64, 56, n, 64, 0,
        0) + heads + body


def boot(kernel, initrd=None):
    flag = 0 if initrd is None else 0x8000 | len(initrd)
    return struct.pack('>H', flag) + kernel + (initrd or b'')


def arm_kernels():
    text = b'\x1f\x20\x03\xd5' * 20
    image = struct.pack('<IIQQQQQQ', 0x14000010, 0, 0x80000, 0x10000, 2, 0, 0,
                        0)[:56] + b'ARM\x64' + bytes(4) + text
    yield 'raw', boot(text, b'initrd')
    yield 'image', boot(image)
    yield 'image-gz', boot(gzip.compress(image, mtime=0), b'initrd')
    yield 'elf', boot(elf(183, [(0x40080000, text, 0x1000),
                                (0x40090000, b'data', 4)], 0x40080000))


def x86_kernels():
    text = b'\xf4' * 64
    note = struct.pack('<III', 4, 4, 18) + b'Xen\0' + struct.pack('<I',
                                                                 0x100010)
    setup = bytearray(1024)
    setup[0x1f1] = 1
    setup[0x1fe:0x202] = b'\x55\xaa\xeb\x62'
    struct.pack_into('<4sH', setup, 0x202, b'HdrS', 0x20f)
    setup[0x211] = 1
    struct.pack_into('<I', setup, 0x22c, 0x7fffffff)
    struct.pack_into('<IBBHI', setup, 0x230, 0x1000, 1, 12, 1, 2047)
    struct.pack_into('<QI', setup, 0x258, 0x100000, 0x4000)
    linux = bytes(setup) + text * 20
    segment = [(0x100000, text, 0x2000)]
    yield 'elf', boot(elf(62, segment, 0x100000))
    yield 'pvh', boot(elf(62, segment, 0x100000, note), b'initrd')
    yield 'linux', boot(linux, b'initrd')
    yield 'linux-gz', boot(gzip.compress(linux, mtime=0))


def tree(qemu):
    with tempfile.TemporaryDirectory() as tmp:
        subprocess.run([qemu, '-M', 'virt,dumpdtb=%s/dtb' % tmp], check=True)
        with open(tmp + '/dtb', 'rb') as f:
            return f.read()


def main(build, folder):
    qemu, pc = build + '/qemu-system-aarch64', build + '/qemu-system-x86_64'
    none = record(qemu, '-M none -m 1M')
    save(folder, 'stream', 'none', none)
    save(folder, 'stream', 'own-kind', with_way_back(none))
    for gic in ('2', '3'):
        save_devices(folder, 'vmstate', record(
            qemu, '-M virt,gic-version=%s -accel qtest -m 2M -smp 2' % gic))
    kvm = os.access('/dev/kvm', os.R_OK | os.W_OK)
    for machine in ('q35', 'pc'):
        save_devices(folder, 'vmstate-x86', record(
            pc, '-M %s -accel %s -m 2M -smp 2' % (machine,
                                                  'kvm' if kvm else 'qtest')))
    for name, data in arm_kernels():
        save(folder, 'boot-arm', name, data)
    for name, data in x86_kernels():
        save(folder, 'boot-x86', name, data)
    save(folder, 'dtb', 'virt', tree(qemu))
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
                               ['a.0.b=1,a.1.b=2,c=,,'],
                               ['x', '-sandbox', 'on,obsolete=allow,spawn=deny,'
                                'elevateprivileges=children', '-run-with',
                                'user=0:4294967295,chroot=/x,'
                                'async-teardown=on'])):
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
    pc_io = ['outb 0x70 0x8b', 'inb 0x71', 'outb 0x3f8 0x41', 'inb 0x3fd',
             'outl 0xcf8 0x80000090', 'outb 0xcfd 0x33', 'outw 0x604 0x2001',
             'inl 0x608', 'outb 0xb2 0xf1', 'outb 0x92 2', 'outb 0xcf9 6',
             'outb 0xf4 0', 'clock_step 1000000', 'readl 0xfec00000']
    save(folder, 'qtest-x86', 'all', '\n'.join(pc_io).encode())
    for i, q in enumerate(pc_io):
        save(folder, 'qtest-x86', '%02d' % i, q.encode())
    hmp = ['help', 'info status', 'info qtree', 'info mtree -f', 'x /4xb 0x10',
           'xp/2i 0x40000000', 'info migrate_parameters', 'info registers -a',
           'migrate_set_parameter max-bandwidth 1.5G', 'migrate -d -r "tc\\np"',
           'migrate_set_capability events on', 'p (1+2)*~3', 'qom-list /machine',
           'object_add memory-backend-ram,id=x,size=4k', 'memsave 0 1 "x',
           'qom-set -j / a {', 'trace-event * off', 'set_vcpu_dirty_limit 1 0',
           'inf\tmig\t\x1b[A\x1b[D\x1b[3~\x01\x04\x05\x17\x15\x10\x0e']
    for i, q in enumerate(hmp):
        save(folder, 'hmp', '%02d' % i, q.encode())
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
           '[1e400,-0.0,18446744073709551615]\xff{}',
           "{'execute':'device_add','arguments':{'driver':'ide-hd',"
           "'id':'d','drive':'x'}}",
           "{'execute':'trace-event-set-state','arguments':{'name':'vm_*',"
           "'enable':true,'ignore-unavailable':true}}"]
    for i, q in enumerate(qmp):
        save(folder, 'qmp', '%02d' % i, q.encode('latin-1'))


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2])
