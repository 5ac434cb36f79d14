"""Engines over one store, as the nodes of a cluster have them: a dictionary, etcd, or one that fails on purpose.

Called by: tests of proxy/cluster. Promises: when a rig has been closed, no thread of its engines is left.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from failing_engine import FailingEngine
from toolkit.etcd import Etcd
from toolkit.waiting import until

from jitc.proxy.cluster.store.clock import BootClock
from jitc.proxy.cluster.store.engine import (
    LEASE_SECONDS,
    Change,
    Conflict,
    Engine,
    Entry,
    State,
    Swapped,
    Unknown,
    Unreachable,
)
from jitc.proxy.cluster.store.engines.etcd.engine import EtcdEngine
from jitc.proxy.cluster.store.engines.local import Dictionary, LocalEngine
from jitc.proxy.cluster.store.locations import Options, parse_location
from jitc.proxy.cluster.store.registration import RENEWALS

T = TypeVar("T")
LIMIT = 60.0
#: Seconds of a lease in the rigs whose clock can be moved: it does not run out by itself.
LONG = 600.0
#: The shortest lease that etcd has.
SHORT = 2.0
#: A store that fails on purpose answers after fewer.
TRIES = 10
#: Until a thread that waits sees that the clock was moved.
PIECE_SECONDS = 0.02


class AheadClock(BootClock):
    """The machine's clock, which a test moves ahead."""

    ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead

    def wait(self, condition: threading.Condition, until: float) -> None:
        condition.wait(PIECE_SECONDS)


class Seen(Generic[T]):
    """What was reported, in order; an instance is the function that is called."""

    def __init__(self) -> None:
        self.all: list[T] = []

    def __call__(self, one: T) -> None:
        self.all.append(one)

    def until(self, condition: Callable[[T], bool], what: str = "it was reported") -> T:
        """Waits until something like that was reported, and returns it."""
        return until(lambda: next((one for one in self.all if condition(one)), None), LIMIT, f"{what}: {self.all}")

    def next(self, kind: type[Any], after: int = 0) -> Any:
        """Waits for the first one of this kind, after so many reports."""
        return until(
            lambda: next((one for one in self.all[after:] if isinstance(one, kind)), None),
            LIMIT,
            f"{kind.__name__} after {after} of {self.all}",
        )


class Rig:
    """One store, and the engines that a test has opened over it. `prefix`: the keys of the test."""

    prefix = ""

    def __init__(self) -> None:
        self.engines: list[Engine] = []

    def node(self, short: bool = False) -> Engine:
        """Opens another engine; short: with leases that are not longer than they must be."""
        engine = self._open(short)
        self.engines.append(engine)
        return engine

    def _open(self, short: bool) -> Engine:
        raise NotImplementedError

    def let_renew(self) -> None:
        """Lets the time come at which all registrations renew their leases."""

    def let_run_out(self) -> None:
        """Lets leases that are not renewed any more run out."""

    def close(self) -> None:
        for one in self.engines:
            one.close()
        until(lambda: not threads(), LIMIT, f"its threads have ended: {threads()}")


class LocalRig(Rig):
    """A dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = AheadClock()
        self.store = Dictionary(self.clock)

    def _open(self, short: bool) -> Engine:
        return LocalEngine(self.store, LONG)

    def let_renew(self) -> None:
        self.clock.ahead += LONG / RENEWALS

    def let_run_out(self) -> None:
        self.clock.ahead += 2 * LONG


class FailingRig(LocalRig):
    """A dictionary, with faults in every other call."""

    def _open(self, short: bool) -> Engine:
        return FailingEngine(self.store, LONG)


class EtcdRig(Rig):
    """An etcd, which tests share: each has keys of its own."""

    _tests = 0

    def __init__(self, etcd: Etcd, options: Options | None = None) -> None:
        super().__init__()
        EtcdRig._tests += 1
        self.prefix = f"test{EtcdRig._tests}/"
        self.etcd, self.options = etcd, options or Options()
        self.reports = Seen[str]()

    def _open(self, short: bool) -> Engine:
        return etcd_engine(self.etcd.endpoints, self.options, self.reports, SHORT if short else LEASE_SECONDS)


def etcd_engine(
    endpoints: str,
    options: Options | None = None,
    report: Callable[[str], None] = print,
    lease_seconds: float = LEASE_SECONDS,
) -> EtcdEngine:
    addresses = parse_location(f"etcd://{endpoints}")
    return EtcdEngine(addresses, options or Options(), BootClock(), report, lease_seconds)


def threads() -> list[str]:
    """Returns the names of the threads that engines have."""
    names = [one.name for one in threading.enumerate()]
    return [one for one in names if one.startswith(("the ", "Thread-")) and "channel_spin" not in one]


def read(call: Callable[[], T]) -> T:
    """Reads until the store answers, as a caller does that has to know."""
    for _ in range(TRIES):
        with contextlib.suppress(Unreachable):
            return call()
    return call()


def come_back(call: Callable[[], T]) -> T:
    """Waits until a store that was away answers."""

    def answer() -> tuple[T] | None:
        with contextlib.suppress(Unreachable):
            return (call(),)
        return None

    return until(answer, LIMIT, "the store answers")[0]


def write(engine: Engine, *changes: Change) -> Swapped | Conflict:
    """Makes the changes, as a caller does that has to know whether they were made; their values must be unique."""
    outcome = engine.compare_and_swap(changes)
    while isinstance(outcome, Unknown):
        entries = {one.key: read(lambda one=one: engine.get(one.key)) for one in changes}  # type: ignore[misc]
        if made(changes, entries):
            return Swapped(max((one.revision for one in entries.values() if one), default=0))
        if any(revision(entries[one.key]) != one.expected for one in changes):
            return Conflict(entries)
        outcome = engine.compare_and_swap(changes)
    return outcome


def put(engine: Engine, key: str, value: str, lease: str | None = None) -> int:
    """Writes a key, whatever it has; returns the revision."""
    entry = read(lambda: engine.get(key))
    outcome = write(engine, Change(key, revision(entry), value.encode(), lease))
    assert isinstance(outcome, Swapped), outcome
    return outcome.revision


def remove(engine: Engine, key: str) -> None:
    entry = read(lambda: engine.get(key))
    assert entry
    assert isinstance(write(engine, Change(key, entry.revision, None)), Swapped)


def made(changes: Sequence[Change], entries: dict[str, Entry | None]) -> bool:
    return all(value(entries[one.key]) == one.value for one in changes)


def revision(entry: Entry | None) -> int:
    return entry.revision if entry else 0


def value(entry: Entry | None) -> bytes | None:
    return entry.value if entry else None


def texts(state: State, prefix: str = "") -> dict[str, str]:
    """Returns keys, without the prefix, with their values."""
    return {key.removeprefix(prefix): one.value.decode() for key, one in state.entries.items()}
