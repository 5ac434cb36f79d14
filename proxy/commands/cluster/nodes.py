"""Asks the nodes of a cluster, as a node does: whether service and bridge answer, with the certificate of the store.

Called by: command.py (`show`), ../doctor/cluster. Promises: a node that does not answer is a text and no error; all
nodes are asked, some at a time, and what has not come within SECONDS is left; nothing at a node is changed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .asked import Asked
from .limited import each

if TYPE_CHECKING:
    from ...cluster.nodes import NodeRecord
    from ...cluster.peers.credentials import Credentials

#: Until all nodes must have answered, and one of them each call.
SECONDS, CALL_SECONDS = 6.0, 2.5
_LATE = f"no answer within {SECONDS:g} s: it was left"
PACKAGE = "pip install 'jitc[cluster]'"


@dataclass(frozen=True)
class NodeSeen:
    """A node. trouble: why its service is not reached, bridge_trouble: why its bridge is not; empty: it is."""

    trouble: str = ""
    bridge_trouble: str = ""
    knows: bool = True  # this node, by the store
    seconds: float = 0.0  # of a call
    ahead: float | None = None  # seconds by which its clock is ahead of the one here


class NoCredentials(Exception):
    """There is no certificate with which nodes can be asked; the text says why. remedy: what to do."""

    def __init__(self, text: str, remedy: str) -> None:
        super().__init__(text)
        self.remedy = remedy


def credentials(asked: Asked) -> Credentials:
    """Returns the certificate of this node. Raises NoCredentials."""
    try:
        from ...cluster.peers.credentials import Credentials
        from ...cluster.peers.identity import CredentialsError
    except ImportError as error:
        if "cryptography" not in str(error):
            raise
        raise NoCredentials(f"certificates need the package cryptography ({error})", PACKAGE) from None
    try:
        return Credentials(asked.certificates, asked.node)
    except CredentialsError as error:
        text, _, remedy = str(error).partition("; " if "; " in str(error) else ": ")
        raise NoCredentials(text, remedy) from None


def ask(own: Credentials, nodes: Mapping[str, NodeRecord]) -> dict[str, NodeSeen]:
    """Returns what is seen of each node, by name."""
    names = sorted(nodes)
    answers = each(names, SECONDS, lambda name: _ask(own, name, nodes[name]))
    return {
        name: one.result() if one.done() else NodeSeen(f"node {name}: {_LATE}", f"node {name}: {_LATE}")
        for name, one in zip(names, answers, strict=True)
    }


def differing(name: str, node: NodeRecord) -> str:
    """Returns in what versions a node differs from this installation; empty: in nothing."""
    from jitc.v1 import peer_pb2

    from ...cluster.peers import contract

    own = contract.versions()
    known = {one.name: node.versions.get(one.name, 0) for one in own.DESCRIPTOR.fields}
    try:
        return contract.differing(own, name, peer_pb2.Versions(**known))
    except (TypeError, ValueError):
        return f"node {name} has versions that cannot be read; install one release of jitc on both nodes"


def _ask(own: Credentials, name: str, node: NodeRecord) -> NodeSeen:
    bridge = _bridge_trouble(own, name, node)
    import grpc

    from jitc.v1 import peer_pb2

    from ...cluster.peers.contract import facts
    from ...cluster.peers.link import Link, PeerError, Target

    link = Link(Target(name, node.peer, node.certificate), own)
    request = peer_pb2.HelloRequest(facts=facts())
    try:
        link.ask("Hello", request, CALL_SECONDS).result()  # which opens the link
        began, sent = time.monotonic(), facts().wall_ms
        reply: Any = link.ask("Hello", request, CALL_SECONDS).result()
        seconds = time.monotonic() - began
    except PeerError as error:
        if error.code() is grpc.StatusCode.PERMISSION_DENIED:
            return NodeSeen(bridge_trouble=bridge, knows=False)
        return NodeSeen(str(error), bridge)
    finally:
        link.close()
    ahead = (reply.facts.wall_ms - sent) / 1e3 - seconds / 2
    return NodeSeen("", bridge, True, seconds, ahead)


def _bridge_trouble(own: Credentials, name: str, node: NodeRecord) -> str:
    from ...cluster.peers.link import PeerError, Target, open_channel

    try:
        open_channel(Target(name, node.bridge, node.certificate), own).close()
    except PeerError as error:
        return str(error)
    return ""
