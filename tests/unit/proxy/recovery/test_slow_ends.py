"""A worker that takes long to end, its sockets closed before: nothing takes its place, and nobody calls it hung."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from slow_ends import SlowEnds
from standin_client import Client, config, session_of, started, wait_until, work
from toolkit.waiting import until

from jitc.proxy.backends.base import HealthEvent
from jitc.proxy.node.session import Session
from jitc.proxy.node.workers import worker as worker_module
from jitc.proxy.node.workers.worker import Worker
from jitc.proxy.ranks.states import SessionState
from jitc.proxy.recovery import worker_calls
from jitc.proxy.service import Service

#: Short, where a test waits for it to be over.
TOLD, KILLED = 0.2, 0.6


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowEnds]:
    one = SlowEnds(monkeypatch)
    yield one
    one.close()


@pytest.fixture
def service(tmp_path: Path, ends: SlowEnds) -> Iterator[Service]:
    with started(Service(config(tmp_path))) as one:
        try:
            yield one
        finally:
            ends.release()
    assert not (tmp_path / "s").exists()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (worker_calls, worker_module):
        monkeypatch.setattr(module, "SLOW_SECONDS", TOLD)
        monkeypatch.setattr(module, "KILLED_SECONDS", KILLED)


def pair(service: Service) -> tuple[list[Client], list[Session], list[Worker]]:
    """Two ranks of a job."""
    clients = [Client(service, gpu) for gpu in range(2)]
    for rank, client in enumerate(clients):
        client.call("join", rank=rank)
        work(client)
    sessions = [session_of(service, one) for one in clients]
    workers = [one.worker for one in sessions if one.worker is not None]
    return clients, sessions, workers


def recovery(service: Service, count: int = 1) -> dict[str, Any]:
    wait_until(service, lambda: len(service.own.recoveries()) >= count)
    return service.own.recoveries()[-1]


def peer_says(service: Service, session: Session) -> None:
    """What a worker reports whose NCCL finds the connections to another rank closed."""
    fault = {"session": session.number, "sequence": 1, "status": 700, "cause": "collective-error", "message": "closed"}
    service.own.coordinator.fault_reported(SimpleNamespace(**fault))


def held_up(service: Service, session: Session, worker: Worker) -> None:
    """The recovery has come to where only the end of the old worker is missing."""
    wait_until(service, lambda: session.state is SessionState.LOST)
    assert session.worker is worker and worker.alive() and not worker.works()


def test_peers_notice_first(service: Service, ends: SlowEnds) -> None:
    """NCCL of the other rank reports closed connections. That rank is stopped at once, the lost one comes back when
    its worker has ended, and not before: its journal and copies may still be written."""
    clients, (lost, other), (worker, _) = pair(service)
    ends.kill(worker)
    peer_says(service, other)
    held_up(service, lost, worker)
    assert other.state is SessionState.FENCED
    assert not threading.Event().wait(1.0), "it is waited for as long as it takes"
    held_up(service, lost, worker)
    ends.end(worker)
    assert [one.call("get")["value"] for one in clients] == [8, 8]
    one = recovery(service)
    assert one["outcome"] == "recovered" and one["attempts"] <= 2
    assert set(one["cause"].split(", ")) == {"collective-error", "worker-death"}
    for client in clients:
        client.close()


def test_one_that_does_not_end_is_named(
    service: Service, ends: SlowEnds, impatient: None, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its job is given up, with its name; its GPU takes no program until it has ended, another GPU does."""
    clients, (lost, other), (worker, _) = pair(service)
    ends.kill(worker)
    peer_says(service, other)
    wait_until(service, lambda: lost.state is SessionState.FAILED)
    assert f"worker {worker.pid} of GPU 0 has not ended yet" in lost.failure
    with pytest.raises(grpc.RpcError) as told:
        Client(service, 0, wait_ms=300)
    assert told.value.code() is grpc.StatusCode.UNAVAILABLE
    assert f"worker {worker.pid} of GPU 0 has not ended yet" in told.value.details()
    Client(service, 1).close()
    ends.end(worker)
    Client(service, 0).close()
    said = capfd.readouterr().err
    assert said.count(f"worker {worker.pid} of GPU 0 has not ended yet, though it does nothing any more; that GPU") == 1
    for client in clients:
        client.die()


def test_of_a_recovery_that_began_anew(service: Service, ends: SlowEnds) -> None:
    """A worker that was half restored is killed for the next attempt, which waits for its end as well."""
    client = Client(service)
    work(client)
    session = session_of(service, client)
    seen: list[Worker] = []
    before = service.own.supervisor.take

    def take(timeout: float) -> Worker:
        assert not any(one.alive() for one in seen), "there are two workers that could write"
        seen.append(before(timeout))
        ends.hold(seen[-1])
        return seen[-1]

    service.own.supervisor.take = take  # type: ignore[method-assign]
    client.send("add", value=1, traps=1)
    assert client.call("get")["value"] == 9
    first = session.worker
    assert first is not None
    first.kill()
    until(lambda: len(seen) == 1 and not seen[0].works(), 20, "the second one has died in the recovery")
    held_up(service, session, seen[0])
    ends.end(seen[0])
    assert client.call("get")["value"] == 9
    assert len(seen) == 2
    ends.end(seen[1])
    assert recovery(service)["outcome"] == "recovered"
    client.close()


def test_of_a_gpu_that_is_lost(service: Service, ends: SlowEnds, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its session moves, and takes its memory along: that other GPU has no old worker, but the memory has."""
    monkeypatch.setattr(worker_module, "LOOKED_AT_SECONDS", 0.0)  # else this holds the recovery up as well
    client = Client(service)
    work(client)
    session = session_of(service, client)
    worker = session.worker
    assert worker is not None
    ends.hold(worker)
    service.own.gpus.unhealthy(HealthEvent(0, "device-lost", "GPU 0 is gone", lost=True))
    held_up(service, session, worker)
    assert not threading.Event().wait(0.5) and session.host == 0
    held_up(service, session, worker)
    ends.end(worker)
    assert client.call("get")["value"] == 8
    assert session.host == 1 and recovery(service)["outcome"] == "recovered"
    client.close()


def test_of_a_program_that_has_ended(service: Service, ends: SlowEnds) -> None:
    """Its place on the board is free once its worker has ended, not before, and not never."""
    client = Client(service)
    session = session_of(service, client)
    worker = session.worker
    assert worker is not None
    ends.hold(worker)
    client.close()
    assert worker.ending() and session.slot in service.registry._slots
    ends.end(worker)
    until(lambda: session.slot not in service.registry._slots, 20, "the place is free")


def test_it_is_no_hang(service: Service, ends: SlowEnds) -> None:
    """Neither the heartbeat nor the watch over ranks takes it for a silent one."""
    clients, (lost, other), (worker, healthy) = pair(service)
    for look in (service.own.heartbeat._round, lambda: service.own.hangs.look(1.0)):
        look()
    assert {worker, healthy} <= {*service.own.heartbeat._pulses}
    assert {lost.number, other.number} == {*service.own.hangs._pulses}
    ends.kill(worker)
    for look in (service.own.heartbeat._round, lambda: service.own.hangs.look(1.0)):
        look()
    assert worker not in service.own.heartbeat._pulses and healthy in service.own.heartbeat._pulses
    assert not service.own.hangs._pulses, "where one rank ends, others that wait for it do not hang"
    assert lost.state is SessionState.SERVING, "its end begins the recovery, or what others say"
    ends.end(worker)
    assert [one.call("get")["value"] for one in clients] == [8, 8]
    one = recovery(service)
    assert (one["cause"], one["culprits"]) == ("worker-death", [])
    for client in clients:
        client.close()
