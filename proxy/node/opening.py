"""Fills in what only this node knows in a request: places on its board, a session's addresses and sizes.

A recovery may run on another node than a worker, so its requests name sessions by their numbers alone.

Called by: workers (workers/worker.py), with every request. Promise: a request for a session that has ended meanwhile
stays empty, and the worker refuses it.
"""

from __future__ import annotations

from typing import Any

from jitc.v1 import worker_pb2

from .registry import Registry
from .session import Session


class Opening:
    """The sessions of one node."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def filled_in(self, request: Any) -> Any:
        """Returns the request itself if there is nothing to fill in, else another one."""
        if isinstance(request, worker_pb2.ResumeRequest):
            return self._with_slots(request)
        if not isinstance(request, worker_pb2.OpenSessionRequest):
            return request
        session = self._registry.sessions.get(request.session)
        return request if session is None else _opening(session, request.rebuild)

    def _with_slots(self, request: Any) -> Any:
        there = (self._registry.sessions.get(number) for number in request.sessions)
        own = [one.slot for one in there if one is not None]
        filled = worker_pb2.ResumeRequest(slots=[*own, *self._registry.mirror_slots(request.sessions)])
        filled.MergeFrom(request)
        return filled


def _opening(session: Session, rebuild: bool) -> Any:
    """Returns the request. rebuild: from the journal of a lost worker."""
    memory = session.memory
    return worker_pb2.OpenSessionRequest(
        session=session.number, token=session.token, slot=session.slot, rebuild=rebuild, epoch=session.epoch,
        journal_bytes=memory.journal.size, spill_bytes=memory.spill.size, snapshot_bytes=memory.snapshot.size,
        guest=session.host != session.gpu, **session.addresses.fields(), **session.pinned(),
    )  # fmt: skip
