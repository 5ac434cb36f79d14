"""A rank of another node, as recovery, protection and health see it.

Called by: them; table.py, which makes it of its home's documents. Guarded by the lock of all ranks. Promises: what is
set here reaches the rank's home, in order, before or with the next call to its worker; its state changes along the same
table as that of a session of this node.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from jitc.v1 import peer_pb2

from ....common.printable import printable
from ....common.state_machine import Machine
from ....ranks.states import SESSION_TABLE, SessionState
from ..documents import apply, machine_state, state_of
from ..errands import RETRY_SECONDS, Errands
from ..stamps import Stamps
from .call import NOT_FOUND
from .worker import RemoteWorker

NOTE_SECONDS = 10.0
#: Characters of a job's name.
NAME_MOST = 200


class RemoteSession:
    """One session of another node."""

    epoch = epochs = diverged = compared = reserve = reserves_apart = 0
    boundaries_apart = 1
    stopped = peer_mode = uneven = False
    failure = ""
    hang_seconds = 0.0

    def __init__(
        self, node: str, document: peer_pb2.SessionDocument, changed: threading.Condition, errands: Errands,
        stamps: Stamps,
    ) -> None:  # fmt: skip
        """Raises ValueError for a document that no home sends."""
        self.node, self.number, self.pid, self.rank = node, document.number, document.pid, document.rank
        self.world_size, self.job = document.world_size, printable(document.job, NAME_MOST)
        self.gpu, self.host = document.gpu, document.host
        self._changed, self._errands, self._stamps = changed, errands, stamps
        self.stamp = self.term = 0  # of the newest document
        self.document = document
        self.shift = 0.0  # from its home's clock to the one here
        self.gone = False  # this node does not lead it any more, or it has ended
        self.taken = self.settled = False  # the coordinator has been told of it, and knows what its job relies on
        self.leaving = False  # the coordinator is letting it go
        self.doubted = False  # its home has said that there is no such session
        self.fault_seen = self.unhealthy_seen = 0  # stamps of what has become an event
        self.released = False
        self.computes_since = time.monotonic()
        self.worker: RemoteWorker | None = None
        self.machine = Machine(f"session {self.number}", SESSION_TABLE, machine_state(document.state))
        apply(document.state, self)
        self.fired_taken_ms = 0  # when the newest fault fired that has been asked about, by its home's clock
        self._noted = self._state()  # what the home has, or has been told
        self._version = self._acknowledged = 0
        self._noting = False

    @property
    def state(self) -> SessionState:
        return self.machine.state

    def label(self) -> str:
        name = f"pid {self.pid} of node {self.node}"
        return f"rank {self.rank} ({name})" if self.rank >= 0 else name

    def unreachable(self) -> str:
        return self._errands.unreachable(self.node)

    def without_worker(self) -> bool:
        return self.state in (SessionState.LOST, SessionState.STANDBY)

    def target(self, worker: int = 0) -> peer_pb2.Target:
        """Returns whom a request to its home means."""
        return peer_pb2.Target(session=self.number, term=self.term, worker=worker)

    # -- what the home has to know ----------------------------------------------------------------

    def note(self) -> None:
        """Tells the home what the rank is now, unless it knows."""
        with self._changed:
            if self._noting or self.gone or self._news() is None:
                return
            self._noting = True
        self._errands.add(_Note(self))

    def unsent(self) -> peer_pb2.StateNote | None:
        """Returns what the home may not know of the rank; None: it knows all."""
        with self._changed:
            return self._news()

    def heard(self, home: peer_pb2.HomeReply) -> None:
        """Takes the home's answer to a call."""
        with self._changed:
            self._acknowledged = max(self._acknowledged, home.noted)
            self.doubted |= home.code == NOT_FOUND

    def begin_term(self, term: int) -> None:
        """The home does not know what it was told in another term: all is told again."""
        self.term, self._acknowledged = term, 0
        self._version = self._stamps.next()

    def end_note(self) -> bool:
        """Returns whether there is nothing to tell; if so, the next change is another errand."""
        with self._changed:
            self._noting = not self.gone and self._news() is not None
            return not self._noting

    def _news(self) -> peer_pb2.StateNote | None:
        state = self._state()
        if state != self._noted:
            self._noted = state
            self._version = self._stamps.next()
        if self._version <= self._acknowledged:
            return None
        return peer_pb2.StateNote(version=self._version, **self._noted)

    def _state(self) -> dict[str, Any]:
        state = state_of(self)
        state.released = self.released
        return {"state": state, "fired_taken_ms": self.fired_taken_ms}


class _Note:
    """The errand that a rank's newest state is."""

    method, seconds = "Note", NOTE_SECONDS

    def __init__(self, session: RemoteSession) -> None:
        self.node, self._session = session.node, session

    def request(self) -> Any | None:
        session = self._session
        if session.end_note():
            return None
        return peer_pb2.NoteRequest(target=session.target(), note=session.unsent())

    def answered(self, reply: Any) -> float | None:
        self._session.heard(reply)
        if self._session.end_note():
            return None
        return 0.0 if not reply.code else RETRY_SECONDS

    def late(self, why: str) -> None:
        """Lets the errand be told again."""
