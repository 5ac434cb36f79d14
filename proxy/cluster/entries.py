"""Entries of the store about jobs over nodes, and how they change: pure functions.

A communicator's entry is where its ranks find each other; it is there until they all have released it. A job's entry
has the sessions that must recover together, on all nodes, and the newest epoch of the job; a session stays in it until
it ends, whatever becomes of the communicators that connect it.

Called by: meetings.py, jobs.py. Promises: an entry of another form raises keys.Malformed; of two nodes that change the
same entries at once, one succeeds and the other one looks again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

from ..common.printable import printable
from ..ranks.numbers import NODE_MOST, first_session, node_of
from . import keys
from .store.engine import Change, Entry

#: Ranks of a communicator (SegmentHead::kMostRanks), and sessions of a job.
RANKS_MOST, SESSIONS_MOST = 1024, 4096
_TEXT_MOST = 200
#: As many as the messages have room for that carry it.
_EPOCH_MOST = (1 << 63) - 1


@dataclass(frozen=True)
class Meeting:
    """A communicator's entry."""

    ranks: int
    seats: Mapping[int, int] = field(default_factory=dict)  # rank -> session
    ends: Mapping[int, str] = field(default_factory=dict)  # rank -> why it takes no further part
    released: frozenset[int] = frozenset()  # nodes, by number, whose ranks do not use it any more

    def with_own(self, seats: Mapping[int, int], ends: Mapping[int, str]) -> Meeting:
        """Returns the entry with these ranks, which a node has; seats of others are left as they are."""
        free = {rank: session for rank, session in seats.items() if self.seats.get(rank, session) == session}
        return replace(self, seats={**self.seats, **free}, ends={**self.ends, **ends})

    def without(self, node: int, ends: Mapping[int, str]) -> Meeting | None:
        """Returns the entry after a node has released the communicator; None: all nodes have. Ranks stay in it, since
        another node may not have seen them yet."""
        released = self.released | {node}
        if not self.missing() and {node_of(session) for session in self.seats.values()} <= released:
            return None
        return replace(self, ends={**self.ends, **ends}, released=released)

    def missing(self) -> bool:
        """Returns whether ranks have not joined."""
        return len(self.seats) < self.ranks

    def encoded(self) -> bytes:
        ends = {rank: why[:_TEXT_MOST] for rank, why in self.ends.items()}
        return keys.encoded(
            {
                "ranks": self.ranks, "seats": _texts(self.seats), "ends": _texts(ends),
                "released": sorted(self.released),
            }
        )  # fmt: skip

    @classmethod
    def decoded(cls, key: str, entry: Entry) -> Meeting:
        """Raises keys.Malformed."""
        found = keys.decoded(key, entry)
        ranks, released = found.get("ranks"), found.get("released")
        if not _is_within(ranks, 1, RANKS_MOST):
            raise _malformed(key)
        if not isinstance(released, list) or not all(_is_within(one, 1, NODE_MOST) for one in released):
            raise _malformed(key)
        seats = _numbered(key, found.get("seats"), _is_session, ranks)
        ends = _numbered(key, found.get("ends"), lambda why: isinstance(why, str), ranks)
        ends = {rank: printable(why, _TEXT_MOST) for rank, why in ends.items()}
        return cls(ranks, seats, ends, frozenset(released))


@dataclass(frozen=True)
class JobEntry:
    """A job's entry."""

    sessions: frozenset[int]
    epoch: int = 0

    def encoded(self) -> bytes:
        return keys.encoded({"sessions": sorted(self.sessions), "epoch": self.epoch})

    @classmethod
    def decoded(cls, key: str, entry: Entry) -> JobEntry:
        """Raises keys.Malformed."""
        found = keys.decoded(key, entry)
        sessions, epoch = found.get("sessions"), found.get("epoch")
        if not isinstance(sessions, list) or len(sessions) > SESSIONS_MOST or not _is_within(epoch, 0, _EPOCH_MOST):
            raise _malformed(key)
        if not all(_is_session(one) for one in sessions):
            raise _malformed(key)
        return cls(frozenset(sessions), epoch)


def name_of(unique_id: bytes) -> str:
    """Returns the name of a communicator's entry: the id itself would let who reads the store join."""
    return hashlib.sha256(unique_id).hexdigest()


def link_number(unique_id: bytes, epoch: int) -> int:
    """Returns the number by which bridges know a communicator since the recovery of this epoch (0: none so far)."""
    digest = hashlib.blake2b(unique_id, digest_size=8, salt=epoch.to_bytes(16, "little")).digest()
    return int.from_bytes(digest, "little") or 1


def connecting(
    jobs: Mapping[str, tuple[JobEntry, int]], sessions: Collection[int]
) -> list[Change]:  # fmt: skip
    """Returns the changes after which one job has all these sessions; none if one has them already.

    jobs: all entries by name, with their revisions; 0: the store has lost it. The name that is first in order stays."""
    touched = {name: one for name, one in jobs.items() if one[0].sessions & set(sessions)}
    if len(touched) == 1:
        [(there, revision)] = touched.values()
        if revision and there.sessions >= set(sessions):
            return []
    name = min(touched, default=job_name(sessions))
    union = frozenset(sessions).union(*(one.sessions for one, _ in touched.values()))
    epoch = max((one.epoch for one, _ in touched.values()), default=0)
    kept = Change(job_key(name), touched[name][1] if name in touched else 0, JobEntry(union, epoch).encoded())
    return [
        kept,
        *(Change(job_key(other), revision, None) for other, (_, revision) in touched.items() if other != name),
    ]


def leaving(name: str, one: JobEntry, revision: int, sessions: Collection[int]) -> list[Change]:
    """Returns the change that takes these sessions out of a job; none if it has none of them."""
    left = one.sessions - set(sessions)
    if left == one.sessions:
        return []
    return [Change(job_key(name), revision, JobEntry(left, one.epoch).encoded() if len(left) > 1 else None)]


def job_name(sessions: Iterable[int]) -> str:
    """Returns the name for a new job: no other one can have it, since a session is in one job."""
    return f"{min(sessions):016x}"


def job_key(name: str) -> str:
    return f"{keys.JOBS}{name}"


def communicator_key(name: str) -> str:
    return f"{keys.COMMUNICATORS}{name}"


def leader_key(name: str) -> str:
    return f"{keys.LEADERS}{name}"


def _texts(numbered: Mapping[int, Any]) -> dict[str, Any]:
    return {str(number): value for number, value in sorted(numbered.items())}


def _is_within(value: Any, least: int, most: int) -> TypeGuard[int]:
    return type(value) is int and least <= value <= most


def _is_session(value: Any) -> bool:
    return _is_within(value, first_session(1) + 1, first_session(NODE_MOST + 1) - 1)


def _numbered(key: str, found: Any, is_right: Callable[[Any], bool], ranks: int) -> dict[int, Any]:
    if not isinstance(found, dict) or len(found) > ranks:
        raise _malformed(key)
    if not all(rank.isascii() and rank.isdigit() and is_right(value) for rank, value in found.items()):
        raise _malformed(key)
    read = {int(rank[:10]): value for rank, value in found.items()}
    if any(rank >= ranks for rank in read):
        raise _malformed(key)
    return read


def _malformed(key: str) -> keys.Malformed:
    return keys.Malformed(f"{key} in the store is not what jitc writes there; another version of jitc may have done it")
