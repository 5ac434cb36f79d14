"""Service, worker and real executor together: ops in, memory back after every kind of loss."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from client_rig import COUNTER, STATE, RealClient, expected, inject, reduce, serving, states, together
from standin_client import wait_until, worker_of
from toolkit.waiting import patient, until

from jitc.proxy.common.boundaries import BoundaryFiles
from jitc.proxy.node.workers.worker import WorkerState
from jitc.proxy.service import Service


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Service]:
    with serving(tmp_path, journal_bytes=64 << 20) as one:
        yield one
    assert not list(tmp_path.iterdir())


def test_files_of_workers_are_their_users_alone_and_folders_can_be_entered(real: Service) -> None:
    """As of a driver's and a library's caches, which nobody but a worker makes."""
    wait_until(real, lambda: (one := worker_of(real, 0)) is not None and one.machine.state is not WorkerState.STARTING)
    status = Path(f"/proc/{worker_of(real, 0).pid}/status").read_text()
    assert "\nUmask:\t0077\n" in status, status


def test_ops_run(real: Service) -> None:
    client = RealClient(real)
    client.start()
    for _ in range(3):
        client.step(STATE)
    assert client.read(*STATE) == expected(3)
    client.close()


@pytest.mark.parametrize("kind", ["kill-worker", "crash-worker", "sticky-error"])
@pytest.mark.parametrize(
    "where",
    [{}, {"boundary": 2, "phase": "boundary"}, {"boundary": 2, "phase": "forward", "skip": 3}, {"sequence": 6},
     {"boundary": 0, "armed_at_boundary": True}],
    ids=["now", "at-boundary", "in-step", "at-op", "before-first-boundary"],
)  # fmt: skip
@pytest.mark.sampled
def test_state_comes_back(real: Service, kind: str, where: dict[str, Any]) -> None:
    client = RealClient(real)
    if where:
        inject(client, kind, **where)
    client.start()
    for number in range(5):
        client.step(STATE)
        if number == 2 and not where:
            assert client.read(*STATE) == expected(3)
            assert inject(client, kind, wait=10).fired
    assert client.read(*STATE) == expected(5)
    wait_until(real, lambda: sum(gpu.recoveries for gpu in real.registry.gpus) == 1)
    (one,) = real.own.recoveries()
    assert (one["decision"], one["outcome"]) == ("roll-back", "recovered"), one
    client.close()


def test_a_boundary_is_read_while_the_worker_can_answer_nothing(real: Service) -> None:
    """By another process, from what the keeper holds; then the worker goes on."""
    client = RealClient(real)
    client.start()
    for _ in range(3):
        client.step(STATE)
    client.read(*STATE)
    worker, (session,) = worker_of(real, 0), real.registry.sessions.values()
    os.kill(worker.pid, signal.SIGSTOP)
    try:
        with BoundaryFiles(session.memory.files()) as files:
            newest = files.boundaries()[-1]
            (row,) = files.rows(newest.number)
            assert (newest.number, newest.whole, row.size) == (3, True, STATE[1])
            assert files.read(3, row) == expected(3)
    finally:
        os.kill(worker.pid, signal.SIGCONT)
    client.step(STATE)
    assert client.read(*STATE) == expected(4)
    assert not real.own.recoveries()
    client.close()


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[Service]:
    """Three seconds: longer than a busy machine keeps a running worker from answering."""
    with serving(tmp_path, hang_seconds=patient(3)) as one:
        yield one


@pytest.mark.parametrize(("kind", "cause"), [("stop-worker", "hung-worker"), ("endless-kernel", "hung-kernel")])
def test_what_only_stands_still(impatient: Service, kind: str, cause: str) -> None:
    client = RealClient(impatient)
    inject(client, kind, boundary=1, phase="forward")
    client.start()
    before = worker_of(impatient, 0)
    for _ in range(3):
        client.step(STATE)
    assert client.read(*STATE) == expected(3)
    wait_until(impatient, lambda: impatient.registry.gpus[0].recoveries == 1)
    (one,) = impatient.own.recoveries()
    assert (one["cause"], one["boundary"], one["outcome"]) == (cause, 1, "recovered"), one
    assert worker_of(impatient, 0) is not before
    client.close()


def test_xid_replaces_a_worker_that_runs_on(impatient: Service) -> None:
    """The service is told beside the ops, so the program may have come further: which boundary it is does not count."""
    client = RealClient(impatient)
    client.start()
    client.step(STATE)
    before = worker_of(impatient, 0)
    inject(client, "xid", boundary=1, phase="forward")
    for _ in range(2):
        client.step(STATE)
    assert client.read(*STATE) == expected(3)
    wait_until(impatient, lambda: impatient.registry.gpus[0].recoveries == 1)
    (one,) = impatient.own.recoveries()
    assert (one["cause"], one["outcome"]) == ("xid", "recovered"), one
    assert one["boundary"] in (1, 2, 3), one
    assert worker_of(impatient, 0) is not before
    client.close()


def test_hung_collective_is_given_up(impatient: Service) -> None:
    """Nobody's worker is replaced: what both ranks have in memory is needed, and their devices are well."""
    ranks = together(impatient)
    before = [worker_of(impatient, gpu) for gpu in range(2)]
    inject(ranks[1], "hung-collective", boundary=2)
    for _ in range(4):
        for client in ranks:
            reduce(client)
            client.step(STATE, COUNTER)
    assert states(ranks) == [(expected(4), (2**4).to_bytes(4, "little"))] * 2
    wait_until(impatient, lambda: len(impatient.own.recoveries()) == 1)
    (one,) = impatient.own.recoveries()
    assert (one["cause"], one["outcome"], one["boundary"]) == ("hung-collective", "recovered", 2), one
    assert [worker_of(impatient, gpu) for gpu in range(2)] == before
    for client in ranks:
        client.close()


def test_a_fault_that_the_device_cannot_have(real: Service) -> None:
    client = RealClient(real)
    with pytest.raises(grpc.RpcError, match="the software device has no kernels"):
        inject(client, "illegal-access", wait=10)
    client.start()
    assert real.own.recoveries() == []
    client.close()


def test_malformed_batch_names_the_fault(real: Service) -> None:
    client = RealClient(real)
    client.start()
    client.out.put(b"\x0a\x05abcde")
    with pytest.raises(Exception, match="INVALID_ARGUMENT"):
        while True:
            client.take(next(client.replies))
    client.reconnect()
    client.step(STATE)
    assert client.read(*STATE) == expected(1)
    client.close()


def descriptors() -> list[str]:
    """What this process, with its service, has open."""
    found = []
    for one in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the folder's own, and what is just closed
            found.append(re.sub(r"\d+", "N", os.readlink(one)))
    return sorted(found)


def live(service: Service, kills: int) -> None:
    """A program that loses so many workers; afterwards the service is as it was without it."""
    client = RealClient(service)
    client.start()
    for steps in range(1, 2 * kills + 1):
        client.step(STATE)
        if steps % 2:
            inject(client, "kill-worker", operations=2)
        assert client.read(*STATE) == expected(steps)
    client.close()

    def at_rest() -> bool:
        idle = all(gpu.idle is not None and gpu.idle.alive() for gpu in service.registry.gpus)
        states = [one.machine.state for one in service.own.supervisor._workers]
        warm = states.count(WorkerState.SPARE) == service.config.spares and WorkerState.STARTING not in states
        return idle and warm and not service.registry.sessions and not service.own.coordinator._jobs

    until(at_rest, 30, "the service is at rest")


def test_many_losses(real: Service) -> None:
    """None of them costs a descriptor: what one program leaves open, every later one finds there."""
    live(real, 1)
    before = descriptors()
    live(real, 4)
    # Connections are closed by gRPC's own threads.
    until(lambda: len(descriptors()) <= len(before), 20, f"no more than {before}")


def test_workers_do_not_import_torch(real: Service) -> None:
    for gpu in range(2):
        maps = Path(f"/proc/{worker_of(real, gpu).pid}/maps").read_text()
        assert "libjitc_executor.so" in maps
        assert "libtorch_python" not in maps


def test_ranks_of_a_communicator_go_back_together(real: Service) -> None:
    ranks = together(real)
    for number in range(4):
        for client in ranks:
            reduce(client)
            client.step(STATE, COUNTER)
        if number == 2:
            inject(ranks[1], "kill-worker")
    assert states(ranks) == [(expected(4), (2**4).to_bytes(4, "little"))] * 2
    wait_until(real, lambda: sum(gpu.recoveries for gpu in real.registry.gpus) == 1)
    (one,) = real.own.recoveries()
    assert len(one["sessions"]) == 2, one
    assert one["outcome"] == "recovered", one
    for client in ranks:
        client.close()
