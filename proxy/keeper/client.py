"""The service's end of the connection to its keeper.

Called by: the service (which finds or starts the keeper: launch.py), shared memory (keep, take, drop), the supervisor
(spawn, process, signal, reap), the Node service (watch). Thread-safe. Promises: what was kept when a call returned is
available to the next service; the keeper's end is reported once, and every call raises KeeperLost from then on; its
events (on_...) arrive on a thread that must not call the keeper.
"""

from __future__ import annotations

import errno
import functools
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterable
from typing import Any

from ..common.shared_memory import ShelfLost
from . import protocol
from .guard import complain, guarded, shown

#: Time for the keeper to answer; it never waits for anything but the end of workers.
ANSWER_SECONDS = 30.0
#: Time for a keeper that is about to end to be gone.
ENDING_SECONDS = 10.0


class KeeperLost(ShelfLost):
    """The keeper has ended, or does not answer: workers and memory are lost."""


class Keeper:
    """Made by open_keeper."""

    def __init__(self, connection: socket.socket, welcome: dict[str, Any]) -> None:
        """welcome: the keeper's answer to a service that it accepts."""
        self._connection = connection
        self._calling = threading.Lock()
        self._answers = threading.Condition()
        self._answer: tuple[dict[str, Any], list[int]] | None = None
        self._number = 0  # of the newest request
        self._lost = self._closed = False
        self._output = 2 if has_errors() else os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self.process: subprocess.Popen[bytes] | None = None  # where this service has started it
        self.on_lost: Callable[[], None] = lambda: None
        self.on_hand_over: Callable[[], None] = lambda: None
        self.on_ended: Callable[[str], None] = lambda program: None
        self.pid = int(welcome["pid"])
        #: Whether the keeper is in another container: its workers end with that one.
        self.foreign = welcome["namespace"] != protocol.namespace()
        self.kept: list[str] = welcome["kept"]
        self.children: list[int] = welcome["children"]
        self._reader = threading.Thread(target=self._read, name="jitc-keeper", daemon=True)
        self._reader.start()

    @property
    def lost(self) -> bool:
        return self._lost

    def keep(self, name: str, descriptor: int, token: str = "") -> None:
        """Makes the keeper hold the descriptor too, replacing another one of that name. Raises OSError.

        token: with it a training process may have the descriptor; empty: none may."""
        self._call({"do": "keep", "name": name, "token": token}, [descriptor])

    def take(self, names: list[str]) -> dict[str, int]:
        """Returns descriptors of what the keeper has of these names; the caller closes them. Raises OSError."""
        taken: dict[str, int] = {}
        for some in (names[at : at + protocol.DESCRIPTORS] for at in range(0, len(names), protocol.DESCRIPTORS)):
            answer, descriptors = self._ask({"do": "take", "names": some})
            taken |= zip(answer["taken"], descriptors, strict=True)
        return taken

    def drop(self, names: Iterable[str]) -> None:
        self._call({"do": "drop", "names": list(names)})

    @property
    def room(self) -> int:
        """Returns the most bytes of a request; this limits a worker's environment."""
        return protocol.room(self._connection)

    def spawn(self, command: list[str], environment: dict[str, str], ready: int) -> int:
        """Starts a worker process; its output goes where this process's errors go. Raises OSError."""
        request = {"do": "spawn", "command": command, "environment": environment}
        return int(self._call(request, [ready, self._output])["pid"])

    def process_of(self, pid: int) -> int:
        """Returns a descriptor that becomes readable when the worker has ended; the caller closes it. Raises OSError
        if the keeper does not know the worker."""
        _, (descriptor,) = self._ask({"do": "process", "pid": pid})
        return descriptor

    def signal(self, descriptor: int, pid: int, number: int) -> None:
        """Sends a signal to the worker with this number; descriptor: of its process."""
        self._call({"do": "signal", "pid": pid, "signal": int(number)}, [descriptor])

    def reap(self, pid: int) -> int | None:
        """Forgets a worker that has ended. Returns its exit status, negative for a signal; None if the keeper does not
        know it."""
        status: int | None = self._call({"do": "reap", "pid": pid}).get("status")
        return status

    def watch(self, program: str) -> int | None:
        """Makes the keeper report when the training process of this ticket ends; a keeper without a service waits for
        it.

        Returns its process, 0 if that cannot be seen from here; None: it has ended, or there never was one."""
        answer = self._call({"do": "watch", "program": program})
        return int(answer["pid"]) if answer["there"] else None

    def serving(self, settled: bool) -> None:
        """Reports that this service serves its sessions; settled: and all the rest, so that the service which it
        replaces, and which stands by until then, may go."""
        self._call({"do": "serving", "settled": settled})

    def end(self, leaves_folder: bool = False) -> None:
        """Ends all workers and the keeper. Returns when they have ended. leaves_folder: the keeper does not remove the
        socket and its folder, so that programs which begin now wait for the service."""
        try:
            self._closed = True
            self._call({"do": "end", "leaves_folder": leaves_folder})
        except KeeperLost:
            return
        self._reader.join(ENDING_SECONDS)
        self._connection.close()
        if self.process is not None:
            self.process.wait(ENDING_SECONDS)

    def leave(self) -> None:
        """Disconnects, and leaves everything to the next service."""
        self._closed = True
        self._connection.shutdown(socket.SHUT_RDWR)
        self._reader.join(ENDING_SECONDS)
        self._connection.close()

    def handed_on(self) -> int:
        """Returns the descriptor of the connection, for the program that is about to replace this process's."""
        return self._connection.fileno()

    def _call(self, request: dict[str, Any], descriptors: Iterable[int] = ()) -> dict[str, Any]:
        """Returns the answer. Raises KeeperLost, and OSError for an error of the keeper's."""
        answer, given = self._ask(request, descriptors)
        protocol.close(given)
        return answer

    def _ask(self, request: dict[str, Any], descriptors: Iterable[int] = ()) -> tuple[dict[str, Any], list[int]]:
        with self._calling, self._answers:
            if self._lost:
                raise KeeperLost("jitc-keeper has ended")
            self._answer = None
            self._number += 1
            try:
                protocol.send(self._connection, request | {"number": self._number}, descriptors)
            except protocol.Closed:
                raise KeeperLost("jitc-keeper has ended") from None
            self._answers.wait_for(lambda: self._answer is not None or self._lost, ANSWER_SECONDS)
            if self._answer is None:
                raise KeeperLost("jitc-keeper has ended" if self._lost else "jitc-keeper does not answer")
            (answer, given), self._answer = self._answer, None
        if protocol.TOO_MANY in answer:
            raise OSError(errno.EMFILE, "jitc-proxyd can have no more descriptors (ulimit -n)")
        if "error" in answer:
            protocol.close(given)
            raise OSError(answer["error"])
        return answer, given

    def _read(self) -> None:
        try:
            while True:
                document, given = protocol.receive(self._connection)
                if "event" in document:
                    guarded("what was told had no effect", functools.partial(self._told, document))()
                    continue
                self._take_answer(document, given)
        except protocol.Closed:
            pass
        except Exception as error:  # as good as its end: nothing that it says can be relied on
            complain(f"its service does not understand it: {shown(error)}")
        with self._answers:
            self._lost = True
            self._answers.notify_all()
        if not self._closed:
            self.on_lost()

    def _take_answer(self, document: dict[str, Any], given: list[int]) -> None:
        with self._answers:
            if document.get("to") == self._number and self._answer is None:
                self._answer = document, given
                self._answers.notify_all()
                return
        protocol.close(given)  # its caller has given up waiting

    def _told(self, document: dict[str, Any]) -> None:
        if document["event"] == "ended":
            self.on_ended(document["program"])
        else:
            self.on_hand_over()


def has_errors() -> bool:
    """Returns whether this process has a standard error."""
    try:
        os.fstat(2)
    except OSError:
        return False
    return True
