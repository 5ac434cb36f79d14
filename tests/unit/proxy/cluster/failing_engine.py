"""An engine over a dictionary that fails on purpose, in the ways in which a store does.

Called by: engine_rig.py, tests of registrations and campaigns. Promises: which call fails follows from how many there
were; nothing fails for ever; a watch gives its last state, whatever it has left out before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from jitc.proxy.cluster.store.engine import (
    LEASE_SECONDS,
    Change,
    Entry,
    Lease,
    Outcome,
    State,
    Swapped,
    Unknown,
    Unreachable,
    check_changes,
)
from jitc.proxy.cluster.store.engines.local import Dictionary, LocalEngine, LocalWatch
from jitc.proxy.cluster.store.steps import Steps

#: In turn: what happens to a write.
DONE, LOST_ANSWER, LOST_REQUEST = "done", "done, and the answer is lost", "the request is lost"


class Faults:
    """The faults of an engine, in turn for each verb; a test may set others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, int] = {}
        self.writes: Sequence[str] = (LOST_ANSWER, DONE, LOST_REQUEST, DONE)
        #: Verb -> which of so many calls fail.
        self.unreachable = dict.fromkeys(("get", "list", "grant", "renew", "revoke"), 3)

    def none(self) -> Faults:
        """Lets nothing fail, until a test says what."""
        self.writes, self.unreachable = (DONE,), {}
        return self

    def restart(self, writes: Sequence[str]) -> None:
        """Lets these happen to the next writes, and then again."""
        self.writes = writes
        self._counts["write"] = 0

    def write(self) -> str:
        return self.writes[(self._count("write") - 1) % len(self.writes)]

    def check(self, verb: str) -> None:
        every = self.unreachable.get(verb, 0)
        if every and self._count(verb) % every == 0:
            raise Unreachable(f"the test lets {verb} fail")

    def _count(self, verb: str) -> int:
        with self._lock:
            self._counts[verb] = self._counts.get(verb, 0) + 1
            return self._counts[verb]


class StaleWatch:
    """A watch that leaves out every other change, and then gives all again, whether it has changed or not."""

    def __init__(self, engine: FailingEngine, prefix: str, changed: Callable[[State], None]) -> None:
        self._engine, self._prefix, self._changed = engine, prefix, changed
        self._rounds = 0
        self._steps = Steps(f"the stale watch of {prefix}", engine.clock, self._step)
        self._watch = engine.watch_well(prefix, lambda _: self._steps.wake())
        self._steps.start()

    def close(self) -> None:
        self._watch.close()
        self._steps.stop()

    def _step(self) -> float:
        self._rounds += 1
        if self._rounds % 2:
            return 0.0  # it is behind
        if self._engine.behind:
            return float("inf")
        self._changed(self._engine.list_well(self._prefix))
        return float("inf")


class FailingEngine(LocalEngine):
    """The engine; `before` is called with each verb before it is served."""

    def __init__(self, store: Dictionary, lease_seconds: float = LEASE_SECONDS) -> None:
        super().__init__(store, lease_seconds)
        self.faults = Faults()
        self.before: Callable[[str], None] = lambda verb: None
        #: Whether watches give nothing.
        self.behind = False
        self._stale: list[StaleWatch] = []

    def get(self, key: str) -> Entry | None:
        self._serve("get")
        return super().get(key)

    def list(self, prefix: str) -> State:
        self._serve("list")
        return super().list(prefix)

    def list_well(self, prefix: str) -> State:
        return super().list(prefix)

    def compare_and_swap(self, changes: Sequence[Change]) -> Outcome:
        check_changes(changes)
        self.before("write")
        fault = self.faults.write()
        if fault == LOST_REQUEST:
            return Unknown("the test has lost the request")
        outcome = super().compare_and_swap(changes)
        lost = fault == LOST_ANSWER and isinstance(outcome, Swapped)
        return Unknown("the test has lost the answer") if lost else outcome

    def grant(self, seconds: float) -> Lease:
        self._serve("grant")
        return super().grant(seconds)

    def renew(self, lease: str) -> float:
        self._serve("renew")
        return super().renew(lease)

    def revoke(self, lease: str) -> None:
        self._serve("revoke")
        super().revoke(lease)

    def watch(self, prefix: str, changed: Callable[[State], None]) -> StaleWatch:  # type: ignore[override]
        watch = StaleWatch(self, prefix, changed)
        self._stale.append(watch)
        return watch

    def watch_well(self, prefix: str, changed: Callable[[State], None]) -> LocalWatch:
        return super().watch(prefix, changed)

    def close(self) -> None:
        super().close()
        for one in self._stale:
            one.close()

    def _serve(self, verb: str) -> None:
        self.before(verb)
        self.faults.check(verb)
