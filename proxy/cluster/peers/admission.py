"""Who may call the Peer service: nodes that the cluster knows, with the certificate that it knows of them.

Called by: server.py; handlers of the service, which ask for the node that calls. Promises: no handler runs for a caller
without a certificate of the cluster's CA, of a node that is not known, with another certificate than the node has now,
of another version, or in another node's name; every refusal is a text that names what differs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import grpc

from ...common.rpc import refuse
from . import der
from .contract import caller_in, differing, versions
from .names import dns_name, is_name

#: Returns the hash of the certificate that a node has, or None for a node that is not known.
Known = Callable[[str], str | None]

_COMMON_NAME, _OTHER_NAMES, _CERTIFICATE = "x509_common_name", "x509_subject_alternative_name", "x509_pem_cert"


class Peer(NamedTuple):
    """The node at the other end of a connection, as its certificate says."""

    node: str
    hash: str


class NoPeer(Exception):
    """The other end of a connection is no node; the text says why."""


def peer_of(context: Any) -> Peer:
    """Returns the node that makes a call. Raises NoPeer."""
    said = context.auth_context()
    certificates, names = said.get(_CERTIFICATE, ()), said.get(_COMMON_NAME, ())
    if len(certificates) != 1 or len(names) != 1:
        raise NoPeer("the caller shows no certificate")
    node = bytes(names[0]).decode("utf-8", "replace")
    if not is_name(node) or dns_name(node).encode() not in said.get(_OTHER_NAMES, ()):
        raise NoPeer("the caller's certificate is not that of a node; `jitc cluster add` makes one")
    try:
        return Peer(node, der.from_pem(bytes(certificates[0])).hash)
    except ValueError as error:
        raise NoPeer(f"the caller's certificate cannot be read: {error}") from None


class NodeAdmission(grpc.ServerInterceptor):  # type: ignore[type-arg]
    """Admits each call, or refuses it, before its handler runs. node: this one's name."""

    def __init__(self, node: str, known: Known) -> None:
        self._node, self._known = node, known

    def intercept_service(self, continuation: Any, details: Any) -> Any:
        handler = continuation(details)
        if handler is None:
            return None
        for kind, make in _KINDS.items():
            if method := getattr(handler, kind):
                return make(self._admitted(method), handler.request_deserializer, handler.response_serializer)
        return None

    def _admitted(self, method: Any) -> Any:
        @functools.wraps(method)  # which keeps the threads in which it runs
        def admitted(request: Any, context: Any) -> Any:
            self.admit(context)
            return method(request, context)

        return admitted

    def admit(self, context: Any) -> Peer:
        """Returns the node that makes a call; refuses the call if it may not."""
        try:
            peer = peer_of(context)
            caller = caller_in(context.invocation_metadata())
        except NoPeer as error:
            refuse(context, grpc.StatusCode.UNAUTHENTICATED, str(error))
        except ValueError as error:
            refuse(context, grpc.StatusCode.INVALID_ARGUMENT, str(error))
        self._check_certificate(peer, context)
        if caller.node != peer.node:
            text = f"node {peer.node} calls in the name of another node; a node speaks for itself alone"
            refuse(context, grpc.StatusCode.PERMISSION_DENIED, text)
        if why := differing(versions(), peer.node, caller.versions):
            refuse(context, grpc.StatusCode.FAILED_PRECONDITION, f"{why} ({self._node} refuses)")
        return peer

    def _check_certificate(self, peer: Peer, context: Any) -> None:
        known = self._known(peer.node)
        if known is None:
            text = (
                f"node {peer.node} is not in the cluster of node {self._node}: does its service run, with the same "
                "store?"
            )
            refuse(context, grpc.StatusCode.PERMISSION_DENIED, text)
        if known != peer.hash:
            text = (
                f"node {peer.node} shows the certificate {peer.hash[:16]}..., and the store has {known[:16]}... for "
                "it: is there another node of this name, or an old certificate?"
            )
            refuse(context, grpc.StatusCode.UNAUTHENTICATED, text)


_KINDS: dict[str, Any] = {
    "unary_unary": grpc.unary_unary_rpc_method_handler,
    "unary_stream": grpc.unary_stream_rpc_method_handler,
    "stream_unary": grpc.stream_unary_rpc_method_handler,
    "stream_stream": grpc.stream_stream_rpc_method_handler,
}
