"""The live blocks of all ranks of a group at one boundary, as their workers know them.

Called by: the policies. Promise: returns only tables of boundaries that belong together, so that the ranks can be
compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import grpc

from jitc.v1 import worker_pb2

from ...ranks.cuts import Tally, belong_together
from ...ranks.rank import Rank
from .classes import Row, Table

CALL_SECONDS = 10.0


def tables_of(group: Sequence[Rank], boundary: int) -> dict[int, Table] | None:
    """Returns None if a rank does not have the boundary yet, or no longer, or if boundaries of this number do not
    belong together. A rank keeps measured tables for a while after it could roll back to their boundaries."""
    asked: dict[int, Any] = {}
    for session in group:
        if session.worker is None:
            return None
        request = worker_pb2.BoundaryTableRequest(session=session.number, boundary=boundary, earlier=True)
        asked[session.number] = session.worker.ask("BoundaryTable", request, CALL_SECONDS)
    tables: dict[int, Table] = {}
    tallies: dict[int, Tally] = {}
    for session in group:
        try:
            reply = asked[session.number].result()
        except (grpc.RpcError, grpc.FutureCancelledError):
            return None
        if reply.boundary != boundary:
            return None
        tables[session.number] = _table(reply, session.label())
        tallies[session.number] = Tally.told(reply.tally)
    return tables if belong_together(tallies) else None


def _table(reply: Any, label: str) -> Table:
    filled = [row for row in reply.rows if row.bytes]
    rows = tuple(Row(row.ordinal, row.bytes, row.hash, row.hash_before_step, row.address) for row in filled)
    steps = reply.step_has_waits, reply.step_has_collectives, reply.variables_change
    return Table(rows, *steps, label=label, measured=reply.measured)
