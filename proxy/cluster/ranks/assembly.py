"""Jobs over nodes, assembled for one tenant of a service.

Called by: ../../tenants/tenant.py; the service (`methods`, `node_changed`). Promises: when begin() returns, faults of
jobs that this node leads become recoveries here, and those of others reach their leaders; stop() leaves no thread.
"""

from __future__ import annotations

import contextlib

from ...node.api.status import Elsewhere
from ...node.fault_injector import FaultInjector
from ...node.registry import Registry
from ...node.session import Session
from ...node.workers.assign import Replacements
from .errands import Errands
from .home.calls import Calls
from .home.following import Following
from .home.pieces import Pieces
from .home.rebuilding import Rebuilding
from .home.reports import Reports
from .home.standing import Standing
from .joining import Joining
from .leader.asking import Asking
from .leader.memory import Memories
from .leader.places import Places
from .leader.ranks import ClusterRanks
from .leader.replacements import ClusterFaults, ClusterReplacements
from .leader.table import RemoteTable
from .leader.validations import Validations
from .leads import Leads
from .methods import Methods
from .router import Coordinator, Router
from .stamps import Stamps


class JobsOverNodes:
    """The parts, and how they know each other."""

    def __init__(self, joining: Joining, registry: Registry, faults: FaultInjector) -> None:
        """joining: the way into the cluster, which the service completes (`join`)."""
        self.joining = joining
        self._cluster = cluster = joining.cluster()
        self._registry, self._faults = registry, faults
        self._errands = Errands(cluster)
        stamps = Stamps(registry.log)
        self._standing = Standing(stamps)
        self._table = RemoteTable(cluster, registry.changed, self._errands, stamps)
        self._reports = Reports(registry, faults, self._standing, stamps, self._errands)
        self._leads = Leads(
            cluster, registry, self._table, reports=self._reports, standing=self._standing, stamps=stamps,
            asking=Asking(cluster, self._errands),
        )  # fmt: skip
        self._pieces = Pieces(registry)
        self._following = Following(cluster.node, registry, self._leads, standing=self._standing, faults=faults)
        self.ranks = ClusterRanks(
            cluster, registry, self._table, self._leads, memories=Memories(cluster, self._errands, self._pieces),
            places=Places(cluster, self._errands),
        )  # fmt: skip
        self.faults = ClusterFaults(faults, self._table)
        self.methods: Methods | None = None

    def router(self, coordinator: Coordinator) -> Router:
        """Returns what sources of events have in place of the coordinator, from which events come here."""
        self._table.post, self._table.fault_found = coordinator.post, coordinator.fault_found
        self._coordinator = coordinator
        return Router(
            coordinator, self._registry, self._leads, standing=self._standing, faults=self._faults,
            errands=self._errands,
        )  # fmt: skip

    def begin(self, replacements: Replacements) -> ClusterReplacements:
        """Begins with everything. Returns what the coordinator starts with. replacements: of this node's workers."""
        calls = Calls(self._registry, self._following, self._faults)
        rebuilding = Rebuilding(self._registry, self._following, replacements, self._reports, calls)
        validations = Validations(lambda session: self._coordinator.validate(0, session))
        self.methods = Methods(
            self._cluster, self._leads, self._table, following=self._following, calls=calls, rebuilding=rebuilding,
            pieces=self._pieces, validations=validations, errands=self._errands,
        )  # fmt: skip
        self._errands.start()
        self._leads.start()
        return ClusterReplacements(replacements, self._table, self._errands, self._registry.changed)

    def node_changed(self, node: str) -> None:
        """Asks a node again that may be back, or may have begun anew."""
        self._errands.retry(node)
        self._leads.node_changed(node)

    def unreachable(self, node: str) -> str:
        """Returns why a node cannot be reached, as far as is known; empty: it can."""
        return self._errands.unreachable(node)

    def elsewhere(self, session: Session, waits: str) -> Elsewhere:
        """Returns what other nodes have to do with a session of this one. waits: what a recovery of its job waits for
        here; empty: nothing."""
        number = session.number
        with self._registry.changed:
            sessions = self._leads.connected([number])
            nodes = sorted({self._cluster.jobs.node_of(one) for one in sessions if not self._leads.is_own(one)})
            runs = not session.stopped and session.worker is not None and session.worker.works()
            unled = not runs and self._leads.leader_of(number) is None
        if not waits and (why := self.ranks.store_trouble(number)):
            waits = f"the cluster's store gives no epoch: {why}"
        if waits:
            return Elsewhere(nodes, f"its recovery waits: {waits}")
        reasons = [why for one in nodes if (why := self.unreachable(one))]
        reasons += ["no node leads the job at present"] if nodes and unled else []
        return Elsewhere(nodes, "; ".join(reasons))

    def stop(self) -> None:
        with contextlib.ExitStack() as last:  # the first entered is done last
            last.callback(self._pieces.close)
            if self.methods is not None:
                last.callback(self.methods.close)
            last.callback(self._errands.stop)
            last.callback(self._leads.stop)
            last.callback(self.ranks.close)
