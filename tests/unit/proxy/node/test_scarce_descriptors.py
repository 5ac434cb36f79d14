"""The service while it can have no more descriptors: nobody is given up for that, and all that watches goes on."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from standin_client import Client, config, session_of, worker_of
from toolkit.waiting import until

from jitc.proxy.common.complaints import Complaints
from jitc.proxy.common.rounds import Rounds
from jitc.proxy.node import descriptors
from jitc.proxy.node.workers.idle import IdleWorkers
from jitc.proxy.node.workers.watch import Watch
from jitc.proxy.ranks.states import OUTSIDE
from jitc.proxy.service import Service


@contextlib.contextmanager
def none_left() -> Iterator[None]:
    """This process, in which the service is, gets no more descriptors."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = set(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(set(range(max(used) + 2)) - used), limits[1]))
    held = []
    try:
        with contextlib.suppress(OSError):  # what became free meanwhile
            while True:
                held.append(os.dup(0))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for one in held:
            os.close(one)


def threads() -> set[str]:
    return {one.name for one in threading.enumerate() if one.name.startswith("jitc-") and "rpc" not in one.name}


def test_an_innocent_job_is_recovered_when_there_are_some_again(service: Service) -> None:
    client = Client(service)
    client.send("add", value=7)
    assert client.call("get")["value"] == 7
    before, worker = threads(), worker_of(service, 0)
    session = session_of(service, client)
    with none_left():
        os.kill(worker.pid, signal.SIGKILL)
        until(session.without_worker, 20, "its recovery has begun")
        with pytest.raises(AssertionError):
            until(lambda: session.state in OUTSIDE, 1.0, "it is not given up")
    assert client.call("get")["value"] == 7
    until(lambda: bool(service.own.recoveries()), 20, "the report")
    assert [one["outcome"] for one in service.own.recoveries()] == ["recovered"]
    assert before <= threads()
    client.close()


def test_a_gpu_has_its_idle_worker_again(tmp_path: Path) -> None:
    one = Service(config(tmp_path, gpus=1))
    try:
        one.start()
        idle = one.registry.gpus[0].idle
        assert idle is not None
        with none_left():
            os.kill(idle.pid, signal.SIGKILL)
            until(lambda: not idle.alive(), 20, "its end is seen")
        gpu = one.registry.gpus[0]
        until(lambda: gpu.idle is not None and gpu.idle is not idle and gpu.idle.alive(), 20, "another one")
    finally:
        one.stop()


def test_there_is_room_again() -> None:
    with none_left():
        assert not descriptors.room_for_session()
        assert not descriptors.wait_for_some(0.0)
    assert descriptors.room_for_session()
    assert descriptors.wait_for_some(0.0)


def fails_at_first(good: Callable[[], None]) -> Callable[[], None]:
    times: list[int] = []

    def act() -> None:
        times.append(1)
        if len(times) < 4:
            raise RuntimeError("a defect\nof a round")
        good()

    return act


def test_rounds_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    went_on = threading.Event()
    rounds = Rounds("jitc-test", 0.01, fails_at_first(went_on.set))
    rounds.start()
    assert went_on.wait(20)
    rounds.stop()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("jitc-proxyd: jitc-test goes on after RuntimeError: a defect\\nof a round at test_scarce")


def test_the_watch_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    watch, went_on = Watch(), threading.Event()
    watch.start()
    act = fails_at_first(went_on.set)
    for _ in range(4):
        watch.post(act)
    assert went_on.wait(20)
    watch.stop()
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_thread_of_idle_workers_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one, went_on = Service(config(tmp_path, gpus=1)), threading.Event()
    act = fails_at_first(went_on.set)

    def empty(self: Any, gpu: Any) -> bool:
        act()
        return False

    monkeypatch.setattr(IdleWorkers, "_empty", empty)
    try:
        one.start()
        assert went_on.wait(20)
    finally:
        one.stop()
    assert "jitc-idle goes on after RuntimeError" in capsys.readouterr().err


def test_the_same_is_not_said_again_and_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    complaints, now = Complaints("x"), time.monotonic()
    for later, lines in ((0.0, 1), (10.0, 0), (61.0, 1)):
        monkeypatch.setattr(time, "monotonic", lambda later=later: now + later)
        for _ in range(5):
            complaints.of(ValueError("the same"))
        assert len(capsys.readouterr().err.splitlines()) == lines
    for number in range(300):
        complaints.of(ValueError(f"{number} \x1b[2J" + "x" * 1000))
    assert all(line.isprintable() and len(line) < 400 for line in capsys.readouterr().err.splitlines())
