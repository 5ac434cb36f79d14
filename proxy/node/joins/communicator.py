"""One communicator as the service knows it: its ranks, and the segment in which they meet.

Used by: communicators.py, which has all of them, and retired.py, under the registry's lock. Promise: record() is all
that another service must know of a communicator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from ...common.shared_memory import Memory
from ...keeper import names


class Member(Protocol):
    """The properties of a session that communicators need."""

    number: int
    pid: int


@dataclass(eq=False)
class Communicator:
    """A communicator, with the segment of its generation; every recovery of a member begins a new generation."""

    ranks: int
    members: dict[int, int] = field(default_factory=dict)  # session -> rank, of those that must recover together
    seats: dict[int, int] = field(default_factory=dict)  # rank -> session that has joined as it, ended or not
    ends: dict[int, str] = field(default_factory=dict)  # rank -> why it takes no further part
    absent: set[int] = field(default_factory=set)  # ranks of `ends` that certainly do nothing any more: others know it
    elsewhere: set[int] = field(default_factory=set)  # ranks of `seats` whose sessions are on other nodes
    parting: dict[int, float] = field(default_factory=dict)  # such ranks, and when (time.monotonic) others are notified
    ended: str = ""  # why no rank can join any more, except its members in a recovery
    waited: float = 0.0  # seconds since the newest rank joined, not counting recoveries
    generation: int = 0
    renewed: int = 0  # epoch of the newest recovery since ranks of other nodes are in it; 0: none
    identity: int = 0
    segment: Memory | None = None
    given: dict[int, int] = field(default_factory=dict)  # rank -> how often it was given the segment

    def missing(self) -> list[int]:
        """Returns the ranks that have never joined."""
        return [rank for rank in range(self.ranks) if rank not in self.seats]

    def ranks_of(self, session: Member) -> list[int]:
        return [rank for rank, seat in self.seats.items() if seat == session.number]

    def gathering(self) -> bool:
        """Returns whether ranks may still join for the first time."""
        return not self.ended and len(self.seats) < self.ranks

    def used(self) -> bool:
        """Returns whether a session of this node that has joined may still look at the segment."""
        return any(rank not in self.absent and rank not in self.parting for rank in self.here())

    def let_go(self, left: list[int]) -> bool:
        """Returns whether all ranks of this node have had the segment and released it; left: how often each has."""
        return not self.missing() and all(
            rank in self.absent or rank in self.parting or self.given.get(rank, 0) % (1 << 16) == left[rank] != 0
            for rank in self.here()
        )

    def here(self) -> list[int]:
        """Returns the ranks that have joined on this node."""
        return [rank for rank in self.seats if rank not in self.elsewhere]

    def spans_nodes(self) -> bool:
        """Returns whether all ranks have joined, some of them on other nodes."""
        return bool(self.elsewhere) and not self.missing()

    def kept_as(self) -> str:
        """Returns the name under which the communicator's segment is kept."""
        return names.of_communicator(self.identity)

    def record(self) -> dict[str, Any]:
        """Returns what another service must know of the communicator."""
        return {
            "ranks": self.ranks, "members": list(self.members.items()), "seats": list(self.seats.items()),
            "ends": list(self.ends.items()), "absent": sorted(self.absent), "ended": self.ended,
            "generation": self.generation, "identity": self.identity, "given": list(self.given.items()),
            "elsewhere": sorted(self.elsewhere), "renewed": self.renewed,
        }  # fmt: skip

    @classmethod
    def of_record(cls, left: dict[str, Any]) -> Communicator:
        return cls(
            left["ranks"], dict(left["members"]), dict(left["seats"]), dict(left["ends"]), set(left["absent"]),
            ended=left["ended"], generation=left["generation"], identity=left["identity"],
            given=dict(left.get("given", [])), elsewhere=set(left.get("elsewhere", [])), renewed=left.get("renewed", 0),
        )  # fmt: skip

    def renew(self, epoch: int = 0) -> None:
        """epoch: of the recovery that does so."""
        self.generation += 1
        self.renewed = epoch if self.spans_nodes() else 0
        self.close()

    def close(self) -> None:
        self.given.clear()
        if self.segment is not None:
            self.segment.close()
            self.segment = None
