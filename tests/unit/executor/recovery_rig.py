"""A recovery of ranks that are driven by hand, with the service's own decision, restore and transfers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from google.protobuf.message_factory import GetMessageClass
from rank_rig import Rank
from toolkit.shelf import Shelf

from jitc.proxy.common.executor import ExecutorError
from jitc.proxy.node.transfer_memory import TransferMemories
from jitc.proxy.ranks.cuts import RankHistory
from jitc.proxy.recovery.decide import Kind, RankPosition, decide
from jitc.proxy.recovery.restore.restore import CannotRestore, Restore
from jitc.proxy.recovery.restore.transfer import Transfers
from jitc.proxy.worker.json_codec import from_document, to_document
from jitc.proxy.worker.kept_memory import KeptMemory
from jitc.v1 import worker_pb2

_METHODS = worker_pb2.DESCRIPTOR.services_by_name["Worker"].methods_by_name
RESTORED = "restored"


class Direct:
    """Stands for the calls of a recovery: asks executors of this process, one after the other."""

    def __init__(self, ranks: list[Rank]) -> None:
        self._ranks = {one.rank + 1: one for one in ranks}
        shelf: Any = Shelf()
        self.transfer_memories = TransferMemories(shelf)
        self._memory = KeptMemory(shelf.take)
        self.before: Callable[[str, Any], None] = lambda method, request: None
        self.refusals: list[tuple[str, str]] = []  # by method

    def one(self, session: Any, method: str, request: Any) -> Any:
        with self._memory.filled_in(request) as filled:
            self.before(method, filled)
            document = self._ranks[session.number].executor.command(method, to_document(filled))
        reply = GetMessageClass(_METHODS[method].output_type)()
        from_document(document, reply)
        if reason := getattr(reply, "message", ""):
            self.refusals.append((method, reason))
        return reply

    def all(self, method: str, requests: Iterable[tuple[Any, Any]]) -> dict[int, Any]:
        return {session.number: self.one(session, method, request) for session, request in requests}

    def all_of(self, requests: Mapping[str, list[tuple[Any, Any]]], seconds: float) -> dict[int, Any]:
        return {n: reply for method, pairs in requests.items() for n, reply in self.all(method, pairs).items()}


class Recoveries:
    """Of two ranks, any number of times."""

    def __init__(self, ranks: list[Rank]) -> None:
        self.ranks, self.epoch = ranks, 0
        self.calls = Direct(ranks)
        self.boundary = 0  # that the newest one went to
        self.notes: list[str] = []

    def run(self, lost: list[int], peer_mode: bool = False, damage: Callable[[], None] = lambda: None) -> str:
        """damage: done once the lost ranks' workers are gone. RESTORED, or why it was given up."""
        self.epoch += 1
        positions = {}
        for one in self.ranks:
            if one.rank in lost:
                one.lose()
            else:
                positions[one.rank + 1] = one.command("Fence", epoch=self.epoch)
        damage()
        try:
            for one in self.ranks:
                if one.rank in lost:
                    one.rebuild(self.epoch)
                    positions[one.rank + 1] = one.command("Fence", epoch=self.epoch)
            self._restore(positions, {number + 1 for number in lost}, peer_mode)
            return RESTORED
        except (CannotRestore, ExecutorError) as error:
            return str(error)

    def _restore(self, positions: dict[int, dict[str, Any]], lost: set[int], peer_mode: bool) -> None:
        positions = {
            number: RankPosition(
                **{name: one[name] for name in ("prepared", "begun", "executed")},
                lost=number in lost,
                history=history_of(one),
                reserves=tuple(one["reserves"]),
            )
            for number, one in positions.items()
        }
        group: Any = [
            SimpleNamespace(number=n, gpu=n - 1, node="", label=lambda n=n: f"rank {n - 1}") for n in sorted(positions)
        ]
        calls: Any = self.calls
        shared = SimpleNamespace(segment_bytes=lambda ranks: 4096 * ranks)
        memories = self.calls.transfer_memories
        memory: Any = SimpleNamespace(transfer_memory=lambda name, size, _: memories.make(name, size), shared=shared)
        transfers = Transfers(calls, memory)
        restore = Restore(calls, transfers, group, positions, self.epoch)
        decision = decide(positions, peer_mode)
        if decision.kind is Kind.ROLL_FORWARD and not restore.forward(decision.boundaries):
            decision = decide(positions, peer_mode, forward_failed=True)
        back = decision.kind is Kind.ROLL_BACK
        self.boundaries = restore.back(decision.boundaries) if back else decision.boundaries
        self.boundary = max(self.boundaries.values())
        self.notes = transfers.notes

    def resume(self) -> None:
        for one in self.ranks:
            one.command("Resume", epoch=self.epoch, slots=[0, 1])


def history_of(position: dict[str, Any]) -> RankHistory:
    message = worker_pb2.Position()
    from_document(position, message)
    return RankHistory.told(message.history)


def holds(rank: Rank, rows: list[dict[str, Any]]) -> bool:
    """Whether the device of a fenced rank has these contents."""
    blocks = [{name: row[name] for name in ("address", "bytes", "hash")} | {"offset": 0} for row in rows]
    fd = os.memfd_create("test-holds")
    try:
        rank.command("Export", path=f"/proc/{os.getpid()}/fd/{fd}", blocks=blocks)
    except ExecutorError as error:
        assert "other content" in str(error), error
        return False
    finally:
        os.close(fd)
    return True
