"""Child processes that never outlive the check, however it or they end.

Called by: check.py (a child per step), step.py, programs and preflight probes (die_with_parent). Promises: `run`
returns within its limit and a few seconds; when it returns or raises, nothing that the child started is alive. Linux
only.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36
#: A process in the kernel's hands (a driver that hangs) does not even end when it is killed: it is left to itself.
KILL_SECONDS = 10.0
_given_up: set[int] = set()
_kept = 0


def die_with_parent() -> None:
    """This process is killed when the one that started it ends."""
    ctypes.CDLL(None).prctl(_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def adopt_orphans() -> None:
    """Descendants whose parent ends become children of this process, so that they can be found and ended."""
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def keep(pid: int) -> None:
    """This one child is none of a step's: end_all leaves it alone until another one, or 0, is named."""
    global _kept
    _kept = pid


@dataclass(frozen=True)
class Ended:
    """How a child ended; status is None where it had to be killed at its limit."""

    status: int | None
    seconds: float
    left: tuple[int, ...]  # processes that could not be killed

    def text(self) -> str:
        if self.status is None:
            return f"did not end in {self.seconds:.0f} s and was killed"
        how = f"signal {-self.status}" if self.status < 0 else f"exit status {self.status}"
        return f"its process ended with {how}"


def run(command: Sequence[str], seconds: float, environment: Mapping[str, str], log: Path) -> Ended:
    """Runs it with its output in the log, in a session of its own; ends all that it started."""
    begin = time.monotonic()
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=dict(environment),
            start_new_session=True,
        )  # fmt: skip
    left: list[int] = []
    try:
        status: int | None = process.wait(max(0.0, seconds))
    except subprocess.TimeoutExpired:
        status = None
    finally:  # also when a signal asks for the end of the check
        taken = time.monotonic() - begin
        left = end_all(process)
    return Ended(status, taken, tuple(left))


def end_all(process: subprocess.Popen[bytes] | None = None) -> list[int]:
    """Kills every descendant of this process but the one that is kept; those that are left after all."""
    until = time.monotonic() + KILL_SECONDS
    while left := [one for one in descendants(os.getpid()) if one not in _given_up and one != _kept]:
        for one in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one, signal.SIGKILL)
        _reap(process)
        if time.monotonic() > until:
            _given_up.update(left)
            break
        time.sleep(0.01)
    _reap(process)
    return left


def _reap(process: subprocess.Popen[bytes] | None) -> None:
    if process is not None:
        process.poll()
    with contextlib.suppress(ChildProcessError):
        while ended := os.waitpid(-1, os.WNOHANG)[0]:
            if ended == _kept:
                keep(0)  # its number may be another one's from now on


def descendants(ancestor: int) -> list[int]:
    """Processes below this one that have not ended, whatever session or group they are in."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (found := _parent(int(entry))):
            parents[int(entry)] = found
    below, grown = {ancestor}, True
    while grown:
        more = {one for one, parent in parents.items() if parent in below} - below
        below |= more
        grown = bool(more)
    return sorted(below - {ancestor})


def _parent(pid: int) -> int:
    """0: it has ended, or is a zombie."""
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[:2]
    except (OSError, ValueError):
        return 0
    return 0 if state == "Z" else int(parent)
