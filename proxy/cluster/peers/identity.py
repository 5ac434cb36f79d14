"""The certificate of a node: read from its folder, and checked.

What OpenSSL verifies it verifies here as it does in a connection: the node's certificate is shown to the node itself,
in memory. Nothing but the standard library is needed for that.

Called by: credentials.py, `jitc cluster show`. Promise: files that cannot be used are an error with a text that says
what to do.
"""

from __future__ import annotations

import os
import ssl
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import der
from .names import dns_name, is_name

AUTHORITY, CERTIFICATE, KEY = FILES = ("ca.pem", "node.pem", "node.key")
#: Bytes of a file that is read.
FILE_MOST = 1 << 16
#: Before the end of a certificate it is time to renew it.
WARN_DAYS = 30
#: Verdicts of OpenSSL.
_NOT_YET, _EXPIRED = 9, 10


class CredentialsError(Exception):
    """The certificate of a node cannot be used; the text says why, and what to do."""


@dataclass(frozen=True)
class Identity:
    """A node's certificate with its key, which the node shows to others, and the authority that has signed it."""

    node: str
    hash: str  # SHA-256 of the certificate, in hex: what the store has of the node
    begins: float
    ends: float
    authority: bytes  # in PEM, as the next two
    certificate: bytes
    key: bytes

    def show(self, context: ssl.SSLContext) -> None:
        """Has connections of this context show the certificate. Raises ssl.SSLError."""
        file = os.memfd_create("jitc-peer", os.MFD_CLOEXEC)  # OpenSSL takes the name of a file alone
        try:
            os.write(file, self.certificate + b"\n" + self.key)
            context.load_cert_chain(f"/proc/self/fd/{file}", password="")
        finally:
            os.close(file)

    def client_context(self) -> ssl.SSLContext:
        """Returns the context of a connection to another node, whose name is not checked."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(cadata=self.authority.decode("ascii"))
        self.show(context)
        return context


def read_identity(folder: Path, now: Callable[[], float] = time.time) -> Identity:
    """Returns the identity whose files are in the folder. now: seconds since 1970. Raises CredentialsError."""
    found = _read_files(folder)
    authority = _certificate(folder / AUTHORITY, found[AUTHORITY])
    own = _certificate(folder / CERTIFICATE, found[CERTIFICATE])
    if not is_name(own.name):
        raise CredentialsError(f"{folder / CERTIFICATE} is no certificate of a node; `jitc cluster add` makes one")
    identity = Identity(own.name, own.hash, own.begins, own.ends, authority.pem, own.pem, found[KEY])
    server = _server_context(folder, identity)
    _check_dates(f"the CA ({folder / AUTHORITY})", "make another one with `jitc cluster init`", authority, now())
    renewed = f"renew it with `jitc cluster rotate {own.name}`, and bring it here"
    _check_dates(f"the certificate of node {own.name} ({folder / CERTIFICATE})", renewed, own, now())
    try:
        _verify(identity, server)
    except ssl.SSLError as error:
        raise CredentialsError(_refusal(folder, error)) from None
    return identity


def _read_files(folder: Path) -> dict[str, bytes]:
    if not folder.is_dir():
        raise CredentialsError(
            f"{folder} is missing, which has the certificate of this node; `jitc cluster add NODE` makes it, and says "
            "how to bring it here"
        )
    return {name: _read(folder / name) for name in FILES}


def _read(path: Path) -> bytes:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise CredentialsError(
            f"{path} is missing; bring all files that `jitc cluster add` has made to {path.parent}"
        ) from None
    except OSError as error:
        raise CredentialsError(f"{path} cannot be read: {error.strerror}; the service's user must own it") from None
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_size > FILE_MOST:
            raise CredentialsError(f"{path} is no file of at most {FILE_MOST} bytes; bring it here again")
        if path.name == KEY and found.st_mode & 0o077:
            mode = stat.S_IMODE(found.st_mode)
            raise CredentialsError(f"{path} can be read by other users (mode {mode:04o}): `chmod 600 {path}`")
        return os.read(file, FILE_MOST)
    finally:
        os.close(file)


def _certificate(path: Path, text: bytes) -> der.Certificate:
    try:
        return der.from_pem(text)
    except ValueError as error:
        raise CredentialsError(f"{path} is no certificate: {error}; bring it here again") from None


def _check_dates(what: str, remedy: str, one: der.Certificate, now: float) -> None:
    if now > one.ends:
        raise CredentialsError(f"{what} expired on {der.day(one.ends)}; {remedy}")
    if now < one.begins:
        raise CredentialsError(
            f"{what} is valid from {der.day(one.begins)} on, and the clock of this machine is at {der.day(now)}: the "
            "clocks of this machine and of the one that made it may differ"
        )


def _server_context(folder: Path, identity: Identity) -> ssl.SSLContext:
    """Returns a context that shows the certificate. Raises CredentialsError for a key that does not fit."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        identity.show(context)
    except ssl.SSLError as error:
        why = "does not fit" if error.reason == "KEY_VALUES_MISMATCH" else "is no key for"
        raise CredentialsError(
            f"{folder / KEY} {why} {folder / CERTIFICATE}; bring both here again, from one `jitc cluster add` or rotate"
        ) from None
    return context


def _verify(identity: Identity, server: ssl.SSLContext) -> None:
    """Has OpenSSL verify the certificate, in a connection without a socket. Raises ssl.SSLError."""
    client = identity.client_context()
    client.check_hostname = True
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (
        client.wrap_bio(to_client, to_server, server_hostname=dns_name(identity.node)),
        server.wrap_bio(to_server, to_client, server_side=True),
    )
    for _ in range(4):  # more than there are messages in one direction
        for one in ends:
            try:
                one.do_handshake()
            except ssl.SSLWantReadError:
                continue


def _refusal(folder: Path, error: ssl.SSLError) -> str:
    what = folder / CERTIFICATE
    if not isinstance(error, ssl.SSLCertVerificationError):
        return f"{what} cannot be used: {error.reason or error}; bring all files here again"
    if error.verify_code in (_EXPIRED, _NOT_YET):
        return f"{what} is not valid now: {error.verify_message}; is the clock of this machine right?"
    if error.verify_message.startswith("Hostname"):
        return f"{what} is no certificate of a node; `jitc cluster add` makes one"
    return (
        f"{what} is of another CA than {folder / AUTHORITY} ({error.verify_message}); bring all files here again, from "
        "one `jitc cluster add` or rotate"
    )
