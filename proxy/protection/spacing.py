"""The distance between the boundaries of a job: copies of all live memory may take no more than a share of the time.

A boundary that is not made costs nothing, and a fault then goes back further. A spaced job does not need to rely on
peers: everything is in the node's memory, as far as that has room. Called by: the coordinator (tick, while no events
come) in its thread; recoveries (restore); the policies (enough). Promises: a job starts with every boundary; ranks may
learn of another number at different times, which only makes them keep more. Pure except for `Spacings`.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jitc.v1 import worker_pb2

from ..ranks.rank import Rank, Ranks
from ..ranks.settings import have_taken
from ..ranks.states import SessionState
from ..ranks.stats import stats_of

LOOK_SECONDS = 1.0
#: Steps that are looked at before a number is chosen, and looks of which the shortest step counts: programs pause.
STEPS, LOOKS = 8, 8
#: The first boundaries of a job are left out: the memory of their copies is new to the system and to the device.
COLD = 2
#: Boundaries whose cost is looked at together: counters are read while one is being made.
MADE = 4
#: Of the time between looks, what steps take at least: all of it but boundaries whose cost was taken for too high.
_LEAST = 0.1
#: Boundaries from one to the next at most. All numbers are powers of two: what one divides, a smaller one does too.
MOST = 1024
#: Of the journal, what the minibatches between two boundaries may fill. At half of it one is made in any case.
JOURNAL_SHARE = 0.25


@dataclass(frozen=True)
class Counted:
    """A rank's counters."""

    boundary: int
    made: int
    seconds: float  # for those that were made: hashes, copies, their record
    journal_bytes: float  # of a minibatch
    protected: bool = True

    @staticmethod
    def told(stats: Mapping[str, Any]) -> Counted:
        phases = stats["boundary_phases"]
        seconds = sum(float(phases["seconds"].get(name, 0.0)) for name in ("hash", "copy", "record"))
        boundary, since = int(stats["boundary"]), int(stats["boundary"]) - int(stats["committed"]) + 1
        journal = int(stats["journal_bytes"]) / max(1, since)
        return Counted(boundary, int(phases["boundaries"]), seconds, journal, bool(stats["protected"]))


@dataclass(eq=False)
class Spacing:
    """The spacing of one job."""

    share: float  # of the time
    journal: int  # bytes
    every: int = 1
    cost: float = 0.0  # seconds of one boundary
    step: float = 0.0  # seconds of one step, without
    protected: bool = True
    _seen: tuple[float, list[Counted]] | None = None
    _paid: list[Counted] = field(default_factory=list)  # when the cost was chosen, or at first
    _steps: deque[float] = field(default_factory=lambda: deque(maxlen=LOOKS))

    def advance(self, ranks: Sequence[Counted], now: float) -> bool:
        """Returns whether `every` has changed."""
        before, self.protected = self._seen, all(one.protected for one in ranks)
        if before is None or len(before[1]) != len(ranks) or any(map(_went_back, before[1], ranks)):
            self._paid = list(ranks)
            self._seen = (now, self._paid) if min(one.boundary for one in ranks) > COLD else None
            return False
        steps = min(one.boundary - old.boundary for old, one in zip(before[1], ranks, strict=True))
        if steps < STEPS:
            return False
        self._seen = now, list(ranks)
        self._measure(before, ranks, now, steps)
        return self._choose(JOURNAL_SHARE * self.journal / max(1.0, *(one.journal_bytes for one in ranks)))

    def _measure(self, before: tuple[float, list[Counted]], ranks: Sequence[Counted], now: float, steps: int) -> None:
        if (paid := _made(self._paid, ranks)) >= MADE:
            self.cost = max(one.seconds - old.seconds for old, one in zip(self._paid, ranks, strict=True)) / paid
            self._paid = list(ranks)
        whole = (now - before[0]) / steps
        self._steps.append(max(whole - _made(before[1], ranks) * self.cost / steps, whole * _LEAST, 1e-9))
        self.step = min(self._steps)

    def _choose(self, most: float) -> bool:
        wanted = self.cost / (self.share * self.step) if self.protected else 1.0
        every = 1
        while every < wanted and every < MOST and 2 * every <= most:
            every *= 2
        # Not to and fro for little.
        if every == self.every or (self.protected and every < self.every <= 2 * every and self.every <= most):
            return False
        self.every = every
        return True


def _made(before: Sequence[Counted], ranks: Sequence[Counted]) -> int:
    return max(one.made - old.made for old, one in zip(before, ranks, strict=True))


def _went_back(before: Counted, now: Counted) -> bool:
    return now.boundary < before.boundary or now.made < before.made


class Spacings:
    """The spacings of all jobs."""

    def __init__(self, ranks: Ranks) -> None:
        self._ranks, self._share = ranks, ranks.config.boundary_share
        self._spacings: dict[int, Spacing] = {}  # by session
        self._looked = 0.0

    def enough(self, group: Sequence[Rank]) -> bool:
        """Returns whether only copies are to protect the job, and can."""
        return self._share > 0 and all(
            one.number not in self._spacings or self._spacings[one.number].protected for one in group
        )

    def restore(self, sessions: Sequence[Rank]) -> None:
        """Sends rebuilt workers the spacing of their predecessors."""
        for session in sessions:
            if session.number in self._spacings:
                self._tell(session)

    def forget(self, session: Rank) -> None:
        self._spacings.pop(session.number, None)

    def tick(self) -> None:
        now = time.monotonic()
        if not self._share or now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        for group in self._groups():
            stats = stats_of(group)
            if len(stats) < len(group):
                continue  # a worker that is dying
            spacing = self._of(group)
            if spacing.advance([Counted.told(stats[one.number]) for one in group], now):
                for session in group:
                    session.boundaries_apart = spacing.every
                    self._tell(session)
                print(f"jitc-proxyd: job {self._ranks.job_of(group[0])}: {line(spacing)}", file=sys.stderr, flush=True)

    def _groups(self) -> list[Sequence[Rank]]:
        with self._ranks.changed:
            running = [one for one in self._ranks.sessions.values() if one.state is SessionState.SERVING]
        groups, seen = [], set[int]()
        for session in running:
            if session.number not in seen:
                group = self._ranks.group([session])
                seen |= {one.number for one in group}
                serving = all(one.state is SessionState.SERVING for one in group)
                if group and serving and not self._ranks.awaits(group):
                    groups.append(group)
        return groups

    def _of(self, group: Sequence[Rank]) -> Spacing:
        """Returns the spacing that all of them share: ranks that are connected later start again."""
        found = [self._spacings.get(one.number) for one in group]
        if found[0] is not None and all(one is found[0] for one in found):
            return found[0]
        fresh = Spacing(self._share, self._ranks.config.journal_bytes)
        fresh.every = max((one.every for one in found if one is not None), default=1)
        self._spacings |= {one.number: fresh for one in group}
        return fresh

    def _tell(self, session: Rank) -> None:
        request = worker_pb2.Spacing(session=session.number, every=self._spacings[session.number].every)
        have_taken(session, "SetSpacing", request, "boundaries")


def line(spacing: Spacing) -> str:
    which = "every boundary is" if spacing.every == 1 else f"one of {spacing.every} boundaries is"
    return f"{which} made ({spacing.cost * 1e3:.1f} ms each, steps of {spacing.step * 1e3:.1f} ms)"
