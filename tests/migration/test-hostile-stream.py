#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test-hostile-stream.py QEMU GUESTS CASE...: real streams, bent.

CASE is "none", "virt" or "q35". The stream of a guest that was stopped at its
work is taken apart with the help of the description at its end, and given to
targets, a new one each, with something wrong at every section and every field:
flipped, cut, grown, repeated, exchanged. A target may take a value that can be;
whatever it refuses, it says where (byte, section, field and its offset) and
what it found and expected. It lives on, answers, and has not grown; a good
stream in between is taken, and the source moves to a new target at the end.
Speaks TAP, a case for each kind of harm.
"""
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time

PATIENCE = 60
GROWTH_KIB = 16 << 10
MACHINES = {
    'none': ('-M none -m 1M', None, ''),
    'virt': ('-M virt,gic-version=3 -accel tcg -m 4M',
             'page-counter-aarch64.bin', 'start=2 ws=1'),
    'q35': ('-M q35 -accel kvm -m 4M', 'x86_64/page-counter-x86_64.elf',
            'start=2 ws=1'),
}

START, PART, END, FULL, SUBSECTION, FOOTER = 1, 2, 3, 4, 5, 0x7e
EOF, DESCRIPTION, CONFIGURATION, COMMAND = 0, 6, 7, 8


class Process:
    """A binary and its monitor."""

    def __init__(self, qemu, args):
        ours, theirs = socket.socketpair()
        self.err = tempfile.TemporaryFile('w+', errors='replace')
        self.p = subprocess.Popen(
            [qemu, '-display', 'none', '-nodefaults', *args, '-chardev',
             'socket,id=q,fd=%d' % theirs.fileno(), '-mon',
             'q,mode=control'], stdin=subprocess.DEVNULL, stderr=self.err,
            pass_fds=[theirs.fileno()])
        theirs.close()
        ours.settimeout(PATIENCE)
        self.f = ours.makefile('rw')
        ours.close()

    def begin(self):
        line = self.f.readline()
        assert line, 'it did not start: ' + self.said()
        self.cmd('qmp_capabilities')
        return self

    def cmd(self, name, **args):
        self.f.write(json.dumps({'execute': name, 'arguments': args}) + '\n')
        self.f.flush()
        while True:
            line = self.f.readline()
            assert line, 'the monitor is gone: ' + self.said()
            reply = json.loads(line)
            assert 'error' not in reply, reply
            if 'return' in reply:
                return reply['return']

    def wait_end(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            info = self.cmd('query-migrate')
            if info.get('status') in ('completed', 'failed'):
                return info
            time.sleep(.002)
        raise AssertionError('it does not end: %s' % info)

    def peak_kib(self):
        with open('/proc/%d/status' % self.p.pid) as f:
            return int(re.search(r'VmHWM:\s+(\d+)', f.read()).group(1))

    def said(self):
        self.err.seek(0)
        return self.err.read()

    def end(self):
        """Its status is 0, whatever it was given."""
        self.cmd('quit')
        status = self.p.wait(PATIENCE)
        assert status == 0, 'status %d: %s' % (status, self.said())
        self.f.close()
        self.err.close()


# ------------------------------------------------------ taking it apart

class Field:
    def __init__(self, name, at, size, kind):
        self.name, self.at, self.size, self.kind = name, at, size, kind


class Section:
    """[at, end) with its footer; payload [begin, stop)."""

    def __init__(self, name, instance, at, begin, stop, end):
        self.name, self.instance, self.at = name, instance, at
        self.begin, self.stop, self.end = begin, stop, end
        self.fields = []


def be(data, at, size):
    return int.from_bytes(data[at:at + size], 'big')


def description(data):
    at = data.rindex(b'{"configuration"')
    return json.loads(data[at:data.rindex(b'}') + 1])


def lay_out(fields, at, out):
    """Leaves of what a description says, from offset @at on; the end."""
    for f in fields:
        for _ in range(f.get('array_len', 1)):
            if 'struct' in f:
                end = lay_table(f['struct'], at, out)
                assert end == at + f['size'], f['name']
            elif f['size']:
                out.append(Field(f['name'], at, f['size'], f['type']))
            at += f['size']
    return at


def lay_table(table, at, out):
    at = lay_out(table['fields'], at, out)
    for sub in table.get('subsections', []):
        # Mark, length, name, version.
        at = lay_table(sub, at + 2 + len(sub['vmsd_name']) + 4, out)
    return at


def ram_end(data, at, page):
    """Behind the payload of one section of RAM; and its records."""
    records = []
    while True:
        head = be(data, at, 8)
        flags, value, begin = head & (page - 1), head & -page, at
        at += 8
        if flags == 0x04:
            while value:
                n = data[at]
                value -= be(data, at + 1 + n, 8)
                at += 1 + n + 8
        elif flags & 0x0a:
            if not flags & 0x20:
                at += 1 + data[at]
            at += page if flags & 0x08 else 1
        records.append(Field('record', begin, at - begin, 'ram'))
        if flags == 0x10:
            return at, records


def parse(data):
    """Sections of a stream, in order."""
    desc, sections, known = description(data), [], {}
    devices = {(d['name'], d['instance_id']): d for d in desc['devices']}
    at = 8
    assert data[at] == CONFIGURATION
    fields = []
    at = lay_table(desc['configuration'], at + 1, fields)
    sections.append(Section('configuration', 0, 8, 9, at, at))
    sections[0].fields = fields
    while data[at] != EOF:
        begin = at
        if data[at] == COMMAND:
            at += 5 + be(data, at + 3, 2)
            continue
        ident = be(data, at + 1, 4)
        at += 5
        if data[begin] in (START, FULL):
            n = data[at]
            known[ident] = (data[at + 1:at + 1 + n].decode(),
                            be(data, at + 1 + n, 4))
            at += 1 + n + 8
        payload, fields = at, []
        if known[ident][0] == 'ram':
            at, fields = ram_end(data, at, desc['page_size'])
        else:
            at = lay_table(devices[known[ident]], at, fields)
        assert data[at] == FOOTER and be(data, at + 1, 4) == ident
        at += 5
        sections.append(Section(*known[ident], begin, payload, at - 5, at))
        sections[-1].fields = fields
    return sections, at


# --------------------------------------------------------------- the harm

class Bend:
    """@data with something wrong from @at on, in @section and @field."""

    def __init__(self, what, data, at, section, field=None, may_pass=False,
                 words=None, warns=None):
        self.what, self.data, self.at = what, data, at
        self.section, self.field = section, field
        self.may_pass, self.words, self.warns = may_pass, words, warns

    def __str__(self):
        return '%s at byte %d, %s%s' % (
            self.what, self.at, self.section.name,
            '.' + self.field.name if self.field else '')


def flipped(data, at, mask):
    return data[:at] + bytes([data[at] ^ mask]) + data[at + 1:]


def few(fields):
    """Of many alike that follow each other, first and last."""
    out = []
    for i, f in enumerate(fields):
        if 0 < i < len(fields) - 1 and \
                fields[i - 1].name == f.name == fields[i + 1].name:
            continue
        out.append(f)
    if len(out) > 300:
        out = out[::len(out) // 300 + 1]
    return out


def bend_heads(data, sections):
    """What stands around a payload."""
    for s in sections[1:]:
        yield Bend('type', flipped(data, s.at, 0x40), s.at, s,
                   words=r'unknown section type 0x4[1-4], expected a section')
        if data[s.at] in (START, FULL):
            name, inst = s.at + 6, s.at + 6 + len(s.name)
            yield Bend('id', flipped(data, s.at + 4, 0x80), s.at + 1, s,
                       words=r"footer .* expected 0x7e \d+")
            yield Bend('name', flipped(data, name, 0x01), name, s,
                       words=r'no device here has this section')
            yield Bend('instance', flipped(data, inst, 0x80), inst, s,
                       words=r'instance 214748364\d .*no device here')
            yield Bend('version', flipped(data, inst + 4, 0x40), inst + 4, s,
                       words=r'version 1073\d+, at most \d+ is known here')
        else:
            yield Bend('id', flipped(data, s.at + 4, 0x80), s.at + 1, s,
                       words=r'part of section \d+, which was not begun')
        yield Bend('footer', flipped(data, s.stop, 0x01), s.stop, s,
                   words=r'footer 0x7f .* expected 0x7e')
        yield Bend('footer id', flipped(data, s.end - 1, 0x80), s.stop, s,
                   words=r'footer 0x7e .* expected 0x7e')


def bend_order(data, sections):
    """Whole sections."""
    for i, s in enumerate(sections):
        part = data[s.at:s.end]
        yield Bend('repeat', data[:s.end] + part + data[s.end:], s.end, s,
                   may_pass=data[s.at] in (PART, FULL))
        # What was a device's is missed; a part of memory is the source's matter.
        yield Bend('leave out', data[:s.at] + data[s.end:], s.at, s,
                   may_pass=data[s.at] in (PART, FULL), warns=data[s.at] ==
                   FULL and "ends without section '%s'" % s.name)
        yield Bend('cut', data[:s.at], s.at, s)
        if i + 1 < len(sections) and sections[i + 1].at == s.end:
            t = sections[i + 1]
            yield Bend('exchange', data[:s.at] + data[t.at:t.end] + part +
                       data[t.end:], s.at, s, may_pass=data[t.at] == FULL)


def bend_flips(data, sections):
    for s in sections:
        for f in few(s.fields):
            for at, mask in ((f.at, 0x80), (f.at + f.size - 1, 0xff)):
                yield Bend('flip 0x%02x' % mask, flipped(data, at, mask), at,
                           s, f, may_pass=True)


def bend_cuts(data, sections):
    for s in sections:
        for f in few(s.fields):
            yield Bend('cut', data[:f.at + f.size // 2], f.at, s, f,
                       words=r'ended at offset %d, where \d+ more' %
                       (f.at + f.size // 2))


def bend_sizes(data, sections):
    """One kind a field, in turns."""
    turn = 0
    for s in sections:
        for f in few(s.fields):
            own = data[f.at:f.at + f.size]
            # A record of RAM may come twice, and pages that stay away are
            # a matter of the source.
            ram = f.kind == 'ram' and own[7] != 0x10
            leave = ram and own[7] != 0x04
            yield (
                Bend('grow', data[:f.at] + b'\xff' + data[f.at:], f.at, s),
                Bend('repeat', data[:f.at] + own + data[f.at:], f.at, s,
                     may_pass=ram),
                Bend('leave out', data[:f.at] + data[f.at + f.size:], f.at, s,
                     may_pass=leave))[turn % 3]
            turn += 1


def bend_exchanges(data, sections):
    for s in sections:
        for f, g in zip(s.fields, s.fields[1:]):
            a, b = data[f.at:f.at + f.size], data[g.at:g.at + g.size]
            if f.name != g.name and a != b and g.at == f.at + f.size:
                yield Bend('exchange', data[:f.at] + b + a +
                           data[g.at + g.size:], f.at, s, may_pass=True)


HARM = {
    'heads and footers': bend_heads,
    'whole sections': bend_order,
    'fields flipped': bend_flips,
    'fields cut': bend_cuts,
    'fields grown, repeated, left out': bend_sizes,
    'fields exchanged': bend_exchanges,
}

# ------------------------------------------------------------- the target

EXPECTATION = re.compile(
    r'expected|must|known here|not known|at most|here it|here has|begun|unknown'
    r'|no such|there is no|this is a|this machine of|the guest uses|as senders of|ended at|ends at|not a |more than|refuse|a second '
    r'time|does not|older than|newer than|memory was not complete|Invalid')


def check_words(bend, text):
    """The error says where, what was found, and what is right."""
    m = re.match(r'at byte (\d+) of the stream: (.*)', text, re.S)
    if not m:
        # Everything was read, but the kernel does not take it.
        assert re.match(r'behind the end of the stream: .*0x[0-9a-f]+.*vCPU '
                        r'\d+|behind.* vCPU \d+.*0x', text), \
            'it does not say where'
        return
    byte, rest = int(m.group(1)), m.group(2)
    assert bend.at <= byte <= len(bend.data), 'a wrong place'
    assert re.search(r"'[^']+'|section|stream|configuration", rest), 'no name'
    assert EXPECTATION.search(rest), 'no expectation'
    if bend.words:
        assert re.search(bend.words, rest, re.S), 'not what is wrong'
    if bend.field or bend.words and bend.at >= bend.section.begin:
        name = bend.section.name
        assert "'%s'" % name in rest or name == 'configuration' and \
            name in rest, 'not the section'
    if bend.field and bend.what == 'cut' and bend.field.kind != 'ram' and \
            bend.section.name != 'configuration':
        # The description numbers fields of one name, the error does not.
        assert bend.field.name.split('[')[0] in rest, 'not the field'
        assert 'at offset %d ' % bend.field.at in rest, 'not its offset'


class Targets:
    """A new target for each stream; the next one starts meanwhile."""

    def __init__(self, qemu, args, folder):
        self.qemu, self.args = qemu, args.split() + ['-S', '-incoming',
                                                     'defer']
        self.path = folder + '/bent'
        self.next = self.start()
        self.peak = None

    def start(self):
        return Process(self.qemu, self.args)

    def feed(self, data):
        """The outcome as query-migrate tells it."""
        target, self.next = self.next.begin(), self.start()
        with open(self.path, 'wb') as f:
            f.write(data)
        target.cmd('migrate-incoming', uri='file:' + self.path,
                   **{'exit-on-error': False})
        info = target.wait_end()
        assert target.cmd('query-status')['status'] in (
            'inmigrate', 'paused', 'prelaunch'), 'the guest runs'
        assert target.cmd('query-name') == {}
        peak = target.peak_kib()
        if self.peak is None:
            self.peak = peak
        if not sanitized():
            assert peak <= self.peak + GROWTH_KIB, \
                'it grew from %d to %d KiB' % (self.peak, peak)
        if info['status'] == 'failed':
            assert 'load of migration failed: at byte' in target.said() or \
                info['error-desc'] in target.said(), 'stderr is silent'
        info['said'] = target.said()
        target.end()
        return info

    def close(self):
        self.next.begin().end()


def sanitized():
    return 'SANITIZED' in os.environ


def run_harm(targets, good, bends):
    """How many were fed, and what went wrong."""
    count, wrong, taken = 0, [], 0
    for bend in bends:
        count += 1
        info = {}
        try:
            info = targets.feed(bend.data)
            if info['status'] == 'completed':
                taken += 1
                assert bend.may_pass, 'it was taken'
                assert not bend.warns or bend.warns in info['said'], \
                    'no warning'
            else:
                check_words(bend, info['error-desc'])
                if os.environ.get('HOSTILE_VERBOSE'):
                    print('# %s: %s' % (bend, info['error-desc']))
        except AssertionError as e:
            wrong.append('%s: %s: %s' % (bend, e, info.get('error-desc')))
    assert targets.feed(good)['status'] == 'completed'
    return count, taken, wrong


# ------------------------------------------------------------ a live source

def bent_on_the_way(source, targets, bends, folder):
    """A relay that bends what a source sends; the source tells it, and stays."""
    for bend in bends:
        path = folder + '/live'
        target, targets.next = targets.next.begin(), targets.start()
        for s in (source, target):
            s.cmd('migrate-set-capabilities', capabilities=[
                {'capability': 'return-path', 'state': True}])
        target.cmd('migrate-incoming', uri='unix:%s.dst' % path,
                   **{'exit-on-error': False})
        with socket.socket(socket.AF_UNIX) as at, \
                socket.socket(socket.AF_UNIX) as to:
            at.bind(path)
            at.listen(1)
            source.cmd('migrate', uri='unix:' + path)
            conn = at.accept()[0]
            to.connect(path + '.dst')
            relay(conn, to, bend)
        os.unlink(path)
        mine, theirs = source.wait_end(), target.wait_end()
        assert theirs['status'] == 'failed' == mine['status'], (mine, theirs)
        assert re.match('at byte', theirs['error-desc']), theirs
        assert mine['error-desc'], mine
        assert source.cmd('query-status')['status'] in ('paused', 'prelaunch')
        target.end()


def relay(conn, to, at):
    """Everything in both directions, but byte @at, which is turned over."""
    import select
    sent, open_ends = 0, [conn, to]
    while open_ends:
        for s in select.select(open_ends, [], [], PATIENCE)[0]:
            try:
                data = s.recv(65536)
                if s is conn and sent <= at < sent + len(data):
                    data = flipped(data, at - sent, 0x40)
                sent += len(data) if s is conn else 0
                (to if s is conn else conn).sendall(data)
            except OSError:
                data = b''
            if not data:
                open_ends.remove(s)
                for end in (conn, to):
                    try:
                        end.shutdown(socket.SHUT_RDWR)
                    except OSError:
                        pass
    conn.close()


def move(source, targets, folder):
    target, targets.next = targets.next.begin(), targets.start()
    for s in (source, target):
        s.cmd('migrate-set-capabilities', capabilities=[
            {'capability': 'return-path', 'state': True}])
    target.cmd('migrate-incoming', uri='unix:%s/good' % folder)
    source.cmd('migrate', uri='unix:%s/good' % folder)
    assert source.wait_end()['status'] == 'completed'
    assert target.wait_end()['status'] == 'completed'
    target.end()


# -------------------------------------------------------------------- main

def guest_args(guests, case):
    args, image, line = MACHINES[case]
    args = args.split()
    if image:
        path = os.path.join(guests, image)
        if not os.path.exists(path):
            return None
        args += ['-kernel', path, '-append', line]
    return args


def why_not(guests, case):
    if case == 'q35' and not os.access('/dev/kvm', os.R_OK | os.W_OK):
        return 'no permission for /dev/kvm, or there is none'
    if not guest_args(guests, case):
        return 'needs the guests of tests/guest'
    return None


def start_source(qemu, guests, case):
    source = Process(qemu, guest_args(guests, case) + ['-S']).begin()
    if MACHINES[case][1]:
        source.cmd('cont')
        time.sleep(.1)
        source.cmd('stop')
    return source


class Tap:
    def __init__(self):
        self.n, self.failed = 0, 0

    def case(self, name, wrong, note=''):
        self.n += 1
        self.failed += bool(wrong)
        for w in wrong:
            print('# ' + w.replace('\n', '\n# '))
        print('%sok %d - %s%s' % ('not ' if wrong else '', self.n, name, note),
              flush=True)


def run_case(tap, qemu, guests, case):
    why = why_not(guests, case)
    if why:
        tap.case(case, [], ' # SKIP ' + why)
        return
    with tempfile.TemporaryDirectory() as folder:
        source = start_source(qemu, guests, case)
        source.cmd('migrate', uri='file:%s/good' % folder)
        assert source.wait_end()['status'] == 'completed'
        with open(folder + '/good', 'rb') as f:
            good = f.read()
        os.unlink(folder + '/good')
        sections, eof = parse(good)
        targets = Targets(qemu, MACHINES[case][0], folder)
        assert targets.feed(good)['status'] == 'completed'
        for name, harm in HARM.items():
            count, taken, wrong = run_harm(targets, good, harm(good, sections))
            tap.case('%s: %s: %d streams, %d taken' % (case, name, count,
                                                       taken), wrong)
        source.end()
        source = start_source(qemu, guests, case)
        wrong = []
        try:
            # The header, the configuration, the list of RAM blocks.
            bent_on_the_way(source, targets, [2, 10, 60], folder)
            move(source, targets, folder)
        except AssertionError as e:
            wrong = [str(e)]
        tap.case(case + ': bent on the way; then it moves', wrong)
        source.end()
        targets.close()


def main(qemu, guests, cases):
    tap = Tap()
    for case in cases:
        run_case(tap, qemu, guests, case)
    print('1..%d' % tap.n)
    return 1 if tap.failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
