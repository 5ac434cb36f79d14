"""A cluster of nodes in the test's process; no thread may be left of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from peer_rig import Town, expect_no_threads


@pytest.fixture
def town(tmp_path: Path) -> Iterator[Town]:
    one = Town(tmp_path)
    yield one
    one.close()
    expect_no_threads()
