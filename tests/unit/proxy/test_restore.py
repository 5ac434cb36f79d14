"""Which calls bring a group to one boundary, with workers that only answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from jitc.proxy.recovery.restore import CannotRestore, Restore
from jitc.v1 import worker_pb2

ROWS = [worker_pb2.BlockRow(address=100 * n, bytes=8 * n, ordinal=n, hash=bytes([n])) for n in (1, 2, 3)]


class Workers:
    """Stands for Calls: remembers what was asked."""

    def __init__(self, missing: dict[int, list[Any]], incomplete: tuple[str, ...] = ()) -> None:
        self.missing, self.incomplete = missing, incomplete
        self.asked: list[tuple[str, int]] = []
        self.transfers: dict[str, list[tuple[int, int]]] = {}

    def one(self, session: Any, method: str, request: Any) -> Any:
        return self.all_of({method: [(session, request)]}, 1)[session.number]

    def all(self, method: str, requests: list[tuple[Any, Any]]) -> dict[int, Any]:
        return self.all_of({method: requests}, 1)

    def all_of(self, requests: dict[str, list[tuple[Any, Any]]], seconds: float) -> dict[int, Any]:
        replies = {}
        for method, pairs in requests.items():
            for session, request in pairs:
                self.asked.append((method, session.number))
                replies[session.number] = self.answer(method, session.number, request)
        return replies

    def answer(self, method: str, number: int, request: Any) -> Any:
        if method == "BoundaryTable":
            return worker_pb2.BoundaryTableReply(boundary=request.boundary, rows=ROWS)
        if method in ("Export", "Import"):
            self.transfers[method] = [(block.address, block.offset) for block in request.blocks]
            return worker_pb2.RecoverReply(complete=True, bytes=sum(block.bytes for block in request.blocks))
        missing = self.missing.get(number, [])
        return worker_pb2.RecoverReply(complete=method not in self.incomplete, missing=missing, message="no")


def restore(workers: Workers, lost: set[int]) -> Restore:
    group: Any = [SimpleNamespace(number=n, gpu=n, label=lambda n=n: f"rank {n}") for n in (1, 2)]
    return Restore(workers, None, group, lost, 7)  # type: ignore[arg-type]


def row(address: int, ordinal: int, content: int) -> Any:
    return worker_pb2.BlockRow(address=address, bytes=8 * ordinal, ordinal=ordinal, hash=bytes([content]))


def test_copies_need_no_peer() -> None:
    workers = Workers({})
    restore(workers, {2}).back(4)
    assert workers.asked == [("Rollback", 1), ("Rollback", 2)]


def test_missing_blocks_come_from_the_peer() -> None:
    workers = Workers({2: [row(9001, 1, 1), row(9003, 3, 3)]})
    run = restore(workers, {2})
    run.back(4)
    assert workers.asked[2:] == [("BoundaryTable", 1), ("Export", 1), ("Import", 2)]
    assert workers.transfers == {"Export": [(100, 0), (300, 4096)], "Import": [(9001, 0), (9003, 4096)]}
    assert run.bytes == 32


def test_forward_finishes_the_healthy_and_skips_the_lost() -> None:
    workers = Workers({2: [row(9001, 1, 1)]})
    assert restore(workers, {2}).forward(5)
    assert {("FinishStep", 1), ("SkipStep", 2)} <= set(workers.asked)
    assert workers.transfers["Import"] == [(9001, 0)]


def test_forward_is_given_up_when_a_rank_cannot() -> None:
    assert not restore(Workers({}, ("FinishStep",)), {2}).forward(5)
    assert not restore(Workers({2: [row(9001, 1, 9)]}), {2}).forward(5)


def test_what_nobody_holds_is_named() -> None:
    with pytest.raises(CannotRestore, match=r"1 blocks \(8 bytes\) of rank 2 on GPU 2"):
        restore(Workers({2: [row(9001, 1, 9)]}), {2}).back(4)
    with pytest.raises(CannotRestore, match="no"):
        restore(Workers({}, ("Rollback",)), {2}).back(4)
