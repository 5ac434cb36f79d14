"""Requests to workers name memory by numbers; the service that has the worker knows where it lies."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jitc.proxy.node.local_paths import LocalPaths
from jitc.proxy.node.transfer_memory import TransferMemories
from jitc.v1 import worker_pb2


@pytest.fixture
def node() -> Any:
    def piece(name: str) -> Any:
        return SimpleNamespace(path=f"/{name}", size=len(name))

    memory = SimpleNamespace(**{name: piece(name) for name in ("journal", "spill", "snapshot")}, pinned=None)
    session = SimpleNamespace(
        number=3, token="t", slot=2, memory=memory, epoch=5, host=1, gpu=0,
        addresses=SimpleNamespace(fields=lambda: {"address_base": 4096, "address_bytes": 8192}), pinned=dict,
    )  # fmt: skip
    return SimpleNamespace(sessions={3: session}, board=piece("board"), transfer_memories=TransferMemories())


@pytest.mark.parametrize("kind", [worker_pb2.TransferRequest, worker_pb2.DirectTransferRequest])
def test_a_transfer_goes_through_the_memory_that_it_names(node: Any, kind: Any) -> None:
    first, second = (node.transfer_memories.make("test", 4096) for _ in range(2))
    request = kind(session=3, epoch=7, memory=second.number)
    filled = LocalPaths(node).filled_in(request)
    assert request.path == "" and (filled.session, filled.epoch) == (3, 7)
    assert Path(filled.path).stat().st_ino == Path(second.path).stat().st_ino != Path(first.path).stat().st_ino
    second.close()
    assert LocalPaths(node).filled_in(request).path == ""
    first.close()


@pytest.mark.parametrize("rebuild", [False, True])
def test_a_session_is_opened_with_its_memory(node: Any, rebuild: bool) -> None:
    paths = LocalPaths(node)
    filled = paths.filled_in(worker_pb2.OpenSessionRequest(session=3, rebuild=rebuild))
    assert (filled.journal_path, filled.spill_path, filled.snapshot_path) == ("/journal", "/spill", "/snapshot")
    assert (filled.board_path, filled.pinned_path, filled.token, filled.slot) == ("/board", "", "t", 2)
    assert (filled.rebuild, filled.guest, filled.epoch, filled.address_base) == (rebuild, True, 5, 4096)


def test_a_session_that_has_ended_gets_no_path(node: Any) -> None:
    request = worker_pb2.OpenSessionRequest(session=4, rebuild=True)
    assert LocalPaths(node).filled_in(request).journal_path == ""


def test_other_requests_stay_as_they_are(node: Any) -> None:
    request = worker_pb2.RecoverRequest(session=3, epoch=7, boundary=4)
    assert LocalPaths(node).filled_in(request) is request
