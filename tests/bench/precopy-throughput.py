#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""precopy-throughput: how fast memory with random content moves.

A machine `none` whose memory, a shared file, is filled with random bytes from
outside is migrated over a unix socket without a bandwidth limit. Beside it, in
the same run: the same bytes written to a socket from a mapping of such a file,
and read from it straight into a fresh file of the same kind, with chunks of
1 MiB and nothing else done. All take turns.

A host that is a virtual machine itself may have given its free memory back, and
wait for each page anew. So before each run as much as it will need is touched
and set free again (not with --cold).

PEER_QEMU_AARCH64 (or _X86_64) names the binary of another QEMU, to be
compared with.
"""
import mmap
import os
import resource
import socket
import statistics
import time

import lab as lab_module
import report
import svg

CHUNK = 1 << 20
RAW = 'raw copy'


def options():
    p = report.parser(__doc__)
    p.add_argument('--runs', type=int, default=3, help='of each (3)')
    p.add_argument('--size', type=int, default=1024, help='MiB (1024)')
    p.add_argument('--cold', action='store_true',
                   help='take free memory as it is found')
    p.add_argument('--mapped', action='store_true',
                   help="the source's memory is mapped in its process, as "
                   'what a guest has written is (prealloc)')
    p.add_argument('--engines', type=report.names, default=['bitmap', 'peer'],
                   help='as those of lost-computation (bitmap,peer)')
    p.add_argument('--cap', type=float, default=60,
                   help='seconds after which a migration is cancelled (60)')
    return p.parse_args()


def fill(memory, noise):
    for at in range(0, len(memory), len(noise)):
        n = min(len(noise), len(memory) - at)
        memory[at:at + n] = noise[:n]


def mapped(path, size):
    with open(path, 'w+b') as f:
        f.truncate(size)
        return memoryview(mmap.mmap(f.fileno(), size))


def warm(size):
    """Let the kernel have @size bytes that are free, but there."""
    with mmap.mmap(-1, size) as memory:
        for at in range(0, size, mmap.PAGESIZE):
            memory[at] = 1


def receive(sock, memory):
    at = 0
    while at < len(memory):
        n = sock.recv_into(memory[at:at + CHUNK])
        if not n:
            os._exit(1)
        at += n


def raw_copy(lab, noise, size, o):
    """Seconds, and CPU seconds of both ends."""
    paths = [os.path.join(lab.ram_folder, n) for n in ('raw-from', 'raw-to')]
    source, target = (mapped(p, size) for p in paths)
    fill(source, noise)
    if not o.cold:
        warm(size)
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    before = [resource.getrusage(w) for w in (resource.RUSAGE_SELF,
                                              resource.RUSAGE_CHILDREN)]
    begin = time.monotonic()
    child = os.fork()
    if child == 0:
        ours.close()
        receive(theirs, target)
        os._exit(0)
    theirs.close()
    for at in range(0, size, CHUNK):
        ours.sendall(source[at:at + CHUNK])
    status = os.waitpid(child, 0)[1]
    seconds = time.monotonic() - begin
    after = [resource.getrusage(w) for w in (resource.RUSAGE_SELF,
                                             resource.RUSAGE_CHILDREN)]
    ours.close()
    if status or target[:4096] != source[:4096] or \
            target[-4096:] != source[-4096:]:
        raise lab_module.LabError('the raw copy went wrong')
    for p in paths:
        os.unlink(p)
    return {'seconds': seconds, 'sent': size, 'cpu_s': sum(
        a.ru_utime + a.ru_stime - b.ru_utime - b.ru_stime
        for a, b in zip(after, before))}


def migration(lab, kind, noise, o):
    size = {'machine': 'none', 'ram_mib': o.size, 'accel': kind.accel}
    source = lab.start(kind.binary, prealloc=o.mapped, **size)
    fill(source.ram, noise)
    target = lab.start_target(kind.binary, **size)
    source.set_migration(max_bandwidth=1 << 40, downtime_limit=300)
    target.set_migration()
    if not o.cold:
        warm(o.size << 20)
    before = source.cpu_seconds() + target.cpu_seconds()
    begin = time.monotonic()
    info = lab_module.migrate(source, target, lab.uri(), o.cap, 0.005)
    seconds = time.monotonic() - begin
    if info['status'] != 'completed':
        raise lab_module.LabError('%s: %s' % (kind.name, info['status']))
    cpu = source.cpu_seconds() + target.cpu_seconds() - before
    step = (o.size << 20) // 64
    if any(source.ram[at:at + 4096] != target.ram[at:at + 4096]
           for at in range(0, o.size << 20, step)):
        raise lab_module.LabError('%s: memory differs' % kind.name)
    lab.stop(source, target)
    return {'seconds': seconds, 'cpu_s': cpu, 'total_s': info['total-time']
            / 1000, 'sent': info['ram']['transferred']}


def main():
    o = options()
    out = report.Report('precopy-throughput', o)
    noise = os.urandom((16 << 20) + 4096)
    size = o.size << 20
    runs = {}
    with report.lab(o) as lab:
        who = [None] + [k for k in lab_module.kinds(lab, o.engines)
                        if 'pagemap' not in k.accel]  # not of a file
        for i in out.in_time(range(o.runs)):
            for kind in who[i % len(who):] + who[:i % len(who)]:
                run = migration(lab, kind, noise, o) if kind else \
                    raw_copy(lab, noise, size, o)
                name = kind.name if kind else RAW
                out.run(kind=name, **run)
                runs.setdefault(name, []).append(run)
                out.note('%d: %-10s %.2f s, %.2f of CPU' % (
                    i + 1, name, run['seconds'], run['cpu_s']))
    gib = o.size / 1024
    out.say('%g GiB of random content over a unix socket, shared file to '
            'fresh shared file; median (least-largest) of %d' % (gib, o.runs))
    out.table(['', 'seconds', 'MB/s', '/ raw copy', 'CPU s / GiB',
               'sent / RAM'], [
        [name, report.summary([r['seconds'] for r in rs]),
         '%.0f' % (size / 1e6 / statistics.median(
             r['seconds'] for r in rs)),
         report.summary([r['seconds'] / raw['seconds']
                         for r, raw in zip(rs, runs[RAW])]),
         report.summary([r['cpu_s'] / gib for r in rs]),
         '%.4f' % (statistics.median(r['sent'] for r in rs) / size)]
        for name, rs in sorted(runs.items(), key=lambda x: x[0] != RAW)])
    for kind in who[1:]:
        rival = kind.rival or 'peer'
        if kind.name != rival and rival in runs:
            out.say('%s / %s = %s' % (kind.name, rival, report.summary(
                [a['seconds'] / b['seconds'] for a, b in
                 zip(runs[kind.name], runs[rival])])))
    svg.intervals(out.path('.svg'), 'Precopy of %g GiB' % gib, 'seconds',
                  [(n, [r['seconds'] for r in rs]) for n, rs in runs.items()])
    out.write()


if __name__ == '__main__':
    report.main(main)
