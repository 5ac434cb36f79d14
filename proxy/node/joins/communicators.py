"""Communicators: their ranks, the segments in which these meet, and the ids of those that have ended.

Called by: the registry (sessions that end, recoveries), the Coordinator service (joins), the Admin service (status),
`JoinWatch` (joins that take too long), `Partings` (ranks that have ended). Everything here is guarded by the registry's
lock. Promises: a rank that waits for one that can no longer come is notified, with the reason; a communicator with a
rank that has ended admits no new rank, as long as its id is among the newest that have ended; a program that has used
up its share of the service's descriptors cannot join new ones, and others can; a segment that no rank uses any more is
released (retired.py), and a replay that reaches it again gets a new one.
"""

from __future__ import annotations

import itertools
import secrets
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Set

from ...common.config import SLOTS
from ...common.executor import ExecutorError, Shared
from ...common.shared_memory import NoSpace, Shelf, shared, taken_over
from ...keeper.log import Log
from .. import descriptors
from .communicator import Communicator, Member
from .retired import REMEMBERED, Retired

#: Communicators that are looked at with each join: more than one may have been destroyed since the one before.
LOOKS = 8
#: Missing ranks that a text names.
NAMED = 8
#: Seconds for which ranks of a complete communicator are not notified that one of them has ended. In that time
#: launchers end the other ranks (torchrun within 0.3 s); ranks that had an error before that would leave words of it in
#: a store that torchrun uses again for the next attempt. NCCL would have them wait for longer.
PATIENCE = 5.0

# cudaError_t of refusals.
INVALID_VALUE, OUT_OF_MEMORY, EXTERNAL_DEVICE, UNKNOWN = 1, 2, 911, 999


class Refusal(Exception):
    """A rank cannot join. Its program gets the status and the text."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Communicators:
    """All communicators of the node."""

    def __init__(
        self, structures: Shared, log: Log | None = None, shelf: Shelf | None = None, most: int = SLOTS
    ) -> None:  # fmt: skip
        """most: ranks of a communicator."""
        self._structures, self._shelf, self._most = structures, shelf, most
        self.changed: Callable[[], None] = lambda: None  # under the registry's lock, so it may not wait
        self._log = log or Log.make()
        self._room = descriptors.for_communicators()
        self._known: dict[bytes, Communicator] = {}
        self._ended: OrderedDict[bytes, str] = OrderedDict()
        self._retired = Retired(self._log)

    def __iter__(self) -> Iterator[Communicator]:
        return iter(self._known.values())

    def connections(self) -> Iterator[Set[int]]:
        """Yields sets of sessions that belong together: those of each communicator, existing or retired."""
        yield from (one.members.keys() for one in self._known.values())
        yield from self._retired.links

    # -- ranks come -------------------------------------------------------------------------------

    def join(self, session: Member, unique_id: bytes, ranks: int, rank: int) -> Communicator:
        """Returns the communicator, with a segment. Raises Refusal."""
        if not 0 < ranks <= self._most or rank >= ranks:
            here = " on this node" if self._most == SLOTS else ""
            raise Refusal(INVALID_VALUE, f"rank {rank} of {ranks}: a communicator has 1 to {self._most} ranks{here}")
        retired = self._retired.get(unique_id)
        one = self._known.get(unique_id) or retired
        if one is None and unique_id in self._ended:
            raise Refusal(EXTERNAL_DEVICE, self._ended[unique_id])
        if one is None:
            self._check_share(session)
            one = Communicator(ranks)
        comes_again = one.seats.get(rank) == session.number
        # A member may come again in a recovery although another rank has ended: not all of its work needs that rank.
        if one.ended and (one.missing() or not comes_again):
            raise Refusal(EXTERNAL_DEVICE, one.ended)
        if retired is not None and not comes_again:
            raise Refusal(EXTERNAL_DEVICE, "this communicator has been destroyed by all of its ranks")
        if one.ranks != ranks:
            raise Refusal(INVALID_VALUE, f"this communicator has {one.ranks} ranks, not {ranks}")
        if rank in one.seats and not comes_again:
            raise Refusal(INVALID_VALUE, f"rank {rank} of this communicator is another process already")
        self.give_back(LOOKS)
        self._open(one)
        self._known[unique_id] = one
        one.given[rank] = one.given.get(rank, 0) + 1
        if not comes_again:
            one.seats[rank], one.waited = session.number, 0.0
        one.members[session.number] = rank
        self._note(unique_id, one)
        self._retired.forget(unique_id)  # a replay has reached it again
        self.changed()
        return one

    def joined_elsewhere(self, unique_id: bytes, seats: Mapping[int, int]) -> None:
        """Notes ranks (-> sessions) that have joined on other nodes."""
        one = self._known.get(unique_id) or self._retired.get(unique_id)
        new = {} if one is None else {rank: seat for rank, seat in seats.items() if rank not in one.seats}
        if one is None or not new:
            return
        one.seats |= new
        one.elsewhere |= new.keys()
        one.members |= {seat: rank for rank, seat in new.items()}
        one.waited = 0.0
        self._note(unique_id, one)

    def ended_elsewhere(self, unique_id: bytes, ends: Mapping[int, str]) -> None:
        """Notes ranks that have ended on other nodes, and why: they take no further part."""
        one = self._known.get(unique_id) or self._retired.get(unique_id)
        new = {} if one is None else {rank: why for rank, why in ends.items() if rank not in one.ends}
        if one is None or not new:
            return
        one.ends |= new
        one.members = {seat: rank for seat, rank in one.members.items() if rank not in new}
        for rank, why in new.items():
            self._end(unique_id, one, why)
            self._mark_absent(one, rank)
        self._note(unique_id, one)

    def refuse(self, unique_id: bytes, why: str) -> None:
        """Ends a communicator with ranks on other nodes, which cannot be had: the ranks here get the text."""
        one = self._known.get(unique_id)
        if one is None or one.ended:
            return
        self._end(unique_id, one, why)
        one.members.clear()
        for rank in one.elsewhere:
            one.ends[rank] = why
            self._mark_absent(one, rank)
        self._note(unique_id, one)

    def items(self) -> Iterator[tuple[bytes, Communicator]]:
        """Yields all by id, those whose ranks have released them last."""
        return itertools.chain(self._known.items(), self._retired.items())

    def _check_share(self, session: Member) -> None:
        """Raises Refusal if the session may have no more communicators: its program has used descriptors up."""
        there = [one for one in self._known.values() if one.segment is not None]
        mine, left = sum(session.number in one.members for one in there), self._room - len(there)
        if mine < left:
            return
        raise Refusal(
            OUT_OF_MEMORY,
            f"process {session.pid} has {mine} communicators, and jitc-proxyd has descriptors for only {max(0, left)} "
            f"more of all programs ({descriptors.advice_on_communicators()}",
        )

    def take_over(self) -> None:
        """Takes over what another service has left."""
        for unique_id, why in self._log.entries("ended/").items():
            self._ended[bytes.fromhex(unique_id)] = why
        for unique_id, left in self._log.entries("communicator/").items():
            one = Communicator.of_record(left)
            kept = self._shelf.take([one.kept_as()]) if self._shelf is not None else {}
            if self._shelf is not None and kept:
                one.segment = taken_over(one.kept_as(), kept[one.kept_as()], self._shelf)
            one.parting = dict.fromkeys(one.ends.keys() - one.absent, time.monotonic() + PATIENCE)
            self._known[bytes.fromhex(unique_id)] = one
        self._retired.take_over()
        for known in self._known:
            self._retired.forget(known)  # the previous service was just about to retire it

    def _note(self, unique_id: bytes, one: Communicator) -> None:
        if unique_id in self._known:
            self._log.put(f"communicator/{unique_id.hex()}", one.record())
        else:
            self._retired.note(unique_id, one)

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
        """Closes the communicators of a closed session: no further rank can join them."""
        for unique_id, one in self._of(session):
            one.members.pop(session.number, None)
            for rank in one.ranks_of(session):
                one.ends[rank] = _why_ended(rank, one.ranks, session.pid)
                self._end(unique_id, one, one.ends[rank])
            if one.missing():
                one.members.clear()  # the communicator was never complete, so it connects no sessions
            self._note(unique_id, one)
        self.changed()

    def left(self, session: Member) -> None:
        """Notes that nothing of the session runs any more: ranks that wait for it are notified, sooner or later."""
        for unique_id, one in self._of(session):
            due = time.monotonic() + (0 if one.missing() else PATIENCE)
            one.parting |= dict.fromkeys(one.ranks_of(session), due)
            self._tell(unique_id, one)
        self._retired.left(session.number)

    def tell(self) -> None:
        """Notifies the other ranks of those that have ended for long enough."""
        for unique_id, one in list(self._known.items()):
            if one.parting:
                self._tell(unique_id, one)

    def _tell(self, unique_id: bytes, one: Communicator) -> None:
        if not one.used():
            if self._known.pop(unique_id, None) is None:
                return self._retired.forget(unique_id)
            one.close()
            return self._log.delete(f"communicator/{unique_id.hex()}")
        now = time.monotonic()
        for rank in [rank for rank, due in one.parting.items() if due <= now]:
            del one.parting[rank]
            self._mark_absent(one, rank)
        return self._note(unique_id, one)

    def give_back(self, most: int | None = None) -> None:
        """Releases the segments that no rank uses any more; most: so many are looked at, each time others."""
        for unique_id in list(itertools.islice(self._known, most)):
            one = self._known.pop(unique_id)
            self._known[unique_id] = one  # the last one to be looked at again
            if one.segment is None:
                continue
            try:
                left = self._structures.ranks_left(one.segment.path, one.ranks)
            except ExecutorError:
                continue  # no descriptor is left to look with
            if one.let_go(left):
                del self._known[unique_id]
                one.close()
                self._retired.add(unique_id, one)
                self._log.delete(f"communicator/{unique_id.hex()}")
                self.changed()

    def close(self) -> None:
        for one in self._known.values():
            one.close()
        self._known.clear()

    def give_up(self, one: Communicator, seconds: float) -> str:
        """Ends a communicator whose ranks have not all come in time. Returns the text that waiting ranks get."""
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
        return [(unique_id, one) for unique_id, one in self.items() if one.ranks_of(session)]

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

    def renew(self, numbers: Set[int], epoch: int = 0) -> None:
        """Has the next join of any of these sessions get a new segment. epoch: of the recovery that does so."""
        for unique_id, one in self._known.items():
            if one.members.keys() & numbers:
                one.renew(epoch)
                self._note(unique_id, one)
        self.changed()

    def waiting_for(self, session: Member) -> str:
        """Returns the ranks that the session waits for, as a text; empty when it waits for none."""
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
