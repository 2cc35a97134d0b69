#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test-terminal.py BINARY: the human monitor as somebody at a terminal has
it: Tab, history, editing; alone, and shared with a serial port; and that a
pipe sees none of it unless it asks. Speaks TAP."""

import subprocess
import sys
import time

from tap_cases import run
from terminal import PROMPT, Terminal, check

BINARY = sys.argv[1]
COMMON = ['-M', 'none', '-m', '1M', '-accel', 'qtest', '-nodefaults', '-object',
          'memory-backend-ram,id=lamp,size=4k', '-object',
          'memory-backend-ram,id=lantern,size=4k', '-chardev',
          'ringbuf,id=ring0', '-chardev', 'null,id=rest']
TAB, UP, DOWN, LEFT, HOME, DELETE = ('\t', '\x1b[A', '\x1b[B', '\x1b[D',
                                     '\x1b[H', '\x1b[3~')


def monitor(*args):
    return Terminal(BINARY, *COMMON, *args)


def completion(t):
    def complete(typed, line):
        t.type('\x15' + typed + TAB, line)  # ^U first

    t.expect(PROMPT)
    complete('inf', 'info ')
    complete('info stat', 'info status ')
    complete('info migrate_c', 'info migrate_capabilities ')
    complete('help info vers', 'help info version ')
    complete('info migrate -', 'info migrate -a ')
    complete('migrate_set_parameter max-b',
             'migrate_set_parameter max-bandwidth ')
    complete('migrate_set_parameter zero-page-detection le',
             'migrate_set_parameter zero-page-detection legacy ')
    complete('migrate_set_capability auto', 'migrate_set_capability '
             'auto-converge ')
    complete('migrate_set_capability auto-converge of',
             'migrate_set_capability auto-converge off ')
    complete('migrate -d un', 'migrate -d unix:')
    complete('object_del lant', 'object_del lantern ')
    complete('object_add memory-backend-m', 'object_add memory-backend-memfd,')
    complete('ringbuf_read r', 'ringbuf_read ring0 ')
    complete('chardev-remove re', 'chardev-remove rest ')
    complete('trace-event runstate_', 'trace-event runstate_set ')
    complete('trace-event qmp_enter_query_stat',
             'trace-event qmp_enter_query_status ')
    complete('log unimp,trace:runst', 'log unimp,trace:runstate_set ')
    complete('log unimp,guest_', 'log unimp,guest_errors ')
    complete('qom-list /obj', 'qom-list /objects/')
    complete('qom-get /objects/lamp si', 'qom-get /objects/lamp size ')
    complete('qom-set /objects/lamp merge of',
             'qom-set /objects/lamp merge off ')
    complete('qom-set /objects/lamp size o', 'qom-set /objects/lamp size o')
    complete('logfile /dev/nul', 'logfile /dev/null ')
    complete('device_del ', 'device_del ')
    complete('lamp', 'lamp')
    # Several: as far as they agree, then the list of them.
    complete('object_del l', 'object_del la')
    words = t.tab_lists('object_del la')
    check(words == ['lamp', 'lantern'], words)
    t.type('m' + TAB, 'object_del lamp ')
    check(t.enter('') == [], 'not quiet')
    check(t.enter('info status') == ['VM status: running'], 'status')
    t.type('info ', 'info ')
    words = t.tab_lists('info ')
    check('migrate' in words and 'status' in words and
          words == sorted(set(words)) or len(words) > 10, words)
    check(all(len(line) <= 80 for line in t.screen.lines), t.screen.lines)


def history_and_editing(t):
    t.expect(PROMPT)
    check(t.enter('info statos') != [], 'no error')
    check(t.enter('info version')[0].startswith('11.1'), 'version')
    t.type(UP, 'info version')
    t.type(UP, 'info statos')
    t.type(LEFT + LEFT + '\x7f' + 'x', 'info staxos')
    t.type(DOWN, 'info version')
    t.type(UP, 'info statos')
    t.type(LEFT + DELETE + '\x7f' + 'us', 'info status')
    check(t.enter('') == ['VM status: running'], t.screen.lines)
    t.type(UP + UP + UP, 'info statos')
    t.type('\x15', '')
    t.type('fo' + HOME + 'in' + '\x05' + ' name', 'info name')
    t.type('\x17', 'info ')  # ^W
    t.type('\x15', '')
    # In the middle of a line, too.
    t.type('object_del lant' + HOME + '\x06' * 8 + '\x0b', 'object_d')
    t.type(TAB, 'object_del ')
    t.type('\x15', '')


def end(t):
    t.type('\x15quit\r')


def alone():
    for case in completion, history_and_editing:
        with monitor('-monitor', 'stdio') as t:
            case(t)
            end(t)


def shared():
    with monitor('-serial', 'mon:stdio') as t:
        time.sleep(0.1)
        t.type('\x01c')
        completion(t)
        t.type('\x15', '')
        t.type('\x01c\x01c', '')
        end(t)


def chardev():
    with monitor('-chardev', 'stdio,id=tty,mux=on,signal=off', '-mon', 'tty',
                  '-serial', 'chardev:tty') as t:
        t.type('\x01c')
        history_and_editing(t)
        t.type('object_del lamp', 'object_del lamp')
        t.type('\x03', '')  # signal=off: ^C is a key like others
        end(t)


def machine():
    """What names parts of a board: vCPUs, devices that -device made."""
    pc = 'x86_64' in BINARY
    args = ['-M', 'q35', '-device', 'isa-debug-exit,id=there'] if pc \
        else ['-M', 'virt']
    with Terminal(BINARY, *args, '-m', '64M', '-accel', 'qtest', '-smp', '3',
                  '-nodefaults', '-monitor', 'stdio') as t:
        t.expect(PROMPT)
        for command in ('cpu', 'set_vcpu_dirty_limit 10',
                        'cancel_vcpu_dirty_limit'):
            t.type('\x15' + command + ' ', command + ' ')
            words = t.tab_lists(command + ' ')
            check(words == ['0', '1', '2'], words)
        t.type('\x15set_vcpu_dirty_limit ' + TAB, 'set_vcpu_dirty_limit ')
        if pc:
            t.type('\x15device_del th' + TAB, 'device_del there ')
            t.type('\x15device_add isa-ser' + TAB, 'device_add isa-serial ')
        end(t)


def pipe():
    """Commands from a pipe: one after the other, each to the end."""
    done = subprocess.run(
        [BINARY, *COMMON, '-monitor', 'stdio'], capture_output=True,
        input='info status\nobject_del lamp\nobject_del lamp\nquit\n',
        text=True, timeout=60)
    check(done.returncode == 0, done)
    text = done.stdout.replace('\r', '')
    check('VM status: running\n' in text, text)
    check(text.count("'lamp' not found") == 1, text)


def main():
    return run('terminal', [alone, shared, chardev, machine, pipe],
               lambda case: case())


if __name__ == '__main__':
    sys.exit(main())
