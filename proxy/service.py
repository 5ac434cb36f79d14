"""The node service, assembled: keeper, socket, memory, workers, coordinator, gRPC server.

Called by: proxyd.py, tests. Promises: when start() returns, every GPU is served and the socket answers; stop() leaves
no process, socket or file; leave() leaves all of them to another service, as the end of this process by a signal does.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import threading
from typing import Any

import grpc

from jitc.ops.generated_names import FORMAT_VERSION
from jitc.v1 import control_pb2

from .backends import open_backend
from .backends.base import HealthWatch, NoDevice
from .common import rpc
from .common.config import Config
from .common.paths import BOARD_VERSION, JOURNAL_VERSION, PROTOCOL_VERSION, WORKER_VERSION
from .health.gpus import GpuHealth
from .health.hang_watch import HangWatch
from .health.heartbeat import Heartbeat
from .health.races import Races
from .keeper import protocol
from .keeper.client import Keeper
from .keeper.launch import open_keeper
from .keeper.log import Log
from .keeper.socket_lock import SocketLock
from .node.api.admin import AdminService
from .node.api.coordinator import CoordinatorService
from .node.api.node import NodeService
from .node.fault_injector import FaultInjector
from .node.joins.join_watch import JoinWatch
from .node.joins.partings import Partings
from .node.opening import Opening
from .node.registry import Registry
from .node.session import Session
from .node.take_over import OtherOptions, TakeOver, carry_on, has_sessions, note_options, open_log
from .node.workers.assign import Replacements
from .node.workers.idle import IdleWorkers
from .node.workers.supervisor import Supervisor
from .node.workers.watch import Watch
from .ranks.events import PendingValidation
from .recovery.coordinator import Coordinator

#: The versions on which a service and its successor must agree: workers continue with memory of the other one's.
VERSIONS = {
    "keeper": protocol.VERSION,
    "protocol": PROTOCOL_VERSION,
    "ops and records": FORMAT_VERSION,
    "board": BOARD_VERSION,
    "journal": JOURNAL_VERSION,
    "worker": WORKER_VERSION,
}
#: The most programs that wait for a worker, and commands that wait for a fault or a verdict, at a time.
ATTACHES, COMMANDS = 256, 64


def _shares(config: Config) -> tuple[int, int | None]:
    """Returns what decides about the memory of each GPU."""
    return config.memory_limit, config.worker_overhead


class Service:
    """One node service. Raises NoDevice, SocketInUse or NoSpace when it cannot be made."""

    def __init__(
        self, config: Config, *, replace: bool = False, keeper: Keeper | None = None, left: Log | None = None
    ) -> None:
        """Makes the service. replace: a service that is already serving stands by until this one serves; keeper: of
        this process, which has stood by, and goes on; left: what this process knew before it began anew."""
        self.config = config
        self.backend = open_backend(config)
        if config.spare_gpus >= len(self.backend.gpus):
            raise NoDevice(f"--spare-gpus {config.spare_gpus} leaves none of {len(self.backend.gpus)} GPUs to programs")
        self._socket_lock = SocketLock(config.socket, config.private_directory())
        if keeper is not None:
            self._socket_lock.share()
        self.keeper, self.takes_over = (
            (keeper, True) if keeper is not None else open_keeper(self._socket_lock, VERSIONS, replace)
        )
        try:
            log = open_log(self.keeper)
            if self.takes_over and not has_sessions(log):
                left, log = log, self._begin_anew()
            if left is not None:
                carry_on(left, log)
            backend = self.backend
            self.config = note_options(config, log, backend.gpus[0].memory_total, backend.worker_overhead)
            if _shares(self.config) != _shares(config):
                self.backend = open_backend(self.config)
            config = self.config
            config.images_directory().mkdir(mode=0o700, exist_ok=True)
            self.registry = Registry(config, self.backend, log, self.keeper)
        except BaseException:
            self._let_go()
            raise
        self._watch = Watch()
        self._faults = FaultInjector(self.registry)
        self._races = Races(self.registry)
        self._coordinator = Coordinator(self.registry, self._faults)
        self._gpus = GpuHealth(self.registry, self._coordinator.post, self._faults.move_at_boundary)
        self._faults.report_unhealthy = self._gpus.unhealthy
        self._supervisor = Supervisor(
            config,
            self._watch,
            self._coordinator.worker_died,
            self.keeper,
            log,
            completed=Opening(self.registry).filled_in,
        )
        self._heartbeat = Heartbeat(self._supervisor.workers, config.hang_seconds)
        self._hangs = HangWatch(self.registry, config.hang_seconds, self._coordinator.hang_found)
        self._coordinator.late = self._hangs.late
        self._idle = IdleWorkers(self.registry, self._supervisor)
        self._joins = JoinWatch(self.registry, config.hang_seconds)
        self._partings = Partings(self.registry)
        self._health: HealthWatch | None = None
        self._attaches, self._commands = rpc.Waiting("jitc-attach", ATTACHES), rpc.Waiting("jitc-command", COMMANDS)
        self._node = NodeService(
            self.registry,
            self._supervisor,
            self._watch,
            self.keeper,
            faults=self._faults,
            waiting=self._attaches,
            ended=self._coordinator.session_closed,
        )
        self._server: grpc.Server | None = None

    def start(self) -> None:
        """Starts everything. Raises NoWorker or OSError; stop() cleans up in any case."""
        self._watch.start()
        sessions = self._take_over() if self.takes_over else []
        self._supervisor.start()
        self._coordinator.start(Replacements(self.registry, self._supervisor))
        if sessions:
            self._listen()  # programs may be waiting
            self._coordinator.resume(sessions)
            self.keeper.serving(settled=False)
        self._idle.start()
        self._heartbeat.start()
        self._hangs.start()
        self._joins.start()
        self._partings.start()
        self._health = self.backend.watch(self._gpus.unhealthy)
        if not sessions:
            self._listen()
        self.keeper.serving(settled=True)

    def _take_over(self) -> list[Session]:
        sessions = TakeOver(self.registry, self._supervisor, self.keeper, self.registry.log).run()
        self._node.unanswered = {session.number for session in sessions}
        alive = [session for session in sessions if self._node.watch_program(session)]
        print(f"jitc-proxyd: takes over {len(alive)} sessions of the service before", file=sys.stderr, flush=True)
        return alive

    def _begin_anew(self) -> Log:
        """Opens a new keeper: the previous service had no sessions, and nothing worth keeping but its reports."""
        self.keeper.end(leaves_folder=True)
        self._socket_lock.close()
        self.keeper, self.takes_over = open_keeper(self._socket_lock, VERSIONS, replace=False)
        return open_log(self.keeper)

    def _let_go(self) -> None:
        """Releases what a service that could not be made has; the state from before it stays as it is."""
        if self.takes_over:
            self.keeper.leave()
            self._socket_lock.close()
        else:
            self.keeper.end()
            self._socket_lock.release()

    def recoveries(self) -> list[dict[str, Any]]:
        """Returns the recoveries' documents for `jitc report`."""
        return self._coordinator.reports.documents()

    def validations(self) -> list[dict[str, Any]]:
        """Returns the validations' documents for `jitc report`."""
        return self._coordinator.validations.documents()

    def divergences(self) -> list[dict[str, Any]]:
        """Returns the divergences' documents for `jitc report`."""
        return self._coordinator.divergences.documents()

    def validate(self, gpu: int) -> PendingValidation:
        """Begins a validation for `jitc validate`."""
        return self._coordinator.validate(gpu)

    def return_gpu(self, gpu: int) -> str:
        """Puts a lost GPU back into use. Returns the result, as a text."""
        return self._gpus.returned(gpu)

    def may_move(self) -> bool:
        """Returns whether the service has no reason to stay with a keeper in another container, which cannot end
        before: no program uses it. From then on programs are told to ask again."""
        with self.registry.changed:
            free = not self.registry.sessions and not any(gpu.attaching for gpu in self.registry.gpus)
            self._node.moving = self.keeper.foreign and free
            return self._node.moving

    def refuses(self, config: Config) -> str:
        """Returns why a service with this configuration could not go on in this one's place; empty if it could. From
        then on programs are told to ask again, if there are none so far."""
        with self.registry.changed:
            if self.registry.sessions or any(gpu.attaching for gpu in self.registry.gpus):
                try:
                    note_options(config, self.registry.log)
                except OtherOptions as error:
                    return str(error)
            else:
                self._node.moving = True
            return ""

    def answers(self, seconds: float) -> bool:
        """Returns whether its lock becomes free and its socket answers, each within this time."""
        if not self.registry.changed.acquire(timeout=seconds):
            return False
        self.registry.changed.release()
        with rpc.channel(self.config.socket) as link, contextlib.suppress(grpc.RpcError):
            request = control_pb2.DescribeRequest(protocol_version=PROTOCOL_VERSION)
            rpc.node(link).Describe(request, timeout=seconds)
            return True
        return False

    def drain(self) -> int:
        """Stops taking new sessions. Returns how many are left."""
        with self.registry.changed:
            self._node.draining = True
            return len(self.registry.sessions)

    def wait_drained(self, ended: threading.Event) -> None:
        """Waits until the last session has ended, or the event is set."""
        with self.registry.changed:
            while self.registry.sessions and not ended.is_set():
                self.registry.changed.wait(0.2)

    def stop(self, leaves_folder: bool = False) -> None:
        """Stops everything, even if stopping a part fails. leaves_folder: another service is about to be made; programs
        that begin now wait for it."""
        with contextlib.ExitStack() as last:  # the first entered is done last
            last.callback(self._socket_lock.close if leaves_folder else self._socket_lock.release)
            last.callback(self.keeper.end, leaves_folder)
            last.callback(self.registry.close)
            last.callback(self._supervisor.stop)
            last.callback(self._stop_threads)

    def leave(self) -> None:
        """Ends without ending anything else: programs, workers and memory are the next service's."""
        with contextlib.ExitStack() as last:
            last.callback(self._socket_lock.close)
            last.callback(self.keeper.leave)
            last.callback(self.registry.leave)
            last.callback(self._stop_threads)

    def abandon(self) -> None:
        """Removes what is left after the keeper's end: workers have ended, and nothing in memory is of use."""
        self._socket_lock.release()

    def _stop_threads(self) -> None:
        with contextlib.ExitStack() as last:
            last.callback(self._watch.stop)  # before the supervisor: it starts workers
            last.callback(self._coordinator.stop)
            last.callback(self._joins.stop)
            last.callback(self._partings.stop)
            last.callback(self._idle.stop)
            last.callback(self._supervisor.close)
            last.callback(self._heartbeat.stop)
            last.callback(self._hangs.stop)
            if self._health is not None:
                last.callback(self._health.stop)
            last.callback(self._commands.close)
            last.callback(self._attaches.close)
            if self._server is not None:
                last.callback(lambda server: server.stop(0.5).wait(), self._server)

    def _listen(self) -> None:
        def add(server: grpc.Server) -> None:
            rpc.add_node(self._node, server)
            rpc.add_admin(AdminService(self.registry, self._faults, self._races, self, self._commands), server)
            coordinator = CoordinatorService(
                self.registry, self._faults, fault=self._coordinator.fault_reported, race=self._races.add
            )
            rpc.add_coordinator(coordinator, server)

        # Under a name of its own first: it replaces that of a service before at once, and when one of them ends later,
        # gRPC removes no other one's.
        own = str(self.config.private_directory() / f"s-{secrets.token_hex(4)}")
        before = os.umask(0o177)  # the socket is this user's from the moment it exists
        try:
            self._server = rpc.serve(add, own)
        finally:
            os.umask(before)
        os.rename(own, self.config.socket)
