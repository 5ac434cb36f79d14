"""Boundaries whose copies are made beside the next minibatch: what they cover, and when they do not count.

On the fake driver, with a bus so slow that copies are surely under way when the next op comes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from executor_rig import Client, Shared, make_executor, stats, wait_for
from job_rig import BLOCK, BLOCKS, digest, make_job, take_over, undisturbed
from toolkit.fakes import fake_environment, fake_library

from jitc.proxy.common.executor import Executor

CHILD = Path(__file__).parents[1] / "executor_child.py"
SEED, STEPS = 11, 9
#: Boundaries until the worker knows which blocks may wait; the next one is the first that is late.
LEARNS = 3
#: Gigabytes per second: 256 KiB take a quarter of a second.
SLOW = "bus=0.001"


@pytest.fixture(autouse=True)
def on_the_fake_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITC_TEST_DRIVER", str(fake_library("cuda")))
    monkeypatch.setenv("JITC_TEST_NVRTC", str(fake_library("nvrtc")))
    monkeypatch.setenv("JITC_TEST_JOB", "steady")


@pytest.fixture
def shared() -> Iterator[Shared]:
    memory = Shared()
    yield memory
    memory.close()


def killed(shared: Shared, boundary: int, phase: str, skip: int = 0) -> None:
    """A worker with a slow bus that was lost at an op of the minibatch after this boundary."""
    fault = {"kind": "kill-worker", "boundary": boundary, "phase": phase, "skip": skip}
    command = [sys.executable, str(CHILD), json.dumps(shared.request()), str(SEED), str(STEPS), json.dumps(fault)]
    done = subprocess.run(
        command, capture_output=True, timeout=120, check=False, env=fake_environment(PACE=SLOW), text=True
    )
    assert done.returncode == -9, done.stderr


class Running(NamedTuple):
    """A job whose steady blocks are known."""

    executor: Executor
    client: Client
    job: Any

    def minibatches(self, count: int) -> None:
        for _ in range(count):
            self.job.minibatch(self.client)
        self.client.flush()


@pytest.fixture
def expected() -> str:
    """Of a run without a fault. It needs the fake driver's addresses for itself."""
    return str(undisturbed(STEPS, SEED)[0])


@pytest.fixture
def running(shared: Shared) -> Iterator[Running]:
    executor = make_executor()
    executor.open_session(shared.request())
    try:
        one = Running(executor, Client(executor), make_job(SEED))
        one.client.attach()
        one.job.begin(one.client)
        one.minibatches(LEARNS)
        yield one
    finally:
        executor.close()


def test_the_boundary_counts_when_its_copies_are_there(running: Running) -> None:
    """Also when no op comes any more."""
    executor = running.executor
    wait_for(lambda: stats(executor)["committed"] == LEARNS)
    assert stats(executor)["boundary_phases"]["seconds"]["beside"] == 0
    for late in range(1, 4):
        running.minibatches(1)
        wait_for(lambda late=late: stats(executor)["committed"] == LEARNS + late)
    phases = stats(executor)["boundary_phases"]
    assert phases["boundaries"] == LEARNS + 3
    assert phases["seconds"]["beside"] > 0
    assert stats(executor)["snapshot_bytes"] == BLOCKS * BLOCK


@pytest.mark.parametrize(("phase", "skip"), [("forward", 0), ("forward", 3), ("backward", 2)])
def test_a_worker_that_is_lost_while_copies_are_made(shared: Shared, phase: str, skip: int) -> None:
    killed(shared, LEARNS + 1, phase, skip)
    assert take_over(shared, SEED, STEPS) == LEARNS


@pytest.mark.parametrize("skip", [0, 4])
def test_copies_are_complete_before_the_next_step(shared: Shared, skip: int) -> None:
    killed(shared, LEARNS + 1, "optimizer", skip)
    assert take_over(shared, SEED, STEPS) == LEARNS + 1


def test_a_block_that_is_written_meanwhile_spoils_the_boundary(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one before counts; and the block waits no more."""
    monkeypatch.setenv("JITC_TEST_JOB", f"steady:{LEARNS + 2}")
    killed(shared, LEARNS + 1, "optimizer")
    assert take_over(shared, SEED, STEPS) == LEARNS


def test_after_a_spoiled_boundary_the_next_one_counts(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITC_TEST_JOB", f"steady:{LEARNS + 2}")
    killed(shared, LEARNS + 2, "optimizer")
    assert take_over(shared, SEED, STEPS) == LEARNS + 2


def test_a_fence_gives_up_what_is_under_way(expected: str, running: Running) -> None:
    """Nothing of it is left: neither its room, nor its copies in what comes after."""
    executor = running.executor
    running.minibatches(2)
    position = executor.command("Fence", {"session": 1, "epoch": 1})
    assert position["prepared"] <= LEARNS + 2
    assert executor.command("Rollback", {"session": 1, "boundary": position["prepared"]})["complete"]
    executor.command("Resume", {"session": 1, "epoch": 1, "slots": [0]})
    running.minibatches(STEPS - LEARNS - 2)
    wait_for(lambda: stats(executor)["committed"] == STEPS)
    assert stats(executor)["snapshot_bytes"] == BLOCKS * BLOCK
    assert digest(running.client) == expected
