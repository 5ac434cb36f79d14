"""A service that takes over from one that was killed in a recovery: a worker that is ended, but has not ended."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from slow_ends import SlowEnds

from jitc.proxy.keeper.log import Log
from jitc.proxy.node import take_over
from jitc.proxy.node.take_over import TakeOver
from jitc.proxy.node.workers.worker import Worker, WorkerState


def send(descriptor: int, pid: int, number: int) -> None:
    os.kill(pid, number)


class Adopting:
    """The supervisor's part."""

    def __init__(self, opened: Callable[[int], int]) -> None:
        self.opened = opened
        self.forgotten: list[int] = []

    def adopt(self, pid: int, socket: str, state: WorkerState, kills: str) -> Worker:
        return Worker(pid, self.opened(pid), socket, state, signalled=send)

    def forget(self, pid: int, socket: str) -> None:
        self.forgotten.append(pid)


@pytest.fixture
def child() -> Iterator[subprocess.Popen[str]]:
    """A worker that the service before was restoring."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, text=True) as one:
        yield one
        one.kill()


@pytest.mark.parametrize("slow", [False, True])
def test_the_session_keeps_it(
    slow: bool, child: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """So that its recovery waits for the end (recovery/worker_calls.py), where the worker's may come any time later."""
    ends, log = SlowEnds(monkeypatch), Log.make()

    def opened(pid: int) -> int:
        return ends.watched(os.pidfd_open(pid), pid)

    supervisor = Adopting(opened)
    monkeypatch.setattr(take_over, "ENDING_SECONDS", 0.2 if slow else 20.0)
    log.put(f"worker/{child.pid}", {"socket": "/nowhere", "spare": False, "kills": ""})
    log.put("session/7", {"worker": child.pid, "state": "held"})
    keeper: Any = SimpleNamespace(children=[child.pid], process_of=opened, signal=send)
    if slow:
        ends.hold(child)
    taker: Any = TakeOver(SimpleNamespace(), supervisor, keeper, log)  # type: ignore[arg-type]
    found = taker._adopt_workers()
    said = capfd.readouterr().err
    if slow:
        worker = found[child.pid]
        assert worker.ending() and not worker.works() and not supervisor.forgotten
        assert said.count(f"worker {child.pid} has not ended yet") == 1
        ends.end(child)
        assert worker.wait()
        worker.close()
    else:
        assert not found and supervisor.forgotten == [child.pid] and not said
    ends.close()
    log.close()
