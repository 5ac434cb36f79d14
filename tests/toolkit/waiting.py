"""Waiting for something to become true, with a time limit."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_never = threading.Event()


def until(condition: Callable[[], T | None], seconds: float, what: str) -> T:
    """The first result that is neither None nor False; AssertionError when the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value is not None and value is not False:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what}")
        _never.wait(0.02)
