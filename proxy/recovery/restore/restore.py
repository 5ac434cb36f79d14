"""Restores the group's memory to boundaries that belong together: from copies where a rank has them, else from a peer.

Called by: recoveries, between decide and resume. Promise: afterwards every rank of the group is at its boundary of one
consistent cut (cuts.py), which their own counts confirm, or CannotRestore says what is missing.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from jitc.v1 import worker_pb2

from ...ranks.cuts import Boundaries, Tally, belong_together, named
from ...ranks.rank import Rank
from ..decide import RankPosition, newest_reserves
from ..worker_calls import WorkerCalls
from .block_match import Block, is_its_own, plan
from .transfer import BlockTransfer, TransferFailed, Transfers

#: Time for healthy ranks to finish their step; after that the group rolls back instead.
STEP_MS = 20_000
#: Blocks that a text names.
NAMED = 3


class CannotRestore(Exception):
    """No rank and no copy holds this state any more."""


class Restore:
    """The restore of one attempt of a recovery."""

    def __init__(
        self,
        calls: WorkerCalls,
        transfers: Transfers,
        group: Sequence[Rank],
        positions: Mapping[int, RankPosition],
        epoch: int,
    ) -> None:
        self._calls, self._transfers, self._group, self._epoch = calls, transfers, group, epoch
        self._positions = positions
        self._not_forward = ""  # why a roll-forward was not possible, if one was tried
        self.bytes = 0

    def back(self, boundaries: Boundaries) -> Boundaries:
        """Rolls back to these boundaries; if they are no longer held anywhere, to the newest before them that all ranks
        have whole. Returns the boundaries that were restored.
        """
        try:
            self._back(boundaries)
        except CannotRestore as error:
            why = "; ".join(filter(None, (str(error), self._not_forward)))
        else:
            return boundaries
        reserves = newest_reserves(self._positions, boundaries)
        if not reserves:
            raise CannotRestore(why)
        self._transfers.note(f"{why}: all ranks go back to {named(reserves)}, of which there are copies of everything")
        self._back(reserves)
        return reserves

    def _back(self, boundaries: Boundaries) -> None:
        requests = [(one, self._recover(one, boundaries[one.number])) for one in self._group]
        replies = self._calls.all("Rollback", requests)
        incomplete = {number: reply for number, reply in replies.items() if not reply.complete and not reply.missing}
        if incomplete:
            raise CannotRestore("; ".join(reply.message or "roll-back failed" for reply in incomplete.values()))
        self._require_cut(replies, boundaries)
        self._serve(replies, boundaries, self._group)

    def forward(self, boundaries: Boundaries) -> bool:
        """Rolls forward. Returns False if a rank cannot reach its boundary; no state without a copy is lost then."""
        requests = [(one, self._recover(one, boundaries[one.number], STEP_MS)) for one in self._group]
        healthy = [(one, request) for one, request in requests if not self._positions[one.number].lost]
        lost = [(one, request) for one, request in requests if self._positions[one.number].lost]
        skipped = self._calls.all_of({"SkipStep": lost, "FinishStep": healthy}, STEP_MS / 1000 + 5)
        try:
            refused = [reply.message for reply in skipped.values() if not reply.complete and not reply.missing]
            if refused:
                raise CannotRestore("; ".join(refused))
            self._require_cut(skipped, boundaries)
            self._serve(skipped, boundaries, [one for one in self._group if self._is_at(one, boundaries[one.number])])
        except CannotRestore as error:
            self._not_forward = f"no roll-forward to {named(boundaries)}: {error}"
            print(f"jitc-proxyd: {self._not_forward}", file=sys.stderr)
            return False
        return True

    def all_were_at(self, boundary: int) -> bool:
        """Returns whether it was the newest boundary of every rank, so that no rank has run on from it."""
        return all(one.prepared == boundary for one in self._positions.values())

    def replace(self, session: Rank, holder: Rank, ordinals: set[int], boundary: int) -> None:
        """Replaces these blocks of the session by the holder's. All ranks are restored to the boundary already."""
        own = {(row.ordinal, row.bytes): row.hash for row in self._rows(session, boundary)}
        wanted = [
            row
            for row in self._rows(holder, boundary)
            if row.ordinal in ordinals and own.get((row.ordinal, row.bytes), row.hash) != row.hash
        ]
        if not wanted:
            return
        request = self._recover(session, boundary)
        request.replaced.extend(wanted)
        reply = self._calls.one(session, "Rollback", request)
        if not reply.complete and not reply.missing:
            raise CannotRestore(reply.message)
        whole = {one.number: worker_pb2.RecoverReply(complete=True, links=reply.links) for one in self._group}
        self._serve(whole | {session.number: reply}, dict.fromkeys(whole, boundary), [holder])

    def _require_cut(self, replies: Mapping[int, Any], boundaries: Boundaries) -> None:
        """Raises CannotRestore unless every rank stands where the decision wants it: its communicators have done what
        they had at its boundary, consistent with those of the others."""
        places = {number: Tally.told(reply.tally) for number, reply in replies.items()}
        for session in self._group:
            boundary = boundaries[session.number]
            known = self._positions[session.number].history.tally(boundary)
            if known is not None and known.counts() != places[session.number].counts():
                raise CannotRestore(f"{session.label()} is not where boundary {boundary} is: its collectives differ")
        if not belong_together(places):
            raise CannotRestore(f"where ranks are at {named(boundaries)}, their communicators' collectives differ")

    def _serve(self, replies: dict[int, Any], boundaries: Boundaries, holders: Sequence[Rank]) -> None:
        """Brings each missing block from a rank that has it."""
        self.bytes += sum(reply.bytes for reply in replies.values())
        tables: dict[int, list[Block]] = {}
        for session in self._group:
            boundary, rows = boundaries[session.number], list(replies[session.number].missing)
            missing = [_block(row) for row in rows]
            for peer in [one for one in holders if one is not session] if missing else []:
                if peer.number not in tables:
                    tables[peer.number] = self._held(peer, replies[peer.number], boundaries[peer.number])
                served = plan(missing, tables[peer.number])
                if served.pairs:
                    both_direct = replies[session.number].links and replies[peer.number].links
                    self._move(BlockTransfer(peer, session, served, boundary, self._epoch), both_direct)
                missing = served.unserved
                if not missing:
                    break
            others = [table for number, table in tables.items() if number != session.number]
            missing = [block for block in missing if not is_its_own(block, others)]
            damaged = _damaged(rows)
            if missing:
                total = sum(block.size for block in missing)
                raise CannotRestore(
                    f"{len(missing)} blocks ({total} bytes) of {session.label()} on GPU {session.gpu} are held by no "
                    f"other rank and by no whole copy at boundary {boundary}{damaged and f'; {damaged}'}"
                )
            if damaged:
                self._transfers.note(f"{session.label()}, boundary {boundary}: {damaged}; other ranks had the content")

    def _is_at(self, session: Rank, boundary: int) -> bool:
        """Returns whether its memory is that of the boundary; a lost rank that skipped a step only gets there later."""
        position = self._positions[session.number]
        return not position.lost or position.prepared >= boundary

    def _move(self, transfer: BlockTransfer, both_direct: bool) -> None:
        try:
            self._transfers.move(transfer, both_direct)
        except TransferFailed as error:
            raise CannotRestore(str(error)) from None
        self.bytes += transfer.bytes

    def _held(self, peer: Rank, reply: Any, boundary: int) -> list[Block]:
        """Returns the peer's blocks at the boundary, without those that it is missing itself."""
        absent = {row.address for row in reply.missing}
        return [_block(row) for row in self._rows(peer, boundary) if row.address not in absent]

    def _rows(self, session: Rank, boundary: int) -> list[Any]:
        request = worker_pb2.BoundaryTableRequest(session=session.number, boundary=boundary)
        return list(self._calls.one(session, "BoundaryTable", request).rows)

    def _recover(self, session: Rank, boundary: int, timeout_ms: int = 30_000) -> Any:
        return worker_pb2.RecoverRequest(
            session=session.number, epoch=self._epoch, boundary=boundary, timeout_ms=timeout_ms
        )


def _damaged(missing: list[Any]) -> str:
    """Names the copies that were found damaged; empty when there are none."""
    rows = [row for row in missing if row.copied]
    if not rows:
        return ""
    named = ", ".join(f"{row.bytes} bytes at address {row.address:#x} (ordinal {row.ordinal})" for row in rows[:NAMED])
    copies = "1 kept copy is" if len(rows) == 1 else f"{len(rows)} kept copies are"
    return f"{copies} damaged: {named}{' and others' if len(rows) > NAMED else ''}"


def _block(row: Any) -> Block:
    return Block(row.address, row.bytes, row.ordinal, row.hash, row.hash_before_step, row.in_place)
