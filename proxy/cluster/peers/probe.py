"""Asks a node for its certificate, before calls go to it.

gRPC for Python cannot say which certificate a server has shown. So the node is asked in a connection of its own, and
calls then go through a channel that trusts this one certificate and no other. This connection also says what gRPC does
not: which of the two ends refuses the other, and why.

Called by: link.py. Promises: it ends within the given time, but for the resolution of a host's name, which the C
library limits; each way to fail has a text.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import time

from . import der
from .identity import Identity
from .names import Address

#: Verdicts of OpenSSL.
_NOT_YET, _EXPIRED = 9, 10


class NoCertificate(Exception):
    """The node has not shown a certificate that can be used; the text says why."""


def certificate_of(node: str, place: Address, identity: Identity, seconds: float) -> der.Certificate:
    """Returns the certificate that the service at the address shows, which is of the same CA, valid and of the node.
    Raises NoCertificate."""
    deadline = time.monotonic() + seconds
    where = f"node {node} at {place}"
    try:
        with socket.create_connection(place, max(seconds, 0.001)) as plain:
            plain.settimeout(max(0.001, deadline - time.monotonic()))
            return _shown(node, where, plain, identity)
    except ssl.SSLCertVerificationError as error:
        raise NoCertificate(_refusal(where, error)) from None
    except ssl.SSLError as error:
        raise NoCertificate(f"{where}: what listens there is no service of a node ({error.reason or error})") from None
    except TimeoutError:
        raise NoCertificate(f"{where} does not answer") from None
    except OSError as error:
        raise NoCertificate(f"{where} cannot be reached: {error.strerror or error}") from None


def _shown(node: str, where: str, plain: socket.socket, identity: Identity) -> der.Certificate:
    context = identity.client_context()
    context.set_alpn_protocols(["h2"])
    with context.wrap_socket(plain) as connection:  # without a name: gRPC has a line for each that is not its own
        shown = der.from_der(connection.getpeercert(binary_form=True) or b"")
        if shown.name != node:
            raise NoCertificate(f"{where} shows the certificate of node {shown.name}: is the address right?")
        if not _admitted(connection):
            begins, ends = der.day(identity.begins), der.day(identity.ends)
            raise NoCertificate(
                f"{where} refuses the certificate of node {identity.node}, which is valid from {begins} to {ends}: its "
                "CA is another one there, or its clock differs"
            )
        return shown


def _admitted(connection: ssl.SSLSocket) -> bool:
    """Returns whether the other end goes on: it verifies the client's certificate when the handshake is over here, and
    says nothing if it refuses it."""
    with contextlib.suppress(ConnectionResetError, ssl.SSLEOFError):
        return bool(connection.recv(1))
    return False


def _refusal(where: str, error: ssl.SSLCertVerificationError) -> str:
    if error.verify_code == _EXPIRED:
        return f"{where} shows a certificate that has expired; `jitc cluster show` lists them, `rotate` renews them"
    if error.verify_code == _NOT_YET:
        return f"{where} shows a certificate that is not valid yet: the clock of this machine may differ"
    return f"{where} shows a certificate of another CA ({error.verify_message}); make both with one `jitc cluster init`"
