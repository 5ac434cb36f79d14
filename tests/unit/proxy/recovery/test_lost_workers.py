"""How a recovery learns that a worker has ended, where others notice it before the kernel tells."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from jitc.proxy.ranks.causes import WORKER_DEATH
from jitc.proxy.ranks.events import EventQueue
from jitc.proxy.ranks.states import SessionState
from jitc.proxy.recovery.incident import Incident
from jitc.proxy.recovery.rank_times import RankTimes
from jitc.proxy.recovery.worker_calls import ENDING_SECONDS, Interrupted, WorkerCalls


class Gone(grpc.RpcError):
    """What a call to a process gets that has closed its connections."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNAVAILABLE


class Broken:
    """A worker whose connections are cut. ends: it is about to end; closed: its socket is closed already."""

    def __init__(self, ends: bool, closed: bool = False) -> None:
        self.closed, self.asked = closed, False
        self.ends, self.gpu, self.cause, self.message = ends, 1, WORKER_DEATH, ""
        self.replaced, self.waited, self.node = False, 0.0, ""

    def works(self) -> bool:
        """Its socket is found closed when a call to it has failed."""
        self.asked, before = True, self.asked
        return not (self.closed and before)

    def ask(self, method: str, request: Any, seconds: float, patient: bool = False) -> Failed:
        return Failed()

    def alive(self) -> bool:
        return True  # the kernel has not told

    def ends_within(self, seconds: float) -> bool:
        self.waited += seconds
        return self.ends

    def replace(self) -> None:
        self.replaced = True


class Failed:
    """A call under way that has failed."""

    def add_done_callback(self, callback: Any) -> None:
        callback(self)

    def done(self) -> bool:
        return True

    def exception(self) -> Gone:
        return Gone()

    def details(self) -> str:
        return "Connection reset by peer"

    def cancel(self) -> bool:
        return False


def fence(worker: Broken) -> Incident:
    """A fence of its session fails; the next one finds it ended."""
    session: Any = SimpleNamespace(number=1, state=SessionState.FENCED, worker=worker, label=lambda: "rank 1")
    incident = Incident(causes=["collective-error"], gpus=[0])
    with pytest.raises(Interrupted):
        WorkerCalls(EventQueue(), lambda event: False, RankTimes()).one(session, "Fence", None)
    lost: Any = worker
    incident.lose(lost)
    return incident


def test_one_that_dies_is_a_cause() -> None:
    """Its peers' NCCL reports that its connections are closed before its process counts as ended."""
    worker = Broken(ends=True)
    incident = fence(worker)
    assert incident.causes == ["collective-error", WORKER_DEATH] and incident.gpus == [0, 1]
    assert not worker.replaced and worker.waited == ENDING_SECONDS


def test_one_with_a_closed_socket_is_not_waited_for() -> None:
    """However long the kernel takes for its GPU, the others are fenced meanwhile; the cause is the same."""
    worker = Broken(ends=False, closed=True)
    incident = fence(worker)
    assert incident.causes == ["collective-error", WORKER_DEATH]
    assert not worker.replaced and not worker.waited


def test_one_that_is_replaced_is_none() -> None:
    worker = Broken(ends=False)
    incident = fence(worker)
    assert worker.replaced and incident.causes == ["collective-error"]
