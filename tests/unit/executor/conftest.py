"""Fixtures for the executor's tests: the device under it, a session's memory and workers, a session with kernels."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from executor_rig import Shared
from kernel_rig import Node
from toolkit.fakes import fake_library

from jitc.proxy.common.executor import Executor


@pytest.fixture(params=["software", "cuda", "shuffled"])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What make_executor makes, here and in child processes; cuda is on the fake driver, shuffled: --shuffle."""
    name: str = request.param
    monkeypatch.setenv("JITC_TEST_SHUFFLE", os.environ.get("JITC_TEST_SHUFFLE", "1") if name == "shuffled" else "0")
    if name == "cuda":
        monkeypatch.setenv("JITC_TEST_DRIVER", str(fake_library("cuda")))
        monkeypatch.setenv("JITC_TEST_NVRTC", str(fake_library("nvrtc")))
    return name


@pytest.fixture
def shared() -> Iterator[Shared]:
    """The memory of a session, which outlives its workers."""
    memory = Shared()
    yield memory
    memory.close()


@pytest.fixture
def executors() -> Iterator[list[Executor]]:
    """Workers of the test, to be added; closed after it."""
    made: list[Executor] = []
    yield made
    for one in made:
        one.close()


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    (tmp_path / "images").mkdir()
    made = Node(tmp_path / "images")
    yield made
    made.close()
    assert not made.control.faults
