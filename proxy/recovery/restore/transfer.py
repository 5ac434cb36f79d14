"""Transfers of a rank's blocks from a peer: from device to device where both can, else piece by piece through the host.

Called by: restores (restore.py). Promises: each path delivers the content that was asked for. If the direct path fails,
the host path is used at once, and for the rest of the recovery, since what hung or crashed once would do so again; the
recovery does not fail.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from jitc.v1 import worker_pb2

from ...common.shared_memory import NoSpace
from ...ranks.rank import Rank, Ranks, TransferMemory
from ..worker_calls import CALL_SECONDS, NoRoom, Refused, WorkerCalls
from .block_match import Block, Pair, Plan

NCCL, HOST = "nccl", "host"
#: Bytes that go through the host at a time: new memory is slow to write, and twice this much is enough.
PIECE_BYTES = 32 << 20
#: Alignment of a block in a piece.
ALIGNMENT = 4096
#: Blocks, each with its offset in the memory of the piece.
Piece = list[tuple[Pair, int]]
#: Time for a direct transfer to connect, beside that for its bytes; after that it has failed.
DIRECT_SECONDS = 20.0
DIRECT_BYTES_PER_SECOND = 100e6
#: The least that a way between two nodes is expected to carry.
BETWEEN_NODES_BYTES_PER_SECOND = 1e6
#: Additional time to give up a failed direct transfer; a worker that overruns it is treated as lost.
GIVE_UP_SECONDS = 60.0


class TransferFailed(Exception):
    """A node has no memory for the blocks in transfer, or they cannot be brought to another node."""


@dataclass(frozen=True)
class BlockTransfer:
    """Blocks of one peer for one rank, at one boundary."""

    source: Rank
    target: Rank
    served: Plan
    boundary: int
    epoch: int

    @property
    def bytes(self) -> int:
        return sum(pair.target.size for pair in self.served.pairs)

    def on_one_node(self) -> bool:
        return self.source.node == self.target.node


class Transfers:
    """The transfers of one recovery, over all its attempts: the path that they take, and the bytes moved."""

    def __init__(self, calls: WorkerCalls, ranks: Ranks) -> None:
        self._calls, self._ranks = calls, ranks
        self._direct = True
        self.bytes = {NCCL: 0, HOST: 0}  # bytes moved
        self.notes: list[str] = []

    def move(self, transfer: BlockTransfer, both_direct: bool) -> None:
        """Moves the blocks. both_direct: both workers can send directly. Raises TransferFailed, and errors of calls."""
        direct = both_direct and self._direct and transfer.on_one_node() and self._directly(transfer)
        if not direct:
            self._through_host(transfer)
        self.bytes[NCCL if direct else HOST] += transfer.bytes

    def note(self, text: str) -> None:
        """Adds a line to the report and the service's output."""
        self.notes.append(text)
        print(f"jitc-proxyd: {text}", file=sys.stderr, flush=True)

    def _directly(self, transfer: BlockTransfer) -> bool:
        self._direct = False  # also when the call is interrupted
        try:
            ends = transfer.source, transfer.target
            memory = self._ranks.transfer_memory("direct", self._ranks.shared.segment_bytes(2), ends)
        except NoSpace as error:
            return self._direct_path_failed(transfer, [str(error)])
        try:
            self._prepare(memory, ends)
            limit = DIRECT_SECONDS + transfer.bytes / DIRECT_BYTES_PER_SECOND
            request = worker_pb2.DirectTransferRequest(
                epoch=transfer.epoch, memory=memory.number, path_bytes=memory.size, timeout_ms=int(limit * 1000)
            )
            calls = {
                "Send": [(transfer.source, _sent(transfer, request))],
                "Receive": [(transfer.target, _received(transfer, request))],
            }
            replies = self._calls.all_of(calls, limit + GIVE_UP_SECONDS)
        except (NoSpace, NoRoom) as error:
            return self._direct_path_failed(transfer, [str(error)])
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
        """Moves blocks in pieces, through two pieces of memory in turn: one is written while the other is read."""
        pieces = pieces_of(transfer.served.pairs)
        if not pieces:
            return
        source, target = transfer.source, transfer.target
        with contextlib.ExitStack() as made:
            memory = [self._piece_memory(made, transfer, pieces[turn::2]) for turn in range(min(2, len(pieces)))]
            for turn in range(len(pieces) + 1):
                ends: dict[str, list[tuple[Rank, Any]]] = {}
                if turn < len(pieces):
                    blocks = [(pair.source, offset) for pair, offset in pieces[turn]]
                    ends["Export"] = [(source, _transfer_request(transfer, source, memory[turn % 2], blocks))]
                if turn > 0:
                    blocks = [(_wanted(pair), offset) for pair, offset in pieces[turn - 1]]
                    ends["Import"] = [(target, _transfer_request(transfer, target, memory[1 - turn % 2], blocks))]
                self._calls.all_of(ends, CALL_SECONDS)
                if turn < len(pieces):
                    self._carry(transfer, memory[turn % 2], _end_of(pieces[turn]))

    def _piece_memory(self, made: contextlib.ExitStack, transfer: BlockTransfer, pieces: list[Piece]) -> TransferMemory:
        """Allocates memory large enough for each of the pieces."""
        ends = transfer.source, transfer.target
        try:
            memory = self._ranks.transfer_memory("transfer", max(map(_end_of, pieces)), ends)
            made.callback(memory.close)
            self._prepare(memory, ends)
        except (NoSpace, NoRoom) as error:
            raise TransferFailed(str(error)) from None
        return memory

    def _prepare(self, memory: TransferMemory, ends: Sequence[Rank]) -> None:
        if calls := memory.prepare():
            self._calls.settled(calls, CALL_SECONDS, ends)

    def _carry(self, transfer: BlockTransfer, memory: TransferMemory, size: int) -> None:
        """Brings what the source has exported to where the target imports it."""
        call = memory.carry(transfer.source, transfer.target, size)
        if call is None:
            return
        seconds = CALL_SECONDS + size / BETWEEN_NODES_BYTES_PER_SECOND
        try:
            self._calls.settled([call], seconds, [transfer.source, transfer.target])
        except (NoRoom, Refused) as error:
            raise TransferFailed(str(error)) from None


def pieces_of(pairs: list[Pair]) -> list[Piece]:
    """Splits the blocks into pieces of at most PIECE_BYTES. A block stays whole, since it is checked as one."""
    pieces: list[Piece] = []
    end = 0
    for pair in pairs:
        size = pair.target.size
        if not pieces or end + size > PIECE_BYTES:
            pieces.append([])
            end = 0
        pieces[-1].append((pair, end))
        end += -(-size // ALIGNMENT) * ALIGNMENT
    return pieces


def _end_of(piece: Piece) -> int:
    """Returns how many bytes of its memory the piece takes."""
    return max(offset + pair.target.size for pair, offset in piece)


def _sent(transfer: BlockTransfer, request: Any) -> Any:
    return _end(request, transfer.source, [pair.source for pair in transfer.served.pairs])


def _received(transfer: BlockTransfer, request: Any) -> Any:
    return _end(request, transfer.target, [_wanted(pair) for pair in transfer.served.pairs])


def _wanted(pair: Pair) -> Block:
    """Returns the target with the hash that the receiver compares with: its own or, if unknown, the peer's."""
    return replace(pair.target, hash=pair.target.hash or pair.source.hash)


def _end(request: Any, session: Rank, blocks: list[Block]) -> Any:
    end = worker_pb2.DirectTransferRequest(session=session.number)
    end.MergeFrom(request)
    for block in blocks:
        end.blocks.add(address=block.address, bytes=block.size, hash=block.hash)
    return end


def _transfer_request(
    transfer: BlockTransfer, end: Rank, memory: TransferMemory, blocks: list[tuple[Block, int]]
) -> Any:
    transfers = [
        worker_pb2.Transfer(address=block.address, bytes=block.size, offset=offset, hash=block.hash)
        for block, offset in blocks
    ]
    return worker_pb2.TransferRequest(
        session=end.number, boundary=transfer.boundary, memory=memory.number, blocks=transfers, epoch=transfer.epoch
    )
