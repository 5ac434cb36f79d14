"""Ranks of other nodes that this node leads: made of their homes' documents, which become events as well.

Called by: ../leads.py, which takes and drops them; ../methods.py (reports). Guarded by the lock of all ranks. Promises:
a document that is older than the newest one, or the same, changes nothing; what a document says becomes an event once;
a session is taken for closed only if its home has said so.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from jitc.v1 import peer_pb2

from ....ranks.causes import RESTART, WORKER_DEATH
from ....ranks.events import Event, FaultReported, GpuUnhealthy, ServiceRestarted, SessionClosed, WorkerDied
from ....ranks.states import SessionEvent
from ..errands import Errands
from ..leadership import Cluster
from ..stamps import Stamps
from .session import RemoteSession
from .worker import RemoteWorker

#: Sessions that were dropped and are remembered.
REMEMBERED = 4096


@dataclass(frozen=True)
class _Present:
    """A home's word about which sessions it has."""

    stamp: int
    sessions: frozenset[int]
    newest: int


class RemoteTable:
    """All sessions of other nodes of which this one has documents."""

    def __init__(self, cluster: Cluster, changed: threading.Condition, errands: Errands, stamps: Stamps) -> None:
        self._cluster, self._changed, self._errands, self._stamps = cluster, changed, errands, stamps
        self.sessions: dict[int, RemoteSession] = {}
        self._present: dict[str, _Present] = {}
        self._left: dict[int, int] = {}  # terms in which sessions were dropped
        #: Takes in events, and faults that ranks have reported; set before the first document comes.
        self.post: Callable[[Event], None] = lambda event: None
        self.fault_found: Callable[[FaultReported], None] = lambda fault: None

    def take_in(self, node: str, report: peer_pb2.SessionsReport) -> list[int]:
        """Takes in a home's report. Returns the sessions that this node does not lead, as far as it knows."""
        not_led = []
        with self._changed:
            for document in report.sessions:
                if self._leads(node, document.number):
                    self.take(node, document, report.now_ms)
                else:
                    not_led.append(document.number)
            self._note_present(node, report)
            self._changed.notify_all()
        return not_led

    def take(self, node: str, document: peer_pb2.SessionDocument, now_ms: int) -> None:
        """Takes in one document. Raises ValueError for one that no home sends."""
        session = self.sessions.get(document.number)
        if session is None and document.term <= self._left.get(document.number, 0):
            return  # it is missing, and its home is asked for another term (asking.py)
        if session is None:
            session = self.sessions[document.number] = self._made(node, document)
        if document.stamp <= session.stamp:
            return
        anew = session.stamp > 0 and session.term != document.term
        if session.term != document.term:
            session.begin_term(document.term)
        session.stamp, session.document, session.host = document.stamp, document, document.host
        session.shift = time.monotonic() - now_ms / 1000
        self._take_worker(session, document)
        session.stopped |= anew and document.state.stopped
        if session.taken:
            self.tell(session)
            if anew and session.stopped:
                alive = session.worker is not None and session.worker.alive()
                self.post(ServiceRestarted(session, RESTART if alive else WORKER_DEATH))
            session.note()
        self._changed.notify_all()

    def tell(self, session: RemoteSession) -> None:
        """Makes events of what the newest document says, once."""
        document, worker = session.document, session.worker
        if worker is not None and not worker.alive() and not worker.reported:
            worker.reported = True
            self.post(WorkerDied(worker, worker.unhealthy_since or worker.noticed_dead))
        fault = document.fault
        if fault.stamp > session.fault_seen and fault.epoch >= session.epoch:
            session.fault_seen = fault.stamp
            self.fault_found(
                FaultReported(
                    session, fault.sequence, fault.status, fault.cause, fault.message, fault.epoch,
                    _local(session, fault.noticed_ms),
                )
            )  # fmt: skip
        sick = document.unhealthy
        if sick.stamp > session.unhealthy_seen and worker is not None and worker.pid == sick.pid:
            session.unhealthy_seen = sick.stamp
            noticed = _local(session, sick.noticed_ms)
            self.post(GpuUnhealthy(sick.gpu, worker, sick.cause, sick.message, noticed))

    def is_gone(self, number: int) -> bool:
        """Returns whether a session's home has said that the session has ended."""
        if number in self.sessions:
            return False
        present = self._present.get(self._cluster.jobs.node_of(number))
        return present is not None and number <= present.newest and number not in present.sessions

    def drop(self, session: RemoteSession) -> None:
        """Forgets a session that this node does not lead any more."""
        session.gone = True
        if self.sessions.get(session.number) is session:
            del self.sessions[session.number]
            self._left[session.number] = session.term
            while len(self._left) > REMEMBERED:
                del self._left[next(iter(self._left))]
        self._changed.notify_all()

    def take_fired_at(self, numbers: set[int]) -> list[float]:
        """Returns when faults have fired in these sessions, each once."""
        found = []
        with self._changed:
            for session in [one for number, one in self.sessions.items() if number in numbers]:
                at = session.document.fired.at_ms
                if at > session.fired_taken_ms:
                    session.fired_taken_ms = at
                    found.append(_local(session, at))
                    session.note()
        return found

    # -- parts ------------------------------------------------------------------------------------

    def _leads(self, node: str, number: int) -> bool:
        jobs = self._cluster.jobs
        return jobs.node_of(number) == node and jobs.leader_of(number) == self._cluster.node

    def _made(self, node: str, document: peer_pb2.SessionDocument) -> RemoteSession:
        return RemoteSession(node, document, self._changed, self._errands, self._stamps)

    def _take_worker(self, session: RemoteSession, document: peer_pb2.SessionDocument) -> None:
        told = document.worker if document.HasField("worker") else None
        worker = session.worker
        if worker is not None and (told is None or told.pid != worker.pid):
            worker.told = peer_pb2.WorkerDocument(pid=worker.pid)  # it has ended, as another one could come
        if told is None:
            session.worker = None
            return
        if worker is None or worker.pid != told.pid:
            worker = session.worker = RemoteWorker(session, told.pid, self._changed, self._errands)
        worker.told, worker.gpu = told, session.host
        if not told.alive:
            worker.cause, worker.message = told.cause or WORKER_DEATH, told.message
            worker.noticed_dead = _local(session, told.noticed_dead_ms)
            worker.unhealthy_since = _local(session, told.unhealthy_since_ms) if told.unhealthy_since_ms else 0.0

    def _note_present(self, node: str, report: peer_pb2.SessionsReport) -> None:
        known = self._present.get(node)
        if known is not None and known.stamp >= report.stamp:
            return
        self._present[node] = _Present(report.stamp, frozenset(report.present), report.newest)
        for number, session in list(self.sessions.items()):
            if session.node != node or number > report.newest:
                continue
            session.doubted = False
            if number not in self._present[node].sessions:
                self._close(session)

    def _close(self, session: RemoteSession) -> None:
        session.machine.fire(SessionEvent.CLOSE)
        if session.worker is not None:
            session.worker.told = peer_pb2.WorkerDocument(pid=session.worker.pid)
        self.drop(session)
        if session.taken:
            self.post(SessionClosed(session))


def _local(session: RemoteSession, ms: int) -> float:
    """Returns a time of the home's as one of this machine's monotonic clock."""
    return ms / 1000 + session.shift
