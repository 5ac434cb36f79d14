"""Clocks for leases: the machine's, and what another one needs to replace it.

Called by: engines, registrations, campaigns. Promises: times count on while the machine is suspended; two clocks are
never compared, so nodes may disagree about the time of day.
"""

from __future__ import annotations

import math
import threading
import time
from typing import Protocol

#: Longest piece of a wait: a thread that waits does not notice time in which the machine was suspended.
PIECE_SECONDS = 1.0


class Clock(Protocol):
    """A source of time, in seconds from some beginning, that threads can wait for."""

    def now(self) -> float:
        """Returns the time, which never goes back."""

    def wait(self, condition: threading.Condition, until: float) -> None:
        """Waits, with the condition held, until it is notified or the time has come; may return earlier.

        until: math.inf: without a limit.
        """


class BootClock:
    """The machine's clock since its start (CLOCK_BOOTTIME)."""

    def now(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def wait(self, condition: threading.Condition, until: float) -> None:
        left = until - self.now()
        condition.wait(None if left == math.inf else min(max(left, 0.0), PIECE_SECONDS))
