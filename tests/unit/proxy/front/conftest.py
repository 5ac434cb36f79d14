"""A relay for a test; no descriptor and no thread may be left of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from front_rig import Front, descriptors, threads


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Front]:
    before = descriptors()
    one = Front(tmp_path)
    yield one
    one.close()
    assert descriptors() <= before
    assert not threads()


@pytest.fixture
def started(front: Front) -> Front:
    front.start()
    return front
