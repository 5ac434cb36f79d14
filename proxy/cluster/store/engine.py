"""The interface of a store that the nodes of a cluster share: its verbs, and what their answers mean.

A store maps keys to small values. Each change of the store has a revision, a number that grows, for one engine also
when the store has lost its data; an entry has that of the change that wrote it. A lease is a promise of the store's to
keep entries until a time, which its owner renews.

Called by: code that must agree with other nodes; engines implement it, registration.py and campaign.py use its leases.
Promises: every call ends within a second for each address of the store; no call is answered from a member that may
have missed changes; a write that may have happened is never reported as one that has not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from .clock import Clock

#: Bytes of a key, of a value, and of all values of one transaction.
KEY_MOST, VALUE_MOST, VALUES_MOST = 1024, 64 << 10, 1 << 20
#: Changes of one transaction: etcd's own limit.
CHANGES_MOST = 128
#: Entries under one prefix.
ENTRIES_MOST = 4096
#: Until a store removes what its owner no longer renews.
LEASE_SECONDS = 5.0


class StoreError(Exception):
    """The store cannot be used now, with a text that says what to do; nothing was changed."""

    #: Whether the engine reports it to an operator by itself (../../common/complaints.py).
    reported = False


class Unreachable(StoreError):
    """No member of the store has answered. The text names each address, and why."""


class AnotherCluster(StoreError):
    """Another cluster answers at the store's addresses: none of its answers is used."""


class Refused(StoreError):
    """The store has answered, and does not do it: no space, no permission, a wrong password."""


@dataclass(frozen=True)
class Entry:
    """A key's value, the revision that wrote it, and the lease with which it ends ("": none)."""

    value: bytes
    revision: int
    lease: str = ""


@dataclass(frozen=True)
class Change:
    """One change of a transaction: `value` in place of the entry that has the revision `expected`.

    expected: 0: there must be no entry. value: None: the entry is removed. lease: a registration's, with which the
    entry ends; None: it stays.
    """

    key: str
    expected: int
    value: bytes | None
    lease: str | None = None


@dataclass(frozen=True)
class Swapped:
    """All changes were made, at this revision."""

    revision: int


@dataclass(frozen=True)
class Conflict:
    """No change was made, because of these entries of the keys (None: there is none)."""

    entries: Mapping[str, Entry | None]


@dataclass(frozen=True)
class Unknown:
    """The changes may have been made, or may yet be for some seconds. Who needs to know reads the entries."""

    why: str


Outcome = Swapped | Conflict | Unknown


@dataclass(frozen=True)
class State:
    """The entries under a prefix at one revision of the store.

    begun: the revision at which the store's data begin: 0, or the newest one of before it has lost them. An entry of
    that revision, or of one before it, was not removed by anybody: it was lost.
    """

    entries: Mapping[str, Entry]
    revision: int
    begun: int = 0


@dataclass(frozen=True)
class Lease:
    """A lease as the store has granted it, in seconds, which may be more than were asked for."""

    name: str
    seconds: float


@dataclass(frozen=True)
class Member:
    """A member of the store; trouble: why it does not answer, or what it complains of ("": nothing); version: of one
    that answers; seconds: until it has."""

    address: str
    version: str
    leads: bool
    trouble: str
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True)
class Held:
    """The registration holds its key. Another revision than before: the store had lost the key, and it was registered
    again; entries that had its lease are lost as well."""

    revision: int


@dataclass(frozen=True)
class Lost:
    """The registration holds its key no longer, or cannot be sure of it."""

    why: str


@dataclass(frozen=True)
class Taken:
    """Another one has registered the key; it is registered here when that one has ended."""

    by: Entry


@dataclass(frozen=True)
class Leading:
    """The campaign has won the key, at this revision."""

    revision: int


@dataclass(frozen=True)
class NotLeading:
    """The campaign has lost the key, or cannot be sure of it."""

    why: str


class Watch(Protocol):
    """A watch over a prefix."""

    def close(self) -> None:
        """Ends it. Its function is not called any more, except for a call from which this was called."""


class Registration(Protocol):
    """A key that stays in the store as long as this process renews its lease. Thread-safe."""

    @property
    def lease(self) -> str:
        """Returns the lease that the key has now, for other entries that end with it; "": none."""

    @property
    def valid_until(self) -> float:
        """Returns until when, by the engine's clock, the store surely keeps the key; 0: it need not."""

    @property
    def holds(self) -> bool:
        """Returns whether the store surely keeps the key now."""

    def follow(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Calls `wake` at each change of these; returns a function that ends that."""

    def update(self, value: bytes) -> None:
        """Gives the key another value, as soon as the store can be reached. The key is held meanwhile, and no event
        says so."""

    def resign(self) -> None:
        """Ends the lease, with all entries that have it. A store that does not answer removes them when it runs out."""


class Campaign(Protocol):
    """The attempt to be the one who has a key. Thread-safe."""

    @property
    def leads(self) -> bool:
        """Returns whether it has won the key, and the store surely keeps it now."""

    def resign(self) -> None:
        """Ends it; a key that it has won is removed."""


class Store(Protocol):
    """Verbs that every engine brings. Keys are text; an entry's lease is named by a text, too."""

    clock: Clock

    def get(self, key: str) -> Entry | None:
        """Returns the entry of a key; None: there is none. Raises StoreError."""

    def list(self, prefix: str) -> State:
        """Returns all entries whose keys begin so. Raises StoreError."""

    def compare_and_swap(self, changes: Sequence[Change]) -> Outcome:
        """Makes all changes, if all entries are as expected, or none of them.

        Raises Refused, AnotherCluster: none was made; ValueError: they are too large, too many, or of one key.
        """

    def watch(self, prefix: str, changed: Callable[[State], None]) -> Watch:
        """Calls `changed` with all entries, and then whenever they have changed, from a thread of the watch's.

        The last state always comes, states between may be left out. After an interruption, and now and then, all is
        read and comes again; of equal entries, those may have been others in between.
        """

    def grant(self, seconds: float) -> Lease:
        """Returns a new lease. Raises StoreError."""

    def renew(self, lease: str) -> float:
        """Returns how many seconds the lease lasts from now on; 0: the store has forgotten it. Raises StoreError."""

    def revoke(self, lease: str) -> None:
        """Ends a lease, and all entries that have it. Raises StoreError."""

    def members(self) -> Sequence[Member]:
        """Returns all members of the store that this node knows, also those that do not answer. All are asked at the
        same time."""


class Engine(Store, Protocol):
    """A store with what callers build on leases; locations.py opens one."""

    def register(
        self, key: str, value: bytes, notify: Callable[[Held | Lost | Taken], None], lease: str = ""
    ) -> Registration:
        """Registers a key under a lease, which a thread renews until resign(); returns at once.

        notify: is called from that thread. lease: one that this node had before a restart, to go on with. The
        registration alone may write the key.
        """

    def lead(
        self, key: str, value: bytes, registration: Registration, notify: Callable[[Leading | NotLeading], None]
    ) -> Campaign:
        """Campaigns for a key, under the lease of a registration of this engine, until resign(); returns at once.

        notify: is called from a thread of the campaign's. Who has the key is leader, and all nodes can see it.
        """

    def close(self) -> None:
        """Ends all threads and connections. Leases are left as they are: those not resigned run out by themselves."""


def check_key(key: str) -> bytes:
    """Returns the key's bytes. Raises ValueError if it is empty, too long or not printable."""
    if not key or not key.isprintable():
        raise ValueError(f"{key!r} is no key: it must be printable text")
    return _limited_key(key)


def check_prefix(prefix: str) -> bytes:
    """Returns the prefix's bytes; an empty one is that of all keys. Raises ValueError."""
    return check_key(prefix) if prefix else b""


def check_changes(changes: Sequence[Change]) -> None:
    """Raises ValueError if a transaction is too large, empty, or changes a key twice."""
    if not 0 < len(changes) <= CHANGES_MOST:
        raise ValueError(f"a transaction has 1 to {CHANGES_MOST} changes, not {len(changes)}")
    if len({one.key for one in changes}) != len(changes):
        raise ValueError("a transaction changes a key twice")
    sizes = [len(one.value or b"") for one in changes]
    if max(sizes) > VALUE_MOST or sum(sizes) > VALUES_MOST:
        raise ValueError(
            f"values of {max(sizes):,} bytes, {sum(sizes):,} in all: the store has small ones only, "
            f"{VALUE_MOST:,} bytes each and {VALUES_MOST:,} in a transaction"
        )
    for one in changes:
        check_key(one.key)


def without_lease(changes: Sequence[Change]) -> Unknown | None:
    """Returns the outcome of changes that would be under a lease which there is not; None: there are none such."""
    if any(one.lease == "" for one in changes):
        return Unknown("the registration has no lease at present")
    return None


def _limited_key(key: str) -> bytes:
    found = key.encode()
    if len(found) > KEY_MOST:
        raise ValueError(f"a key of {len(found):,} bytes: at most {KEY_MOST:,}")
    return found
