"""The leaders of this node's sessions: who they are, and what they have decided.

Called by: calls.py, rebuilding.py, ../methods.py, with the registry's lock. Promises: a node that does not lead a
session's job, or means an earlier term, is refused, and changes nothing; states are taken in in their order; the state
of a session here follows that which its leader has.
"""

from __future__ import annotations

import grpc

from jitc.v1 import peer_pb2

from ....node.fault_injector import FaultInjector
from ....node.registry import Registry
from ....node.session import Session
from ....ranks.states import RECOVERING, SessionState
from ..documents import apply, machine_state, ms
from ..leads import Leads
from ..rights import Away, admits
from .standing import Standing

#: States that a leader decides; a session is opened and closed at home.
_DECIDED = (SessionState.SERVING, SessionState.FAILED, *RECOVERING)


class Refused(Exception):
    """A request of another node is refused. noted: the version of the newest state that this one has."""

    def __init__(self, code: grpc.StatusCode, text: str, noted: int = 0) -> None:
        super().__init__(text)
        self.code, self.text, self.noted = code, text, noted


class Following:
    """The rights of leaders."""

    def __init__(
        self, cluster_node: str, registry: Registry, leads: Leads, *, standing: Standing, faults: FaultInjector
    ) -> None:  # fmt: skip
        """cluster_node: this one's name."""
        self._node, self._registry, self._leads = cluster_node, registry, leads
        self._standing, self._faults = standing, faults
        self.lock = registry.changed

    def taken(
        self, node: str, target: peer_pb2.Target, note: peer_pb2.StateNote | None = None
    ) -> tuple[Session, Away]:  # fmt: skip
        """Returns the session that a leader means, after what the note says of it. Raises Refused."""
        session, away = self._registry.sessions.get(target.session), self._leads.away(target.session)
        if session is None:
            raise Refused(grpc.StatusCode.NOT_FOUND, f"session {target.session} has ended on node {self._node}")
        if away is None or not admits(away, node, target.term):
            text = f"node {node} does not lead this job by what node {self._node} knows, or does so anew"
            raise Refused(grpc.StatusCode.ABORTED, text)
        if note is not None and note.version > away.noted:
            self._take(session, away, note)
        return session, away

    def leads(self, node: str, target: peer_pb2.Target) -> bool:
        """Returns whether the node still leads the session, in the same term."""
        return admits(self._leads.away(target.session), node, target.term)

    def _take(self, session: Session, away: Away, note: peer_pb2.StateNote) -> None:
        state = machine_state(note.state)
        if state not in _DECIDED:
            raise Refused(grpc.StatusCode.INVALID_ARGUMENT, f"no leader has a session be {state.value}", away.noted)
        away.noted = note.version
        fenced = note.state.epoch > session.epoch
        apply(note.state, session)
        session.machine.state = state
        if self._standing.fault(session) is not None:  # of which its leader may not have known
            session.stopped = True
        if note.state.released:
            self._registry.release(session)
        self._registry.note(session)
        if fenced:
            self._registry.renew_communicators([session])
        fired = self._faults.fired_at(session.number)
        if fired is not None and ms(fired) <= note.fired_taken_ms:
            self._faults.take_fired_at([session])
        self._registry.changed.notify_all()
