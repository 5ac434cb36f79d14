"""Jobs side by side, with stand-in workers: what happens to one is no business of the others."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import grpc
import pytest
from standin_client import Client, session_of, wait_until, worker_of
from toolkit.waiting import until

from jitc.proxy.node.registry import Registry
from jitc.proxy.ranks.cuts import Boundaries
from jitc.proxy.ranks.rank import Rank
from jitc.proxy.ranks.states import SessionState
from jitc.proxy.recovery import replay
from jitc.proxy.recovery.coordinator import Coordinator
from jitc.proxy.recovery.limits import ATTEMPTS_WITHOUT_PROGRESS, Attempts
from jitc.proxy.recovery.restore.restore import Restore
from jitc.proxy.service import Service
from jitc.v1 import control_pb2

COMMANDS = 270
#: Of them: as many may wait.
WAITING = 64


def kill(client: Client, service: Service) -> None:
    """The worker of this program alone."""
    session = session_of(service, client)
    assert session.worker is not None
    session.worker.kill()


def outcomes(service: Service, count: int) -> list[str]:
    wait_until(service, lambda: len(service.own.recoveries()) >= count)
    return [one["outcome"] for one in service.own.recoveries()]


def test_programs_on_one_gpu_have_workers_of_their_own(service: Service) -> None:
    clients = [Client(service) for _ in range(3)]
    for value, client in enumerate(clients):
        client.send("add", value=value)
    kill(clients[1], service)
    assert [client.call("get")["value"] for client in clients] == [0, 1, 2]
    [one] = service.own.recoveries() if outcomes(service, 1) else []
    assert len(one["sessions"]) == 1
    for client in clients:
        client.close()


def test_an_epoch_is_of_a_job_and_is_given_once(service: Service) -> None:
    clients = [Client(service) for _ in range(2)]
    sessions = [session_of(service, one) for one in clients]
    for count in (1, 2):
        kill(clients[0], service)
        assert clients[0].call("get")["value"] == 0
        assert outcomes(service, count) == ["recovered"] * count
    assert [one.epoch for one in sessions] == [2, 0]
    for rank, client in enumerate(clients):
        client.call("join", rank=rank)
    kill(clients[1], service)
    assert [client.call("get")["value"] for client in clients] == [0, 0]
    assert outcomes(service, 3) == ["recovered"] * 3
    assert [one.epoch for one in sessions] == [3, 3]
    assert service.registry.next_epoch(sessions[:1]) == 4  # nobody was fenced with it, and yet
    assert service.registry.next_epoch(sessions) == 5
    assert [service.registry.log.get(f"session/{one.number}")["epochs"] for one in sessions] == [5, 5]
    for client in clients:
        client.close()


def test_death_of_all_workers_of_a_gpu_is_one_recovery_per_job(service: Service) -> None:
    clients = [Client(service) for _ in range(3)]
    for client in clients:
        client.send("add", value=4)
        assert client.call("get")["value"] == 4
    for client in clients:
        kill(client, service)
    assert [client.call("get")["value"] for client in clients] == [4, 4, 4]
    assert outcomes(service, 3) == ["recovered"] * 3
    assert len({tuple(one["sessions"]) for one in service.own.recoveries()}) == 1  # one process here: three sessions
    for client in clients:
        client.close()


def test_gpu_is_ready_again_when_its_program_ended_in_a_recovery(service: Service, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    gate.touch()
    client = Client(service)
    client.send("gate", path=str(gate))
    client.send("add", value=1)
    assert client.call("get")["value"] == 1
    gate.unlink()
    kill(client, service)
    wait_until(service, lambda: service.registry.state_of(service.registry.gpus[0]) == "recovering")
    client.node.Detach(control_pb2.DetachRequest(token=client.reply.token), timeout=30)
    wait_until(service, lambda: service.registry.state_of(service.registry.gpus[0]) == "ready")
    again = Client(service)
    again.close()
    client.close_stream()
    client.link.close()


def test_replay_is_waited_for_whatever_happens_to_others(service: Service, tmp_path: Path) -> None:
    """Not "recovered" before it is: another job's fault, and its recovery, end nothing."""
    gate = tmp_path / "gate"
    gate.touch()
    slow, other = Client(service), Client(service, 1)
    slow.send("gate", path=str(gate))
    slow.send("add", value=5)
    assert slow.call("get")["value"] == 5
    gate.unlink()
    kill(slow, service)
    wait_until(service, lambda: any(job.recovery.timeline.seconds["resume"] for job in service.own.coordinator._jobs))
    other.send("add", value=2)
    kill(other, service)
    assert other.call("get")["value"] == 2
    assert outcomes(service, 1) == ["recovered"]
    assert service.own.recoveries()[0]["gpu"] == 1
    assert len(service.own.coordinator._jobs) == 1
    gate.touch()
    assert outcomes(service, 2) == ["recovered"] * 2
    assert slow.call("get")["value"] == 5
    slow.close()
    other.close()


def test_replay_without_progress_is_a_failure(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "SECONDS", 0.2)
    gate = tmp_path / "gate"
    gate.touch()
    client = Client(service)
    client.send("gate", path=str(gate))
    client.send("add", value=5)
    assert client.call("get")["value"] == 5
    gate.unlink()
    kill(client, service)
    [outcome] = outcomes(service, 1)
    assert outcome.startswith("given up: the replay of")
    assert "made no progress" in outcome
    client.close()


def test_a_program_that_ends_as_its_recovery_begins(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look for whom the recovery concerns and their fence."""
    client = Client(service)
    client.send("add", value=3)
    assert client.call("get")["value"] == 3
    session = session_of(service, client)
    assert session.worker is not None
    next_epoch = Registry.next_epoch

    def ends(registry: Registry, ranks: Iterable[Rank]) -> int:
        if session.state is not SessionState.CLOSED:
            client.close()
            until(lambda: session.state is SessionState.CLOSED, 30, "the session is closed")
        return next_epoch(registry, ranks)

    monkeypatch.setattr(Registry, "next_epoch", ends)
    session.worker.kill()
    assert outcomes(service, 1) == ["given up: the processes have ended"]


def test_defect_in_a_recovery_ends_its_job_alone(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    back = Restore.back

    def broken(self: Restore, boundaries: Boundaries) -> Boundaries:
        if self._group[0].gpu == 0:
            raise KeyError("nobody thought of this")
        return back(self, boundaries)

    monkeypatch.setattr(Restore, "back", broken)
    guilty, other = Client(service), Client(service, 1)
    for client in (guilty, other):
        client.send("add", value=3)
        assert client.call("get")["value"] == 3
    kill(guilty, service)
    kill(other, service)
    assert other.call("get")["value"] == 3
    with pytest.raises(grpc.RpcError, match="jitc has a defect \\(KeyError") as told:  # when it looks for its worker
        guilty.call("get")
    call: Any = told.value
    assert call.code() == grpc.StatusCode.FAILED_PRECONDITION  # error 46: test_session_refusals.py
    found = sorted(outcomes(service, 2))
    assert found[0].startswith("given up: jitc has a defect")
    assert found[1] == "recovered"
    for client in (guilty, other):
        client.close()


def test_defect_in_the_coordinator_ends_the_job_that_it_concerns(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    recover = Coordinator._recover

    def broken(self: Coordinator, first: Any, session: Any, noticed: float) -> None:
        if session.gpu == 0:
            raise RuntimeError("impossible event")
        recover(self, first, session, noticed)

    monkeypatch.setattr(Coordinator, "_recover", broken)
    guilty, other = Client(service), Client(service, 1)
    other.send("add", value=3)
    assert other.call("get")["value"] == 3
    kill(guilty, service)
    kill(other, service)
    assert other.call("get")["value"] == 3
    with pytest.raises(grpc.RpcError) as refused:
        guilty.call("get")
    assert "jitc has a defect (RuntimeError: impossible event)" in str(refused.value.details())
    guilty.link.close()
    other.close()


def test_commands_that_wait_hold_nobody_up(service: Service) -> None:
    """Many more than there are threads: programs come and go, questions are answered."""
    watcher = Client(service)
    fault = control_pb2.Fault(kind="kill-worker", sequence=10**9)
    request = control_pb2.InjectRequest(gpu=1, fault=fault, wait_ms=60_000)
    calls = [watcher.admin.Inject.future(request, timeout=60) for _ in range(COMMANDS)]
    until(lambda: sum(call.done() for call in calls) == COMMANDS - WAITING, 50, "the others are refused")
    for _ in range(3):
        client = Client(service)
        client.send("add", value=1)
        assert client.call("get")["value"] == 1
        client.close()
    assert json.loads(watcher.admin.Status(control_pb2.StatusRequest(), timeout=20).json)["gpus"]
    for call in calls:
        call.cancel()
    watcher.close()


def test_worker_ends_with_its_session(service: Service) -> None:
    """What a program had on the node is gone, and the GPU has a fresh worker for the next one."""
    client = Client(service)
    worker = worker_of(service, 0)
    client.close()
    wait_until(service, lambda: worker_of(service, 0) not in (None, worker))
    assert not worker.alive()


def test_attempts_count_only_without_progress() -> None:
    attempts = Attempts()
    for reached in range(50):
        assert not attempts.count_interruption((reached, 0))
    for _ in range(ATTEMPTS_WITHOUT_PROGRESS - 2):
        assert not attempts.count_interruption((3, 0))
    assert attempts.count_interruption((49, 0))
