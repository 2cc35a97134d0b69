#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Make trace-<room>.h and trace-<room>.c from a room's trace-events.

usage: tracegen.py ROOM INPUT HEADER SOURCE

A line of INPUT is
    name(type arg, type arg) "format" [PRIx64 "more" ...]
with () or (void) for none, and `#` comments. See include/qemu/trace.h.
"""
import re
import sys

LINE = re.compile(r'^(?P<name>[a-z_][a-z0-9_]*)\((?P<args>[^)]*)\)\s*(?P<fmt>.+)$')
FORMAT = re.compile(r'^("([^"\\]|\\.)*"|PRI[diouxX]\w+|HWADDR_PRIx|RAM_ADDR_FMT|\s)+$')
SPDX = '/* SPDX-License-Identifier: GPL-2.0-or-later */\n'


def arguments(text):
    """[(declaration, name)] of an argument list."""
    text = text.strip()
    if text in ('', 'void'):
        return []
    found = []
    for decl in (part.strip() for part in text.split(',')):
        name = re.match(r'^.*?[\s*](\w+)$', decl)
        if not name:
            raise ValueError(f"argument '{decl}' has no type or no name")
        found.append((decl, name.group(1)))
    return found


def parse(path):
    events, seen = [], set()
    with open(path, encoding='utf-8') as lines:
        for number, line in enumerate(lines, 1):
            line = line.strip()
            if not line or line.startswith('#'):
                continue
            try:
                match = LINE.match(line)
                if not match:
                    raise ValueError('not of the form name(args) "format"')
                name, fmt = match['name'], match['fmt'].strip()
                if not FORMAT.match(fmt):
                    raise ValueError('the format is not a string')
                if r'\n' in fmt:
                    raise ValueError('the format must not hold a newline')
                if name in seen:
                    raise ValueError(f"'{name}' is there twice")
                seen.add(name)
                events.append((name, arguments(match['args']), fmt))
            except ValueError as err:
                sys.exit(f'{path}:{number}: {err}')
    return events


def header(room, events):
    guard = 'TRACE_' + re.sub(r'\W', '_', room).upper() + '_H'
    out = [SPDX, f'/* Made from trace-events of {room}. */\n',
           f'#ifndef {guard}\n#define {guard}\n\n#include "qemu/trace.h"\n']
    for name, args, fmt in events:
        decls = ', '.join(decl for decl, _ in args) or 'void'
        values = ''.join(', ' + arg for _, arg in args)
        out.append(f'''
extern _Atomic bool trace_{name}_state;
extern TraceEvent trace_{name}_event;
static inline bool trace_{name}_enabled(void)
{{
    return unlikely(atomic_load_explicit(&trace_{name}_state,
                                         memory_order_relaxed));
}}
static inline void trace_{name}({decls})
{{
    if (trace_{name}_enabled()) {{
        trace_write(&trace_{name}_event, {fmt}{values});
    }}
}}
''')
    out.append(f'\n#endif /* {guard} */\n')
    return ''.join(out)


def source(room, events):
    out = [SPDX, f'/* Made from trace-events of {room}. */\n',
           f'#include "qemu/osdep.h"\n\n#include "trace-{room}.h"\n']
    for name, _, _ in events:
        out.append(f'''
_Atomic bool trace_{name}_state;
TraceEvent TRACE_EVENT_SECTION trace_{name}_event = {{
    "{name}", &trace_{name}_state
}};
''')
    return ''.join(out)


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    room, path, header_path, source_path = sys.argv[1:]
    events = parse(path)
    with open(header_path, 'w', encoding='utf-8') as out:
        out.write(header(room, events))
    with open(source_path, 'w', encoding='utf-8') as out:
        out.write(source(room, events))


if __name__ == '__main__':
    main()
