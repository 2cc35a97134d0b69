#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test-qapi-gen.py SCRIPTS SCHEMA: the generator refuses what is wrong.

Each case is a schema that differs from a good one in one thing, and words
of the error. The real schema must load, too. Speaks TAP.
"""

import os
import re
import sys
import tempfile

sys.path.insert(0, sys.argv[1])
from qapi.gen_doc import gen_doc  # noqa: E402
from qapi.introspect import Introspection  # noqa: E402
from qapi.schema import Schema, SchemaError  # noqa: E402


def doc(name, *members, extra=''):
    lines = ['##', f'# @{name}:', '#', '# Words.', '#']
    for m in members:
        lines += [f'# @{m}: words', '#']
    return '\n'.join(lines) + '\n' + extra + '##\n'


ENUM = doc('E', 'one', 'two') + "{ 'enum': 'E', 'data': [ 'one', 'two' ] }\n"
BASE = doc('B', 'e') + "{ 'struct': 'B', 'data': { 'e': 'E' } }\n"
ONE = doc('One', 'x') + "{ 'struct': 'One', 'data': { 'x': 'int' } }\n"
GOOD = ENUM + BASE + ONE


def union(data, base="'B'", tag='e', documented=()):
    return (doc('U', *documented) + "{ 'union': 'U', 'base': " + base +
            f", 'discriminator': '{tag}', 'data': {data} }}\n")


FEATURE = '# Features:\n#\n# @unstable: words\n'
CASES = [
    # name, text, words of the error (None: it is good)
    ('good', GOOD + union("{ 'one': 'One' }"), None),
    ('feature', doc('S', 'a', extra=FEATURE) +
     "{ 'struct': 'S', 'data': { 'a': { 'type': 'int',"
     " 'features': [ 'unstable' ] } } }", None),
    ('no doc', "{ 'enum': 'E', 'data': [] }", 'not documented'),
    ('doc of another', doc('F') + "{ 'enum': 'E', 'data': [] }",
     "about 'F'"),
    ('member not documented', doc('S', 'a') +
     "{ 'struct': 'S', 'data': { 'a': 'int', 'b': 'int' } }",
     "'b' is not documented"),
    ('value not documented', doc('E') + "{ 'enum': 'E', 'data': [ 'a' ] }",
     "'a' is not documented"),
    ('argument not documented', doc('c') +
     "{ 'command': 'c', 'data': { 'a': 'int' } }", "'a' is not documented"),
    ('documents what is not there', doc('S', 'a') +
     "{ 'struct': 'S', 'data': {} }", 'does not exist'),
    ('empty member doc', doc('S', 'a').replace('@a: words', '@a:') +
     "{ 'struct': 'S', 'data': { 'a': 'int' } }", 'nothing said'),
    ('no words', doc('S').replace('# Words.\n', '') +
     "{ 'struct': 'S', 'data': {} }", 'says nothing'),
    ('feature not documented', doc('S') +
     "{ 'struct': 'S', 'data': {}, 'features': [ 'x' ] }", 'features'),
    ('feature documented only', doc('S', extra=FEATURE) +
     "{ 'struct': 'S', 'data': {} }", 'features'),
    ('returns not documented', doc('c') +
     "{ 'command': 'c', 'returns': 'int' }", "'Returns:' is missing"),
    ('unknown type', doc('S', 'a') +
     "{ 'struct': 'S', 'data': { 'a': 'Foo' } }", "no type 'Foo'"),
    ('unknown key', doc('S') +
     "{ 'struct': 'S', 'data': {}, 'if': 'X' }", 'unknown key'),
    ('not a definition', "{ 'strukt': 'S' }", 'not a definition'),
    ('defined twice', ENUM + ENUM, 'defined twice'),
    ('key twice', doc('S', 'a') +
     "{ 'struct': 'S', 'data': { 'a': 'int', 'a': 'str' } }", 'twice'),
    ('member twice by base', ONE + doc('T', 'x') +
     "{ 'struct': 'T', 'base': 'One', 'data': { 'x': 'int' } }", 'twice'),
    ('bad name', doc('S', '9') +
     "{ 'struct': 'S', 'data': { '9': 'int' } }", 'bad member name'),
    ('has- name', doc('S', 'has-a') +
     "{ 'struct': 'S', 'data': { 'has-a': 'int' } }", 'bad member name'),
    ('no tag', GOOD + union("{ 'one': 'One' }", tag='f'), 'discriminator'),
    ('optional tag', GOOD + union("{}", base="{ '*e': 'E' }",
                                  documented=('e',)), 'discriminator'),
    ('tag no enum', GOOD + union("{}", base="{ 'e': 'str' }",
                                 documented=('e',)), 'discriminator'),
    ('branch no value', GOOD + union("{ 'three': 'One' }"), 'no value of E'),
    ('branch no struct', GOOD + union("{ 'one': 'int' }"), 'must be a struct'),
    ('branch repeats', GOOD + union("{ 'one': 'B' }"), 'repeats'),
    ('alternate ambiguous', doc('A', 'a', 'b') +
     "{ 'alternate': 'A', 'data': { 'a': 'int', 'b': 'number' } }",
     "can't be told apart"),
    ('array of two', doc('S', 'a') +
     "{ 'struct': 'S', 'data': { 'a': [ 'int', 'str' ] } }", 'array type'),
    ('union unboxed', GOOD + union("{ 'one': 'One' }") + doc('c') +
     "{ 'command': 'c', 'data': 'U' }", 'bad argument type'),
    ('no closing brace', "{ 'enum': 'E'", 'expected'),
    ('trailing comma', doc('E') + "{ 'enum': 'E', 'data': [ 'a', ] }",
     'expected'),
    ('open doc', "##\n# @E:\n#\n# Words.\n{ 'enum': 'E' }", "closing '##'"),
    ('double quotes', '{ "enum": 1 }', 'unexpected character'),
    ('no such include', "{ 'include': 'nowhere.json' }", 'no file'),
]


def load(text):
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, 'schema.json')
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
        return Schema().load(path)


def verdict(text, words):
    try:
        load(text)
    except SchemaError as e:
        if words and words in str(e) and re.match(r'.*schema\.json:\d+: ',
                                                  str(e)):
            return None
        return str(e)
    return 'accepted' if words else None


def real_schema():
    schema = Schema().load(sys.argv[2])
    entities = Introspection(schema, set()).entities
    names = [(e['meta-type'], e['name']) for e in entities]
    if len(names) != len(set(names)):
        return 'an entity occurs twice in the introspection'
    commands = [d for d in schema.defs if d.meta == 'command']
    missing = {d.name for d in commands} - {n for _, n in names}
    return f'{missing} not in the introspection' if missing else None


def reference():
    """The manual has a section per definition and an item per member."""
    schema = Schema().load(sys.argv[2])
    text = gen_doc(schema, set())
    sections = re.split(r'\n(?=[^\n]+ \((?:\w+)\)\n-+\n)', text)
    found = {}
    for s in sections:
        m = re.match(r'`*([\w-]+)`* \((\w+)\)\n', s)
        if m:
            found[m.group(2), m.group(1)] = s
    for d in schema.defs:
        s = found.get((d.meta, d.name))
        if not s:
            return f'no section about {d.name}'
        for name in d.doc.members:
            if d.meta != 'alternate' and f'* ``{name}``' not in s:
                return f'{d.name}: nothing about {name}'
    return None


def main():
    results = [(name, verdict(text, words)) for name, text, words in CASES]
    results.append(('the real schema', real_schema()))
    results.append(('the reference manual', reference()))
    print(f'1..{len(results)}')
    for i, (name, problem) in enumerate(results, 1):
        if problem:
            print(f'# {name}: {problem}')
        print(f"{'not ok' if problem else 'ok'} {i} /qapi-gen/{name}")
    return 1 if any(p for _, p in results) else 0


if __name__ == '__main__':
    sys.exit(main())
