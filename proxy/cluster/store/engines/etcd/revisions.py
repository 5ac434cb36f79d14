"""Revisions that never go back, made of etcd's: those begin anew when etcd's data were lost.

After a loss, all revisions of before are behind all that follow: a caller that compares two never takes old entries for
new ones, and a change that expects an entry of before finds none.

Called by: engine.py, watch.py. Thread-safe. Promises: only an answer that must be newer than one before shows a loss,
so calls that overlap do not; each loss is reported once; what a watch has brought is behind the next loss as well.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

#: A revision that no entry of etcd's has.
NEVER = -1


@dataclass(frozen=True)
class Mark:
    """The state of revisions when a request was sent; base: what is added to etcd's."""

    loss: int
    base: int
    newest: int

    def of_etcd(self, revision: int) -> int:
        """Returns etcd's revision for one of ours; 0 is 0: no entry. Of before a loss: NEVER."""
        return revision and (revision - self.base if revision > self.base else NEVER)


class Revisions:
    """The revisions of one etcd; lost: is called, with a line for an operator, when it has lost its data."""

    def __init__(self, lost: Callable[[str], None]) -> None:
        self._lost = lost
        self._lock = threading.Lock()
        self._mark = Mark(0, 0, 0)

    def mark(self) -> Mark:
        """Returns what the answer to a request that is sent now is compared with."""
        return self._mark

    def take(self, mark: Mark, revision: int) -> int:
        """Takes etcd's revision of an answer; mark: of when it was asked for. Returns the base of its revisions."""
        with self._lock:
            now = self._mark
            lost = revision < mark.newest
            first = lost and mark.loss == now.loss
            if first:
                self._mark = Mark(now.loss + 1, now.base + now.newest, revision)
            elif lost or mark.loss == now.loss:
                self._mark = Mark(now.loss, now.base, max(now.newest, revision))
            base = self._mark.base if lost else mark.base
        if first:
            self._lost(
                f"the cluster's store was wiped, or has older data: revision {revision:,} after {mark.newest:,}; nodes "
                "and jobs register again"
            )
        return base

    def note(self, base: int, revision: int) -> None:
        """Takes etcd's revision of what a watch has brought, whose revisions have this base."""
        with self._lock:
            now = self._mark
            if base == now.base:
                self._mark = Mark(now.loss, now.base, max(now.newest, revision))
