"""A command in a session of its own, within a limit of time.

Called by: soak, third_party, operators, pytorch, mutants, bench/peers, forge_client.py and native_program.py. Promises:
nothing of a command's group is alive when the block of `started` is left, or a call of `finished`, however that
happens; a line of output is handed on as soon as it is there. Each limit is the caller's: nothing here is patient.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from typing import Any

from ..waiting import readable

#: A process that has ended may have left its output to another one, which keeps it open.
LOOK_SECONDS = 0.1


@contextlib.contextmanager
def started(
    command: Sequence[str], *, patience: float = 0.0, ask: signal.Signals = signal.SIGTERM, **options: Any
) -> Iterator[subprocess.Popen[Any]]:
    """options: of subprocess.Popen. patience: so long the command may take to end what it has started, once it is asked
    for that because its block ended before it did."""
    with subprocess.Popen(command, start_new_session=True, **options) as process:
        try:
            yield process
        finally:
            end(process, patience, ask)


def finished(command: Sequence[str], seconds: float, **options: Any) -> subprocess.CompletedProcess[str]:
    """Its output and its exit status, whatever that is; options: of `started`. Raises subprocess.TimeoutExpired."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with started(command, **pipes | options) as process:
        output, errors = process.communicate(timeout=seconds)
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def end(process: subprocess.Popen[Any], patience: float = 0.0, ask: signal.Signals = signal.SIGTERM) -> None:
    """Asks it where it has not ended, waits for so long, and kills what is left of its group."""
    try:
        if patience and process.poll() is None:
            process.send_signal(ask)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=patience)  # it may have much to say
    finally:  # also when somebody is impatient
        send(process.pid, signal.SIGKILL)
    process.wait()


def send(group: int, number: signal.Signals) -> None:
    """To all processes of the group that are still there."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


class Lines:
    """What comes out of a pipe, line by line."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._seen = descriptor, b""
        self.ended = False  # nothing more will come

    def next(self, seconds: float | None) -> str | None:
        """The next one, without its end; None: there is none within so long, or nobody writes any more."""
        until = None if seconds is None else time.monotonic() + seconds
        while b"\n" not in self._seen:
            left = None if until is None else max(0.0, until - time.monotonic())
            if self.ended or not readable(self._descriptor, left):
                return None
            more = os.read(self._descriptor, 65536)
            self.ended = not more
            self._seen += more or b"\n" * bool(self._seen)
        line, self._seen = self._seen.split(b"\n", 1)
        return line.decode(errors="replace")

    def rest(self) -> str:
        """Of a line that has no end yet."""
        return self._seen.decode(errors="replace")


class Limit:
    """Of time; whoever has heard of progress may begin it anew."""

    def __init__(self, seconds: float) -> None:
        self.begin(seconds)

    def begin(self, seconds: float) -> None:
        self._seconds, self._over = seconds, time.monotonic() + seconds

    def left(self, command: Any = "") -> float:
        """Raises subprocess.TimeoutExpired, of the command, when there is nothing left."""
        if (left := self._over - time.monotonic()) <= 0:
            raise subprocess.TimeoutExpired(command, self._seconds)
        return left


def lines(process: subprocess.Popen[Any], limit: Limit) -> Iterator[str]:
    """What it prints, line by line, until it has ended. Raises subprocess.TimeoutExpired when the limit is over."""
    assert process.stdout is not None
    output, ended = Lines(process.stdout.fileno()), False
    while not (output.ended or ended):
        ended = process.poll() is not None
        while (line := output.next(0.0 if ended else min(LOOK_SECONDS, limit.left(process.args)))) is not None:
            yield line
    if rest := output.rest():
        yield rest
    process.wait(limit.left(process.args))
