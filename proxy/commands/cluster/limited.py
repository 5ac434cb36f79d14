"""Work that may wait for other machines, within a limit of time.

Called by: store.py, nodes.py, ../doctor/cluster. Promise: a call returns when its time is over, whatever the work waits
for (the C library looks a name up as long as it likes); its threads do not keep the command from ending.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")
#: Threads of one call.
_THREADS = 16


class Late(Exception):
    """The work has not ended in time."""


def within(seconds: float, work: Callable[[], R]) -> R:
    """Returns what the work returns, or raises what it raises. Raises Late."""
    [found] = each([None], seconds, lambda _: work())
    if not found.done():
        raise Late
    return found.result()


def each(all_of: Sequence[T], seconds: float, work: Callable[[T], R]) -> list[Future[R]]:
    """Does the work for each of them, several at a time. Returns their results in order; those that are late have
    none."""
    waiting: queue.SimpleQueue[tuple[T, Future[R]]] = queue.SimpleQueue()
    futures: list[Future[R]] = [Future() for _ in all_of]
    for pair in zip(all_of, futures, strict=True):
        waiting.put(pair)
    for _ in range(min(_THREADS, len(futures))):
        threading.Thread(target=_run, args=(waiting, work), name="jitc-limited", daemon=True).start()
    wait(futures, seconds)
    return futures


def _run(waiting: queue.SimpleQueue[tuple[T, Future[R]]], work: Callable[[T], R]) -> None:
    while True:
        try:
            one, future = waiting.get_nowait()
        except queue.Empty:
            return
        try:
            future.set_result(work(one))
        except Exception as error:
            future.set_exception(error)
