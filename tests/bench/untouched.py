#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What it costs to migrate memory that was never written.

usage: untouched.py BINARY [--peer QEMU] [--runs N] [--sizes 64G,1T]

Machines without a guest, over a unix socket: time from the command to the end
by the source's own clock, bytes sent, and how much either process grew. Rows
for each kind of memory, with our own kind as target, and without a return path,
where never written pages go as zero records; with --peer the same with QEMU as
source and target, if the size is one that it ends in time with. Median of the
runs, and their spread.
"""
import argparse
import os
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'qmp'))
from qmp_client import Machine  # noqa: E402

BACKINGS = {
    'anonymous': 'memory-backend-ram,id=m,reserve=off',
    'memfd': 'memory-backend-memfd,id=m,reserve=off',
    'file': 'memory-backend-file,id=m,share=on,mem-path={dir}/{side}.ram',
}


def rss(vm):
    with open(f'/proc/{vm.proc.pid}/status', encoding='ascii') as f:
        for line in f:
            if line.startswith('VmRSS'):
                return int(line.split()[1]) * 1024
    raise ValueError('no VmRSS')


class Pair:
    """A source and a target that waits."""

    def __init__(self, binary, size, backing, folder, way_back):
        self.uri = f'unix:{folder}/sock'
        self.vms = []
        for side in ('dst', 'src'):
            memory = BACKINGS[backing].format(dir=folder, side=side)
            args = ['-accel', 'qtest', '-M', 'none,memory-backend=m', '-m', size, '-object',
                    f'{memory},size={size}']
            if side == 'dst':
                args += ['-incoming', 'defer']
            vm = Machine(binary, *args)
            vm.cmd('migrate-set-capabilities', capabilities=[
                {'capability': 'return-path', 'state': way_back}])
            self.vms.append(vm)
        self.dst, self.src = self.vms

    def migrate(self):
        before = [rss(vm) for vm in (self.src, self.dst)]
        self.dst.cmd('migrate-incoming', uri=self.uri)
        self.src.cmd('migrate-set-parameters', **{'max-bandwidth': 0})
        self.src.cmd('migrate', uri=self.uri)
        for vm in (self.src, self.dst):
            while True:
                info = vm.cmd('query-migrate')
                if info.get('status') == 'completed':
                    break
                if info.get('status') in ('failed', 'cancelled'):
                    raise ValueError(f'migration ended so: {info}')
                time.sleep(0.005)
            if vm is self.src:
                told = info
        grew = [rss(vm) - old for vm, old in
                zip((self.src, self.dst), before)]
        return {
            'ms': told['total-time'],
            'sent': told['ram']['transferred'],
            'pages': told['ram']['normal'] + told['ram']['duplicate'],
            'src': grew[0], 'dst': grew[1],
        }

    def end(self):
        for vm in self.vms:
            vm.__exit__()


def measure(binary, size, backing, way_back):
    with tempfile.TemporaryDirectory(prefix='untouched-') as folder:
        pair = Pair(binary, size, backing, folder, way_back)
        try:
            return pair.migrate()
        finally:
            pair.end()


def row(name, results):
    ms = [r['ms'] for r in results]
    last = results[-1]
    print(f'{name:<44} {statistics.median(ms):>8.0f} {min(ms):>7}-{max(ms):<7}'
          f' {last["pages"]:>10} {last["sent"] / 2**20:>10.2f}'
          f' {last["src"] / 2**20:>8.1f} {last["dst"] / 2**20:>8.1f}',
          flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('binary')
    p.add_argument('--peer')
    p.add_argument('--runs', type=int, default=7)
    p.add_argument('--sizes', default='64G,1T')
    p.add_argument('--records', default='16G',
                   help='size of the rows with zero records, and of the peer')
    o = p.parse_args()
    print(f'{"":<44} {"ms":>8} {"spread":^15} {"records":>10} {"sent, MiB":>10}'
          f' {"src, MiB":>8} {"dst, MiB":>8}')
    rows = [(o.binary, size, backing, True) for backing in BACKINGS
            for size in o.sizes.split(',')]
    rows.append((o.binary, o.records, 'memfd', False))
    if o.peer:
        rows.append((o.peer, o.records, 'memfd', True))
    for binary, size, backing, way_back in rows:
        name = f'{size} {backing}' + ('' if way_back else ', zero records')
        if binary == o.peer:
            name += ', QEMU'
        row(name, [measure(binary, size, backing, way_back)
                   for _ in range(o.runs)])


if __name__ == '__main__':
    main()
