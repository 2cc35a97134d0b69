# SPDX-License-Identifier: GPL-2.0-or-later
"""A binary under test, and a QMP connection to it over its standard streams."""

import json
import subprocess


class QmpError(Exception):
    def __init__(self, error):
        super().__init__(error['desc'])
        self.error_class = error['class']
        self.desc = error['desc']


class Machine:
    """Runs BINARY ARGS -qmp stdio; a context manager that ends it."""

    def __init__(self, binary, *args):
        self.proc = subprocess.Popen(
            [binary, *args, '-display', 'none', '-qmp', 'stdio'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.events = []
        self.greeting = self.receive()
        self.cmd('qmp_capabilities')

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.proc.poll() is None:
            self.proc.terminate()
        self.status = self.proc.wait(timeout=100)
        # What scripts/run-tests makes sanitizers end a binary with.
        assert self.status != 86, 'a sanitizer ended the binary'
        self.proc.stdin.close()
        self.proc.stdout.close()

    def receive(self):
        line = self.proc.stdout.readline()
        if not line:
            raise EOFError(f'no answer; exit status {self.proc.wait(100)}')
        return json.loads(line)

    def send_text(self, text):
        self.proc.stdin.write(text)
        self.proc.stdin.flush()

    def cmd(self, name, /, **args):
        """The command's return value. Underscores in names stay as given."""
        request = {'execute': name}
        if args:
            request['arguments'] = args
        self.send_text(json.dumps(request) + '\n')
        return self.answer()

    def answer(self):
        while True:
            reply = self.receive()
            if 'event' in reply:
                self.events.append(reply)
            elif 'error' in reply:
                raise QmpError(reply['error'])
            else:
                return reply['return']
