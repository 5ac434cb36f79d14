"""Brings the group's memory to one boundary: copies where a rank has them, a peer's bytes where not.

Called by: recovery runs, between decide and resume. Promise: afterwards every rank of the group is at
the same boundary, or CannotRestore says which blocks are missing.
"""

from __future__ import annotations

import sys
from typing import Any

from jitc.v1 import worker_pb2

from ..node.sessions import Session
from .blocks import Block, plan
from .calls import Calls
from .roads import NoRoad, Roads, Trip

#: A healthy rank finishes its step in less; else the group goes back instead.
STEP_MS = 20_000


class CannotRestore(Exception):
    """State that no rank and no copy holds any more."""


class Restore:
    """Of one attempt of a recovery."""

    def __init__(self, calls: Calls, roads: Roads, group: list[Session], lost: set[int], epoch: int) -> None:
        self._calls, self._roads, self._group, self._lost, self._epoch = calls, roads, group, lost, epoch
        self.bytes = 0

    def back(self, boundary: int) -> None:
        replies = self._calls.all("Rollback", [(one, self._recover(one, boundary)) for one in self._group])
        incomplete = {number: reply for number, reply in replies.items() if not reply.complete and not reply.missing}
        if incomplete:
            raise CannotRestore("; ".join(reply.message or "roll-back failed" for reply in incomplete.values()))
        self._serve(replies, boundary)

    def forward(self, boundary: int) -> bool:
        """False when a rank cannot get there; then nothing of value has been lost that copies do not hold."""
        requests = [(one, self._recover(one, boundary, STEP_MS)) for one in self._group]
        healthy = [(one, request) for one, request in requests if one.number not in self._lost]
        lost = [(one, request) for one, request in requests if one.number in self._lost]
        skipped = self._calls.all_of({"SkipStep": lost, "FinishStep": healthy}, STEP_MS / 1000 + 5)
        refused = [reply.message for reply in skipped.values() if not reply.complete and not reply.missing]
        if refused:
            print(f"jitc-proxyd: no roll-forward to boundary {boundary}: {'; '.join(refused)}", file=sys.stderr)
            return False
        try:
            self._serve(skipped, boundary)
        except CannotRestore as error:
            print(f"jitc-proxyd: no roll-forward to boundary {boundary}: {error}", file=sys.stderr)
            return False
        return True

    def _serve(self, replies: dict[int, Any], boundary: int) -> None:
        """What a rank misses comes from a rank that misses nothing."""
        self.bytes += sum(reply.bytes for reply in replies.values())
        peers = [one for one in self._group if not replies[one.number].missing and one.number not in self._lost]
        tables: dict[int, list[Block]] = {}
        for session in self._group:
            missing = [_block(row) for row in replies[session.number].missing]
            for peer in peers if missing else []:
                if peer.number not in tables:
                    tables[peer.number] = self._table(peer, boundary)
                served = plan(missing, tables[peer.number])
                if served.pairs:
                    linked = replies[session.number].links and replies[peer.number].links
                    self._move(Trip(peer, session, served, boundary, self._epoch), linked)
                missing = served.unserved
                if not missing:
                    break
            if missing:
                total = sum(block.size for block in missing)
                raise CannotRestore(
                    f"{len(missing)} blocks ({total} bytes) of {session.label()} on GPU {session.gpu} are held by no "
                    f"other rank and by no copy at boundary {boundary}"
                )

    def _move(self, trip: Trip, linked: bool) -> None:
        try:
            self._roads.move(trip, linked)
        except NoRoad as error:
            raise CannotRestore(str(error)) from None
        self.bytes += trip.bytes

    def _table(self, peer: Session, boundary: int) -> list[Block]:
        request = worker_pb2.BoundaryTableRequest(session=peer.number, boundary=boundary)
        return [_block(row) for row in self._calls.one(peer, "BoundaryTable", request).rows]

    def _recover(self, session: Session, boundary: int, timeout_ms: int = 30_000) -> Any:
        return worker_pb2.RecoverRequest(
            session=session.number, epoch=self._epoch, boundary=boundary, timeout_ms=timeout_ms
        )


def _block(row: Any) -> Block:
    return Block(row.address, row.bytes, row.ordinal, row.hash)
