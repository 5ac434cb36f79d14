"""Programs that share a GPU do not share its faults: each job is recovered, or given up, by itself.

Two training jobs and a notebook, none of which knows of the others, on one GPU of one service.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from toolkit.job import Job, Script
from toolkit.jobs import JOBS
from toolkit.lockstep import Lockstep
from toolkit.pace import PACED
from toolkit.peer_mode import PacedJob
from toolkit.record import Record, assert_identical
from toolkit.service import Service, kill_at_op
from toolkit.waiting import until
from toolkit.workplace import Workplace

from jitc.v1 import control_pb2

NOTEBOOK = Path(__file__).with_name("notebook_steps.py")
STEPS = 30
TRAIN = {
    name: Script(JOBS[name].name, (*JOBS[name].arguments, "--steps", str(STEPS)), ranks=1) for name in ("gpt", "cnn")
}
CELLS = 6
Start = Callable[..., Lockstep]
Reference = Callable[[Script, str], list[Record]]


def sessions(service: Service, gpu: int = 0) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.status()["gpus"][gpu]["sessions"]
    return found


def kill_all(service: Service, gpu: int = 0) -> str:
    """The worker processes of all programs on the GPU."""
    return service.inject(control_pb2.Fault(kind="kill-worker"), gpu).detail


def under_way(job: Job, steps: int) -> None:
    until(lambda: job.steps() >= steps or job.process.poll() is not None, 120, f"step {steps}")
    assert job.process.poll() is None, job.output()[-3000:]


def cells(notebook: Lockstep, count: int) -> list[str]:
    return [notebook.step() for _ in range(count)]


@pytest.fixture
def alone(workplace: Workplace, start: Start) -> list[str]:
    """What the notebook says when it has a GPU to itself."""
    notebook = start(workplace.service(1), NOTEBOOK)
    assert notebook.answer() == "ready"
    return cells(notebook, CELLS)


def test_two_jobs_and_a_notebook(workplace: Workplace, start: Start, reference: Reference, alone: list[str]) -> None:
    """The GPU's workers are killed while all three are there: each goes on as if it had been alone."""
    service = workplace.service(1)
    notebook = start(service, NOTEBOOK)
    assert notebook.answer() == "ready"
    said = cells(notebook, 2)
    jobs = {name: PacedJob(workplace, replace(script, around=PACED), service) for name, script in TRAIN.items()}
    for one in jobs.values():
        one.go_to(3)
    workplace.note(kill_all(service))
    for one in jobs.values():
        one.let_go()
    said += cells(notebook, CELLS - 2)
    for name, one in jobs.items():
        assert_identical(one.job.finish().successful().records, reference(TRAIN[name], "cuda"))
    assert said == alone
    report = service.survived(3)
    assert len({one["job"] for one in report}) == 3, report
    assert all(len(one["sessions"]) == 1 and one["outcome"] == "recovered" for one in report), report


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_twenty_kills(workplace: Workplace, start: Start, reference: Reference, alone: list[str]) -> None:
    """Of one program's worker each, in turn, at random ops; the others do not notice."""
    service, source = workplace.service(1, ("--spares", "2")), random.Random("twenty kills")
    notebook = start(service, NOTEBOOK)
    assert notebook.answer() == "ready"
    scripts = {name: script.with_arguments("--steps", "300") for name, script in TRAIN.items()}
    jobs = {name: workplace.job(script, service) for name, script in scripts.items()}
    for job in jobs.values():
        under_way(job, 3)
    said = []
    for kill in range(20):
        victim = source.choice([one for one in sessions(service) if one["worker_pid"]])
        if kill % (20 // CELLS) == 0 and len(said) < CELLS:
            said += cells(notebook, 1)
        workplace.note(f"kill {kill}: worker {victim['worker_pid']} of {victim['job']}")
        os.kill(victim["worker_pid"], signal.SIGKILL)
        service.survived(kill + 1)
    said += cells(notebook, CELLS - len(said))
    for name, job in jobs.items():
        assert_identical(job.finish(400).successful().records, reference(scripts[name], "cuda"))
    assert said == alone
    assert all(one["outcome"] == "recovered" for one in service.report())


def test_job_that_ends_workers_is_given_up_alone(
    workplace: Workplace, start: Start, reference: Reference, alone: list[str]
) -> None:
    """Whatever one program's worker dies of, again and again: its neighbours on the GPU go on."""
    service = workplace.service(1)
    guilty = start(service, NOTEBOOK)
    assert guilty.answer() == "ready"
    notebook = start(service, NOTEBOOK)
    assert notebook.answer() == "ready"
    said = cells(notebook, 1)
    job = workplace.job(TRAIN["gpt"], service)
    under_way(job, 2)
    service.kill_until_given_up(guilty.process.pid)
    guilty.tell()
    assert guilty.answer() == ""
    status, errors = guilty.finish()
    assert status != 0
    assert "jitc could not recover this job" in errors, errors
    assert "busy or unavailable" in errors, errors  # cudaErrorDevicesUnavailable
    said += cells(notebook, CELLS - 1)
    assert said == alone
    assert_identical(job.finish().successful().records, reference(TRAIN["gpt"], "cuda"))
    [found] = [one for one in service.report() if one["outcome"].startswith("given up")]
    assert (found["job"], len(found["sessions"])) == (f"pid {guilty.process.pid}", 1)


def test_programs_have_address_spaces_of_their_own(workplace: Workplace, start: Start) -> None:
    """No index, however wild, reaches another program's memory: it is not mapped in this one's worker."""
    service = workplace.service(1)
    programs = [start(service, NOTEBOOK) for _ in range(2)]
    assert [one.answer() for one in programs] == ["ready", "ready"]
    workers = [one["worker_pid"] for one in sessions(service)]
    assert len(set(workers)) == 2

    def device_memory(pid: int) -> set[str]:
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
        return {line.split("-")[0] for line in lines if line.startswith("2") and len(line.split("-")[0]) == 12}

    first, second = (device_memory(pid) for pid in workers)
    assert first
    assert second
    assert not first & second


def test_program_that_ends_while_its_worker_is_replaced(workplace: Workplace, start: Start) -> None:
    """The GPU is ready again: its state is that of those who are still there."""
    service = workplace.service(1)
    for _ in range(3):
        program = start(service, NOTEBOOK)
        assert program.answer() == "ready"
        kill_all(service)
        program.kill()
        until(lambda: not sessions(service), 30, "the session ended")
        until(lambda: service.status()["gpus"][0]["state"] == "ready", 30, "the GPU is ready")
    last = start(service, NOTEBOOK)
    assert last.answer() == "ready"
    assert len(last.step()) == 64


def test_fault_at_an_op_is_that_of_the_first_program(workplace: Workplace, start: Start, alone: list[str]) -> None:
    """The worker of another one stays as it is."""
    service = workplace.service(1)
    programs = [start(service, NOTEBOOK) for _ in range(2)]
    assert [one.answer() for one in programs] == ["ready", "ready"]
    assert [one.step() for one in programs] == [alone[0]] * 2
    before = {one["pid"]: one["worker_pid"] for one in sessions(service)}
    service.inject(kill_at_op(sessions(service)[0]["ops_executed"] + 3), 0)
    assert [cells(one, 3) for one in programs] == [alone[1:4]] * 2
    service.survived(1)
    after = {one["pid"]: one["worker_pid"] for one in sessions(service)}
    changed = {pid for pid, worker in before.items() if after[pid] != worker}
    assert len(changed) == 1
