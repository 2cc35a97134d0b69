# SPDX-License-Identifier: GPL-2.0-or-later
"""query-qmp-schema's answer, in the form QEMU gives it.

Only what commands and events reach is listed. Names of types are no
interface, so user-defined types are called by numbers, in the order in
which they are first met.
"""

import json

from .gen_c import NOTE, SPDX
from .schema import BUILTINS


class Introspection:
    def __init__(self, schema, pending):
        self.schema = schema
        self.entities = []
        self.numbers = {}
        self.queue = []
        for d in schema.defs:
            if d.meta == 'command' and d.name not in pending:
                self.command(d)
            elif d.meta == 'event':
                self.entity(d, {'meta-type': 'event', 'name': d.name,
                                'arg-type': self.arg(d.arg)})
        while self.queue:
            self.describe(self.queue.pop(0))

    def entity(self, d, obj):
        if d is not None and d.features:
            obj['features'] = d.features
        self.entities.append(obj)

    def command(self, d):
        obj = {'meta-type': 'command', 'name': d.name,
               'arg-type': self.arg(d.arg), 'ret-type': self.arg(d.ret)}
        if d.oob:
            obj['allow-oob'] = True
        self.entity(d, obj)

    def arg(self, t):
        return self.use(t if t else 'q_empty')

    def use(self, t):
        """The name that stands for a type; queues it when new."""
        if t != 'q_empty' and t.meta == 'array':
            elem = self.use(t.elem)
            return self.named(t, f"[{elem}]", 'array:' + t.name)
        if t != 'q_empty' and t.meta == 'builtin':
            kind = BUILTINS[t.name][1]
            name = {'int': 'int', 'value': 'any'}.get(kind, t.name)
            return self.named(t, name, 'builtin:' + name)
        key = t if t == 'q_empty' else 'type:' + t.name
        return self.named(t, None, key)

    def named(self, t, name, key):
        if key not in self.numbers:
            if name is None:
                name = str(sum(n.isdigit() for n in self.numbers.values()))
            self.numbers[key] = name
            self.queue.append((t, name))
        return self.numbers[key]

    def member(self, m):
        obj = {'name': m.name, 'type': self.use(m.type)}
        if m.optional:
            obj['default'] = None
        if m.features:
            obj['features'] = m.features
        return obj

    def describe(self, item):
        t, name = item
        if t == 'q_empty':
            self.entity(None, {'meta-type': 'object', 'name': name,
                               'members': []})
            return
        obj = {'meta-type': {'struct': 'object', 'union': 'object'}.get(
            t.meta, t.meta), 'name': name}
        if t.meta == 'builtin':
            obj['json-type'] = BUILTINS[t.name][1]
        elif t.meta == 'array':
            obj['element-type'] = self.use(t.elem)
        elif t.meta == 'enum':
            obj['members'] = []
            for v in t.values:
                entry = {'name': v.name}
                if v.features:
                    entry['features'] = v.features
                obj['members'].append(entry)
            obj['values'] = [v.name for v in t.values]
        elif t.meta == 'alternate':
            obj['members'] = [{'type': self.use(b)}
                              for b in t.branches.values()]
        else:
            obj['members'] = [self.member(m) for m in t.members]
            if t.meta == 'union':
                obj['tag'] = t.tag.name
                obj['variants'] = [
                    {'case': v.name,
                     'type': self.arg(t.branches.get(v.name))}
                    for v in t.tag.type.values]
        self.entity(t, obj)


def gen_introspect(schema, pending):
    text = json.dumps(Introspection(schema, pending).entities,
                      separators=(', ', ': '))
    out = SPDX + NOTE.format('qapi-schema')
    out += '#include "qemu/osdep.h"\n\n#include "qapi/qmp-command.h"\n\n'
    out += 'const char qmp_schema_json[] =\n'
    for i in range(0, len(text), 64):
        piece = text[i:i + 64].replace('\\', '\\\\').replace('"', '\\"')
        out += f'    "{piece}"\n'
    return out + '    ;\n'
