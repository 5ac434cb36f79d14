"""Tells the nodes of a job where ranks of other nodes stand, before any rank goes on in a new epoch.

Called by: ranks.py. Promise: a call ends well only when its node has taken that in.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

import grpc

from jitc.v1 import peer_pb2

from ....ranks.numbers import node_of
from ..errands import Errands
from ..leadership import Cluster
from .call import PatientCall, RemoteCall
from .session import RemoteSession

PLACE_SECONDS = 20.0


class Places:
    """The calls."""

    def __init__(self, cluster: Cluster, errands: Errands) -> None:
        self._cluster, self._errands = cluster, errands

    def tell(self, others: Sequence[RemoteSession], places: Mapping[int, int], epoch: int) -> list[RemoteCall]:
        """Returns a call to each node of these sessions, and one for this node."""
        there = {one.number for one in others}
        own = {number: boundary for number, boundary in places.items() if number in there}
        calls = [_in_thread(lambda: self._cluster.begin_epoch(epoch, own))]
        for one in {one.node: one for one in others}.values():
            elsewhere = {number: at for number, at in places.items() if node_of(number) != node_of(one.number)}
            calls.append(self._call(one, elsewhere, epoch))
        return calls

    def _call(self, one: RemoteSession, places: Mapping[int, int], epoch: int) -> RemoteCall:
        def make(seconds: float) -> peer_pb2.PlaceRequest:
            told = [peer_pb2.Place(session=number, boundary=at) for number, at in sorted(places.items())]
            return peer_pb2.PlaceRequest(target=one.target(), epoch=epoch, places=told)

        call = PatientCall(one, "Place", PLACE_SECONDS, make, lambda reply: None)
        self._errands.add(call)
        return call.future


def _in_thread(act: Callable[[], None]) -> RemoteCall:
    future = RemoteCall()

    def run() -> None:
        try:
            act()
            future.finish(None)
        except Exception as error:
            future.fail(grpc.StatusCode.ABORTED, f"what other nodes show cannot be taken in now: {error}")

    threading.Thread(target=run, name="jitc-places", daemon=True).start()
    return future
