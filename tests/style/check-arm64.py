#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""check-arm64.py TREE BUILD [FLAG...]: accel/kvm and target/arm compile for
arm64 hosts. FLAGs are the libraries' include directories. Speaks TAP."""
import concurrent.futures
import glob
import os
import shutil
import subprocess
import sys
import tempfile

COMPILER = 'aarch64-linux-gnu-gcc'
WARNINGS = ['-Wall', '-Wextra', '-Werror', '-Wno-unused-parameter',
            '-Wno-missing-field-initializers', '-Wstrict-prototypes',
            '-Wmissing-prototypes', '-Wvla']
# Of the other architecture, by name.
FOREIGN = ('x86-', 'kvm-irqchip-x86')


def sources(tree):
    files = glob.glob(os.path.join(tree, 'accel/kvm/*.c')) + \
        glob.glob(os.path.join(tree, 'target/arm/*.c')) + \
        [os.path.join(tree, 'tests/unit/arm/test-kvm-arm.c')]
    return sorted(f for f in files
                  if not os.path.basename(f).startswith(FOREIGN))


def compile_one(path, tree, build, flags):
    """What the compiler says; '' if it has nothing to complain of."""
    dirs = [os.path.join(tree, 'include'), os.path.join(tree, 'accel/kvm'),
            build] + [os.path.join(build, d) for d in
                      ('qapi', 'target/arm', 'system', 'accel')]
    out = subprocess.run(
        [COMPILER, '-c', '-o', '/dev/null', '-O1', '-std=gnu11',
         '-D_GNU_SOURCE', '-DTEST_DATA_DIR="data"', '-fno-strict-aliasing'] + WARNINGS +
        ['-I' + d for d in dirs] + flags + [path],
        capture_output=True, text=True)
    return out.stderr if out.returncode else ''


def why_not():
    """Why nothing can be compiled here; None: it can."""
    if not shutil.which(COMPILER):
        return 'no ' + COMPILER
    out = subprocess.run([COMPILER, '-E', '-'], capture_output=True, text=True,
                         input='#include <stdlib.h>\n#include <linux/kvm.h>\n')
    return 'no headers for arm64 (libc6-dev-arm64-cross)' if out.returncode \
        else None


def main():
    tree, build, flags = sys.argv[1], sys.argv[2], sys.argv[3:]
    reason = why_not()
    if reason:
        print('1..0 # SKIP ' + reason)
        return 0
    files = sources(tree)
    print('1..%d' % (len(files) + 1))
    with tempfile.TemporaryDirectory() as tmp:
        rotten = os.path.join(tmp, 'rotten.c')
        with open(rotten, 'w', encoding='utf-8') as f:
            f.write('#include "qemu/osdep.h"\n#include "kvm-arch.h"\n'
                    'unsigned long kvm_arch_vm_type(void)\n'
                    '{ return no_such_thing; }\n')
        said = compile_one(rotten, tree, build, flags)
    bad = 'no_such_thing' not in said
    print('%s 1 - what is rotten is found' % ('not ok' if bad else 'ok'))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda p: compile_one(p, tree, build, flags), files)
        for n, (path, said) in enumerate(zip(files, results), 2):
            print('%s %d - %s' % ('not ok' if said else 'ok', n,
                                  os.path.relpath(path, tree)))
            for line in said.splitlines()[:20]:
                print('# ' + line)
            bad |= bool(said)
    return bad


if __name__ == '__main__':
    sys.exit(main())
