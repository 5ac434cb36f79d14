"""The executor on the cuda device with the fake driver, in worker processes that die: what the next one makes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from executor_rig import BASE, Control, Shared, make_executor
from job_rig import take_over
from toolkit.fakes import FakeCall, fake_calls, fake_environment, fake_library

from jitc.proxy.common.executor import ExecutorError

CHILD = Path(__file__).with_name("executor_child.py")
STEPS = 6


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shared]:
    monkeypatch.setenv("JITC_TEST_DRIVER", str(fake_library("cuda")))
    monkeypatch.setenv("JITC_TEST_NVRTC", str(fake_library("nvrtc")))
    memory = Shared()
    yield memory
    memory.close()


def work_until(shared: Shared, seed: int, log: Path, settings: dict[str, str], *faults: dict[str, object]) -> int:
    """A worker process that ends by a fault; its exit status."""
    command = [sys.executable, str(CHILD), json.dumps(shared.request()), str(seed), str(STEPS)]
    command += [json.dumps(fault) for fault in faults]
    environment = fake_environment(log, **settings)
    return subprocess.run(command, capture_output=True, timeout=60, check=False, env=environment).returncode


def named(calls: list[FakeCall], name: str) -> list[FakeCall]:
    return [call for call in calls if call.name == name and not call.runs]


def test_a_killed_worker_is_replaced(shared: Shared, tmp_path: Path) -> None:
    log = tmp_path / "log"
    fault: dict[str, object] = {"kind": "kill-worker", "boundary": 3, "phase": "backward"}
    assert work_until(shared, 5, log, {}, fault) == -9
    reserved = named(fake_calls(log), "cuMemAddressReserve")
    assert [int(call.args["out"], 16) for call in reserved] == [BASE]
    assert not named(fake_calls(log), "cuMemAddressFree")  # it had no time to clean up
    take_over(shared, 5, STEPS)


def test_a_driver_that_fails_is_told_with_its_cause() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JITC_TEST_DRIVER", "/nowhere/libcuda.so.1")
        with pytest.raises(ExecutorError, match=r"cuda device.*/nowhere/libcuda.so.1"):
            make_executor(Control())
