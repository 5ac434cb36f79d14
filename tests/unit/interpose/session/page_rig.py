"""A fake service with pinned memory, whose progress page the test writes; its worker reports no progress in messages.

Called by: the tests of the progress page, and conftest.py, which has the fixtures for them.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator

import pytest
from standin_node import BASE, KNOWN, Node, Record
from toolkit.progress_page import RESERVED, Page

STREAM, OTHER = 5 << 16, 6 << 16
TOKEN = f"{1:032x}"  # of the first session


@pytest.fixture
def pinned() -> Iterator[int]:
    fd = os.memfd_create("test-pinned", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, RESERVED + 4096)
    os.pwrite(fd, TOKEN.encode(), 0)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    yield fd
    os.close(fd)


@pytest.fixture
def page(node: Node, pinned: int) -> Page:
    node.script.withhold_progress = True
    node.keeper.memory = pinned
    node.pinned = {"pinned_base": BASE >> 1, "pinned_bytes": RESERVED + 4096}
    return Page(pinned)


def known(journal: list[Record]) -> list[tuple[int, int, int]]:
    """Sequence of each such op, and what it says."""
    numbers = [(one.sequence, one.body) for one in journal if one.op == KNOWN]
    return [(at, int.from_bytes(body[:8], "little"), int.from_bytes(body[8:16], "little")) for at, body in numbers]
