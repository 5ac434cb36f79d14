"""The certificate of this node, as its service uses it: it follows its files.

Called by: server.py, link.py, the service. Promises: files that are no longer good while the service runs change
nothing but what `trouble` says, and one line in the log; the files are used together or not at all, however they are
replaced.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import grpc

from . import der
from .identity import CERTIFICATE, FILES, WARN_DAYS, CredentialsError, Identity, read_identity

__all__ = ["Credentials", "CredentialsError", "for_channel"]


class Credentials:
    """The identity of this node, which follows its files."""

    def __init__(self, folder: Path, node: str | None = None, now: Callable[[], float] = time.time) -> None:
        """Reads the folder. node: whose certificate it must be. Raises CredentialsError."""
        self._folder, self._node, self._now = folder, node, now
        self._lock = threading.Lock()
        self._seen = self._state()  # of the files that were looked at last
        self._trouble = ""
        self.identity = self._read()

    def look(self) -> bool:
        """Reads the files if they have changed. Returns whether the identity is another one now."""
        with self._lock:
            state = self._state()
            if state == self._seen:
                return False
            try:
                found, trouble = self._read(), ""
            except CredentialsError as error:
                found, trouble = self.identity, str(error)
            if self._state() != state:  # somebody is at it: the next look will see the rest
                return False
            self._seen = state
            self._complain(trouble)
            renewed, self.identity = found != self.identity, found
            return renewed

    @property
    def expired(self) -> str:
        """Returns that the certificate is no longer valid; empty: it is."""
        if self._now() <= self.identity.ends:
            return ""
        return (
            f"the certificate of node {self.identity.node} expired on {der.day(self.identity.ends)}; renew it with "
            f"`jitc cluster rotate {self.identity.node}`, and bring it to {self._folder}"
        )

    @property
    def warning(self) -> str:
        """Returns that the certificate will soon expire; empty: there is time."""
        left = self.identity.ends - self._now()
        if not 0 <= left < WARN_DAYS * 86400:
            return ""
        return (
            f"the certificate of node {self.identity.node} expires in {int(left // 86400)} days, on "
            f"{der.day(self.identity.ends)}; renew it with `jitc cluster rotate {self.identity.node}`"
        )

    @property
    def trouble(self) -> str:
        """Returns what is wrong with the certificate, or with its files as they are now; empty: nothing."""
        return self.expired or self._trouble

    def for_server(self) -> grpc.ServerCredentials:
        """Returns credentials of a server that asks each client for a certificate; each new connection is shown the
        newest one."""
        used = [self.identity]

        def renewed() -> grpc.ServerCertificateConfiguration | None:
            self.look()
            if self.identity is used[0]:
                return None
            used[0] = self.identity
            return _configuration(used[0])

        first, fetch = _configuration(used[0]), cast(Any, renewed)  # which may also return None: nothing has changed
        return grpc.dynamic_ssl_server_credentials(first, fetch, require_client_authentication=True)

    def _read(self) -> Identity:
        found = read_identity(self._folder, self._now)
        if self._node is not None and found.node != self._node:
            raise CredentialsError(
                f"{self._folder / CERTIFICATE} is of node {found.node}, and this is node {self._node}; bring the files "
                f"of `jitc cluster add {self._node}` here"
            )
        return found

    def _state(self) -> object:
        return tuple(_state(self._folder / name) for name in FILES)

    def _complain(self, trouble: str) -> None:
        if trouble:
            text = f"jitc-proxyd: goes on with the certificate that it has: {trouble}"
            print(text, file=sys.stderr, flush=True)
        self._trouble = trouble


def for_channel(identity: Identity, server: bytes) -> grpc.ChannelCredentials:
    """Returns credentials of a channel that trusts this one certificate (PEM) of a server, and none of the same CA."""
    return grpc.ssl_channel_credentials(server, identity.key, identity.certificate)


def _configuration(identity: Identity) -> grpc.ServerCertificateConfiguration:
    return grpc.ssl_server_certificate_configuration([(identity.key, identity.certificate)], identity.authority)


def _state(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_mode
