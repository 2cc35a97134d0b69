# SPDX-License-Identifier: GPL-2.0-or-later
"""A program on a terminal of its own, and what its screen shows."""

import os
import pty
import re
import select
import subprocess
import termios
import time

PROMPT = '(qemu) '
SECONDS = 60


def check(condition, text):
    if not condition:
        raise AssertionError(text)


class Screen:
    """The line that the cursor is in, as a terminal would show it."""

    def __init__(self):
        self.lines, self.at = [''], 0

    def write(self, text):
        while text:
            m = re.match(r'\x1b\[(\d*)([CDK])', text)
            if m:
                n = int(m.group(1) or 1)
                line = self.lines[-1]
                if m.group(2) == 'K':
                    self.lines[-1] = line[:self.at]
                else:
                    self.at += n if m.group(2) == 'C' else -n
                text = text[m.end():]
                continue
            check(text[0] != '\x1b', 'unknown sequence: %r' % text[:10])
            if text[0] == '\n':
                self.lines.append('')
            elif text[0] == '\r':
                self.at = 0
            else:
                line = self.lines[-1].ljust(self.at)
                self.lines[-1] = line[:self.at] + text[0] + line[self.at + 1:]
                self.at += 1
            text = text[1:]


class Terminal:
    def __init__(self, *command, **kw):
        self.master, slave = pty.openpty()
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.proc = subprocess.Popen(command, stdin=slave, stdout=slave,
                                     stderr=slave, **kw)
        self.screen = Screen()

    def __enter__(self):
        return self

    def __exit__(self, kind, *exc):
        if self.proc.poll() is None and kind:
            self.proc.kill()
        try:
            status = self.proc.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            status = self.proc.wait()
        after = termios.tcgetattr(self.slave)
        os.close(self.master)
        os.close(self.slave)
        if not kind:
            check(status == 0, 'exit status %s' % status)
            check(after == self.before, 'the terminal is left changed')

    def read(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        self.screen.write(os.read(self.master, 65536).decode())
        return True

    def expect(self, line):
        """Until the cursor's line is @line, and stays that."""
        deadline = time.monotonic() + SECONDS
        while self.screen.lines[-1] != line or self.read(0.02):
            check(time.monotonic() < deadline, 'expected %r, there is %r'
                  % (line, self.screen.lines[-5:]))
            self.read(0.1)

    def type(self, keys, line=None):
        """Type; the line must then be the prompt and @line."""
        os.write(self.master, keys.encode())
        if line is not None:
            self.expect(PROMPT + line)

    def enter(self, keys, seconds=SECONDS):
        """A command; what it printed."""
        n = len(self.screen.lines)
        self.type(keys + '\r')
        deadline = time.monotonic() + seconds
        while len(self.screen.lines) == n or \
                self.screen.lines[-1] != PROMPT:
            check(time.monotonic() < deadline, self.screen.lines[-5:])
            self.read(0.1)
        return self.screen.lines[n:-1]

    def tab_lists(self, line):
        """Tab, behind the prompt and @line, which stays: what it lists. What
        was typed before has to be answered for already."""
        n = len(self.screen.lines)
        deadline = time.monotonic() + SECONDS
        self.type('\t')
        while len(self.screen.lines) == n or \
                self.screen.lines[-1] != PROMPT + line:
            check(time.monotonic() < deadline, self.screen.lines[-5:])
            self.read(0.1)
        return ' '.join(self.screen.lines[n:-1]).split()
