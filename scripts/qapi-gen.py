#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Generate C from the QAPI schema.

usage: qapi-gen.py [--pending FILE] -o DIR SCHEMA
       qapi-gen.py --doc FILE SCHEMA           the reference manual
       qapi-gen.py --list-modules SCHEMA

--pending: commands (one a line) that no code answers yet: their prototypes
are declared, but they are in no table and in no introspection.
Files are rewritten only when they change, so that little is rebuilt.
"""

import argparse
import os
import sys

from qapi import gen_c, gen_doc, introspect
from qapi.schema import Schema, SchemaError


def write(path, text):
    try:
        with open(path, encoding='utf-8') as f:
            if f.read() == text:
                return
    except FileNotFoundError:
        pass
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)


def read_pending(path, schema):
    if not path:
        return set()
    with open(path, encoding='utf-8') as f:
        names = {w for line in f for w in line.split('#')[0].split()}
    known = {d.name for d in schema.defs if d.meta == 'command'}
    if names - known:
        raise SchemaError(f"{path}: no command {sorted(names - known)}")
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--pending')
    parser.add_argument('--doc')
    parser.add_argument('--list-modules', action='store_true')
    parser.add_argument('-o', dest='out')
    parser.add_argument('schema')
    opts = parser.parse_args()
    try:
        schema = Schema().load(opts.schema)
        pending = read_pending(opts.pending, schema)
    except SchemaError as e:
        sys.exit(str(e))
    if opts.list_modules:
        print('\n'.join(schema.modules))
        return
    if opts.doc:
        write(opts.doc, gen_doc.gen_doc(schema, pending))
        return
    for m in schema.modules:
        for name, text in (
                (f"qapi-types-{m}.h", gen_c.gen_types_h(schema, m)),
                (f"qapi-types-{m}.c", gen_c.gen_types_c(schema, m)),
                (f"qapi-commands-{m}.h", gen_c.gen_commands_h(schema, m)),
                (f"qapi-commands-{m}.c",
                 gen_c.gen_commands_c(schema, m, pending)),
                (f"qapi-events-{m}.h", gen_c.gen_events_h(schema, m)),
                (f"qapi-events-{m}.c", gen_c.gen_events_c(schema, m))):
            write(os.path.join(opts.out, name), text)
    write(os.path.join(opts.out, 'qapi-init-commands.c'),
          gen_c.gen_init(schema, pending))
    write(os.path.join(opts.out, 'qapi-introspect.c'),
          introspect.gen_introspect(schema, pending))


if __name__ == '__main__':
    main()
