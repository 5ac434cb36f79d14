"""Processes that checks start: with a time limit, without the preloaded library, and none of them stays.

Called by: the modules of checks. Promises: a call returns soon after its time limit, also where a driver keeps the
process from ending; what is ended for its time ends with all that it has started; it gets no input but what is given.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .check import NoVerdict

#: Time for a check's process.
SECONDS = 5.0
#: Time for a process to end after SIGKILL; one that a driver holds in the kernel does not.
_END_SECONDS = 1.0


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
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
        env=kept | dict(environment or {}), cwd="/", start_new_session=True,
    )  # fmt: skip
    try:
        output, errors = process.communicate(said, timeout=limit)
    except subprocess.TimeoutExpired:
        raise Slow(f"{os.path.basename(words[0])} did not answer within {limit:g} s") from None
    finally:
        if process.returncode is None:
            _end(process)
    return Done(process.returncode, output, errors)


def ran_python(code: str, *arguments: str, environment: Mapping[str, str] | None = None) -> Done:
    """Runs code in another process of this Python. Raises Slow, OSError."""
    return ran([sys.executable, "-c", code, *arguments], environment={"PYTHONSAFEPATH": "1"} | dict(environment or {}))


def _end(process: subprocess.Popen[str]) -> None:
    """Ends a process that has not been waited for, with those that it has started: one of them may have the pipes."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_END_SECONDS)
    for one in (process.stdin, process.stdout, process.stderr):
        if one is not None:
            with contextlib.suppress(OSError):
                one.close()
