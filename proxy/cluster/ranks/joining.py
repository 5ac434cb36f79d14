"""The cluster as this room sees it before, and after, this node has become a member.

Called by: ../../tenants/tenant.py, assembly.py; the service (join, leave). Promises: until the node is a member it
leads jobs of its own alone, reaches no other node, and gets no epoch of a job over nodes, for which a recovery waits;
nothing that asked to be told of changes is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future
from typing import Any

import grpc

from ...ranks.numbers import node_of
from ..store.engine import StoreError
from .leader.call import CallError
from .leadership import NOT_JOINED, Cluster, Jobs, Links, never, nothing


class Joining:
    """Jobs and links (leadership.py), those of the member once there is one."""

    def __init__(self, node: str, number: int) -> None:
        """node, number: this one's."""
        self._node, self._number = node, number
        self._jobs: Jobs | None = None
        self._links: Links | None = None
        self._suspected: Callable[[str], bool] = never
        self._begin_epoch: Callable[[int, dict[int, int]], None] = nothing
        self._followers: list[Callable[[], None]] = []

    def cluster(self) -> Cluster:
        return Cluster(self._node, self, self, self._is_suspected, self._begin)

    def join(
        self, jobs: Jobs, links: Links, suspected: Callable[[str], bool] = never,
        begin_epoch: Callable[[int, dict[int, int]], None] = nothing,
    ) -> None:  # fmt: skip
        """Goes on with a member's (leadership.Cluster has what each is)."""
        self._suspected, self._begin_epoch = suspected, begin_epoch
        self._jobs, self._links = jobs, links
        jobs.follow(self._changed)
        self._changed()

    def leave(self) -> None:
        """The member is about to end."""
        self._jobs = self._links = None

    # -- jobs and links ---------------------------------------------------------------------------

    def leader_of(self, session: int) -> str | None:
        if (jobs := self._jobs) is not None:
            return jobs.leader_of(session)
        return self._node if node_of(session) == self._number else None

    def connected(self, sessions: Iterable[int]) -> set[int]:
        jobs = self._jobs
        return jobs.connected(sessions) if jobs is not None else set(sessions)

    def node_of(self, session: int) -> str:
        if (jobs := self._jobs) is not None:
            return jobs.node_of(session)
        return self._node if node_of(session) == self._number else f"with number {node_of(session)}"

    def next_epoch(self, sessions: Collection[int], at_least: int) -> int:
        """Returns an epoch. Raises NotLeader, StoreError."""
        if (jobs := self._jobs) is not None:
            return jobs.next_epoch(sessions, at_least)
        raise StoreError(NOT_JOINED)

    def follow(self, callback: Callable[[], None]) -> None:
        self._followers.append(callback)

    def ask(self, node: str, method: str, request: Any, seconds: float) -> Future[Any]:
        if (links := self._links) is not None:
            return links.ask(node, method, request, seconds)
        failed: Future[Any] = Future()
        failed.set_exception(CallError(grpc.StatusCode.UNAVAILABLE, NOT_JOINED))
        return failed

    def _is_suspected(self, node: str) -> bool:
        return self._suspected(node)

    def _begin(self, epoch: int, places: dict[int, int]) -> None:
        self._begin_epoch(epoch, places)

    def _changed(self) -> None:
        for one in list(self._followers):
            one()
