#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test-introspection.py BINARY MACHINE...: what a binary says of itself is so.

The schema, the list of commands, the types of objects and the tree of
objects are what clients decide by; here they are held against each other.
Speaks TAP, one case per statement and machine.
"""

import sys

from qmp_client import Machine, QmpError


class Schema:
    def __init__(self, entities):
        self.entities = {(e['meta-type'] in ('command', 'event'), e['name']): e
                         for e in entities}
        self.list = entities

    def type(self, name):
        return self.entities[False, name]

    def command(self, name):
        return self.entities[True, name]

    def members(self, name):
        return {m['name']: m for m in self.type(name)['members']}


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def commands_are_in_schema(vm, schema):
    listed = {c['name'] for c in vm.cmd('query-commands')}
    inside = {e['name'] for e in schema.list if e['meta-type'] == 'command'}
    check(listed == inside, f'differ: {listed ^ inside}')


def schema_is_closed(vm, schema):
    for e in schema.list:
        refs = [e[k] for k in ('arg-type', 'ret-type', 'element-type')
                if k in e]
        refs += [m['type'] for m in e.get('members', []) if 'type' in m]
        refs += [v['type'] for v in e.get('variants', [])]
        for r in refs:
            check((False, r) in schema.entities, f"{e['name']}: no type {r}")
        if e['meta-type'] == 'enum':
            check(e['values'] == [m['name'] for m in e['members']], e['name'])
        if 'tag' in e:
            tag = schema.type(schema.members(e['name'])[e['tag']]['type'])
            check({v['case'] for v in e['variants']} == set(tag['values']),
                  f"{e['name']}: variants")


def names_are_unique(vm, schema):
    check(len(schema.entities) == len(schema.list), 'a name occurs twice')


def queries_answer(vm, schema):
    """Every query that needs no argument answers, or says why not."""
    for e in schema.list:
        if e['meta-type'] != 'command' or not e['name'].startswith('query-'):
            continue
        members = schema.type(e['arg-type'])['members']
        if all('default' in m for m in members):
            try:
                vm.cmd(e['name'])
            except QmpError as err:
                check(err.desc, f"{e['name']}: an error without words")


def unknown_arguments_are_refused(vm, schema):
    for e in schema.list:
        if e['meta-type'] == 'command' and e['name'] not in ('quit',):
            try:
                vm.cmd(e['name'], **{'no-such-argument': 1})
            except QmpError:
                continue
            check(False, f"{e['name']} accepts anything")


def objects_can_be_made(vm, schema):
    """What object-add's schema offers exists, with just those properties."""
    union = schema.type(schema.command('object-add')['arg-type'])
    made = {t['name'] for t in vm.cmd('qom-list-types',
                                      implements='user-creatable')}
    for v in union['variants']:
        check(v['case'] in made, f"{v['case']} is no user-creatable type")
        props = {p['name'] for p in vm.cmd('qom-list-properties',
                                           typename=v['case'])}
        for m in schema.members(v['type']):
            check(m in props, f"{v['case']} has no property {m}")
    extra = made - {v['case'] for v in union['variants']}
    check(not extra, f'not in the schema: {extra}')


def properties_of_devices(vm, schema):
    for t in vm.cmd('qom-list-types', implements='device'):
        props = vm.cmd('device-list-properties', typename=t['name'])
        check(all(p['type'] for p in props), t['name'])


def types_have_parents(vm, schema):
    types = {t['name']: t for t in vm.cmd('qom-list-types', abstract=True)}
    for t in types.values():
        check('parent' not in t or t['parent'] in types, t['name'])
    for t in ('object', 'device', 'machine', 'accel', 'cpu'):
        check(t in types, f'no type {t}')


def machines_exist(vm, schema):
    types = {t['name'] for t in vm.cmd('qom-list-types',
                                       implements='machine')}
    machines = vm.cmd('query-machines')
    check(machines, 'no machine')
    for m in machines:
        check(m['name'] + '-machine' in types, f"no type for {m['name']}")


def objects_are_listed(vm, schema):
    """/objects is there before the first object, and holds the user's."""
    def listed():
        return [p['name'] for p in vm.cmd('qom-list', path='/objects')
                if p['name'] != 'type']

    check('made-here' not in listed(), listed())
    vm.cmd('object-add', **{'qom-type': 'memory-backend-ram',
                            'id': 'made-here', 'size': 4096})
    check('made-here' in listed(), listed())
    vm.cmd('object-del', id='made-here')
    check('made-here' not in listed(), listed())


def tree_can_be_read(vm, schema):
    """Each property of each object reads as what its type says, or says why
    not; a child's value is its path."""
    kinds = {'bool': bool, 'string': str, 'str': str}
    todo, seen = ['/'], 0
    while todo:
        path = todo.pop()
        seen += 1
        check(seen < 10000, 'the tree does not end')
        for p in vm.cmd('qom-list', path=path):
            below = path.rstrip('/') + '/' + p['name']
            try:
                value = vm.cmd('qom-get', path=path, property=p['name'])
            except QmpError as err:
                check('not readable' in err.desc, f'{below}: {err.desc}')
                continue
            if p['type'].startswith('child<'):
                check(value == below, f'{below} is called {value}')
                todo.append(below)
            elif p['type'].startswith('link<'):
                check(isinstance(value, str), below)
            elif p['type'].startswith(('int', 'uint', 'size')):
                check(isinstance(value, int), f'{below}: {value!r}')
            elif p['type'] in kinds:
                check(isinstance(value, kinds[p['type']]), below)


def ends_on_sigterm(vm, schema):
    vm.__exit__()
    check(vm.status == 0, f'exit status {vm.status}')


CHECKS = [names_are_unique, schema_is_closed, commands_are_in_schema,
          queries_answer, unknown_arguments_are_refused, objects_can_be_made,
          properties_of_devices, types_have_parents, machines_exist,
          objects_are_listed, tree_can_be_read, ends_on_sigterm]


def main():
    binary, machines = sys.argv[1], sys.argv[2:]
    print(f'1..{len(machines) * len(CHECKS)}')
    n, failed = 0, False
    for machine in machines:
        with Machine(binary, '-machine', machine, '-accel', 'qtest') as vm:
            schema = Schema(vm.cmd('query-qmp-schema'))
            for fn in CHECKS:
                n += 1
                name = f'/introspection/{machine}/{fn.__name__}'
                try:
                    fn(vm, schema)
                    print(f'ok {n} {name}', flush=True)
                except (AssertionError, KeyError, QmpError) as e:
                    failed = True
                    print(f'# {e!r}\nnot ok {n} {name}', flush=True)
    return failed


if __name__ == '__main__':
    sys.exit(main())
