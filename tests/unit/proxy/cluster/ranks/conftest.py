"""Nodes of a cluster in the test's process; no thread of theirs may be left."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from toolkit.waiting import until

OURS = ("jitc-coordinator", "jitc-recovery", "jitc-errands", "jitc-leads", "jitc-rebuild", "jitc-piece", "jitc-places")


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield

    def left() -> list[str]:
        return [one.name for one in threading.enumerate() if one not in before and one.name.startswith(OURS)]

    until(lambda: not left(), 30, f"no thread is left of {left()}")
