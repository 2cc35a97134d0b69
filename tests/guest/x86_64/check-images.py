#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The x86-64 guests as files: is in them what boot loaders look for, where
ctl.h and the loaders leave room, and nothing that an interpreter of code at
CPL 0 may not know?

Usage: check-images.py FOLDER
"""
import os
import re
import shutil
import struct
import subprocess
import sys

GUESTS = ['page-counter', 'workload', 'clocks', 'remap']
SECTORS = {'counter-sector': 0, 'counter-sector-suspend': 1}
LOW, HIGH = 0x110000, 0x1000000  # after the control pages, before the sets
count = failed = 0


def check(name, faults):
    global count, failed
    count += 1
    failed += bool(faults)
    print('%sok %d - %s' % ('not ' if faults else '', count, name))
    for f in faults:
        print('# ' + f)


def elf_faults(image):
    magic, machine, entry, phoff, phentsize, phnum = (
        image[:20], *struct.unpack_from('<H', image, 18),
        *struct.unpack_from('<QQ', image, 24),
        *struct.unpack_from('<HH', image, 54))
    if magic[:6] != b'\x7fELF\x02\x01' or machine != 62:
        return ['no ELF64 of x86-64']
    loads, notes, faults = [], [], []
    for i in range(phnum):
        kind, _, offset, vaddr, paddr, filesz, memsz, _ = struct.unpack_from(
            '<IIQQQQQQ', image, phoff + i * phentsize)
        if vaddr != paddr:
            faults.append('a segment has two addresses')
        if kind == 1:
            loads.append((paddr, paddr + memsz))
        elif kind == 4:
            notes.append(image[offset:offset + filesz])
    for begin, end in loads:
        if not LOW <= begin <= end <= HIGH:
            faults.append('segment %#x...%#x is where it must not be'
                          % (begin, end))
    pvh = None
    for note in notes:
        namesz, descsz, kind = struct.unpack_from('<III', note)
        if note[12:12 + namesz] == b'Xen\0' and kind == 18:
            pvh = struct.unpack_from('<I', note, 12 + (namesz + 3) // 4 * 4)[0]
    for what, address in ('entry', entry), ('PVH entry', pvh):
        if address is None:
            faults.append('no PVH note')
        elif not any(b <= address < e for b, e in loads):
            faults.append('%s %#x is in no segment' % (what, address))
    return faults


def instruction_faults(path):
    objdump = shutil.which('x86_64-linux-gnu-objdump') or \
        shutil.which('objdump')
    if not objdump:
        return None
    text = subprocess.run([objdump, '-d', path], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    wrong = re.findall(r'^.*(?:%[xyz]?mm\d|\tv[a-z]+ |\t(?:sarx|shlx|'
                       r'shrx|rorx|bextr|andn|mulx|pdep|pext|syscall)\b).*$',
                       text, re.M)
    return ['not everywhere known: ' + line.strip() for line in wrong[:5]]


def sector_faults(image, suspend):
    faults = []
    if len(image) != 512 or image[510:] != b'\x55\xaa':
        faults.append('no boot sector')
    if image[0x1a0:0x1a8] != b'PGCOUNT1':
        faults.append('parameters are not where counter-sector.h says')
    elif struct.unpack_from('<IIII', image, 0x1a8) != \
            (16 << 20, 100 << 20, 2, suspend):
        faults.append('parameters are not the usual ones')
    return faults


def main():
    folder = sys.argv[1]
    print('1..%d' % (2 * len(GUESTS) + len(SECTORS)))
    for guest in GUESTS:
        path = os.path.join(folder, guest + '-x86_64.elf')
        with open(path, 'rb') as f:
            check(guest + ': segments and entries', elf_faults(f.read()))
        faults = instruction_faults(path)
        if faults is None:
            check(guest + ': instructions # SKIP no objdump', [])
        else:
            check(guest + ': instructions', faults)
    for name, suspend in SECTORS.items():
        with open(os.path.join(folder, name + '.img'), 'rb') as f:
            check(name, sector_faults(f.read(), suspend))
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
