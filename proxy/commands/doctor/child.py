"""Processes that checks start: with a time limit, without the preloaded library, and none of them stays.

Called by: the modules of checks. Promise: it gets no input but what is given (and those of ../bounded.py).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..bounded import finished
from .check import NoVerdict

#: Time for a check's process.
SECONDS = 5.0


class Slow(NoVerdict):
    """The process did not end in time."""

    remedy = "see whether the machine is overloaded, and try again"


@dataclass(frozen=True)
class Done:
    """A process that has ended. status: negative for a signal."""

    status: int
    output: str
    errors: str

    def why(self) -> str:
        """Returns the last line of its errors, otherwise its end."""
        lines = self.errors.strip().splitlines()
        return lines[-1] if lines else self.end()

    def end(self) -> str:
        if self.status >= 0:
            return f"exit status {self.status}"
        return f"ended by {signal.Signals(-self.status).name}"


def ran(
    words: Sequence[str], said: str = "", environment: Mapping[str, str] | None = None, seconds: float | None = None
) -> Done:
    """Runs a command. said: its standard input; environment: variables besides this process's. Raises Slow,
    OSError."""
    limit = SECONDS if seconds is None else seconds
    kept = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    try:
        done = finished(words, limit, said=said.encode(), environment=kept | dict(environment or {}), folder="/")
    except subprocess.TimeoutExpired:
        raise Slow(f"{os.path.basename(words[0])} did not answer within {limit:g} s") from None
    return Done(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


def ran_python(code: str, *arguments: str, environment: Mapping[str, str] | None = None) -> Done:
    """Runs code in another process of this Python. Raises Slow, OSError."""
    return ran([sys.executable, "-c", code, *arguments], environment={"PYTHONSAFEPATH": "1"} | dict(environment or {}))
