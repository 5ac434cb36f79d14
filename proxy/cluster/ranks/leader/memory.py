"""Transfer memory for ranks of which at least one is on another node.

Called by: ranks.py. Promises: once it is prepared, it is there on the nodes of its ranks, under one number; what is
carried is at its target when the call has ended well, however often the way was cut meanwhile; closing it releases it
everywhere.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import grpc

from jitc.v1 import peer_pb2

from ....common.shared_memory import NoSpace
from ....node.transfer_memory import new_number
from ....ranks.rank import Rank
from ..errands import RETRY_SECONDS, Errands
from ..home.pieces import Pieces, WrongPiece
from ..leadership import Cluster
from .call import PatientCall, RemoteCall
from .session import RemoteSession

MAKE_SECONDS, DROP_SECONDS = 20.0, 10.0
#: The least that a way between two nodes is expected to carry, and the time to begin with it.
CARRY_SECONDS, BYTES_PER_SECOND = 30.0, 1e6
#: Times that a piece is sent of which the other node says that it is not what was sent.
TRIES = 3


class NodesMemory:
    """One piece on several nodes."""

    def __init__(self, memories: Memories, size: int, between: Sequence[Rank]) -> None:
        self._memories, self.size, self.number = memories, size, new_number()
        self._others: dict[str, RemoteSession] = {one.node: one for one in between if isinstance(one, RemoteSession)}
        self._nodes = {one.node for one in between}

    def prepare(self) -> list[RemoteCall]:
        """Returns the calls that make it on other nodes. Raises NoSpace."""
        if "" in self._nodes:
            source = next(iter(self._others))
            self._memories.pieces.make(peer_pb2.Target(), self.number, self.size, source)
        return [self._patient(one, "MakeMemory", MAKE_SECONDS) for one in self._others.values()]

    def carry(self, source: Rank, target: Rank, size: int) -> RemoteCall | None:
        """Returns the call that brings its first bytes to another node; None: there is nothing to do."""
        if source.node == target.node:
            return None
        if not isinstance(source, RemoteSession):
            return self._memories.send(target.node, self.number, size)
        node = target.node or self._memories.cluster.node

        def make(seconds: float) -> peer_pb2.CarryRequest:
            return peer_pb2.CarryRequest(target=source.target(), number=self.number, bytes=size, node=node)

        call = _Carrying(source, "Carry", CARRY_SECONDS + size / BYTES_PER_SECOND, make, lambda reply: None)
        self._memories.errands.add(call)
        return call.future

    def close(self) -> None:
        self._memories.pieces.drop(self.number)
        for one in self._others.values():
            self._patient(one, "DropMemory", DROP_SECONDS)

    def _patient(self, one: RemoteSession, method: str, seconds: float) -> RemoteCall:
        nodes = [node or self._memories.cluster.node for node in self._nodes if node != one.node]

        def make(seconds: float) -> peer_pb2.MemoryRequest:
            source = nodes[0] if nodes else ""
            return peer_pb2.MemoryRequest(target=one.target(), number=self.number, bytes=self.size, source=source)

        call = PatientCall(one, method, seconds, make, lambda reply: None)
        self._memories.errands.add(call)
        return call.future


class _Carrying(PatientCall):
    """The errand that carries a piece: it is tried again if the source cannot reach the target."""

    def answered(self, reply: Any) -> float | None:
        if reply.code == grpc.StatusCode.UNAVAILABLE.value[0]:
            self._whose.heard(reply)
            return RETRY_SECONDS
        return super().answered(reply)


class Memories:
    """Makes them."""

    def __init__(self, cluster: Cluster, errands: Errands, pieces: Pieces) -> None:
        self.cluster, self.errands, self.pieces = cluster, errands, pieces

    def make(self, size: int, between: Sequence[Rank]) -> NodesMemory:
        return NodesMemory(self, size, between)

    def send(self, node: str, number: int, size: int) -> RemoteCall:
        """Returns the call that brings a piece of this node to another one."""
        future = RemoteCall()
        threading.Thread(target=self._send, args=(future, node, number, size), name="jitc-piece", daemon=True).start()
        return future

    def _send(self, future: RemoteCall, node: str, number: int, size: int) -> None:
        pause = threading.Event()
        while not future.done():
            try:
                sent(self.errands, self.pieces, peer_pb2.CarryRequest(number=number, bytes=size, node=node))
                return future.finish(None)
            except grpc.RpcError:  # the way is cut: the recovery waits as it does for a rank there
                pause.wait(RETRY_SECONDS)
            except (WrongPiece, NoSpace) as error:
                return future.fail(grpc.StatusCode.FAILED_PRECONDITION, str(error))
        return None


def sent(errands: Errands, pieces: Pieces, request: peer_pb2.CarryRequest) -> None:
    """Sends a piece to another node, and waits until it is there. Raises WrongPiece, and RpcError if the node cannot be
    reached."""
    for left in reversed(range(TRIES)):
        chunks = pieces.chunks(request.number, request.bytes)
        seconds = CARRY_SECONDS + request.bytes / BYTES_PER_SECOND
        answer = errands.ask(request.node, "TakePiece", chunks, seconds).result()
        if not answer.code:
            return
        if not left:
            raise WrongPiece(f"node {request.node}: {answer.text}")
