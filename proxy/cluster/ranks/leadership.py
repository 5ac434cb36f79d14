"""Interfaces to jobs over nodes, and to the ways to other nodes.

Used by: everything in this folder; ../jobs.py and ../peers implement it. Promises of an implementation: a session whose
job is on this node alone is led here; no method but next_epoch waits; callbacks are called without a lock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

#: Why nobody can be asked before this node is a member.
NOT_JOINED = "this node is not in its cluster yet"


class NotLeader(Exception):
    """Another node leads this job by now, or nobody does."""


class Jobs(Protocol):
    """Who leads which job."""

    def leader_of(self, session: int) -> str | None:
        """Returns the name of the node that leads the session's job; None: nobody does at present."""

    def connected(self, sessions: Iterable[int]) -> set[int]:
        """Returns all sessions, of any node, of these sessions' jobs, and these."""

    def node_of(self, session: int) -> str:
        """Returns the name of the node where the session's worker is."""

    def next_epoch(self, sessions: Collection[int], at_least: int) -> int:
        """Returns an epoch of their job that is newer than `at_least`, and than all before it. Waits for the store, for
        a limited time. Raises NotLeader, StoreError."""

    def follow(self, callback: Callable[[], None]) -> None:
        """Calls it when leaders or connections have changed."""


class Links(Protocol):
    """The ways to other nodes (../peers/client.py)."""

    def ask(self, node: str, method: str, request: Any, seconds: float) -> Future[Any]:
        """Calls a node's service. The future ends within this time; its callbacks must not wait."""


def never(node: str) -> bool:
    return False


def nothing(epoch: int, places: dict[int, int]) -> None:
    pass


@dataclass(frozen=True)
class Cluster:
    """The surroundings of this room. node: this one's name."""

    node: str
    jobs: Jobs
    links: Links
    #: Returns whether a node has not been heard for a while (../peers/beats.py).
    suspected: Callable[[str], bool] = never
    #: Is told in which epoch sessions of other nodes go on, and after which boundary each, before any of them does; may
    #: ask this node's bridge, and raise LinkError (../links.py).
    begin_epoch: Callable[[int, dict[int, int]], None] = nothing
