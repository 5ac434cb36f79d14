"""A node service in this process, with stand-in workers in real processes; nothing may be left of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from standin_client import config, started

from jitc.proxy.service import Service


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with started(Service(config(tmp_path))) as one:
        yield one
    assert not (tmp_path / "s").exists()
    assert not (tmp_path / "s.d").exists()
