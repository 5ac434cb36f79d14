"""The table that is read without a lock, and the reader of packed bytes (``native/structures.cpp``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.mark.parametrize("check", ["table", "table_with_readers", "packed_reader"])
def test_structure(client: Callable[..., Any], check: str) -> None:
    """In a process of its own, as everything here: a sanitizer's runtime must come first in it."""
    client(f"""
import ctypes
check = library().rt_check_{check}
check.argtypes, check.restype = [], ctypes.c_char_p
assert check() is None, check()
""").finish()
