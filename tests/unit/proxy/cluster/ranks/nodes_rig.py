"""Nodes of a cluster in the test's process: each with a registry, a coordinator and all that recovers jobs over nodes.

Registry, coordinator, recovery and everything under test are real. Workers are scripted (scripted_worker.py); the store
is a few fields; links are calls in threads, which the test can cut, or have happen without an answer.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
from google.protobuf.message_factory import GetMessageClass
from scripted_worker import Kept, ScriptedWorker
from toolkit.waiting import until

from jitc.proxy.cluster.peers.link import PeerError
from jitc.proxy.cluster.ranks.assembly import JobsOverNodes
from jitc.proxy.cluster.ranks.joining import Joining
from jitc.proxy.cluster.ranks.leader.session import RemoteSession
from jitc.proxy.cluster.ranks.leadership import NotLeader
from jitc.proxy.cluster.store.engine import StoreError
from jitc.proxy.common.config import Config
from jitc.proxy.common.executor import Shared
from jitc.proxy.keeper.log import Log
from jitc.proxy.node.fault_injector import FaultInjector
from jitc.proxy.node.registry import Registry
from jitc.proxy.node.session import Session
from jitc.proxy.ranks.numbers import node_of
from jitc.proxy.ranks.rank import NoWorker
from jitc.proxy.ranks.states import SessionEvent, SessionState
from jitc.proxy.recovery.coordinator import Coordinator
from jitc.v1 import peer_pb2

SECONDS = 30.0
_METHODS = peer_pb2.DESCRIPTOR.services_by_name["Peer"].methods_by_name


class Store:
    """What all nodes agree on: one job, who leads it, and its newest epoch."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.leader: str | None = None
        self.job: set[int] = set()
        self.epoch = 0
        self.given: list[tuple[str, int]] = []  # epochs, with the node that has got each
        self.down = False
        self.refused = 0
        self.views: list[View] = []

    def lead(self, node: str | None) -> None:
        with self.lock:
            self.leader = node
        self.tell()

    def connect(self, *sessions: int) -> None:
        with self.lock:
            self.job |= set(sessions)
        self.tell()

    def tell(self) -> None:
        for one in list(self.views):
            one.tell()


class View:
    """The store as one node sees it (leadership.Jobs). late: it sees this leader instead of the one in the store."""

    def __init__(self, store: Store, node: str, number: int) -> None:
        self.store, self.node, self.number = store, node, number
        self.late: str | None = None
        self.followers: list[Callable[[], None]] = []
        store.views.append(self)

    def leader_of(self, session: int) -> str | None:
        with self.store.lock:
            if session not in self.store.job:
                return self.node_of(session)
            return self.late or self.store.leader

    def connected(self, sessions: Iterable[int]) -> set[int]:
        found = set(sessions)
        with self.store.lock:
            return found | self.store.job if found & self.store.job else found

    def node_of(self, session: int) -> str:
        return f"n{node_of(session)}"

    def next_epoch(self, sessions: Collection[int], at_least: int) -> int:
        with self.store.lock:
            if self.store.down:
                raise StoreError("no member of the store answers")
            if self.store.leader != self.node:
                self.store.refused += 1
                raise NotLeader("another node leads this job")
            self.store.epoch = 1 + max(at_least, self.store.epoch)
            self.store.given.append((self.node, self.store.epoch))
            return self.store.epoch

    def follow(self, callback: Callable[[], None]) -> None:
        self.followers.append(callback)

    def tell(self) -> None:
        for one in list(self.followers):
            one()


class Wires:
    """The links between nodes. A call is made in a thread, with what travels as bytes."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.cuts: set[frozenset[str]] = set()
        self.mute: set[tuple[str, str]] = set()  # from, to: calls happen there, and nothing comes back
        self.calls: list[tuple[str, str, str]] = []
        self.before: Callable[[str, str, str, Any], None] = lambda node, other, method, request: None
        self._pool = ThreadPoolExecutor(32, "wires")

    def cut(self, one: str, other: str) -> None:
        self.cuts.add(frozenset((one, other)))

    def heal(self) -> None:
        self.cuts.clear()
        self.mute.clear()

    def ask(self, node: str, other: str, method: str, request: Any) -> Future[Any]:
        self.calls.append((node, other, method))
        answer: Future[Any] = Future()
        with contextlib.suppress(RuntimeError):  # the test is over
            self._pool.submit(self._run, answer, (node, other), method, request)
        return answer

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self, answer: Future[Any], ends: tuple[str, str], method: str, request: Any) -> None:
        node, other = ends
        try:
            self.before(node, other, method, request)
            there = self.nodes.get(other)
            if frozenset(ends) in self.cuts or there is None:
                raise PeerError(other, grpc.StatusCode.UNAVAILABLE, "the way is cut")
            reply = there.served(node, method, request)
            if ends in self.mute or frozenset(ends) in self.cuts:
                raise PeerError(other, grpc.StatusCode.UNAVAILABLE, "the way was cut")
            answer.set_result(reply)
        except Exception as error:
            answer.set_exception(error)


class Wire:
    """The links of one node (leadership.Links)."""

    def __init__(self, wires: Wires, node: str) -> None:
        self._wires, self._node = wires, node

    def ask(self, node: str, method: str, request: Any, seconds: float) -> Future[Any]:
        return self._wires.ask(self._node, node, method, request)


class Replacing:
    """A node's replacements, as workers/assign.py has them: another worker, or none."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.none_left = ""
        self.made = 0
        self.before: Callable[[], None] = lambda: None

    def replace(self, one: Any, notes: list[str], wanted: Callable[[], None]) -> None:
        self.before()
        if self.none_left:
            raise NoWorker(self.none_left)
        assert one.worker is None or not one.worker.alive(), "its worker lives"
        self.made += 1
        worker = self.node.worker(one)
        try:
            with self.node.registry.changed:
                wanted()
                one.worker = worker
        except BaseException:
            worker.kill()
            raise


class Node:
    """One node."""

    def __init__(self, folder: Path, store: Store, wires: Wires, number: int, before: Node | None = None) -> None:
        """before: the service of this node that this one follows."""
        self.name, self.number, self.folder = f"n{number}", number, folder
        self.store, self.wires = store, wires
        self.kept: dict[int, Kept] = before.kept if before is not None else {}
        self.log = before.log if before is not None else Log.make()
        config = Config(
            socket=str(folder / self.name), gpus=4, validate_every=0, journal_bytes=1 << 20, snapshot_bytes=1 << 20,
            spill_dir=str(folder), pinned_bytes=0, shared=structures, node_number=number, heal_replicas=False,
            boundary_share=0.0,
        )  # fmt: skip
        backend: Any = SimpleNamespace(
            gpus=[SimpleNamespace(physical=gpu) for gpu in range(4)], address_base=1 << 44, device="software"
        )  # fmt: skip
        self.registry = Registry(config, backend, self.log)
        self.injector = FaultInjector(self.registry)
        self.view = View(store, self.name, number)
        self.joining = Joining(self.name, number)
        self.over_nodes = JobsOverNodes(self.joining, self.registry, self.injector)
        self.ranks: Any = self.over_nodes.ranks
        self.coordinator = Coordinator(self.over_nodes.ranks, self.over_nodes.faults)
        self.router = self.over_nodes.router(self.coordinator)
        self.replacing = Replacing(self)
        self.places: list[tuple[int, dict[int, int]]] = []
        replacing: Any = self.replacing
        self.coordinator.start(self.over_nodes.begin(replacing))
        methods = self.over_nodes.methods
        assert methods is not None
        self._methods = {**methods.quick(), **methods.slow()}
        wires.nodes[self.name] = self

    def join(self) -> None:
        """Becomes a member of the cluster."""
        self.joining.join(
            self.view,
            Wire(self.wires, self.name),
            begin_epoch=lambda epoch, places: self.places.append((epoch, places)),
        )

    # -- sessions ---------------------------------------------------------------------------------

    def open(self, rank: int, gpu: int = 0, **kept: Any) -> Session:
        """A program's session, which runs."""
        request = SimpleNamespace(gpu=gpu, pid=7000 + rank, rank=rank, world_size=2, job="", launch="", program="")
        session = self.registry.add(request)
        self.kept[session.number] = Kept(**kept)
        worker = self.worker(session)
        worker.open = True
        with self.registry.changed:
            session.worker = worker  # type: ignore[assignment]
            session.machine.fire(SessionEvent.OPENED)
        self.registry.note(session)
        return session

    def worker(self, session: Session) -> ScriptedWorker:
        """A new worker for a session."""
        kept = self.kept[session.number]
        worker = ScriptedWorker(kept, session.host, self._died, self._memory)
        worker.session = session.number
        return worker

    def close_session(self, session: Session) -> None:
        """Its program has ended."""
        worker = session.worker
        self.registry.remove(session)
        if worker is not None:
            worker.kill()
        self.registry.free_slot(session)
        self.router.session_closed(session)

    def remote(self, number: int) -> RemoteSession | None:
        return self.over_nodes._table.sessions.get(number)

    def served(self, node: str, method: str, request: Any) -> Any:
        """What it answers to another node."""
        described = _METHODS[method]
        if method == "Hello":
            return peer_pb2.HelloReply()
        if described.client_streaming:
            sent = [GetMessageClass(described.input_type).FromString(one.SerializeToString()) for one in request]
            return self._methods[method](node, iter(sent))
        copy = GetMessageClass(described.input_type).FromString(request.SerializeToString())
        reply = self._methods[method](node, copy)
        return GetMessageClass(described.output_type).FromString(reply.SerializeToString())

    def restart(self) -> Node:
        """Another service of this node takes over, as node/take_over.py does: workers that may be half-restored end."""
        self.leave()
        after = Node(self.folder, self.store, self.wires, self.number, self)
        for number, left in self.log.entries("session/").items():
            before = self.registry.sessions[int(number)]
            session = Session(
                before.number, left["token"], left["gpu"], left["pid"], left["rank"], left["world_size"], left["job"],
                left["slot"], before.memory, before.addresses, host=left["host"], epoch=left["epoch"],
                epochs=left["epochs"], failure=left["failure"], peer_mode=left["peer_mode"], reserve=left["reserve"],
            )  # fmt: skip
            state, worker = SessionState(left["state"]), before.worker
            unreliable = state in (SessionState.LOST, SessionState.STANDBY)
            if worker is not None:
                worker._died = after._died  # type: ignore[attr-defined]
                if unreliable:
                    worker.kill()
            alive = worker is not None and worker.alive()
            session.worker = worker if alive else None
            session.machine.state = SessionState.LOST if unreliable else state
            session.stopped = left["stopped"] or not alive or state is not SessionState.SERVING
            after.registry.enter(session)
            after.registry.note(session)
        after.registry.last = self.registry.last
        after.router.resume(list(after.registry.sessions.values()))
        return after

    def leave(self) -> None:
        self.over_nodes.stop()
        self.coordinator.stop()
        self.joining.leave()
        self.store.views.remove(self.view)

    def close(self) -> None:
        self.leave()
        for session in self.registry.sessions.values():
            if session.worker is not None:
                session.worker.close()
        self.registry.close()

    def _died(self, worker: ScriptedWorker) -> None:
        self.router.worker_died(worker)  # type: ignore[arg-type]

    def _memory(self, number: int) -> Any:
        return self.over_nodes._pieces._piece(number).memory


class Rig:
    """Nodes n1, n2, ..., with a rank on each; the first one leads."""

    def __init__(self, folder: Path, count: int, **kept: Any) -> None:
        self.store, self.wires = Store(), Wires()
        self.nodes = [Node(folder, self.store, self.wires, number) for number in range(1, count + 1)]
        for one in self.nodes:
            one.join()
        self.sessions = [one.open(rank, **kept) for rank, one in enumerate(self.nodes)]
        self.numbers = [one.number for one in self.sessions]

    def begin(self, leader: str = "n1") -> None:
        """The sessions become one job."""
        self.store.leader = leader
        self.store.connect(*self.numbers)
        self.settled()

    def node(self, name: str) -> Node:
        return next(one for one in self.nodes if one.name == name)

    @property
    def leader(self) -> Node:
        assert self.store.leader is not None
        return self.node(self.store.leader)

    def session(self, rank: int) -> Session:
        return self.nodes[rank].registry.sessions[self.numbers[rank]]

    def worker(self, rank: int) -> ScriptedWorker:
        worker: Any = self.session(rank).worker
        assert worker is not None
        return worker

    def train(self, ops: int = 7) -> None:
        for rank in range(len(self.nodes)):
            self.worker(rank).send(ops)

    def settled(self) -> None:
        """Waits until the leader has taken the job, and nobody else acts on it."""

        def taken() -> bool:
            others = [number for number in self.numbers if node_of(number) != self.leader.number]
            known = [self.leader.remote(number) for number in others]
            own = [one for one in self.numbers if node_of(one) == self.leader.number]
            mine = not any(self.leader.over_nodes._leads.is_away(one) for one in own if self.is_open(one))
            gone = [number for number, one in zip(others, known, strict=True) if one is None and self.is_open(number)]
            return mine and not gone and all(one.settled for one in known if one is not None)

        until(taken, SECONDS, "the job is taken")

    def is_open(self, number: int) -> bool:
        return any(number in one.registry.sessions for one in self.nodes)

    def well(self, recoveries: int = 1) -> list[dict[str, Any]]:
        """Waits until all ranks run again, from one epoch, with all that their programs have sent; and returns what the
        leader has reported."""

        def again() -> bool:
            reported = self.leader.coordinator.reports.documents()
            return len(reported) >= recoveries and not self.why_not()

        try:
            until(again, SECONDS, "all ranks run again")
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.why_not()}") from None
        return self.leader.coordinator.reports.documents()

    def why_not(self) -> str:
        epochs = set()
        for rank, number in enumerate(self.numbers):
            session = self.nodes[rank].registry.sessions.get(number)
            if session is None:
                continue
            worker: Any = session.worker
            if session.state is not SessionState.SERVING or session.stopped:
                return f"rank {rank} is {session.state.value}, {'' if session.stopped else 'not '}stopped"
            if worker is None or not worker.works() or worker.fenced:
                return f"rank {rank} has no worker that runs"
            if worker.cursor != worker.kept.received or worker.block != worker.kept.block:
                return f"rank {rank} has come to {worker.cursor} of {worker.kept.received}, block {worker.block}"
            epochs.add((session.epoch, worker.epoch))
        if len({one for both in epochs for one in both}) > 1:
            return f"ranks are in epochs {epochs}"
        busy = [one.name for one in self.nodes if one.coordinator._jobs]
        return f"recoveries go on at {busy}" if busy else ""

    def restart(self, rank: int) -> Node:
        self.nodes[rank] = self.nodes[rank].restart()
        self.nodes[rank].join()
        return self.nodes[rank]

    def close(self) -> None:
        self.wires.heal()
        for one in self.nodes:
            one.close()
        self.wires.close()


@contextlib.contextmanager
def rig(folder: Path, count: int = 2, leader: str = "n1", **kept: Any) -> Iterator[Rig]:
    """Nodes with a job over all of them. kept: of each rank (scripted_worker.Kept)."""
    one = Rig(folder, count, **kept)
    try:
        one.begin(leader)
        one.train()
        yield one
    finally:
        one.close()


def structures() -> Shared:
    """What workers share, without a library."""
    found: dict[str, Any] = {one.name: lambda *_: None for one in dataclasses.fields(Shared)}
    return Shared(**found | {"board_bytes": 4096, "segment_bytes": lambda ranks: 4096, "ranks_left": lambda *_: [0]})
