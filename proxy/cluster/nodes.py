"""The nodes of the cluster: this one's entry in the store, and those of the others.

Called by: member.py, which assembles what a node has of its cluster. Promises: a name is served once at a time; who is
told of a change has the newest table; an entry that cannot be read concerns its own node alone.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

from ..common.printable import printable
from ..ranks.numbers import NODE_MOST
from . import keys
from .peers.names import is_name
from .store.engine import Engine, Entry, Held, Lost, Registration, State, StoreError, Taken, Watch

#: Time for the store to answer when a service begins, and between tries.
BEGIN_SECONDS, TRY_SECONDS = 30.0, 0.5
#: Time for the store to show another certificate.
RENEW_SECONDS = 2.0
#: Characters of an address, or of what else a node says of itself.
_TEXT_MOST = 300

T = TypeVar("T")


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
        right = is_name(key.removeprefix(keys.NODES)) and all(type(found.get(name)) is types[name] for name in types)
        if not (right and 0 < found["number"] <= NODE_MOST and all(map(_is_short, found.values()))):
            raise keys.Malformed(f"{key} in the store does not describe a node; another version of jitc wrote it")
        return cls(**{name: found[name] for name in types})


def _is_short(value: Any) -> bool:
    return not isinstance(value, str) or (len(value) <= _TEXT_MOST and value.isprintable())


def ask(
    question: Callable[[], T | None], seconds: float, say: Callable[[str], None], wait: Callable[[float], Any]
) -> T:
    """Asks the store again and again, for so many seconds, until there is an answer that is neither None nor empty.

    question: may raise StoreError and Malformed. Raises CannotJoin."""
    deadline, told = time.monotonic() + seconds, False
    while True:
        try:
            if answer := question():
                return answer
            trouble = "its answers are not sure"
        except StoreError as error:
            trouble = str(error)
        except keys.Malformed as error:
            raise CannotJoin(str(error)) from None
        if time.monotonic() >= deadline:
            raise CannotJoin(f"this service cannot join its cluster: {trouble}")
        if not told:
            say(f"waits up to {seconds:.0f} s for the cluster's store: {trouble}")
            told = True
        wait(TRY_SECONDS)


def taken_by(name: str, entry: Entry | None) -> str:
    """Returns why a node's name cannot be had."""
    try:
        where = NodeRecord.decoded(f"{keys.NODES}{name}", entry).peer if entry is not None else "somewhere"
    except keys.Malformed as error:
        return str(error)
    way_out = "end that service, or give this one another name with --node"
    return f"the cluster has a node {name} already, at {where}; {way_out}"


class Nodes:
    """This node and the others. Thread-safe."""

    def __init__(self, engine: Engine, name: str, changed: Callable[[], None]) -> None:
        """changed: is called from a thread of the store's whenever a node has come, gone or changed."""
        self._engine, self.name, self._changed = engine, name, changed
        self._lock = threading.Condition()
        self._known: dict[str, NodeRecord] = {}
        self._last: dict[str, NodeRecord] = {}  # also of nodes that have no entry now
        self._names: dict[int, str] = {}  # of all numbers that were seen
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
        raise CannotJoin(taken_by(self.name, self._taken))

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
        """Returns the name of the node that has this number, or has had it."""
        with self._lock:
            return self._names.get(number, f"number {number}")

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

    def _registered(self, event: Held | Lost | Taken) -> None:
        with self._lock:
            before, self._taken = self._taken, event.by if isinstance(event, Taken) else None
            lost, self._trouble = self._trouble, event.why if isinstance(event, Lost) else ""
            self._lock.notify_all()
        if isinstance(event, Lost):
            self._say("has lost its place in the cluster for now", event.why)
        elif isinstance(event, Taken) and before is None:
            self._say("waits for its place in the cluster", taken_by(self.name, self._taken))
        elif isinstance(event, Held) and lost:
            self._say("has its place in the cluster again", "its lease has been renewed")

    def _say(self, what: str, why: str) -> None:
        print(f"jitc-proxyd: node {self.name} {what}: {why}", file=sys.stderr, flush=True)

    def _see(self, state: State) -> None:
        known = {}
        for name, entry in keys.below(state, keys.NODES).items():
            try:
                known[name] = self._decoded(name, entry)
                self._told.discard(name)
            except keys.Malformed as error:
                if name not in self._told:
                    self._told.add(name)
                    self._say("leaves another one out", printable(str(error)))
        with self._lock:
            if known == self._known:
                return
            self._known = known
            self._last |= known
            self._names |= {one.number: name for name, one in known.items()}
            self._lock.notify_all()
        self._changed()

    def _decoded(self, name: str, entry: Entry) -> NodeRecord:
        """Raises Malformed."""
        found = NodeRecord.decoded(f"{keys.NODES}{name}", entry)
        if name != self.name and self._own is not None and found.number == self._own.number:
            raise keys.Malformed(
                f"node {name} has the number of this one, {found.number}, as after a store was wiped; end the jobs of "
                "one of the two, and its service, and start that again"
            )
        return found

    def _end_watch(self) -> None:
        if self._watch is not None:
            self._watch.close()
