"""Communicators that all of their ranks have released: the records of those that a program has destroyed.

Called by: communicators.py, under the registry's lock. They take no descriptor. Their sessions stay connected until
they end: a roll-back may go to a boundary from before the end of a communicator, and then takes all of its ranks along.
A replay that joins one again finds its record here, and gets a new segment. Promises: of the newest REMEMBERED all is
known, of older ones who was connected; both take little memory, however many a program makes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import ItemsView

from ...keeper.log import Log
from .communicator import Communicator

#: Ids that are remembered of communicators that have ended, or were destroyed. A job has a few dozen.
REMEMBERED = 4096
_KEY, _LINKS = "retired/", "links"


class Retired:
    """The records, and links: disjoint sets of sessions that such communicators connect."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._records: OrderedDict[bytes, Communicator] = OrderedDict()
        self.links: list[set[int]] = []

    def get(self, unique_id: bytes) -> Communicator | None:
        return self._records.get(unique_id)

    def items(self) -> ItemsView[bytes, Communicator]:
        return self._records.items()

    def add(self, unique_id: bytes, one: Communicator) -> None:
        self._records[unique_id] = one
        self.note(unique_id, one)
        self._link(set(one.members))
        while len(self._records) > REMEMBERED:
            self.forget(next(iter(self._records)))

    def note(self, unique_id: bytes, one: Communicator) -> None:
        self._log.put(f"{_KEY}{unique_id.hex()}", one.record())

    def forget(self, unique_id: bytes) -> None:
        """Drops a communicator's record. The sessions that it connects stay connected."""
        if self._records.pop(unique_id, None) is not None:
            self._log.delete(f"{_KEY}{unique_id.hex()}")

    def left(self, number: int) -> None:
        """Notes that the session has ended."""
        if any(number in one for one in self.links):
            self.links = [one - {number} for one in self.links if len(one - {number}) > 1]
            self._note_links()

    def take_over(self) -> None:
        """Takes over what another service has left."""
        for unique_id, left in self._log.entries(_KEY).items():
            self._records[bytes.fromhex(unique_id)] = Communicator.of_record(left)
        self.links = [set(one) for one in self._log.get(_LINKS) or []]

    def _link(self, numbers: set[int]) -> None:
        if len(numbers) < 2 or any(numbers <= one for one in self.links):
            return
        apart = [one for one in self.links if not one & numbers]
        self.links = [*apart, numbers.union(*(one for one in self.links if one & numbers))]
        self._note_links()

    def _note_links(self) -> None:
        self._log.put(_LINKS, [sorted(one) for one in self.links])
