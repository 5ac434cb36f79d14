"""This node as a member of its cluster: what a service has of it, assembled.

Called by: membership.py. Promises: one that cannot be made leaves nothing behind; whatever happens to the cluster, jobs
of this node alone go on.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from jitc.v1 import bridge_pb2, peer_pb2

from ..bridge.slots import MirrorSlots
from ..common import paths
from ..common.complaints import Complaints
from ..common.config import ClusterOptions, Config
from ..common.executor import ExecutorError, Shared
from ..keeper import names
from ..keeper.client import Keeper
from ..keeper.line import KeeperLost
from ..keeper.log import Log
from ..node.registry import Registry
from ..node.workers import environment
from .bridge_process import BridgeProcess
from .commands import Admin, Commands
from .here import OfRegistry
from .jobs import Jobs
from .lasting import Lasting
from .links import SegmentLinks
from .meetings import Meetings
from .nodes import CannotJoin, NodeRecord, Nodes
from .numbers import Numbers
from .peers.beats import Beats
from .peers.client import Peers
from .peers.contract import versions
from .peers.credentials import Credentials
from .peers.identity import CredentialsError
from .peers.server import CannotListen, PeerServer, PeerService
from .ranks.assembly import JobsOverNodes
from .store.engine import Engine

#: In the log: the lease, with which the next service goes on.
_LEASE = "cluster-lease"


def bridge_command(config: Config, options: ClusterOptions) -> list[str]:
    return [
        sys.executable, "-m", "jitc.proxy.bridge", "--listen", options.bridge_address, "--node", options.node,
        "--device", config.device, "--certificates", options.certificates,
    ]  # fmt: skip


class Member:
    """A node that is in its cluster. Raises CannotJoin."""

    def __init__(
        self, engine: Engine, config: Config, log: Log, registry: Registry, numbers: Numbers, *, keeper: Keeper,
        over_nodes: JobsOverNodes, commands: Commands, admin: Admin,
    ) -> None:  # fmt: skip
        """log, over_nodes: of the service's own user."""
        options, number = config.cluster, numbers.own
        assert options is not None
        self._registry, self._log, self._over_nodes, self._commands = registry, log, over_nodes, commands
        self._complaints = Complaints("the links to other nodes")
        self._credentials = _credentials(options)
        self._lasting = Lasting(engine, log, options.node, number, options.store)
        self.nodes = Nodes(engine, options.node, self._nodes_changed)
        self.jobs = Jobs(engine, options.node, numbers, self.nodes.name_of)
        self.peers = Peers(self._credentials, self.nodes.renew)
        self.beats = Beats(self.peers, engine.clock, self._state, over_nodes.node_changed)
        self.bridge = BridgeProcess(
            bridge_command(config, options), config.private_directory(), keeper, self._log,
            begun=self._bridge_begun, ended=self._bridge_ended,
            environment=lambda: environment.of_workers(os.environ, keeper.owner),
        )  # fmt: skip
        here = OfRegistry(registry)
        board = MirrorSlots(paths.executor_library(), registry.board.path)
        self.links = SegmentLinks(
            number, board, self.bridge, self.jobs, log=self._log, slots=self._slots, peer=self._peer,
            cut=functools.partial(_cut, keeper, registry.shared),
        )  # fmt: skip
        self.meetings = Meetings(engine, numbers, here, self.jobs, self.links)
        self._server = self._listen(options, admin)
        try:
            self._enter(options, number)
        except BaseException:
            self._server.stop()
            self._lasting.close()
            self.nodes.stop()
            raise
        commands.join(self.nodes, self.peers)
        over_nodes.joining.join(self.jobs, self.peers, self._suspected, self._begin_epoch)
        here.follow(self.meetings.wake)
        registry.mirror_slots = self.links.slots_of
        self.peers.start()
        self.bridge.start()
        self.meetings.start()
        self.beats.start()

    def stop(self) -> None:
        self._end_threads()
        self.bridge.stop()
        self.nodes.stop()

    def leave(self) -> None:
        self._log.put(_LEASE, self.nodes.registration.lease)
        self._end_threads()
        self.bridge.leave()
        self.nodes.leave()

    # -- parts ------------------------------------------------------------------------------------

    def _listen(self, options: ClusterOptions, admin: Admin) -> PeerServer:
        """Raises CannotJoin."""
        service = PeerService(self.beats.answer)
        assert self._over_nodes.methods is not None, "the tenant begins first"
        self._over_nodes.methods.install(service)
        self._commands.install(service, admin)
        try:
            return PeerServer(options.peer_address, self._credentials, self.nodes.certificate_of, service.add)
        except CannotListen as error:
            raise CannotJoin(str(error)) from None

    def _enter(self, options: ClusterOptions, number: int) -> None:
        """Raises CannotJoin."""
        shown = self._credentials.identity.hash
        self._lasting.begin(has_jobs=bool(self._registry.sessions))
        own = NodeRecord(number, options.peer_address, options.bridge_address, shown, _numbers(versions()))
        self.nodes.start(own, self._log.get(_LEASE) or "")
        self.jobs.start(self.nodes.registration)

    def _end_threads(self) -> None:
        self._registry.communicators.changed = lambda: None
        self._over_nodes.joining.leave()
        self._commands.leave()
        with ExitStack() as ends:
            for one in (self.jobs.close, self.meetings.close, self.peers.close, self.beats.stop, self._server.stop):
                ends.callback(one)
            ends.callback(self._lasting.close)

    def _nodes_changed(self) -> None:
        for name, one in self.nodes.others().items():
            try:
                self.peers.link(name, one.peer, one.certificate)
            except ValueError as error:  # there are too many
                self._complaints.of(error)
            self._over_nodes.node_changed(name)
        self.meetings.wake()

    def _suspected(self, node: str) -> bool:
        seen = self.beats.seen(node)
        return seen is not None and seen.suspected

    def _begin_epoch(self, epoch: int, places: Mapping[int, int]) -> None:
        """Begins an epoch of jobs with sessions of other nodes, which stand behind these boundaries. Raises
        LinkError."""
        counters = {one: dict.fromkeys(("prepared", "reached", "begun"), at) for one, at in places.items()}
        self.links.begin_epoch(epoch, counters)

    def _bridge_begun(self) -> None:
        self.links.bridge_begun()
        self.meetings.wake()

    def _bridge_ended(self) -> None:
        self.links.bridge_ended()

    def _slots(self) -> Mapping[int, int]:
        with self._registry.changed:
            return {number: one.slot for number, one in self._registry.sessions.items()}

    def _peer(self, number: int) -> Any:
        """Returns what the bridge must know of the node with this number; None: it is not known."""
        for name, one in self.nodes.last_seen().items():
            if one.number == number:
                return bridge_pb2.BridgePeer(number=number, node=name, address=one.bridge, certificate=one.certificate)
        return None

    def _state(self) -> peer_pb2.NodeState:
        with self._registry.changed:
            sessions = {number: one.epochs for number, one in self._registry.sessions.items()}
        seen = {name: one for name, (one, _) in self.jobs.entries().items() if one.sessions & sessions.keys()}
        jobs = [
            peer_pb2.JobSeen(job=name, epoch=max(sessions.get(number, 0) for number in one.sessions))
            for name, one in seen.items()
        ]
        load = os.getloadavg()[0] / len(os.sched_getaffinity(0))
        return peer_pb2.NodeState(load=load, sessions=len(sessions), jobs=jobs)


def _credentials(options: ClusterOptions) -> Credentials:
    """Raises CannotJoin."""
    try:
        return Credentials(Path(options.certificates), options.node)
    except CredentialsError as error:
        raise CannotJoin(str(error)) from None


def _cut(keeper: Keeper, structures: Shared, identity: int, why: str) -> None:
    """Marks a segment as cut, if the keeper has it."""
    try:
        for descriptor in keeper.take([names.of_communicator(identity)]).values():
            try:
                structures.cut_segment(f"/proc/self/fd/{descriptor}", why)
            finally:
                os.close(descriptor)
    except (OSError, KeeperLost, ExecutorError) as error:
        print(f"jitc-proxyd: a communicator cannot be marked as cut: {error}", file=sys.stderr, flush=True)


def _numbers(found: peer_pb2.Versions) -> dict[str, int]:
    return {one.name: value for one, value in found.ListFields()}
