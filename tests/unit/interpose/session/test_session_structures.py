"""The table that is read without a lock, the reader of packed bytes, handles, and what is known of streams' progress.

``native/structures.cpp``, ``native/progress_cases.cpp``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

CHECKS = ("table", "table_with_readers", "packed_reader", "handles_of_many_objects")
PROGRESS = ("event_result", "work_of_a_stream", "waits", "legacy", "destroyed", "captured", "random_order")


@pytest.mark.parametrize("check", [*CHECKS, *PROGRESS])
def test_structure(client: Callable[..., Any], check: str) -> None:
    """In a process of its own, as everything here: a sanitizer's runtime must come first in it."""
    client(f"""
import ctypes
check = library().rt_check_{check}
check.argtypes, check.restype = [], ctypes.c_char_p
assert check() is None, check()
""").finish()
