"""Notifies ranks of the ends of others, once launchers have had their time to end them too.

Called by: the service. Promise: a rank that waits for one that has ended is notified, whatever else the service does.
"""

from __future__ import annotations

from ...common.rounds import Rounds
from ..registry import Registry

PAUSE_SECONDS = 0.25


class Partings(Rounds):
    """A thread that looks whether any rank is to be notified."""

    def __init__(self, registry: Registry) -> None:
        super().__init__("jitc-partings", PAUSE_SECONDS, self._round)
        self._registry = registry

    def _round(self) -> None:
        with self._registry.changed:
            self._registry.communicators.tell()
