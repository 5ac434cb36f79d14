"""Fills in what only this node knows in a request to one of its workers: the paths of memory that it keeps.

A recovery may run on another node than a worker, so its requests name sessions and transfer memory by their numbers.

Called by: workers (workers/worker.py), with every request. Promise: a request that names memory or a session which has
been given up meanwhile gets no path, and the worker refuses it.
"""

from __future__ import annotations

from typing import Any

from jitc.v1 import worker_pb2

from .registry import Registry
from .session import Session


class LocalPaths:
    """The paths of one node."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def filled_in(self, request: Any) -> Any:
        """Returns the request itself if there is nothing to fill in, else another one."""
        if isinstance(request, worker_pb2.OpenSessionRequest):
            session = self._registry.sessions.get(request.session)
            return request if session is None else self._opening(session, request.rebuild)
        if isinstance(request, (worker_pb2.TransferRequest, worker_pb2.DirectTransferRequest)):
            filled: Any = type(request)(path=self._registry.transfer_memories.path(request.memory))
            filled.MergeFrom(request)
            return filled
        return request

    def _opening(self, session: Session, rebuild: bool) -> Any:
        """Returns the request with the session's paths. rebuild: from the journal of a lost worker."""
        memory = session.memory
        return worker_pb2.OpenSessionRequest(
            session=session.number, token=session.token, slot=session.slot,
            journal_path=memory.journal.path, journal_bytes=memory.journal.size,
            spill_path=memory.spill.path, spill_bytes=memory.spill.size,
            snapshot_path=memory.snapshot.path, snapshot_bytes=memory.snapshot.size,
            board_path=self._registry.board.path, rebuild=rebuild, epoch=session.epoch,
            guest=session.host != session.gpu,
            pinned_path=memory.pinned.path if memory.pinned is not None else "",
            **session.addresses.fields(), **session.pinned(),
        )  # fmt: skip
