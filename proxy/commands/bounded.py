"""Runs a command within a time limit: with no terminal, in a session of its own, and nothing of it stays.

Called by: doctor/child.py, support/part.py. Promise: a call returns soon after its limit, also where a driver keeps the
process from ending; what is ended for its time ends with all that it has started.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

#: Time for a process to end after SIGKILL; one that a driver holds in the kernel does not.
_END_SECONDS = 1.0


def finished(
    words: Sequence[str], seconds: float, *, said: bytes = b"", environment: Mapping[str, str] | None = None,
    folder: str | None = None,
) -> subprocess.CompletedProcess[bytes]:  # fmt: skip
    """Returns the process when it has ended. said: its standard input; environment: all of its variables. Raises
    subprocess.TimeoutExpired, OSError."""
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=folder,
        start_new_session=True,
    )  # fmt: skip
    try:
        output, errors = process.communicate(said, timeout=seconds)
    finally:
        if process.returncode is None:
            _end(process)
    return subprocess.CompletedProcess(words, process.returncode, output, errors)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process that has not been waited for, with those that it has started: one of them may have the pipes."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_END_SECONDS)
    for one in (process.stdin, process.stdout, process.stderr):
        if one is not None:
            with contextlib.suppress(OSError):
                one.close()
