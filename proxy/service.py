"""The node service, assembled: socket, memory, workers, coordinator, gRPC server.

Called by: proxyd.py, tests. Promise: start() returns when every GPU is served and the socket answers;
stop() leaves no process, socket or file.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc

from . import rpc
from .backends import open_backend
from .backends.base import Watcher
from .node.admin import AdminService, CoordinatorService
from .node.config import Config
from .node.faults import FaultDesk
from .node.heartbeat import Heartbeat
from .node.service import NodeService
from .node.sessions import Registry
from .node.sockets import Place
from .node.supervisor import Supervisor
from .node.watch import Watch
from .recovery.coordinator import Coordinator
from .recovery.events import Ticket
from .recovery.rebuild import rebuild_gpu

#: Attach and Inject calls may wait, one thread each.
THREADS = 256


class Service:
    """One node service. Raises NoDevice, SocketInUse or NoSpace when it cannot be."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.backend = open_backend(config)
        self._place = Place(config.socket, config.private_directory())
        self._place.claim()
        try:
            config.images_directory().mkdir(mode=0o700)
            self.registry = Registry(config, self.backend)
        except BaseException:
            self._place.release()
            raise
        self._watch = Watch()
        self._faults = FaultDesk(self.registry)
        self._coordinator = Coordinator(self.registry, self._faults)
        self._faults.unwell = self._coordinator.gpu_unwell
        self._supervisor = Supervisor(config, self._watch, self._coordinator.worker_died)
        self._heartbeat = Heartbeat(self._supervisor.workers, config.hang_seconds)
        self._health: Watcher | None = None
        self._node = NodeService(self.registry, self._watch, self._faults, self._coordinator.session_closed)
        self._server: grpc.Server | None = None

    def start(self) -> None:
        """Raises NoWorker or OSError; stop() cleans up in any case."""
        self._watch.start()
        self._supervisor.start(len(self.registry.gpus) + self.config.spares)
        self._coordinator.start(self._supervisor)
        for gpu in self.registry.gpus:
            rebuild_gpu(self.registry, self._supervisor, gpu)
            with self.registry.changed:
                gpu.state = "ready"
        self._heartbeat.start()
        self._health = self.backend.watch(self._coordinator.gpu_unwell)
        self._listen()

    def recoveries(self) -> list[dict[str, Any]]:
        """The documents of `jitc report`."""
        return self._coordinator.reports.documents()

    def validations(self) -> list[dict[str, Any]]:
        """Verdicts so far, as in `jitc report`."""
        return self._coordinator.validations.documents()

    def validate(self, gpu: int) -> Ticket:
        """`jitc validate`."""
        return self._coordinator.validate(gpu)

    def drain(self) -> int:
        """No new sessions from now on. Returns how many there still are."""
        with self.registry.changed:
            self._node.draining = True
            return len(self.registry.sessions)

    def wait_drained(self, ended: threading.Event) -> None:
        """Until the last session has ended, or the event is set."""
        with self.registry.changed:
            while self.registry.sessions and not ended.is_set():
                self.registry.changed.wait(0.2)

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop(0.5).wait()
        if self._health is not None:
            self._health.stop()
        self._heartbeat.stop()
        self._coordinator.stop()
        self._watch.stop()  # first: it starts workers
        self._supervisor.stop()
        self.registry.close()
        self._place.release()

    def _listen(self) -> None:
        server = grpc.server(
            ThreadPoolExecutor(THREADS, "jitc-rpc"),
            options=rpc.SERVER_OPTIONS,
            compression=grpc.Compression.NoCompression,
        )
        rpc.add_node(self._node, server)
        rpc.add_admin(AdminService(self.registry, self._faults, self), server)
        rpc.add_coordinator(
            CoordinatorService(self.registry, self._faults, self._coordinator.fault_reported), server
        )  # fmt: skip
        before = os.umask(0o177)  # the socket is this user's from the moment it exists
        try:
            server.add_insecure_port(f"unix:{self.config.socket}")
            server.start()
        finally:
            os.umask(before)
        self._server = server
