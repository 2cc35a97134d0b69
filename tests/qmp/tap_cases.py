# SPDX-License-Identifier: GPL-2.0-or-later
"""Cases of a test, each a function, told by TAP."""

import subprocess
import tempfile

from qmp_client import QmpError

# What a case fails by; anything else is a fault of the test, and ends it.
FAILURES = (AssertionError, EOFError, KeyError, OSError, QmpError,
            subprocess.SubprocessError)


def run(group, cases, call):
    """call(case) for each of @cases: an exit status. Their names, behind
    /@group/, are those of the functions."""
    failed = False
    print('1..%d' % len(cases))
    for n, case in enumerate(cases, 1):
        name = '/%s/%s' % (group, case.__name__)
        try:
            call(case)
            print('ok %d %s' % (n, name), flush=True)
        except FAILURES as e:
            failed = True
            text = repr(e).replace('\n', '\n# ')
            print('# %s\nnot ok %d %s' % (text, n, name), flush=True)
    return failed


def run_in_folders(group, cases, binary):
    """The same by case(@binary, a new folder)."""
    def call(case):
        with tempfile.TemporaryDirectory(prefix='test-%s-' % group) as folder:
            case(binary, folder)
    return run(group, cases, call)
