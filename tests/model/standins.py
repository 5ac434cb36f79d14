"""What the real recovery is given in place of processes and sockets.

Called by: service.py. Promises: nothing here decides anything; a wait ends the run (`Wait`) when there is nothing more
to hear; whether a worker lives is what the world said with its newest word.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import grpc

from jitc.proxy.node.session import Session
from jitc.proxy.ranks.cuts import RankHistory, Tally
from jitc.proxy.ranks.events import Event, EventQueue, FaultReported, WorkerDied
from jitc.proxy.ranks.rank import NotLed, Overtaken
from jitc.proxy.ranks.states import SessionState
from jitc.proxy.recovery import replay as replay_module
from jitc.v1 import worker_pb2

from .nodes.state import NOBODY
from .state import Call, Shape
from .worker import history

BLOCK = {"address": 4096, "bytes": 8, "ordinal": 1}


class Wait(BaseException):
    """The service has nothing more to do until it hears something."""


class CallFailed(grpc.RpcError):  # type: ignore[misc]
    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE


class Future:
    """A call's answer, when it has come."""

    def __init__(self, call: Call) -> None:
        self.call, self.answer, self.error, self.callbacks = call, None, None, list[Callable[[Any], None]]()

    def done(self) -> bool:
        return self.answer is not None or self.error is not None

    def exception(self) -> Exception | None:
        return self.error

    def result(self) -> Any:
        return self.answer

    def details(self) -> str:
        return "it failed"

    def cancelled(self) -> bool:
        return False

    def cancel(self) -> None:
        """The call stays on its way; nobody waits for it any more."""

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        if self.done():
            callback(self)
        else:
            self.callbacks.append(callback)

    def finish(self, answer: Any, error: Exception | None) -> None:
        self.answer, self.error = answer, error
        for one in self.callbacks:
            one(self)


class Told:
    """What the world says, in order; and what the service does about it."""

    def __init__(self, inputs: list[Any]) -> None:
        self._inputs = inputs
        self.registry: Any = None
        self.events: Any = None
        self.recovery: Any = None
        self.dead: frozenset[int] = frozenset()
        self.open: dict[Call, Future] = {}
        self.replies: list[tuple[Call, Any]] = []
        self.replay_over = False
        self.wants: int | None = None  # over nodes: a newer epoch than this one is asked for
        self._reset()

    def _reset(self) -> None:
        self.calls: list[Call] = []
        self.killed: set[tuple[int, int]] = set()
        self.decisions: list[str] = []
        self.ends: tuple[int, ...] | None = None

    def next(self) -> str:
        """Takes in the next input; raises Wait when there is none."""
        if not self._inputs:
            raise Wait
        self._reset()  # what was done before belongs to the nodes before
        self.registry.new = [set() for _ in self.registry.new]
        (kind, *what), self.dead = self._inputs.pop(0)
        if kind == "reply":
            call, answer = what
            self.replies.append((call, answer))
            self.open.pop(call).finish(*_message(call, answer, self.registry.shape))
        elif kind == "replayed":
            self.replay_over = True
        elif kind == "death":
            self.registry.ended.add(tuple(what))
            self.events.add(self.registry.worker(*what))
        elif kind == "fault":
            self.events.fails(self.registry.sessions[what[0]], *what[1:])
        elif kind == "epoch":
            self.registry.epoch, self.wants = what[0], None
        elif kind == "not led":
            raise NotLed("another node leads this job")
        return str(kind)

    def wait_for_event(self) -> Event:
        while True:
            self.open.clear()  # a recovery that is over waits for nothing
            self.next()
            event = self.events.first()
            if event is not None:
                return event

    def begin(self, epoch: int) -> None:
        """An attempt: what the one before waited for is over."""
        self.replay_over = False
        self.open = {call: one for call, one in self.open.items() if call.epoch >= epoch}


class Events(EventQueue):
    """The real queue; its wait ends the run when nothing is left to hear."""

    def __init__(self, told: Told) -> None:
        super().__init__()
        self._told = told

    def add(self, worker: Any) -> None:
        session = self._told.registry.on_worker(worker)
        self._queue.append(WorkerDied(worker, 0.0, session))

    def fails(self, session: Any, epoch: int, op: int) -> None:
        """An op of this rank has failed, as its home reports."""
        if epoch >= session.epoch:  # as the table of documents does
            self._told.registry.stopped[session.number] = True  # as the coordinator does, should another node lead
            self._queue.append(FaultReported(session, op, 1, "collective-error", "the nodes are cut off", epoch))

    def first(self) -> Event | None:
        return self._queue.pop(0) if self._queue else None

    def unread(self) -> list[tuple[int, ...]]:
        died = [(one.worker.gpu, one.worker.number) for one in self._queue if isinstance(one, WorkerDied)]
        failed = [one for one in self._queue if isinstance(one, FaultReported)]
        return [*died, *((one.session.number, one.sequence, one.epoch) for one in failed)]

    def wait(self, done: Callable[[], bool], broken: Callable[[Any], bool], timeout: float) -> bool:
        replays = timeout == replay_module.POLL
        while not (done() or any(broken(one) for one in self._queue)):
            if replays:
                self._told.ends = self._told.registry.replay_ends(self._told.recovery)
            if self._told.next() == "replayed" and replays:
                return False  # it looks how far the replay is
        return done()


class Worker:
    """A worker process as the service sees it."""

    def __init__(self, told: Told, rank: int, number: int) -> None:
        self._told, self.gpu, self.number = told, rank, number
        self.cause, self.message, self.noticed_dead, self.unhealthy_since = "worker-death", "", 0.0, 0.0
        self.replaced, self.node = False, ""

    def alive(self) -> bool:
        registry = self._told.registry
        newest = registry.newest[self.gpu]
        if registry.is_remote(self.gpu):
            return newest == self.number and (self.gpu, self.number) not in registry.ended
        if newest != self.number or (self.gpu, self.number) in self._told.registry.killed:
            return False
        return self.gpu not in self._told.dead or self.number in self._told.registry.new[self.gpu]

    def works(self) -> bool:
        """Its end takes no time, on this node."""
        return self.alive() and (self.gpu, self.number) not in self._told.registry.killed

    def starved(self) -> str:
        """No worker of the model ends for want of memory."""
        return ""

    def kill(self) -> None:
        registry = self._told.registry
        if registry.is_remote(self.gpu) and self.works():
            registry.asks(Call(self.gpu, self.number, "EndWorker", registry.epoch))
        registry.killed.add((self.gpu, self.number))
        if not registry.is_remote(self.gpu):
            self._told.killed.add((self.gpu, self.number))

    def finish(self) -> None:
        """It has been told to end."""

    def replace(self) -> None:
        self.replaced = True
        self.kill()

    def ends_within(self, seconds: float) -> bool:
        return not self.alive()

    def close(self) -> None:
        pass

    def ask(self, method: str, request: Any, seconds: float, patient: bool = False) -> Future:
        told = hasattr(request, "epoch")
        epoch = self._told.registry.epoch  # also of a request that does not name it
        return self._told.registry.asks(
            Call(self.gpu, self.number, method, epoch, int(getattr(request, "boundary", 0)), told), answered=True
        )


class Registry:
    """Sessions with the real table of states; also what recoveries ask spares, policies, limits, injected faults."""

    def __init__(self, idle: Any, told: Told, shape: Shape) -> None:
        self.changed = threading.Condition()
        self.shared = SimpleNamespace(segment_bytes=lambda ranks: 4096)
        self.epoch, self._told, self.shape = idle.epoch, told, shape
        self.newest = list(idle.workers)
        self.new: list[set[int]] = [set() for _ in idle.workers]  # started since the world's newest word
        self.killed: set[tuple[int, int]] = set()
        self.gpus = list(range(shape.ranks))
        self._workers: dict[tuple[int, int], Worker] = {}
        self.sessions: dict[int, Session] = {}
        self._node, self._terms = idle.node, idle.terms
        self.stopped = list(idle.stopped) or [False] * shape.ranks
        self.ended: set[tuple[int, int]] = set(idle.ended)
        for rank, number in enumerate(idle.workers):
            session = Session(rank, "", rank, 0, rank, shape.ranks, "job", rank, None, 0)  # type: ignore[arg-type]
            session.machine.state = SessionState(idle.states[rank])
            session.worker, session.epoch = self.worker(rank, number), idle.epochs[rank]  # type: ignore[assignment]
            self.sessions[rank] = session

    def worker(self, rank: int, number: int) -> Worker:
        return self._workers.setdefault((rank, number), Worker(self._told, rank, number))

    def new_worker(self, rank: int) -> Worker:
        self.newest[rank] += 1
        self.new[rank].add(self.newest[rank])
        return self.worker(rank, self.newest[rank])

    def is_remote(self, rank: int) -> bool:
        return self._node != NOBODY and self.shape.home(rank) != self._node

    def asks(self, call: Call, answered: bool = False) -> Future:
        """Makes a call; over nodes it says who asks, and what the home has to know. answered: somebody waits for it."""
        if self._node != NOBODY:
            one = self.sessions[call.rank]
            note = (one.epoch, one.state.value, self.stopped[call.rank])
            call = call._replace(leader=self._node, term=self._term(call.rank), note=note)
        future = Future(call)
        if answered:
            self._told.open[call] = future
        self._told.calls.append(call)
        return future

    def concerned(self, event: Event) -> Session | None:
        return self.on_worker(event.worker) if isinstance(event, WorkerDied) else event.session  # type: ignore[union-attr, arg-type, return-value]

    def on_worker(self, worker: Worker) -> Session | None:
        return next((one for one in self.sessions.values() if one.worker is worker), None)  # type: ignore[comparison-overlap]

    def awaits(self, seeds: list[Session]) -> str:
        """Nothing: all ranks are of this node."""
        return ""

    def placed(self, places: Any, epoch: int) -> list[Future]:
        """Tells each node where the ranks of others stand."""
        if self._node == NOBODY:
            return []
        first = {self.shape.home(rank): rank for rank in sorted(places, reverse=True)}
        found = []
        for node, rank in sorted(first.items()):
            others = tuple(sorted((one, at) for one, at in places.items() if self.shape.home(one) != node))
            found.append(self.asks(Call(rank, 0, "Place", epoch, places=others), answered=True))
        return found

    def group(self, seeds: list[Session]) -> list[Session]:
        known = [one for number, one in self.sessions.items() if not self.is_remote(number) or self._term(number)]
        return known if seeds else []

    def _term(self, rank: int) -> int:
        """In which this node leads the rank; 0: its home has told nothing."""
        return self._terms[self.shape.home(rank)]

    def job_of(self, session: Session) -> str:
        return "job"

    def next_epoch(self, ranks: Any) -> int:
        if self._node == NOBODY:
            self.epoch += 1
        else:
            self._told.wants = self.epoch
            while self._told.wants is not None:
                self._told.next()
        self._told.begin(self.epoch)
        return self.epoch

    def renew_communicators(self, group: list[Session]) -> None:
        pass

    def release(self, session: Session) -> None:
        pass

    def transfer_memory(self, name: str, size: int, between: Any) -> Any:
        return SimpleNamespace(number=1, size=size, prepare=tuple, carry=lambda *_: None, close=lambda: None)

    def stop(self, sessions: list[Session], stopped: bool) -> None:
        """On one node, a service that begins anew recovers everything. Over nodes, homes know what waits for a
        recovery."""
        for one in sessions if self._node != NOBODY else ():
            self.stopped[one.number] = stopped
            if not stopped and self.is_remote(one.number):
                self.asks(Call(one.number, 0, "Note", one.epoch))

    def note(self, *sessions: Session) -> None:
        pass

    # -- as replacements ----------------------------------------------------------------------------

    def replace(self, session: Session, notes: list[str], wanted: Callable[[], None]) -> None:
        wanted()
        if not self.is_remote(session.number):
            session.worker = self.new_worker(session.gpu)  # type: ignore[assignment]
            return
        future = self.asks(Call(session.number, 0, "Replace", session.epoch), answered=True)
        while not future.done():
            self._told.next()
            wanted()
        if future.exception() is not None:
            raise Overtaken("its home has made none")
        self.newest[session.number] = future.result()
        session.worker = self.worker(session.number, future.result())  # type: ignore[assignment]

    # -- as policies, tolerances, injected faults ---------------------------------------------------

    def peer_mode(self, group: list[Session]) -> bool:
        return self.shape.peer_mode

    def restored(self, group: list[Session], restore: Any, boundaries: Any) -> None:
        self._told.decisions.append(f"epoch {self.epoch}: {self._told.recovery.decision.text()}")

    def restore(self, lost: list[Session]) -> None:
        pass

    def bound(self, group: list[Session]) -> float:
        return 0.0

    def session_rebuilt(self, session: Session) -> None:
        pass

    def replayed(self, session: Session) -> tuple[int, bool]:
        """Where the world says that a replay is over it is; before that nobody has come far."""
        return (1 << 30 if self._told.replay_over else 0), False

    def replay_ends(self, recovery: Any) -> tuple[int, ...]:
        return tuple(recovery._replay_end(one) for one in self.sessions.values())


def _message(call: Call, answer: Any, shape: Shape) -> tuple[Any, Exception | None]:
    """What a worker answered, as the message that the recovery reads."""
    kind, *what = answer
    if kind == "error":
        return None, CallFailed()
    if kind == "home":
        return what[0], None
    if kind == "position":
        names = ("committed", "prepared", "reached", "begun", "executed", "received")
        *counts, kept = what
        position = worker_pb2.Position(**dict(zip(names, counts, strict=True)))
        _fill(position.history, history(shape, call.rank, kept))
        return position, None
    if kind == "table":
        return worker_pb2.BoundaryTableReply(boundary=call.boundary, rows=[_row(call.boundary)]), None
    complete, missing = what
    reply = worker_pb2.RecoverReply(complete=complete, message="" if complete else "it says why")
    [(_, place)] = history(shape, call.rank, [call.boundary]).kept
    _fill_tally(reply.tally, place)
    if missing:
        skipped = call.method == "SkipStep"
        row = _row(call.boundary)
        reply.missing.add(**BLOCK, hash=b"" if skipped else row.hash, hash_before_step=row.hash_before_step)
    return reply, None


def _fill(message: Any, history: RankHistory) -> None:
    for number, tally in history.kept:
        _fill_tally(message.kept.add(number=number).tally, tally)
    _fill_tally(message.now, history.now)


def _fill_tally(message: Any, tally: Tally) -> None:
    for one in tally.memberships:
        message.memberships.add(communicator=one.communicator, collectives=one.collectives, rank=one.rank)


def _row(boundary: int) -> Any:
    return worker_pb2.BlockRow(**BLOCK, hash=_hash(boundary), hash_before_step=_hash(boundary - 1))


def _hash(boundary: int) -> bytes:
    return bytes([boundary + 1]) * 16
