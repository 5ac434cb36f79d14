"""The node service, assembled: keeper, socket, memory, workers, coordinator, gRPC server.

Called by: proxyd.py, tests. Promises: when start() returns, every GPU is served and the socket answers; stop() leaves
no process, socket or file; leave() leaves all of them to another service, as the end of this process by a signal does.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import sys
from collections.abc import Callable

import grpc

from jitc.ops.generated_names import FORMAT_VERSION
from jitc.v1 import control_pb2

from .backends import open_backend
from .backends.base import Backend, HealthWatch, NoDevice
from .cluster.membership import Membership
from .common import rpc
from .common.config import Config
from .common.paths import BOARD_VERSION, JOURNAL_VERSION, PROTOCOL_VERSION, WORKER_VERSION
from .front.entrance import Entrance
from .keeper import names, protocol
from .keeper.admission import Admission
from .keeper.backup import Backup
from .keeper.claim.socket_lock import SocketLock
from .keeper.client import Keeper
from .keeper.launch import open_keeper
from .keeper.log import Log
from .node.api.admin import AdminService
from .node.api.coordinator import CoordinatorService
from .node.registry import Registry
from .node.take_over import OtherOptions, carry_on, described, fits, has_sessions, note_options, open_log
from .tenants.tenant import Tenant
from .tenants.tenants import Tenants

#: The versions on which a service and its successor must agree: workers continue with memory of the other one's.
VERSIONS = {
    "keeper": protocol.VERSION,
    "protocol": PROTOCOL_VERSION,
    "ops and records": FORMAT_VERSION,
    "board": BOARD_VERSION,
    "journal": JOURNAL_VERSION,
    "worker": WORKER_VERSION,
}
_RUNNING = "programs of user {} are running; start jitc-proxyd with --users, or end them first"
#: Logs of a service without sessions, by user; OWN: of the service's.
Left = dict[int, Log]
OWN = -1


class Service:
    """One node service. Raises NoDevice, SocketInUse or NoSpace when it cannot be made."""

    def __init__(
        self, config: Config, *, replace: bool = False, keeper: Keeper | None = None, left: Left | None = None,
        listener: socket.socket | None = None, backup: Backup | None = None, kept: dict[str, int] | None = None,
        held: tuple[int, int] | None = None,
    ) -> None:  # fmt: skip
        """Makes the service. replace: one that is already serving stands by until this one serves; keeper: of this
        process, which has stood by, and goes on; left: what this process knew before it began anew; listener: a socket
        of systemd's, which the service owns from now on; kept: the memory of a keeper that has ended, as descriptors of
        the caller's by name; held: the claim on the socket, if this process has it. Raises UnknownUser, too."""
        left = dict(left or {})
        self.backup = backup or Backup()
        users = Admission.of(config.users) if config.users else None
        admins = Admission.of(config.admins) if config.admins else None
        self.config = config
        backend = open_backend(config)
        if config.spare_gpus >= len(backend.gpus):
            raise NoDevice(f"--spare-gpus {config.spare_gpus} leaves none of {len(backend.gpus)} GPUs to programs")
        self._socket_lock = SocketLock(config.socket, config.private_directory(), given=listener is not None, held=held)
        if keeper is not None:
            self._socket_lock.share()
        self.keeper, self.takes_over = (keeper, True) if keeper is not None else self._open_keeper(replace, kept)
        try:
            self._check_users(users)
            log = self._log(left)
            self._admit(users)  # the keeper may be another one by now
            self._membership = Membership(config, log)
            config = self._membership.config
            self.own, backend = self._own_tenant(config, backend, log)
            self.config, self.backend = self.own.config, backend
            self.tenants = Tenants(config, backend, self.own)
            self.tenants.carry_on({uid: one for uid, one in left.items() if uid != OWN})
        except BaseException:
            self._let_go()
            raise
        self.complete = False  # whether it has all that the one before has left
        self._entrance: Entrance | None = None
        if users is not None or listener is not None:
            folder = config.private_directory()
            self._entrance = Entrance(folder, self.tenants, self._serve, users=users, admins=admins, listener=listener)
        self._health: HealthWatch | None = None
        self._server: grpc.Server | None = None

    def start(self) -> None:
        """Starts everything. Raises NoWorker or OSError; stop() cleans up in any case."""
        begun = [(self.own, self.own.begin(self.takes_over)), *(self.tenants.take_over() if self.takes_over else [])]
        self.complete = True
        sessions = [session for _, some in begun for session in some]
        if self.takes_over:
            print(f"jitc-proxyd: takes over {described(sessions)}", file=sys.stderr, flush=True)
        if sessions:
            self._listen()  # programs may be waiting
            for tenant, some in begun:
                tenant.resume(some)
            self.keeper.serving(settled=False)
        for tenant, _ in begun:
            tenant.start()
        self.tenants.start()
        admin = AdminService(self.tenants.all, self.own.commands)  # for commands of other nodes
        self._membership.start(self.registry, self.keeper, self.own.over_nodes, admin)
        self._health = self.backend.watch(self.tenants.unhealthy)
        if not sessions:
            self._listen()
        self.keeper.serving(settled=True)

    @property
    def registry(self) -> Registry:
        """Returns the registry of the service's own user."""
        return self.own.registry

    def _check_users(self, users: Admission | None) -> None:
        """Raises OtherOptions if the service before has served programs that this one could not."""
        if users is None and self.takes_over and (running := self._others_with_sessions()):
            raise OtherOptions(_RUNNING.format(running[0]))

    def _admit(self, users: Admission | None) -> None:
        self.keeper.admit(users)
        if why := self._socket_lock.let_pass(users is not None):
            print(f"jitc-proxyd: {why}", file=sys.stderr, flush=True)

    def _log(self, left: Left) -> Log:
        """Returns the log of the service's own user, with what is left of the one before."""
        log, own = open_log(self.keeper), left.get(OWN)
        if self.takes_over and not (has_sessions(log) or self._others_with_sessions()):
            left[OWN] = own = log
            left |= self._logs_of_others()
            log = self._begin_anew()
        if own is not None:
            carry_on(own, log)
        log.put("versions", VERSIONS)
        return log

    def _open_keeper(self, replace: bool, kept: dict[str, int] | None = None) -> tuple[Keeper, bool]:
        usable = kept if kept and fits(kept, VERSIONS) else {}
        return open_keeper(self._socket_lock, VERSIONS, replace, self.backup, usable)

    def _own_tenant(self, config: Config, backend: Backend, log: Log) -> tuple[Tenant, Backend]:
        noted = note_options(config, log, backend.gpus[0].memory_total, backend.worker_overhead)
        if (noted.memory_limit, noted.worker_overhead) != (config.memory_limit, config.worker_overhead):
            backend = open_backend(noted)
        return Tenant(noted, backend, self.keeper, log), backend

    def _others_with_sessions(self) -> list[int]:
        """Returns the other users whose programs the service before has served."""
        others = self._logs_of_others()
        try:
            return [uid for uid, log in others.items() if has_sessions(log)]
        finally:
            for one in others.values():
                one.close()

    def _logs_of_others(self) -> Left:
        return {uid: open_log(self.keeper, names.of_log(uid)) for uid in names.logged_users(self.keeper.kept)}

    def _begin_anew(self) -> Log:
        """Opens a new keeper: the previous service had no sessions, and nothing worth keeping but its reports."""
        self.keeper.end(leaves_folder=True)
        self._socket_lock.close()
        self.keeper, self.takes_over = self._open_keeper(replace=False)
        return open_log(self.keeper)

    def _let_go(self) -> None:
        """Releases what a service that could not be made has; the state from before it stays as it is."""
        if self.takes_over:
            self.keeper.leave()
            self._socket_lock.close()
        else:
            self.keeper.end()
            self._socket_lock.release()

    def may_move(self) -> bool:
        """Returns whether the service has no reason to stay with a keeper in another container, which cannot end
        before: no program uses it. From then on programs are told to ask again."""
        if not self.keeper.foreign or any(self._used(one) for one in self.tenants.all()):
            return False
        self.tenants.begin_anew(True)  # then none can begin behind this one's back
        free = not any(self._used(one) for one in self.tenants.all())
        self.tenants.begin_anew(free)
        return free

    def refuses(self, config: Config) -> str:
        """Returns why a service with this configuration could not go on in this one's place; empty if it could. From
        then on programs are told to ask again, if there are none so far."""
        running = [one for one in self.tenants.all()[1:] if one.registry.sessions]
        if running and not config.users:
            return _RUNNING.format(running[0].user)
        waits: list[Tenant] = []
        for one in self.tenants.all():
            with one.registry.changed:
                if not one.used():
                    one.node.moving = True
                    waits.append(one)
                    continue
                try:
                    note_options(config, one.registry.log)
                except OtherOptions as error:
                    for other in waits:
                        other.node.moving = False
                    return str(error)
        return ""

    @staticmethod
    def _used(tenant: Tenant) -> bool:
        with tenant.registry.changed:
            return tenant.used()

    def answers(self, seconds: float) -> bool:
        """Returns whether its locks become free and its socket answers, each within this time."""
        for one in self.tenants.all():
            if not one.registry.changed.acquire(timeout=seconds):
                return False
            one.registry.changed.release()
        with rpc.channel(self.config.socket) as link, contextlib.suppress(grpc.RpcError):
            request = control_pb2.DescribeRequest(protocol_version=PROTOCOL_VERSION)
            rpc.node(link).Describe(request, timeout=seconds)
            return True
        return False

    def drain(self) -> int:
        """Stops taking new sessions. Returns how many are left."""
        return self.tenants.drain()

    def wait_drained(self, ended: Callable[[], bool]) -> None:
        """Waits until the last session has ended, or ended() says that nobody waits any more."""
        for one in self.tenants.all():
            with one.registry.changed:
                while one.registry.sessions and not ended():
                    one.registry.changed.wait(0.2)

    def logs(self) -> dict[int, int]:
        """Returns descriptors of the logs of all users, for a service that begins anew in this process's place."""
        others = {uid: open_log(self.keeper, names.of_log(uid)) for uid in self.tenants.users()}
        return {uid: one.handed_on() for uid, one in {OWN: self.registry.log, **others}.items()}

    def stop(self, leaves_folder: bool = False) -> None:
        """Stops everything, even if stopping a part fails. leaves_folder: another service is about to be made; programs
        that begin now wait for it."""
        with contextlib.ExitStack() as last:  # the first entered is done last
            last.callback(self._socket_lock.close if leaves_folder else self._socket_lock.release)
            last.callback(self.backup.clear)
            last.callback(self.keeper.end, leaves_folder)
            last.callback(self.own.stop)
            last.callback(self.tenants.stop)
            last.callback(self._membership.stop)
            last.callback(self._stop_answering)

    def leave(self) -> None:
        """Ends without ending anything else: programs, workers and memory are the next service's."""
        with contextlib.ExitStack() as last:
            last.callback(self._socket_lock.close)
            last.callback(self.keeper.leave)
            last.callback(self.own.leave)
            last.callback(self.tenants.leave)
            last.callback(self._membership.leave)
            last.callback(self._stop_answering)

    def hold(self) -> tuple[int, int] | None:
        """Holds the claim on the socket, whose keeper has ended. Returns its descriptors; None: it is another one's."""
        return self._socket_lock.hold()

    def ends_of_workers(self) -> list[int]:
        """Returns descriptors of this process's that become readable when the workers have ended."""
        found = [worker.own_descriptor() for one in self.tenants.all() for worker in one.supervisor.workers()]
        return [one for one in found if one >= 0]

    def _stop_answering(self) -> None:
        with contextlib.ExitStack() as last:
            if self._health is not None:
                last.callback(self._health.stop)
            if self._server is not None:
                last.callback(lambda server: server.stop(0.5).wait(), self._server)
            if self._entrance is not None:
                last.callback(self._entrance.stop)

    def _serve(self, server: grpc.Server, tenant: Tenant, sees_all: bool) -> None:
        """Adds to a server what it answers to a tenant's processes. sees_all: its commands see other tenants, too."""

        def seen() -> list[Tenant]:
            others = [one for one in self.tenants.all() if one is not tenant]
            return [tenant, *(others if sees_all else ())]

        rpc.add_node(tenant.node, server)
        nodes = self._membership.commands if sees_all or tenant is self.own else None
        rpc.add_admin(AdminService(seen, tenant.commands, nodes), server)
        fault, race = tenant.events.fault_reported, tenant.races.add
        coordinator = CoordinatorService(tenant.registry, tenant.faults, fault=fault, race=race)
        rpc.add_coordinator(coordinator, server)

    def _listen(self) -> None:
        if self._entrance is not None:
            return self._entrance.start(self.config.socket)
        # Under a name of its own first: it replaces that of a service before at once, and when one of them ends later,
        # gRPC removes no other one's.
        own = str(self.config.private_directory() / f"s-{secrets.token_hex(4)}")
        before = os.umask(0o177)  # the socket is this user's from the moment it exists
        try:
            self._server = rpc.serve(
                lambda server: self._serve(server, self.own, False), own, largest=rpc.REQUEST_LIMIT
            )
        finally:
            os.umask(before)
        os.rename(own, self.config.socket)
