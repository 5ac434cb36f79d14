"""Reports: what the sessions of this node are, told to the nodes that lead their jobs.

Called by: ../leads.py, again and again; calls.py (a document in an answer). Promises: a leader is told whenever
something has changed, until it has taken it in; what it is told is never older than what it was told before; no lock is
held while a worker is looked at.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence, Set
from typing import Any

from jitc.v1 import peer_pb2

from ....node.fault_injector import FaultInjector
from ....node.registry import Registry
from ....node.session import Session
from ..documents import communicator_name, document_of, ms, worker_document
from ..errands import RETRY_SECONDS, Errands
from ..rights import Away
from ..stamps import Stamps
from .standing import Standing

REPORT_SECONDS = 10.0
#: Bytes of the documents of one report; what is left is the next one's.
DOCUMENTS_MOST = 1 << 20


class Reports:
    """The newest documents, and which of them leaders have."""

    def __init__(
        self, registry: Registry, faults: FaultInjector, standing: Standing, stamps: Stamps, errands: Errands
    ) -> None:  # fmt: skip
        self._registry, self._faults, self._standing = registry, faults, standing
        self._stamps, self._errands = stamps, errands
        self._documents: dict[int, tuple[str, peer_pb2.SessionDocument]] = {}  # with the leader's node
        self._delivered: dict[int, int] = {}  # session -> stamp
        self._due: set[str] = set()  # nodes to be told although no document is new
        self._telling: set[str] = set()

    def look(self, followed: Sequence[tuple[Session, Away]]) -> None:
        """Looks at the sessions that are not led here, and tells their leaders what has changed."""
        now = time.monotonic()
        workers = [(session, away, session.worker) for session, away in followed]
        looked = [
            (session, away, worker, worker_document(worker, now) if worker is not None else None)
            for session, away, worker in workers
        ]
        with self._registry.changed:
            for session, away, worker, told in looked:
                if away.leader is not None and session.worker is worker:
                    self._renew(session, away, told)
            self._forget({session.number for session, away in followed if away.leader is not None})
            leaders = self._due | {leader for leader, _ in self._undelivered()}
            new, self._telling = leaders - self._telling, self._telling | leaders
        for leader in new:
            self._errands.add(_Report(leader, self))

    def again(self, leader: str) -> None:
        """Has a leader be told which sessions there are, also if nothing has changed."""
        with self._registry.changed:
            self._due.add(leader)

    def document(self, session: Session, away: Away) -> peer_pb2.SessionDocument:
        """Returns the session's newest document."""
        worker = session.worker
        told = worker_document(worker, time.monotonic()) if worker is not None else None
        with self._registry.changed:
            return self._renew(session, away, told)

    def report(self, leader: str) -> peer_pb2.SessionsReport | None:
        """Returns what a leader has not taken in; None: it has all."""
        with self._registry.changed:
            new = [document for node, document in self._undelivered() if node == leader]
            if not new and leader not in self._due:
                self._telling.discard(leader)
                return None
            self._due.discard(leader)
            return peer_pb2.SessionsReport(
                stamp=self._stamps.next(), now_ms=ms(time.monotonic()), present=list(self._registry.sessions),
                newest=self._registry.last, sessions=_first(new),
            )  # fmt: skip

    def delivered(self, leader: str, report: peer_pb2.SessionsReport, not_led: Iterable[int]) -> bool:
        """Notes that a leader has taken in a report, without these sessions. Returns whether it has all now."""
        with self._registry.changed:
            for document in report.sessions:
                if document.number not in not_led:
                    newest = self._delivered.get(document.number, 0)
                    self._delivered[document.number] = max(newest, document.stamp)
            left = leader in self._due or any(node == leader for node, _ in self._undelivered())
            if not left:
                self._telling.discard(leader)
            return not left

    def is_delivered(self, number: int) -> bool:
        """Returns whether the leader of a session has taken in its newest document."""
        _, document = self._documents.get(number, ("", None))
        return document is not None and self._delivered.get(number, 0) >= document.stamp

    def missed(self, leader: str) -> None:
        """Notes that a report may not have reached its leader."""
        with self._registry.changed:
            self._due.add(leader)

    # -- parts, with the lock ---------------------------------------------------------------------

    def _forget(self, followed: Set[int]) -> None:
        """Forgets the documents of other sessions. Who leads one that has ended is told."""
        for number in self._documents.keys() - followed:
            leader, _ = self._documents.pop(number)
            self._delivered.pop(number, None)
            if leader and number not in self._registry.sessions:
                self._due.add(leader)

    def _undelivered(self) -> list[tuple[str, peer_pb2.SessionDocument]]:
        every = self._documents.items()
        return [found for number, found in every if self._delivered.get(number, 0) < found[1].stamp]

    def _renew(
        self, session: Session, away: Away, worker: peer_pb2.WorkerDocument | None
    ) -> peer_pb2.SessionDocument:  # fmt: skip
        """Returns the document of now, with another stamp if anything has changed."""
        document = document_of(session, worker)
        document.term = away.term
        if (fault := self._standing.fault(session)) is not None:
            document.fault.CopyFrom(fault)
        if (unhealthy := self._standing.unhealthy(session)) is not None:
            document.unhealthy.CopyFrom(unhealthy)
        if (fired := self._faults.fired_at(session.number)) is not None:
            document.fired.at_ms = ms(fired)
        document.seats.extend(self._seats(session.number))
        _, before = self._documents.get(session.number, ("", None))
        document.stamp = before.stamp if before is not None else 0
        if document != before:
            document.stamp = self._stamps.next()
        self._documents[session.number] = away.leader or "", document
        return document

    def _seats(self, number: int) -> list[peer_pb2.Seat]:
        communicators = self._registry.communicators
        living = {id(one) for one in communicators}
        return [
            peer_pb2.Seat(
                communicator=communicator_name(unique_id), ranks=one.ranks, rank=one.members[number],
                gathering=one.gathering(),
            )
            for unique_id, one in communicators.items()
            if number in one.members and id(one) in living
        ]  # fmt: skip


def _first(documents: Iterable[peer_pb2.SessionDocument]) -> list[peer_pb2.SessionDocument]:
    """Returns as many as one report may have, at least one."""
    found, size = list[peer_pb2.SessionDocument](), 0
    for one in documents:
        size += one.ByteSize()
        if found and size > DOCUMENTS_MOST:
            break
        found.append(one)
    return found


class _Report:
    """The errand that news for a leader are."""

    method, seconds = "Report", REPORT_SECONDS

    def __init__(self, leader: str, reports: Reports) -> None:
        self.node, self._reports = leader, reports
        self._sent: peer_pb2.SessionsReport | None = None

    def request(self) -> Any | None:
        if self._sent is not None:
            self._reports.missed(self.node)
        self._sent = self._reports.report(self.node)
        return self._sent

    def answered(self, reply: Any) -> float | None:
        assert self._sent is not None
        sent, self._sent = self._sent, None
        return None if self._reports.delivered(self.node, sent, set(reply.not_led)) else RETRY_SECONDS

    def late(self, why: str) -> None:
        """Lets the errand be told again."""
