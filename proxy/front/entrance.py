"""The entrance of a service that several users share: a server for each user, and the relay that leads there.

Called by: service.py. Promises: a call is answered for the user whose process the kernel says has made it; a user meets
the own tenant alone, root and administrators the others too; who may not come in is told so, unless programs of that
user are running, which are served to their end.
"""

from __future__ import annotations

import os
import secrets
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import grpc

from ..common import rpc
from ..keeper.admission import Admission
from ..keeper.peer import Peer
from ..tenants.tenant import Tenant
from ..tenants.tenants import Ending, Tenants, TooMany
from .refusal import refuses_all
from .relay import Relay

#: Servers at a time: of users, and of those who are refused. Beyond that, the one that was needed longest ago ends.
SERVERS = 128
#: Connections that wait to be accepted.
WAITING = 128

#: Adds the services to a server. all: also what all other users have.
Serve = Callable[[grpc.Server, Tenant, bool], None]


class Entrance:
    """The public socket, and what is behind it."""

    def __init__(
        self, folder: Path, tenants: Tenants, serve: Serve, *,
        users: Admission | None, admins: Admission | None, listener: socket.socket | None = None,
    ) -> None:  # fmt: skip
        """folder: the service's private one. users: None: the service's own alone. listener: a socket of systemd's,
        which it keeps. Whatever the process makes is its own from now on: several threads make sockets and folders."""
        os.umask(0o077)
        self._folder, self._tenants, self._serve = folder, tenants, serve
        self._users, self._admins, self._given = users, admins, listener
        self._lock = threading.Lock()
        self._servers: dict[tuple[object, ...], tuple[grpc.Server, str]] = {}
        self._relay: Relay | None = None
        tenants.on_end = self._left

    def start(self, path: str) -> None:
        """Begins to answer at this path, in place of what is there; where the socket was given, it is there."""
        if self._given is not None:
            self._relay = Relay(self._given, self._route)
            return self._relay.start()
        own = str(self._folder / f"s-{secrets.token_hex(4)}")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(own)
            os.chmod(own, 0o666)  # the kernel says who comes
            listener.listen(WAITING)
            self._relay = Relay(listener, self._route)
            self._relay.start()
            os.rename(own, path)
        except BaseException:
            listener.close()
            raise

    def stop(self) -> None:
        if self._relay is None and self._given is not None:
            self._given.close()
        if self._relay is not None:
            self._relay.stop()
        with self._lock:
            servers, self._servers = list(self._servers.values()), {}
        for server, _ in servers:
            server.stop(0.5).wait()

    def _route(self, peer: Peer) -> str | None:
        """Returns the socket of the server for this peer."""
        if self._users is None and peer.uid in (0, os.geteuid()):
            own = self._tenants.own
            return self._server((own, False), lambda server: self._serve(server, own, False))
        if not self._admits(peer):
            whom = self._users.text if self._users is not None else "its own user alone"
            why = f"this user may not use this jitc-proxyd, which serves {whom} (--users)"
            return self._refused(grpc.StatusCode.PERMISSION_DENIED, why)
        try:
            tenant = self._tenants.of(peer)
        except TooMany as error:
            ending = isinstance(error, Ending)
            code = grpc.StatusCode.UNAVAILABLE if ending else grpc.StatusCode.RESOURCE_EXHAUSTED
            return self._refused(code, str(error))
        except Exception as error:
            print(f"jitc-proxyd: user {peer.uid} cannot be served: {error}", file=sys.stderr, flush=True)
            why = f"jitc-proxyd cannot serve this user now: {error}"
            return self._refused(grpc.StatusCode.FAILED_PRECONDITION, why)
        sees_all = peer.uid == 0 or (self._admins is not None and self._admins.admits(peer))
        return self._server((tenant, sees_all), lambda server: self._serve(server, tenant, sees_all))

    def _admits(self, peer: Peer) -> bool:
        listed = self._users is not None and self._users.admits(peer)
        return listed or peer.uid == os.geteuid() or self._tenants.serves(peer.uid)

    def _left(self, tenant: Tenant) -> None:
        with self._lock:
            ends = [self._servers.pop(key)[0] for key in list(self._servers) if key[0] is tenant]
        for server in ends:
            server.stop(0.5).wait()

    def _refused(self, code: grpc.StatusCode, why: str) -> str:
        return self._server(("refused", why), refuses_all(code, why))

    def _server(self, key: tuple[object, ...], add: Callable[[grpc.Server], None]) -> str:
        with self._lock:
            found = self._servers.pop(key, None)
            if found is None:
                path = str(self._folder / f"s-{secrets.token_hex(4)}")
                found = (rpc.serve(add, path, largest=rpc.REQUEST_LIMIT), path)
            self._servers[key] = found  # the newest one stands last
            oldest = [next(iter(self._servers))] if len(self._servers) > SERVERS else []
            ends = [self._servers.pop(one)[0] for one in oldest]
        for server in ends:
            server.stop(0.5)
        return found[1]
