"""The engine without a store outside of this process: a dictionary.

Called by: locations.py, for nodes that share no job with others; tests, in which several engines over one dictionary
are several nodes. Promises: nothing is installed, no thread runs but those of watches, registrations and campaigns.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Sequence

from ..clock import Clock
from ..engine import (
    ENTRIES_MOST,
    LEASE_SECONDS,
    Change,
    Conflict,
    Entry,
    Lease,
    Member,
    Outcome,
    Refused,
    State,
    Swapped,
    Unknown,
    check_changes,
    check_key,
    check_prefix,
    without_lease,
)
from ..recipes import Recipes
from ..steps import Steps


class Dictionary:
    """Entries and leases. Thread-safe; one that several engines share is their store."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._lock = threading.Lock()
        self._entries: dict[str, Entry] = {}
        self._leases: dict[str, tuple[float, float]] = {}  # how long each lasts, and until when
        self._revision = 0
        self._names = itertools.count(1)
        self._wakes: list[Callable[[], None]] = []

    def entry(self, key: str) -> Entry | None:
        with self._lock:
            self._expire()
            return self._entries.get(key)

    def state(self, prefix: str) -> State:
        with self._lock:
            self._expire()
            return State({key: one for key, one in self._entries.items() if key.startswith(prefix)}, self._revision)

    def swap(self, changes: Sequence[Change]) -> Outcome:
        with self._lock:
            self._expire()
            if any(one.lease is not None and one.lease not in self._leases for one in changes):
                return Unknown("the store has forgotten the lease")
            if any(self._revision_of(one.key) != one.expected for one in changes):
                return Conflict({one.key: self._entries.get(one.key) for one in changes})
            self._revision += 1
            for one in changes:
                self._change(one)
            revision = self._revision
        self._wake()
        return Swapped(revision)

    def grant(self, seconds: float) -> str:
        with self._lock:
            name = str(next(self._names))
            self._leases[name] = seconds, self.clock.now() + seconds
        self._wake()
        return name

    def renew(self, lease: str) -> float:
        with self._lock:
            self._expire()
            if lease not in self._leases:
                return 0.0
            seconds, _ = self._leases[lease]
            self._leases[lease] = seconds, self.clock.now() + seconds
        return seconds

    def revoke(self, lease: str) -> None:
        with self._lock:
            if lease in self._leases:
                self._end([lease])
        self._wake()

    def next_end(self) -> float:
        """Returns when the next lease runs out."""
        with self._lock:
            return min((until for _, until in self._leases.values()), default=math.inf)

    def follow(self, wake: Callable[[], None]) -> None:
        """Calls `wake` after each change, and when a lease begins."""
        with self._lock:
            self._wakes.append(wake)

    def unfollow(self, wake: Callable[[], None]) -> None:
        with self._lock:
            self._wakes = [one for one in self._wakes if one != wake]

    def _revision_of(self, key: str) -> int:
        return self._entries[key].revision if key in self._entries else 0

    def _change(self, one: Change) -> None:
        if one.value is None:
            self._entries.pop(one.key, None)
        else:
            self._entries[one.key] = Entry(one.value, self._revision, one.lease or "")

    def _expire(self) -> None:
        now = self.clock.now()
        if over := [name for name, (_, until) in self._leases.items() if until <= now]:
            self._end(over)

    def _end(self, leases: Sequence[str]) -> None:
        for one in leases:
            del self._leases[one]
        leased = [key for key, entry in self._entries.items() if entry.lease in leases]
        for key in leased:
            del self._entries[key]
        self._revision += bool(leased)

    def _wake(self) -> None:
        with self._lock:
            wakes = list(self._wakes)
        for one in wakes:
            one()


class LocalWatch:
    """A watch over a dictionary."""

    def __init__(self, store: Dictionary, prefix: str, changed: Callable[[State], None]) -> None:
        self._store, self._prefix, self._changed = store, prefix, changed
        self._revision = -1  # that was reported
        self._steps = Steps(f"the watch of {prefix}", store.clock, self._step)

    def start(self) -> None:
        self._store.follow(self._steps.wake)
        self._steps.start()

    @property
    def running(self) -> bool:
        return not self._steps.stopped

    def halt(self) -> None:
        self._steps.halt()

    def close(self) -> None:
        self._store.unfollow(self._steps.wake)
        self._steps.stop()

    def _step(self) -> float:
        state = self._store.state(self._prefix)
        if state.revision != self._revision:
            self._changed(state)
            self._revision = state.revision
        return self._store.next_end()


class LocalEngine(Recipes):
    """An engine over a dictionary."""

    def __init__(self, store: Dictionary, lease_seconds: float = LEASE_SECONDS) -> None:
        super().__init__(lease_seconds)
        self._store = store
        self.clock = store.clock

    def get(self, key: str) -> Entry | None:
        check_key(key)
        return self._store.entry(key)

    def list(self, prefix: str) -> State:
        check_prefix(prefix)
        state = self._store.state(prefix)
        if len(state.entries) > ENTRIES_MOST:
            raise Refused(f"there are more than {ENTRIES_MOST:,} entries under {prefix}")
        return state

    def compare_and_swap(self, changes: Sequence[Change]) -> Outcome:
        check_changes(changes)
        return without_lease(changes) or self._store.swap(changes)

    def watch(self, prefix: str, changed: Callable[[State], None]) -> LocalWatch:
        check_prefix(prefix)
        watch = LocalWatch(self._store, prefix, changed)
        self._run(watch)
        watch.start()
        return watch

    def grant(self, seconds: float) -> Lease:
        return Lease(self._store.grant(seconds), seconds)

    def renew(self, lease: str) -> float:
        return self._store.renew(lease)

    def revoke(self, lease: str) -> None:
        self._store.revoke(lease)

    def members(self) -> Sequence[Member]:
        return ()

    def close(self) -> None:
        self._close_running()
