# SPDX-License-Identifier: GPL-2.0-or-later
"""The schema: read, checked, and turned into Python objects.

The language is QEMU's (a JSON with single quotes and # comments); each
top-level definition must be preceded by a comment block between two lines
of '##' that documents it and every one of its members, values and features.
What a generator may rely on after load(): every type name resolves, every
discriminator is an enum member, names are clean and unique, all is documented.
"""

import os
import re

BUILTINS = {
    # name: (C type, json-type of introspection, is it a pointer in C)
    'str': ('char *', 'string', True),
    'int': ('int64_t', 'int', False),
    'number': ('double', 'number', False),
    'bool': ('bool', 'boolean', False),
    'int8': ('int8_t', 'int', False),
    'int16': ('int16_t', 'int', False),
    'int32': ('int32_t', 'int', False),
    'int64': ('int64_t', 'int', False),
    'uint8': ('uint8_t', 'int', False),
    'uint16': ('uint16_t', 'int', False),
    'uint32': ('uint32_t', 'int', False),
    'uint64': ('uint64_t', 'int', False),
    'size': ('uint64_t', 'int', False),
    'any': ('json_object *', 'value', True),
    'null': ('json_object *', 'null', True),
}

DEFINING = ('enum', 'struct', 'union', 'alternate', 'command', 'event')
KEYS = {
    'enum': {'data', 'prefix', 'features'},
    'struct': {'data', 'base', 'features'},
    'union': {'base', 'discriminator', 'data', 'features'},
    'alternate': {'data', 'features'},
    'command': {'data', 'returns', 'boxed', 'gen', 'allow-oob',
                'allow-preconfig', 'features'},
    'event': {'data', 'boxed', 'features'},
}
TOKEN = re.compile(r"""(?P<ws>[ \t\r\n]+)|(?P<comment>\#[^\n]*\n)
                   |(?P<str>'[^'\n]*')|(?P<punct>[{}\[\]:,])
                   |(?P<word>true|false)""", re.X)
NAME = re.compile(r'(__[a-z0-9.-]+_)?[a-zA-Z][a-zA-Z0-9_-]*$')


class SchemaError(Exception):
    pass


class Doc:
    """What one comment block says: a body, and words per member."""

    def __init__(self, name):
        self.name = name
        self.body = []
        self.members = {}
        self.features = {}
        self.returns = []
        self.errors = []
        self.since = ''


class Member:
    def __init__(self, name, typ, optional, features):
        self.name = name
        self.type = typ          # a type object after resolve()
        self.optional = optional
        self.features = features


class Builtin:
    meta = 'builtin'

    def __init__(self, name):
        self.name = name
        self.module = None
        self.features = []


class Array:
    meta = 'array'

    def __init__(self, elem):
        self.elem = elem
        self.name = elem.name + 'List'
        self.module = elem.module
        self.features = []


class Def:
    """A definition. Which attributes exist depends on .meta."""

    def __init__(self, meta, name, module, where, expr, doc):
        self.meta, self.name, self.module = meta, name, module
        self.where, self.expr, self.doc = where, expr, doc
        self.features = []
        self.implicit = False

    def fail(self, text):
        raise SchemaError(f"{self.where}: {self.meta} '{self.name}': {text}")


# ------------------------------------------------------------------ reading

class Reader:
    def __init__(self, path):
        self.path = path
        self.text = open(path, encoding='utf-8').read()
        self.pos = 0
        self.comment = None      # the last ## block, until used

    def where(self):
        return f"{self.path}:{self.text.count(chr(10), 0, self.pos) + 1}"

    def fail(self, text):
        raise SchemaError(f"{self.where()}: {text}")

    def token(self):
        block = None
        while self.pos < len(self.text):
            m = TOKEN.match(self.text, self.pos)
            if not m:
                self.fail(f"unexpected character {self.text[self.pos]!r}")
            self.pos = m.end()
            if m.lastgroup == 'ws':
                continue
            if m.lastgroup == 'comment':
                line = m.group().rstrip('\n')
                if line == '##':
                    if block is None:
                        block = []
                    else:
                        self.comment, block = block, None
                elif block is not None:
                    block.append(line)
                continue
            if block is not None:
                self.fail("comment block without its closing '##'")
            return m.lastgroup, m.group()
        return None, None

    def value(self, tok=None):
        kind, text = tok or self.token()
        if kind == 'str':
            return text[1:-1]
        if kind == 'word':
            return text == 'true'
        if text == '[':
            return self.sequence()
        if text == '{':
            return self.mapping()
        self.fail(f"a value expected, not {text!r}")

    def sequence(self):
        items = []
        tok = self.token()
        if tok[1] == ']':
            return items
        while True:
            items.append(self.value(tok))
            sep = self.token()[1]
            if sep == ']':
                return items
            if sep != ',':
                self.fail("',' or ']' expected")
            tok = self.token()

    def mapping(self):
        items = {}
        tok = self.token()
        if tok[1] == '}':
            return items
        while True:
            if tok[0] != 'str':
                self.fail("a key in single quotes expected")
            key = tok[1][1:-1]
            if key in items:
                self.fail(f"key '{key}' twice")
            if self.token()[1] != ':':
                self.fail("':' expected")
            items[key] = self.value()
            sep = self.token()[1]
            if sep == '}':
                return items
            if sep != ',':
                self.fail("',' or '}' expected")
            tok = self.token()

    def expressions(self):
        while True:
            tok = self.token()
            if tok[0] is None:
                return
            where = self.where()
            expr = self.value(tok)
            if not isinstance(expr, dict):
                self.fail("a definition in braces expected")
            block, self.comment = self.comment, None
            yield expr, block, where


def parse_doc(block, where):
    """Sections of a comment block; texts keep their line structure."""
    lines = []
    for line in block:
        if line != '#' and not line.startswith('# '):
            raise SchemaError(f"{where}: '{line}': put a blank after '#'")
        lines.append(line[2:].rstrip())
    while lines and not lines[0]:
        lines.pop(0)
    head = re.match(r'@([\w.-]+):$', lines[0]) if lines else None
    if not head:
        raise SchemaError(f"{where}: a doc comment starts with '# @NAME:'")
    doc = Doc(head.group(1))
    target, into_features = doc.body, False
    for line in lines[1:]:
        arg = re.match(r'@([\w.-]+):(?: (.*))?$', line)
        if arg:
            table = doc.features if into_features else doc.members
            if arg.group(1) in table:
                raise SchemaError(f"{where}: '{arg.group(1)}' twice in doc")
            target = table.setdefault(arg.group(1), [])
            target.append(arg.group(2) or '')
        elif line == 'Features:':
            into_features, target = True, []
        elif line.startswith('Returns:'):
            target = doc.returns
            target.append(line[8:].strip())
        elif line.startswith('Errors:'):
            target = doc.errors
            target.append(line[7:].strip())
        elif line.startswith('Since:'):
            doc.since, target = line[6:].strip(), []
        else:
            if target is not doc.body and line and not line.startswith(' '):
                target = doc.body
            target.append(line.strip() if target is not doc.body else line)
    return doc


# ----------------------------------------------------------------- checking

class Schema:
    def __init__(self):
        self.types = {n: Builtin(n) for n in BUILTINS}
        self.defs = []           # in order of appearance
        self.modules = []        # names, in order
        self.includes = {}       # module -> modules it includes
        self.arrays = {}

    def load(self, path):
        self._read(path, set())
        for d in self.defs:
            self._define(d)
        for d in self.defs:
            self._check_doc(d)
        return self

    def _read(self, path, seen):
        path = os.path.normpath(path)
        if path in seen:
            return
        seen.add(path)
        module = os.path.splitext(os.path.basename(path))[0]
        self.includes[module] = []
        for expr, block, where in Reader(path).expressions():
            if 'include' in expr:
                inc = os.path.join(os.path.dirname(path), expr['include'])
                if not os.path.exists(inc):
                    raise SchemaError(f"{where}: no file {inc}")
                self._read(inc, seen)
                self.includes[module].append(
                    os.path.splitext(os.path.basename(inc))[0])
                continue
            meta = next((m for m in DEFINING if m in expr), None)
            if not meta:
                raise SchemaError(f"{where}: not a definition")
            name = expr[meta]
            unknown = set(expr) - KEYS[meta] - {meta}
            if unknown:
                raise SchemaError(
                    f"{where}: {meta} '{name}': unknown key {unknown}")
            if not block:
                raise SchemaError(f"{where}: '{name}' is not documented")
            d = Def(meta, name, module, where, expr, parse_doc(block, where))
            self._add(d)
        self.modules.append(module)

    def _add(self, d):
        if not NAME.match(d.name):
            d.fail("bad name")
        if d.meta in ('command', 'event'):
            if any(x.meta == d.meta and x.name == d.name for x in self.defs):
                d.fail("defined twice")
        else:
            if d.name in self.types:
                d.fail("defined twice")
            self.types[d.name] = d
        self.defs.append(d)

    def resolve(self, d, ref):
        if isinstance(ref, list):
            if len(ref) != 1 or not isinstance(ref[0], str):
                d.fail("an array type is ['type']")
            elem = self.resolve(d, ref[0])
            return self.arrays.setdefault(elem.name, Array(elem))
        if ref not in self.types:
            d.fail(f"no type '{ref}'")
        return self.types[ref]

    def _features(self, d, items):
        names = []
        for f in items or []:
            names.append(f['name'] if isinstance(f, dict) else f)
        if len(set(names)) != len(names):
            d.fail("feature twice")
        return names

    def _members(self, d, data):
        members = []
        for key, ref in data.items():
            optional = key.startswith('*')
            name = key[1:] if optional else key
            if not NAME.match(name) or name.startswith(('has-', 'has_')):
                d.fail(f"bad member name '{name}'")
            features = []
            if isinstance(ref, dict):
                if set(ref) - {'type', 'features'}:
                    d.fail(f"member '{name}': unknown key")
                features = self._features(d, ref.get('features'))
                ref = ref['type']
            members.append(Member(name, self.resolve(d, ref), optional,
                                  features))
        return members

    def _implicit(self, d, name, data):
        """A struct written in place, as the argument of a command."""
        s = Def('struct', name, d.module, d.where, {'data': data}, d.doc)
        s.implicit = True
        s.base, s.local = None, self._members(s, data)
        s.members = s.local
        return s

    def _define(self, d):
        if hasattr(d, 'defined'):
            return
        d.defined = True
        d.features = self._features(d, d.expr.get('features'))
        getattr(self, '_define_' + d.meta)(d)
        names = [m.name for m in getattr(d, 'members', [])]
        for n in names:
            if names.count(n) > 1:
                d.fail(f"member '{n}' twice")

    def _define_enum(self, d):
        d.values = []
        for v in d.expr['data']:
            v = v if isinstance(v, dict) else {'name': v}
            if set(v) - {'name', 'features'}:
                d.fail("unknown key in a value")
            d.values.append(Member(v['name'], None, False,
                                   self._features(d, v.get('features'))))
        d.prefix = d.expr.get('prefix')

    def _base(self, d, base):
        self._define(base)
        if base.meta != 'struct':
            d.fail("a base must be a struct")
        return base

    def _define_struct(self, d):
        d.base = None
        if 'base' in d.expr:
            d.base = self._base(d, self.resolve(d, d.expr['base']))
        d.local = self._members(d, d.expr['data'])
        d.members = (d.base.members if d.base else []) + d.local

    def _define_union(self, d):
        base = d.expr['base']
        if isinstance(base, dict):
            d.base, d.local = None, self._members(d, base)
            d.members = d.local
        else:
            d.base, d.local = self._base(d, self.resolve(d, base)), []
            d.members = d.base.members
        d.tag = next((m for m in d.members
                      if m.name == d.expr['discriminator']), None)
        if not d.tag or d.tag.type.meta != 'enum' or d.tag.optional:
            d.fail("the discriminator must be a mandatory enum of the base")
        self._define(d.tag.type)
        legal = {v.name for v in d.tag.type.values}
        d.branches = {}
        for value, ref in d.expr['data'].items():
            if value not in legal:
                d.fail(f"branch '{value}' is no value of {d.tag.type.name}")
            branch = self.resolve(d, ref)
            if branch.meta not in ('struct', 'union'):
                d.fail(f"branch '{value}' must be a struct or a union")
            self._define(branch)
            clash = {m.name for m in branch.members} & \
                {m.name for m in d.members}
            if clash:
                d.fail(f"branch '{value}' repeats {clash}")
            d.branches[value] = branch

    def _define_alternate(self, d):
        d.branches = {}
        seen = set()
        for name, ref in d.expr['data'].items():
            branch = self.resolve(d, ref)
            kind = {'struct': 'object', 'union': 'object', 'enum': 'string',
                    'array': 'array'}.get(branch.meta) \
                or BUILTINS[branch.name][1]
            if kind in seen or kind == 'value':
                d.fail(f"branch '{name}' can't be told apart")
            seen.add('number' if kind == 'int' else kind)
            d.branches[name] = branch

    def _argument(self, d):
        data = d.expr.get('data')
        d.boxed = d.expr.get('boxed', False)
        if data is None:
            d.arg = None
        elif isinstance(data, dict):
            if d.boxed:
                d.fail("boxed wants a named type")
            d.arg = self._implicit(d, f'q_obj_{d.name}_arg', data) \
                if data else None
        else:
            d.arg = self.resolve(d, data)
            if d.arg.meta == 'union' and not d.boxed or \
               d.arg.meta not in ('struct', 'union'):
                d.fail("bad argument type")

    def _define_command(self, d):
        self._argument(d)
        ret = d.expr.get('returns')
        d.ret = self.resolve(d, ret) if ret else None
        d.gen = d.expr.get('gen', True)
        d.oob = d.expr.get('allow-oob', False)
        d.preconfig = d.expr.get('allow-preconfig', False)

    def _define_event(self, d):
        self._argument(d)

    # --------------------------------------------------- documentation

    def _check_doc(self, d):
        if d.doc.name != d.name:
            d.fail(f"its doc comment is about '{d.doc.name}'")
        if not any(d.doc.body) and not (d.meta == 'command' and d.doc.returns):
            d.fail("its doc comment says nothing about the whole")
        wanted = self._wanted(d)
        for name in wanted - set(d.doc.members):
            d.fail(f"'{name}' is not documented")
        for name in set(d.doc.members) - wanted:
            d.fail(f"documents '{name}', which does not exist")
        for name, text in d.doc.members.items():
            if not any(text):
                d.fail(f"nothing said about '{name}'")
        feats = set(d.features)
        for m in getattr(d, 'values', None) or getattr(d, 'local', []) or []:
            feats |= set(m.features)
        if d.meta in ('command', 'event') and d.arg and d.arg.implicit:
            for m in d.arg.local:
                feats |= set(m.features)
        if feats != set(d.doc.features):
            d.fail(f"features {sorted(feats)}, documented "
                   f"{sorted(d.doc.features)}")
        if d.meta == 'command' and d.ret and not any(d.doc.returns):
            d.fail("'Returns:' is missing")

    def _wanted(self, d):
        if d.meta == 'enum':
            return {v.name for v in d.values}
        if d.meta == 'alternate':
            return set(d.branches)
        if d.meta in ('command', 'event'):
            if d.arg and d.arg.implicit:
                return {m.name for m in d.arg.local}
            return set()
        return {m.name for m in d.local}
