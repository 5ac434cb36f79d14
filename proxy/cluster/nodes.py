"""The nodes of the cluster: this one's entry in the store, and those of the others.

Called by: member.py, which assembles what a node has of its cluster. Promises: a node's number is its own for ever,
also after a restart; a name is served once at a time; who is told of a change has the newest table; an entry that
cannot be read concerns its own node alone.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..ranks.numbers import NODE_MOST
from . import keys
from .store.engine import Change, Engine, Entry, Held, Lost, Registration, State, StoreError, Swapped, Taken, Watch

#: Time for the store to answer when a service begins, and between tries.
BEGIN_SECONDS, TRY_SECONDS = 30.0, 0.5
#: Time for the store to show another certificate.
RENEW_SECONDS = 2.0


class CannotJoin(Exception):
    """This node cannot be part of the cluster; the text says why, and what to do."""


@dataclass(frozen=True)
class NodeRecord:
    """A node as it describes itself. Addresses are HOST:PORT; certificate: SHA-256 in hex."""

    number: int
    peer: str
    bridge: str
    certificate: str
    versions: Mapping[str, int] = field(default_factory=dict)

    def encoded(self) -> bytes:
        return keys.encoded(asdict(self))

    @classmethod
    def decoded(cls, key: str, entry: Entry) -> NodeRecord:
        """Raises keys.Malformed."""
        found = keys.decoded(key, entry)
        types: dict[str, type] = {"number": int, "peer": str, "bridge": str, "certificate": str, "versions": dict}
        right = all(isinstance(found.get(name), kind) for name, kind in types.items())
        if not right or not 0 < found["number"] <= NODE_MOST:
            raise keys.Malformed(f"{key} in the store does not describe a node; another version of jitc wrote it")
        return cls(**{name: found[name] for name in types})


def claimed_number(engine: Engine, name: str, say: Callable[[str], None], wait: Callable[[float], Any]) -> int:
    """Returns the node's number, a new one the first time. Waits for the store for a while, which `say` is told once.

    Raises CannotJoin."""
    deadline, told = time.monotonic() + BEGIN_SECONDS, False
    while True:
        try:
            if number := _claim(engine, name):
                return number
            trouble = "its answers are not sure"
        except StoreError as error:
            trouble = str(error)
        except keys.Malformed as error:
            raise CannotJoin(str(error)) from None
        if time.monotonic() >= deadline:
            raise CannotJoin(f"this service cannot join its cluster: {trouble}")
        if not told:
            say(f"waits up to {BEGIN_SECONDS:.0f} s for the cluster's store: {trouble}")
            told = True
        wait(TRY_SECONDS)


def _claim(engine: Engine, name: str) -> int:
    """Returns the node's number; 0: ask again. Raises StoreError, Malformed."""
    own = f"{keys.NUMBERS}{name}"
    if number := keys.number_in(own, engine.get(own), NODE_MOST):
        return number
    last = engine.get(keys.LAST_NUMBER)
    number = keys.number_in(keys.LAST_NUMBER, last, NODE_MOST - 1) + 1
    value = str(number).encode()
    counted = Change(keys.LAST_NUMBER, last.revision if last is not None else 0, value)
    outcome = engine.compare_and_swap([counted, Change(own, 0, value)])
    return number if isinstance(outcome, Swapped) else 0


class Nodes:
    """This node and the others. Thread-safe."""

    def __init__(self, engine: Engine, name: str, changed: Callable[[], None]) -> None:
        """changed: is called from a thread of the store's whenever a node has come, gone or changed."""
        self._engine, self.name, self._changed = engine, name, changed
        self._lock = threading.Condition()
        self._known: dict[str, NodeRecord] = {}
        self._last: dict[str, NodeRecord] = {}  # also of nodes that have no entry now
        self._told: set[str] = set()  # keys that cannot be read
        self._taken: Entry | None = None
        self._trouble = ""
        self._watch: Watch | None = None
        self._registration: Registration | None = None
        self._own: NodeRecord | None = None

    def start(self, own: NodeRecord, lease: str = "") -> None:
        """Registers this node. lease: that of the service before this one. Raises CannotJoin if its name is taken and
        does not become free."""
        self._own = own
        self._registration = self._engine.register(self._key, own.encoded(), self._registered, lease)
        self._watch = self._engine.watch(keys.NODES, self._see)
        with self._lock:
            settled = self._lock.wait_for(lambda: self._holds() or self._taken is not None, BEGIN_SECONDS)
            if self._taken is None or self._lock.wait_for(self._holds, BEGIN_SECONDS):
                return None if settled else self._say("is not registered in the cluster yet", self._trouble)
        raise CannotJoin(self._whose())

    def renew(self, certificate: str) -> None:
        """Publishes another certificate of this node, by its hash. Raises StoreError if the store does not show it
        soon; it will later."""
        assert self._own is not None, "start() comes first"
        self._own = own = replace(self._own, certificate=certificate)
        self.registration.update(own.encoded())
        with self._lock:
            if not self._lock.wait_for(lambda: self._known.get(self.name) == own, RENEW_SECONDS):
                raise StoreError(f"the certificate of node {self.name} has been renewed, and the store has the old one")

    @property
    def registration(self) -> Registration:
        """Returns this node's, with whose lease it leads jobs, and with which the next service of the node goes on."""
        assert self._registration is not None, "start() comes first"
        return self._registration

    @property
    def registered(self) -> bool:
        return self._holds()

    def others(self) -> dict[str, NodeRecord]:
        """Returns the other nodes whose services run, by name."""
        with self._lock:
            return {name: one for name, one in self._known.items() if name != self.name}

    def last_seen(self) -> dict[str, NodeRecord]:
        """Returns the other nodes that have been there, by name, each as it was last."""
        with self._lock:
            return {name: one for name, one in self._last.items() if name != self.name}

    def certificate_of(self, name: str) -> str | None:
        """Returns the hash of the certificate that the node has published last: one whose lease is over, because it
        cannot reach the store, may still have jobs with this one. None: there has been no such node."""
        with self._lock:
            found = self._last.get(name)
        return found.certificate if found is not None else None

    def name_of(self, number: int) -> str:
        """Returns the name of the node with this number."""
        with self._lock:
            return next((name for name, one in self._last.items() if one.number == number), f"number {number}")

    def stop(self) -> None:
        """Takes this node out of the cluster."""
        self._end_watch()
        if self._registration is not None:
            self._registration.resign()

    def leave(self) -> None:
        """Ends, and leaves the entry to the next service."""
        self._end_watch()

    # -- parts ------------------------------------------------------------------------------------

    @property
    def _key(self) -> str:
        return f"{keys.NODES}{self.name}"

    def _holds(self) -> bool:
        return self._registration is not None and self._registration.holds

    def _whose(self) -> str:
        where = "somewhere"
        if self._taken is not None:
            try:
                where = NodeRecord.decoded(self._key, self._taken).peer
            except keys.Malformed as error:
                return str(error)
        return (
            f"the cluster has a node {self.name} already, at {where}; end that service, or give this one another name "
            "with --node"
        )

    def _registered(self, event: Held | Lost | Taken) -> None:
        with self._lock:
            before, self._taken = self._taken, event.by if isinstance(event, Taken) else None
            self._trouble = event.why if isinstance(event, Lost) else ""
            self._lock.notify_all()
        if isinstance(event, Lost):
            self._say("has lost its place in the cluster for now", event.why)
        elif isinstance(event, Taken) and before is None:
            self._say("waits for its place in the cluster", self._whose())

    def _say(self, what: str, why: str) -> None:
        print(f"jitc-proxyd: node {self.name} {what}: {why}", file=sys.stderr, flush=True)

    def _see(self, state: State) -> None:
        known = {}
        for name, entry in keys.below(state, keys.NODES).items():
            try:
                known[name] = NodeRecord.decoded(f"{keys.NODES}{name}", entry)
            except keys.Malformed as error:
                if name not in self._told:
                    self._told.add(name)
                    self._say("leaves another one out", str(error))
        with self._lock:
            if known == self._known:
                return
            self._known = known
            self._last |= known
            self._lock.notify_all()
        self._changed()

    def _end_watch(self) -> None:
        if self._watch is not None:
            self._watch.close()
