"""Ranks that do not fit on one GPU together take turns at it: identical, through faults, and never out of memory."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from toolkit.job import Script, run_command
from toolkit.jobs import JOBS
from toolkit.pace import PACED
from toolkit.peer_mode import PacedJob
from toolkit.record import Record, assert_identical
from toolkit.service import BIN, RECOVERY_SECONDS, Service, kill_at
from toolkit.waiting import until
from toolkit.workplace import Workplace

Reference = Callable[[Script, str], list[Record]]
#: One rank of each job fits on a GPU of this size, two do not.
LIMIT = ("--memory-limit", "48MiB")
#: A job that goes on until its rank is at home again, and one without peers.
LONG, OTHER = ("--steps", "150"), ("--steps", "40", "--layers", "2", "--width", "64")
TURN_SECONDS = 120.0
#: Steps after which the service knows a job.
KNOWN_AFTER = 5


def sessions(service: Service) -> list[dict[str, Any]]:
    return [one for gpu in service.status()["gpus"] for one in gpu["sessions"]]


def take_turns(service: Service, running: PacedJob, times: int = 2) -> None:
    """Steps until the loss is over, and each rank has left the GPU so often since its worker has it."""

    def taken() -> bool:
        turns = [one["turns"]["moved_out"] for one in sessions(service)]
        return bool(service.report()) and len(turns) == 2 and min(turns) >= times

    running.go_until(taken, "both have left the GPU")


def without_a_gpu(workplace: Workplace, script: Script, options: tuple[str, ...]) -> tuple[Service, PacedJob]:
    """A job of two ranks on one GPU of two."""
    service = workplace.service(2, options)
    service.inject(kill_at(2, "backward", 3, kind="lose-gpu"), 1)
    return service, PacedJob(workplace, replace(script, around=PACED), service)


def come_back(service: Service, workplace: Workplace, gpu: int) -> None:
    done = run_command(
        [str(BIN / "jitc"), "gpu", "return", str(gpu), "--socket", str(service.socket)], env=workplace.env
    )
    assert done.returncode == 0, done.stderr


def assert_recovered(service: Service, losses: int) -> None:
    report = service.report()
    assert len(report) >= losses, report
    assert {one["outcome"] for one in report} == {"recovered"}, report


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["gpt", "fsdp", pytest.param("accumulate", marks=pytest.mark.slow)])
def test_ranks_take_turns(name: str, workplace: Workplace, reference: Reference) -> None:
    script = JOBS[name].with_arguments("--steps", "60")
    service, running = without_a_gpu(workplace, script, LIMIT)
    take_turns(service, running)
    done = run_command([str(BIN / "jitc"), "status", "--socket", str(service.socket)], env=workplace.env)
    assert "takes turns at the GPU" in done.stdout, done.stdout
    running.let_go()
    assert_identical(running.job.finish().successful().records, reference(script, "cuda"))
    assert_recovered(service, 1)


def hit_worker(service: Service, out: bool, how: int = signal.SIGKILL) -> None:
    """Of the rank whose memory is elsewhere, or of the one that has the turn."""

    def sent() -> bool:
        chosen = [one for one in sessions(service) if one["turns"]["waits"] is out and one["worker_pid"]]
        if len(chosen) != 1:
            return False
        os.kill(chosen[0]["worker_pid"], how)
        return True

    until(sent, TURN_SECONDS, "one of them has the turn")


@pytest.mark.sampled
@pytest.mark.parametrize("out", [True, False])
def test_a_worker_dies(out: bool, workplace: Workplace, reference: Reference) -> None:
    """The one whose memory is elsewhere, or the one that has the turn; then both go home."""
    script = JOBS["gpt"].with_arguments(*LONG)
    service, running = without_a_gpu(workplace, script, LIMIT)
    take_turns(service, running)
    running.grant(running.granted + 3)
    hit_worker(service, out)
    until(lambda: len(service.report()) >= 2, RECOVERY_SECONDS, "it is recovered")
    take_turns(service, running)
    come_back(service, workplace, 1)
    running.go_until(lambda: service.hosts() == {0: 0, 1: 1}, "rank 1 is at home")
    running.let_go()
    assert_identical(running.job.finish().successful().records, reference(script, "cuda"))
    assert_recovered(service, 3)


def is_known(service: Service) -> bool:
    """The service has seen enough steps to say how long each rank may stand still; 0: it has not looked yet."""
    limits = [one["hang_seconds"] for one in sessions(service)]
    return min(limits) > 0 and max(limits) < 30


@pytest.mark.slow
def test_a_worker_that_has_the_turn_is_stopped(workplace: Workplace, reference: Reference) -> None:
    """The other rank waits for the GPU, or in a collective: in any case it is found long before --hang-seconds."""
    script = JOBS["gpt"].with_arguments("--steps", "80")
    service, running = without_a_gpu(workplace, script, LIMIT)
    take_turns(service, running)
    running.go_to(running.granted + KNOWN_AFTER)
    until(lambda: is_known(service), TURN_SECONDS, "the job is known")
    running.grant(running.granted + 3)
    hit_worker(service, False, signal.SIGSTOP)
    until(lambda: len(service.report()) >= 2, RECOVERY_SECONDS, "it is recovered")
    assert service.report()[1]["cause"] == "hung-worker"
    running.let_go()
    assert_identical(running.job.finish().successful().records, reference(script, "cuda"))
    assert_recovered(service, 2)


def test_turns_need_no_service(workplace: Workplace, reference: Reference) -> None:
    script = JOBS["fsdp"].with_arguments("--steps", "60")
    service, running = without_a_gpu(workplace, script, LIMIT)
    take_turns(service, running)
    service.kill()
    running.go_to(running.granted + 5)
    service.restart()
    running.let_go()
    assert_identical(running.job.finish().successful().records, reference(script, "cuda"))


@pytest.mark.sampled
def test_another_job_is_on_the_gpu(workplace: Workplace, reference: Reference) -> None:
    """One that never waits for anybody: all three take turns, and nobody starves."""
    script, other = JOBS["gpt"].with_arguments("--steps", "40"), Script("train_gpt.py", OTHER, 1)
    service = workplace.service(2, ("--memory-limit", "80MiB"))
    service.inject(kill_at(2, "backward", 3, kind="lose-gpu"), 1)
    alone = workplace.job(other, service)
    job = workplace.job(script, service)
    assert_identical(job.finish().successful().records, reference(script, "cuda"))
    expected = workplace.job(other, workplace.service(2)).finish().successful()  # as many threads per operator
    assert_identical(alone.finish().successful().records, expected.records)
    assert_recovered(service, 1)
