"""Reports of recoveries: documents for `jitc report`, and one line each in the service's output.

Called by: the coordinator (add), gRPC threads (documents). Promises: documents keep the form that docs/cli.md gives;
the newest ones are still there when another service has taken over.
"""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from ..common.printable import LINE, printable
from ..protection.determinism.differences import differences_text
from ..ranks.cuts import named
from ..ranks.rank import Log
from ..status import documents
from ..status import report as model
from .decide import RankPosition

if TYPE_CHECKING:
    from .recovery import Recovery

#: Reports kept; older ones are dropped, so that a long-lived service stays small.
KEPT = 1000
#: Reports that the next service finds.
LOGGED = 100
#: Spans kept; those of the oldest reports are dropped first: a reply cannot hold the spans of thousands of ranks.
KEPT_SPANS = 50_000

#: States of a proof (proof.py).
PENDING, PROVEN, NOT_PROVEN, NOT_COMPARED = "pending", "proven", "not proven", "not compared"
NOTHING_TO_COMPARE = "nothing to compare"

_KEY = "report/"


class Reports:
    """The newest recoveries, oldest first."""

    def __init__(self, log: Log) -> None:
        self._lock, self._log = threading.Lock(), log
        left = log.entries(_KEY)
        self._documents: list[dict[str, Any]] = [_left(one) for one in left.values()]
        self._count = max(map(int, left), default=0)

    def add(self, recovery: Recovery, proof: model.Proof) -> int:
        """Adds a report, and returns its number. proof: what is known so far of the recovery's proof (proof.py)."""
        document = describe(recovery, proof)
        with self._lock:
            self._documents = [*self._documents[-KEPT + 1 :], document]
            self._count += 1
            self._log.put(f"{_KEY}{self._count}", document)
            self._log.delete(f"{_KEY}{self._count - LOGGED}")
            _drop_old_spans(self._documents)
            number = self._count
        print(f"jitc-proxyd: {printable(line(document), LINE)}", file=sys.stderr, flush=True)
        return number

    def amend(self, number: int, changes: dict[str, Any]) -> None:
        """Adds facts that became known after the report; has no effect if the report is no longer kept."""
        with self._lock:
            at = number - 1 - self._count + len(self._documents)
            if at < 0:
                return
            self._documents[at] = self._documents[at] | changes
            if number > self._count - LOGGED:
                self._log.put(f"{_KEY}{number}", self._documents[at])

    def documents(self) -> list[dict[str, Any]]:
        with self._lock:
            return list(self._documents)


def _left(document: dict[str, Any]) -> dict[str, Any]:
    """Returns a document of the previous service; a proof that was pending there is no longer watched."""
    proof = document.get("proof", {})
    if proof.get("state") != PENDING:
        return document
    return document | {"proof": proof | {"state": NOT_COMPARED, "text": "another service has taken over"}}


def _drop_old_spans(documents: list[dict[str, Any]]) -> None:
    """Drops the oldest spans. A document may be in use by a reader, so it is replaced, not changed."""
    kept = 0
    for at in range(len(documents) - 1, -1, -1):
        count = sum(len(one["spans"]) for one in documents[at]["ranks"])
        if count == 0 and kept > KEPT_SPANS:
            return  # this one has lost its spans, and so have those before it
        kept += count
        if kept > KEPT_SPANS and count:
            documents[at] = documents[at] | {"ranks": [one | {"spans": []} for one in documents[at]["ranks"]]}


def describe(recovery: Recovery, proof: model.Proof) -> dict[str, Any]:
    """Returns the document of a recovery that is over."""
    incident, decision = recovery.incident, recovery.decision
    boundaries = sorted(decision.boundaries.items()) if decision else []
    found = model.Recovery(
        time=time.time(),
        job=recovery.job,
        cause=", ".join(incident.reported_causes()) or "unknown",
        message="; ".join(incident.messages),
        gpu=incident.gpus[0] if incident.gpus else None,
        gpus=incident.gpus,
        places=[model.Place(node=node, gpu=gpu) for node, gpu in incident.places],
        culprits=list(incident.culprits),
        decision=decision.kind.value if decision else "none",
        boundary=decision.boundary if decision else None,
        boundaries=[model.SessionBoundary(session=session, boundary=number) for session, number in boundaries],
        seconds=round(recovery.timeline.total(), 6),
        phases={name: round(seconds, 6) for name, seconds in recovery.timeline.seconds.items()},
        bytes_restored=recovery.bytes_restored,
        bytes_from_peers=dict(recovery.transfers.bytes),
        notes=list(recovery.transfers.notes),
        sessions=[session.label() for session in recovery.group],
        standings=[_standing(number, one) for number, one in sorted(recovery.rank_positions().items())],
        attempts=recovery.attempts.count,
        differences=model.BoundedDifferences(**recovery.differences),
        outcome=_outcome(recovery),
        proof=proof,
        **recovery.times.described(recovery.timeline, recovery.involved()),
    )
    return documents.document(found)


def _standing(number: int, position: RankPosition) -> model.Standing:
    shown = {field.name: getattr(position, field.name) for field in fields(position) if field.name != "history"}
    shown["reserves"] = list(position.reserves)
    return model.Standing(session=number, **shown, kept=[boundary for boundary, _ in position.history.kept])


def _outcome(recovery: Recovery) -> str:
    if recovery.failure:
        return f"given up: {recovery.failure}"
    if recovery.handed_over:
        return "the program's own error, handed to it: " + "; ".join(recovery.handed_over)
    return "recovered, not bit-identical" if recovery.differences.get("results") else "recovered"


def line(document: dict[str, Any]) -> str:
    phases = ", ".join(f"{name} {seconds * 1000:.0f} ms" for name, seconds in document["phases"].items())
    numbers = differences_text(document["differences"])
    peers = "".join(f" ({size} from peers by {path})" for path, size in document["bytes_from_peers"].items() if size)
    restored = ""
    if document["boundary"] is not None:  # something was decided
        restored = f"{document['decision']} to {_where(document)}, {document['bytes_restored']} bytes restored{peers}, "
    return (
        f"job {document['job']}, GPU {document['gpu']}: {document['cause']}{culprits_text(document)}; "
        f"{restored}{document['outcome']} in {document['seconds']:.2f} s ({phases}){'; ' * bool(numbers)}{numbers}"
    )


def _where(document: dict[str, Any]) -> str:
    boundaries = {one["session"]: one["boundary"] for one in document.get("boundaries", ())}
    return named(boundaries) if boundaries else f"boundary {document['boundary']}"


def culprits_text(document: dict[str, Any]) -> str:
    """Returns the ranks for which others waited, in brackets; empty when none is known."""
    names = document.get("culprits")
    return f" (others waited for {', '.join(names)})" if names else ""
