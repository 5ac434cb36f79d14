"""Recoveries end to end, with stand-in workers: real deaths, real resending."""

from __future__ import annotations

import itertools
import json
import sys
import time
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from standin_client import Client, wait_until

from jitc.proxy.recovery.limits import REPLAYS_OF_A_FAULT
from jitc.proxy.recovery.worker_calls import Interrupted, WorkerCalls
from jitc.proxy.service import Service
from jitc.v1 import control_pb2


def report(service: Service, client: Client, count: int) -> list[dict[str, Any]]:
    """The recoveries, once there are so many: a report is written when the replay has caught up."""
    wait_until(service, lambda: sum(gpu.recoveries for gpu in service.registry.gpus) >= count)
    documents: list[dict[str, Any]] = json.loads(client.admin.Report(control_pb2.ReportRequest()).json)["recoveries"]
    return documents


def inject(client: Client, kind: str, **where: int) -> Any:
    fault = control_pb2.Fault(kind=kind, **where)
    return client.admin.Inject(control_pb2.InjectRequest(gpu=0, fault=fault, wait_ms=0), timeout=30)


def train(client: Client) -> None:
    client.send("add", value=5)
    client.send("boundary")
    client.send("add", value=3)


def test_worker_death_rolls_back_and_replays(service: Service) -> None:
    client = Client(service)
    train(client)
    assert client.call("get")["value"] == 8
    assert inject(client, "kill-worker").fired
    client.send("add", value=1)
    assert client.call("get")["value"] == 9
    (one,) = report(service, client, 1)
    assert (one["cause"], one["decision"], one["boundary"], one["gpu"]) == ("worker-death", "roll-back", 1, 0)
    assert set(one["phases"]) == {"detect", "fence", "rebuild", "decide", "restore", "resume", "replay"}
    assert one["outcome"] == "recovered"
    client.close()


@pytest.mark.parametrize("kind", ["kill-worker", "sticky-error"])
def test_fault_at_an_op(service: Service, kind: str) -> None:
    client = Client(service)
    train(client)
    inject(client, kind, operations=1)
    assert client.call("get")["value"] == 8
    (one,) = report(service, client, 1)
    assert one["cause"] == ("worker-death" if kind == "kill-worker" else kind)
    client.close()


def test_fault_that_returns_is_the_programs(service: Service) -> None:
    client = Client(service)
    train(client)
    answer = client.call("fail")
    assert (answer["fault"], answer["message"]) == (700, "it failed")
    # Once it came in a replay, or just after one that counts as a recovery of its own.
    wait_until(service, lambda: any(one["outcome"].startswith("the program's") for one in service.own.recoveries()))
    assert {one["cause"] for one in service.own.recoveries()} == {"operator-error"}
    assert sum(one["attempts"] for one in service.own.recoveries()) == REPLAYS_OF_A_FAULT + 1
    client.close()


def test_assert_of_a_kernel_is_the_programs_at_once(service: Service) -> None:
    client = Client(service)
    train(client)
    assert client.call("fail", cause="device-assert")["fault"] == 700
    wait_until(service, lambda: bool(service.own.recoveries()))
    [found] = service.own.recoveries()
    assert (found["cause"], found["attempts"]) == ("device-assert", 1)
    assert found["outcome"].startswith("the program's own error")
    client.close()


def test_program_that_does_nothing_is_not_given_up(service: Service) -> None:
    """However often its worker is killed: no op of its own can be what ends it."""
    client = Client(service)
    train(client)
    for kill in range(8):
        inject(client, "kill-worker")
        assert report(service, client, kill + 1)[-1]["outcome"] == "recovered"
    assert client.call("get")["value"] == 8
    client.close()


def test_communicator_joins_two_sessions_in_one_recovery(service: Service) -> None:
    first, second = Client(service, 0), Client(service, 1)
    joined = [one.call("join", rank=rank) for rank, one in enumerate((first, second))]
    assert joined[0]["segment"] == joined[1]["segment"] and joined[0]["there"] >= joined[0]["size"] > 0
    train(first)
    train(second)
    inject(first, "kill-worker")
    assert [one.call("get")["value"] for one in (first, second)] == [8, 8]
    (one,) = report(service, first, 1)
    assert len(one["sessions"]) == 2
    first.close()
    second.close()


def test_the_time_of_day_jumps(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """By days, forth and back, whenever the service asks for it: it is only shown."""
    jumps = itertools.cycle([86_400.0, -400_000.0, 0.0])
    jumping = SimpleNamespace(**vars(time) | {"time": lambda: time.time() + next(jumps)})
    ours = [module for name, module in sys.modules.items() if name.startswith("jitc.")]
    asking = [one for one in ours if getattr(one, "time", None) is time]
    assert "jitc.proxy.recovery.report" in {one.__name__ for one in asking}
    for module in asking:
        monkeypatch.setattr(module, "time", jumping)
    client = Client(service)
    train(client)
    assert client.call("get")["value"] == 8  # the boundary is made
    for kill in range(3):
        assert inject(client, "kill-worker").fired
        assert client.call("get")["value"] == 8
        found = report(service, client, kill + 1)[-1]
        assert (found["outcome"], found["boundary"]) == ("recovered", 1) and 0 < found["seconds"] < 60
    client.close()


def test_boundaries_that_do_not_belong_together(service: Service, capfd: pytest.CaptureFixture[str]) -> None:
    """The programs get the reason, and nothing has been restored before; the next ones are served."""
    first, second = Client(service, 0), Client(service, 1)
    for rank, one in enumerate((first, second)):
        one.call("join", rank=rank)
    train(first)
    second.send("boundary", alone=True)
    assert [one.call("get")["value"] for one in (first, second)] == [8, 0]  # both have made theirs
    inject(first, "kill-worker")
    sessions = [one.number for one in service.registry.sessions.values()]
    why = f"no boundaries of its ranks belong together: session {sessions[0]} keeps 0, 1; session {sessions[1]} keeps 1"
    for one in (first, second):
        with pytest.raises(grpc.RpcError) as refused:
            one.call("get")
        assert why in refused.value.details(), refused.value.details()
    [found] = report(service, first, 1)
    assert found["outcome"] == f"given up: {why}"
    assert (found["decision"], found["boundary"], found["bytes_restored"]) == ("none", None, 0)
    assert found["proof"]["state"] == "not compared"
    assert "restore" not in {one["phase"] for one in found["timeline"]}
    assert f"GPU 0: worker-death; given up: {why} in " in capfd.readouterr().err
    first.close()
    second.close()
    again = Client(service)
    again.send("add", value=1)
    assert again.call("get")["value"] == 1
    again.close()


@pytest.mark.parametrize("traps", [1, 2])
def test_second_fault_during_a_recovery_restarts_it(service: Service, traps: int) -> None:
    client = Client(service)
    client.send("add", value=5, traps=traps)
    assert client.call("get")["value"] == 5
    inject(client, "kill-worker")
    assert client.call("get")["value"] == 5
    (one,) = report(service, client, 1)
    assert (one["attempts"], one["outcome"]) == (traps + 1, "recovered")
    client.close()


def test_second_fault_while_a_session_is_opened_again(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The call had its effect, but nobody heard the answer."""
    open_again, interrupted = WorkerCalls.one, list[str]()

    def one(calls: WorkerCalls, session: Any, method: str, *request: Any) -> Any:
        reply = open_again(calls, session, method, *request)
        if method == "OpenSession" and not interrupted:
            interrupted.append(session.label())
            raise Interrupted("something happened during OpenSession")
        return reply

    monkeypatch.setattr(WorkerCalls, "one", one)
    client = Client(service)
    train(client)
    assert client.call("get")["value"] == 8
    inject(client, "kill-worker")
    assert client.call("get")["value"] == 8
    (one_report,) = report(service, client, 1)
    assert (one_report["attempts"], one_report["outcome"], len(interrupted)) == (2, "recovered", 1)
    client.close()


def test_losses_without_end_are_given_up(service: Service) -> None:
    client = Client(service)
    client.send("add", value=5, traps=100)
    assert client.call("get")["value"] == 5
    inject(client, "kill-worker")
    with pytest.raises(grpc.RpcError) as refused:
        client.call("get")
    assert "interrupted 8 times and got no further" in refused.value.details()
    assert report(service, client, 1)[0]["outcome"].startswith("given up")
    client.close()
    again = Client(service)
    again.send("add", value=1)
    assert again.call("get")["value"] == 1
    again.close()


def test_process_that_ends_during_its_recovery(service: Service) -> None:
    client, other = Client(service), Client(service)
    other.send("add", value=3)
    assert other.call("get")["value"] == 3
    inject(client, "kill-worker")
    client.node.Detach(control_pb2.DetachRequest(token=client.reply.token), timeout=30)
    assert other.call("get")["value"] == 3
    client.close_stream()
    client.link.close()
    other.close()


def test_three_deaths_in_a_row(service: Service) -> None:
    client = Client(service)
    expected = 0
    for value in range(3):
        client.send("add", value=value)
        client.send("boundary")
        inject(client, "kill-worker")
        expected += value
        assert client.call("get")["value"] == expected
    # A death while the replay of the one before is watched is counted as that recovery's second attempt.
    wait_until(service, lambda: sum(one["attempts"] for one in service.own.recoveries()) == 3)
    client.close()
