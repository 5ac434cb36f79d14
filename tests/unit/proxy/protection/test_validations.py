"""Validations through the service, with real executors: asked for, in turn, and with a fault in between."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from client_rig import COUNTER, STATE, RealClient, expected, inject, reduce, serving, states, together
from standin_client import wait_until
from toolkit.documents import differences, example, refusals
from toolkit.waiting import until

from jitc.proxy.common import rpc
from jitc.proxy.ranks.causes import VALIDATION
from jitc.proxy.ranks.events import FaultReported, RecoveryEnded, ValidationWanted
from jitc.proxy.recovery.coordinator import Coordinator
from jitc.proxy.service import Service
from jitc.v1 import control_pb2


@pytest.fixture
def real(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Service]:
    with serving(tmp_path, **getattr(request, "param", {})) as one:
        yield one


def minibatch(ranks: list[RealClient]) -> None:
    for client in ranks:
        reduce(client)
        client.step(STATE, COUNTER)


def test_one_rank(real: Service) -> None:
    client = RealClient(real)
    client.start()
    client.step(STATE)
    pending, steps = real.own.validate(0), 1
    while not pending.done.is_set():
        client.step(STATE)
        client.read(*STATE)
        steps += 1
    assert (pending.document["outcome"], pending.document["gpus"]) == ("identical", [0]), pending.document
    assert pending.document["blocks"] > 0
    assert client.read(*STATE) == expected(steps)
    assert real.own.recoveries() == []
    assert real.own.validations() == [pending.document]
    assert refusals(pending.document, "validate") == []
    assert differences(real.own.validations(), example("jitc report --json")["validations"]) == []
    client.close()


def test_ranks_stop_together(real: Service) -> None:
    ranks, steps = together(real), 0
    pending = real.own.validate(1)
    while not pending.done.is_set():
        minibatch(ranks)
        states(ranks)
        steps += 1
    assert (pending.document["outcome"], pending.document["gpus"]) == ("identical", [0, 1]), pending.document
    assert len(pending.document["sessions"]) == 2
    assert states(ranks) == [(expected(steps), (2**steps % 2**32).to_bytes(4, "little"))] * 2
    assert real.own.recoveries() == []
    for client in ranks:
        client.close()


@pytest.mark.parametrize("real", [{"validate_every": 5, "validate_share": 0.0}], indirect=True)
def test_in_turn(real: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jitc.proxy.protection.determinism.validation.LOOK_SECONDS", 0.0)
    client, steps = RealClient(real), 0
    client.start()
    while len(real.own.validations()) < 2:
        client.step(STATE)
        client.read(*STATE)
        steps += 1
    first, second = real.own.validations()[:2]
    assert (first["outcome"], second["outcome"]) == ("identical", "identical")
    assert second["step"] >= first["step"] + 5
    assert client.read(*STATE) == expected(steps)
    client.close()


@pytest.mark.parametrize("real", [{"validate_every": 5, "validate_share": 1e-9}], indirect=True)
def test_no_more_often_than_the_budget_allows(real: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jitc.proxy.protection.determinism.validation.LOOK_SECONDS", 0.0)
    client = RealClient(real)
    client.start()

    def steps_until(validations: int) -> None:
        while len(real.own.validations()) < validations:
            client.step(STATE)
            client.read(*STATE)

    steps_until(1)
    for _ in range(30):
        client.step(STATE)
        client.read(*STATE)
    assert len(real.own.validations()) == 1
    real.own.coordinator.validations._paid.clear()  # as if that long had passed
    steps_until(2)
    client.close()


def test_a_worker_lost_in_between(real: Service) -> None:
    """Rank 0 stands before the step; rank 1's worker dies on the way to it."""
    ranks = together(real)
    minibatch(ranks)
    states(ranks)
    pending = real.own.validate(0)
    runs = real.own.coordinator.validations._runs
    until(lambda: len(runs) == 1, 20, "the ranks are asked to stop")
    [run] = runs
    while ranks[0].boundaries + 1 < run.step:
        minibatch(ranks)
    for client in ranks:
        reduce(client)
    ranks[0].step(STATE, COUNTER)
    until(lambda: bool(run.arrived), 20, "rank 0 stands before the step")
    assert [one.session.rank for one in run.arrived] == [0] and not pending.done.is_set()
    inject(ranks[1], "kill-worker")
    assert pending.done.wait(30)
    assert pending.document["outcome"] == "interrupted: a fault came in between", pending.document
    ranks[1].step(STATE, COUNTER)
    minibatch(ranks)
    steps = ranks[0].boundaries
    assert ranks[1].boundaries == steps > run.step
    assert states(ranks) == [(expected(steps), (2**steps % 2**32).to_bytes(4, "little"))] * 2
    wait_until(real, lambda: len(real.own.recoveries()) == 1)
    assert real.own.recoveries()[0]["cause"] == "worker-death"
    for client in ranks:
        client.close()


def test_a_rank_stops_before_the_end_of_a_recovery_is_handled(real: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The validation ends with that recovery; who has come to the step since goes on all the same.

    Rank 1's worker dies long before that step, and the new one knows nothing of it: rank 0 stops alone.
    """
    handle, asked, stopped = Coordinator._handle, threading.Event(), threading.Event()

    def late(self: Coordinator, event: Any) -> None:
        if isinstance(event, RecoveryEnded) and not stopped.is_set():
            return self._events.put(event)
        handle(self, event)
        if isinstance(event, ValidationWanted):
            asked.set()
        if isinstance(event, FaultReported) and event.cause == VALIDATION:  # the recovery may not be over by itself yet
            stopped.set()
        return None

    monkeypatch.setattr(Coordinator, "_handle", late)
    monkeypatch.setattr("jitc.proxy.protection.determinism.validation.AHEAD", (8,))
    ranks = together(real)
    minibatch(ranks)
    states(ranks)
    pending, steps = real.own.validate(0), 1
    assert asked.wait(20)
    inject(ranks[1], "kill-worker", operations=3)
    while not stopped.is_set():
        minibatch(ranks)
        states(ranks)
        steps += 1
    assert pending.done.wait(30)
    assert pending.document["outcome"].startswith("interrupted"), pending.document
    assert states(ranks) == [(expected(steps), (2**steps % 2**32).to_bytes(4, "little"))] * 2
    assert [one["cause"] for one in real.own.recoveries()] == ["worker-death"]
    for client in ranks:
        client.close()


def test_nobody_there(real: Service) -> None:
    with rpc.channel(real.config.socket) as link:
        admin = rpc.admin(link)
        with pytest.raises(grpc.RpcError, match="GPU 0 serves no process"):
            admin.Validate(control_pb2.ValidationRequest(gpu=0, wait_ms=10_000), timeout=30)
        with pytest.raises(grpc.RpcError, match="this node has no GPU 7; it has GPU"):
            admin.Validate(control_pb2.ValidationRequest(gpu=7), timeout=30)


def test_no_step_no_verdict(real: Service) -> None:
    """The process ends before it comes to the step: whoever waits is told."""
    client = RealClient(real)
    client.start()
    client.step(STATE)
    pending = real.own.validate(0)
    with pytest.raises(grpc.RpcError, match="no verdict yet"):
        client.admin.Validate(control_pb2.ValidationRequest(gpu=0, wait_ms=1), timeout=30)
    client.close()
    assert pending.done.wait(20)
    # Refused when the process was gone before its rank was asked.
    assert pending.refusal or pending.document["outcome"].startswith("interrupted"), pending.document
