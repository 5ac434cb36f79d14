"""A registration: a key under a lease that a thread renews.

Called by: recipes.py. Promises: `valid_until` is counted from before the request that renewed the lease, less what
clocks may drift, so that the store cannot have removed the key earlier; a key of another one is left as it is, and
taken when it has ended; a key that the store forgets is registered again. `Lost` may come later than `valid_until`, by
the time of one call: who must stop in time looks at `valid_until`.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from .engine import Change, Entry, Held, Lost, Store, StoreError, Swapped, Taken
from .steps import RETRY_SECONDS, Steps

#: Part of a lease that has surely not run out by the store's clock, when it has passed by this node's.
SURE = 0.99
#: A lease is renewed so many times while it lasts.
RENEWALS = 3


class Renewal:
    """A registration over the verbs of a store (`engine.Registration`)."""

    def __init__(self, store: Store, entry: Entry, key: str, notify: Callable[[Held | Lost | Taken], None]) -> None:
        """entry: the value, and a lease to go on with."""
        self._store, self._key, self._value, self._notify = store, key, entry.value, notify
        self._lock = threading.Lock()
        self._lease, self._lease_until = entry.lease, 0.0
        self._revision = 0  # of the key while it is held
        self._held = b""  # the value that the key had when it was last seen to be held
        self._taken = 0  # the revision of another one's key that was reported
        self._next, self._trouble = 0.0, ""
        self._followers: list[Callable[[], None]] = []
        self._events: list[Held | Lost | Taken] = []  # not reported yet
        self._seconds = 0.0
        self._steps = Steps(f"the registration of {key}", store.clock, self._step)

    def start(self, seconds: float) -> None:
        """seconds: of the lease."""
        self._seconds = seconds
        self._steps.start()

    @property
    def running(self) -> bool:
        return not self._steps.stopped

    @property
    def lease(self) -> str:
        return self._lease

    @property
    def valid_until(self) -> float:
        with self._lock:
            return self._lease_until if self._revision else 0.0

    @property
    def holds(self) -> bool:
        return self._store.clock.now() < self.valid_until

    def follow(self, wake: Callable[[], None]) -> Callable[[], None]:
        self._followers.append(wake)

        def end() -> None:
            with contextlib.suppress(ValueError):  # it has ended already
                self._followers.remove(wake)

        return end

    def update(self, value: bytes) -> None:
        self._value = value
        self._steps.wake()

    def resign(self) -> None:
        self.close()
        lease, self._lease = self._lease, ""
        self._set(0, 0.0)
        for wake in list(self._followers):
            wake()
        if lease:
            with contextlib.suppress(StoreError):  # it runs out by itself
                self._store.revoke(lease)

    def halt(self) -> None:
        self._steps.halt()

    def close(self) -> None:
        """Ends the thread; the lease is left as it is."""
        self._steps.stop()

    # ---- in the thread ----
    def _step(self) -> float:
        """Reports only when all else is done: the function that is called may resign."""
        try:
            return self._keep_up()
        finally:
            while self._events:
                self._notify(self._events.pop(0))

    def _keep_up(self) -> float:
        now = self._store.clock.now()
        if self._revision and now >= self._lease_until:
            self._lose(f"its lease could not be renewed in time: {self._trouble or 'this process did not run'}")
        if now >= self._next or (self._revision and self._held != self._value):
            self._renew(now)
        return min(self._next, self._lease_until) if self._revision else self._next

    def _renew(self, now: float) -> None:
        try:
            seconds = self._extend()
            known = self._claim()
        except StoreError as error:
            self._trouble = str(error)
            raise
        self._trouble = ""
        self._next = now + seconds / RENEWALS if known else self._store.clock.now() + RETRY_SECONDS

    def _extend(self) -> float:
        """Renews the lease, or begins one; returns how many seconds it lasts."""
        before = self._store.clock.now()
        seconds = self._store.renew(self._lease) if self._lease else 0.0
        if self._lease and not seconds:
            self._lease = ""
            self._lose("the store has forgotten its lease")
        if not self._lease:
            before = self._store.clock.now()
            granted = self._store.grant(self._seconds)
            self._lease, seconds = granted.name, granted.seconds
        self._prolong(before + seconds * SURE)
        return seconds

    def _prolong(self, lease_until: float) -> None:
        """A lease that has run out here for a moment was lost for who has looked in it."""
        with self._lock:
            lapsed = self._revision and self._store.clock.now() >= self._lease_until
            if not lapsed:
                self._lease_until = lease_until
        if lapsed:
            self._lose("its lease was renewed too late")
            self._set(0, lease_until)

    def _claim(self) -> bool:
        """Returns whether it is known who has the key."""
        entry, value = self._store.get(self._key), self._value
        if entry and entry.lease != self._lease:
            self._give_way(entry)
            return True
        if entry and entry.value == value:
            self._hold(entry.revision, value)
            return True
        change = Change(self._key, entry.revision if entry else 0, value, self._lease)
        outcome = self._store.compare_and_swap([change])
        if isinstance(outcome, Swapped):
            self._hold(outcome.revision, value)
        return isinstance(outcome, Swapped)

    def _hold(self, revision: int, value: bytes) -> None:
        self._taken = 0
        before, updated = self._revision, self._held != value
        self._held = value
        self._set(revision, self._lease_until)
        if not before or (before != revision and not updated):
            self._report(Held(revision))

    def _give_way(self, entry: Entry) -> None:
        self._lose("another one has registered it")
        if self._taken != entry.revision:
            self._taken = entry.revision
            self._report(Taken(entry))

    def _lose(self, why: str) -> None:
        if self._revision:
            self._set(0, 0.0)
            self._report(Lost(why))

    def _set(self, revision: int, lease_until: float) -> None:
        with self._lock:
            self._revision, self._lease_until = revision, lease_until

    def _report(self, event: Held | Lost | Taken) -> None:
        self._events.append(event)
        for wake in list(self._followers):
            wake()
