"""Proofs that recoveries restored the state: ranks are compared at the first boundary after each recovery.

When a recovery ends, its ranks have been restored to one cut, block by block, and the replay has given all results that
the programs had read. Anything else shows at the first boundary that all ranks have after it: their communicators have
done the same (else boundaries do not belong together), and blocks that were equal between ranks before the fault are
equal again. The job does not wait for that.

Called by: the coordinator, in its thread. Promises: if the ranks then differ, or one waits for a collective that no
other rank submits (one has ended, say), the recovery's outcome is "not proven: ...", which programs, the service's
output and `jitc report` show; a recovery after which no block was compared is never called proven; each proof ends, at
the latest with the sessions.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..protection.peer_mode.divergence import tell
from ..protection.peer_mode.looks import Comparison, newer
from ..protection.peer_mode.policy import Policies
from ..ranks.causes import COMMUNICATOR_ENDED, HUNG_COLLECTIVE
from ..ranks.cuts import Boundaries, named
from ..ranks.events import Event, FaultReported
from ..ranks.rank import Rank, Ranks
from ..ranks.states import SessionState
from ..ranks.stats import stats_of
from ..status import report as model
from ..status.documents import document
from .recovery import Recovery
from .report import NOT_COMPARED, NOT_PROVEN, NOTHING_TO_COMPARE, PENDING, PROVEN, Reports

#: For so long after a recovery its next boundary is polled often: usually a minibatch takes no longer.
OFTEN_SECONDS = 5.0
#: The causes that a rank reports when it waits for a collective which others do not submit.
LONELY = (HUNG_COLLECTIVE, COMMUNICATOR_ENDED)


@dataclass(eq=False)
class Proof:
    """The proof of one recovery."""

    group: Sequence[Rank]
    boundaries: Boundaries
    causes: list[str]
    report: int = 0  # the report's number
    since: float = field(default_factory=time.monotonic)
    state: str = PENDING
    boundary: int = 0
    blocks: int = 0
    text: str = "ranks are compared at their next boundary"
    seconds: float = 0.0  # duration of the comparison

    def described(self) -> model.Proof:
        return model.Proof(
            state=self.state, boundary=self.boundary, blocks=self.blocks, text=self.text,
            seconds=round(self.seconds, 6),
        )  # fmt: skip

    def touches(self, sessions: Iterable[Rank]) -> bool:
        return any(one in self.group for one in sessions)

    def living(self) -> Sequence[Rank]:
        return [one for one in self.group if one.state is not SessionState.CLOSED]

    def take(self, found: Comparison, seconds: float) -> None:
        self.state = NOT_PROVEN if found.unlike else PROVEN if found.blocks else NOTHING_TO_COMPARE
        self.boundary, self.blocks, self.seconds = found.boundary, found.blocks, seconds
        self.text = "; ".join(one.text() for one in found.unlike) or found.without

    def end(self, state: str, text: str) -> None:
        self.state, self.text = state, text


class Proofs:
    """All pending proofs."""

    def __init__(self, ranks: Ranks, reports: Reports, policies: Policies) -> None:
        self._ranks, self._reports = ranks, reports
        self._compare: Callable[[Sequence[Rank], Boundaries], Comparison | None] = policies.compare
        self._pending: list[Proof] = []

    def begin(self, recovery: Recovery) -> None:
        """Reports the recovery, and begins its proof."""
        decided = recovery.decision.boundaries if recovery.decision is not None else {}
        boundaries = {one.number: decided[one.number] for one in recovery.group if one.number in decided}
        proof = Proof(recovery.group, boundaries, recovery.incident.causes)
        if recovery.failure or not boundaries:
            proof.end(NOT_COMPARED, "no rank went on")
        elif recovery.handed_over:
            proof.end(NOT_COMPARED, "a program was given its error")
        else:
            self._pending.append(proof)
        proof.report = self._reports.add(recovery, proof.described())

    def busy(self) -> bool:
        """Returns whether ticks must come fast."""
        return any(time.monotonic() - one.since < OFTEN_SECONDS for one in self._pending)

    def tick(self) -> None:
        for proof in list(self._pending):
            began = time.monotonic()
            if len(proof.living()) < len(proof.group):
                self._look_at_those_left(proof)
            elif (found := self._compare(proof.group, proof.boundaries)) is not None:
                proof.take(found, time.monotonic() - began)
                self._over(proof)

    def _look_at_those_left(self, proof: Proof) -> None:
        """Updates a proof after the end of a rank: others may wait for it in vain until each has another boundary."""
        living = proof.living()
        left = {one.number: proof.boundaries[one.number] for one in living if one.number in proof.boundaries}
        ended = ", ".join(one.label() for one in proof.group if one not in living)
        proof.text = f"{ended} ended before all ranks had another boundary"
        if newer(left, stats_of(living), "boundary") is not None:
            proof.state = NOT_COMPARED
            self._over(proof)

    def disturbed(self, group: Sequence[Rank], event: Event) -> None:
        """Ends the proof, because of another fault of the job before its ranks were compared."""
        for proof in self._of(group):
            if isinstance(event, FaultReported) and event.cause in LONELY and event.cause not in proof.causes:
                why = f"{event.cause}: {event.message}"
                proof.end(NOT_PROVEN, f"{event.session.label()} waited in vain after it ({why})")
            else:
                proof.end(NOT_COMPARED, "another recovery came before their next boundary")
            self._over(proof)

    def left(self, group: Sequence[Rank]) -> None:
        """Ends the proof: another service recovers the job from now on."""
        for proof in self._of(group):
            proof.end(NOT_COMPARED, "another node leads the job by now")
            self._over(proof)

    def closed(self, session: Rank) -> None:
        for proof in self._of([session]):
            self._look_at_those_left(proof)

    def _of(self, sessions: Sequence[Rank]) -> list[Proof]:
        return [one for one in self._pending if one.touches(sessions)]

    def _over(self, proof: Proof) -> None:
        self._pending.remove(proof)
        changes: dict[str, Any] = {"proof": document(proof.described())}
        if proof.state == NOT_PROVEN:
            changes["outcome"] = f"{NOT_PROVEN}: {proof.text}"
            text = f"the recovery to {named(proof.boundaries)} is not proven: {proof.text}"
            print(f"jitc-proxyd: job {self._ranks.job_of(proof.group[0])}: {text}", file=sys.stderr, flush=True)
            for session in proof.group:
                tell(session, text)
        self._reports.amend(proof.report, changes)
