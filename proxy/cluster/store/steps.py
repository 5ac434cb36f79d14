"""A thread that takes steps when it is woken, or when the time of the next one has come.

Called by: registrations, campaigns, watches. Promises: a wake is never lost; an exception ends only that step, is
printed, and the next one comes after a pause; when stop() has returned no step runs, unless stop() was called from one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from ...common.complaints import Complaints
from .clock import Clock

#: After a step that has failed.
RETRY_SECONDS = 0.2
#: For a step that is running: longer than a call of it can take.
STOP_SECONDS = 10.0


class Steps:
    """The thread; step: returns until when the next one may wait if nothing wakes it."""

    def __init__(self, name: str, clock: Clock, step: Callable[[], float]) -> None:
        self._clock, self._step = clock, step
        self._complaints = Complaints(name)
        self._changed = threading.Condition()
        self._woken = self._stopped = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    @property
    def stopped(self) -> bool:
        return self._stopped

    def halt(self) -> None:
        """Lets no step begin any more."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def stop(self) -> None:
        """Lets no step begin any more, and waits for one that runs. May be called again."""
        self.halt()
        if threading.current_thread() is not self._thread and self._thread.ident is not None:
            self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        while self._begin():
            try:
                until = self._step()
            except Exception as error:
                if not self._stopped:
                    self._complaints.of(error)
                until = self._clock.now() + RETRY_SECONDS
            self._wait(until)

    def _begin(self) -> bool:
        with self._changed:
            self._woken = False
            return not self._stopped

    def _wait(self, until: float) -> None:
        with self._changed:
            while not (self._woken or self._stopped) and self._clock.now() < until:
                self._clock.wait(self._changed, until)
