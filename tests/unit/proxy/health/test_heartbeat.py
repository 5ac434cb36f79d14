"""What makes the service replace a worker that has not died: silence, and what the device's monitoring says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from standin_client import Client, config, started, wait_until, work, worker_of
from toolkit.waiting import patient, stop_process

from jitc.proxy.backends.base import HealthEvent
from jitc.proxy.backends.software import SoftwareBackend
from jitc.proxy.common import rpc
from jitc.proxy.node.workers.worker import WorkerState
from jitc.proxy.service import Service
from jitc.v1 import control_pb2

#: Longer than a busy machine keeps a running worker from answering.
SILENCE = patient(3.0)
Report = Callable[[HealthEvent], None]


@pytest.fixture
def watchful(tmp_path: Path) -> Iterator[Service]:
    with started(Service(config(tmp_path, hang_seconds=SILENCE))) as one:
        yield one


@pytest.fixture
def reports() -> list[Report]:
    return []


@pytest.fixture
def monitored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reports: list[Report]) -> Iterator[Service]:
    """A service whose device has a monitoring: reports[0] is its voice."""
    monkeypatch.setattr(SoftwareBackend, "watch", lambda self, report: reports.append(report))
    with started(Service(config(tmp_path))) as one:
        yield one


def recovery(service: Service) -> dict[str, Any]:
    wait_until(service, lambda: sum(gpu.recoveries for gpu in service.registry.gpus) >= 1)
    (one,) = service.own.recoveries()
    return one


def test_stopped_workers_are_replaced(watchful: Service) -> None:
    client = Client(watchful)
    work(client)
    worker = worker_of(watchful, 0)
    spares = [one for one in watchful.own.supervisor.workers() if one.machine.state is WorkerState.SPARE]
    assert worker is not None
    stop = control_pb2.InjectRequest(gpu=0, fault=control_pb2.Fault(kind="stop-worker"))
    assert client.admin.Inject(stop, timeout=30).fired
    for spare in spares:
        stop_process(spare.pid)
    client.send("add", value=1)
    assert client.call("get")["value"] == 9
    one = recovery(watchful)
    assert (one["cause"], one["outcome"], one["gpu"]) == ("hung-worker", "recovered", 0)
    assert one["phases"]["detect"] >= SILENCE / 2
    assert not any(spare.alive() for spare in spares)
    assert worker_of(watchful, 0) not in (worker, *spares)
    client.close()


@pytest.mark.parametrize("cause", ["xid", "ecc-error"])
def test_an_unhealthy_gpu_replaces_its_worker(monitored: Service, reports: list[Report], cause: str) -> None:
    client = Client(monitored)
    work(client)
    before = [worker_of(monitored, gpu) for gpu in range(2)]
    reports[0](HealthEvent(0, cause, "Xid 48 (double bit ECC error)"))
    client.send("add", value=1)
    one = recovery(monitored)
    assert (one["cause"], one["outcome"], one["message"]) == (cause, "recovered", "Xid 48 (double bit ECC error)")
    assert client.call("get")["value"] == 9
    after = [worker_of(monitored, gpu) for gpu in range(2)]
    assert [old is new for old, new in zip(before, after, strict=True)] == [False, True]
    client.close()


def test_an_unhealthy_idle_gpu(monitored: Service, reports: list[Report]) -> None:
    before = worker_of(monitored, 1)
    reports[0](HealthEvent(1, "xid", "Xid 62"))
    wait_until(monitored, lambda: worker_of(monitored, 1) not in (None, before))
    assert monitored.own.recoveries() == []


def test_lost_gpu_is_reported(monitored: Service, reports: list[Report]) -> None:
    """Its session goes on elsewhere; a new one is refused with what NVML said and what to do."""
    client, other = Client(monitored), Client(monitored, 1)
    work(client)
    reports[0](HealthEvent(0, "device-lost", "Xid 79 (GPU has fallen off the bus)", lost=True))
    one = recovery(monitored)
    assert (one["cause"], one["outcome"]) == ("device-lost", "recovered")
    assert "moves from GPU 0 to GPU 1; its own, GPU 0, is lost" in one["notes"][0]
    with pytest.raises(grpc.RpcError) as caught:
        Client(monitored)
    code, text = rpc.status_of(caught.value)
    assert code is grpc.StatusCode.FAILED_PRECONDITION
    assert "fallen off the bus); reset it, then run `jitc gpu return 0`" in text
    assert monitored.registry.state_of(monitored.registry.gpus[0]) == "failed"
    work(other)
    for one_client in (client, other):
        one_client.close()
