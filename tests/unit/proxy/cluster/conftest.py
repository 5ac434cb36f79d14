"""Stores for tests of engines: each kind by itself, or all of them in turn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from engine_rig import EtcdRig, FailingRig, LocalRig, Rig
from toolkit.etcd import Etcd, etcd, why_not
from toolkit.waiting import patient

from jitc.proxy.cluster.store.engines.etcd import calls


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine has more time for each answer."""
    monkeypatch.setattr(calls, "CALL_SECONDS", patient(calls.CALL_SECONDS))


@pytest.fixture(scope="module")
def one_etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    """An etcd of one member, for all tests of a module that leave it as it is."""
    if reason := why_not():
        pytest.skip(reason)
    with etcd(tmp_path_factory.mktemp("etcd")) as cluster:
        yield cluster


@pytest.fixture(params=["local", "failing", "etcd"])
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    """A store of each kind in turn."""
    kinds = {"local": LocalRig, "failing": FailingRig}
    kind = request.param
    one: Rig = kinds[kind]() if kind in kinds else EtcdRig(request.getfixturevalue("one_etcd"))
    yield one
    one.close()
