"""Numbers that grow: of two that this node has given, the larger one is the newer one, also after a restart.

Used by: reports (documents, reports, terms of leaders). Thread-safe.
"""

from __future__ import annotations

import threading
import time

from ...ranks.rank import Log

_KEY = "over-nodes/service"
_BITS = 24


class Stamps:
    """The numbers of one service."""

    def __init__(self, log: Log) -> None:
        """log: that of the node's sessions, which tells one service from the next."""
        before = log.entries(_KEY).get("") or 0
        service = max(before + 1, int(time.time()))  # the log may have been lost
        log.put(_KEY, service)
        self._lock = threading.Lock()
        self._newest = service << _BITS

    def next(self) -> int:
        with self._lock:
            self._newest += 1
            return self._newest
