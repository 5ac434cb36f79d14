"""Waiting for something to become true, with a time limit.

Limits are made for a machine with two cores on which two jobs run; `JITC_TEST_PATIENCE=3` makes all of them, and
pytest's own for each test, three times as long. Called by: tests, the toolkit, conftest.py. Promise: what becomes true
early is seen early, whatever the limit.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
_never = threading.Event()
PATIENCE = float(os.environ.get("JITC_TEST_PATIENCE") or 1.0)


def patient(seconds: float) -> float:
    """A limit of time, on this machine."""
    return seconds * PATIENCE


@contextlib.contextmanager
def limit_suspended() -> Iterator[None]:
    """What is done meanwhile does not count against the limit of the test, which is pytest's alarm; it has a limit of
    its own."""
    left, every = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left, every)


def until(condition: Callable[[], T | None], seconds: float, what: str) -> T:
    """The first result that is neither None nor False; AssertionError when the time is over."""
    deadline = time.monotonic() + patient(seconds)
    while True:
        value = condition()
        if value is not None and value is not False:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {patient(seconds):g} s: {what}")
        _never.wait(0.02)


def readable(one: Any, seconds: float | None) -> bool:
    """Whether something can be read, or has ended, within so long, None: at any time. `select` fails with descriptors
    from number 1,024 on, and libraries that tests load keep theirs."""
    return bool(_polled(one, select.POLLIN, seconds))


def writable(one: Any, seconds: float) -> bool:
    """Whether something can be written, or has failed, within so long."""
    return bool(_polled(one, select.POLLOUT, seconds) & (select.POLLOUT | select.POLLERR))


def _polled(one: Any, events: int, seconds: float | None) -> int:
    watch = select.poll()
    watch.register(one, events)
    found = watch.poll(None if seconds is None else seconds * 1000)
    return found[0][1] if found else 0


def stop_process(pid: int) -> None:
    """SIGSTOP; none of its threads runs any more when this returns. On a busy machine that takes a while."""
    os.kill(pid, signal.SIGSTOP)
    until(lambda: _stopped(pid), 30, f"process {pid} has stopped")


def _stopped(pid: int) -> bool:
    try:
        states = [one.read_text().rpartition(")")[2].split()[0] for one in Path(f"/proc/{pid}/task").glob("*/stat")]
    except (FileNotFoundError, ProcessLookupError):  # a thread has ended meanwhile
        return False
    return all(one in "TZ" for one in states)
