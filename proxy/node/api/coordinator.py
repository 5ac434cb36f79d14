"""The Coordinator service: reports of workers, and the communicators that their ranks join.

Called by: gRPC threads. Promises: a report only becomes an event, recoveries run in threads of their own; every refused
join has a status and a text for the program.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import grpc

from jitc.v1 import control_pb2

from ...common import rpc
from ...common.rpc import refuse
from ..fault_injector import FaultInjector
from ..joins.communicators import Refusal
from ..registry import Registry


class CoordinatorService:
    """ReportFault, JoinCommunicator, FaultFired, ReportRace."""

    def __init__(
        self, registry: Registry, faults: FaultInjector, *, fault: Callable[[Any], None], race: Callable[[Any], None]
    ) -> None:
        """Makes the service. fault, race: take in what workers report (FaultRequest, RaceReport)."""
        self._registry, self._faults, self._fault, self._race = registry, faults, fault, race

    def ReportFault(self, request: Any, context: Any) -> Any:
        self._fault(request)
        return control_pb2.ReportFaultReply()

    def JoinCommunicator(self, request: Any, context: Any) -> Any:
        registry = self._registry
        with registry.changed:
            session = registry.sessions.get(request.session)
            if session is None or session.epoch != request.epoch:
                return control_pb2.JoinReply(superseded=True)  # the worker soon learns of the recovery, or of the end
            try:
                one = registry.communicators.join(session, request.unique_id, request.ranks, request.rank)
            except Refusal as refusal:
                if registry.keeper is not None and registry.keeper.lost:  # which may be all that is wrong
                    refuse(context, grpc.StatusCode.UNAVAILABLE, rpc.ANEW)
                print(f"jitc-proxyd: {session.label()} cannot join: {refusal}", file=sys.stderr, flush=True)
                return control_pb2.JoinReply(status=refusal.status, refusal=str(refusal))
            registry.changed.notify_all()
            assert one.segment is not None
            return control_pb2.JoinReply(segment_bytes=one.segment.size, identity=one.identity)

    def FaultFired(self, request: Any, context: Any) -> Any:
        self._faults.fired(request.gpu, request.number, request.detail)
        return control_pb2.FaultFiredReply()

    def ReportRace(self, request: Any, context: Any) -> Any:
        self._race(request)
        return control_pb2.RaceReply()
