"""Stores for tests of engines: each kind by itself, or all of them in turn."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from engine_rig import EtcdRig, FailingRig, LocalRig, Rig
from toolkit.waiting import patient

from jitc.proxy.cluster.store.engines.etcd import calls


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine has more time for each answer."""
    monkeypatch.setattr(calls, "CALL_SECONDS", patient(calls.CALL_SECONDS))


@pytest.fixture(params=["local", "failing", "etcd"])
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    """A store of each kind in turn."""
    kinds = {"local": LocalRig, "failing": FailingRig}
    kind = request.param
    one: Rig = kinds[kind]() if kind in kinds else EtcdRig(request.getfixturevalue("one_etcd"))
    yield one
    one.close()
