"""One decision per recovery, the same for all ranks: roll back, or roll forward.

Called by: recoveries. Pure: the ranks' positions and the copying policy in, the decision out, so that every case can
be tested without a process.

Numbers: boundary n follows optimizer step n; after boundary n the next step to begin is n + 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    ROLL_BACK = "roll-back"
    ROLL_FORWARD = "roll-forward"


@dataclass(frozen=True)
class RankPosition:
    """How far a rank has got (Position of worker.proto), and whether its memory is gone."""

    prepared: int
    begun: int
    lost: bool
    executed: int = 0
    received: int = 0
    committed: int = 0
    reached: int = 0
    reserves: tuple[int, ...] = ()  # boundaries of which it has copies of everything


def newest_reserve(positions: Iterable[RankPosition], before: int) -> int:
    """The newest boundary before this one that all ranks can go back to without a peer; 0: there is none."""
    common = set.intersection(*(set(one.reserves) for one in positions))
    return max((one for one in common if one < before), default=0)


@dataclass(frozen=True)
class Decision:
    kind: Kind
    boundary: int  # back to it, or forward to it

    def text(self) -> str:
        return f"{self.kind.value} to boundary {self.boundary}"


def decide(
    positions: Mapping[int, RankPosition], peer_mode: bool, forward_failed: bool = False, older: bool = False
) -> Decision:
    """Roll back to the newest boundary whose copies every rank has, which is always possible; or roll forward.

    In peer mode the state of boundary n is on healthy peers only as long as none of them has begun to change it. Once
    one has, boundary n exists nowhere as a whole, but every gradient has been reduced: the healthy ranks finish the
    step, and the lost one takes boundary n + 1 from them. A lost rank that had finished the step counts as a healthy
    one: copies of its state after the step were made before it was lost.

    forward_failed: a rank could not finish the step; rolling back serves when there are copies after all. older:
    replays from the newest boundary went another way than the program; the boundary before it, where it is still kept,
    gives other numbers.
    """
    prepared = min(position.prepared for position in positions.values())
    begun = any(position.begun > prepared for position in positions.values())
    healthy = any(not position.lost or position.prepared > prepared for position in positions.values())
    if peer_mode and begun and healthy and not forward_failed:
        return Decision(Kind.ROLL_FORWARD, prepared + 1)
    committed = max(position.committed for position in positions.values())  # older boundaries have been given back
    return Decision(Kind.ROLL_BACK, committed if older and 0 < committed < prepared else prepared)
