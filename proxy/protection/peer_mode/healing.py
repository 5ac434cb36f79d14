"""Healing: an odd rank takes the bytes that most ranks hold, with `--heal-replicas`.

All ranks stop after the same boundary, before anything else runs, so that no result of the next minibatch is known yet.
They roll back to that boundary as after a fault, and the odd ranks take the majority's bytes.

Called by: the policies (want) and the coordinator in its thread, a recovery in the thread of its job (heal). Promises:
one run per group at a time; a rank that does not reach the boundary, or a fault in between, ends a run; the job
continues in any case.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from jitc.v1 import worker_pb2

from ...common.rpc import status_of
from ...ranks.events import FaultReported
from ...ranks.rank import Rank
from ...ranks.stats import stats_of
from .divergence import Divergence, Divergences
from .replicas import Split

#: Boundaries from the newest one to the one to stop after; more in the next try, when the job was too fast.
AHEAD = (4, 16, 64, 256)
#: Time for the other ranks to come to the same boundary; after that the run ends.
GATHER_SECONDS = 30.0
CALL_SECONDS = 10.0


class Restorer(Protocol):
    """The part of a recovery that has restored the ranks (../../recovery/restore/restore.py)."""

    def all_were_at(self, boundary: int) -> bool:
        """Returns whether it was the newest boundary of every rank, so that no rank has run past it."""

    def replace(self, session: Rank, holder: Rank, ordinals: set[int], boundary: int) -> None:
        """Replaces these blocks of the session by the holder's. All ranks are already restored to the boundary."""


@dataclass(eq=False)
class _Run:
    found: Divergence
    arrived: list[FaultReported] = field(default_factory=list)
    gathered: bool = False
    #: Why some ranks will not come, else empty. The run ends with the first rank then, and the next look tries again.
    hopeless: str = ""

    def members(self) -> Sequence[Rank]:
        return list(self.found.sessions.values())

    def all_here(self) -> bool:
        return {one.session.number for one in self.arrived} >= self.found.sessions.keys()

    def overdue(self) -> bool:
        """Returns whether the first rank has waited too long for the others."""
        return not self.gathered and bool(self.arrived) and time.monotonic() - self.arrived[0].noticed > GATHER_SECONDS


class Healings:
    """The healings of all jobs."""

    def __init__(self, divergences: Divergences, enabled: bool) -> None:
        self._divergences = divergences
        self.enabled = enabled
        self._lock = threading.Lock()
        self._runs: list[_Run] = []

    def busy(self) -> bool:
        """Returns whether ranks are stopped for a healing; ticks must then be frequent."""
        with self._lock:
            return any(run.arrived for run in self._runs)

    def want(self, found: Divergence) -> None:
        """Makes the ranks stop at one of the next boundaries. Has no effect while that is in progress."""
        if not found.heals or self._of(found.sessions.values()):
            return
        newest = max((int(one.get("boundary", 0)) for one in stats_of(found.sessions.values()).values()), default=0)
        boundary = newest + AHEAD[min(found.tries, len(AHEAD) - 1)]
        found.tries += 1
        refusals = _ask_to_stop(found.sessions.values(), boundary)
        if len(refusals) < len(found.sessions):  # at least one rank will stop
            with self._lock:
                self._runs.append(_Run(found, hopeless="; ".join(refusals)))

    def arrived(self, report: FaultReported) -> FaultReported | None:
        """Handles a rank that has stopped. Returns the report to recover from, once all have, or if no run waits for
        it."""
        run = next(iter(self._of([report.session])), None)
        if run is None:
            return report
        if run.hopeless:
            self._end(run, f"not healed yet: {run.hopeless}")
            return report
        run.arrived.append(report)
        run.gathered = run.all_here()
        return report if run.gathered else None

    def tick(self) -> FaultReported | None:
        """Returns a report to recover from, without healing, if a rank has waited too long for the others."""
        with self._lock:
            late = next((run for run in self._runs if run.overdue()), None)
        if late is None:
            return None
        self._end(late, "not healed: a rank did not come to the boundary")
        return late.arrived[0]

    def closed(self, session: Rank) -> FaultReported | None:
        """Handles the end of a rank's process. Returns a report to recover from if other ranks are stopped because of
        the run."""
        for run in self._of([session]):
            self._end(run, "not healed: a process has ended")
            if not run.gathered:
                return next((one for one in run.arrived if one.session is not session), None)
        return None

    def disturbed(self, sessions: Iterable[Rank]) -> FaultReported | None:
        """Handles a recovery of the sessions. Returns a report to recover from if a rank has reached the boundary
        since."""
        runs = self._of(sessions)
        for run in runs:
            self._end(run, "not healed: a fault came in between")
        return next((report for run in runs for report in run.arrived if report.still_stopped()), None)

    def heal(self, group: Sequence[Rank], restore: Restorer, boundary: int) -> list[Split]:
        """Runs in a recovery, with all ranks restored to the boundary. Returns the blocks that are equal again."""
        run = next((one for one in self._of(group) if one.gathered), None)
        if run is None or not set(run.members()) <= set(group):
            return []
        if not restore.all_were_at(boundary):
            self._end(run, "not healed: the ranks have stopped at different boundaries")
            return []
        blocks = run.found.healable()
        for number in sorted({number for split in blocks for number in split.odd}):
            mine = [split for split in blocks if number in split.odd]
            for holder in sorted({min(split.majority) for split in mine}):
                ordinals = {split.ordinal for split in mine if min(split.majority) == holder}
                sessions = run.found.sessions
                restore.replace(sessions[number], sessions[holder], ordinals, boundary)
        self._end(run, f"healed at boundary {boundary}: the odd ranks have taken what the others hold")
        self._divergences.say(run.found, f"replicas agree again: {run.found.outcome}")
        return blocks

    def _of(self, sessions: Iterable[Rank]) -> list[_Run]:
        wanted = {session.number for session in sessions}
        with self._lock:
            return [run for run in self._runs if run.found.sessions.keys() & wanted]

    def _end(self, run: _Run, outcome: str) -> None:
        with self._lock:
            self._runs = [one for one in self._runs if one is not run]
        run.found.outcome = outcome


def _ask_to_stop(sessions: Iterable[Rank], boundary: int) -> list[str]:
    """Asks the ranks to stop after the boundary. Returns why some will not: they are past it, or their worker is
    dying."""
    request = functools.partial(worker_pb2.HoldRequest, boundary=boundary)
    asked = [
        one.worker.ask("Hold", request(session=one.number), CALL_SECONDS) for one in sessions if one.worker is not None
    ]
    failures = [failure for answer in asked if (failure := answer.exception()) is not None]
    return [status_of(failure)[1] or "a worker is dying" for failure in failures]
