"""Asks the homes of sessions that this node leads for documents that it does not have.

Called by: ../leads.py, in its thread, again and again. Promise: a home is asked as long as something is missing, and
not any more then.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import Any

from jitc.v1 import peer_pb2

from ..errands import Errands
from ..leadership import Cluster

ASK_SECONDS = 10.0
#: Until the first question, since homes tell by themselves what is new; and from an answer to the next one.
FIRST_SECONDS, AGAIN_SECONDS = 0.5, 1.0


class Asking:
    """The missing sessions, by node."""

    def __init__(self, cluster: Cluster, errands: Errands) -> None:
        self._cluster, self._errands = cluster, errands
        self._lock = threading.Lock()
        self._missing: dict[str, set[int]] = {}
        self._asking: set[str] = set()

    def ask(self, missing: Collection[int]) -> None:
        """Asks for these sessions, and for no others any more."""
        found: dict[str, set[int]] = {}
        for number in missing:
            found.setdefault(self._cluster.jobs.node_of(number), set()).add(number)
        with self._lock:
            self._missing = found
            new, self._asking = found.keys() - self._asking, self._asking | found.keys()
        for node in new:
            self._errands.add(_Question(node, self), FIRST_SECONDS)

    def missing(self, node: str) -> list[int]:
        """Returns what to ask a node for; if there is nothing, the next question is another errand."""
        with self._lock:
            found = sorted(self._missing.get(node, ()))
            if not found:
                self._asking.discard(node)
            return found

    def why(self, node: str) -> str:
        """Returns why ranks of a node are not known, as a text."""
        if node == self._cluster.node:
            return "it is not settled yet who leads the job"
        unknown = f"what node {node} has of the job is not known yet"
        return self._errands.unreachable(node) or unknown


class _Question:
    """The errand."""

    method, seconds = "ReportAgain", ASK_SECONDS

    def __init__(self, node: str, asking: Asking) -> None:
        self.node, self._asking = node, asking

    def request(self) -> Any | None:
        missing = self._asking.missing(self.node)
        return peer_pb2.ReportAgainRequest(sessions=missing) if missing else None

    def answered(self, reply: Any) -> float | None:
        return AGAIN_SECONDS

    def late(self, why: str) -> None:
        """Lets the errand be asked again."""
