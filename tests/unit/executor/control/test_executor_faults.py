"""Injected faults: where they fire, that they fire once, that they are told first."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from executor_rig import Client, Control, Shared, make_executor, stats, wait_for
from job_rig import Job

from jitc.proxy.common.executor import Executor, ExecutorError

pytestmark = pytest.mark.usefixtures("device")

CHILD = Path(__file__).parents[1] / "executor_child.py"


class Case:
    """One session and what was told of it."""

    def __init__(self) -> None:
        self.shared, self.control = Shared(), Control()
        self.executor: Executor = make_executor(self.control)
        self.executor.open_session(self.shared.request())
        self.client, self.job = Client(self.executor), Job(1)
        self.client.attach()
        self.job.begin(self.client)

    def arm(self, **fault: Any) -> None:
        self.executor.command("Arm", {"session": 1, "fault": {"kind": "sticky-error", **fault}})

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.job.minibatch(self.client)
        self.client.flush()

    def fired(self) -> str:
        wait_for(lambda: self.control.faults)
        assert len(self.control.fired) == 1
        return self.control.fired[0]


@pytest.fixture
def case() -> Iterator[Case]:
    made = Case()
    yield made
    made.executor.close()
    made.shared.close()


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ({"sequence": 9}, "sequence 9, after boundary 0"),
        ({"operations": 5}, "sequence 5,"),
        ({"boundary": 1}, "after boundary 1, phase forward"),
        ({"boundary": 2, "phase": "backward"}, "op copy_d2d, sequence .*, after boundary 2, phase backward"),
        ({"boundary": 1, "phase": "optimizer"}, "after boundary 1, phase optimizer"),
        ({"phase": "boundary", "boundary": 1}, "op boundary, sequence .*, after boundary 1"),
        ({"phase": "backward", "armed_at_boundary": True, "skip": 2}, "op copy_d2d, sequence 9, after boundary 0"),
        ({"phase": "copy", "boundary": 1}, "op copy_.*, after boundary 1"),
    ],
)
def test_places(case: Case, fault: dict[str, Any], text: str) -> None:
    case.arm(**fault)
    case.run(4)
    assert re.search("sticky-error fired at .*" + text, case.fired()), case.control.fired
    session, _, status, cause, message = case.control.faults[0]
    assert (session, status, cause) == (1, 700, "sticky-error") and "illegal memory access" in message
    assert stats(case.executor)["state"] == "faulted"


def test_at_once_and_once_only(case: Case) -> None:
    case.arm()
    assert "at once" in case.fired()
    case.run(2)
    case.executor.command("Fence", {"session": 1, "epoch": 1})
    assert case.executor.command("Rollback", {"session": 1, "boundary": 0})["complete"]
    case.executor.command("Resume", {"session": 1, "epoch": 1, "slots": [0]})
    wait_for(lambda: stats(case.executor)["boundary"] == 2)
    assert len(case.control.fired) == 1


def test_a_fault_in_the_middle_of_a_boundary_goes_back_one_further(case: Case) -> None:
    case.arm(phase="boundary", boundary=1)
    case.run(2)
    case.fired()
    position = case.executor.command("Fence", {"session": 1, "epoch": 1})
    assert position["prepared"] == 1
    assert case.executor.command("Rollback", {"session": 1, "boundary": 1})["complete"]
    case.executor.command("Resume", {"session": 1, "epoch": 1, "slots": [0]})
    wait_for(lambda: stats(case.executor)["boundary"] == 2)


@pytest.mark.parametrize("fault", [{"kind": "earthquake"}, {"phase": "teatime"}])
def test_unknown_faults_are_refused(case: Case, fault: dict[str, Any]) -> None:
    with pytest.raises(ExecutorError, match="unknown"):
        case.arm(**fault)


@pytest.mark.parametrize(("kind", "signal"), [("kill-worker", 9), ("crash-worker", 11)])
def test_kill_tells_first_and_then_the_process_is_gone(kind: str, signal: int) -> None:
    shared = Shared()
    try:
        fault = json.dumps({"kind": kind, "boundary": 2, "phase": "backward"})
        command = [sys.executable, str(CHILD), json.dumps(shared.request()), "1", "8", fault]
        # A sanitizer would report the crash, and end the process by another signal.
        unhandled = {name: f"{os.environ.get(name, '')}:handle_segv=0" for name in ("ASAN_OPTIONS", "TSAN_OPTIONS")}
        done = subprocess.run(command, capture_output=True, timeout=60, check=False, env=os.environ | unhandled)
        assert done.returncode == -signal
        assert f"{kind} fired at op copy_d2d".encode() in done.stderr and b"after boundary 2" in done.stderr
    finally:
        shared.close()
