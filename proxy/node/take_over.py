"""Rebuilds the state that a previous service left, from the registry's log and the keeper's shelf.

Called by: the service at start. Promises: sessions are as their programs and workers know them, or marked as ones that
need a recovery; unreliable workers (those that were starting, being assigned or restored) are ended; memory that
belongs to no session is released. A service whose options differ from those that the sessions started with is refused,
and nothing changes.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from dataclasses import replace
from typing import Any

from jitc.ops.options.generated_fields import BINDING
from jitc.ops.options.table import COPIES
from jitc.ops.options.values import GIB, MIB

from ..common import host_memory
from ..common.config import Config
from ..common.printable import printable
from ..keeper import names
from ..keeper.claim.socket_lock import SocketInUse
from ..keeper.client import Keeper
from ..keeper.log import Log
from ..ranks.states import SessionState
from .addresses import Addresses
from .registry import Registry
from .session import Session
from .session_memory import SessionMemory
from .workers import processes
from .workers.supervisor import Supervisor
from .workers.worker import Worker, WorkerState

#: A session in these states has a worker that may be half-restored.
_UNRELIABLE = (SessionState.LOST, SessionState.STANDBY)
ENDING_SECONDS = 10.0
#: In the log: process and socket of this node's bridge, a child of the keeper that is no worker
#: (../cluster/bridge_process.py).
BRIDGE = "bridge"


class OtherOptions(SocketInUse):
    """A service has other options than the previous one; the text says which option differs, and what to do."""


def has_sessions(log: Log) -> bool:
    return bool(log.entries("session/"))


def fits(kept: dict[str, int], versions: dict[str, Any]) -> bool:
    """Returns whether a service of these versions can go on with the memory of a keeper that has ended. If not, it says
    so."""
    found = None
    if names.LOG in kept:
        with contextlib.suppress(ValueError, OSError):
            log = Log(os.dup(kept[names.LOG]), lambda descriptor: None)
            found = log.get("versions")
            log.close()
    if found != versions:
        why = "what jitc-keeper held is of another version of jitc, and cannot be used: its jobs end"
        print(f"jitc-proxyd: {why}", file=sys.stderr, flush=True)
    return bool(found == versions)


def carry_on(left: Log, log: Log) -> None:
    """Copies what users ask of a service without sessions to the log of the one that begins anew: its reports, the GPUs
    that it has found to be lost, and the number of its newest session."""
    for prefix in ("report/", "gpu/", "last"):
        for key, value in left.entries(prefix).items():
            log.put(prefix + key, value)
    left.close()


def note_options(config: Config, log: Log, gpu_memory: int = 0, worker_overhead: int = 0) -> Config:
    """Writes down the options, or compares them with those of the previous service. Raises OtherOptions.

    Returns them, with those that follow from the machine: these stay as they were for the running jobs. gpu_memory: of
    a GPU, as this machine has it; worker_overhead: as measured, now beside running jobs.
    """
    left = log.get("options")
    if not config.snapshot_bytes:
        config = replace(config, snapshot_bytes=left["snapshot_bytes"] if left else _room_for_copies())
    node = config.cluster.node if config.cluster is not None else ""
    ours = {name: getattr(config, name) for name in BINDING} | {"libraries": dict(config.libraries), "node": node}
    if left is None:
        log.put("options", ours | {"gpu_memory": gpu_memory, "worker_overhead": worker_overhead})
        return config
    different = [name for name in BINDING if left.get(name) != ours[name]]
    if different:
        name = different[0]
        theirs, mine = (_shown(name, one.get(name)) for one in (left, ours))
        raise _other(f"{BINDING[name]} {theirs}", mine)
    if (theirs := left.get("node", "")) != ours["node"]:  # sessions' numbers name it, and other nodes know them by that
        raise _other(f"--node {theirs}" if theirs else "no --cluster", ours["node"] or "without one")
    if left.get("worker_overhead", worker_overhead) != worker_overhead:
        return replace(config, worker_overhead=left["worker_overhead"])
    if left.get("gpu_memory", gpu_memory) != gpu_memory and not config.memory_limit:  # a container's limit has changed
        config = replace(config, memory_limit=left["gpu_memory"])
    return config


def _other(began: str, now: str) -> OtherOptions:
    remedy = "start jitc-proxyd with the same options, or end the jobs first"
    return OtherOptions(f"jobs are running that began with {began}, not {now}; {remedy}")


def _room_for_copies() -> int:
    """Returns half of the available memory: programs need memory too, and so do journals."""
    return COPIES.clamp(host_memory.available() // 2 // MIB * MIB)


class TakeOver:
    """The transfer of the state of one service to the next, before that one serves any program."""

    def __init__(self, registry: Registry, supervisor: Supervisor, keeper: Keeper, log: Log) -> None:
        self._registry, self._supervisor, self._keeper, self._log = registry, supervisor, keeper, log

    def run(self) -> list[Session]:
        """Runs it. Returns all sessions."""
        registry = self._registry
        workers = self._adopt_workers()
        with registry.changed:
            registry.communicators.take_over()
            for number, left in self._log.entries("session/").items():
                self._session(int(number), left, workers.get(left["worker"]))
            sessions = list(registry.sessions.values())
        self._clear_shelf(sessions)
        return sessions

    def _adopt_workers(self) -> dict[int, Worker]:
        """Adopts the workers that serve a session, and spares. Returns them by process."""
        used = {
            left["worker"]
            for left in self._log.entries("session/").values()
            if SessionState(left["state"]) not in _UNRELIABLE
        }
        adopted: dict[int, Worker] = {}
        children, known = set(self._keeper.children), self._log.entries("worker/")
        for text, one in known.items():
            pid = int(text)
            reliable = pid in used or one["spare"]
            if pid in children and reliable and not self._ended(pid):
                state = WorkerState.SERVING if pid in used else WorkerState.SPARE
                adopted[pid] = self._supervisor.adopt(pid, one["socket"], state, one["kills"])
            elif pid in children and not self._end(pid):
                adopted[pid] = self._ending(pid, one["socket"])
            else:
                self._supervisor.forget(pid, one["socket"])
        for pid in children - {int(text) for text in known} - self._bridge():
            if self._end(pid):
                self._supervisor.forget(pid, "")
            else:
                self._ending(pid, "")
        return adopted

    def _bridge(self) -> set[int]:
        """Returns the process of the bridge, with which a service of a cluster goes on; another one ends it."""
        left = self._log.get(BRIDGE)
        if left is None:
            return set()
        if self._registry.config.cluster is not None:
            return {left["pid"]}
        with contextlib.suppress(OSError):
            os.unlink(left["socket"])
        self._log.delete(BRIDGE)
        return set()

    def _ended(self, pid: int) -> bool:
        process = self._keeper.process_of(pid)
        try:
            return processes.ended(process)
        finally:
            os.close(process)

    def _end(self, pid: int) -> bool:
        """Kills a worker, and waits for its end. Returns False if it still runs."""
        process = self._keeper.process_of(pid)
        try:
            self._keeper.signal(process, pid, signal.SIGKILL)
            return processes.ends_within(process, ENDING_SECONDS)
        finally:
            os.close(process)

    def _ending(self, pid: int, socket: str) -> Worker:
        """Adopts a worker that was killed and has not ended: until then no other worker may have what it holds."""
        worker = self._supervisor.adopt(pid, socket, WorkerState.SERVING, "")
        worker.killed = True
        worker.tell_slow()
        return worker

    def _session(self, number: int, left: dict[str, Any], worker: Worker | None) -> None:
        registry = self._registry
        try:
            memory = SessionMemory.take_over(number, self._keeper)
        except (KeyError, OSError) as error:  # the session was about to be closed
            print(f"jitc-proxyd: session {number} is gone: {error!r}", file=sys.stderr, flush=True)
            return self._log.delete(f"session/{number}")
        session = Session(
            number, left["token"], left["gpu"], left["pid"], left["rank"], left["world_size"], printable(left["job"]),
            left["slot"], memory, Addresses(**left["addresses"]), host=left["host"], program=left["program"],
            worker=worker, epoch=left["epoch"], epochs=left["epochs"], failure=left["failure"],
            peer_mode=left["peer_mode"], reserve=left["reserve"],
            environment=left.get("environment", {}),  # the previous service may not have known of it
        )  # fmt: skip
        state = SessionState(left["state"])
        session.machine.state = SessionState.LOST if state in _UNRELIABLE else state
        if worker is not None:
            worker.gpu = session.host
        registry.enter(session)
        waits = left["stopped"] or worker is None or state is not SessionState.SERVING
        session.stopped = waits and state is not SessionState.FAILED
        registry.note(session)

    def _clear_shelf(self, sessions: list[Session]) -> None:
        """Releases memory that no session has."""
        mine = {names.BOARD} | {name for name in self._keeper.kept if names.is_log(name)}
        for session in sessions:
            memory = session.memory
            mine |= {one.name for one in (memory.journal, memory.snapshot, memory.spill, memory.pinned) if one}
        mine |= {one.segment.name for one in self._registry.communicators if one.segment is not None}
        strange = [name for name in self._keeper.kept if name not in mine]
        if strange:
            self._keeper.drop(strange)


def described(sessions: list[Session]) -> str:
    """Returns in words what was taken over, and how much of it the service before was recovering."""
    recovering = sum(one.stopped for one in sessions)
    those = f"{len(sessions)} sessions of the service before"
    return f"{those}, {recovering} of them to be recovered" if recovering else those


def open_log(keeper: Keeper, name: str = names.LOG) -> Log:
    """Returns the log that the keeper holds under this name, or a new one that it holds from now on."""

    def keep(descriptor: int) -> None:
        keeper.keep(name, descriptor)

    left = keeper.take([name])
    return Log(left[name], keep, lambda: keeper.lost) if left else Log.make(keep, lambda: keeper.lost)


def _shown(name: str, value: Any) -> str:
    if name.endswith("_bytes") and value:
        unit, letter = (GIB, "G") if value % GIB == 0 else (MIB, "M")
        return f"{value // unit}{letter}iB"
    return "on" if value is True else "off" if value is False else str(value)
