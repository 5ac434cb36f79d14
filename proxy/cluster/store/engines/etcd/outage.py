"""Reports that etcd is away, and that it is back: two lines for an operator, however many threads wait for it.

Called by: calls.py. Thread-safe. Promises: an answer that is missing once is not reported; an error that has been, or
will soon be, is marked, so that no thread repeats it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from ...clock import Clock
from ...engine import StoreError

#: Until a failure is one to be reported.
REPORT_SECONDS = 1.0


class Outage:
    """The times in which etcd is away."""

    def __init__(self, clock: Clock, report: Callable[[str], None]) -> None:
        self._clock, self._report = clock, report
        self._lock = threading.Lock()
        self._since: float | None = None  # the first failure after the last answer
        self._told = ""  # the kind of error that was reported

    def of(self, error: StoreError) -> StoreError:
        """Takes note of an error that no answer could prevent, and returns it."""
        error.reported = True
        kind = type(error).__name__
        with self._lock:
            now = self._clock.now()
            self._since = now if self._since is None else self._since
            telling = now - self._since >= REPORT_SECONDS and self._told != kind
            self._told = kind if telling else self._told
        if telling:
            self._report(f"{error}; jobs go on, and what nodes must agree on waits for it")
        return error

    def answered(self) -> None:
        """Takes note of an answer."""
        if self._since is None:
            return
        with self._lock:
            since, told = self._since, self._told
            self._since, self._told = None, ""
        if told and since is not None:
            self._report(f"the store answers again, after {self._clock.now() - since:.0f} s")
