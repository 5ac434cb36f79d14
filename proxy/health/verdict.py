"""A detected hang as a coordinator event: rank, cause, start and message.

Called by: the hang watch (verdicts), the coordinator (hangs that devices report by themselves). Promise: it counts from
when progress stopped, whichever part found it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..ranks.causes import HUNG_COLLECTIVE, HUNG_KERNEL
from ..ranks.events import FaultReported
from ..ranks.rank import Rank
from .suspects import Standing, State, Suspect

#: cudaErrorLaunchTimeout.
LAUNCH_TIMEOUT = 702


@dataclass(frozen=True)
class Hang:
    """A verdict."""

    session: Rank
    sequence: int
    cause: str
    message: str
    since: float  # monotonic time: when the rank got on last
    culprit: bool

    def fault(self) -> FaultReported:
        session = self.session
        return FaultReported(
            session, self.sequence, LAUNCH_TIMEOUT, self.cause, self.message, session.epoch, self.since,
            culprits=(session.label(),) if self.culprit else (),
        )  # fmt: skip


def verdict(suspect: Suspect, session: Rank, waiting: list[str], limit: float, since: float) -> Hang:
    """Returns a verdict as an event. limit: seconds without progress, from this job's usual times."""
    after = f"for {suspect.seconds:.1f} s (in this job {limit:.1f} s are too long)"
    if suspect.culprit:
        what = f"{describe(suspect.standing)}, {after}; {' and '.join(waiting)} waited for it"
        message = f"{session.label()} on GPU {session.gpu} hangs: {what}"
    else:
        message = f"the collective that {' and '.join(waiting)} are in gets nowhere, {after}"
    return Hang(session, suspect.standing.sequence, suspect.cause, message, since, suspect.culprit)


def describe(one: Standing) -> str:
    at = f" {one.sequence} without getting on" if one.state is State.COMPUTES else ""
    return f"{one.state.value}{at}"


def of_hang(fault: FaultReported, seconds: float, late: list[str]) -> FaultReported:
    """Returns the event for a hang that a device reported after this time without progress. late: ranks it waited
    for."""
    if fault.cause not in (HUNG_KERNEL, HUNG_COLLECTIVE):
        return fault
    since = fault.noticed - seconds
    if fault.cause == HUNG_KERNEL or not late:
        return replace(fault, noticed=since)
    names = tuple(one.partition(":")[0] for one in late)
    return replace(fault, noticed=since, culprits=names, message=f"{fault.message}; it waited for {'; '.join(late)}")
