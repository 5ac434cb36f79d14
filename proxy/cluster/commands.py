"""Commands of jitc that another node is to answer: the way to its Admin service, and from others to this node's.

Called by: ../node/api/admin.py (others, ask); member.py (join, install); membership.py. Promises: who calls is a node
of the cluster (peers/admission.py), and a request does what the same one does on its own node; the sizes of answers are
limited; until this node is a member no other one is known; no lock is held while another node is waited for.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import TimeoutError as NotYet
from typing import Any, Protocol

import grpc

from jitc.v1 import peer_pb2

from ..common.printable import LINE, printable
from ..common.rpc import MESSAGE_LIMIT, Waiting, status_of
from ..node.api.nodes import Answer, NoAnswer, answered
from .nodes import Nodes
from .peers.admission import peer_of
from .peers.client import Peers
from .peers.contract import MESSAGE_MOST

#: Bytes of an answer, compressed as it travels, and as it is for the command.
PACKED_MOST, ANSWER_MOST = MESSAGE_MOST - 4096, MESSAGE_LIMIT - 4096
#: Said while this service is no member.
NO_MEMBER = "this node is not in its cluster now; its service says why in its output"
#: Seconds between looks whether the command still waits.
LOOK_SECONDS = 0.5
_UNREADABLE = "its answer cannot be read"
_TOO_LARGE = Answer(grpc.StatusCode.RESOURCE_EXHAUSTED.value[0], "the answer is too large; ask on that node itself")


class Admin(Protocol):
    """The Admin service of this node (../node/api/admin.py), as it answers root's commands."""

    waiting: Waiting


class Commands:
    """The requests of this node's commands to others, and of theirs to this one."""

    def __init__(self) -> None:
        self._nodes: Nodes | None = None
        self._peers: Peers | None = None

    def join(self, nodes: Nodes, peers: Peers) -> None:
        """Goes on with what a member has."""
        self._nodes, self._peers = nodes, peers

    def leave(self) -> None:
        """The member is about to end."""
        self._nodes = self._peers = None

    def install(self, service: Any, admin: Admin) -> None:
        """Has the Peer service answer for this node, before a server is made of it."""

        def command(request: peer_pb2.CommandRequest, context: Any) -> peer_pb2.CommandReply:
            found = self._stranger(peer_of(context).node) or answered(
                admin, request.method, request.request, context.is_active
            )
            packed = zlib.compress(found.reply)
            if len(packed) > PACKED_MOST:
                found, packed = _TOO_LARGE, b""
            return peer_pb2.CommandReply(code=found.code, text=printable(found.text, LINE), reply=packed)

        service.Command = admin.waiting.serve(command)

    def others(self) -> Sequence[str]:
        """Returns the names of the other nodes that have been there since this service began. Raises NoAnswer."""
        if (nodes := self._nodes) is None:
            raise NoAnswer(NO_MEMBER)
        return sorted(nodes.last_seen())

    def ask(self, node: str, method: str, request: bytes, seconds: float, wanted: Callable[[], bool]) -> Answer:
        """Waits for a node's answer, as long as it is wanted. Raises NoAnswer."""
        if (peers := self._peers) is None:
            raise NoAnswer(NO_MEMBER)
        future = peers.ask(node, "Command", peer_pb2.CommandRequest(method=method, request=request), seconds)
        while wanted():
            try:
                return _read(future.result(LOOK_SECONDS))
            except NotYet:
                continue
            except grpc.RpcError as error:
                why = status_of(error)[1].removeprefix(f"node {node}: ")
                raise NoAnswer(printable(why, LINE)) from None
        raise NoAnswer("the command has ended")

    def _stranger(self, node: str) -> Answer | None:
        """Returns the refusal for a node whose service does not run by what the store says: one that has left, or was
        taken out, still has its certificate."""
        if (nodes := self._nodes) is not None and node in nodes.others():
            return None
        text = f"node {node} is not in the cluster now, as far as this node knows"
        return Answer(grpc.StatusCode.PERMISSION_DENIED.value[0], text)


def _read(reply: peer_pb2.CommandReply) -> Answer:
    """Raises NoAnswer."""
    unpacking = zlib.decompressobj()
    try:
        found = unpacking.decompress(reply.reply, ANSWER_MOST)
    except zlib.error:
        raise NoAnswer(_UNREADABLE) from None
    if unpacking.unconsumed_tail:
        return _TOO_LARGE
    if not unpacking.eof and not reply.code:
        raise NoAnswer(_UNREADABLE)
    return Answer(reply.code, printable(reply.text, LINE), found)
