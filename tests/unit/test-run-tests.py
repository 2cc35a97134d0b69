#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test-run-tests.py RUN-TESTS: what scripts/run-tests makes of meson's logs.

Each case is a pair of logs as meson writes them, the exit status of meson, and
the last line and exit status that run-tests must have. Speaks TAP.
"""
import importlib.machinery
import importlib.util
import io
import contextlib
import json
import os
import sys
import tempfile

OK, BAD, SKIP = '', '<failure/>', '<skipped/>'
REPORT = 'WARNING: ThreadSanitizer: data race'

# name: programs (name, result, status, cases, optional: what it printed),
#       reports of sanitizers,
#       exit status of meson, last line, further line that must be there
CASES = {
    'all well': (
        [('p:unit / a', 'OK', 0, [OK, OK]), ('p:unit / b', 'OK', 0, [SKIP])],
        [], 0, '2 passed, 0 failed, 1 skipped', 'skipped: p.p:unit / b c1'),
    'failed cases count one by one': (
        [('p:unit / a', 'FAIL', 1, [OK, BAD, BAD])],
        [], 1, '1 passed, 2 failed, 0 skipped', 'FAILED: p.p:unit / a c2'),
    'programs that die after their last case': (
        [('p:unit / a', 'ERROR', 1, [OK]), ('p:unit / b', 'ERROR', 86, [OK])],
        [], 1, '2 passed, 2 failed, 0 skipped',
        'FAILED: p:unit / b: the program: ERROR, exit status 86'),
    'a failed case and a bad end are one': (
        [('p:unit / a', 'ERROR', -6, [BAD])],
        [], 1, '0 passed, 1 failed, 0 skipped', 'FAILED: p.p:unit / a c1'),
    'no case at all': (
        [('p:unit / a', 'ERROR', -11, [])],
        [], 1, '0 passed, 1 failed, 0 skipped',
        'FAILED: p:unit / a: the program: ERROR, exit status -11'),
    'out of time': (
        [('p:unit / a', 'TIMEOUT', -15, [OK]), ('p:unit / b', 'OK', 0, [OK])],
        [], 1, '2 passed, 1 failed, 0 skipped',
        'FAILED: p:unit / a: the program: TIMEOUT, exit status -15'),
    'the same case in two programs': (
        [('p:unit / a', 'FAIL', 1, [BAD]), ('p:unit / ab', 'ERROR', 1, [OK])],
        [], 1, '1 passed, 2 failed, 0 skipped',
        'FAILED: p:unit / ab: the program: ERROR, exit status 1'),
    'a remark of a sanitizer is no report': (
        [('p:unit / a', 'OK', 0, [OK])],
        ['==7==Unable to get registers from thread 6.'], 0,
        '1 passed, 0 failed, 0 skipped',
        '==7==Unable to get registers from thread 6.'),
    'a report of a process that nobody waited for': (
        [('p:unit / a', 'OK', 0, [OK])],
        [REPORT], 0, '1 passed, 1 failed, 0 skipped', REPORT),
    'a failed case says why': (
        [('p:unit / a', 'FAIL', 1, [OK, BAD],
          'ok c1\n# not of it\nnot ok c2\n# clocks\n#  step back\nok c3\n# no')],
        [], 1, '1 passed, 1 failed, 0 skipped',
        'FAILED: p.p:unit / a c2: clocks step back'),
    'a program that died says why': (
        [('p:unit / a', 'ERROR', -5, [OK],
          'ok c1\n** ERROR **: no guest\nand more')],
        [], 1, '1 passed, 1 failed, 0 skipped',
        'FAILED: p:unit / a: the program: ERROR, exit status -5: '
        '** ERROR **: no guest'),
    'a skipped case says why': (
        [('p:unit / a', 'OK', 0,
          [SKIP + '<system-out>no /dev/kvm\n</system-out>'])],
        [], 0, '0 passed, 0 failed, 1 skipped',
        'skipped: p.p:unit / a c1: no /dev/kvm'),
    'meson itself fails': (
        [('p:unit / a', 'OK', 0, [OK])],
        [], 2, '1 passed, 1 failed, 0 skipped',
        'FAILED: meson test: exit status 2'),
    'nothing ran': ([], [], 0, '0 passed, 0 failed, 0 skipped', ''),
}

# All others must end with status 1.
GOOD_ENDS = {'all well', 'a remark of a sanitizer is no report',
             'a skipped case says why'}


def load(path):
    loader = importlib.machinery.SourceFileLoader('run_tests', path)
    sys.dont_write_bytecode = True
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader('run_tests', loader))
    loader.exec_module(module)
    return module


def write_logs(logs, programs, reports):
    xml = ['<testsuites>']
    with open(os.path.join(logs, 'testlog.json'), 'w', encoding='utf-8') as f:
        for name, result, status, cases, *printed in programs:
            printed = ''.join(printed)
            print(json.dumps({'name': name, 'result': result,
                              'returncode': status, 'stdout': printed}),
                  file=f)
            # As meson does: without cases, the program is one of the project.
            inner = ''.join('<testcase name="c%d">%s</testcase>' % (n + 1, what)
                            for n, what in enumerate(cases))
            if cases:
                xml.append('<testsuite name="p.%s">%s<system-out>%s'
                           '</system-out></testsuite>'
                           % (name, inner, printed))
            else:
                xml.append('<testsuite name="p"><testcase name="%s">'
                           '</testcase></testsuite>' % name
                           if result == 'OK' else '')
    xml.append('</testsuites>')
    with open(os.path.join(logs, 'testlog.junit.xml'), 'w',
              encoding='utf-8') as f:
        f.write('\n'.join(xml))
    for n, text in enumerate(reports):
        with open(os.path.join(logs, 'sanitizer.%d' % n), 'w',
                  encoding='utf-8') as f:
            f.write(text)


def main():
    run_tests = load(sys.argv[1])
    failed = False
    print('1..%d' % len(CASES))
    for n, (name, case) in enumerate(CASES.items()):
        programs, reports, status, last, further = case
        out = io.StringIO()
        with tempfile.TemporaryDirectory() as logs:
            write_logs(logs, programs, reports)
            with contextlib.redirect_stdout(out):
                result = run_tests.count(logs, status)
        lines = out.getvalue().splitlines()
        ok = lines[-1] == last and (not further or further in lines) and \
            result == (0 if name in GOOD_ENDS else 1)
        print('%s %d %s' % ('ok' if ok else 'not ok', n + 1, name))
        if not ok:
            failed = True
            print('# exit status %d' % result)
            for line in lines:
                print('# ' + line)
    return failed


if __name__ == '__main__':
    sys.exit(main())
