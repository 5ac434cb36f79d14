"""A flag that a signal's handler may set while the thread that it interrupts waits for it.

threading.Event may not be set there: its lock is held for a moment at the begin and at the end of each wait, and a
handler that comes in that moment waits for ever for the code that it interrupts.

Called by: signals.py and ../store.py. Promise: set() takes no lock; wait() returns at once when the flag is set.
"""

from __future__ import annotations

import os
import select


class Flag:
    """Is set once, by any thread or handler, and stays set."""

    def __init__(self) -> None:
        self._set = False
        self._descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)  # readable once it is set
        self._poll = select.poll()
        self._poll.register(self._descriptor, select.POLLIN)

    def set(self) -> None:
        self._set = True
        os.eventfd_write(self._descriptor, 1)

    def is_set(self) -> bool:
        return self._set

    def wait(self, seconds: float) -> bool:
        """Waits at most so long. Returns whether it is set."""
        if not self._set:
            self._poll.poll(seconds * 1000)
        return self._set
