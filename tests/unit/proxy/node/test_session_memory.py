"""The memory of a session: as large as the options say, and given back with it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jitc.proxy.common.config import Config
from jitc.proxy.node.session_memory import SessionMemory

MIB = 1 << 20
SMALL = {"journal_bytes": 16 * MIB, "snapshot_bytes": 64 * MIB, "pinned_bytes": 0}


@pytest.mark.parametrize("limit", [0, 16 * MIB, 1 << 40], ids=["none", "least", "most"])
def test_a_spill_file_has_the_size_of_its_limit_and_takes_no_space(tmp_path: Path, limit: int) -> None:
    memory = SessionMemory.create(Config("s", spill_dir=str(tmp_path), spill_bytes=limit, **SMALL), "token")
    try:
        found = os.stat(memory.spill.path)
        assert (found.st_size, found.st_blocks) == (limit, 0)
        assert memory.files().spill_bytes == limit
        assert not list(tmp_path.iterdir())  # it has no name
    finally:
        memory.close()
