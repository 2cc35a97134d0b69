#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test-own-files.py BINARY: no file that a VM lives on is written over, by
whatever option or command. Speaks TAP."""

import os
import subprocess
import sys

from qmp_client import Machine, QmpError
from tap_cases import run_in_folders

NONE = ['-M', 'none', '-accel', 'qtest', '-display', 'none']
SIZE = 1 << 16
CONTENT = bytes(range(256)) * (SIZE // 256)
FROM = 'what backs the memory \'m\' of this VM'

# Options that have {} written, or would.
OPTIONS = [
    ['-D', '{}'],
    ['-D', '{}', '-d', 'guest_errors'],
    ['-trace', 'runstate_set,file={}'],
    ['-pidfile', '{}'],
    ['-chardev', 'file,id=c,path={}'],
    ['-chardev', 'file,id=c,path={},append=on'],
    ['-chardev', 'pipe,id=c,path={}'],
    ['-chardev', 'null,id=c,logfile={}'],
    ['-chardev', 'null,id=c,logfile={},logappend=on'],
    ['-serial', 'file:{}'],
    ['-monitor', 'file:{}'],
    ['-qmp', 'file:{}'],
    ['-qtest', 'null', '-qtest-log', '{}'],
]


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def memory(path):
    return ['-object', 'memory-backend-file,id=m,size=%d,share=on,mem-path=%s'
            % (SIZE, path)]


def new_file(folder, name='memory'):
    path = os.path.join(folder, name)
    with open(path, 'wb') as f:
        f.write(CONTENT)
    return path


def check_whole(path):
    with open(path, 'rb') as f:
        check(f.read() == CONTENT, path + ' was changed')


def run(binary, *args):
    return subprocess.run([binary, *args], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=60)


def check_refused(binary, args, *words):
    done = run(binary, *NONE, '-S', *args)
    check(done.returncode == 1, (args, done))
    for word in words:
        check(word in done.stderr, (args, done.stderr))


def refused(vm, words, name, /, **args):
    try:
        vm.cmd(name, **args)
    except QmpError as err:
        check(words in err.desc, err.desc)
        return
    raise AssertionError('%s %s is not refused' % (name, args))


def hmp(vm, line):
    return vm.cmd('human-monitor-command', **{'command-line': line})


def options(binary, folder):
    """Before or behind the -object, by its name or another."""
    path = new_file(folder)
    link = os.path.join(folder, 'link')
    os.symlink(path, link)
    for option in OPTIONS:
        for name in path, link:
            words = [w.format(name) for w in option]
            for args in memory(path) + words, words + memory(path):
                check_refused(binary, args, FROM, "'%s'" % name)
                check_whole(path)


def json_object(binary, folder):
    path = new_file(folder)
    text = '{"qom-type": "memory-backend-file", "id": "m", "size": %d, ' \
        '"mem-path": "%s"}' % (SIZE, path)
    check_refused(binary, ['-D', path, '-object', text], FROM)
    check_whole(path)


def images(binary, folder):
    path = new_file(folder, 'image')
    for option in OPTIONS:
        words = [w.format(path) for w in option]
        check_refused(binary, words + ['-drive', 'if=none,file=' + path],
                      'the image of drive 0', "'%s'" % path)
        check_whole(path)


def device_tree(binary, folder):
    path = new_file(folder)
    done = run(binary, '-M', 'virt,dumpdtb=' + path, '-accel', 'qtest',
               '-display', 'none', '-m', '64M', *memory(path))
    check(done.returncode == 1 and FROM in done.stderr, done)
    check_whole(path)


def commands(binary, folder):
    path = new_file(folder)
    log = os.path.join(folder, 'log')
    with Machine(binary, *NONE, '-D', log, *memory(path)) as vm:
        def add(name, **data):
            return {'id': name, 'backend': {'type': 'file', 'data': data}}

        refused(vm, FROM, 'chardev-add', **add('c', out=path))
        refused(vm, FROM, 'chardev-add', **add('c', out=path, append=True))
        refused(vm, FROM, 'chardev-add', **add(
            'c', out=os.path.join(folder, 'out'), logfile=path))
        refused(vm, FROM, 'pmemsave', val=0, size=4096, filename=path)
        refused(vm, 'file: \'%s\' is %s' % (path, FROM), 'migrate',
                uri='file:' + path)
        check(FROM in hmp(vm, 'logfile ' + path), 'logfile')
        check(FROM in hmp(vm, 'chardev-add file,id=c,path=' + path), 'hmp')
        vm.cmd('trace-event-set-state', name='runstate_set', enable=True)
        vm.cmd('stop')
        with open(log, encoding='utf-8') as f:
            check('runstate_set' in f.read(), 'the log went elsewhere')
        check_whole(path)
        # Once it backs nothing it is a file like others.
        vm.cmd('object-del', id='m')
        vm.cmd('chardev-add', **add('c', out=path))
        check(os.path.getsize(path) == 0, 'not opened')
        vm.cmd('chardev-remove', id='c')


def the_other_way(binary, folder):
    """What is written to does not become memory."""
    path = os.path.join(folder, 'new')
    for option in OPTIONS:
        # A pipe is not made, and a log only open while something is on.
        if 'pipe' not in option[1] and option != OPTIONS[0]:
            words = [w.format(path) for w in option]
            # Serial lines and qtest come after memory.
            late = option[0] in ('-serial', '-qtest')
            check_refused(binary, words + memory(path), "'%s'" % path,
                          FROM if late else 'is written to by this VM')
            if os.path.exists(path):
                check(late or os.path.getsize(path) < SIZE, option)
                os.unlink(path)
    ram = {'qom-type': 'memory-backend-file', 'id': 'm', 'size': SIZE,
           'mem-path': path}
    with Machine(binary, *NONE) as vm:
        vm.cmd('chardev-add', id='c', backend={'type': 'file', 'data': {
            'out': path}})
        refused(vm, 'is written to', 'object-add', **ram)
        vm.cmd('chardev-remove', id='c')
        vm.cmd('object-add', **ram)
        check(os.path.getsize(path) == SIZE, 'not used')


def devices(binary, folder):
    """What is no file is not removed, nor cut."""
    fifo = os.path.join(folder, 'fifo')
    os.mkfifo(fifo)
    fd = os.open(fifo, os.O_RDWR)
    with Machine(binary, *NONE, '-pidfile', fifo) as vm:
        check(os.read(fd, 100).decode() == '%d\n' % vm.proc.pid, 'PID')
        vm.cmd('pmemsave', val=0, size=8, filename=fifo)
        check(os.read(fd, 100) == bytes(8), 'no memory')
        vm.cmd('quit')
    check(os.path.exists(fifo), 'it was removed')
    os.close(fd)


CASES = [options, json_object, devices, commands, the_other_way]


def main():
    binary = sys.argv[1]
    cases = CASES + ([device_tree] if 'aarch64' in binary else [images])
    return run_in_folders('own-files', cases, binary)


if __name__ == '__main__':
    sys.exit(main())
