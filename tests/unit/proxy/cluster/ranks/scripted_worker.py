"""Workers in the test's process: they do what a worker's process would, on state that outlives them.

Used by: nodes_rig.py. A program's ops are numbered from 1 on, and each PERIODth makes a boundary; the state of a device
is the number of ops that have made it. A worker refuses what the executor refuses: calls of an older epoch, and calls
that need a fenced session.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import grpc

from jitc.proxy.cluster.ranks.leader.call import RemoteCall
from jitc.proxy.node.workers.worker import WorkerState
from jitc.proxy.ranks.causes import WORKER_DEATH
from jitc.v1 import worker_pb2

PERIOD = 3
#: Calls that a worker refuses once a newer fence has been asked for.
CHECKED = ("Keep", "Rollback", "FinishStep", "SkipStep", "Export", "Import", "Resume")
#: What a device holds that ranks share: a block of some chunks, which a lost rank needs from a peer in peer mode.
BLOCK_BYTES = 600_000


class Refusal(Exception):
    """The executor refuses a call."""


@dataclass
class Kept:
    """What of a session outlives its workers."""

    received: int = 0
    boundaries: list[int] = field(default_factory=lambda: [0])
    copies: bool = True  # else only peers have what is lost with a device
    block: int = 7  # what all bytes of the shared block are


class Pids:
    """Numbers of processes, which no test meets twice."""

    def __init__(self) -> None:
        self._lock, self._last = threading.Lock(), 1000

    def next(self) -> int:
        with self._lock:
            self._last += 1
            return self._last


pids = Pids()


class ScriptedWorker:
    """One worker process."""

    node = ""

    def __init__(
        self, kept: Kept, gpu: int, died: Callable[[ScriptedWorker], None], memory: Callable[[int], Any]
    ) -> None:
        """died: is told of its end; memory: returns the transfer memory with a number."""
        self.kept, self.gpu, self._died, self._memory = kept, gpu, died, memory
        self.pid, self.socket = pids.next(), "nowhere"
        self.cause, self.message, self.noticed_dead, self.unhealthy_since = WORKER_DEATH, "", 0.0, 0.0
        self.replaced = self.killed = self.open = self.fenced = self.lost = False
        self.looked_at, self._ended = threading.Event(), threading.Event()
        self.machine = SimpleNamespace(state=WorkerState.SERVING)
        self.epoch = self.newest = self.cursor = 0
        self.block: int | None = kept.block
        self.called: list[tuple[str, int]] = []  # methods, with the epoch of the request
        self.before: Callable[[str], None] = lambda method: None
        self._lock = threading.RLock()
        self._pool = ThreadPoolExecutor(4, "scripted")

    # -- the process ------------------------------------------------------------------------------

    def ready(self) -> bool:
        return self.alive()

    def alive(self) -> bool:
        return not self._ended.is_set()

    def works(self) -> bool:
        return not self.killed and self.alive()

    def ends_within(self, seconds: float) -> bool:
        return self._ended.wait(seconds) if seconds else self._ended.is_set()

    def kill(self) -> None:
        self.killed = True
        self._die()

    def replace(self) -> None:
        self.replaced = True
        self.kill()

    def finish(self) -> None:
        self._die()

    def kill_with_cause(self, cause: str, since: float, message: str = "") -> None:
        self.cause, self.unhealthy_since, self.message = cause, since, message
        self.kill()

    def tell_slow(self) -> None:
        pass

    def slow(self) -> str:
        return f"worker {self.pid} is slow"

    def starved(self) -> str:
        return ""

    def close(self) -> None:
        self._pool.shutdown(wait=False)

    def _die(self) -> None:
        with self._lock:
            if self._ended.is_set():
                return
            self.noticed_dead = time.monotonic()
            self._ended.set()
            self.machine.state = WorkerState.DEAD
            self.looked_at.set()
        threading.Thread(target=self._died, args=(self,), name="scripted-death", daemon=True).start()

    # -- calls ------------------------------------------------------------------------------------

    def ask(self, method: str, request: Any, seconds: float, patient: bool = False) -> RemoteCall:
        future = RemoteCall()
        try:
            self._pool.submit(self._serve, future, method, request)
        except RuntimeError:
            future.fail(grpc.StatusCode.UNAVAILABLE, "the worker has been closed")
        return future

    def _serve(self, future: RemoteCall, method: str, request: Any) -> None:
        self.called.append((method, int(getattr(request, "epoch", 0))))
        self.before(method)
        try:
            with self._lock:
                reply = self._answer(method, request)
        except Refusal as error:
            return future.fail(grpc.StatusCode.FAILED_PRECONDITION, str(error))
        except Exception as error:
            return future.fail(grpc.StatusCode.INTERNAL, repr(error))
        if not self.alive():
            return future.fail(grpc.StatusCode.UNAVAILABLE, "the worker has ended")
        return future.finish(reply)

    def _answer(self, method: str, request: Any) -> Any:
        if not self.alive():
            return None
        if method in CHECKED and request.epoch < self.newest:
            raise Refusal(f"{method} of epoch {request.epoch}, and {self.newest} has fenced the session")
        if method in CHECKED and not self.fenced:
            raise Refusal(f"{method} needs a fenced session")
        act = getattr(self, f"_{method.lower()}", None)
        return act(request) if act is not None else worker_pb2.Empty()

    def _opensession(self, request: Any) -> Any:
        if self.open:
            raise Refusal("the session is open already")
        self.open = self.fenced = self.lost = True
        self.cursor, self.block = self.kept.received, None
        return worker_pb2.OpenSessionReply()

    def _fence(self, request: Any) -> Any:
        if request.epoch < self.newest:
            raise Refusal(f"a fence of epoch {request.epoch}, and {self.newest} was asked for")
        self.newest, self.fenced = request.epoch, True
        newest = self.kept.boundaries[-1]
        position = worker_pb2.Position(
            committed=newest, prepared=newest, reached=newest, begun=newest, executed=self.cursor,
            received=self.kept.received,
        )  # fmt: skip
        for boundary in self.kept.boundaries:
            _fill(position.history.kept.add(number=boundary).tally, boundary)
        _fill(position.history.now, newest)
        return position

    def _rollback(self, request: Any) -> Any:
        if request.boundary not in self.kept.boundaries:
            return worker_pb2.RecoverReply(message="no such boundary")
        self.kept.boundaries = [one for one in self.kept.boundaries if one <= request.boundary]
        self.cursor = request.boundary * PERIOD
        reply = worker_pb2.RecoverReply(complete=True)
        _fill(reply.tally, request.boundary)
        if self.lost and not self.kept.copies:
            reply.complete = False
            reply.missing.append(self._row())
        elif self.lost:
            self.block = self.kept.block
        self.lost = not reply.complete
        return reply

    def _keep(self, request: Any) -> Any:
        return worker_pb2.RecoverReply(complete=True)

    def _boundarytable(self, request: Any) -> Any:
        if request.earlier:
            raise Refusal("not measured")
        return worker_pb2.BoundaryTableReply(boundary=request.boundary, rows=[self._row()])

    def _export(self, request: Any) -> Any:
        assert self.block is not None
        for one in request.blocks:
            self._memory(request.memory).write(one.offset, bytes([self.block]) * one.bytes)
        return worker_pb2.RecoverReply(complete=True)

    def _import(self, request: Any) -> Any:
        for one in request.blocks:
            data = self._memory(request.memory).read(one.offset, one.bytes)
            if set(data) != {self.kept.block}:
                raise Refusal("the block holds something else")
            self.block, self.lost = self.kept.block, False
        return worker_pb2.RecoverReply(complete=True)

    def _resume(self, request: Any) -> Any:
        if self.lost:
            raise Refusal("it never had the session's memory")
        self.fenced, self.epoch = False, request.epoch
        self._run()
        return worker_pb2.Empty()

    def _stats(self, request: Any) -> Any:
        found = {
            "session": 0, "executed": self.cursor, "boundary": self.kept.boundaries[-1],
            "committed": self.kept.boundaries[-1], "state": "running",
        }  # fmt: skip
        return worker_pb2.StatsReply(json=json.dumps({"sessions": [found | {"session": self.session}]}))

    session = 0  # its number; set by the rig

    def send(self, ops: int) -> None:
        """The program gives it so many ops more."""
        with self._lock:
            self.kept.received += ops
            if not self.fenced and self.alive():
                self._run()

    def _run(self) -> None:
        while self.cursor < self.kept.received:
            self.cursor += 1
            if self.cursor % PERIOD == 0 and self.cursor // PERIOD not in self.kept.boundaries:
                self.kept.boundaries.append(self.cursor // PERIOD)

    def _row(self) -> Any:
        return worker_pb2.BlockRow(address=4096, bytes=BLOCK_BYTES, ordinal=1, hash=bytes([self.kept.block]) * 16)


def _fill(tally: Any, boundary: int) -> None:
    tally.memberships.add(communicator=1, rank=-1, collectives=boundary + 1)
