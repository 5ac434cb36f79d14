"""The recoveries of a report as lanes and spans, which the page and the trace both draw.

Called by: page.py, trace.py. Promises: pure; a lane's pieces follow each other without gap or overlap from the lane's
first to its last second; a report of an older service, which has no times of ranks, is drawn with the data that it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..questions.text import places

COMPUTE, WAITING = "compute", "waiting"
#: In the order of a recovery.
PHASES = ("detect", "fence", "rebuild", "decide", "restore", "resume", "replay")
#: What a rank does, for legends.
ACTIVITIES = (COMPUTE, WAITING, "fence", "rebuild", "restore", "resume", "replay")


@dataclass(frozen=True)
class Span:
    """A span, in seconds since the fault was noticed."""

    what: str
    start: float
    seconds: float
    attempt: int = 1

    @property
    def end(self) -> float:
        return self.start + self.seconds


@dataclass(frozen=True)
class Lane:
    """A rank during one recovery."""

    session: int
    name: str
    gpu: int | None
    node: str = ""  # empty: the service is in no cluster
    lost: bool = False
    computed: float = 0.0  # seconds before it stopped
    stopped: float = 0.0
    waited: float = 0.0
    spans: Sequence[Span] = ()

    def place(self) -> str:
        """Returns the GPU, with its node in a cluster; empty: it is not known."""
        if self.gpu is None:
            return ""
        return f"GPU {self.gpu} of node {self.node}" if self.node else f"GPU {self.gpu}"

    def seconds(self, phase: str) -> float:
        return sum(one.seconds for one in self.spans if one.what == phase)

    def caught_up(self, end: float) -> float:
        """Returns when the rank computes again: at the end of its replay, otherwise with the recovery."""
        replays = [one.end for one in self.spans if one.what == "replay"]
        return min(max(replays), end) if replays else end

    def pieces(self, first: float, end: float, last: float) -> Iterator[Span]:
        """Returns the rank's activity from first to last. end: of the recovery."""
        caught_up, at = self.caught_up(end), self.stopped
        if first < self.stopped:
            yield Span(COMPUTE, first, self.stopped - first)
        for one in self.spans:
            start, until = max(one.start, at), min(one.end, caught_up)
            if until <= start:
                continue
            if start > at:
                yield Span(WAITING, at, start - at)
            yield Span(one.what, start, until - start)
            at = until
        if caught_up > at:
            yield Span(WAITING, at, caught_up - at)
        if last > caught_up:
            yield Span(COMPUTE, max(at, caught_up), last - max(at, caught_up))


@dataclass(frozen=True)
class Recovery:
    """One recovery of the report; number counts from 1, as `jitc report` does."""

    number: int
    document: Mapping[str, Any]
    began: float  # by the clock
    seconds: float
    phases: Sequence[Span]
    lanes: Sequence[Lane] = field(default=())

    @property
    def job(self) -> str:
        return str(self.document["job"])

    def key(self, lane: Lane) -> tuple[str, int]:
        """Returns what a rank's lanes of all recoveries have in common: numbers of sessions are one user's."""
        return str(self.document.get("user", "")), lane.session

    @property
    def ended(self) -> float:
        return self.began + self.seconds

    def computing_since(self) -> float:
        """Returns the clock time from which a rank is known to have computed."""
        return self.began + min((one.stopped - one.computed for one in self.lanes), default=0.0)

    def fault(self) -> str:
        gpus = ", ".join(places(self.document))
        return f"{self.document['cause']} on GPU {gpus}" if gpus else str(self.document["cause"])

    def decision(self) -> str:
        boundary = self.document["boundary"]
        return "no decision" if boundary is None else f"{self.document['decision']} to boundary {boundary}"


def recoveries(report: Mapping[str, Any]) -> list[Recovery]:
    return [_recovery(number, one) for number, one in enumerate(report["recoveries"], 1)]


def _recovery(number: int, document: Mapping[str, Any]) -> Recovery:
    if "began" not in document:
        return _of_before(number, document)
    phases = [Span(one["phase"], one["at"], one["seconds"], one["attempt"]) for one in document["timeline"]]
    lanes = [
        Lane(
            one["session"], one["name"], one["gpu"], one.get("node", ""), one["lost"], one["computed"], one["stopped"],
            one["waited"], [Span(span["phase"], span["at"], span["seconds"]) for span in one["spans"]],
        )
        for one in document["ranks"]
    ]  # fmt: skip
    ends = [span.end for span in (*phases, *(span for lane in lanes for span in lane.spans))]
    return Recovery(number, document, document["began"], max(ends, default=document["seconds"]), phases, lanes)


def _of_before(number: int, document: Mapping[str, Any]) -> Recovery:
    """Handles a service that reports only the sums of phases: they are drawn one after the other."""
    phases, at = [], 0.0
    for name, seconds in document["phases"].items():
        phases.append(Span(name, at, seconds))
        at += seconds
    lanes = [Lane(at, name, None) for at, name in enumerate(document["sessions"], 1)]
    return Recovery(number, document, document["time"] - document["seconds"], at, phases, lanes)
