"""How a rank's blocks come from a peer: from device to device where both can, else through memory of the node.

Called by: restores (restore.py). Promises: what a road delivers has the content that was asked for; a link that
does not come about costs time, never the recovery: the other road is taken at once, and for the rest of the
recovery, since what hung or crashed once would do so again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from jitc.v1 import worker_pb2

from ...node.registry import Session
from ...node.shared_memory import NoSpace, shared
from ..worker_calls import Calls
from .block_match import Block, Pair, Plan

NCCL, HOST = "nccl", "host"
#: A link is made, and its bytes have moved, in less: else it has failed.
LINK_SECONDS = 20.0
LINK_BYTES_PER_SECOND = 100e6
#: What giving up a failed link may take in addition; a worker that overruns this is treated as lost.
GIVE_UP_SECONDS = 60.0


class NoRoad(Exception):
    """There is no room for the blocks on their way."""


@dataclass(frozen=True)
class Trip:
    """Blocks of one peer for one rank, at one boundary."""

    source: Session
    target: Session
    served: Plan
    boundary: int
    epoch: int

    @property
    def bytes(self) -> int:
        return sum(pair.target.size for pair in self.served.pairs)


class Roads:
    """Of one recovery, all its attempts."""

    def __init__(self, calls: Calls, segment_bytes: Callable[[int], int]) -> None:
        self._calls, self._segment_bytes = calls, segment_bytes
        self._direct = True
        self.bytes = {NCCL: 0, HOST: 0}  # that have moved
        self.notes: list[str] = []

    def move(self, trip: Trip, linked: bool) -> None:
        """linked: both workers say that they can. Raises NoRoad, and what calls raise."""
        direct = linked and self._direct and self._by_link(trip)
        if not direct:
            self._through_host(trip)
        self.bytes[NCCL if direct else HOST] += trip.bytes

    def note(self, text: str) -> None:
        """A line for the report, and the service's output."""
        self.notes.append(text)
        print(f"jitc-proxyd: {text}", file=sys.stderr, flush=True)

    def _by_link(self, trip: Trip) -> bool:
        self._direct = False  # also when the call is interrupted
        try:
            memory = shared("link", self._segment_bytes(2))
        except NoSpace as error:
            return self._note(trip, [str(error)])
        try:
            limit = LINK_SECONDS + trip.bytes / LINK_BYTES_PER_SECOND
            request = worker_pb2.LinkRequest(
                epoch=trip.epoch, path=memory.path, path_bytes=memory.size, timeout_ms=int(limit * 1000)
            )
            ends = {"Send": [(trip.source, _sent(trip, request))], "Receive": [(trip.target, _received(trip, request))]}
            replies = self._calls.all_of(ends, limit + GIVE_UP_SECONDS)
        finally:
            memory.close()
        failures = [f"{one.label()}: {replies[one.number].message}" for one in (trip.source, trip.target)
                    if not replies[one.number].complete]  # fmt: skip
        if failures:
            return self._note(trip, failures)
        self._direct = True
        return True

    def _note(self, trip: Trip, failures: list[str]) -> bool:
        self.note(f"blocks of {trip.target.label()} came through the host: {'; '.join(failures)}")
        return False

    def _through_host(self, trip: Trip) -> None:
        try:
            memory = shared("transfer", trip.served.total)
        except NoSpace as error:
            raise NoRoad(str(error)) from None
        pairs = trip.served.pairs
        try:
            out = _transfer_request(trip.source, trip.boundary, memory.path, [(one.source, one) for one in pairs])
            self._calls.one(trip.source, "Export", out)
            wanted = zip(_wanted(trip), pairs, strict=True)
            into = _transfer_request(trip.target, trip.boundary, memory.path, list(wanted))
            self._calls.one(trip.target, "Import", into)
        finally:
            memory.close()


def _sent(trip: Trip, request: Any) -> Any:
    return _end(request, trip.source, [pair.source for pair in trip.served.pairs])


def _received(trip: Trip, request: Any) -> Any:
    return _end(request, trip.target, _wanted(trip))


def _wanted(trip: Trip) -> list[Block]:
    """The receiver compares with what it misses, or where that is not known, with what the peer is to hold."""
    return [replace(pair.target, hash=pair.target.hash or pair.source.hash) for pair in trip.served.pairs]


def _end(request: Any, session: Session, blocks: list[Block]) -> Any:
    end = worker_pb2.LinkRequest(session=session.number)
    end.MergeFrom(request)
    for block in blocks:
        end.blocks.add(address=block.address, bytes=block.size, hash=block.hash)
    return end


def _transfer_request(session: Session, boundary: int, path: str, blocks: list[tuple[Block, Pair]]) -> Any:
    transfers = [
        worker_pb2.Transfer(address=block.address, bytes=block.size, offset=pair.offset, hash=block.hash)
        for block, pair in blocks
    ]
    return worker_pb2.TransferRequest(session=session.number, boundary=boundary, path=path, blocks=transfers)
