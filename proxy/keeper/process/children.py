"""The keeper's children: the workers, each with a connection over which it receives memory by name.

Called by: server.py. Promises: an ended worker keeps its number until it is reaped, so that a signal never reaches
another process; a worker's process descriptor becomes readable when the process has ended, also for a service that
cannot see the process: it is a pidfd, or on a kernel without them the end of a pipe that the keeper closes then.
"""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import signal
import socket
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import protocol
from ..guard import guarded
from ..owner import Owner, prefix_of
from .become import become
from .output import Output

#: In the arguments of a process that is to be started: the descriptor on which it reports that it is ready, and that of
#: its connection to the keeper.
READY, KEEPER = "{ready}", "{keeper}"
_NO_PIDFD = (errno.ENOSYS, errno.EPERM, errno.EINVAL)


@dataclass(eq=False)
class Child:
    process: subprocess.Popen[bytes]
    connection: socket.socket
    prefix: str  # of the names of the memory that it may take (../owner.py)
    output: Output | None  # None: it has the service's standard error
    end: int  # becomes readable when the process has ended
    until: int  # the other end of that pipe; -1: `end` is a pidfd


#: Returns the answer to a request for memory, with its descriptors: of these names, for a user (shelf.py).
Take = Callable[[list[Any], str], tuple[dict[str, Any], list[int]]]


class Children:
    """All workers that have not been reaped."""

    def __init__(self, selector: selectors.BaseSelector, take: Take) -> None:
        """take: gives them memory."""
        self._select, self._take = selector, take
        self._children: dict[int, Child] = {}
        self._woken = -1

    def prefixes(self) -> dict[str, str]:
        """Returns of each worker's number to whom the process belongs (../owner.py)."""
        return {str(pid): child.prefix for pid, child in sorted(self._children.items())}

    def spawn(
        self, command: list[str], environment: dict[str, str], ready: int, output: int, owner: Owner | None = None
    ) -> int:
        """Starts a worker, as a process of its owner. Returns its process. Raises OSError."""
        if owner is None:
            return self._spawn(command, environment, (ready, output), owner, None)
        own = Output(self._select, owner.uid)
        try:
            return self._spawn(command, environment, (ready, own.write), owner, own)
        except BaseException:
            own.close()
            raise
        finally:
            own.begun()

    def _spawn(
        self, command: list[str], environment: dict[str, str], ends: tuple[int, int], owner: Owner | None,
        own: Output | None,
    ) -> int:  # fmt: skip
        """Starts it. ends: descriptors for its report that it is ready, and for its output."""
        ready, output = ends
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        places = {READY: str(ready), KEEPER: str(theirs.fileno())}
        try:
            process = subprocess.Popen(
                [*become(owner), *(places.get(one, one) for one in command)], pass_fds=[ready, theirs.fileno()],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd="/", env=environment,
                start_new_session=True,
            )  # fmt: skip
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        try:
            child = Child(process, protocol.roomy(ours), prefix_of(owner), own, *self._watched(process.pid))
        except OSError:  # no descriptor is left
            process.kill()
            process.wait()
            ours.close()
            raise
        self._children[process.pid] = child
        ours.setblocking(False)
        heard = guarded("a worker gets no memory", lambda: self._read(child), lambda: self._hang_up(ours))
        self._select.register(ours, selectors.EVENT_READ, heard)
        if child.until >= 0:
            self._look()  # it may have ended before its end could be heard
        return process.pid

    def descriptor(self, pid: int) -> int | None:
        """Returns the descriptor of a worker, which stays the keeper's; None: there is no such worker."""
        child = self._children.get(pid)
        return child.end if child is not None else None

    def signal(self, pid: int, number: int, process: int) -> None:
        """Sends a signal to a worker, if there is one of this number; process: its descriptor, which may be a pidfd."""
        with contextlib.suppress(ProcessLookupError):
            try:
                signal.pidfd_send_signal(process, number)
            except OSError as error:
                if error.errno not in (*_NO_PIDFD, errno.EBADF):
                    raise
                if pid in self._children:  # it has not been waited for, so the number is its own
                    os.kill(pid, number)

    def reap(self, pid: int) -> int | None:
        """Forgets a worker that has ended. Returns its exit status; None: it still runs, or there is none."""
        child = self._children.get(pid)
        if child is None or child.process.poll() is None:
            return None
        del self._children[pid]
        self._hang_up(child.connection)
        if child.output is not None:
            child.output.close()
        for one in (child.end, child.until):
            if one >= 0:
                os.close(one)
        return child.process.returncode

    def end(self) -> None:
        """Ends all of them."""
        for child in self._children.values():
            child.process.kill()
        for child in self._children.values():
            child.process.wait()

    # -- memory ---------------------------------------------------------------------------------------

    def _read(self, child: Child) -> None:
        """Answers a worker. An exception ends the connection (guarded)."""
        connection = child.connection
        try:
            request, descriptors = protocol.receive(connection, protocol.HELLO_LIMIT)
        except protocol.Busy:
            return
        except protocol.Closed:
            return self._hang_up(connection)
        protocol.close(descriptors)
        answer, given = self._take(request["take"], child.prefix)
        try:
            protocol.send(connection, answer, given, wait=False)
        except protocol.Closed:
            self._hang_up(connection)

    def _hang_up(self, connection: socket.socket) -> None:
        with contextlib.suppress(KeyError, ValueError):
            self._select.unregister(connection)
        connection.close()

    # -- ends -----------------------------------------------------------------------------------------

    def _watched(self, pid: int) -> tuple[int, int]:
        """Returns a descriptor that becomes readable when the process has ended, and what has to be closed for that."""
        try:
            return os.pidfd_open(pid), -1
        except OSError as error:
            if error.errno not in _NO_PIDFD:
                raise
        if self._woken < 0:
            self._woken = _wakened()
            self._select.register(self._woken, selectors.EVENT_READ, guarded("an end is not seen", self._look))
        return os.pipe2(os.O_CLOEXEC)

    def _look(self) -> None:
        """Closes the pipes of processes that have ended, and leaves them to be waited for."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._woken, 4096)
        for pid, child in self._children.items():
            if child.until >= 0 and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                os.close(child.until)
                child.until = -1


def _wakened() -> int:
    """Returns a descriptor that becomes readable whenever a child has ended."""
    read, write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.signal(signal.SIGCHLD, _noticed)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    return read


def _noticed(number: int, frame: Any) -> None:
    """Handles SIGCHLD: the signal is heard through the descriptor, and only while it has a handler."""
