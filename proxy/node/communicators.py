"""Communicators: their ranks, the segments in which these meet, and the ids of those that have ended.

Called by: the registry (sessions that end, recoveries), the Coordinator service (joins), the Admin service (status),
`JoinWatch` (joins that take too long), `Partings` (ranks that have ended). Everything here is guarded by the registry's
lock. Promises: a rank that waits for one that cannot come any more learns it, with the reason; a communicator with a
rank that has ended admits no new rank, as long as its id is among the newest that have ended.
"""

from __future__ import annotations

import secrets
import sys
import time
from collections import OrderedDict
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..common.config import SLOTS
from ..common.executor import ExecutorError, Shared
from ..keeper.log import Log
from .shared_memory import Memory, NoSpace, Shelf, shared, taken_over

#: Ids of ended communicators that are remembered. A job has a few dozen.
REMEMBERED = 4096
#: Missing ranks that a text names.
NAMED = 8
#: Seconds in which ranks of a communicator that was complete are not told that one of them has ended. Launchers end
#: the other ranks then (torchrun within 0.3 s); ranks that had an error before that would leave words of it in a
#: store that torchrun uses again for the next attempt. NCCL would have them wait for longer.
PATIENCE = 5.0

# cudaError_t of refusals.
INVALID_VALUE, OUT_OF_MEMORY, EXTERNAL_DEVICE, UNKNOWN = 1, 2, 911, 999


class Refusal(Exception):
    """A rank cannot join. Its program gets the status and the text."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Member(Protocol):
    """What communicators need of a session."""

    number: int
    pid: int


@dataclass(eq=False)
class Communicator:
    """The segment of the current generation; every recovery of a member begins a new generation."""

    ranks: int
    members: dict[int, int] = field(default_factory=dict)  # session -> rank, of those that must recover together
    seats: dict[int, int] = field(default_factory=dict)  # rank -> session that has joined as it, ended or not
    ends: dict[int, str] = field(default_factory=dict)  # rank -> why it takes no further part
    absent: set[int] = field(default_factory=set)  # ranks of `ends` that certainly do nothing any more: others know it
    parting: dict[int, float] = field(default_factory=dict)  # such ranks, and when (time.monotonic) others are told
    ended: str = ""  # why no rank can join any more, except its members in a recovery
    waited: float = 0.0  # seconds since the newest rank joined, not counting recoveries
    generation: int = 0
    identity: int = 0
    segment: Memory | None = None

    def missing(self) -> list[int]:
        """Ranks that have never joined."""
        return [rank for rank in range(self.ranks) if rank not in self.seats]

    def ranks_of(self, session: Member) -> list[int]:
        return [rank for rank, seat in self.seats.items() if seat == session.number]

    def gathering(self) -> bool:
        """Whether ranks may still join for the first time."""
        return not self.ended and len(self.seats) < self.ranks

    def used(self) -> bool:
        """Whether a session that has joined may still look at the segment."""
        return any(rank not in self.absent and rank not in self.parting for rank in self.seats)

    def kept_as(self) -> str:
        """The name under which its segment is kept."""
        return f"communicator/{self.identity}"

    def record(self) -> dict[str, Any]:
        """What another service must know of it."""
        return {
            "ranks": self.ranks, "members": list(self.members.items()), "seats": list(self.seats.items()),
            "ends": list(self.ends.items()), "absent": sorted(self.absent), "ended": self.ended,
            "generation": self.generation, "identity": self.identity,
        }  # fmt: skip

    @classmethod
    def of_record(cls, left: dict[str, Any]) -> Communicator:
        return cls(
            left["ranks"], dict(left["members"]), dict(left["seats"]), dict(left["ends"]), set(left["absent"]),
            left["ended"], generation=left["generation"], identity=left["identity"],
        )  # fmt: skip

    def renew(self) -> None:
        self.generation += 1
        self.close()

    def close(self) -> None:
        if self.segment is not None:
            self.segment.close()
            self.segment = None


class Communicators:
    """All communicators of the node."""

    def __init__(self, structures: Shared, log: Log | None = None, shelf: Shelf | None = None) -> None:
        self._structures, self._shelf = structures, shelf
        self._log = log or Log.make()
        self._known: dict[bytes, Communicator] = {}
        self._ended: OrderedDict[bytes, str] = OrderedDict()

    def __iter__(self) -> Iterator[Communicator]:
        return iter(self._known.values())

    # -- ranks come -------------------------------------------------------------------------------

    def join(self, session: Member, unique_id: bytes, ranks: int, rank: int) -> Communicator:
        """The communicator, with a segment. Raises Refusal."""
        if not 0 < ranks <= SLOTS or rank >= ranks:
            raise Refusal(INVALID_VALUE, f"rank {rank} of {ranks}: a communicator has 1 to {SLOTS} ranks on this node")
        one = self._known.get(unique_id)
        if one is None and unique_id in self._ended:
            raise Refusal(EXTERNAL_DEVICE, self._ended[unique_id])
        one = one or Communicator(ranks)
        comes_again = one.seats.get(rank) == session.number
        # A member may come again in a recovery although another rank has ended: not all of its work needs that rank.
        if one.ended and (one.missing() or not comes_again):
            raise Refusal(EXTERNAL_DEVICE, one.ended)
        if one.ranks != ranks:
            raise Refusal(INVALID_VALUE, f"this communicator has {one.ranks} ranks, not {ranks}")
        if rank in one.seats and not comes_again:
            raise Refusal(INVALID_VALUE, f"rank {rank} of this communicator is another process already")
        self._open(one)
        self._known[unique_id] = one
        if not comes_again:
            one.seats[rank], one.waited = session.number, 0.0
        one.members[session.number] = rank
        self._note(unique_id, one)
        return one

    def take_over(self, paths: dict[str, str]) -> None:
        """What another service has left; paths: of the memory that is there, by name."""
        for unique_id, why in self._log.entries("ended/").items():
            self._ended[bytes.fromhex(unique_id)] = why
        for unique_id, left in self._log.entries("communicator/").items():
            one = Communicator.of_record(left)
            if one.kept_as() in paths and self._shelf is not None:
                one.segment = taken_over(one.kept_as(), paths[one.kept_as()], self._shelf)
            one.parting = dict.fromkeys(one.ends.keys() - one.absent, time.monotonic() + PATIENCE)
            self._known[bytes.fromhex(unique_id)] = one

    def _note(self, unique_id: bytes, one: Communicator) -> None:
        self._log.put(f"communicator/{unique_id.hex()}", one.record())

    def _open(self, one: Communicator) -> None:
        if one.segment is not None:
            return
        try:
            one.identity = secrets.randbits(63) | 1
            one.segment = shared("communicator", self._structures.segment_bytes(one.ranks))
            one.segment.keep(one.kept_as(), self._shelf)
            self._structures.mark_segment(one.segment.path, one.identity)
            for rank in one.absent:
                self._structures.mark_absent(one.segment.path, rank, one.ends[rank])
        except (NoSpace, ExecutorError) as error:
            one.close()
            raise Refusal(OUT_OF_MEMORY, str(error)) from None

    # -- ranks go ---------------------------------------------------------------------------------

    def leave(self, session: Member) -> None:
        """The session is closed: no further rank can join its communicators."""
        for unique_id, one in self._of(session):
            one.members.pop(session.number, None)
            for rank in one.ranks_of(session):
                one.ends[rank] = _why_ended(rank, one.ranks, session.pid)
                self._end(unique_id, one, one.ends[rank])
            if one.missing():
                one.members.clear()  # it was never complete, so it connects no sessions
            self._note(unique_id, one)

    def left(self, session: Member) -> None:
        """Nothing of the session runs any more: ranks that wait for it learn that, sooner or later."""
        for unique_id, one in self._of(session):
            due = time.monotonic() + (0 if one.missing() else PATIENCE)
            one.parting |= dict.fromkeys(one.ranks_of(session), due)
            self._tell(unique_id, one)

    def tell(self) -> None:
        """Ranks that have ended for long enough: the others learn it."""
        for unique_id, one in list(self._known.items()):
            if one.parting:
                self._tell(unique_id, one)

    def _tell(self, unique_id: bytes, one: Communicator) -> None:
        if not one.used():
            one.close()
            del self._known[unique_id]
            self._log.delete(f"communicator/{unique_id.hex()}")
            return
        now = time.monotonic()
        for rank in [rank for rank, due in one.parting.items() if due <= now]:
            del one.parting[rank]
            self._mark_absent(one, rank)
        self._note(unique_id, one)

    def close(self) -> None:
        for one in self._known.values():
            one.close()
        self._known.clear()

    def give_up(self, one: Communicator, seconds: float) -> str:
        """Not all ranks have come in time. Returns the text that waiting ranks get."""
        missing = one.missing()
        names = ", ".join(map(str, missing[:NAMED])) + (f" and {len(missing) - NAMED} more" * (len(missing) > NAMED))
        why = f"rank {names} of this communicator of {one.ranks} did not join within {seconds:g} s (--hang-seconds)"
        unique_id = next(unique_id for unique_id, other in self._known.items() if other is one)
        self._end(unique_id, one, why)
        one.members.clear()
        for rank in missing:
            one.ends[rank] = why
            self._mark_absent(one, rank)
        self._note(unique_id, one)
        return why

    def _of(self, session: Member) -> list[tuple[bytes, Communicator]]:
        return [(unique_id, one) for unique_id, one in self._known.items() if one.ranks_of(session)]

    def _end(self, unique_id: bytes, one: Communicator, why: str) -> None:
        one.ended = one.ended or why
        self._ended[unique_id] = one.ended
        self._log.put(f"ended/{unique_id.hex()}", one.ended)
        while len(self._ended) > REMEMBERED:
            oldest, _ = self._ended.popitem(last=False)
            self._log.delete(f"ended/{oldest.hex()}")

    def _mark_absent(self, one: Communicator, rank: int) -> None:
        one.absent.add(rank)
        if one.segment is None:
            return
        try:
            self._structures.mark_absent(one.segment.path, rank, one.ends[rank])
        except ExecutorError as error:
            print(f"jitc-proxyd: nobody can be told that {one.ends[rank]}: {error}", file=sys.stderr, flush=True)

    # -- recoveries, status -----------------------------------------------------------------------

    def renew(self, numbers: Set[int]) -> None:
        """The next join of any of these sessions gets a new segment."""
        for unique_id, one in self._known.items():
            if one.members.keys() & numbers:
                one.renew()
                self._note(unique_id, one)

    def waiting_for(self, session: Member) -> str:
        """The ranks that the session waits for, as a text; empty when it waits for none."""
        texts = []
        for _, one in self._of(session):
            if one.gathering():
                missing = one.missing()
                names = ", ".join(map(str, missing[:NAMED])) + (", ..." if len(missing) > NAMED else "")
                texts.append(f"communicator of {one.ranks} ranks: rank {names} missing")
        return "; ".join(texts)


def _why_ended(rank: int, ranks: int, pid: int) -> str:
    when = time.strftime("%H:%M:%S")
    return f"this communicator has ended: its rank {rank} of {ranks}, process {pid}, ended at {when}"
