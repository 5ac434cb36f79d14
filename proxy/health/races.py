"""Races: pairs of operators of a program that touch the same memory with no order between them (`--check-order`).

Called by: the Coordinator service (add), the Admin service (documents, count). Promises: a pair of operators and places
of a job is reported once, whichever ranks and workers find it, even if a recovery runs its ops again; the document
keeps the form of docs/cli.md.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from ..common.printable import LINE, printable
from ..status import documents
from ..status import report as model

if TYPE_CHECKING:
    from ..ranks.rank import Ranks

#: Kept; later ones are counted with their sessions only. A worker reports as many at most.
KEPT = 1000


class Races:
    """The pairs found so far, oldest first."""

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks
        self._lock = threading.Lock()
        self._documents: dict[tuple[Any, ...], dict[str, Any]] = {}
        self._counts: dict[int, int] = {}

    def add(self, report: Any) -> None:
        """Adds a worker's RaceReport; its session may be closed by now."""
        ranks = self._ranks
        with ranks.changed:
            session = ranks.sessions.get(report.session)
            job = ranks.job_of(session) if session else ""
            rank = session.label() if session else f"session {report.session}"
        with self._lock:
            key = (job, *_key(report.first), *_key(report.second))
            known = self._documents.get(key)
            new = known is None and len(self._documents) < KEPT
            document = known or _document(job, report)
            if new:
                self._documents[key] = document
            if rank not in document["sessions"]:
                document["sessions"].append(rank)
                self._counts[report.session] = self._counts.get(report.session, 0) + 1
            full = new and len(self._documents) == KEPT
        if new:
            said = "\n".join(printable(one, LINE) for one in lines(document))
            print(f"jitc-proxyd: {said}", file=sys.stderr, flush=True)
        if full:
            print(f"jitc-proxyd: {KEPT} races have been reported; more are not shown", file=sys.stderr, flush=True)

    def documents(self) -> list[dict[str, Any]]:
        with self._lock:
            return [dict(one, sessions=list(one["sessions"])) for one in self._documents.values()]

    def count(self, session: int) -> int:
        with self._lock:
            return self._counts.get(session, 0)


def lines(document: dict[str, Any]) -> list[str]:
    """Returns lines for a user; a program's texts are unchanged in them."""
    job = f" in job {document['job']}" if document["job"] else ""
    told = [f"race{job}, {', '.join(document['sessions'])}: no order between two operators that touch the same memory"]
    for name in ("first", "second"):
        side = document[name]
        within = f" ({side['operator']})" if side["operator"] not in ("", side["op"]) else ""
        stream = f"stream {side['stream']:#x}" if side["stream"] else "the default stream"
        told.append(f"  {side['op']}{within} {'writes' if side['writes'] else 'reads'} on {stream}")
        told += [f"      {line}" for line in side["place"].splitlines() or ["(no Python code called it)"]]
    told.append(f"  {document['bytes']} bytes at {document['address']:#x}")
    return told


def _document(job: str, report: Any) -> dict[str, Any]:
    race = model.Race(
        time=time.time(), job=job, sessions=[], first=_side(report.first), second=_side(report.second),
        address=report.address, bytes=report.bytes,
    )  # fmt: skip
    return documents.document(race)


def _side(side: Any) -> model.RaceSide:
    return model.RaceSide(
        op=side.op, operator=side.operator, place=side.place, stream=side.stream, sequence=side.sequence,
        writes=side.writes,
    )  # fmt: skip


def _key(side: Any) -> tuple[str, str, str]:
    return side.op, side.operator, side.place
