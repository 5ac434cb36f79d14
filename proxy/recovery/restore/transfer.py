"""How a rank's blocks come from a peer: from device to device where both can, else through memory of the node.

Called by: restores (restore.py). Promises: each path delivers the content that was asked for. If the direct path fails,
the host path is used at once, and for the rest of the recovery, since what hung or crashed once would do so again; the
recovery does not fail.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from jitc.v1 import worker_pb2

from ...node.session import Session
from ...node.shared_memory import NoSpace, shared
from ..worker_calls import WorkerCalls
from .block_match import Block, Pair, Plan

NCCL, HOST = "nccl", "host"
#: Time for a direct transfer: to connect, and for its bytes; after that it has failed.
DIRECT_SECONDS = 20.0
DIRECT_BYTES_PER_SECOND = 100e6
#: Additional time to give up a failed direct transfer; a worker that overruns it is treated as lost.
GIVE_UP_SECONDS = 60.0


class TransferFailed(Exception):
    """The node has no memory for the blocks on their way."""


@dataclass(frozen=True)
class BlockTransfer:
    """Blocks of one peer for one rank, at one boundary."""

    source: Session
    target: Session
    served: Plan
    boundary: int
    epoch: int

    @property
    def bytes(self) -> int:
        return sum(pair.target.size for pair in self.served.pairs)


class Transfers:
    """The transfers of one recovery, over all its attempts: which path they take, and what has moved."""

    def __init__(self, calls: WorkerCalls, segment_bytes: Callable[[int], int]) -> None:
        self._calls, self._segment_bytes = calls, segment_bytes
        self._direct = True
        self.bytes = {NCCL: 0, HOST: 0}  # that have moved
        self.notes: list[str] = []

    def move(self, transfer: BlockTransfer, both_direct: bool) -> None:
        """both_direct: both workers report that they can send directly. Raises TransferFailed, and what calls raise."""
        direct = both_direct and self._direct and self._directly(transfer)
        if not direct:
            self._through_host(transfer)
        self.bytes[NCCL if direct else HOST] += transfer.bytes

    def note(self, text: str) -> None:
        """A line for the report, and the service's output."""
        self.notes.append(text)
        print(f"jitc-proxyd: {text}", file=sys.stderr, flush=True)

    def _directly(self, transfer: BlockTransfer) -> bool:
        self._direct = False  # also when the call is interrupted
        try:
            memory = shared("direct", self._segment_bytes(2))
        except NoSpace as error:
            return self._direct_path_failed(transfer, [str(error)])
        try:
            limit = DIRECT_SECONDS + transfer.bytes / DIRECT_BYTES_PER_SECOND
            request = worker_pb2.DirectTransferRequest(
                epoch=transfer.epoch, path=memory.path, path_bytes=memory.size, timeout_ms=int(limit * 1000)
            )
            ends = {
                "Send": [(transfer.source, _sent(transfer, request))],
                "Receive": [(transfer.target, _received(transfer, request))],
            }
            replies = self._calls.all_of(ends, limit + GIVE_UP_SECONDS)
        finally:
            memory.close()
        failures = [f"{one.label()}: {replies[one.number].message}" for one in (transfer.source, transfer.target)
                    if not replies[one.number].complete]  # fmt: skip
        if failures:
            return self._direct_path_failed(transfer, failures)
        self._direct = True
        return True

    def _direct_path_failed(self, transfer: BlockTransfer, failures: list[str]) -> bool:
        self.note(f"blocks of {transfer.target.label()} came through the host: {'; '.join(failures)}")
        return False

    def _through_host(self, transfer: BlockTransfer) -> None:
        try:
            memory = shared("transfer", transfer.served.total)
        except NoSpace as error:
            raise TransferFailed(str(error)) from None
        pairs = transfer.served.pairs
        try:
            out = _transfer_request(transfer, transfer.source, memory.path, [(one.source, one) for one in pairs])
            self._calls.one(transfer.source, "Export", out)
            wanted = zip(_wanted(transfer), pairs, strict=True)
            into = _transfer_request(transfer, transfer.target, memory.path, list(wanted))
            self._calls.one(transfer.target, "Import", into)
        finally:
            memory.close()


def _sent(transfer: BlockTransfer, request: Any) -> Any:
    return _end(request, transfer.source, [pair.source for pair in transfer.served.pairs])


def _received(transfer: BlockTransfer, request: Any) -> Any:
    return _end(request, transfer.target, _wanted(transfer))


def _wanted(transfer: BlockTransfer) -> list[Block]:
    """The receiver compares with the hash of what it is missing or, where that is unknown, with the peer's hash."""
    return [replace(pair.target, hash=pair.target.hash or pair.source.hash) for pair in transfer.served.pairs]


def _end(request: Any, session: Session, blocks: list[Block]) -> Any:
    end = worker_pb2.DirectTransferRequest(session=session.number)
    end.MergeFrom(request)
    for block in blocks:
        end.blocks.add(address=block.address, bytes=block.size, hash=block.hash)
    return end


def _transfer_request(transfer: BlockTransfer, end: Session, path: str, blocks: list[tuple[Block, Pair]]) -> Any:
    transfers = [
        worker_pb2.Transfer(address=block.address, bytes=block.size, offset=pair.offset, hash=block.hash)
        for block, pair in blocks
    ]
    return worker_pb2.TransferRequest(
        session=end.number, boundary=transfer.boundary, path=path, blocks=transfers, epoch=transfer.epoch
    )
