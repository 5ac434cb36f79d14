"""Workers for ranks that have lost theirs, and faults on request, for ranks of this node and of others.

Called by: recoveries, the coordinator. Promises: a rank of another node gets its worker there, on that node's GPUs; a
question that is asked again does not make another worker; the wait ends when the rank is not wanted any more.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Iterable
from typing import Any

import grpc

from jitc.v1 import peer_pb2

from ....common.rpc import status_of
from ....node.fault_injector import FaultInjector
from ....node.workers.assign import Replacements
from ....ranks.rank import NotLed, NoWorker, Overtaken, Rank
from ..errands import Errands
from .call import PatientCall
from .session import RemoteSession
from .table import RemoteTable

#: Time of one question; a node that needs longer is asked again.
REPLACE_SECONDS = 60.0
#: Between looks whether the rank is wanted still.
LOOK_SECONDS = 0.25


class _Replacing(PatientCall):
    """The errand: a question that is asked again as long as the node is at it."""

    def __init__(self, session: RemoteSession) -> None:
        call = secrets.token_bytes(16)

        def make(seconds: float) -> Any:
            return peer_pb2.ReplaceWorkerRequest(target=session.target(), call=call, note=session.unsent())

        super().__init__(session, "ReplaceWorker", REPLACE_SECONDS, make, lambda reply: reply)

    def answered(self, reply: Any) -> float | None:
        if reply.pending:
            self._whose.heard(reply.home)
            return 0.0
        return super().answered(reply)

    def late(self, why: str) -> None:
        """The node is asked again: it knows the question."""


class ClusterReplacements:
    """Replacements (../../../ranks/rank.py)."""

    def __init__(self, own: Replacements, table: RemoteTable, errands: Errands, changed: Any) -> None:
        """own: of this node; changed: the lock of all ranks."""
        self._own, self._table, self._errands, self._changed = own, table, errands, changed

    def replace(self, one: Rank, notes: list[str], wanted: Callable[[], None]) -> None:
        """Replaces the worker. Raises NoWorker, Overtaken, NotLed, and what `wanted` raises."""
        if not isinstance(one, RemoteSession):
            return self._own.replace(one, notes, wanted)
        reply = self._asked(one, wanted)
        if reply.no_worker:
            raise NoWorker(f"node {one.node}: {reply.home.text}")
        with self._changed:
            wanted()
            self._table.take(one.node, reply.session, reply.now_ms)
        for note in reply.notes:
            notes.append(f"node {one.node}: {note}")
            print(f"jitc-proxyd: {notes[-1]}", file=sys.stderr, flush=True)
        return None

    def _asked(self, one: RemoteSession, wanted: Callable[[], None]) -> Any:
        call = _Replacing(one)
        self._errands.add(call)
        try:
            while not call.future.ended_within(LOOK_SECONDS):
                with self._changed:
                    wanted()
                    if one.gone or one.leaving or self._errands.stopped:
                        raise NotLed(f"the job of {one.label()} is not recovered here any more")
            return call.future.result()
        except grpc.RpcError as error:
            raise Overtaken(f"no worker for {one.label()}: {status_of(error)[1]}") from None
        finally:
            call.future.cancel()


class ClusterFaults:
    """ArmedFaults (../../../ranks/rank.py). Those of another node's session are that node's own affair: it arms them
    again before its worker is resumed (../home/calls.py), and when the session ends."""

    def __init__(self, own: FaultInjector, table: RemoteTable) -> None:
        self._own, self._table = own, table

    def take_fired_at(self, ranks: Iterable[Rank]) -> float | None:
        every = list(ranks)
        times = self._table.take_fired_at({one.number for one in every if isinstance(one, RemoteSession)})
        if (own := self._own.take_fired_at([one for one in every if not isinstance(one, RemoteSession)])) is not None:
            times.append(own)
        return min(times, default=None)

    def session_rebuilt(self, session: Rank) -> None:
        if not isinstance(session, RemoteSession):
            self._own.session_rebuilt(session)

    def session_closed(self, session: Rank) -> None:
        if not isinstance(session, RemoteSession):
            self._own.session_closed(session)
