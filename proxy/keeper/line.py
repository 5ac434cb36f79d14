"""The connection of a service to its keeper: requests, their answers, and events.

Called by: client.py. Thread-safe. Promises: the keeper's end is reported once, and every request raises KeeperLost from
then on; events arrive on a thread that must not ask the keeper.
"""

from __future__ import annotations

import errno
import functools
import socket
import threading
from collections.abc import Callable, Iterable
from typing import Any

from ..common.shared_memory import ShelfLost
from . import protocol
from .guard import complain, guarded, shown

#: Time for the keeper to answer; it never waits for anything but the end of workers.
ANSWER_SECONDS = 30.0


class KeeperLost(ShelfLost):
    """The keeper has ended, or does not answer: workers and memory are lost."""


class Line:
    """Owns the connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._calling = threading.Lock()
        self._answers = threading.Condition()
        self._answer: tuple[dict[str, Any], list[int]] | None = None
        self._number = 0  # of the newest request
        self.lost = self._closed = False
        self.handing_over = False  # another service wants to replace this one
        self.on_lost: Callable[[], None] = lambda: None
        self.on_hand_over: Callable[[], None] = lambda: None
        self.on_ended: list[Callable[[str], None]] = []  # each is told of every program
        self._reader = threading.Thread(target=self._read, name="jitc-keeper", daemon=True)

    def start(self) -> None:
        self._reader.start()

    def closing(self) -> None:
        """Says that the end of the connection is wanted from now on."""
        self._closed = True

    def close(self, seconds: float) -> None:
        """Closes the connection, once the other end has, for which there is so much time."""
        self._reader.join(seconds)
        self.connection.close()

    def call(self, request: dict[str, Any], descriptors: Iterable[int] = ()) -> dict[str, Any]:
        """Returns the answer. Raises KeeperLost, and OSError for an error of the keeper's."""
        answer, given = self.ask(request, descriptors)
        protocol.close(given)
        return answer

    def ask(self, request: dict[str, Any], descriptors: Iterable[int] = ()) -> tuple[dict[str, Any], list[int]]:
        """Returns the answer with its descriptors, which are the caller's. Raises what call() raises."""
        with self._calling, self._answers:
            if self.lost:
                raise KeeperLost("jitc-keeper has ended")
            self._answer = None
            self._number += 1
            try:
                protocol.send(self.connection, request | {"number": self._number}, descriptors)
            except protocol.Closed:
                self.lost = True  # before anybody acts on it
                raise KeeperLost("jitc-keeper has ended") from None
            self._answers.wait_for(lambda: self._answer is not None or self.lost, ANSWER_SECONDS)
            if self._answer is None:
                raise KeeperLost("jitc-keeper has ended" if self.lost else "jitc-keeper does not answer")
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
                document, given = protocol.receive(self.connection)
                if "event" in document:
                    guarded("what was told had no effect", functools.partial(self._told, document))()
                    continue
                self._take_answer(document, given)
        except protocol.Closed:
            pass
        except Exception as error:  # as good as its end: nothing that it says can be relied on
            complain(f"its service does not understand it: {shown(error)}")
        with self._answers:
            self.lost = True
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
            for one in list(self.on_ended):
                one(document["program"])
        else:
            self.handing_over = True
            self.on_hand_over()
