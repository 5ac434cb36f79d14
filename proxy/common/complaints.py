"""Handles an exception in a thread that must not end: it prints a line, and the thread continues.

Called by: the monitoring threads (rounds.py, idle.py, watch.py, nvml.py), the coordinator, the keeper's reader.
Promises: the same complaint comes once in a while, not in each round; printing it raises nothing.
"""

from __future__ import annotations

import errno
import sys
import time
import traceback
from pathlib import Path

from .printable import printable

#: Until the same is said again.
AGAIN_SECONDS = 60.0
#: Complaints that are remembered.
REMEMBERED = 64
_SCARCE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def scarce(error: BaseException) -> bool:
    """Returns whether the exception means that descriptors or memory are used up for now: the work can be done
    later."""
    return isinstance(error, OSError) and error.errno in _SCARCE


class Complaints:
    """The complaints of one thread. Not thread-safe."""

    def __init__(self, thread: str) -> None:
        self._thread = thread
        self._said: dict[str, float] = {}  # when

    def of(self, error: BaseException) -> None:
        """Prints the line, unless who raised the exception has said so, or soon will (`reported`)."""
        if getattr(error, "reported", False):
            return
        frames = traceback.extract_tb(error.__traceback__)
        where = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
        text = printable(f"{type(error).__name__}: {error}") + where
        now = time.monotonic()
        if now - self._said.get(text, -AGAIN_SECONDS) < AGAIN_SECONDS:
            return
        if len(self._said) >= REMEMBERED:
            self._said.clear()
        self._said[text] = now
        print(f"jitc-proxyd: {self._thread} goes on after {text}", file=sys.stderr, flush=True)
