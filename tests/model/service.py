"""The service: the real recovery, run again and again with what the world tells it.

Called by: network.py. The real `Recovery`, `WorkerCalls`, `Restore`, `Replay`, `Incident`, `decide` and the real tables
of sessions and phases run here; only processes, sockets and clocks are stand-ins. A service is a *node*: what it has
heard since it last had nothing to do. To hear one thing more, the recovery runs again from there on and is told the
same, then the new thing; it stops where it would wait. Promises: deterministic; two nodes that hold the same are one,
and `fingerprint` lists what that is.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from jitc.proxy.common.state_machine import ImpossibleEvent
from jitc.proxy.ranks.events import Event
from jitc.proxy.ranks.rank import NotLed
from jitc.proxy.ranks.states import REACHABLE, SessionState
from jitc.proxy.recovery import recovery as recovery_module
from jitc.proxy.recovery.incident import Incident
from jitc.proxy.recovery.leaving import end_half_restored
from jitc.proxy.recovery.limits import Limits

from .nodes.state import NOBODY
from .standins import Events, Registry, Told, Wait
from .state import Call, Shape, Violation

#: What the service hears: a reply (call, what), a death (rank, worker), that a replay has got there.
Input = tuple[Any, ...]


class Idle(NamedTuple):
    """All that a service without a recovery holds; in part what its registry would have in a log."""

    epoch: int = 0
    workers: tuple[int, ...] = ()
    states: tuple[str, ...] = ()
    epochs: tuple[int, ...] = ()
    restarted: bool = False  # it begins with a recovery of everything
    # Over nodes alone:
    node: int = NOBODY  # where it is
    terms: tuple[int, ...] = ()  # in which it leads, by node
    stopped: tuple[bool, ...] = ()  # ranks that wait for a recovery
    ended: frozenset[tuple[int, int]] = frozenset()  # workers of other nodes whose end it has heard of


@dataclass(frozen=True)
class Node:
    """A service at rest: where it waits, and what it did since the node before."""

    idle: Idle
    history: tuple[Input, ...]
    states: tuple[str, ...]
    workers: tuple[int, ...]
    epoch: int
    epochs: tuple[int, ...]
    awaited: frozenset[Call] = frozenset()
    calls: tuple[Call, ...] = ()  # made on the way here
    killed: frozenset[tuple[int, int]] = frozenset()
    ends: tuple[int, ...] | None = None  # of a replay that it waits for
    decisions: tuple[str, ...] = ()
    recovering: bool = False
    phase: str = ""
    failure: str = ""  # the job has been given up
    stopped: tuple[bool, ...] = ()
    wants: int | None = None  # an epoch newer than this one
    left: bool = False  # it is not led here

    def reachable(self, rank: int) -> bool:
        return SessionState(self.states[rank]) in REACHABLE


class Service:
    """All services that there can be, by number."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.nodes: list[Node] = []
        self._numbers: dict[Any, int] = {}
        self._next: dict[tuple[int, Input, frozenset[int]], int] = {}
        serving = SessionState.SERVING.value
        idle = Idle(0, (1,) * shape.ranks, (serving,) * shape.ranks, (0,) * shape.ranks)
        if shape.nodes > 1:
            terms = tuple(int(one > 0) for one in range(shape.nodes))
            idle = idle._replace(node=0, terms=terms, stopped=(False,) * shape.ranks)
        self.first = self._number(Node(idle, (), idle.states, idle.workers, 0, idle.epochs), ())

    def hears(self, number: int, what: Input, dead: frozenset[int]) -> int:
        """The node after this input; dead: ranks whose worker is dead now."""
        key = (number, what, dead)
        if key not in self._next:
            node = self.nodes[number]
            self._next[key] = self._run(node.idle, (*node.history, (what, dead)))
        return self._next[key]

    def restarts(self, number: int, dead: frozenset[int]) -> int:
        """Another service process: it has what a log would keep, and fences everything in a newer epoch."""
        node = self.nodes[number]
        idle = Idle(node.epoch, node.workers, node.states, node.epochs, restarted=True)
        return self._run(idle, ((("restart",), dead),))

    def takes(self, idle: Idle, dead: frozenset[int]) -> int:
        """A service that begins to lead, with what the homes of all ranks have told it."""
        return self._run(idle._replace(restarted=True), ((("restart",), dead),))

    def _number(self, node: Node, fingerprint: Any) -> int:
        key = (fingerprint, node.states, node.workers, node.epoch, node.epochs, node.awaited, node.ends, node.calls,
               node.killed, node.decisions, node.phase, node.failure, node.stopped, node.wants, node.left,
               node.idle.node, node.idle.terms)  # fmt: skip
        if key not in self._numbers:
            self._numbers[key] = len(self.nodes)
            self.nodes.append(node)
        return self._numbers[key]

    def _run(self, idle: Idle, history: tuple[Input, ...]) -> int:
        run = Run(self.shape, idle, history)
        with quiet():
            run.go()
        return self._number(*run.result())


@dataclass
class Run:
    """The recovery, from when the service last had nothing to do, up to where it waits."""

    shape: Shape
    idle: Idle
    history: tuple[Input, ...]
    decisions: list[str] = field(default_factory=list)
    attempts: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.told = Told(list(self.history))
        self.registry = Registry(self.idle, self.told, self.shape)
        self.events = Events(self.told)
        self.recovery: Any = None
        self.failure = ""
        self.left = False

    def go(self) -> None:
        """As the coordinator: a recovery at a time; what it leaves unread comes next."""
        self.told.registry, self.told.events = self.registry, self.events
        try:
            if self.idle.restarted:
                self.told.next()
                self._restart()
            while True:
                event = self.events.first()
                if event is None:
                    event = self.told.wait_for_event()
                session = self.registry.concerned(event)
                if session is not None:
                    self._recover([session], event)
        except Wait:
            pass
        except NotLed:
            self.left = True
        except ImpossibleEvent as error:
            raise Violation(f"the service does what its tables do not have: {error}") from None
        except Exception as error:  # as a job's thread does: a defect ends the job
            raise Violation(f"the recovery has a defect: {type(error).__name__}: {error}") from None

    def _recover(self, sessions: list[Any], event: Event | None) -> None:
        incident = Incident()
        limits = Limits()
        if event is not None:
            incident.add(replace(event, session=sessions[0]), limits)  # type: ignore[call-arg]
        incident.involve(sessions)
        self.recovery = recovery_module.Recovery(
            self.registry, self.registry, incident, faults=self.registry, policies=self.registry, limits=limits,
            tolerances=self.registry, events=self.events,
        )  # fmt: skip
        self.told.recovery = self.recovery
        self.recovery.run()
        if self.recovery.failure:
            self.failure = self.recovery.failure
            raise Wait  # for ever
        self.registry.stop(self.recovery.involved(), False)
        self.recovery = self.told.recovery = None

    def _restart(self) -> None:
        """Whoever was without a worker may have half of its memory: it is replaced, as after an interruption."""
        sessions = list(self.registry.sessions.values())
        end_half_restored(sessions)
        if self.idle.node == NOBODY:
            self._recover(sessions, None)
        elif stopped := [one for one in sessions if self.registry.stopped[one.number]]:
            self._recover(stopped, None)

    def result(self) -> tuple[Node, Any]:
        registry, told = self.registry, self.told
        sessions = list(registry.sessions.values())
        node = Node(
            self.idle,
            self.history,
            tuple(one.state.value for one in sessions),
            tuple(one.worker.number for one in sessions),
            registry.epoch,
            tuple(one.epoch for one in sessions),
            frozenset(told.open if self.recovery is not None else ()),
            tuple(told.calls),
            frozenset(told.killed),
            told.ends,
            tuple(told.decisions),
            self.recovery is not None,
            self.recovery.timeline.machine.state.value if self.recovery else "",
            self.failure,
            tuple(registry.stopped),
            told.wants,
            self.left,
        )
        if self.recovery is None and not self.events.unread():
            fresh = self.idle._replace(
                epoch=node.epoch, workers=node.workers, states=node.states, epochs=node.epochs, restarted=False,
                stopped=node.stopped if self.idle.node != NOBODY else (), ended=frozenset(registry.ended),
            )  # fmt: skip
            return replace(node, idle=fresh, history=(), recovering=False, phase="", failure=""), fresh.ended
        return node, self.fingerprint()

    def fingerprint(self) -> Any:
        """Everything that what the service does next depends on, beside what the node has."""
        recovery = self.recovery
        if recovery is None:
            return tuple(self.events.unread())
        replies = frozenset((call, what) for call, what in self.told.replies if call.epoch == self.registry.epoch)
        return (
            tuple(self.events.unread()), frozenset(recovery._lost), frozenset(recovery._suspect), replies,
            tuple(one.number for one in recovery.group), str(recovery.decision), recovery.failure,
            frozenset(self.registry.ended),
        )  # fmt: skip


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """What the recovery prints for users is not read here."""
    with open("/dev/null", "w") as nowhere:
        before, sys.stderr = sys.stderr, nowhere
        try:
            yield
        finally:
            sys.stderr = before
