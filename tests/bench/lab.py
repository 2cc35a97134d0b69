# SPDX-License-Identifier: GPL-2.0-or-later
"""Virtual machines with the workload guest, seen and steered from outside.

Lab      temporary folders, and the machines that live in them
Vm       one process: QMP over its standard streams, its guest's memory mapped
         here, so that the control pages (tests/guest/ctl.h) can be read while
         it runs
Watch    a thread that looks at the operation counters of a source and its
         target, and knows from them when the guest stood still
migrate  one migration, from the command to its end
Journey  a guest that is migrated again and again
Kind     one of those that are compared: a binary and its settings

Used by: scripts/demo and the benchmarks beside this file.
"""
import json
import mmap
import os
import shutil
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'qmp'))
from qmp_client import Machine, QmpError  # noqa: E402

PAGE = 4096
CTL_OFFSET, CTL_SIZE = 0x100000, 0x1000
F = {name: i for i, name in enumerate(
    ['magic', 'ops', 'writes', 'ticks', 'state', 'errors', 'max_gap',
     'current', 'ticks_hz', 'base', 'pages', 'bytes', 'rate', 'pattern',
     'stride', 'write_pct', 'seq', 'passes'])}
RUNNING = 2


class LabError(Exception):
    """What a benchmark can't go on from; its text is for the user."""


class NotHere(LabError):
    """This host can't do it at all."""


class Arch:
    """What machines with a guest have in common, and where RAM begins."""

    def __init__(self, name, machine, ram_base, guest, args, peer_args):
        self.name, self.machine, self.ram_base = name, machine, ram_base
        self.guest, self.args, self.peer_args = guest, args, peer_args
        self.peer = os.environ.get('PEER_QEMU_' + name.upper())


ARCHS = {
    'aarch64': ('virt', 0x40000000, 'workload-aarch64.bin',
                ['-cpu', 'cortex-a57'], []),
    # Its usual firmware takes seconds; this one boots the guest at once.
    'x86_64': ('q35', 0, 'x86_64/workload-x86_64.elf', [],
               ['-bios', 'qboot.rom']),
}


class RemoteWords:
    """64-bit words of another process's anonymous mapping of @size bytes."""

    def __init__(self, pid, size):
        self.fd = os.open('/proc/%d/mem' % pid, os.O_RDWR)
        with open('/proc/%d/maps' % pid) as f:
            found = [r for r in (line.split() for line in f)
                     if len(r) == 5 and self.size_of(r[0]) == size]
        if len(found) != 1:
            raise LabError('which mapping is the RAM of %d?' % pid)
        self.base = int(found[0][0].split('-')[0], 16)

    @staticmethod
    def size_of(area):
        begin, end = area.split('-')
        return int(end, 16) - int(begin, 16)

    def __getitem__(self, i):
        return int.from_bytes(os.pread(self.fd, 8, self.base + 8 * i),
                              'little')

    def __setitem__(self, i, value):
        os.pwrite(self.fd, value.to_bytes(8, 'little'), self.base + 8 * i)


class Vm(Machine):
    """A machine whose RAM is a shared file, so that it can be seen here; or
    of its own, where tracking must see all who write (pagemap)."""

    def __init__(self, lab, name, binary, *more, machine=None, ram_mib=256,
                 cpus=1, accel=None, prealloc=False):
        arch, accel = lab.arch, accel or lab.accel
        machine = machine or arch.machine
        self.name, self.cpus, self.ram_mib = name, cpus, ram_mib
        self.ram_base, self.log = arch.ram_base, None
        private = 'dirty-tracking=pagemap' in accel
        self.ram_path = os.path.join(lab.ram_folder, name + '.ram')
        if not private:
            with open(self.ram_path, 'w+b') as f:
                f.truncate(ram_mib << 20)
                self.ram = memoryview(mmap.mmap(f.fileno(), ram_mib << 20))
            self.words = self.ram.cast('Q')
        self.waits, self.waited, self.known = [], 0, None
        args = ['-name', name + ',debug-threads=on',
                '-M', machine + ',memory-backend=ram',
                '-accel', accel, '-m', '%dM' % ram_mib, '-object',
                'memory-backend-ram,id=ram,size=%dM' % ram_mib if private else
                'memory-backend-file,id=ram,size=%dM,share=on,mem-path=%s'
                % (ram_mib, self.ram_path) + (',prealloc=on' if prealloc
                                              else ''), '-nodefaults']
        if machine != 'none':
            args += arch.args + ['-smp', str(cpus), '-serial', 'file:' +
                                 os.path.join(lab.folder, name + '.serial')]
            if binary == arch.peer:
                args += arch.peer_args
        if binary == arch.peer and 'dirty-ring-size' in accel:
            self.log = os.path.join(lab.folder, name + '.log')
            args += ['-trace', 'kvm_dirty_ring_full', '-D', self.log]
        try:
            super().__init__(binary, *args, *more)
        except (OSError, EOFError, ValueError) as e:
            raise LabError('%s (%s) did not start: %s' % (name, binary, e))
        if private:
            self.words = RemoteWords(self.proc.pid, ram_mib << 20)

    def set_migration(self, capabilities=(), **parameters):
        """Capabilities to switch on, parameters with _ for -."""
        caps = set(capabilities) | {'events', 'return-path'}
        self.cmd('migrate-set-capabilities', capabilities=[
            {'capability': c, 'state': True} for c in sorted(caps)])
        if parameters:
            self.cmd('migrate-set-parameters', **{
                k.replace('_', '-'): v for k, v in parameters.items()})

    def hmp(self, line):
        return self.cmd('human-monitor-command',
                        **{'command-line': line}).replace('\r', '')

    def _at(self, cpu, field):
        return (CTL_OFFSET + cpu * CTL_SIZE) // 8 + F[field]

    def ctl(self, cpu, field):
        return self.words[self._at(cpu, field)]

    def ops(self):
        return sum(self.ctl(cpu, 'ops') for cpu in range(self.cpus))

    def set_ctl(self, **fields):
        """Change what the guest does; @rate is that of all its vCPUs."""
        active = [c for c in range(self.cpus)
                  if self.ctl(c, 'state') == RUNNING]
        for cpu in active:
            for field, value in fields.items():
                if field == 'rate':
                    value //= len(active)
                self.words[self._at(cpu, field)] = value
            self.words[self._at(cpu, 'seq')] += 1

    def wait_for_guest(self, cpus=None, seconds=60):
        deadline = time.monotonic() + seconds
        while any(self.ctl(c, 'state') != RUNNING
                  for c in range(cpus or self.cpus)):
            if time.monotonic() > deadline:
                raise LabError('the guest of %s did not come up' % self.name)
            time.sleep(0.02)

    def wait_for_running(self, seconds=10):
        deadline = time.monotonic() + seconds
        while self.cmd('query-status')['status'] != 'running':
            if time.monotonic() > deadline:
                raise LabError('%s does not run' % self.name)
            time.sleep(0.002)

    def rate(self, seconds):
        """Operations per second over the next @seconds."""
        begin, ops = time.monotonic(), self.ops()
        time.sleep(seconds)
        return (self.ops() - ops) / (time.monotonic() - begin)

    def cpu_seconds(self):
        with open('/proc/%d/stat' % self.proc.pid) as f:
            fields = f.read().rsplit(') ', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    def thread_seconds(self, part):
        """CPU seconds of the threads with @part in their names."""
        total, folder = 0, '/proc/%d/task' % self.proc.pid
        for tid in os.listdir(folder):
            try:
                with open(os.path.join(folder, tid, 'comm')) as f:
                    if part not in f.read():
                        continue
                with open(os.path.join(folder, tid, 'schedstat')) as f:
                    total += int(f.read().split()[0]) / 1e9
            except (FileNotFoundError, ProcessLookupError):
                pass
        return total

    def ring_work(self):
        """What its dirty rings cost so far: how often a vCPU left the guest
        for a full one, and seconds that went into emptying them: of the
        peer's thread for that, ours says it itself (its thread is gone by
        now)."""
        full, reaper = None, self.thread_seconds('reaper')
        if self.log:
            try:
                with open(self.log) as f:
                    full = sum('kvm_dirty_ring_full' in line for line in f)
            except FileNotFoundError:
                full = 0
        elif 'query-dirty-tracking' in self.commands():
            rings = self.cmd('query-dirty-tracking').get('rings')
            if rings:
                full = rings['soft-full'] + rings['hard-full']
                reaper = rings['reap-time'] / 1e9
        return {'full_exits': full, 'reaper_s': reaper}

    def commands(self):
        if not self.known:
            self.known = {c['name'] for c in self.cmd('query-commands')}
        return self.known

    def open_waits(self):
        """From now on vcpu_wait() knows how long vCPUs waited for a CPU."""
        self.waits = [os.open('/proc/%d/task/%d/schedstat' % (
            self.proc.pid, cpu['thread-id']), os.O_RDONLY)
            for cpu in self.cmd('query-cpus-fast')]

    def vcpu_wait(self):
        """Seconds that its vCPUs' threads were ready to run, but the host's
        CPUs were busy with others; the mean of all vCPUs."""
        try:
            waited = sum(int(os.pread(fd, 80, 0).split()[1])
                         for fd in self.waits)
            self.waited = waited / 1e9 / max(1, len(self.waits))
        except ProcessLookupError:  # a target of what was cancelled is gone
            pass
        return self.waited

    def close(self):
        for fd in self.waits:
            os.close(fd)
        self.waits = []
        if isinstance(self.words, RemoteWords):
            os.close(self.words.fd)
            self.words = None
        if self.proc.poll() is None:
            try:
                self.send_text(json.dumps({'execute': 'quit'}) + '\n')
                self.proc.wait(5)
            except Exception:  # it hangs, or is just going away
                self.proc.kill()
                self.proc.wait()
        for stream in (self.proc.stdin, self.proc.stdout):
            try:
                stream.close()
            except OSError:
                pass
        if os.path.exists(self.ram_path):
            os.unlink(self.ram_path)


class Lab:
    """A context manager; everything in it is gone at the end."""

    def __init__(self, build, arch='aarch64', accel='tcg', tracking=None):
        self.build = os.path.abspath(build)
        self.arch = Arch(arch, *ARCHS[arch])
        self.accel, self.tracking = accel, tracking
        self.ours = os.path.join(self.build, 'qemu-system-' + arch)
        self.kernel = os.path.join(self.build, 'tests/guest', self.arch.guest)
        self.vms, self.count = [], 0
        if accel == 'kvm' and not os.access('/dev/kvm', os.R_OK | os.W_OK):
            raise NotHere('there is no /dev/kvm for us')

    def __enter__(self):
        shm = os.path.isdir('/dev/shm') and os.access('/dev/shm', os.W_OK)
        self.folder = tempfile.mkdtemp(prefix='ferry-lab.')
        self.ram_folder = tempfile.mkdtemp(
            prefix='ferry-lab.', dir='/dev/shm' if shm else self.folder)
        return self

    def __exit__(self, *exc):
        for vm in self.vms:
            vm.close()
        shutil.rmtree(self.ram_folder, ignore_errors=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, binary, *more, name=None, **options):
        self.count += 1
        vm = Vm(self, name or 'vm%d' % self.count, binary, *more, **options)
        self.vms.append(vm)
        return vm

    def start_guest(self, binary, workload, *more, **options):
        """A running workload guest; @workload is its command line."""
        if not os.path.exists(self.kernel):
            raise LabError('%s is not built: is there a cross compiler?'
                           % self.kernel)
        return self.start(binary, '-kernel', self.kernel, '-append', workload,
                          *more, **options)

    def start_target(self, binary, *more, **options):
        return self.start(binary, '-incoming', 'defer', *more, **options)

    def stop(self, *vms):
        for vm in vms:
            vm.close()
            self.vms.remove(vm)

    def uri(self):
        self.count += 1
        return 'unix:' + os.path.join(self.folder, 'm%d' % self.count)


class Watch(threading.Thread):
    """Samples (time, operations, time waited) every @period seconds, of the
    guest wherever it runs: a target knows no more than its source did until
    it runs. Time waited: see vcpu_wait()."""

    def __init__(self, source, target, period=0.001):
        super().__init__(daemon=True)
        self.source, self.target, self.period = source, target, period
        self.done = threading.Event()
        self.samples = []
        for vm in source, target:
            if not vm.waits:
                vm.open_waits()
        self.last_on_source = self.first_on_target = None

    def run(self):
        try:  # samples come late otherwise; which is no error, but blurred
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        except OSError:
            pass
        at_source = self.source.ops()
        due = time.monotonic()
        while not self.done.is_set():
            now = time.monotonic()
            if self.first_on_target is None:
                ops, there = self.source.ops(), self.target.ops()
                if ops != at_source:
                    at_source, self.last_on_source = ops, now
                elif there > at_source:
                    self.first_on_target, ops = now, there
            else:
                ops = self.target.ops()
            self.samples.append((now, ops, self.source.vcpu_wait() +
                                 self.target.vcpu_wait()))
            due = max(due + self.period, now)
            time.sleep(max(0, due - time.monotonic()))

    def wait_for_target(self, seconds=10):
        deadline = time.monotonic() + seconds
        while self.first_on_target is None:
            if time.monotonic() > deadline:
                raise LabError('the guest does not run on the target')
            time.sleep(0.005)

    def finish(self):
        self.done.set()
        self.join()

    def blackout_ms(self):
        if self.first_on_target is None:
            return None
        return (self.first_on_target - self.last_on_source) * 1000


def migrate(source, target, uri, seconds, poll=0.02, progress=None):
    """Returns what query-migrate said at the end. A migration that takes
    longer than @seconds is cancelled; then its status says so."""
    target.cmd('migrate-incoming', uri=uri)
    begin = time.monotonic()
    source.cmd('migrate', uri=uri)
    cancelled = False
    while True:
        time.sleep(poll)
        info = source.cmd('query-migrate')
        if progress:
            progress(info)
        if info['status'] in ('completed', 'failed', 'cancelled'):
            break
        passed = time.monotonic() - begin
        if passed > seconds and not cancelled:
            source.cmd('migrate_cancel')
            cancelled = True
        elif passed > seconds + 20:
            raise LabError('the migration can not be cancelled')
    if info['status'] == 'failed':
        raise LabError('the migration failed: %s' % info.get('error-desc', ''))
    if info['status'] == 'completed':
        target.wait_for_running()
    return info


class Journey:
    """A guest that goes from process to process."""

    def __init__(self, lab, kind, workload, guest_cpus=None, **options):
        self.lab, self.kind = lab, kind
        self.options = dict(options, accel=kind.accel)
        self.vm = lab.start_guest(kind.binary, workload, *kind.more,
                                  **self.options)
        self.vm.wait_for_guest(guest_cpus)

    def move(self, seconds, capabilities=(), **parameters):
        """Returns (what query-migrate said, the Watch). A guest whose
        migration did not end within @seconds stays where it is."""
        target = self.lab.start_target(self.kind.binary, *self.kind.more,
                                       **self.options)
        target.set_migration()
        self.vm.set_migration(capabilities, **parameters)
        watch = Watch(self.vm, target)
        watch.start()
        try:
            info = migrate(self.vm, target, self.lab.uri(), seconds)
            if info['status'] == 'completed':
                watch.wait_for_target()
        finally:
            watch.finish()
        here = info['status'] == 'completed'
        self.lab.stop(self.vm if here else target)
        self.vm = target if here else self.vm
        return info, watch


def check_stamps(vm):
    """What ctl.h says a host can check; the guest is stopped. Returns the
    number of writes, and a list of faults."""
    faults = []
    written = 0
    for cpu in range(vm.cpus):
        base, pages = vm.ctl(cpu, 'base'), vm.ctl(cpu, 'pages')
        current, total = vm.ctl(cpu, 'current'), 0
        for p in range(pages):
            addr = base + p * PAGE
            i = (addr - vm.ram_base) // 8
            n = vm.words[i]
            total += n
            if vm.words[i + 1] != (n ^ addr ^ 0xffffffffffffffff) and \
                    addr != current:
                faults.append('page %#x is torn' % addr)
        writes = vm.ctl(cpu, 'writes')
        if total not in (writes, writes + 1):
            faults.append('vCPU %d wrote %d pages, their stamps say %d'
                          % (cpu, writes, total))
        if vm.ctl(cpu, 'errors'):
            faults.append('vCPU %d itself found %d torn pages'
                          % (cpu, vm.ctl(cpu, 'errors')))
        written += writes
    return written, faults


class Kind:
    """One of those compared: a binary, an accelerator with its settings, the
    name of the one that it is compared with (None: the first), and more
    arguments."""

    def __init__(self, name, binary, accel='tcg', rival=None, more=()):
        self.name, self.binary, self.accel = name, binary, accel
        self.rival, self.more = rival, more


def engines_of(lab):
    """Dirty trackers that our binary has, as Kinds. One without the choice
    has the bitmap only."""
    vm = lab.start(lab.ours, ram_mib=64)
    try:
        engines = vm.cmd('query-dirty-tracking')['engines']
    except QmpError:
        return [Kind('bitmap', lab.ours, lab.accel)]
    finally:
        lab.stop(vm)
    return [Kind(e['name'], lab.ours,
                 '%s,dirty-tracking=%s' % (lab.accel, e['name']))
            for e in engines if e['available'] and e['name'] != 'auto']


def tracks_with(lab, accel, engine):
    """Whether our binary with @accel starts here, and tracks by @engine."""
    try:
        vm = lab.start(lab.ours, ram_mib=64, accel=accel)
        found = vm.cmd('query-dirty-tracking')['engine']
        lab.stop(vm)
    except LabError:
        return False
    return found == engine


def tracked(lab):
    """Ours and the peer for each name of --tracking, side by side: bitmap,
    ringN (rings of N entries), or what else our binary has."""
    found = []
    for name in lab.tracking:
        ring = name[4:] if name.startswith('ring') else None
        engine = 'ring' if ring else name
        accel = '%s,dirty-tracking=%s' % (lab.accel, engine)
        accel += ',dirty-ring-size=' + ring if ring else ''
        if tracks_with(lab, accel, engine):
            found.append(Kind(
                'ours ' + name, lab.ours, accel,
                'peer ' + ('bitmap' if name == 'pagemap' else name)))
        else:
            print('left out: our binary has no %s here' % name)
        if lab.arch.peer and (name == 'bitmap' or ring):
            found.append(Kind(
                'peer ' + name, lab.arch.peer, lab.accel +
                (',dirty-ring-size=' + ring if ring else '')))
    return found


def kinds(lab, wanted=None):
    """All there is to compare: our engines and, if PEER_QEMU_AARCH64 (or
    _X86_64) names its binary, another QEMU. @wanted: a list of names, or None
    for all. A name may be followed by settings of -accel:
    ring/dirty-ring-size=4096. With --tracking: what that says."""
    if lab.tracking:
        found = tracked(lab)
        if not found:
            raise LabError('nothing of %s is there' % ', '.join(lab.tracking))
        return found
    there = engines_of(lab)
    if lab.arch.peer:
        there.append(Kind('peer', lab.arch.peer, lab.accel))
    if not wanted:
        return there
    found = []
    for name in wanted:
        base, _, more = name.partition('/')
        match = [k for k in there if k.name == base]
        if not match:
            print('left out: %s is not there' % name)
            continue
        k = match[0]
        found.append(Kind(name, k.binary,
                          k.accel + (',' + more if more else '')))
    if not found:
        raise LabError('nothing of %s is there' % ', '.join(wanted))
    return found


def rival_of(kind, all_kinds):
    """Whom @kind is compared with; None: with nobody."""
    if kind.rival or any(k.rival for k in all_kinds):
        return next((k for k in all_kinds if k.name == kind.rival), None)
    return all_kinds[0] if kind is not all_kinds[0] else None
