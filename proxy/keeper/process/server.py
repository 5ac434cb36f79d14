"""The keeper's process: the objects that it holds, and the requests of its service.

Called by: __main__.py. Promises: one service at a time; only processes of this user are accepted; invalid input, or an
exception that it causes, ends its connection and nothing else (guard.py); the keeper waits for no connection: one that
does not read is closed, except its service's, whose answers are few and wait for it. When a service ends, the next one
finds everything unchanged; without one the keeper ends as soon as no training process that the last one served is alive
(programs.py). A service that is replaced stands by until the next one says that it serves; if that one ends before, or
takes too long, the one before is the service again.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable
from typing import Any

from .. import names, privileges, protocol
from ..admission import Admission
from ..claim.socket_lock import SocketLock
from ..guard import guarded, shown
from ..owner import Owner
from ..peer import peer_of
from .children import Children
from .door import Door, nobody
from .programs import Programs
from .shelf import Reply, Shelf

#: How often a keeper looks that waits for more than what it is told.
LOOK_SECONDS = 0.5
#: Time for a service to stand by when another one is to replace it, for that one to serve what was there, and for it to
#: open the GPUs that nobody uses; then it is killed.
HAND_OVER_SECONDS, SERVING_SECONDS, SETTLED_SECONDS = 15.0, 60.0, 300.0
#: Connections that have not said hello, and how long they may take.
STRANGERS, HELLO_SECONDS = 16, 10.0
#: Answers that a service has not read: it asks for one at a time, and may have given up waiting for some.
ANSWERS = 64

#: Makes a reply, with the descriptors that go with it, when it is sent: until then they may have been given up.
Answer = Callable[[], tuple[Reply, list[int]]]


class Keeper:
    """The keeper. It has no threads: a worker ends with the thread that started it."""

    def __init__(
        self, listener: socket.socket, programs_listener: socket.socket, first: socket.socket, lock: SocketLock
    ) -> None:
        self._door, self._lock = Door(listener), lock
        self._select = selectors.DefaultSelector()
        self._select.register(listener, selectors.EVENT_READ, guarded("nobody comes in", self._accept))
        self._shelf = Shelf()
        self._programs = Programs(programs_listener, self._select, self._shelf.of_token)
        self._strangers: dict[socket.socket, float] = {}  # until when they may say hello
        self._service: socket.socket | None = None
        self._next: socket.socket | None = None  # is to replace the service
        self._before: socket.socket | None = None  # stands by until the service, which has replaced it, serves
        self._deadline = 0.0  # when the service must stand by, or serve
        self._first, self._versions = first, None  # whose versions are the keeper's
        self._unread: list[Answer] = []  # those that the service has not read
        self._children = Children(self._select, self._shelf.taken)
        self._over = self._leaves_folder = False
        self._listen_to(first)

    def run(self) -> None:
        while not self._over:
            for key, _ in self._select.select(self._patience()):
                if self._select.get_map().get(key.fd) == key:  # one before it may have closed it
                    key.data()
            guarded("what happens by itself", self._look)()
        self._end()

    def _patience(self) -> float | None:
        waits = (
            self._next,
            self._before,
            self._strangers,
            self._unread,
            self._programs.ended(),
            self._programs.waits(),
        )
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
                self._reply(self._answer(request, descriptors), request)
            elif connection is not self._next and connection is not self._before:
                self._hello(connection, request)
        finally:
            protocol.close(descriptors)

    def _reply(self, answer: Answer, request: dict[str, Any]) -> None:
        number = request["number"]

        def numbered() -> tuple[Reply, list[int]]:
            reply, descriptors = answer()
            return reply | {"to": number}, descriptors

        self._unread.append(numbered)
        self._tell()
        if len(self._unread) > ANSWERS and self._service is not None:
            raise protocol.Malformed("it asks, and does not read the answers")
        if request["do"] == "stand by":
            self._before, self._service = self._service, None
            self._go_on()

    def _gone(self, connection: socket.socket) -> None:
        with contextlib.suppress(KeyError):  # the kernel had no room to watch it
            self._select.unregister(connection)
        connection.close()
        self._strangers.pop(connection, None)
        if connection is self._next:
            self._next = None
        if connection is self._before:
            self._before = None
        if connection is self._service:
            self._service = None
            self._go_on()

    def _go_on(self) -> None:
        """Finds a service: the one that is to replace the last one, otherwise the one before it, which stands by."""
        self._unread.clear()
        if self._next is not None:
            successor, self._next = self._next, None
            self._deadline = time.monotonic() + SERVING_SECONDS
            self._serve(successor)
        elif self._before is not None:
            before, self._before = self._before, None
            self._serve(before)

    def _hello(self, connection: socket.socket, request: dict[str, Any]) -> None:
        if "sessions" in request:  # how many are there? Of the process that waits for them to end
            return self._say_once(connection, {"sessions": names.sessions(self._shelf.names())})
        if self._versions is None:
            if connection is not self._first:
                raise protocol.Malformed("the service that has started this keeper comes first")
            self._versions = request["versions"]
        if request["versions"] != self._versions:
            why = f"its versions are {shown(self._versions)}, those of the new service {shown(request['versions'])}"
            self._refuse(connection, "version", why)
        elif self._service is None:
            self._serve(connection)
        elif request["replace"] and self._next is None and self._before is None:
            del self._strangers[connection]
            self._next, self._deadline = connection, time.monotonic() + HAND_OVER_SECONDS
            with contextlib.suppress(protocol.Busy, protocol.Closed):  # one that does not read is killed
                protocol.send(self._service, {"event": "hand over"}, wait=False)
        else:
            self._refuse(connection, "busy", "a jitc-proxyd is there")

    def _refuse(self, connection: socket.socket, how: str, why: str) -> None:
        self._say_once(connection, {"refused": how, "why": why})

    def _say_once(self, connection: socket.socket, document: dict[str, Any]) -> None:
        """Sends a last document, without waiting for the other end to read it."""
        with contextlib.suppress(protocol.Busy, protocol.Closed):
            protocol.send(connection, document, wait=False)
        self._gone(connection)

    def _serve(self, connection: socket.socket) -> None:
        """Makes a connection the service's. An exception ends it (guarded)."""
        self._strangers.pop(connection, None)
        self._service = connection
        self._programs.ended().clear()  # it asks for those that it knows
        welcome: Reply = {"kept": self._shelf.names(), "children": self._children.prefixes(), "pid": os.getpid()}
        welcome["namespace"] = protocol.namespace()
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
            if (self._next or self._before) and time.monotonic() > self._deadline:
                self._end_service(self._service)
            return
        if not self._programs.any_watched() and not self._strangers:
            self._over = True

    def _end_service(self, connection: socket.socket) -> None:
        """Kills a service that has not exited in time. Its connection ends with it, if its process can be seen from
        here, and is not the first one of this container, which nobody inside can kill."""
        pid = peer_of(connection).pid
        if pid <= 1:
            return self._gone(connection)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def _tell(self) -> None:
        """Sends answers, and programs that have ended. A service that does not read now gets them later."""
        ended = self._programs.ended()
        while self._service is not None and (self._unread or ended):
            document, given = self._unread[0]() if self._unread else ({"event": "ended", "program": ended[0]}, [])
            try:
                protocol.send(self._service, document, given, wait=False)
            except protocol.Busy:
                return
            except protocol.Closed:
                return self._gone(self._service)
            del (self._unread or ended)[0]

    # -- requests -----------------------------------------------------------------------------------

    def _answer(self, request: dict[str, Any], descriptors: list[int]) -> Answer:
        requests: dict[str, Callable[[dict[str, Any], list[int]], Reply]] = {
            "keep": self._keep, "drop": self._drop, "spawn": self._spawn, "signal": self._signal, "reap": self._reap,
            "watch": self._watch, "stand by": self._nothing, "serving": self._serving, "end": self._finish,
            "admit": self._admit,
        }  # fmt: skip
        if protocol.TOO_MANY in request:
            return lambda: ({"error": "jitc-keeper can have no more descriptors (ulimit -n)"}, [])
        if request["do"] == "take":
            return lambda: self._shelf.taken(request["names"], str(request["prefix"]))
        if request["do"] == "process":
            return lambda: self._process(request["pid"])
        reply = requests[request["do"]](request, descriptors)
        return lambda: (reply, [])

    def _keep(self, request: dict[str, Any], descriptors: list[int]) -> Reply:
        return self._shelf.keep(str(request["name"]), descriptors.pop(), str(request["token"]))

    def _drop(self, request: dict[str, Any], _: list[int]) -> Reply:
        return self._shelf.drop(request["names"])

    def _admit(self, request: dict[str, Any], _: list[int]) -> Reply:
        people = request["people"]
        if people is not None:
            privileges.give_up()
        self._programs.admit(Admission.of_record(people).admits if people is not None else nobody)
        return {}

    def _spawn(self, request: dict[str, Any], descriptors: list[int]) -> Reply:
        """Starts a worker; descriptors: for its report that it is ready, and for its output."""
        command = [str(one) for one in request["command"]]
        try:
            owner = Owner.of_record(request["owner"]) if request["owner"] is not None else None
            ready, output = descriptors
            return {"pid": self._children.spawn(command, request["environment"], ready, output, owner)}
        except OSError as error:
            return {"error": f"{command[0]}: {error.strerror}"}

    def _process(self, pid: int) -> tuple[Reply, list[int]]:
        descriptor = self._children.descriptor(pid)
        return ({}, [descriptor]) if descriptor is not None else ({"error": f"there is no worker {pid}"}, [])

    def _signal(self, request: dict[str, Any], descriptors: list[int]) -> Reply:
        self._children.signal(int(request["pid"]), int(request["signal"]), descriptors[0])
        return {}

    def _reap(self, request: dict[str, Any], _: list[int]) -> Reply:
        status = self._children.reap(request["pid"])
        return {} if status is None else {"status": status}

    def _watch(self, request: dict[str, Any], _: list[int]) -> Reply:
        pid = self._programs.watch(str(request["program"]), str(request["prefix"]))
        return {"there": pid is not None, "pid": pid or 0}

    def _serving(self, request: dict[str, Any], descriptors: list[int]) -> Reply:
        """Lets go the service that stands by, once this one has all that it needs."""
        if self._before is not None and request["settled"]:
            self._say_once(self._before, {"event": "replaced"})
        self._deadline = time.monotonic() + SETTLED_SECONDS
        return {}

    def _nothing(self, request: dict[str, Any], descriptors: list[int]) -> Reply:
        return {}

    def _finish(self, request: dict[str, Any], descriptors: list[int]) -> Reply:
        self._over, self._leaves_folder = True, bool(request["leaves_folder"])
        return {}

    def _end(self) -> None:
        """Ends the workers and removes socket and folder. The service sees the end of its connection after that."""
        self._children.end()
        (self._lock.close if self._leaves_folder else self._lock.release)()
