#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""run-examples.py TREE BUILD: what the docs show works as they show it.

Each block that has commands (`$ `), lines of a human monitor (`(qemu) `) or
a QMP dialogue (`C: `) follows a comment that says what is to be done with it:

    .. run                    each command, to its end; it must succeed
    .. run as A, B            the commands are started, each on a terminal of
                              its own, under these names
    .. run at A               the lines are typed at A
    .. run qmp OPTIONS        a dialogue with a program started so
    .. run bytes FILE         a hex dump: FILE must hold that
    .. start A: COMMAND       starts something that is not shown
    .. not run: REASON

What follows a command is what it must print, where a number stands for any
number and a line `...` for any lines. /tmp is a folder of the test's own.
Of docs/performance*.rst only the options are looked at. A page is a case;
speaks TAP.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

TREE, BUILD = (os.path.abspath(p) for p in sys.argv[1:3])
sys.path.insert(0, os.path.join(TREE, 'tests', 'qmp'))
from terminal import PROMPT, Terminal, check  # noqa: E402

SECONDS = 60
MARK = re.compile(r'\.\. (run|start|not run)\b:? ?(.*)')


class Skip(Exception):
    pass


class Block:
    """A marker, and the block that it is for."""

    def __init__(self, mark, argument, lines, where):
        self.mark, self.argument, self.where = mark, argument, where
        self.steps = []  # [command, [expected lines]]
        for line in re.sub(r'\\\n +', '', '\n'.join(lines)).split('\n'):
            m = re.match(r'(\$ |\(qemu\) )(.*)', line)
            if m:
                self.steps.append([m.group(1), m.group(2), []])
            elif self.steps and line.strip():
                self.steps[-1][2].append(line)
        self.lines = lines


def literal_blocks(text):
    """(line number, lines without their indent) of each."""
    lines = text.split('\n')
    i = 0
    while i < len(lines):
        line = lines[i]
        i += 1
        if not (re.match(r'\.\. code-block:: console', line) or
                (line.endswith('::') and not line.startswith('.. '))):
            continue
        begin = i
        outer = len(line) - len(line.lstrip())
        while i < len(lines) and (not lines[i].strip() or len(
                lines[i]) - len(lines[i].lstrip()) > outer):
            i += 1
        body = [x for x in lines[begin:i]]
        indents = [len(x) - len(x.lstrip()) for x in body if x.strip()]
        if indents:
            yield begin + 1, [x[min(indents):] for x in body]


def is_example(lines):
    return any(re.match(r'\$ |\(qemu\) |C: ', x) for x in lines)


def blocks_of(path, text):
    """Markers with their blocks, in order. A marker of `start` has none."""
    marks = {}
    for m in re.finditer(r'^ *\.\. (?:run|start|not run)\b.*(?:\n +\S.*)*',
                         text, re.M):
        number = text[:m.start()].count('\n') + 1
        marks[number] = MARK.match(' '.join(m.group(0).split()))
    found, pending = [], None
    events = sorted(list((n, 'mark', m) for n, m in marks.items()) +
                    [(n, 'block', b) for n, b in literal_blocks(text)],
                    key=lambda e: e[0])
    for number, kind, what in events:
        where = '%s:%d' % (path, number)
        if kind == 'mark':
            if what.group(1) == 'start':
                found.append(Block('start', what.group(2), [], where))
            else:
                check(pending is None, where + ': the marker before has no '
                      'block')
                pending = what
        elif pending or is_example(what):
            check(pending, where + ': a block without a marker')
            found.append(Block(*pending.groups(), what, where))
            pending = None
    check(pending is None, path + ': the last marker has no block')
    return found


def pattern_of(lines):
    """What the lines of an expectation match."""
    out = []
    for line in lines:
        if line.strip() == '...':
            out.append(r'(?:.*\n)*?')
        else:
            # Also: how many blanks there are does not count.
            text = re.sub(r'\d+(?:\\?\.\d+)?', 'NUMBER', ' '.join(
                line.split()))
            out.append(re.escape(text).replace('NUMBER', r'\d+(?:\.\d+)?') +
                       r'\n')
    return re.compile(''.join(out))


def matches(expected, lines):
    text = ''.join(' '.join(x.split()) + '\n' for x in lines if x.strip())
    return not expected or pattern_of(expected).fullmatch(text)


class Page:
    """The examples of one page; what it started ends with it."""

    def __init__(self, folder):
        self.folder, self.running = folder, {}
        self.last = None
        for name in 'docs', 'scripts', 'tests', 'qapi', 'Makefile', 'meson.build':
            os.symlink(os.path.join(TREE, name), os.path.join(folder, name))
        os.symlink(BUILD, os.path.join(folder, 'build'))

    def own(self, text):
        return text.replace('/tmp/', self.folder + '/')

    def start(self, name, command):
        command = self.own(command)
        for path in re.findall(r'build/tests/\S+', command):
            if not os.path.exists(os.path.join(self.folder, path)):
                raise Skip('%s is not built' % path)
        t = Terminal('/bin/sh', '-c', 'exec ' + command, cwd=self.folder)
        self.running[name] = self.last = t
        if 'monitor stdio' in command:
            t.expect(PROMPT)
        else:
            time.sleep(0.3)
            check(t.proc.poll() is None, '%s ended' % command)

    def type(self, terminal, line, expected):
        deadline = time.monotonic() + SECONDS
        if line == 'quit':
            terminal.type('quit\r')
            check(terminal.proc.wait(SECONDS) == 0, 'the status of quit')
            return
        while True:
            printed = terminal.enter(self.own(line), SECONDS)
            check('unknown command' not in '\n'.join(printed), printed)
            if any('Error' in x for x in expected) or \
                    not any(x.startswith('Error') for x in printed):
                if matches(expected, printed):
                    return
            check(line.startswith('info ') and time.monotonic() < deadline,
                  '%s\nprinted:\n%s\nexpected:\n%s' % (
                      line, '\n'.join(printed), '\n'.join(expected)))
            time.sleep(0.2)

    def shell(self, command, expected):
        done = subprocess.run(['/bin/sh', '-c', self.own(command)],
                              cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, timeout=SECONDS,
                              stderr=subprocess.STDOUT, text=True)
        check(done.returncode == 0, '%s: status %d\n%s' % (
            command, done.returncode, done.stdout))
        check(matches(expected, done.stdout.split('\n')),
              '%s\nprinted:\n%s' % (command, done.stdout))

    def run_steps(self, block):
        m = re.fullmatch(r'(as|at) (.*)', block.argument)
        names = re.split(', *', m.group(2)) if m else []
        for prompt, command, expected in block.steps:
            if prompt == '(qemu) ':
                terminal = self.running[names[0]] \
                    if m and m.group(1) == 'at' else self.last
                self.type(terminal, command, expected)
            elif m and m.group(1) == 'as':
                self.start(names.pop(0), command)
            else:
                self.shell(command, expected)

    def run(self, block):
        if block.mark == 'start':
            self.start(*re.split(': *', block.argument, maxsplit=1))
        elif block.argument.startswith('qmp'):
            dialogue(os.path.join(self.folder, 'build/qemu-system-aarch64'),
                     block.argument[3:].split(),
                     [self.own(line) for line in block.lines])
        elif block.argument.startswith('bytes '):
            with open(self.own(block.argument[6:]), 'rb') as f:
                compare_bytes(block.lines, f.read())
        else:
            check(block.steps, 'nothing to run')
            self.run_steps(block)

    def end(self):
        for t in self.running.values():
            if t.proc.poll() is None:
                t.proc.terminate()
            t.proc.wait(SECONDS)
            os.close(t.master)
            os.close(t.slave)


def like(want, got):
    """@got has what @want shows: "..." is anything, and so are numbers of
    a timestamp, and times."""
    if want == '...':
        return True
    if isinstance(want, dict):
        return isinstance(got, dict) and all(
            k in got and (k == 'timestamp' or k.endswith('-time') or
                          like(v, got[k])) for k, v in want.items())
    if isinstance(want, list):
        return isinstance(got, list) and len(want) == len(got) and \
            all(map(like, want, got))
    return want == got


def dialogue(binary, options, lines):
    proc = subprocess.Popen([binary, *options, '-qmp', 'stdio'],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True)
    try:
        skip = False
        for line in re.sub(r'\n +', ' ', '\n'.join(lines)).split('\n'):
            if line.startswith('C: '):
                proc.stdin.write(line[3:] + '\n')
                proc.stdin.flush()
            elif line.startswith('S: '):
                want = json.loads(line[3:].replace('{...}', '"..."')
                                  .replace(', ...}', '}'))
                got = json.loads(proc.stdout.readline())
                while skip and not like(want, got):
                    got = json.loads(proc.stdout.readline())
                check(like(want, got), '%s\nwas: %s' % (line, got))
            skip = line.strip() == '...'
    finally:
        proc.terminate()
        proc.communicate(timeout=SECONDS)


def compare_bytes(lines, data):
    """Lines are hex bytes and a remark; `ticks` and `clock` vary."""
    want = b''
    for line in lines:
        m = re.match(r' *((?:(?:[0-9a-f]{2}|\.\.\.) ?)+)(?:  +(.*))?$', line)
        if not m:
            check(not line.strip(), 'no bytes: ' + line)
            continue
        for word in m.group(1).split():
            if word == '...':
                want += b'.*?'
            elif m.group(2) in ('ticks', 'clock'):
                want += b'.'
            else:
                want += re.escape(bytes([int(word, 16)]))
    check(re.fullmatch(want + b'.*' if lines[-1].rstrip().endswith('...')
                       else want, data, re.S),
          'the file is different: ' + data[:400].hex(' '))


def page(path):
    with open(os.path.join(TREE, path), encoding='utf-8') as f:
        blocks = blocks_of(path, f.read())
    todo = [b for b in blocks if b.mark != 'not run']
    if not todo:
        return
    with tempfile.TemporaryDirectory(prefix='examples-') as folder:
        p = Page(folder)
        try:
            for block in todo:
                try:
                    p.run(block)
                except (AssertionError, KeyError, OSError,
                        subprocess.SubprocessError) as e:
                    raise AssertionError('%s: %s' % (block.where, e)) from e
        finally:
            p.end()


def measured(path):
    """The programs that measured are there, and have these options."""
    with open(os.path.join(TREE, path), encoding='utf-8') as f:
        text = f.read()
    helps, faults = {}, []
    for _, lines in literal_blocks(text):
        code = re.sub(r'\\\n +', '', '\n'.join(lines))
        for command in re.findall(r'(?:^\$|\s)((?:build/)?(?:tests/bench/)?'
                                  r'[\w-]+\.py.*|build/tests/bench/.*)', code):
            words = command.split()
            program = os.path.basename(words[0])
            full = os.path.join(TREE, 'tests/bench', program)
            if not program.endswith('.py'):
                full = re.sub(r'(?<=perf)-kvm$', '', full) + '.c'
            elif full not in helps:
                helps[full] = subprocess.run(
                    [full, '--help'], capture_output=True, text=True,
                    timeout=SECONDS).stdout
            if not os.path.exists(full):
                faults.append('%s: there is no %s' % (path, full))
            for option in re.findall(r'(?<=\s)--([\w-]+)', command):
                if full not in helps:
                    with open(full, encoding='utf-8') as f:
                        helps[full] = f.read()
                if option not in helps[full]:
                    faults.append('%s: %s has no --%s' % (path, program,
                                                          option))
    check(not faults, '\n'.join(faults))


def labels_of(text):
    """The words that `info migrate` puts before values."""
    found = set()
    for line in text.split('\n'):
        head = re.match(r'\s*([A-Z][\w ]*)(?: \([\w ,]+\))?:', line)
        if head:
            found.add(head.group(1).rstrip())
        found.update(re.findall(r'([a-z]\w*)=', line))
    return found


def every_line_of_info_migrate():
    """Nothing that it shows is left out of docs/migration.rst."""
    with open(os.path.join(TREE, 'docs/migration.rst'),
              encoding='utf-8') as f:
        section = re.search(r'^Reading ``info migrate``\n=+\n(.*?)^[^\n]+\n=+\n'
                            r'\n', f.read(), re.M | re.S).group(1)
    text = ''
    for paragraph in literal_blocks(section):
        section = section.replace('\n'.join(paragraph[1]), '')
    known = set()
    for literal in re.findall(r'``([^`]+)``', section):
        known.add(literal)
        known.update(literal.split())
    guest = 'build/tests/guest/page-counter-aarch64.bin'
    if not os.path.exists(os.path.join(BUILD, guest[len('build/'):])):
        raise Skip('%s is not built' % guest)
    text += shown_with('bitmap', guest, 'Stalled')
    for tracking in 'ring', 'dbm':
        text += shown_with(tracking, guest, 'Throttle')
    labels = labels_of(text)
    check(len(labels) > 50, labels)
    missing = sorted(labels - known)
    check(not missing, 'not explained: %s' % missing)


def shown_with(tracking, guest, wanted):
    """Both sides of a migration that can end when it has shown @wanted."""
    options = ('build/qemu-system-aarch64 -M virt -cpu cortex-a57 -m 128M '
               '-accel tcg,dirty-tracking=%s -nodefaults -serial null '
               '-monitor stdio' % tracking)
    text = ''

    def look(t):
        return '\n'.join(t.enter('info migrate')) + '\n'

    with tempfile.TemporaryDirectory(prefix='examples-') as folder:
        p = Page(folder)
        try:
            p.start('target', options + ' -incoming tcp:127.0.0.1:0')
            text += look(p.running['target'])
            port = re.search(r'tcp:\S*?:(\d+)', text).group(1)
            p.start('source', '%s -kernel %s -append ws=8' % (options, guest))
            for t in p.running.values():
                t.enter('migrate_set_capability return-path on')
            source = p.running['source']
            if wanted == 'Throttle':
                source.enter('migrate_set_capability auto-converge on')
            source.enter('migrate_set_parameter max-bandwidth 1')
            source.enter('migrate_set_parameter throttle-trigger-threshold 1')
            source.enter('migrate_set_parameter downtime-limit 1')
            time.sleep(1)  # the guest has written all its pages by then
            source.enter('migrate -d tcp:127.0.0.1:' + port)
            deadline = time.monotonic() + SECONDS
            while wanted not in text:
                check(time.monotonic() < deadline, text[-1500:])
                time.sleep(0.2)
                text += look(source)
            source.enter('migrate_set_parameter max-bandwidth 1G')
            source.enter('migrate_set_parameter downtime-limit 2000')
            while 'Status: completed' not in ' '.join(text.split()):
                check(time.monotonic() < deadline, text[-1500:])
                time.sleep(0.1)
                text += look(source)
            text += look(p.running['target'])
        finally:
            p.end()
    return text


def wrong_examples():
    """What is wrong is found."""
    good = ('.. run\n\n.. code-block:: console\n\n    $ echo 17 x\n'
            '    23 x\n\n')
    check(blocks_of('x', good)[0].steps == [['$ ', 'echo 17 x', ['23 x']]],
          'parsing')
    for text in (good.replace('.. run\n', ''), good + '.. run\n',
                 '.. run\n\n' + good):
        try:
            blocks_of('x', text)
        except AssertionError:
            continue
        raise AssertionError('taken: ' + text)
    check(matches(['a 1', '...', 'b 2.5'], ['a 17', 'c', 'b  4.0']), 'like')
    check(not matches(['a 1'], ['b 1']), 'unlike')
    check(not matches(['a 1'], ['a 1', 'b']), 'more')
    with tempfile.TemporaryDirectory(prefix='examples-') as folder:
        p = Page(folder)
        p.run(blocks_of('x', good)[0])
        for old, new in ('23 x', '23 y'), ('echo 17 x', 'false'):
            try:
                p.run(blocks_of('x', good.replace(old, new))[0])
            except AssertionError:
                continue
            raise AssertionError('%s is taken' % new)
    check(not like({'a': [1]}, {'a': [2]}) and like({'a': '...'}, {'a': 3}),
          'JSON')


def pages():
    yield 'README.rst'
    for folder, _, names in sorted(os.walk(os.path.join(TREE, 'docs'))):
        for name in sorted(names):
            if name.endswith('.rst'):
                yield os.path.relpath(os.path.join(folder, name), TREE)


def main():
    cases = [('wrong-examples', wrong_examples),
             ('info-migrate', every_line_of_info_migrate)]
    for path in pages():
        fn = measured if path.startswith('docs/performance') else page
        cases.append((path, lambda fn=fn, path=path: fn(path)))
    wanted = sys.argv[3:]
    cases = [c for c in cases if not wanted or c[0] in wanted]
    failed = False
    print('1..%d' % len(cases))
    for n, (name, case) in enumerate(cases, 1):
        try:
            case()
            print('ok %d /docs/%s' % (n, name), flush=True)
        except Skip as e:
            print('ok %d /docs/%s # SKIP %s' % (n, name, e), flush=True)
        except (AssertionError, OSError, ValueError,
                subprocess.SubprocessError) as e:
            failed = True
            print('# %s\nnot ok %d /docs/%s' % (
                str(e).replace('\n', '\n# '), n, name), flush=True)
    return failed


if __name__ == '__main__':
    sys.exit(main())
