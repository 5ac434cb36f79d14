"""Finds the made-up reports, which are one folder up; ends terminals and pipes that a test has left."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from terminals import Commands


@pytest.fixture
def commands() -> Iterator[Commands]:
    found = Commands()
    yield found
    found.end()
