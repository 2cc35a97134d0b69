#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test-tracing.py BINARY: what a user sees of the inside: trace points by
QMP, HMP and -trace, the log's items, -D, -dfilter, -msg. Speaks TAP."""

import os
import re
import struct
import subprocess
import sys
import time

from qmp_client import Machine, QmpError
from tap_cases import run_in_folders

NONE = ['-M', 'none', '-accel', 'qtest']


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def refused(vm, name, words, /, **args):
    try:
        vm.cmd(name, **args)
    except QmpError as err:
        check(words in err.desc, err.desc)
        return
    raise AssertionError('%s %s is not refused' % (name, args))


def hmp(vm, line):
    return vm.cmd('human-monitor-command',
                  **{'command-line': line}).replace('\r', '')


def states(vm, pattern):
    return {e['name']: e['state']
            for e in vm.cmd('trace-event-get-state', name=pattern)}


def text_of(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def wait_for(what, text, seconds=60):
    """Until what() holds @text; all of it."""
    deadline = time.monotonic() + seconds
    while text not in what():
        check(time.monotonic() < deadline, '%r does not come' % text)
        time.sleep(0.01)
    return what()


def run_to_end(binary, *args, text=''):
    return subprocess.run([binary, *args], capture_output=True, text=True,
                          input=text, timeout=60)


def trace_by_qmp(binary, folder):
    log = os.path.join(folder, 'log')
    with Machine(binary, *NONE, '-D', log) as vm:
        every = states(vm, '*')
        check(len(every) > 20, every)
        check(set(every.values()) == {'disabled'}, every)
        check(states(vm, 'runstate_set') == {'runstate_set': 'disabled'}, '')
        check(states(vm, 'no-such*') == {}, 'a pattern may match none')
        refused(vm, 'trace-event-get-state', "'no-such'", name='no-such')
        refused(vm, 'trace-event-set-state', "'no-such'", name='no-such',
                enable=True)
        refused(vm, 'trace-event-set-state', "'no-such'", name='no-such',
                enable=True, **{'ignore-unavailable': True})
        vm.cmd('trace-event-set-state', name='no-such*', enable=True)
        vm.cmd('trace-event-set-state', name='runstate_???', enable=True,
               **{'ignore-unavailable': True})
        check(states(vm, '*_set')['runstate_set'] == 'enabled', 'not on')
        check('vm_state_notify' not in text_of(log), 'others write')
        vm.cmd('stop')
        check('runstate_set running -> paused' in text_of(log), text_of(log))
        vm.cmd('trace-event-set-state', name='*', enable=False)
        size = os.path.getsize(log)
        vm.cmd('cont')
        check(os.path.getsize(log) == size, text_of(log)[size:])


def commands_are_traced(binary, folder):
    """qmp_enter_NAME and qmp_exit_NAME: for every command that goes through
    generated code; arguments, value, error."""
    log = os.path.join(folder, 'log')
    with Machine(binary, *NONE, '-D', log) as vm:
        points = states(vm, 'qmp_e*')
        names = {c['name'].replace('-', '_') for c in vm.cmd('query-commands')}
        traced = {re.sub('^qmp_(enter|exit)_', '', p) for p in points}
        check(len(points) == 2 * len(traced), points)
        check(traced <= names, traced - names)
        check(names - traced == {'device_add', 'query_qmp_schema'}, names)
        vm.cmd('trace-event-set-state', name='qmp_*_query_status',
               enable=True)
        check(states(vm, 'qmp_exit_query_*').pop('qmp_exit_query_status') ==
              'enabled', 'not on')
        vm.cmd('query-status')
        vm.cmd('query-name')
        for args in {'name': 'no-such'}, {'name': 'a/b*'}, {'name': 7}:
            vm.cmd('trace-event-set-state', name='qmp_e*_trace_event_get*',
                   enable=True)
            try:
                vm.cmd('trace-event-get-state', **args)
            except QmpError as err:
                error = err.desc
        vm.cmd('trace-event-set-state', name='*', enable=False)
        vm.cmd('query-status')
        lines = text_of(log).split('\n')
        check(lines == [
            'qmp_enter_query_status {}',
            'qmp_exit_query_status {"running":true,"status":"running"} 1',
            'qmp_enter_trace_event_get_state {"name":"no-such"}',
            "qmp_exit_trace_event_get_state There is no trace point "
            "'no-such' 0",
            'qmp_enter_trace_event_get_state {"name":"a/b*"}',
            'qmp_exit_trace_event_get_state [] 1', ''], lines)
        check("'name', expected: string" in error, error)
    with Machine(binary, *NONE, '-trace', 'qmp_enter_stop', '-D', log) as vm:
        vm.cmd('stop')
        check(text_of(log) == 'qmp_enter_stop {}\n', text_of(log))


def trace_by_hmp(binary, folder):
    with Machine(binary, *NONE, '-D', os.path.join(folder, 'log')) as vm:
        check(hmp(vm, 'trace-event runstate_set on') == '', 'not quiet')
        check(hmp(vm, 'info trace-events runstate_s*') ==
              'runstate_set : state 1\n', 'not on')
        check("'no-such'" in hmp(vm, 'trace-event no-such on'), 'taken')
        check("'no-such'" in hmp(vm, 'info trace-events no-such'), 'known')
        hmp(vm, 'trace-event run* off')
        lines = hmp(vm, 'info trace-events').split('\n')
        check('runstate_set : state 0' in lines and len(lines) > 20, lines)


def trace_by_option(binary, folder):
    log = os.path.join(folder, 'log')
    events = os.path.join(folder, 'events')
    with open(events, 'w', encoding='utf-8') as f:
        f.write('# what is wanted\nrunstate_set\n\nqemu_system_*\n')
    for args in (['-trace', 'runstate_set', '-trace', 'file=' + log],
                 ['-trace', 'enable=run*,file=' + log],
                 ['-trace', 'events=%s,file=%s' % (events, log)],
                 ['-d', 'trace:runstate_*', '-D', log],
                 ['-D', log, '--trace', '*', '-trace', '-*', '-trace',
                  'runstate_set']):
        with Machine(binary, *NONE, *args) as vm:
            check(states(vm, 'runstate_set') == {'runstate_set': 'enabled'},
                  args)
            check('enabled' not in states(vm, 'migra*').values(), args)
            vm.cmd('stop')
            check('runstate_set running -> paused' in text_of(log), args)


def names_are_known(binary, folder):
    """No name of a list that people have is an error: a warning."""
    done = run_to_end(binary, *NONE, '-trace', 'no_such_point', '-qmp',
                      'stdio', text='{"execute": "qmp_capabilities"}\n'
                                    '{"execute": "quit"}\n')
    check(done.returncode == 0 and 'no_such_point' in done.stderr, done)
    listed = run_to_end(binary, '-trace', 'help').stdout.split()
    check('runstate_set' in listed and len(set(listed)) == len(listed), listed)


def log_items(binary, folder):
    help_text = run_to_end(binary, '-d', 'help').stdout
    items = re.findall(r'^(\w+) ', help_text, re.M)
    check({'in_asm', 'int', 'exec', 'cpu_reset', 'guest_errors', 'unimp'} <=
          set(items), items)
    log = os.path.join(folder, 'log.%d')
    with Machine(binary, *NONE, '-D', log, '-d', ','.join(
            i for i in items if i not in ('trace', 'Log'))) as vm:
        check(os.path.exists(log.replace('%d', str(vm.proc.pid))), log)
        check('unimp' in hmp(vm, 'log help'), 'log help')
        check('no-such' in hmp(vm, 'log no-such'), 'taken')
        hmp(vm, 'log none')
        other = os.path.join(folder, 'other')
        hmp(vm, 'log trace:runstate_set')
        hmp(vm, 'logfile ' + other)
        vm.cmd('stop')
        check('runstate_set' in text_of(other), text_of(other))
    for item in ('no-such', 'mmu', 'unimp,,int'):
        done = run_to_end(binary, *NONE, '-d', item)
        check(done.returncode == 1 and '-d ' + item in done.stderr, done)


def address_ranges(binary, folder):
    for text in ('', '1', '1..', '5..4', '1+0', '0-2', 'x+1', '1..2,', '1.2',
                 '0xffffffffffffffff+2', '1..2..3', '-1+5'):
        done = run_to_end(binary, *NONE, '-dfilter', text)
        check(done.returncode == 1 and '-dfilter' in done.stderr,
              (text, done))
    for text in ('0..0xffffffffffffffff', '0x1000+1,5-5', '7-1',
                 '0xffffffffffffffff+1'):
        with Machine(binary, *NONE, '-dfilter', text):
            pass


def messages(binary, folder):
    """-msg: what messages begin with."""
    stamp = r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z '
    wrong = NONE + ['-name', 'lamp', '-serial', 'no-such']

    def first_line(*args):
        done = run_to_end(binary, *wrong, *args)
        check(done.returncode == 1, done)
        return done.stderr.split('\n')[0]

    program = os.path.basename(binary) + ': '
    plain = first_line()
    check(plain.startswith(program), plain)
    check(first_line('-msg', 'timestamp=off') == plain, 'off')
    for args in (['timestamp=on'], ['timestamp=on,guest-name=off']):
        line = first_line('-msg', *args)
        check(re.fullmatch(stamp + re.escape(plain), line), line)
    named = first_line('-msg', 'guest-name=on')
    check(named == 'lamp ' + plain, named)
    both = first_line('-msg', 'timestamp=on,guest-name=on')
    check(re.fullmatch(stamp + re.escape('lamp ' + plain), both), both)
    for bad in ('timestamp=2', 'no-such=on'):
        line = first_line('-msg', bad)
        check('-msg ' + bad in line, line)
    log = os.path.join(folder, 'log')
    with Machine(binary, *NONE, '-msg', 'timestamp=on', '-trace',
                 'runstate_set,file=' + log) as vm:
        vm.cmd('stop')
        check(re.search(r'^\d+@\d+\.\d{6}:runstate_set ', text_of(log), re.M),
              text_of(log))


def executed_code(binary, folder):
    """exec and cpu follow the guest, from the start or switched on later,
    also while it goes round and never comes out."""
    blob, log = os.path.join(folder, 'blob'), os.path.join(folder, 'log')
    words = [0xd2800540,  # mov x0, 42
             0x14000001,  # b: to the next
             0xf1000400,  # subs x0, x0, 1
             0x54ffffe1,  # b.ne: to the one before
             0x17fffffc]  # b: to the first
    with open(blob, 'wb') as f:
        f.write(struct.pack('<5I', *words))
    machine = ['-M', 'virt', '-accel', 'tcg', '-m', '64M', '-serial', 'null',
               '-kernel', blob, '-D', log]

    def read():
        return text_of(log)

    with Machine(binary, *machine, '-d', 'in_asm,op,exec', '-dfilter',
                 '0x40080000+8'):
        text = wait_for(read, 'Trace 0: 0x0000000040080000')
        check(re.search(r'^0x40080000: +d2800540 ', text, re.M), text[:500])
        check(re.search(r'^0x40080004: ', text, re.M), text[:500])
        check(not re.search(r'^(Trace.*0{8}|0x)40080008', text, re.M), 'filter')
        check(re.search(r'^ \w+ rd=0 .*imm=0x2a$', text, re.M), text[:500])
    with Machine(binary, *machine) as vm:
        time.sleep(0.05)
        check(read() == '', read()[:500])
        hmp(vm, 'log exec,cpu')
        wait_for(read, '0x0000000040080008')
        wait_for(read, 'X00=')
        hmp(vm, 'log none')
        vm.cmd('stop')
        size = os.path.getsize(log)
        vm.cmd('cont')
        time.sleep(0.05)
        check(os.path.getsize(log) == size, 'it goes on')


CASES = [trace_by_qmp, commands_are_traced, trace_by_hmp, trace_by_option, names_are_known,
         log_items, address_ranges, messages]


def main():
    binary = sys.argv[1]
    cases = CASES + ([executed_code] if 'aarch64' in binary else [])
    return run_in_folders('tracing', cases, binary)


if __name__ == '__main__':
    sys.exit(main())
