"""A campaign: the attempt to be the one who has a key, under the lease of a registration.

Called by: recipes.py. Promises: it leads only while the key is its own and the registration's lease surely lasts; when
the key becomes free it tries to take it, and goes on trying until it is resigned; `leads` is exact by the clock,
`NotLeading` follows within the time of one call.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

from .engine import Change, Entry, Leading, NotLeading, Registration, State, Store, Swapped
from .steps import RETRY_SECONDS, Steps


class Candidacy:
    """A campaign over the verbs of a store (`engine.Campaign`)."""

    def __init__(
        self, store: Store, entry: Entry, key: str, registration: Registration, notify: Callable[..., None]
    ) -> None:
        """entry: the value. notify: receives Leading and NotLeading."""
        self._store, self._key, self._value, self._notify = store, key, entry.value, notify
        self._registration = registration
        self._lock = threading.Lock()
        self._seen: State | None = None
        self._own: Entry | None = None  # while it leads
        self._again = math.inf
        self._resigned = False
        self._steps = Steps(f"the campaign for {key}", store.clock, self._step)
        self._watch = store.watch(key, self._see)
        self._unfollow = registration.follow(self._steps.wake)

    def start(self) -> None:
        self._steps.start()

    @property
    def running(self) -> bool:
        return not self._steps.stopped

    @property
    def leads(self) -> bool:
        own = self._own
        same = own is not None and own.lease == self._registration.lease
        return same and self._registration.holds and not self._resigned

    def resign(self) -> None:
        self._resigned = True
        self._steps.wake()

    def halt(self) -> None:
        self._steps.halt()

    def close(self) -> None:
        """Ends the threads; a key that it has won stays as long as its lease."""
        self._unfollow()
        self._watch.close()
        self._steps.stop()

    # ---- in the watch's thread ----
    def _see(self, state: State) -> None:
        with self._lock:
            self._seen = state
        self._steps.wake()

    # ---- in the campaign's thread ----
    def _step(self) -> float:
        if self._resigned:
            return self._give_up()
        if self._own and not self.leads:
            self._demote("its lease is over, or may be")
        with self._lock:
            seen = self._seen
        if seen is None or not self._registration.holds:
            return math.inf
        if self._own is None or seen.revision >= self._own.revision:  # else the watch is behind
            self._judge(seen.entries.get(self._key))
        return self._registration.valid_until if self._own else self._again

    def _judge(self, entry: Entry | None) -> None:
        """Takes a free key; finds out whose another one is."""
        self._again = math.inf
        lease = self._registration.lease
        if entry is not None and entry.lease == lease:
            self._promote(entry)
        elif self._own:
            self._demote("another one has its key" if entry else "its key was removed")
            self._again = 0.0
        elif entry is None:
            self._take(lease)

    def _take(self, lease: str) -> None:
        """Where the outcome is not known, the watch brings it; or the key is still free at the next try."""
        outcome = self._store.compare_and_swap([Change(self._key, 0, self._value, lease)])
        if isinstance(outcome, Swapped):
            self._promote(Entry(self._value, outcome.revision, lease))
        else:
            self._again = self._store.clock.now() + RETRY_SECONDS

    def _promote(self, entry: Entry) -> None:
        before, self._own = self._own, entry
        if before is None:
            self._notify(Leading(entry.revision))

    def _demote(self, why: str) -> None:
        self._own = None
        self._notify(NotLeading(why))

    def _give_up(self) -> float:
        """Removes the key, also one that an unanswered write has made; tries until it knows that it is not there."""
        entry = self._store.get(self._key)
        if entry is None or entry.lease != self._registration.lease:
            self.close()
            return math.inf
        self._store.compare_and_swap([Change(self._key, entry.revision, None)])
        return self._store.clock.now() + RETRY_SECONDS
