#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Make tests/unit/a64-oracle.txt: A64 instructions and what they do, as
executed by a QEMU that is not ours.

  QEMU_ORACLE='qemu-system-aarch64' tests/guest/a64-oracle/generate.py OUT

QEMU_ORACLE is the command that runs it; ORACLE_DIR a directory that this
script and that command share, ORACLE_DIR_INSIDE its name for the command
(for a QEMU in a chroot; default: the same). Needs an aarch64 cross assembler.
The format of the output is described in tests/unit/test-a64-oracle.c.
"""
import os
import random
import shlex
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CODE, DATA, RECORDS = 0x42000800, 0x43000f80, 0x44000000
RAM_BASE, RAM_BYTES = 0x40000000, 256 << 20
RECORD_BYTES = 1088
BRK = 0xd4200000
MASK = (1 << 64) - 1
SP = 31

INTERESTING = [0, 1, 2, MASK, MASK - 1, 1 << 63, (1 << 63) - 1, 1 << 31,
               (1 << 31) - 1, 0xffffffff, 1 << 32, 0xffffffff80000000,
               0x5555555555555555, 0xaaaaaaaaaaaaaaaa, 0x8000000080000000,
               0x0123456789abcdef]


class SplitMix:
    """The generator that test-a64-oracle.c has too."""

    def __init__(self, seed):
        self.s = seed

    def next(self):
        self.s = (self.s + 0x9e3779b97f4a7c15) & MASK
        z = self.s
        z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & MASK
        z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & MASK
        return z ^ (z >> 31)


def value(rng):
    kind, v = rng.next() & 7, rng.next()
    if kind < 3:
        return INTERESTING[v % len(INTERESTING)]
    if kind == 3:
        return v & 0xff
    if kind == 4:
        v &= 0xffffffff
        return v | (0xffffffff00000000 if v >> 31 else 0)
    return v


class Test:
    def __init__(self, words, seed, regs=None, check=0):
        self.words, self.seed, self.check = words, seed, check
        self.regs = regs or {}
        rng = SplitMix(seed)
        self.x = [value(rng) for _ in range(31)]
        self.nzcv = rng.next() & 15
        self.mem = [rng.next() for _ in range(32)]
        self.sp = DATA + 128
        for r, v in self.regs.items():
            if r < 31:
                self.x[r] = v & MASK

    def record(self):
        words = (self.words + [BRK] * 4)[:4]
        return struct.pack('<4I3Q31Q32Q', *words, self.check, self.nzcv << 28,
                           self.sp, *self.x, *self.mem)

    def result(self, out):
        f = struct.unpack('<31Q5Q32Q', out)
        x, (sp, spsr, elr, esr, far), mem = f[:31], f[31:36], f[36:]
        parts = [','.join('%08x' % w for w in self.words), '%x' % self.seed]
        if self.check & 1:
            parts.append('align')
        if self.check & 2:
            parts.append('flat')
        parts += ['x%d:%x' % (r, v & MASK) for r, v in self.regs.items()]
        parts.append('->')
        if (elr - CODE) & MASK != 4 * len(self.words):
            parts.append('pc=%x' % ((elr - CODE) & MASK))
        if esr != 0xf2000000:
            parts.append('esr=%x' % esr)
        if esr >> 26 in (0x20, 0x21, 0x22, 0x24, 0x25):
            parts.append('far=%x' % far)
        if (spsr >> 28) != self.nzcv:
            parts.append('nzcv=%x' % (spsr >> 28))
        if sp != self.sp:
            parts.append('sp=%x' % sp)
        parts += ['x%d=%x' % (i, x[i]) for i in range(31) if x[i] != self.x[i]]
        parts += ['m%d=%x' % (i, mem[i]) for i in range(32)
                  if mem[i] != self.mem[i]]
        return ' '.join(parts)


class Maker:
    """Random tests by bit patterns: 0, 1, x = random."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.tests = []
        self.groups = []

    def group(self, name):
        self.groups.append((len(self.tests), name))

    def add(self, words, regs=None, check=0):
        self.tests.append(Test(words if isinstance(words, list) else [words],
                               self.r.getrandbits(32), regs, check))

    def word(self, pattern):
        pattern = pattern.replace(' ', '')
        assert len(pattern) == 32, pattern
        return int(''.join(self.r.choice('01') if c == 'x' else c
                           for c in pattern), 2)

    def alu(self, pattern, n):
        for _ in range(n):
            self.add(self.word(pattern))

    def reg(self, exclude=()):
        while True:
            r = self.r.randrange(31)
            if r not in exclude:
                return r


def data_processing(m):
    m.group('data-processing-immediate')
    m.alu('xxx10000 xxxxxxxx xxxxxxxx xxxxxxxx', 60)
    m.alu('xxx100010 xxxxxxx xxxxxxxx xxxxxxxx', 200)
    m.alu('xxx100100 xxxxxxx xxxxxxxx xxxxxxxx', 400)
    m.alu('xxx100101 xxxxxxx xxxxxxxx xxxxxxxx', 120)
    m.alu('1xx1001101 xxxxxx xxxxxxxx xxxxxxxx', 200)
    m.alu('0xx1001100 0xxxxx 0xxxxxxx xxxxxxxx', 200)
    m.alu('xxx100110 xxxxxxx xxxxxxxx xxxxxxxx', 60)
    m.alu('100100111 10xxxxx xxxxxxxx xxxxxxxx', 50)
    m.alu('000100111 00xxxxx 0xxxxxxx xxxxxxxx', 50)
    m.alu('xxx100111 xxxxxxx xxxxxxxx xxxxxxxx', 30)
    m.group('data-processing-register')
    m.alu('xxx01010 xxxxxxxx xxxxxxxx xxxxxxxx', 300)
    m.alu('xxx01010 xxxxxxxx 000000xx xxxxxxxx', 100)
    m.alu('xxx01011 xx0xxxxx xxxxxxxx xxxxxxxx', 200)
    m.alu('xxx01011 000xxxxx 000000xx xxxxxxxx', 100)
    m.alu('xxx01011 001xxxxx xxxxxxxx xxxxxxxx', 200)
    m.alu('xxx01011 xx1xxxxx xxxxxxxx xxxxxxxx', 20)
    m.alu('xxx11010 000xxxxx 000000xx xxxxxxxx', 100)
    m.alu('xxx11010 000xxxxx xxxxxxxx xxxxxxxx', 10)
    m.alu('xx111010 010xxxxx xxxxx0xx xxx0xxxx', 150)
    m.alu('xx111010 010xxxxx xxxx10xx xxx0xxxx', 50)
    m.alu('xxx11010 010xxxxx xxxxxxxx xxxxxxxx', 20)
    m.alu('xx011010 100xxxxx xxxx0xxx xxxxxxxx', 150)
    m.alu('xxx11010 100xxxxx xxxxxxxx xxxxxxxx', 20)
    m.alu('x0011010 110xxxxx 00001xxx xxxxxxxx', 60)
    m.alu('x0011010 110xxxxx 0010xxxx xxxxxxxx', 120)
    m.alu('00011010 110xxxxx 010x0xxx xxxxxxxx', 40)
    m.alu('10011010 110xxxxx 010x11xx xxxxxxxx', 40)
    m.alu('x0011010 110xxxxx xxxxxxxx xxxxxxxx', 60)
    m.alu('x1011010 11000000 0000xxxx xxxxxxxx', 150)
    m.alu('x1011010 11000000 00010xxx xxxxxxxx', 80)
    m.alu('xxx11010 110xxxxx xxxxxxxx xxxxxxxx', 30)
    m.alu('x0011011 000xxxxx xxxxxxxx xxxxxxxx', 100)
    m.alu('10011011 x01xxxxx xxxxxxxx xxxxxxxx', 100)
    m.alu('10011011 x10xxxxx 0xxxxxxx xxxxxxxx', 60)
    m.alu('xxx11011 xxxxxxxx xxxxxxxx xxxxxxxx', 40)
    m.alu('xxx11010 xx1xxxxx xxxxxxxx xxxxxxxx', 20)


def near(m, bits):
    """Word offset whose target is in the page of BRKs, as a bit field."""
    return format(offset(m) & ((1 << bits) - 1), '0%db' % bits)


def offset(m):
    """Not 0: that would never end."""
    return m.r.choice((-1, 1)) * m.r.randrange(1, 0x100)


def branches(m):
    m.group('branches')
    for _ in range(30):
        m.add(m.word('x00101' + near(m, 26)))
    for _ in range(150):
        m.add(m.word('01010100' + near(m, 19) + '0xxxx'))
    for _ in range(80):
        m.add(m.word('x011010x' + near(m, 19) + 'xxxxx'))
    for _ in range(100):
        m.add(m.word('x011011xxxxxx' + near(m, 14) + 'xxxxx'))
    for opc in ('0000', '0001', '0010'):
        for _ in range(15):
            rn = m.reg()
            target = CODE + 4 * offset(m)
            m.add(m.word('1101011' + opc + '11111000000' +
                         format(rn, '05b') + '00000'), {rn: target})
    for _ in range(6):  # the PC must be aligned
        rn = m.reg()
        m.add(m.word('1101011000011111000000' + format(rn, '05b') + '00000'),
              {rn: CODE + m.r.randrange(1, 4)})
    for _ in range(30):  # not allocated around BR, BLR, RET
        w = m.word('1101011x xxx11111 000000xx xxxxxxxx')
        if (w >> 21) & 15 not in (0, 1, 2, 4):
            m.add(w)
    m.group('exceptions-and-hints')
    for _ in range(6):
        m.add(m.word('11010100000 xxxxxxxxxxxxxxxx 00001'))  # SVC
        m.add(m.word('11010100001 xxxxxxxxxxxxxxxx 00000'))  # BRK
        m.add(m.word('11010100010 xxxxxxxxxxxxxxxx 00000'))  # HLT
        m.add(m.word('0000000000000000 xxxxxxxxxxxxxxxx'))   # UDF
    for opc in range(8):
        for ll in range(32):
            if (opc, ll) not in ((0, 2), (0, 3)):  # HVC, SMC: firmware
                m.add(0xd4000000 | opc << 21 | 0x123 << 5 | ll)
    for hint in range(128):
        if hint not in (2, 3):  # WFE, WFI sleep
            m.add(0xd503201f | hint << 5)
    for crm in range(16):
        for op2 in (2, 4, 5, 6, 0, 1, 7):
            m.add(0xd503301f | crm << 8 | op2 << 5)
    m.group('system-registers')
    for rt in (0, 7, 31):
        m.add([0xd51b4200 | rt, 0xd53b4205])  # MSR NZCV, then MRS x5
        m.add([0xd51bd040 | rt, 0xd53bd045])  # TPIDR_EL0
        m.add([0xd51bd060 | rt, 0xd53bd065])  # TPIDRRO_EL0
    m.add(0xd53b0020 | 3)  # CTR_EL0
    m.add(0xd53b00e0 | 4)  # DCZID_EL0
    m.add(0xd5384240 | 5)  # CurrentEL
    m.add(0xd5384200 | 6)  # SPSel
    m.add([0xd50343df, 0xd53b4227, 0xd5034fff])  # DAIFSet #3; MRS DAIF
    m.add(0xd538f0e9)  # not there
    m.add(0xd518f0e9)


SIZES = {0: 1, 1: 2, 2: 4, 3: 8}


def base(m, size, align=False, room=16):
    """An address for an access of @room bytes, sometimes across pages."""
    lo, hi = 16, 256 - 16 - room
    offset = m.r.randrange(lo, hi)
    if m.r.random() < 0.15:
        offset = 128 - m.r.randrange(0, size + 1)
    if align:
        offset &= ~(size - 1)
    return DATA + offset


def single(m):
    m.group('load-store-single')
    kinds = [(s, o) for s in range(4) for o in range(4)]
    for size, opc in kinds:
        nbytes = SIZES[size]
        head = format(size, '02b') + '11100'
        for mode in ('unsigned', 'unscaled', 'post', 'pre', 'unpriv', 'reg'):
            for i in range(7):
                check = max(0, i - 4)
                align = m.r.random() < 0.5
                rt = m.r.randrange(32)
                rn = 31 if m.r.random() < 0.15 else m.reg((rt,))
                where = base(m, nbytes, align)
                if rn == 31:
                    where = DATA + 128
                regs = {}
                opcs = format(opc, '02b')
                tail = format(rn, '05b') + format(rt, '05b')
                if mode == 'unsigned':
                    imm = m.r.randrange(0, 100)
                    if rn == 31:
                        imm = m.r.randrange(0, 100 // nbytes)
                    regs[rn] = where - imm * nbytes
                    w = head + '1' + opcs + format(imm, '012b') + tail
                elif mode == 'reg':
                    rm = m.reg((rt, rn))
                    option = m.r.choice((2, 3, 6, 7))
                    s = m.r.randrange(2)
                    idx = m.r.randrange(0, 8) if option in (2, 3) else \
                        m.r.randrange(-8, 8)
                    if rn == 31:
                        idx = abs(idx)
                    off = idx << (size if s else 0)
                    regs[rn] = where - off
                    junk = m.r.getrandbits(32) << 32
                    regs[rm] = idx & MASK if option in (3, 7) else \
                        (idx & 0xffffffff) | junk
                    w = head + '0' + opcs + '1' + format(rm, '05b') + \
                        format(option, '03b') + str(s) + '10' + tail
                else:
                    imm = m.r.randrange(-256, 256)
                    if rn == 31:
                        imm = m.r.randrange(-100, 100)
                    regs[rn] = where if mode == 'post' else where - imm
                    idx = {'unscaled': '00', 'post': '01', 'unpriv': '10',
                           'pre': '11'}[mode]
                    w = head + '0' + opcs + '0' + format(imm & 511, '09b') + \
                        idx + tail
                regs.pop(31, None)
                m.add(int(w, 2), regs, check)
    for _ in range(20):  # literals
        m.add(m.word('xx011000' + near(m, 19) + 'xxxxx'))
    # Options of the register form that are not allocated.
    for _ in range(10):
        m.add(m.word('xx111000 xx1xxxxx x0xx10xx xxxxxxxx'), {})


def pairs(m):
    m.group('load-store-pair')
    for opc in range(4):
        for index in range(4):
            for load in range(2):
                for i in range(8):
                    nbytes = 8 if opc == 2 else 4
                    check = max(0, i - 5)
                    rt = m.r.randrange(32)
                    rt2 = m.r.choice([r for r in range(32) if r != rt])
                    rn = 31 if m.r.random() < 0.15 else m.reg((rt, rt2))
                    imm = m.r.randrange(-64, 64)
                    if rn == 31:
                        imm = m.r.randrange(-8, 8)
                    where = base(m, nbytes, m.r.random() < 0.5, 16)
                    regs = {} if rn == 31 else \
                        {rn: where if index == 1 else where - imm * nbytes}
                    m.add(opc << 30 | 0b101 << 27 | index << 23 |
                          load << 22 | (imm & 127) << 15 | rt2 << 10 |
                          rn << 5 | rt, regs, check)


def exclusive_word(size, o2, load, o1, rs, o0, rt2, rn, rt):
    return (size << 30 | 0b001000 << 24 | o2 << 23 | load << 22 | o1 << 21 |
            rs << 16 | o0 << 15 | rt2 << 10 | rn << 5 | rt)


def distinct(m, n):
    return m.r.sample(range(31), n)


def exclusives(m):
    m.group('exclusive-and-ordered')
    for size in range(4):
        nbytes = SIZES[size]
        for o0 in range(2):
            for i in range(8):
                rn, rt, rs, rv = distinct(m, 4)
                if i == 7:
                    rv = 31
                where = base(m, nbytes, i < 6)
                ld = exclusive_word(size, 0, 1, 0, 31, o0, 31, rn, rt)
                st = exclusive_word(size, 0, 0, 0, rs, o0, 31, rn, rv)
                m.add([ld, st], {rn: where})
                # Misaligned it must fault; QEMU looks at the monitor first.
                m.add(st, {rn: where & ~(nbytes - 1)})
                # The monitor is for one store, and CLREX opens it.
                m.add([ld, st, st ^ rs << 16 ^ 31 << 16], {rn: where})
                m.add([ld, 0xd5033f5f, st], {rn: where})
                # Another value at the same place meanwhile.
                m.add([ld, 0x38000000 | size << 30 | rn << 5 | rs, st],
                      {rn: where})
                # LDAR, STLR.
                m.add([exclusive_word(size, 1, 1, 0, 31, 1, 31, rn, rt),
                       exclusive_word(size, 1, 0, 0, 31, 1, 31, rn, rv)],
                      {rn: where})
    for size in (2, 3):
        nbytes = 2 * SIZES[size]
        for o0 in range(2):
            for i in range(8):
                rn, rt, rt2, rs, v1, v2 = distinct(m, 6)
                where = base(m, nbytes, i < 6, 32)
                ld = exclusive_word(size, 0, 1, 1, 31, o0, rt2, rn, rt)
                st = exclusive_word(size, 0, 0, 1, rs, o0, v2, rn, v1)
                m.add([ld, st], {rn: where})
                m.add([ld, 0xf9000000 | 1 << 10 | rn << 5 | rs, st]
                      if size == 3 else
                      [ld, 0xb9000000 | 1 << 10 | rn << 5 | rs, st],
                      {rn: where})
    m.group('cache-lines')
    for _ in range(12):
        rt = m.reg()
        m.add(0xd50b7420 | rt, {rt: DATA + m.r.randrange(0, 192)},  # DC ZVA
              m.r.choice((0, 0, 0, 1, 2)))
        m.add(m.r.choice((0xd50b7a20, 0xd50b7b20, 0xd50b7e20, 0xd5087620,
                          0xd50b7520)) | rt,
              {rt: DATA + m.r.randrange(0, 192)})


def wild(m):
    """Random words of the groups, to find what is not allocated."""
    m.group('unallocated')
    for _ in range(400):
        m.add(m.word('xxxx0000 xxxxxxxx xxxxxxxx xxxxxxxx')
              if m.r.random() < 0.1 else
              m.word('xxx1101x xxxxxxxx xxxxxxxx xxxxxxxx'))
    for _ in range(300):
        m.add(m.word('xxx100xx xxxxxxxx xxxxxxxx xxxxxxxx'))
    n = 0
    while n < 400:  # loads and stores: all bases point at the data
        w = m.word('xxxx1x00 xxxxxxxx xxxxxxxx xxxxxxxx')
        if w >> 26 & 1:
            continue  # vectors trap or not; not what this is for
        if w >> 24 & 0x3f == 8 or w >> 28 & 3 == 0:
            continue  # exclusives: done above
        if w >> 27 & 7 == 5:
            load, wb = w >> 22 & 1, w >> 23 & 1
            rt, rt2, rn = w & 31, w >> 10 & 31, w >> 5 & 31
            if (load and rt == rt2) or (wb and rn in (rt, rt2)):
                continue
        elif w >> 27 & 7 == 7 and not w >> 24 & 1:
            if w & 31 == w >> 5 & 31:
                continue
        if w >> 27 & 7 == 3 and not w >> 24 & 1:
            continue  # literals far away
        rn, rm = w >> 5 & 31, w >> 16 & 31
        if rn == 31:
            continue
        if w >> 27 & 7 == 7 and not w >> 24 & 1 and w >> 21 & 1:
            if rm in (rn, w & 31, 31):
                continue
            m.add(w, {rn: DATA + 120, rm: 1})
        elif w >> 24 & 1:
            imm = (w >> 10 & 0xfff) << (w >> 30)
            m.add(w, {rn: DATA + 96 - imm} if w >> 27 & 7 == 7
                  else {rn: DATA + 120})
        else:
            m.add(w, {rn: DATA + 120})
        n += 1


def lse(m):
    m.group('lse')
    for size in range(4):
        nbytes = SIZES[size]
        for op in range(9):
            for i in range(7):
                rn, rs, rt = distinct(m, 3)
                if i == 5:
                    rt = 31
                if i == 6:
                    rs = 31
                o3, opc = (1, 0) if op == 8 else (0, op)
                m.add(size << 30 | 0b111000 << 24 | m.r.randrange(4) << 22 |
                      1 << 21 | rs << 16 | o3 << 15 | opc << 12 | rn << 5 | rt,
                      {rn: base(m, nbytes, i != 4)})
        for i in range(10):
            rn, rs, rt = distinct(m, 3)
            where = base(m, nbytes, i != 4)
            cas = exclusive_word(size, 1, i & 1, 1, rs, i >> 1 & 1, 31, rn, rt)
            if i % 3 == 0:
                m.add(cas, {rn: where})
            else:  # load first, so that it compares equal
                m.add([0x38400000 | size << 30 | rn << 5 | rs, cas],
                      {rn: where})
    for size in (0, 1):
        nbytes = 8 << size
        for i in range(16):
            rn = m.r.randrange(1, 31, 2)
            rs, rt = (2 * r for r in m.r.sample(range(15), 2))
            where = base(m, nbytes, i != 4, 32)
            casp = exclusive_word(size, 0, i & 1, 1, rs, i >> 1 & 1, 31, rn, rt)
            ldp = (0x29400000 if size == 0 else 0xa9400000) | \
                (rs + 1) << 10 | rn << 5 | rs
            if rs + 1 == rn or i % 3 == 0:
                m.add(casp, {rn: where})
            else:
                m.add([ldp, casp], {rn: where})
    for _ in range(20):  # odd registers of CASP, other o3 operations
        m.add(m.word('0x001000 0x1xxxxx x11111xx xxxxxxx1'))


def build(out):
    elf = os.path.join(out, 'oracle.elf')
    subprocess.check_call(['aarch64-linux-gnu-gcc', '-nostdlib', '-static',
                           '-Wl,-Ttext=0x40200000,--build-id=none', '-o', elf,
                           os.path.join(HERE, 'oracle.S')])
    return elf


def run(tests, cpu, out, inside):
    ram = os.path.join(out, 'oracle.ram')
    with open(ram, 'wb') as f:
        f.truncate(RAM_BYTES)
        f.seek(CODE - 0x800 - RAM_BASE)
        f.write(struct.pack('<I', BRK) * 1024)
        f.seek(RECORDS - RAM_BASE)
        f.write(struct.pack('<Q', len(tests)))
        for i, t in enumerate(tests):
            f.seek(RECORDS - RAM_BASE + 64 + i * RECORD_BYTES)
            f.write(t.record())
    command = shlex.split(os.environ.get('QEMU_ORACLE', 'qemu-system-aarch64'))
    subprocess.check_call(command + [
        '-M', 'virt,memory-backend=ram', '-cpu', cpu, '-accel', 'tcg',
        '-object', 'memory-backend-file,id=ram,size=%d,share=on,mem-path=%s'
        % (RAM_BYTES, os.path.join(inside, 'oracle.ram')),
        '-m', '%dM' % (RAM_BYTES >> 20), '-display', 'none', '-nodefaults',
        '-kernel', os.path.join(inside, 'oracle.elf')], timeout=20)
    lines = []
    with open(ram, 'rb') as f:
        for i, t in enumerate(tests):
            f.seek(RECORDS - RAM_BASE + 64 + i * RECORD_BYTES + 544)
            lines.append(t.result(f.read(544)))
    os.unlink(ram)
    return lines


def main():
    out = os.environ.get('ORACLE_DIR', '/tmp')
    inside = os.environ.get('ORACLE_DIR_INSIDE', out)
    build(out)
    text = []
    for cpu, makers in (('cortex-a57', (data_processing, branches, single,
                                        pairs, exclusives, wild)),
                        ('neoverse-n1', (lse,))):
        m = Maker('a64 ' + cpu)
        for make in makers:
            make(m)
        lines = run(m.tests, cpu, out, inside)
        starts = dict(m.groups)
        for i, line in enumerate(lines):
            if i in starts:
                text.append('# ' + starts[i])
            text.append(line)
    with open(sys.argv[1], 'w') as f:
        f.write('\n'.join(text) + '\n')


if __name__ == '__main__':
    main()
