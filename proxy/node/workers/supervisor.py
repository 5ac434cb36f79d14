"""Starts worker processes, keeps spares warm, notices deaths.

Called by: the service at start and end; the coordinator when a GPU needs a new worker. Workers are children of the
keeper. Promises: a worker never outlives the keeper; the next service finds those that are ready; a death is reported
once, within milliseconds; a spare that is taken is replaced at once, so that the next loss finds one; spares that die
while they start are not retried without end.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...backends import KINDS
from ...common.complaints import Complaints, scarce
from ...common.config import Config
from ...common.host_memory import kills_file
from ...common.paths import op_socket
from ...keeper.client import Keeper
from ...keeper.line import KeeperLost
from ...keeper.log import Log
from ...keeper.process.children import KEEPER, READY
from ...ranks.causes import OUT_OF_MEMORY
from ...ranks.rank import SLOW_SECONDS, NoWorker
from . import environment
from .memory_kills import MemoryKills
from .watch import Watch
from .worker import Worker, WorkerEvent, WorkerState

#: Starts that fail in a row before no more are tried (until a worker is requested again).
FAILED_STARTS = 3
#: Seconds between looks whether the service ends, while a worker does.
LOOK_SECONDS = 0.25
#: Bytes of a worker's report that it is ready.
READY_BYTES = 4096
#: Bytes of a request to start a worker, beside the environment.
REQUEST_BYTES = 4096
#: Time for the ends of all workers when the service ends.
STOP_SECONDS = 60.0
#: Processes that start at the same time: more of them would only slow each other down.
STARTING_AT_ONCE = max(2, len(os.sched_getaffinity(0)))


class NotYet(NoWorker):
    """No worker was ready in the given time; one is being started."""


class StillEnding(NotYet):
    """A former worker of the GPU has not ended; the text names it."""


class Closing(NoWorker):
    """The service ends, so no worker is started any more."""


class Supervisor:
    """All worker processes of the node."""

    def __init__(
        self, config: Config, watch: Watch, died: Callable[[Worker], None], keeper: Keeper, log: Log, *,
        completed: Callable[[Any], Any],
    ) -> None:  # fmt: skip
        self._config, self._watch, self._died, self._completed = config, watch, died, completed
        self._keeper, self._log = keeper, log
        self._directory: Path = config.workers_directory()
        kind = KINDS[config.device]
        self._ways = ["--operators"] * (not kind.runs_kernels) + ["--fixed-layout"] * kind.fixed_layout
        self._complaints = Complaints("starting a worker")
        self._memory_kills = MemoryKills()
        self._changed = threading.Condition()
        self._workers: list[Worker] = []
        self._failed_starts = self._posted = self._waiting = 0
        self._started: int = log.get("started") or 0
        self._stopping = False
        self._resting = not config.keeps_idle  # no spares are kept until a worker is wanted

    def start(self) -> None:
        """Begins to warm spares. Raises NoWorker where none could be started with this environment."""
        size, most = len(json.dumps(self._environment())), self._keeper.room - REQUEST_BYTES
        if size > most:
            raise NoWorker(
                f"the environment has {size} bytes, and jitc-keeper takes {most}; start jitc-proxyd with a smaller one "
                "(env -i, or unset what is large)"
            )
        self._memory_kills.start()
        self.replenish()

    def take(self, timeout: float) -> Worker:
        """Returns a warm spare, else the next one to become ready. Raises NoWorker or NotYet."""
        with self._changed:
            self._failed_starts, self._resting = 0, False
            self._waiting += 1
            try:
                worker = self._wait_for_spare(time.monotonic() + timeout, timeout)
            finally:
                self._waiting -= 1
            worker.machine.fire(WorkerEvent.ASSIGN)
            self._note(worker)
        self.replenish()
        return worker

    def _wait_for_spare(self, deadline: float, timeout: float) -> Worker:
        while True:
            for worker in self._workers:
                if worker.machine.state is WorkerState.SPARE and worker.alive():
                    return worker
            if self._stopping or self._keeper.lost:
                raise Closing("the service is ending")
            if self._failed_starts >= FAILED_STARTS:
                raise NoWorker("worker processes end while they start; see the service's output above")
            self.replenish()
            left = deadline - time.monotonic()
            if left <= 0:
                raise NotYet(f"no worker process was ready within {timeout:.0f} s")
            self._changed.wait(min(1.0, left))

    def replenish(self) -> None:
        """Starts what is missing: up to the wanted number of spares, and one for each waiting caller."""
        with self._changed:
            starting = sum(worker.machine.state is WorkerState.STARTING for worker in self._workers) + self._posted
            wanted = 0 if self._resting else self._config.spares
            missing = wanted + self._waiting - starting - self.spares()
            missing = min(missing, STARTING_AT_ONCE - starting)
            if self._stopping or self._failed_starts >= FAILED_STARTS:
                return
            for _ in range(missing):
                self._posted += 1
                self._watch.post(self._spawn)

    def rest(self) -> None:
        """Ends the spares; there are some again once a worker has been wanted."""
        with self._changed:
            self._resting = not self._waiting
            spares = [one for one in self._workers if one.machine.state is WorkerState.SPARE] if self._resting else []
        for one in spares:
            one.kill()

    def workers(self) -> list[Worker]:
        with self._changed:
            return list(self._workers)

    def await_former(self, gpu: int, seconds: float) -> None:
        """Waits for workers of the GPU that are ending: they hold its memory, and may write to what others are given.
        Raises StillEnding; Closing."""
        deadline = time.monotonic() + seconds
        for worker in [one for one in self.workers() if one.gpu == gpu and one.ending()]:
            told = time.monotonic() + SLOW_SECONDS
            while not worker.ends_within(min(LOOK_SECONDS, max(0.0, deadline - time.monotonic()))):
                if self._stopping:
                    raise Closing("the service is ending")
                if time.monotonic() >= told:
                    worker.tell_slow()
                if time.monotonic() >= deadline:
                    raise StillEnding(worker.slow())

    def spares(self) -> int:
        with self._changed:
            return sum(worker.machine.state is WorkerState.SPARE for worker in self._workers)

    def close(self) -> None:
        """Stops starting and giving out workers."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._memory_kills.stop()

    def stop(self) -> None:
        self.close()
        with self._changed:
            workers = list(self._workers)
        for worker in workers:
            worker.kill()
        deadline = time.monotonic() + STOP_SECONDS
        for worker in workers:
            worker.wait(max(0.0, deadline - time.monotonic()))  # a worker that takes longer holds up nothing of ours
            worker.close()

    def adopt(self, pid: int, socket: str, state: WorkerState, kills: str) -> Worker:
        """Adopts a worker of the previous service, which may have ended since; kills: as that one has noted it. Raises
        OSError."""
        worker = self._worker(pid, socket, state, kills)
        self._count_kills(worker)
        with self._changed:
            self._workers.append(worker)
            self._note(worker)
        self._watch.readable(os.dup(worker.descriptor), lambda: self._ended(worker))
        return worker

    def _worker(self, pid: int, socket: str, state: WorkerState = WorkerState.STARTING, kills: str = "") -> Worker:
        return Worker(
            pid, self._keeper.process_of(pid), socket, state, signalled=self._keeper.signal, completed=self._completed,
            kills=kills, uid=self._keeper.uid,
        )  # fmt: skip

    def _count_kills(self, worker: Worker) -> None:
        if worker.kills and not self._keeper.foreign:  # else it counts those of another container
            self._memory_kills.begin(worker.pid, Path(worker.kills))

    def forget(self, pid: int, socket: str) -> int | None:
        """Forgets a process that has ended; socket: empty if unknown. Returns its exit status, if known."""
        for one in (socket, op_socket(socket)) if socket else ():
            with contextlib.suppress(OSError):  # another user may have put anything in its place
                Path(one).unlink(missing_ok=True)
        self._log.delete(f"worker/{pid}")
        with contextlib.suppress(KeeperLost):
            return self._keeper.reap(pid)
        return None

    def _note(self, worker: Worker) -> None:
        spare = worker.machine.state is WorkerState.SPARE
        self._log.put(f"worker/{worker.pid}", {"socket": worker.socket, "spare": spare, "kills": worker.kills})

    def _spawn(self) -> None:
        """Starts a worker, in the watch thread."""
        worker, later = None, False
        try:
            worker = self._start_watched()
        except (OSError, KeeperLost) as error:
            self._complaints.of(error)
            later = scarce(error) or self._keeper.lost  # callers that wait for a worker try again in a moment
        finally:
            with self._changed:
                self._posted -= 1
                if worker is not None:
                    self._workers.append(worker)
                    self._note(worker)
                elif not later:
                    self._failed_starts += 1
                if not later:
                    self._changed.notify_all()

    def _start_watched(self) -> Worker:
        """Starts a process whose end will be noticed, or none. Its callbacks come later, in this thread."""
        with contextlib.ExitStack() as undone:
            ready_read, ready_write = os.pipe2(os.O_CLOEXEC)
            try:
                worker = self._start_process(ready_write)
            except BaseException:
                os.close(ready_read)
                raise
            finally:
                os.close(ready_write)
            undone.callback(self._drop, worker)
            heard = self._watch.readable(ready_read, lambda: self._ready(worker, ready_read))
            undone.callback(self._watch.forget, heard)
            self._watch.readable(os.dup(worker.descriptor), lambda: self._ended(worker))
            undone.pop_all()
        return worker

    def _drop(self, worker: Worker) -> None:
        """Ends a process that has begun, but cannot be watched."""
        worker.kill()
        worker.wait()
        worker.close()
        self.forget(worker.pid, worker.socket)

    def _start_process(self, ready: int) -> Worker:
        self._started += 1
        self._log.put("started", self._started)
        socket = str(self._directory / f"w{self._started}")
        command = [
            *self._config.worker, *self._ways, "--socket", socket, "--service", self._config.socket,
            "--parent", str(self._keeper.pid), "--ready-fd", READY, "--keeper-fd", KEEPER,
            "--core-limit", str(self._config.core_limit),
        ]  # fmt: skip
        pid = self._keeper.spawn(command, self._environment(), ready)
        try:
            return self._worker(pid, socket)
        except OSError:
            self._keeper.signal(ready, pid, signal.SIGKILL)  # by its number alone: no descriptor of it is to be had
            raise

    def _environment(self) -> dict[str, str]:
        own = environment.of_workers(os.environ, self._keeper.owner)
        return own | environment.of_threads(self._config.operator_threads())

    def _ready(self, worker: Worker, pipe: int) -> None:
        said = os.read(pipe, READY_BYTES).decode(errors="replace")
        if not said:
            return  # the worker has ended; the process watch says so too
        # A file that another user's worker names is not opened: it is in the service's control group, as the keeper is.
        worker.kills = said.removeprefix("ready").strip() if self._keeper.owner is None else str(kills_file())
        self._count_kills(worker)
        with self._changed:
            if worker.machine.state is WorkerState.STARTING:
                worker.machine.fire(WorkerEvent.READY)
                self._note(worker)
                self._failed_starts = 0
                self._changed.notify_all()
        self.replenish()

    def _ended(self, worker: Worker) -> None:
        worker.noticed_dead = time.monotonic()
        with self._changed:
            before = worker.machine.state
            worker.machine.fire(WorkerEvent.DIE)
            self._workers.remove(worker)
            self._failed_starts += before is WorkerState.STARTING
            self._changed.notify_all()
        self._look_at_end(worker, self.forget(worker.pid, worker.socket))
        if before is WorkerState.SERVING:
            self._died(worker)
            return
        worker.close()
        self.replenish()

    def _look_at_end(self, worker: Worker, status: int | None) -> None:
        why = self._memory_kills.explains(worker.pid, status == -signal.SIGKILL and not worker.killed)
        if why:
            print(f"jitc-proxyd: {why}", file=sys.stderr, flush=True)
            worker.cause, worker.message = OUT_OF_MEMORY, why
        worker.looked_at.set()
