"""One decision per recovery, the same for all ranks: roll back, or roll forward.

Called by: recoveries. Pure: the ranks' positions and the copying policy in, the decision out, so that every case can be
tested without a process.

Numbers: a process numbers its own boundaries; boundary n follows its optimizer step n, and the next step to begin after
it is n + 1. The numbers do not say which boundaries of different ranks belong together (cuts.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ..ranks.cuts import Boundaries, RankHistory, named, newest_cut


class Kind(Enum):
    ROLL_BACK = "roll-back"
    ROLL_FORWARD = "roll-forward"


class NothingInCommon(Exception):
    """No boundaries of the ranks belong together; the text goes to the programs."""


@dataclass(frozen=True)
class RankPosition:
    """The progress of a rank (Position of worker.proto), and whether its memory is lost."""

    prepared: int
    begun: int
    lost: bool
    history: RankHistory
    executed: int = 0
    received: int = 0
    committed: int = 0
    reached: int = 0
    reserves: tuple[int, ...] = ()  # boundaries of which it has copies of everything

    @staticmethod
    def told(message: Any, lost: bool) -> RankPosition:
        return RankPosition(
            prepared=message.prepared, begun=message.begun, lost=lost, executed=message.executed,
            received=message.received, committed=message.committed, reached=message.reached,
            reserves=tuple(message.reserves), history=RankHistory.told(message.history),
        )  # fmt: skip


def newest_reserves(positions: Mapping[int, RankPosition], before: Boundaries) -> Boundaries | None:
    """Returns the newest earlier boundaries to which all ranks can roll back without a peer; None: there are none."""
    return newest_cut(
        {
            number: one.history.only([reserve for reserve in one.reserves if reserve < before[number]])
            for number, one in positions.items()
        }
    )


@dataclass(frozen=True)
class Decision:
    kind: Kind
    boundaries: Boundaries  # to which ranks roll back or forward

    @property
    def boundary(self) -> int:
        """The number that all ranks have; where numbers differ, the largest one."""
        return max(self.boundaries.values())

    def even(self) -> bool:
        return len(set(self.boundaries.values())) == 1

    def places(self, sessions: Iterable[int], lost: Collection[int]) -> dict[int, int]:
        """Returns the boundary after which each session stands now. One that has skipped a step makes its boundary
        later."""
        skipped = lost if self.kind is Kind.ROLL_FORWARD else ()
        return {number: self.boundaries[number] - (number in skipped) for number in sessions}

    def text(self) -> str:
        return f"{self.kind.value} to {named(self.boundaries)}"


def decide(
    positions: Mapping[int, RankPosition], peer_mode: bool, forward_failed: bool = False, older: bool = False
) -> Decision:
    """Decides to roll back to the newest boundaries that belong together, which is always possible, or to roll forward.

    In peer mode healthy peers hold the state of boundary n only until one of them begins to change it. Then no rank has
    boundary n as a whole, but every gradient has been reduced: the healthy ranks finish the step, and the lost one
    takes boundary n + 1 from them. A lost rank that had finished the step counts as a healthy one: its state after the
    step was copied before it was lost. Only ranks that make the same steps can do so.

    forward_failed: a rank could not finish the step; rolling back works if there are copies after all. older: replays
    from the newest boundary diverged from the program; the boundary before it, if still kept, gives other numbers.
    Raises NothingInCommon.
    """
    cut = newest_cut({number: one.history for number, one in positions.items()})
    if cut is None:
        raise NothingInCommon("no boundaries of its ranks belong together: " + _kept(positions))
    back = Decision(Kind.ROLL_BACK, cut)
    begun = any(one.begun > cut[number] for number, one in positions.items())
    healthy = any(not one.lost or one.prepared > cut[number] for number, one in positions.items())
    same_steps = back.even() and not any(one.history.uneven for one in positions.values())
    if peer_mode and begun and healthy and same_steps and not forward_failed:
        return Decision(Kind.ROLL_FORWARD, {number: boundary + 1 for number, boundary in cut.items()})
    return Decision(Kind.ROLL_BACK, (_older(positions, cut) if older else None) or cut)


def _older(positions: Mapping[int, RankPosition], cut: Boundaries) -> Boundaries | None:
    """Returns the boundaries before the cut that belong together, where ranks still keep them beside reserves."""
    return newest_cut(
        {number: one.history.only(range(max(1, one.committed), cut[number])) for number, one in positions.items()}
    )


def _kept(positions: Mapping[int, RankPosition]) -> str:
    return "; ".join(
        f"session {number} keeps " + (", ".join(str(boundary) for boundary, _ in one.history.kept) or "none")
        for number, one in sorted(positions.items())
    )
