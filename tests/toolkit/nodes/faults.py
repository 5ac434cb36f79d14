"""Which faults the network between nodes has now: one description for the switch and for the relays.

Called by: switch.py, loopback.py. Promise: faults of several kinds at one node stay apart; healing a node ends all that
it has, also what it has with one other node alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

#: In the place of a node's number: every other node.
ANY = -1


@dataclass
class Faults:
    """Faults by the numbers of nodes. cuts: source and target of what is lost."""

    cuts: set[tuple[int, int]] = field(default_factory=set)
    #: Percent of the packets to and from a node that are lost.
    losses: dict[int, int] = field(default_factory=dict)
    #: Mbit/s in each direction.
    rates: dict[int, int] = field(default_factory=dict)
    #: Seconds in each direction.
    delays: dict[int, float] = field(default_factory=dict)

    def cut(self, number: int, other: int | None) -> None:
        """Cuts both directions, between two nodes or between one and all others."""
        self.one_way(number, other)
        self.cuts.add((ANY if other is None else other, number))

    def one_way(self, number: int, other: int | None) -> None:
        """Loses what the node sends; what others send still arrives."""
        self.cuts.add((number, ANY if other is None else other))

    def heal(self, number: int) -> None:
        self.cuts = {one for one in self.cuts if number not in one}
        for each in (self.losses, self.rates):
            each.pop(number, None)
        self.delays.pop(number, None)

    def touch(self, number: int) -> bool:
        return any(number in one for one in (*self.cuts, self.losses, self.rates, self.delays))

    def is_cut(self, source: int, target: int) -> bool:
        return not self.cuts.isdisjoint({(source, target), (source, ANY), (ANY, target)})

    def delay(self, source: int, target: int) -> float:
        return self.delays.get(source, 0.0) + self.delays.get(target, 0.0)

    def document(self) -> dict[str, Any]:
        """Returns what `read` makes the faults from again; delays are a relay's, and none of these is kept."""
        numbers = {"losses": self.losses, "rates": self.rates}
        return {"cuts": sorted(self.cuts), **{name: sorted(each.items()) for name, each in numbers.items()}}

    @classmethod
    def read(cls, document: dict[str, Any]) -> Faults:
        cuts = {(source, target) for source, target in document["cuts"]}
        return cls(cuts, dict(document["losses"]), dict(document["rates"]))
