#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""check-docs.py TREE BUILD BINARY...: the docs say what the programs do.

What a binary lists of itself (-help, HMP's help, capabilities, parameters,
QMP commands) must be found in the docs, and so must each lock and thread of
the tree; links and paths in the docs must lead somewhere; a command line in a console block that begins with `build/` must be
made of options that exist. Speaks TAP, one case a rule; the first case feeds
each rule something wrong, which it has to find.
"""
import io
import json
import os
import re
import subprocess
import sys

LITERAL = re.compile(r'``([^`]+)``')
LINK = re.compile(r'`[^`<>]*<([^`<>\s]+(?:\s[^`<>]*)?)>`_')
TARGET = re.compile(r'^\.\. _[^:]+: (\S+)$', re.M)
# Folders of the tree that a path in the docs may begin with.
ROOMS = ('accel', 'chardev', 'docs', 'hw', 'include', 'io', 'migration',
         'monitor', 'qapi', 'qom', 'scripts', 'system', 'target', 'tests',
         'util', 'vmstate')
PATH = re.compile(r'^(?:%s)/[\w./-]+$' % '|'.join(ROOMS))


THREAD = re.compile(r'qemu_thread_create\([^;"]*"([^"]+)"')
MUTEX = re.compile(r'^\s*(?:static |extern )?QemuMutex \w+', re.M)

try:
    from docutils.core import publish_doctree
except ImportError:
    publish_doctree = None


class Binary:
    """What a binary says of itself."""

    def __init__(self, path):
        self.name = os.path.basename(path)
        self.takes_argument = self.read_options(subprocess.run(
            [path, '-help'], capture_output=True, text=True, check=True).stdout)
        answers = self.ask(path)
        self.commands = [c['name'] for c in answers[0]]
        self.capabilities = [c['capability'] for c in answers[1]]
        self.parameters = sorted(answers[2])
        self.hmp = self.read_hmp(answers[3]) + \
            ['info ' + name for name in self.read_hmp(answers[4])
             if name != 'info']

    @staticmethod
    def read_options(text):
        """Option -> whether an argument follows it."""
        options = {}
        for line in text.split('\n'):
            # -NAME [ARGUMENT], then the help text in column 32 or on a line
            # of its own.
            m = re.match(r'-(\S+)( \S)?', line)
            if m:
                options[m.group(1)] = m.group(2) is not None
        return options

    @staticmethod
    def read_hmp(text):
        names = []
        for line in text.replace('\r', '').split('\n'):
            if ' -- ' in line:
                name = line.split(' -- ')[0]
                name = re.sub(r'^info (?=\w)', '', name).split(' ')[0]
                names.append(name.split('|')[0])
        return names

    @staticmethod
    def ask(path):
        hmp = 'human-monitor-command'
        commands = [('query-commands', {}), ('query-migrate-capabilities', {}),
                    ('query-migrate-parameters', {}),
                    (hmp, {'command-line': 'help'}),
                    (hmp, {'command-line': 'help info'})]
        text = ''.join(json.dumps({'execute': name, 'arguments': args}) + '\n'
                       for name, args in
                       [('qmp_capabilities', {})] + commands + [('quit', {})])
        out = subprocess.run([path, '-M', 'none', '-accel', 'qtest',
                              '-qmp', 'stdio'], input=text,
                             capture_output=True, text=True, check=True,
                             timeout=60).stdout
        answers = [json.loads(line) for line in out.split('\n') if line]
        return [a['return'] for a in answers if 'return' in a][1:-1]


class Docs:
    def __init__(self, tree, texts):
        self.tree = tree
        self.texts = texts  # path in the tree -> text

    @classmethod
    def of_tree(cls, tree):
        paths = ['README.rst']
        for folder, _, names in os.walk(os.path.join(tree, 'docs')):
            paths += [os.path.relpath(os.path.join(folder, n), tree)
                      for n in names if n.endswith('.rst')]
        return cls(tree, {p: open(os.path.join(tree, p),
                                  encoding='utf-8').read()
                          for p in sorted(paths)})

    def literals(self, *paths):
        """The words of all literals, and each literal as a whole."""
        found = set()
        for p in paths:
            for text in LITERAL.findall(self.texts.get(p, '')):
                text = ' '.join(text.split())
                found.add(text)
                found.update(re.split(r'[\s,]+', text))
        return found


def missing(wanted, known, where):
    return ['%s: ``%s`` is not in %s' % (who, name, where)
            for who, name in wanted if name not in known]


def options(docs, binaries, reference):
    known = docs.literals('docs/using.rst')
    return missing([(b.name, '-' + o) for b in binaries
                    for o in b.takes_argument], known, 'docs/using.rst')


def human_commands(docs, binaries, reference):
    known = docs.literals('docs/using.rst', 'docs/monitors.rst',
                          'docs/migration.rst')
    return missing([(b.name, c) for b in binaries for c in b.hmp], known,
                   'docs/using.rst, monitors.rst, migration.rst')


def machine_commands(docs, binaries, reference):
    known = set(re.findall(r'^``([\w-]+)`` \(command\)$', reference, re.M))
    return missing([(b.name, c) for b in binaries for c in b.commands], known,
                   'qmp-reference.rst')


def migration_options(docs, binaries, reference):
    known = docs.literals('docs/migration.rst')
    return missing([(b.name, n) for b in binaries
                    for n in b.capabilities + b.parameters], known,
                   'docs/migration.rst')


def links(docs, binaries, reference):
    faults = []
    for path, text in docs.texts.items():
        for link in LINK.findall(text) + TARGET.findall(text):
            if re.match(r'\w+:', link):
                continue
            to = os.path.join(docs.tree, os.path.dirname(path),
                              ''.join(link.split()).split('#')[0])
            if not os.path.exists(to):
                faults.append('%s: the link to %s leads nowhere' % (path, link))
    return faults


def paths(docs, binaries, reference):
    faults = []
    for path, text in docs.texts.items():
        for literal in LITERAL.findall(text):
            if PATH.match(literal) and 'NAME' not in literal and \
                    not os.path.exists(os.path.join(docs.tree, literal)):
                faults.append('%s: there is no %s' % (path, literal))
    return faults


def sources(tree):
    """Path and text of each source of the programs."""
    for room in ROOMS:
        for folder, _, names in os.walk(os.path.join(tree, room)):
            for path in (os.path.join(folder, n) for n in names
                         if n.endswith(('.c', '.h'))):
                short = os.path.relpath(path, tree)
                if not short.startswith(('tests/', 'include/qemu/')):
                    with open(path, encoding='utf-8') as f:
                        yield short, f.read()


def locks(docs, binaries, reference):
    """Files with a mutex that the table of locks does not name."""
    known = docs.literals('docs/devel/locking.rst')
    return ['%s has a lock that is not in docs/devel/locking.rst' % path
            for path, text in sources(docs.tree)
            if path not in known and MUTEX.search(text)]


def threads(docs, binaries, reference):
    known = docs.literals('docs/architecture.rst')
    return ['%s: the thread %s is not in docs/architecture.rst' % (path, name)
            for path, text in sources(docs.tree)
            for name in THREAD.findall(text) if name not in known]


def console_commands(text):
    """The words of each command of console blocks, continuations joined."""
    for block in re.findall(r'^\.\. code-block:: console\n\n((?:(?:    .*)?\n)+)',
                            text, re.M):
        block = re.sub(r'\\\n\s*', '', block)
        for line in block.split('\n'):
            words = re.sub(r'^\s*[$#] ', '', line).split()
            while words and re.match(r'^\w+=\S*$', words[0]):
                words = words[1:]
            if words and words[0].startswith('build/'):
                yield words


def wrong_words(words, binary):
    i = 1
    while i < len(words) and words[i] not in ('&', '|', '>', '<'):
        name = re.sub(r'^--?', '', words[i])
        if not words[i].startswith('-') or name not in binary.takes_argument:
            return '%s does not know %s' % (binary.name, words[i])
        if binary.takes_argument[name]:
            i += 1
            while words[min(i, len(words) - 1)].count("'") == 1 and \
                    i + 1 < len(words) and "'" not in words[i + 1]:
                i += 1
        i += 1
    return None if i <= len(words) else '%s: an argument is missing' % words[-1]


def consoles(docs, binaries, reference):
    faults = []
    known = {b.name: b for b in binaries}
    for path, text in docs.texts.items():
        for words in console_commands(text):
            name = os.path.basename(words[0])
            if name in known:
                fault = wrong_words(words, known[name])
                if fault:
                    faults.append('%s: %s' % (path, fault))
    return faults


def well_formed(docs, binaries, reference):
    faults = []
    for path, text in list(docs.texts.items()) + \
            [('qmp-reference.rst', reference)]:
        warnings = io.StringIO()
        publish_doctree(text, source_path=path, settings_overrides={
            'warning_stream': warnings, 'report_level': 2, 'halt_level': 5,
            'syntax_highlight': 'none', 'file_insertion_enabled': False})
        faults += [line for line in warnings.getvalue().split('\n')
                   if line.startswith(path + ':')]
    return faults


RULES = [
    ('every option is in docs/using.rst', options),
    ('every HMP command is in the docs', human_commands),
    ('every QMP command is in the reference', machine_commands),
    ('capabilities and parameters are in docs/migration.rst',
     migration_options),
    ('links lead somewhere', links),
    ('paths of the tree exist', paths),
    ('every lock is in docs/devel/locking.rst', locks),
    ('every thread is in docs/architecture.rst', threads),
    ('command lines are made of options that exist', consoles),
    ('the docs are well-formed', well_formed),
]
SKIPPED = {} if publish_doctree else {well_formed: 'no docutils here'}


def rules_that_find_nothing(tree, binaries):
    wrong = Docs(tree, {'docs/using.rst': (
        '* an item\n  `no end\n\n'
        'See `this <no-such-file.rst>`_ and ``migration/no-such-file.c``.\n\n'
        '.. code-block:: console\n\n'
        '    $ build/%s -M none \\\n          -no-such-option\n\n'
        % binaries[0].name)})
    return [rule.__name__ for _, rule in RULES
            if rule not in SKIPPED and not rule(wrong, binaries, '')]


def main():
    tree, build = sys.argv[1:3]
    binaries = [Binary(path) for path in sys.argv[3:]]
    docs = Docs.of_tree(tree)
    with open(os.path.join(build, 'qapi', 'qmp-reference.rst'),
              encoding='utf-8') as f:
        reference = f.read()
    bad = False

    print('1..%d' % (len(RULES) + 1))
    results = [('each rule finds what is wrong', None,
                rules_that_find_nothing(tree, binaries))]
    for name, rule in RULES:
        results.append((name, SKIPPED.get(rule), [] if rule in SKIPPED else
                        rule(docs, binaries, reference)))
    for n, (name, skipped, faults) in enumerate(results, 1):
        if skipped:
            print('ok %d - %s # SKIP %s' % (n, name, skipped))
            continue
        print('%s %d - %s' % ('not ok' if faults else 'ok', n, name))
        for fault in sorted(set(faults)):
            print('# ' + fault)
        bad |= bool(faults)
    return bad


if __name__ == '__main__':
    sys.exit(main())
