"""Fixtures ``driver``: a fake driver with a current context and an end; ``dnn``: a fake cuDNN on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_dnn import Dnn
from fake_driver import Driver


@pytest.fixture
def fake_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "calls.log"
    monkeypatch.setenv("JITC_FAKE_LOG", str(path))
    return path


@pytest.fixture
def driver(tmp_path: Path, fake_log: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Driver]:
    monkeypatch.setenv("JITC_FAKE_MEMORY", str(64 << 20))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    one = Driver(tmp_path)
    one.start()
    yield one
    one.end()


@pytest.fixture
def dnn(driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dnn:
    monkeypatch.setenv("JITC_FAKE_CUDA", str(driver.path))
    return Dnn(driver, tmp_path)
