"""A training process as the keeper sees it: a connection whose end is the end of its sessions."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys

from .tree import ROOT
from .waiting import until

TICKET_BYTES = 32
SECONDS = 20.0
#: Those that were not closed: as with any descriptor of a process, only its end would close them.
_open: set[Program] = set()


class Program:
    """Connects at once; patience: how long the keeper may not be there yet."""

    def __init__(self, service_socket: str | os.PathLike[str], patience: float = 0.0) -> None:
        self._path = f"{os.fspath(service_socket)}.d/programs"
        _open.add(self)
        self.connection = until(self._connected, patience, "a keeper is there") if patience else self._connect()
        self.ticket = self.connection.recv(64).decode()
        assert len(self.ticket) == TICKET_BYTES, "the keeper has no ticket for it"

    def _connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            connection.connect(self._path)  # waits where the keeper has not looked at others yet
        except OSError:
            connection.close()
            raise
        connection.settimeout(SECONDS)
        return connection

    def _connected(self) -> socket.socket | None:
        try:
            return self._connect()
        except (FileNotFoundError, ConnectionRefusedError):
            return None

    def stands(self) -> bool:
        """Whether the keeper still has it."""
        waiting = select.poll()
        waiting.register(self.connection, select.POLLIN)
        try:
            return not waiting.poll(0) or bool(self.connection.recv(1, socket.MSG_PEEK))
        except OSError:
            return False

    def memory(self, token: str) -> int:
        """A descriptor of what the token stands for; -1: it was sent away."""
        self.connection.send(token.encode())
        try:
            said, descriptors, _, _ = socket.recv_fds(self.connection, 16, 1)
        except ConnectionResetError:
            return -1
        assert len(said) == len(descriptors) <= 1
        return descriptors[0] if descriptors else -1

    def close(self) -> None:
        _open.discard(self)
        self.connection.close()


#: Connects, says its ticket, and stays. With "fork", a child that has the connection says its number, and stays too.
_PROCESS = """
import os, sys, time
from toolkit.program import Program
program = Program(sys.argv[1])
child = 0
if sys.argv[2] == "fork":
    child = os.fork()
    if not child:
        time.sleep(1000)
print(program.ticket, child, flush=True)
time.sleep(1000)
"""


class ProgramProcess:
    """A process of its own that is connected; before: words before its command."""

    def __init__(
        self, service_socket: str | os.PathLike[str], before: tuple[str, ...] = (), fork: bool = False
    ) -> None:
        command = [*before, sys.executable, "-c", _PROCESS, os.fspath(service_socket), "fork" if fork else "alone"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "tests")}
        )
        assert self.process.stdout is not None
        self.ticket, child = self.process.stdout.readline().split()
        self.child = int(child)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
