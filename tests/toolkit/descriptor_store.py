"""What systemd does for a service with FileDescriptorStoreMax=: it holds descriptors, and gives them to the next one.

Called by: tests of a service whose keeper dies together with it. Promise: what it says is systemd's protocol
(sd_notify(3), sd_listen_fds(3)): FDSTORE=1 and FDSTOREREMOVE=1 with FDNAME=, then LISTEN_FDS and LISTEN_FDNAMES.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from pathlib import Path

#: Descriptors that it holds, and gives in one message.
MOST = 64
#: Starts a command with all that the store at this socket holds, as systemd does.
_STARTS = """
import fcntl, json, os, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as store:
    store.connect(sys.argv[1])
    names, given, _, _ = socket.recv_fds(store, 1 << 16, 64)
names = json.loads(names)
for place, one in enumerate([fcntl.fcntl(one, fcntl.F_DUPFD, 300) for one in given], 3):
    os.dup2(one, place)
    os.close(one)
if names:
    os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": str(len(names)), "LISTEN_FDNAMES": ":".join(names)}
os.execv(sys.argv[2], sys.argv[2:])
"""


class DescriptorStore:
    """Holds descriptors until close()."""

    def __init__(self, folder: Path) -> None:
        self._notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._notified.bind(str(folder / "notify"))
        self._asked = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._asked.bind(str(folder / "ask"))
        self._asked.listen()
        self.env = {"NOTIFY_SOCKET": str(folder / "notify"), "FDSTORE": str(MOST)}
        #: Words before a command that is given what it holds.
        self.before = (sys.executable, "-c", _STARTS, str(folder / "ask"))
        self._lock = threading.Lock()
        self._held: list[tuple[str, int]] = []
        self._threads = [threading.Thread(target=one, daemon=True) for one in (self._hear, self._give)]
        for one in self._threads:
            one.start()

    def names(self) -> list[str]:
        with self._lock:
            return sorted(name for name, _ in self._held)

    def close(self) -> None:
        for one in (self._notified, self._asked):
            one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        for left in (self._notified, self._asked):
            left.close()
        for _, descriptor in self._held:
            os.close(descriptor)

    def _hear(self) -> None:
        while True:
            data, given, _, _ = socket.recv_fds(self._notified, 4096, MOST)
            if not data:
                return
            said = dict(line.partition("=")[::2] for line in data.decode().splitlines())
            with self._lock:
                if "FDSTOREREMOVE" in said:
                    for one in [one for one in self._held if one[0] == said["FDNAME"]]:
                        os.close(one[1])
                        self._held.remove(one)
                for descriptor in given:
                    if "FDSTORE" in said and not any(os.path.sameopenfile(descriptor, held) for _, held in self._held):
                        self._held.append((said["FDNAME"], descriptor))
                    else:  # as systemd: it has this one already
                        os.close(descriptor)

    def _give(self) -> None:
        while True:
            try:
                connection, _ = self._asked.accept()
            except OSError:
                return
            with connection, self._lock:
                names = json.dumps([name for name, _ in self._held]).encode()
                socket.send_fds(connection, [names], [one for _, one in self._held])
