"""Ends communicators whose ranks do not come, and releases those that have been destroyed.

Called by: the service. The time limit is Config.hang_seconds, as for everything else that makes no progress, counted
from the newest rank that has joined. Promise: time in which a session of the node is being recovered does not count,
since the missing rank may be the one that is being rebuilt.
"""

from __future__ import annotations

import sys
import time

from ...common.rounds import Rounds
from ...ranks.states import RECOVERING
from ..registry import Registry

#: Looks per time limit.
LOOKS = 8
MOST_SECONDS = 1.0


class JoinWatch(Rounds):
    """A thread that looks; there is none when seconds is 0."""

    def __init__(self, registry: Registry, seconds: float) -> None:
        super().__init__("jitc-joins", min(MOST_SECONDS, seconds / LOOKS), self._round)
        self._registry, self._seconds = registry, seconds
        self._looked = 0.0

    def start(self) -> None:
        self._looked = time.monotonic()
        super().start()

    def _round(self) -> None:
        before, self._looked = self._looked, time.monotonic()
        self.look(self._looked - before)

    def look(self, elapsed: float) -> None:
        """Releases destroyed communicators and ends overdue ones. elapsed: seconds since the last look."""
        registry = self._registry
        with registry.changed:
            registry.communicators.give_back()
            if any(session.state in RECOVERING for session in registry.sessions.values()):
                return
            for one in [one for one in registry.communicators if one.gathering()]:
                one.waited += elapsed
                if one.waited > self._seconds:
                    why = registry.communicators.give_up(one, self._seconds)
                    print(f"jitc-proxyd: {why}", file=sys.stderr, flush=True)
                    registry.changed.notify_all()
