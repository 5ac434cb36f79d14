"""The keeper's process: the objects that it holds, and the requests of its service.

Called by: __main__.py. Promises: one service at a time; only processes of this user are accepted; invalid input, or an
exception that it causes, ends its connection and nothing else (guard.py); the keeper waits for no connection: one that
does not read is closed, except its service's, whose answers are few and wait for it. When a service ends, the next one
finds everything unchanged; without one the keeper ends as soon as no training process that the last one served is alive
(programs.py).
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from typing import Any

from . import programs, protocol
from .door import Door
from .guard import guarded, shown
from .programs import Programs
from .socket_lock import SocketLock

#: How often a keeper looks that waits for more than what it is told.
LOOK_SECONDS = 0.5
#: Time for a service to go when another one is to replace it; then it is killed.
HAND_OVER_SECONDS = 15.0
#: Connections that have not said hello, and how long they may take.
STRANGERS, HELLO_SECONDS = 16, 10.0
#: Answers that a service has not read: it asks for one at a time, and may have given up waiting for some.
ANSWERS = 64
#: Pieces of memory that are held: what a new service is told of them must fit into a packet.
KEPT = 6144
#: In the arguments of a process that is to be started: the descriptor on which it reports that it is ready.
READY = "{ready}"

Reply = dict[str, Any]


class Keeper:
    """The keeper. It has no threads: a worker ends with the thread that started it."""

    def __init__(
        self, listener: socket.socket, programs_listener: socket.socket, first: socket.socket, lock: SocketLock
    ) -> None:
        self._door, self._lock = Door(listener), lock
        self._select = selectors.DefaultSelector()
        self._select.register(listener, selectors.EVENT_READ, guarded("nobody comes in", self._accept))
        self._programs = Programs(programs_listener, self._select, self._memory_of)
        self._strangers: dict[socket.socket, float] = {}  # until when they may say hello
        self._service: socket.socket | None = None
        self._next: socket.socket | None = None  # is to replace the service
        self._deadline = 0.0  # when that must have gone
        self._first, self._versions = first, None  # whose versions are the keeper's
        self._unread: list[Reply] = []  # answers that the service has not read
        self._kept: dict[str, int] = {}
        self._tokens: dict[str, str] = {}  # of what a training process may have
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._over = False
        self._listen_to(first)

    def run(self) -> None:
        while not self._over:
            for key, _ in self._select.select(self._patience()):
                if self._select.get_map().get(key.fd) == key:  # one before it may have closed it
                    key.data()
            guarded("what happens by itself", self._look)()
        self._end()

    def _patience(self) -> float | None:
        waits = (self._next, self._strangers, self._unread, self._programs.ended(), self._programs.waits())
        return LOOK_SECONDS if self._service is None or any(waits) else None

    # -- connections --------------------------------------------------------------------------------

    def _accept(self) -> None:
        connection = self._door.accept()
        if connection is None:
            return
        if len(self._strangers) >= STRANGERS:
            self._gone(next(iter(self._strangers)))  # a service says hello at once
        self._listen_to(connection)

    def _listen_to(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._strangers[protocol.roomy(connection)] = time.monotonic() + HELLO_SECONDS
        heard = guarded("a connection is closed", lambda: self._read(connection), lambda: self._gone(connection))
        self._select.register(connection, selectors.EVENT_READ, heard)

    def _read(self, connection: socket.socket) -> None:
        """Reads a packet. An exception ends the connection (guarded)."""
        limit = protocol.HELLO_LIMIT if connection in self._strangers else protocol.LIMIT
        try:
            request, descriptors = protocol.receive(connection, limit)
        except protocol.Busy:
            return
        except protocol.Closed:
            return self._gone(connection)
        try:
            if connection is self._service:
                self._reply(self._answer(request, descriptors) | {"to": request["number"]})
            elif connection is not self._next:
                self._hello(connection, request)
        finally:
            protocol.close(descriptors)

    def _reply(self, answer: Reply) -> None:
        self._unread.append(answer)
        self._tell()
        if len(self._unread) > ANSWERS and self._service is not None:
            raise protocol.Malformed("it asks, and does not read the answers")

    def _gone(self, connection: socket.socket) -> None:
        with contextlib.suppress(KeyError):  # the kernel had no room to watch it
            self._select.unregister(connection)
        connection.close()
        self._strangers.pop(connection, None)
        if connection is self._next:
            self._next = None
        if connection is self._service:
            self._service = None
            self._unread.clear()
            if self._next is not None:
                successor, self._next = self._next, None
                self._serve(successor)

    def _hello(self, connection: socket.socket, request: dict[str, Any]) -> None:
        if self._versions is None:
            if connection is not self._first:
                raise protocol.Malformed("the service that has started this keeper comes first")
            self._versions = request["versions"]
        if request["versions"] != self._versions:
            why = f"its versions are {shown(self._versions)}, those of the new service {shown(request['versions'])}"
            self._refuse(connection, "version", why)
        elif self._service is None:
            self._serve(connection)
        elif request["replace"] and self._next is None:
            del self._strangers[connection]
            self._next, self._deadline = connection, time.monotonic() + HAND_OVER_SECONDS
            with contextlib.suppress(protocol.Busy, protocol.Closed):  # one that does not read is killed
                protocol.send(self._service, {"event": "hand over"}, wait=False)
        else:
            self._refuse(connection, "busy", "a jitc-proxyd is there")

    def _refuse(self, connection: socket.socket, how: str, why: str) -> None:
        """Sends a refusal once, without waiting for the other end to read it."""
        with contextlib.suppress(protocol.Busy, protocol.Closed):
            protocol.send(connection, {"refused": how, "why": why}, wait=False)
        self._gone(connection)

    def _serve(self, connection: socket.socket) -> None:
        """Makes a connection the service's. An exception ends it (guarded)."""
        self._strangers.pop(connection, None)
        self._service = connection
        self._programs.ended().clear()  # it asks for those that it knows
        welcome = {"kept": self._kept, "children": sorted(self._children), "pid": os.getpid()}
        with contextlib.suppress(protocol.Closed):  # its end comes as an event of its own
            protocol.send(connection, welcome, wait=False)

    def _look(self) -> None:
        """Does periodic work: reports ended programs to the service, kills a service that does not exit, and ends the
        keeper without service and programs."""
        for connection, until in list(self._strangers.items()):
            if time.monotonic() > until:
                self._gone(connection)
        self._programs.look()
        self._tell()
        if self._service is not None:
            if self._next is not None and time.monotonic() > self._deadline:
                self._end_service(self._service)
            return
        if not self._programs.any_watched() and not self._strangers:
            self._over = True

    def _end_service(self, connection: socket.socket) -> None:
        """Kills a service that has not exited in time. Its connection ends with it, if its process can be seen from
        here."""
        pid, _ = protocol.peer(connection)
        if pid <= 0:
            return self._gone(connection)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def _tell(self) -> None:
        """Sends answers, and programs that have ended. A service that does not read now gets them later."""
        ended = self._programs.ended()
        while self._service is not None and (self._unread or ended):
            document = self._unread[0] if self._unread else {"event": "ended", "program": ended[0]}
            try:
                protocol.send(self._service, document, wait=False)
            except protocol.Busy:
                return
            except protocol.Closed:
                return self._gone(self._service)
            del (self._unread or ended)[0]

    # -- requests -----------------------------------------------------------------------------------

    def _answer(self, request: dict[str, Any], descriptors: list[int]) -> Reply:
        requests: dict[str, Callable[[dict[str, Any], list[int]], Reply]] = {
            "keep": self._keep, "drop": self._drop, "spawn": self._spawn, "reap": self._reap,
            "watch": self._watch, "end": self._finish,
        }  # fmt: skip
        if protocol.TOO_MANY in request:
            return {"error": "jitc-keeper can have no more descriptors (ulimit -n)"}
        return requests[request["do"]](request, descriptors)

    def _keep(self, request: dict[str, Any], descriptors: list[int]) -> Reply:
        """Keeps a descriptor; another one of that name is closed."""
        name = str(request["name"])
        if name not in self._kept and len(self._kept) >= KEPT:
            return {"error": f"jitc-keeper holds {KEPT} pieces of memory already; end some programs first"}
        descriptor = descriptors.pop()
        before = self._kept.pop(name, -1)
        if before >= 0:
            os.close(before)
        self._kept[name] = descriptor
        self._tokens[name] = str(request["token"])
        return {"descriptor": descriptor}

    def _drop(self, request: dict[str, Any], _: list[int]) -> Reply:
        for name in request["names"]:
            if name in self._kept:
                os.close(self._kept.pop(name))
                del self._tokens[name]
        return {}

    def _memory_of(self, token: bytes) -> int:
        """Returns the descriptor that a training process with this token may have; -1: none."""
        fits = (name for name, one in self._tokens.items() if one and programs.same(one, token))
        return self._kept[name] if (name := next(fits, "")) else -1

    def _spawn(self, request: dict[str, Any], descriptors: list[int]) -> Reply:
        """Starts a worker; descriptors: for its report that it is ready, and for its output."""
        ready, output = descriptors
        command = [str(ready) if one == READY else str(one) for one in request["command"]]
        try:
            process = subprocess.Popen(
                command, pass_fds=[ready], stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd="/",
                env=request["environment"], start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            return {"error": f"{command[0]}: {error.strerror}"}
        self._children[process.pid] = process
        return {"pid": process.pid}

    def _reap(self, request: dict[str, Any], _: list[int]) -> Reply:
        """Reaps a worker. Until then an ended process keeps its number, so that no other process has it."""
        process = self._children.get(request["pid"])
        if process is None or process.poll() is None:
            return {}
        del self._children[process.pid]
        return {"status": process.returncode}

    def _watch(self, request: dict[str, Any], _: list[int]) -> Reply:
        pid = self._programs.watch(str(request["program"]))
        return {"there": pid is not None, "pid": pid or 0}

    def _finish(self, request: dict[str, Any], descriptors: list[int]) -> Reply:
        self._over = True
        return {}

    def _end(self) -> None:
        """Ends the workers and removes socket and folder. The service sees the end of its connection after that."""
        for process in self._children.values():
            process.kill()
        for process in self._children.values():
            process.wait()
        self._lock.release()
