"""The training processes: each session's program holds a connection to the keeper, whose end is the program's end.

Called by: server.py. A program that connects receives a ticket, with which it opens a session at the service. With the
session's token it receives the memory that it shares with its worker. So a program need not see the processes of the
service, nor the service those of the program: they may be in separate containers.

Promises: a program has ended when its connection has, or when the kernel reports that its process has, although a child
holds the connection; nothing that a program sends, or does not read, disturbs any other; there are never more than
MOST, and those that no service asks for within IDLE_SECONDS, or whose room others need, are disconnected.
"""

from __future__ import annotations

import contextlib
import os
import resource
import secrets
import select
import selectors
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ..guard import guarded
from ..owner import Owner, prefix_of
from ..peer import Peer, peer_of
from .door import Door

#: Sessions of a node are far fewer. Each takes two descriptors, of which this is the share that they may have.
MOST, SHARE = 256, 8
#: Those of one user, where there are several: as many as it can have sessions.
FOR_ONE = 64
#: Time for a service to ask for a program. One that was sent away connects again before it asks the service.
IDLE_SECONDS = 60.0
#: A token, and a ticket, in hexadecimal digits. It is all that a program says.
TOKEN_BYTES = 32
#: The only byte of the answer that a descriptor comes with.
GIVEN = b"+"
#: Of Linux 6.5: a pidfd of the other end, whatever namespace it is in.
_SO_PEERPIDFD = 77


@dataclass(eq=False)
class Program:
    connection: socket.socket
    ticket: str
    peer: Peer  # its process, 0: not to be seen from here
    process: int  # a pidfd; -1: there is none
    watched: bool = False  # the service wants to know of its end
    asked: bool = False
    since: float = field(default_factory=time.monotonic)


class Programs:
    """All connected programs."""

    def __init__(
        self, listener: socket.socket, selector: selectors.BaseSelector, memory: Callable[[bytes, str], int]
    ) -> None:
        """memory: returns the descriptor for a token, of the user whose names begin so; -1: none."""
        self._door, self._select, self._memory = Door(listener), selector, memory
        self._limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._programs: dict[str, Program] = {}
        self._untold: list[str] = []
        selector.register(listener, selectors.EVENT_READ, guarded("no program comes in", self._accept))

    def admit(self, admits: Callable[[Peer], bool]) -> None:
        """Lets programs of other users connect, too."""
        self._door.admits = admits

    def watch(self, ticket: str, prefix: str) -> int | None:
        """Registers for a program's end. prefix: of its user (../owner.py). Returns its process, 0 if that cannot be
        seen; None: it has ended, is another user's, or never existed."""
        program = self._programs.get(ticket)
        if program is None or _prefix(program) != prefix or _ended(program.process):
            return None
        program.watched = True
        return program.peer.pid

    def any_watched(self) -> bool:
        return any(one.watched for one in self._programs.values())

    def waits(self) -> bool:
        """Returns whether look() has anything to check."""
        return any(not one.watched for one in self._programs.values())

    def look(self) -> None:
        """Disconnects programs that no service has asked for in time."""
        late = time.monotonic() - IDLE_SECONDS
        for program in [one for one in self._programs.values() if not one.watched and one.since < late]:
            self._end(program)

    def ended(self) -> list[str]:
        """Returns tickets of programs whose end is to be reported; the caller that has reported one removes it."""
        return self._untold

    def close(self) -> None:
        """Ends all connections; no other program may connect."""
        for program in list(self._programs.values()):
            self._end(program)
        self._select.unregister(self._door.listener)
        self._door.close()

    def _accept(self) -> None:
        connection = self._door.accept()
        if connection is None:
            return
        peer = peer_of(connection)
        if not self._room(peer.uid):
            connection.close()
            return
        connection.setblocking(False)
        program = Program(connection, secrets.token_hex(TOKEN_BYTES // 2), peer, _process(connection, peer.pid))
        self._programs[program.ticket] = program
        try:
            self._listen_to(program)
            connection.send(program.ticket.encode())
        except OSError:  # it does not read, or the kernel has no room to watch it
            self._end(program)

    def _listen_to(self, program: Program) -> None:
        end = guarded("a program's end", lambda: self._end(program))
        heard = guarded("a program is sent away", lambda: self._read(program), end)
        self._select.register(program.connection, selectors.EVENT_READ, heard)
        if program.process >= 0:
            self._select.register(program.process, selectors.EVENT_READ, end)

    def _room(self, uid: int) -> bool:
        """Makes room for one more of this user's by disconnecting the first program that no service knows, if there is
        one: of the user, who has used up the own share, or of any."""
        programs, most = list(self._programs.values()), min(MOST, self._limit // SHARE)
        own = [one for one in programs if one.peer.uid == uid]
        if uid != os.geteuid() and len(own) >= min(FOR_ONE, most):
            programs = own
        elif len(programs) < most:
            return True
        idle = next((one for one in programs if not one.watched), None)
        if idle is not None:
            self._end(idle)
        return idle is not None

    def _read(self, program: Program) -> None:
        try:
            said = program.connection.recv(TOKEN_BYTES + 1)
        except BlockingIOError:
            return
        except OSError:
            said = b""
        if not self._answer(program, said):
            self._end(program)

    def _answer(self, program: Program, said: bytes) -> bool:
        """Sends a program its memory, once. False: its message is not a program's, or it does not read."""
        may_ask = len(said) == TOKEN_BYTES and not program.asked
        descriptor = self._memory(said, _prefix(program)) if may_ask else -1
        program.asked = True
        if descriptor < 0:
            return False
        try:
            socket.send_fds(program.connection, [GIVEN], [descriptor])
        except OSError:
            return False
        return True

    def _end(self, program: Program) -> None:
        del self._programs[program.ticket]
        for one in (program.connection, program.process):
            with contextlib.suppress(KeyError, ValueError):  # what is not watched
                self._select.unregister(one)
        program.connection.close()
        if program.process >= 0:
            os.close(program.process)
        if program.watched:
            self._untold.append(program.ticket)


def _prefix(program: Program) -> str:
    uid = program.peer.uid
    return prefix_of(Owner(uid, program.peer.gid) if uid != os.geteuid() else None)


def _process(connection: socket.socket, pid: int) -> int:
    """Returns a pidfd of the other end, if the kernel supports it: it is readable once the process has ended."""
    with contextlib.suppress(OSError):
        return int(struct.unpack("i", connection.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD, 4))[0])
    with contextlib.suppress(OSError):
        if pid > 0:
            return os.pidfd_open(pid)
    return -1


def _ended(process: int) -> bool:
    if process < 0:
        return False
    asked = select.poll()
    asked.register(process, select.POLLIN)
    return bool(asked.poll(0))
