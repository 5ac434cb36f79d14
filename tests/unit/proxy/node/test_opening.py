"""Requests to workers name sessions and memory by numbers: the service knows sizes, the worker receives the memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from toolkit.shelf import Shelf

from jitc.proxy.keeper.worker_end import NoMemory
from jitc.proxy.node.opening import Opening
from jitc.proxy.node.transfer_memory import TransferMemories
from jitc.proxy.worker.kept_memory import KeptMemory
from jitc.v1 import worker_pb2


@pytest.fixture
def node() -> Any:
    memory = SimpleNamespace(**{name: SimpleNamespace(size=len(name)) for name in ("journal", "spill", "snapshot")})
    session = SimpleNamespace(
        number=3, token="t", slot=2, memory=memory, epoch=5, host=1, gpu=0,
        addresses=SimpleNamespace(fields=lambda: {"address_base": 4096, "address_bytes": 8192}), pinned=dict,
    )  # fmt: skip
    mirrors = {1 << 32: 64}
    return SimpleNamespace(
        sessions={3: session}, mirror_slots=lambda numbers: [mirrors[one] for one in numbers if one in mirrors]
    )


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("kind", [worker_pb2.TransferRequest, worker_pb2.DirectTransferRequest])
def test_a_transfer_goes_through_the_memory_that_it_names(kind: Any) -> None:
    kept: Any = Shelf()
    memories, worker = TransferMemories(kept), KeptMemory(kept.take)
    first, second = (memories.make("test", 4096 * size) for size in (1, 2))
    request = kind(session=3, epoch=7, memory=second.number)
    before = descriptors()
    with worker.filled_in(request) as filled:
        assert request.path == "" and (filled.session, filled.epoch) == (3, 7)
        assert Path(filled.path).stat().st_size == 8192
    assert descriptors() == before
    second.close()
    with worker.filled_in(request) as filled:
        assert filled.path == ""
    first.close()
    assert not kept.kept


@pytest.mark.parametrize("rebuild", [False, True])
def test_a_session_is_opened_with_what_the_node_knows(node: Any, rebuild: bool) -> None:
    filled = Opening(node).filled_in(worker_pb2.OpenSessionRequest(session=3, rebuild=rebuild))
    assert (filled.journal_bytes, filled.spill_bytes, filled.snapshot_bytes) == (7, 5, 8)
    assert (filled.token, filled.slot, filled.journal_path, filled.board_path) == ("t", 2, "", "")
    assert (filled.rebuild, filled.guest, filled.epoch, filled.address_base) == (rebuild, True, 5, 4096)


def test_a_worker_opens_a_session_s_memory_under_paths_of_its_own() -> None:
    kept = Shelf()
    for name in ("board", "3/journal", "3/snapshot", "3/spill", "4/pinned"):
        kept.kept[name] = os.memfd_create(name)
    request = worker_pb2.OpenSessionRequest(session=3, token="t")
    with KeptMemory(kept.take).filled_in(request) as filled:
        paths = [filled.board_path, filled.journal_path, filled.snapshot_path, filled.spill_path]
        assert [os.readlink(path).removeprefix("/memfd:").split()[0] for path in paths] == list(kept.kept)[:4]
        assert (filled.pinned_path, filled.token) == ("", "t")
    kept.drop(list(kept.kept))


def test_a_segment_is_the_caller_s_or_not_there() -> None:
    kept = Shelf()
    kept.kept["communicator/7"] = os.memfd_create("segment")
    memory = KeptMemory(kept.take)
    given = memory.segment(7)
    assert os.path.samestat(os.fstat(given), os.fstat(kept.kept["communicator/7"]))
    os.close(given)
    assert memory.segment(8) == -1
    kept.drop(["communicator/7"])


def test_a_keeper_that_gives_nothing_is_told_of() -> None:
    def nothing(names: Sequence[str]) -> dict[str, int]:
        raise NoMemory("this worker can have no more descriptors (ulimit -n)")

    request = worker_pb2.TransferRequest(memory=1)
    with pytest.raises(NoMemory, match="no more descriptors"), KeptMemory(nothing).filled_in(request):
        pytest.fail("it is not asked")


def test_a_session_that_has_ended_gets_nothing(node: Any) -> None:
    request = worker_pb2.OpenSessionRequest(session=4, rebuild=True)
    assert Opening(node).filled_in(request) is request


def test_a_resumed_session_is_told_the_places_of_its_job_on_this_node_s_board(node: Any) -> None:
    request = worker_pb2.ResumeRequest(session=3, epoch=7, sessions=[3, 4, 1 << 32], bound=0.5)
    filled = Opening(node).filled_in(request)
    assert list(filled.slots) == [2, 64], "one has ended, one is of another node"
    assert (filled.session, filled.epoch, filled.bound) == (3, 7, 0.5)


def test_other_requests_stay_as_they_are(node: Any) -> None:
    request = worker_pb2.RecoverRequest(session=3, epoch=7, boundary=4)
    assert Opening(node).filled_in(request) is request
    with KeptMemory(lambda names: pytest.fail("nothing is asked for")).filled_in(request) as filled:
        assert filled is request
