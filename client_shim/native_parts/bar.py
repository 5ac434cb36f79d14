"""Shows how far a long piece of work is: a bar on a terminal, else a line when it begins and one when it has ended.

Called by: supply.py. Promise: it writes to standard error alone, so that a program's output stays its own.
"""

from __future__ import annotations

import sys
import time

_WIDTH = 40


class Bar:
    """A bar for `what`, which is said before anything else."""

    def __init__(self, what: str) -> None:
        self._terminal, self._began = sys.stderr.isatty(), time.monotonic()
        self._write(f"jitc: {what}\n")

    def show(self, done: int, whole: int) -> None:
        if self._terminal and whole:
            full = _WIDTH * done // whole
            self._write(f"\r   [{'#' * full}{' ' * (_WIDTH - full)}] {done}/{whole} ")

    def end(self, said: str = "") -> None:
        """Removes the bar, and says how long it took, with the word that is given; nothing without one."""
        if self._terminal:
            self._write(f"\r{' ' * (_WIDTH + 20)}\r")
        if said:
            self._write(f"jitc: {said} ({time.monotonic() - self._began:.0f} s)\n")

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError):
            pass  # nobody reads it; the work goes on
