"""A node service in this process, with stand-in workers in real processes; nothing may be left of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from client_rig import RealClient
from proxyd_rig import Proxyd
from standin_client import config, started
from toolkit.etcd import Etcd, etcd, why_not

from jitc.proxy.service import Service


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with started(Service(config(tmp_path))) as one:
        yield one
    assert not (tmp_path / "s").exists()
    assert not (tmp_path / "s.d").exists()


@pytest.fixture(scope="module")
def one_etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    """An etcd of one member, for all tests of a module that leave it as it is."""
    if reason := why_not():
        pytest.skip(reason)
    with etcd(tmp_path_factory.mktemp("etcd")) as cluster:
        yield cluster


@pytest.fixture
def proxyd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxyd]:
    """Services in processes of their own; nothing may be left of them."""
    monkeypatch.setattr(RealClient, "patience", 60.0)
    one = Proxyd(tmp_path)
    try:
        yield one
        one.stop()
        assert [entry.name for entry in tmp_path.iterdir()] == ["log"]
    finally:
        for process in one.processes:
            process.kill()
            process.wait()
