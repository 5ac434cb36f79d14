"""One tenant of the node service: a user, with the sessions, workers, reports and limits of that user's programs.

Called by: ../service.py, tenants.py. A service has its own user as a tenant, and others if they may use it. Promises:
what a tenant has is reached through its registry and its view of the keeper alone, so that no tenant meets another
one's sessions, memory or workers; when start() returns, the tenant's programs can be served; stop() ends its workers;
leave() leaves all of them to another service.
"""

from __future__ import annotations

import contextlib
import pwd
from typing import TYPE_CHECKING, Any

from ..backends.base import Backend, HealthEvent
from ..common import rpc
from ..common.config import Config
from ..health.gpus import GpuHealth
from ..health.hang_watch import HangWatch
from ..health.heartbeat import Heartbeat
from ..health.races import Races
from ..keeper.client import Keeper
from ..keeper.log import Log
from ..node.api.node import NodeService
from ..node.api.status import Elsewhere
from ..node.fault_injector import FaultInjector
from ..node.joins.join_watch import JoinWatch
from ..node.joins.partings import Partings
from ..node.opening import Opening
from ..node.registry import Registry
from ..node.session import Session
from ..node.take_over import TakeOver
from ..node.workers.assign import Replacements
from ..node.workers.idle import IdleWorkers
from ..node.workers.supervisor import Supervisor
from ..node.workers.watch import Watch
from ..ranks.events import PendingValidation
from ..ranks.rank import Ranks
from ..recovery.coordinator import Coordinator

if TYPE_CHECKING:
    from ..cluster.ranks.assembly import JobsOverNodes
    from ..cluster.ranks.router import Router

    Events = Coordinator | Router

#: The most programs of a tenant that wait for a worker, and commands that wait for a fault or a verdict, at a time.
ATTACHES, COMMANDS = 256, 64


class Tenant:
    """One user's part of the service."""

    def __init__(self, config: Config, backend: Backend, keeper: Keeper, log: Log) -> None:
        """keeper: the user's view of it; log: of the user's sessions. Raises NoSpace."""
        self.config, self.keeper = config, keeper
        if keeper.owner is None:
            config.images_directory().mkdir(mode=0o700, exist_ok=True)
        self.registry = Registry(config, backend, log, keeper)
        self.faults = FaultInjector(self.registry)
        self.races = Races(self.registry)
        self.over_nodes = _over_nodes(config, self.registry, self.faults) if keeper.owner is None else None
        nodes = self.over_nodes
        ranks: Ranks = nodes.ranks if nodes is not None else self.registry
        self.coordinator = Coordinator(ranks, nodes.faults if nodes is not None else self.faults)
        #: The coordinator, as those see it who tell it of events: some concern jobs that another node leads.
        self.events: Events = nodes.router(self.coordinator) if nodes is not None else self.coordinator
        self.gpus = GpuHealth(self.registry, self.events.post, self.faults.move_at_boundary)
        self.faults.report_unhealthy = self.gpus.unhealthy
        self._watch = Watch()
        self.supervisor = Supervisor(
            config,
            self._watch,
            self.events.worker_died,
            keeper,
            log,
            completed=Opening(self.registry).filled_in,
        )
        self.heartbeat = Heartbeat(self.supervisor.workers, config.hang_seconds)
        self.hangs = HangWatch(ranks, config.hang_seconds, self.coordinator.hang_found)
        self.coordinator.late = self.hangs.late
        self._idle = IdleWorkers(self.registry, self.supervisor)
        self.joins = JoinWatch(self.registry, config.hang_seconds)
        self._partings = Partings(self.registry)
        self._attaches, self.commands = rpc.Waiting("jitc-attach", ATTACHES), rpc.Waiting("jitc-command", COMMANDS)
        self.node = NodeService(
            self.registry,
            self.supervisor,
            self._watch,
            keeper,
            faults=self.faults,
            waiting=self._attaches,
            ended=self.events.session_closed,
        )

    @property
    def user(self) -> str:
        """Returns the user's name, else the number."""
        uid = self.keeper.uid
        try:
            return pwd.getpwuid(uid).pw_name
        except KeyError:
            return str(uid)

    def begin(self, takes_over: bool) -> list[Session]:
        """Begins to have workers. Returns the sessions of the service before whose programs live. Raises NoWorker."""
        self._watch.start()
        sessions = self._take_over() if takes_over else []
        self.supervisor.start()
        own = Replacements(self.registry, self.supervisor)
        self.coordinator.start(self.over_nodes.begin(own) if self.over_nodes is not None else own)
        return sessions

    def resume(self, sessions: list[Session]) -> None:
        """Continues the jobs of the service before, once programs can reach this one."""
        self.events.resume(sessions)

    def start(self) -> None:
        """Starts everything else. Raises NoWorker."""
        if self.config.keeps_idle:
            self._idle.start()
        self.heartbeat.start()
        self.hangs.start()
        self.joins.start()
        self._partings.start()

    def stop(self) -> None:
        """Ends the workers and releases all memory, even if a part cannot be stopped."""
        with contextlib.ExitStack() as last:  # the first entered is done last
            last.callback(self.registry.close)
            last.callback(self.supervisor.stop)
            last.callback(self._stop_threads)

    def leave(self) -> None:
        """Ends without ending anything else: programs, workers and memory are the next service's."""
        with contextlib.ExitStack() as last:
            last.callback(self.registry.leave)
            last.callback(self._stop_threads)

    def used(self) -> bool:
        """Returns whether a program has a session, or is about to. The caller holds the registry's lock, or knows that
        the answer may be outdated."""
        return bool(self.registry.sessions) or any(gpu.attaching for gpu in self.registry.gpus)

    # -- reports, for jitc report; validations; GPUs ---------------------------------------------------

    def recoveries(self) -> list[dict[str, Any]]:
        return self.coordinator.reports.documents()

    def validations(self) -> list[dict[str, Any]]:
        return self.coordinator.validations.documents()

    def divergences(self) -> list[dict[str, Any]]:
        return self.coordinator.divergences.documents()

    def elsewhere(self, session: Session) -> Elsewhere:
        """Returns what other nodes have to do with a session."""
        nodes, waits = self.over_nodes, self.coordinator.waits_for(session)
        return nodes.elsewhere(session, waits) if nodes is not None else Elsewhere()

    def validate(self, gpu: int) -> PendingValidation:
        """Begins a validation for `jitc validate`."""
        return self.events.validate(gpu)

    def unhealthy(self, event: HealthEvent) -> None:
        """Takes in a report of the device's own monitoring."""
        self.gpus.unhealthy(event)

    def return_gpu(self, gpu: int) -> str:
        """Puts a lost GPU back into use. Returns the result, as a text."""
        return self.gpus.returned(gpu)

    # -- parts ----------------------------------------------------------------------------------------

    def _take_over(self) -> list[Session]:
        sessions = TakeOver(self.registry, self.supervisor, self.keeper, self.registry.log).run()
        self.node.unanswered = {session.number for session in sessions}
        self.node.programs.await_return(sessions, unknown=self.keeper.restored)
        return [session for session in sessions if self.node.programs.watch(session)]

    def _stop_threads(self) -> None:
        with contextlib.ExitStack() as last:
            last.callback(self.node.programs.stop)
            last.callback(self._watch.stop)  # before the supervisor: it starts workers
            last.callback(self.coordinator.stop)
            if self.over_nodes is not None:
                last.callback(self.over_nodes.stop)
            last.callback(self.joins.stop)
            last.callback(self._partings.stop)
            last.callback(self._idle.stop)
            last.callback(self.supervisor.close)
            last.callback(self.heartbeat.stop)
            last.callback(self.hangs.stop)
            last.callback(self._attaches.close)
            last.callback(self.commands.close)


def _over_nodes(config: Config, registry: Registry, faults: FaultInjector) -> JobsOverNodes | None:
    """Returns what a node of a cluster has for jobs over nodes; None: the service is in no cluster."""
    if config.cluster is None:
        return None
    from ..cluster.ranks.assembly import JobsOverNodes
    from ..cluster.ranks.joining import Joining

    return JobsOverNodes(Joining(config.cluster.node, config.node_number), registry, faults)
