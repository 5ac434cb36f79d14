"""Calls of this node's service to its bridge (`Bridge` in bridge.proto).

Called by: gRPC threads, on the bridge's unix socket. Promises: each call is idempotent; a segment that has been given
up meanwhile is not linked; a request that the data path refuses becomes FAILED_PRECONDITION with its text.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc

from jitc.v1 import bridge_pb2

from ..common.rpc import refuse
from ..keeper.worker_end import NoMemory
from .incoming import Incoming
from .library import BridgeError
from .mirror import Mirror
from .outgoing import Outgoing, Peer

#: Nodes with which one has jobs in common. Each of their streams has a thread.
PEERS_MOST = 256
#: Returns a descriptor of a communicator's segment by its identity, which the caller closes; -1: it has been given up.
TakeSegment = Callable[[int], int]


class Control:
    """The service `Bridge`, and the table of other nodes."""

    def __init__(self, mirror: Mirror, device: str, take: TakeSegment, connect: Callable[[Peer], Outgoing]) -> None:
        """device: its kind, which decides about the form of segments; connect: makes the stream to a node."""
        self._mirror, self._device, self._take, self._connect = mirror, device, take, connect
        self._lock = threading.Lock()
        self._peers: dict[int, Outgoing] = {}
        self._closed: dict[int, Outgoing] = {}  # the newest to each node that has been closed
        self.incoming = Incoming(mirror, self._number_of)

    def SetPeers(self, request: Any, context: Any) -> Any:
        wanted = {one.number: Peer(one.number, one.node, one.address, one.certificate) for one in request.peers}
        if len(wanted) > PEERS_MOST:
            text = f"{len(wanted)} nodes have jobs in common with this one, and {PEERS_MOST} can"
            refuse(context, grpc.StatusCode.FAILED_PRECONDITION, text)
        with self._lock:
            left = [one for number, one in self._peers.items() if number not in wanted]
            for one in left:
                self._closed[one.peer.number] = self._peers.pop(one.peer.number)
                one.close()
            for number, peer in wanted.items():
                if number in self._peers:
                    self._peers[number].peer = peer  # a stream that is open goes on
                    continue
                self._peers[number] = self._connect(peer)
                self._peers[number].start(self._closed.pop(number, None))
        return bridge_pb2.BridgeReply()

    def Link(self, request: Any, context: Any) -> Any:
        with _refusing(context):
            segment = self._take(request.identity)
        if segment < 0:
            refuse(context, grpc.StatusCode.FAILED_PRECONDITION, "the communicator's segment has been given up")
        description = {
            "link": request.link, "kind": self._device, "path": f"/proc/self/fd/{segment}",
            "bytes": request.segment_bytes, "identity": request.identity, "ranks": request.ranks,
            "here": list(request.here),
            "elsewhere": [{"peer": one.peer, "ranks": list(one.ranks)} for one in request.elsewhere],
        }  # fmt: skip
        try:
            with _refusing(context):
                self._mirror.link(description)
        finally:
            os.close(segment)
        return bridge_pb2.BridgeReply()

    def Unlink(self, request: Any, context: Any) -> Any:
        with _refusing(context):
            self._mirror.unlink(request.link)
        return bridge_pb2.BridgeReply()

    def Mirror(self, request: Any, context: Any) -> Any:
        shown = [{"slot": one.slot, "session": one.session, "peers": list(one.peers)} for one in request.shown]
        mirrored = [
            {"slot": one.slot, "session": one.session, "peer": one.peer, "epoch": one.epoch} for one in request.mirrored
        ]
        with _refusing(context):
            self._mirror.show({"local": shown, "remote": mirrored})
        return bridge_pb2.BridgeReply()

    def Traffic(self, request: Any, context: Any) -> Any:
        with self._lock:
            peers = list(self._peers.values())
        with _refusing(context):
            reply = bridge_pb2.TrafficReply(json=json.dumps(self._mirror.counters()))
        for one in peers:
            number = one.peer.number
            receives = self.incoming.receives(number)
            reply.peers.add(number=number, sends=one.sends, receives=receives, trouble=one.trouble)
        return reply

    def close(self) -> None:
        """Ends the streams to other nodes."""
        with self._lock:
            peers, self._peers = [*self._peers.values(), *self._closed.values()], {}
        for one in peers:
            one.close()
        for one in peers:
            one.join()

    def _number_of(self, node: str) -> int | None:
        with self._lock:
            return next((one.peer.number for one in self._peers.values() if one.peer.node == node), None)

    def known(self, node: str) -> str | None:
        """Returns the certificate's hash of a node with which this one has jobs in common (peers/admission.py)."""
        with self._lock:
            return next((one.peer.certificate for one in self._peers.values() if one.peer.node == node), None)


@contextlib.contextmanager
def _refusing(context: Any) -> Iterator[None]:
    """Refuses a call that the data path, or the keeper, refuses."""
    try:
        yield
    except (BridgeError, NoMemory) as error:
        refuse(context, grpc.StatusCode.FAILED_PRECONDITION, str(error))
