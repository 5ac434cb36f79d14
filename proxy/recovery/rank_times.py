"""The activity of each rank during a recovery, for the report's timeline.

Called by: one recovery and its parts; gRPC threads, when a call to a worker is over. Promises: it measures and decides
nothing; a span lies inside its recovery; thread-safe.

Spans of a rank are what the recovery had its worker do. Between spans the rank waits for other ranks; before it was
stopped, and after it has caught up, it computes.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..ranks.rank import Rank
from ..status import report as model
from .phases import Timeline

#: Calls to a worker -> the phase that a rank spends in them. Other calls only query.
PHASES = {
    "Fence": "fence", "Keep": "rebuild", "Rollback": "restore", "FinishStep": "restore", "SkipStep": "restore",
    "Send": "restore", "Receive": "restore", "Export": "restore", "Import": "restore", "Resume": "resume",
}  # fmt: skip


@dataclass(frozen=True)
class Span:
    phase: str
    start: float
    end: float


class RankTimes:
    """The spans of one recovery, by session, in seconds of the monotonic clock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spans: dict[int, list[Span]] = {}
        self._stopped: dict[int, float] = {}
        self._computed: dict[int, float] = {}  # the time since which each rank had computed
        self._lost: set[int] = set()
        self._replaying: dict[int, float] = {}

    # -- from the recovery --------------------------------------------------------------------------

    def fenced(self, group: Iterable[Rank], lost: set[int]) -> None:
        """Notes that an attempt begins, which ends a running replay."""
        now = time.monotonic()
        self.replayed(list(self._replaying))
        with self._lock:
            for session in group:
                self._stopped.setdefault(session.number, now)
                self._computed.setdefault(session.number, session.computes_since)
            self._lost |= lost

    @contextlib.contextmanager
    def rebuilds(self, session: int) -> Iterator[None]:
        """Records the time in which the worker of this session is replaced."""
        start = time.monotonic()
        try:
            yield
        finally:
            self._add(session, "rebuild", start)

    def replays(self, sessions: Iterable[int]) -> None:
        """Notes that these sessions begin to run again what they had run."""
        self._replaying = dict.fromkeys(sessions, time.monotonic())

    def replayed(self, sessions: Iterable[int]) -> None:
        """Notes that these sessions have caught up, or have been interrupted."""
        for session in sessions:
            start = self._replaying.pop(session, None)
            if start is not None:
                self._add(session, "replay", start)

    def called(self, session: int, method: str, start: float, _: object = None) -> None:
        """Notes that a call to the worker of this session is over."""
        if method in PHASES:
            self._add(session, PHASES[method], start)

    def _add(self, session: int, phase: str, start: float) -> None:
        with self._lock:
            self._spans.setdefault(session, []).append(Span(phase, start, time.monotonic()))

    # -- the report -----------------------------------------------------------------------------------

    def described(self, timeline: Timeline, involved: Iterable[Rank]) -> dict[str, Any]:
        """Returns fields of the report, once the recovery is over. All times count from when the fault was noticed,
        which `began` gives as wall-clock time."""
        now = time.monotonic()
        self.replayed(list(self._replaying))
        began, end = timeline.began, timeline.newest
        sessions = sorted(involved, key=lambda one: (one.rank, one.number))
        with self._lock:
            ranks = [self._rank(one, began, end) for one in sessions if one.number in self._stopped]
        parts = [
            model.PhaseSpan(
                phase=one.phase, at=_rounded(one.start - began), seconds=_rounded(one.seconds), attempt=one.attempt
            )
            for one in timeline.parts
        ]
        return {"began": round(time.time() - now + began, 6), "timeline": parts, "ranks": ranks}

    def _rank(self, session: Rank, began: float, end: float) -> model.RankTimes:
        number = session.number
        lost = number in self._lost
        stopped = began if lost else min(self._stopped[number], end)
        spans = [
            Span(one.phase, min(max(one.start, stopped), end), min(one.end, end))
            for one in sorted(self._spans.get(number, ()), key=lambda one: one.start)
        ]
        replays = [one.end for one in spans if one.phase == "replay"]
        caught_up = max(replays, default=end)  # the rank computes from then on
        return model.RankTimes(
            session=number, name=session.label(), rank=session.rank, node=session.node, gpu=session.gpu, lost=lost,
            computed=_rounded(max(0.0, stopped - self._computed[number])), stopped=_rounded(stopped - began),
            waited=_rounded(max(0.0, caught_up - stopped - _covered(spans))),
            spans=[
                model.RankSpan(phase=one.phase, at=_rounded(one.start - began), seconds=_rounded(one.end - one.start))
                for one in spans if one.end > one.start
            ],
        )  # fmt: skip


def _covered(spans: Sequence[Span]) -> float:
    """Returns the seconds in which at least one span runs. The spans are in the order of their starts."""
    seconds, until = 0.0, float("-inf")
    for one in spans:
        seconds += max(0.0, one.end - max(one.start, until))
        until = max(until, one.end)
    return seconds


def _rounded(seconds: float) -> float:
    return round(seconds, 6)
