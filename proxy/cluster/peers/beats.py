"""Beats: every half second this node says to each other one that it lives, and hears the same; and what both promise.

A promise is "for so long I take part in no decision without you". The answer to a beat has one. The node that called
counts it from before it sent the beat; the one that answered counts it from its answer on. So a promise holds for
longer than anybody relies on it, whatever the network does, and clocks need not agree; they may drift apart by 1 %.

Called by: the service, which starts it; server.py (`answer`); what decides over nodes reads `seen`. Promises: a node
that is not heard for SUSPECT_SECONDS is suspected, and nothing follows from that here but a call of `changed`; a node
that was stopped itself hears others before it suspects them; one beat to a node is in flight at a time; a promise is
noted before it is given, and one that an earlier service of this node may have given counts as given; no exception ends
the thread, or a callback, and no lock is held while `state` or `changed` runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, Protocol

from jitc.v1 import peer_pb2

from ...common.complaints import Complaints
from ...common.rounds import Rounds
from .link import PeerError

EVERY_SECONDS = 0.5
SUSPECT_SECONDS = 2.0
PROMISE_SECONDS = 3.0
#: By how much one clock may be faster than another one.
DRIFT = 0.01
#: Jobs that a node says it has sessions of, and characters of a job's key.
JOBS_MOST, KEY_MOST = 4096, 256


class Clock(Protocol):
    """Seconds that go on while the machine sleeps (CLOCK_BOOTTIME)."""

    def now(self) -> float: ...


class Links(Protocol):
    """Links to other nodes (client.py)."""

    def nodes(self) -> list[str]: ...

    def ask(self, node: str, method: str, request: Any, seconds: float) -> Future[Any]: ...


@dataclass(frozen=True)
class Seen:
    """The view that this node has of another one, by its own clock."""

    since: float  # when it was linked
    heard: float | None = None  # last; None: never
    suspected: bool = False
    state: peer_pb2.NodeState | None = None
    #: Until when its promise to this node holds.
    holds: float = 0.0

    @property
    def reachable(self) -> bool:
        return self.heard is not None and not self.suspected

    def silence(self, now: float) -> bool:
        """Returns whether it has been silent for too long."""
        return now - (self.since if self.heard is None else self.heard) > SUSPECT_SECONDS


class Beats:
    """The beats of this node. state: returns what they carry; changed: is called with the name of a node that has
    become suspected or reachable, in a thread that it must not block for long."""

    def __init__(
        self, links: Links, clock: Clock, state: Callable[[], peer_pb2.NodeState], changed: Callable[[str], None]
    ) -> None:
        self._links, self._clock, self._state, self._changed = links, clock, state, changed
        self._lock = threading.Lock()
        self._nodes: dict[str, Seen] = {}
        self._flying: set[str] = set()
        self._promised: dict[str, float] = {}
        self._started = self._ticked = clock.now()
        self._excused = False
        self._rounds = Rounds("jitc-beats", EVERY_SECONDS, self.tick)
        self._complaints = Complaints("jitc-beats")

    def start(self) -> None:
        self._rounds.start()

    def stop(self) -> None:
        self._rounds.stop()

    # -- what is known --------------------------------------------------------------------------------

    def seen(self, node: str) -> Seen | None:
        """Returns what is known of a node; None: it is not linked."""
        with self._lock:
            return self._nodes.get(node)

    def holds(self, node: str) -> float:
        """Returns until when a node's promise to this one holds."""
        found = self.seen(node)
        return found.holds if found else 0.0

    def promised(self, node: str) -> float:
        """Returns until when this node is bound by what it has promised to another one."""
        bound = self._started + PROMISE_SECONDS * (1 + DRIFT)  # by an earlier service of this node
        with self._lock:
            return max(bound, self._promised.get(node, 0.0))

    # -- what happens ---------------------------------------------------------------------------------

    def tick(self) -> None:
        """Sends what is due, and finds out who is silent. The thread calls it every EVERY_SECONDS."""
        request = peer_pb2.BeatRequest(state=self._state())
        for node in self._due(self._links.nodes()):
            self._send(node, request)
        for node in self._silent():
            self._report(node)

    def answer(self, node: str, request: peer_pb2.BeatRequest) -> peer_pb2.BeatReply:
        """Answers a node's beat. Raises ValueError for one that nobody sends."""
        check(request.state)
        self._hear(node, request.state)
        with self._lock:
            self._promised[node] = self._clock.now() + PROMISE_SECONDS * (1 + DRIFT)
        return peer_pb2.BeatReply(state=self._state(), promise_ms=int(PROMISE_SECONDS * 1000))

    def _due(self, linked: list[str]) -> list[str]:
        """Returns the nodes to which no beat is in flight, and forgets those that are no longer linked."""
        now = self._clock.now()
        with self._lock:
            self._nodes = {node: self._nodes.get(node) or Seen(now) for node in linked}
            self._promised = {node: until for node, until in self._promised.items() if until > now}
            due = [node for node in linked if node not in self._flying]
            self._flying |= set(due)
        return due

    def _send(self, node: str, request: peer_pb2.BeatRequest) -> None:
        sent = self._clock.now()
        try:
            answer = self._links.ask(node, "Beat", request, SUSPECT_SECONDS)
        except Exception as error:
            self._landed(node)
            self._complain(error)
            return
        answer.add_done_callback(lambda done: self._answered(node, sent, done))

    def _answered(self, node: str, sent: float, answer: Future[Any]) -> None:
        self._landed(node)
        try:
            reply = answer.result()
            check(reply.state)
            self._hear(node, reply.state, sent + reply.promise_ms / 1000 * (1 - DRIFT) if reply.promise_ms else 0.0)
        except PeerError:  # it is silent, as `tick` will find
            pass
        except Exception as error:
            self._complain(error)

    def _landed(self, node: str) -> None:
        with self._lock:
            self._flying.discard(node)

    def _hear(self, node: str, state: peer_pb2.NodeState, holds: float = 0.0) -> None:
        """Notes that a node lives. holds: until when its promise does."""
        now = self._clock.now()
        with self._lock:
            before = self._nodes.get(node)
            if before is None:  # it has linked this node, and this one does not know it yet
                return
            self._nodes[node] = replace(before, heard=now, suspected=False, state=state, holds=max(before.holds, holds))
        if not before.reachable:
            self._report(node)

    def _silent(self) -> list[str]:
        """Returns the nodes that are suspected from now on. A round that comes late finds all nodes silent, and leaves
        it to the next one."""
        now = self._clock.now()
        late, self._ticked = now - self._ticked > SUSPECT_SECONDS, now
        self._excused = late and not self._excused
        with self._lock:
            silent = [node for node, one in self._nodes.items() if not one.suspected and one.silence(now)]
            found = [] if self._excused else silent
            self._nodes |= {node: replace(self._nodes[node], suspected=True) for node in found}
        return found

    def _report(self, node: str) -> None:
        try:
            self._changed(node)
        except Exception as error:
            self._complain(error)

    def _complain(self, error: Exception) -> None:
        with self._lock:
            self._complaints.of(error)


def check(state: peer_pb2.NodeState) -> None:
    """Raises ValueError for a state that is larger than any node's."""
    if len(state.jobs) > JOBS_MOST or any(len(one.job) > KEY_MOST for one in state.jobs):
        raise ValueError(f"a node has at most {JOBS_MOST} jobs, with keys of at most {KEY_MOST} characters")
