# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest of which writes are tracked, because it is being migrated into a
sink.

Used by: guest-speed, qmp-latency. Uses: lab.
"""
import os
import socket
import threading
import time

import lab as lab_module


class Sink(threading.Thread):
    """Takes what a migration sends, and throws it away."""

    def __init__(self, lab):
        super().__init__(daemon=True)
        path = os.path.join(lab.folder, 'sink')
        self.uri = 'unix:' + path
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(1)
        self.start()

    def run(self):
        buffer = bytearray(1 << 18)
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            with peer:
                try:
                    while peer.recv_into(buffer):
                        pass
                except OSError:
                    pass


def wait_for(vm, statuses):
    deadline = time.monotonic() + 20
    while vm.cmd('query-migrate').get('status') not in statuses:
        if time.monotonic() > deadline:
            raise lab_module.LabError('%s: its migration is not %s'
                                      % (vm.name, ' or '.join(statuses)))
        time.sleep(0.005)


class Tracked:
    """With @sink None nothing is tracked."""

    def __init__(self, vm, sink):
        self.vm, self.sink = vm, sink

    def __enter__(self):
        if self.sink:
            self.vm.cmd('migrate', uri=self.sink.uri)
            wait_for(self.vm, ['active'])

    def __exit__(self, *exc):
        if self.sink:
            self.vm.cmd('migrate_cancel')
            wait_for(self.vm, ['cancelled'])
