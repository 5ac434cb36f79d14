"""A session's document, as its home makes it for the leader, and the state of a rank in messages.

Used by: both sides of this room. Promises: documents of two moments between which nothing has changed are equal; a
state that is written and read again is the same.
"""

from __future__ import annotations

import hashlib
from typing import Any

from jitc.v1 import peer_pb2

from ...node.session import Session
from ...node.workers.worker import Worker
from ...ranks.rank import Rank
from ...ranks.states import SessionState

#: Fields of a rank that its leader decides, beside the state of its machine; documents and notes have them.
SHARED = (
    "epoch", "epochs", "stopped", "peer_mode", "reserve", "failure", "diverged", "compared", "uneven",
    "boundaries_apart", "reserves_apart", "hang_seconds",
)  # fmt: skip
#: Characters of a text that a document has of a device, a library or the kernel.
TEXT_MOST = 4000
#: Until a worker that has ended is reported as such although nobody has looked why.
LOOKED_AT_SECONDS = 5.0


def ms(seconds: float) -> int:
    return int(seconds * 1000)


def state_of(one: Rank) -> peer_pb2.RankState:
    """Returns what a leader decides of a rank, as a message."""
    return peer_pb2.RankState(state=one.state.value, **{name: getattr(one, name) for name in SHARED})


def apply(state: peer_pb2.RankState, one: Any) -> None:
    """Gives a rank what a message has of it, but for the state of its machine."""
    for name in SHARED:
        setattr(one, name, getattr(state, name))


def machine_state(state: peer_pb2.RankState) -> SessionState:
    """Returns the state of a rank's machine. Raises ValueError."""
    return SessionState(state.state)


def document_of(session: Session, worker: peer_pb2.WorkerDocument | None) -> peer_pb2.SessionDocument:
    """Returns a session's document, without what only its home's records have. worker: of its worker."""
    return peer_pb2.SessionDocument(
        number=session.number, pid=session.pid, rank=session.rank, world_size=session.world_size, job=session.job,
        gpu=session.gpu, host=session.host, state=state_of(session), worker=worker,
    )  # fmt: skip


def worker_document(worker: Worker, now: float) -> peer_pb2.WorkerDocument:
    """Returns a worker's document. Asks the kernel about it, and tries its socket, which may take a second."""
    ended = not worker.alive() and (worker.looked_at.is_set() or _long_ago(worker, now))
    found = peer_pb2.WorkerDocument(pid=worker.pid, alive=not ended, works=not ended and worker.works())
    found.cause, found.message = worker.cause, worker.message[:TEXT_MOST]
    if worker.unhealthy_since:
        found.unhealthy_since_ms = ms(worker.unhealthy_since)
    if ended:
        found.noticed_dead_ms = ms(worker.noticed_dead or now)
    return found


def _long_ago(worker: Worker, now: float) -> bool:
    return worker.noticed_dead > 0 and now - worker.noticed_dead > LOOKED_AT_SECONDS


def communicator_name(unique_id: bytes) -> bytes:
    return hashlib.blake2b(unique_id, digest_size=16).digest()
