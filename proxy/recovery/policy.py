"""How blocks are kept at boundaries: copies of all of them, or only of what peers cannot give back."""

from __future__ import annotations

from ..node.admin import worker_stats
from ..node.sessions import Registry, Session


class Policies:
    """The policy of every session."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def peer_mode(self, group: list[Session]) -> bool:
        return False

    def restore(self, sessions: list[Session]) -> None:
        """Tells rebuilt workers what their predecessors knew."""

    def tick(self) -> None:
        """Now and then, while nothing happens: measures, and changes policies."""

    def forget(self, session: Session) -> None:
        """It was closed."""

    def executed(self, session: Session) -> int:
        """Highest op executed, asked now."""
        worker = session.worker
        if worker is None:
            return 0
        for one in worker_stats(worker).get("sessions", []):
            if one.get("session") == session.number:
                return int(one.get("executed", 0))
        return 0
