"""Joins segments and boards of several nodes: slots for sessions of other nodes, and what this node's bridge is told.

A session of another node has a *mirror slot* on this node's board, which workers count as that of a rank here. It is
there from the moment on at which a communicator with the session is linked, until the session leaves the job.

Called by: meetings.py (what is linked), member.py (nodes, a bridge that begins or ends), ranks/ (epochs begin).
Promises: a session has its slot before one of its communicators is linked, so no worker runs a collective with a rank
that it does not count; a slot is free for another session only when the bridge does not write there any more; nodes are
disconnected after their links; a communicator that cannot be linked keeps no other one from it; segments that a bridge
has linked are cut when it has ended, and not linked again; what a next service must know is in the log.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Protocol

from jitc.v1 import bridge_pb2

from ..common.config import SLOTS
from ..keeper.log import Log
from ..ranks.numbers import node_of
from .entries import link_number
from .jobs import Jobs
from .meetings import ELSEWHERE_MOST, LinkError, LocalCommunicator

#: Slots of the board behind those for sessions of this node.
_MIRRORS = range(SLOTS, SLOTS + ELSEWHERE_MOST)
#: In the log: mirror slots by session, and segments by number of their link.
_KEY, _LINKS = "mirror/", "link/"
#: What ranks are told that wait for other nodes.
_ENDED = "this node's bridge to other nodes has ended"


class Board(Protocol):
    """The board of this node, as far as mirror slots go (`common/executor.py`)."""

    def enter(self, slot: int, session: int, epoch: int, unique_ids: Sequence[bytes]) -> None:
        """Gives a slot to a session of another node, with the communicators that it is in; adds them if it has it."""

    def begin(self, slot: int, epoch: int, counters: Mapping[str, int]) -> None:
        """Sets a slot to the begin of an epoch."""

    def leave(self, slot: int) -> None: ...


class Bridge(Protocol):
    """This node's bridge. Raises LinkError for everything that it cannot do now."""

    @property
    def pid(self) -> int:
        """Returns the process that serves, 0 if there is none now."""

    def call(self, method: str, request: Any) -> Any: ...


@dataclass
class Linked:
    """A link that a bridge has, or had."""

    identity: int  # of the segment
    over: bool = False  # the bridge has ended, and the segment was cut
    told: bool = False  # this service has told the bridge


@dataclass
class Mirror:
    """The slot of a session of another node, and the least epoch of which its values count."""

    slot: int
    epoch: int = 0


class SegmentLinks:
    """The links of this node (`meetings.Links`). Thread-safe."""

    def __init__(
        self, number: int, board: Board, bridge: Bridge, jobs: Jobs, *, log: Log,
        slots: Callable[[], Mapping[int, int]], peer: Callable[[int], Any], cut: Callable[[int, str], None],
    ) -> None:  # fmt: skip
        """number: this node's; slots: returns those of its sessions; peer: returns what the bridge must know of the
        node with a number (BridgePeer), None if that is not known; cut: marks the segment with an identity as cut, if
        it is still there, and says why."""
        self._number, self._board, self._bridge, self._jobs = number, board, bridge, jobs
        self._log, self._own_slots, self._peer, self._cut = log, slots, peer, cut
        self._lock = threading.Lock()  # held while the bridge is told: it is told one thing after the other
        self._links = {int(number): Linked(*kept) for number, kept in log.entries(_LINKS).items()}
        self._slots: Mapping[int, int] = {}  # of this node's sessions
        self._mirrors = {int(number): Mirror(*kept) for number, kept in log.entries(_KEY).items()}
        self._peers: dict[int, Any] | None = None  # what the bridge was told of nodes, by number
        self._shown: Any = None  # and of slots

    def set(self, linked: Sequence[LocalCommunicator]) -> None:
        if not self._bridge.pid:
            return  # the next one is told when it has begun
        wanted = {link_number(one.unique_id, one.epoch): one for one in linked}
        slots = self._own_slots()
        with self._lock:
            self._slots = slots
            sessions = self._remote_sessions()
            self._connect(sessions, self._peers or {})
            failures = self._enter(sessions, linked)
            self._show()
            for number in self._links.keys() - wanted.keys():
                self._unlink(number)
            failures += [why for number, one in wanted.items() if (why := self._link(number, one)) is not None]
            self._leave(sessions)
            self._connect(sessions, {})
        if failures:
            raise failures[0]

    def begin_epoch(self, epoch: int, counters: Mapping[int, Mapping[str, int]]) -> None:
        """Begins an epoch for these sessions of other nodes: nothing of before it counts. counters: of each, where the
        recovery has put it. Raises LinkError."""
        with self._lock:
            there = {session: self._mirrors[session] for session in counters if session in self._mirrors}
            for session, mirror in there.items():
                mirror.epoch = epoch
                self._note(session, mirror)
            self._show_if_there()
            for session, mirror in there.items():
                self._board.begin(mirror.slot, epoch, counters[session])

    def slots_of(self, sessions: Iterable[int]) -> list[int]:
        """Returns the mirror slots of those that have one."""
        with self._lock:
            return [self._mirrors[one].slot for one in sessions if one in self._mirrors]

    def bridge_begun(self) -> None:
        """There is a bridge, which this service has told nothing."""
        with self._lock:
            self._shown = self._peers = None
            for one in self._links.values():
                one.told = False

    def bridge_ended(self) -> None:
        """The bridge that had the links has ended: ranks that wait for other nodes must not wait for ever."""
        with self._lock:
            for number, one in self._links.items():
                if not one.over:
                    self._cut(one.identity, _ENDED)
                    one.over = True
                    self._note_link(number, one)

    # -- parts, with the lock ---------------------------------------------------------------------

    def _remote_sessions(self) -> Set[int]:
        """Returns the sessions of other nodes that are in one job with sessions of this one."""
        connected = self._jobs.connected(self._slots)
        return {one for one in connected if node_of(one) != self._number}

    def _connect(self, sessions: Set[int], besides: Mapping[int, Any]) -> None:
        """Tells the bridge with which nodes it is to be connected, if that has changed; besides: others."""
        found = [self._peer(number) for number in {node_of(one) for one in sessions}]
        peers = {**besides, **{one.number: one for one in found if one is not None}}
        if peers != self._peers:
            named = [peers[number] for number in sorted(peers)]
            self._bridge.call("SetPeers", bridge_pb2.SetPeersRequest(peers=named))
            self._peers = peers

    def _enter(self, sessions: Set[int], linked: Sequence[LocalCommunicator]) -> list[LinkError]:
        """Gives slots to the sessions of other nodes in jobs of this one, also to those with which no rank here shares
        a communicator: boundaries of others count only where these are seen. Returns why some have none."""
        names: dict[int, list[bytes]] = {}
        for one in linked:
            for rank in one.elsewhere - one.ends.keys():
                names.setdefault(one.seats[rank], []).append(one.unique_id)
        names |= {session: [] for session in sorted(sessions - names.keys())}
        failures = []
        for session, unique_ids in names.items():
            if (mirror := self._mirror_of(session)) is not None:
                self._board.enter(mirror.slot, session, mirror.epoch, unique_ids)
            else:
                failures.append(LinkError(f"the jobs of this node have more than {len(_MIRRORS)} ranks on other nodes"))
        return failures

    def _mirror_of(self, session: int) -> Mirror | None:
        """Returns the session's slot, a new one if it has none; None: all are taken."""
        mirror = self._mirrors.get(session)
        if mirror is None:
            used = {one.slot for one in self._mirrors.values()}
            free = next((slot for slot in _MIRRORS if slot not in used), None)
            if free is None:
                return None
            mirror = self._mirrors[session] = Mirror(free)
            self._note(session, mirror)
        return mirror

    def _link(self, number: int, one: LocalCommunicator) -> LinkError | None:
        """Links a communicator whose ranks all have slots, unless it is linked. Returns why it cannot be linked."""
        known = self._links.get(number)
        there = {one.seats[rank] for rank in one.elsewhere - one.ends.keys()}
        if (known is not None and (known.told or known.over)) or not there <= self._mirrors.keys():
            return None
        assert one.segment is not None
        linked = self._links[number] = Linked(one.segment.identity)
        self._note_link(number, linked)  # before: a bridge may end any time
        try:
            self._bridge.call("Link", self._link_request(number, one))
            linked.told = True
        except LinkError as error:
            return error
        return None

    def _unlink(self, number: int) -> None:
        if not self._links[number].over:
            self._bridge.call("Unlink", bridge_pb2.UnlinkRequest(link=number))
        del self._links[number]
        self._log.delete(f"{_LINKS}{number}")

    def _leave(self, sessions: Set[int]) -> None:
        """Frees the slots of sessions that are in no job of this node any more."""
        gone = {session: one for session, one in self._mirrors.items() if session not in sessions}
        if not gone:
            return
        for session in gone:
            del self._mirrors[session]
        self._show()  # then nobody writes there
        for session, mirror in gone.items():
            self._board.leave(mirror.slot)
            self._log.delete(f"{_KEY}{session}")

    def _show_if_there(self) -> None:
        """Does that if there is a bridge: without one nobody writes to a slot, and the next one is told everything."""
        try:
            if self._bridge.pid:
                self._show()
        except LinkError:
            if self._bridge.pid:
                raise

    def _show(self) -> None:
        """Tells the bridge which slots are shown to whom, if that has changed."""
        request = bridge_pb2.MirrorRequest()
        for session, slot in sorted(self._slots.items()):
            peers = {node_of(one) for one in self._jobs.connected([session])} - {self._number}
            if peers:
                request.shown.add(slot=slot, session=session, peers=sorted(peers))
        for session, mirror in sorted(self._mirrors.items()):
            request.mirrored.add(slot=mirror.slot, session=session, peer=node_of(session), epoch=mirror.epoch)
        if request != self._shown:
            self._bridge.call("Mirror", request)
            self._shown = request

    def _link_request(self, number: int, one: LocalCommunicator) -> Any:
        assert one.segment is not None
        request = bridge_pb2.SegmentRequest(
            link=number, identity=one.segment.identity, segment_bytes=one.segment.size, ranks=one.ranks,
            here=sorted(one.own),
        )  # fmt: skip
        for peer in sorted({node_of(one.seats[rank]) for rank in one.elsewhere}):
            ranks = sorted(rank for rank in one.elsewhere if node_of(one.seats[rank]) == peer)
            request.elsewhere.add(peer=peer, ranks=ranks)
        return request

    def _note(self, session: int, mirror: Mirror) -> None:
        self._log.put(f"{_KEY}{session}", [mirror.slot, mirror.epoch])

    def _note_link(self, number: int, one: Linked) -> None:
        self._log.put(f"{_LINKS}{number}", [one.identity, one.over])
