"""A clock that a test moves by hand.

Called by: tests of what waits for times. Promises: it stands still until `advance`; when that returns, every thread
that waits for a time which has come has been notified.
"""

from __future__ import annotations

import threading


class OwnedClock:
    """The face of `Clock` in proxy/cluster/store/clock.py. Thread-safe."""

    def __init__(self, now: float = 1000.0) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._waiting: list[tuple[threading.Condition, float]] = []

    def now(self) -> float:
        return self._now

    def wait(self, condition: threading.Condition, until: float) -> None:
        """Waits, with the condition held, until it is notified."""
        waits = condition, until
        with self._lock:
            if self._now >= until:
                return
            self._waiting.append(waits)
        try:
            condition.wait()
        finally:
            with self._lock:
                self._waiting.remove(waits)

    def is_waited_for(self, seconds: float) -> bool:
        """Returns whether a thread waits for a time that has not come, and comes within so long."""
        with self._lock:
            return any(self._now < until <= self._now + seconds for _, until in self._waiting)

    def advance(self, seconds: float) -> None:
        with self._lock:
            self._now += seconds
            due = [condition for condition, until in self._waiting if until <= self._now]
        for one in due:
            with one:
                one.notify_all()
