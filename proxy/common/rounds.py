"""Repeats a task in its own thread until it is stopped.

Called by: the watches over workers, hangs and joins. Promises: stop() ends the pause at once, and waits for a running
round; an exception ends only that round, and is printed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from .complaints import Complaints

STOP_SECONDS = 10


class Rounds:
    """A repeated task. There is no thread if pause (seconds) is 0."""

    def __init__(self, name: str, pause: float, work: Callable[[], None]) -> None:
        self._pause, self._work = pause, work
        self._stopped = threading.Event()
        self._complaints = Complaints(name)
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)

    def start(self) -> None:
        if self._pause > 0:
            self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    def _loop(self) -> None:
        while not self._stopped.wait(self._pause):
            try:
                self._work()
            except Exception as error:
                self._complaints.of(error)
