"""Shared memory that the keeper holds, for the executor of this worker: by paths of this process.

Called by: control.py, with each request that names a session or transfer memory by its number, and each join of a
communicator. Promises: a path leads to the memory while the request is being served, and afterwards nothing of it stays
open here; memory that has been given up meanwhile gets no path, and the executor refuses the request.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jitc.v1 import worker_pb2

from ..keeper import names

#: Returns descriptors of memory, by name; what is not there is left out.
Take = Callable[[Sequence[str]], dict[str, int]]


class KeptMemory:
    """The keeper's memory, as this process sees it."""

    def __init__(self, take: Take) -> None:
        self._take = take

    @contextlib.contextmanager
    def filled_in(self, request: Any) -> Iterator[Any]:
        """Yields the request with its paths. Raises what `take` raises."""
        wanted = _wanted(request)
        if not wanted:
            yield request
            return
        taken = self._take(list(wanted.values()))
        try:
            paths = {field: path_of(taken[name]) for field, name in wanted.items() if name in taken}
            filled = type(request)(**paths)
            filled.MergeFrom(request)
            yield filled
        finally:
            for descriptor in taken.values():
                os.close(descriptor)

    def segment(self, identity: int) -> int:
        """Returns a descriptor of the communicator's segment, which the caller closes; -1: it has been given up."""
        name = names.of_communicator(identity)
        return self._take([name]).get(name, -1)


def path_of(descriptor: int) -> str:
    """Returns the path at which this process can open what the descriptor has open."""
    return f"/proc/self/fd/{descriptor}"


def _wanted(request: Any) -> dict[str, str]:
    """Returns the names of the memory that a request needs, by the field that takes its path."""
    if isinstance(request, worker_pb2.OpenSessionRequest):
        own = {f"{piece}_path": names.of_session(request.session, piece) for piece in names.PIECES}
        return {"board_path": names.BOARD, **own}
    if isinstance(request, (worker_pb2.TransferRequest, worker_pb2.DirectTransferRequest)) and request.memory:
        return {"path": names.of_transfer(request.memory)}
    return {}
