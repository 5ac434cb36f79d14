"""This node's communicators and sessions, as meetings.py needs them.

Called by: meetings.py, in its thread. Promise: the registry's lock is held for each method alone, and while it is held
nothing else is waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..node.joins.communicator import Communicator
from ..node.registry import Registry
from .meetings import LocalCommunicator, Segment


class OfRegistry:
    """The registry's (`meetings.Here`)."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def follow(self, changed: Callable[[], None]) -> None:
        """changed: is called under the registry's lock when communicators have changed."""
        self._registry.communicators.changed = changed

    def communicators(self) -> Sequence[LocalCommunicator]:
        with self._registry.changed:
            known = {id(one) for one in self._registry.communicators}
            both = self._registry.communicators.items()
            return [_seen(unique_id, one, id(one) not in known) for unique_id, one in both]

    def has(self, session: int) -> bool:
        with self._registry.changed:
            return session in self._registry.sessions

    def joined_elsewhere(self, unique_id: bytes, seats: Mapping[int, int]) -> None:
        with self._registry.changed:
            self._registry.communicators.joined_elsewhere(unique_id, seats)
            self._registry.changed.notify_all()

    def ended_elsewhere(self, unique_id: bytes, ends: Mapping[int, str]) -> None:
        with self._registry.changed:
            self._registry.communicators.ended_elsewhere(unique_id, ends)

    def refuse(self, unique_id: bytes, why: str) -> None:
        with self._registry.changed:
            self._registry.communicators.refuse(unique_id, why)


def _seen(unique_id: bytes, one: Communicator, retired: bool) -> LocalCommunicator:
    segment = Segment(one.identity, one.segment.size) if one.segment is not None else None
    released = retired or not one.used()
    return LocalCommunicator(
        unique_id, one.ranks, dict(one.seats), frozenset(one.elsewhere), dict(one.ends), segment, one.renewed, released
    )
