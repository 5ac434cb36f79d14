"""Training jobs lose a GPU for good: they go on with all their ranks on what is left, identical, and move back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from toolkit.job import Script, run_command
from toolkit.jobs import JOBS
from toolkit.pace import PACED
from toolkit.peer_mode import PacedJob
from toolkit.record import Record, assert_identical
from toolkit.service import BIN, RECOVERY_SECONDS, Service, kill_at
from toolkit.waiting import until
from toolkit.workplace import Workplace

from jitc.v1 import control_pb2

Reference = Callable[[Script, str], list[Record]]
#: Jobs stand still wherever nothing but time is waited for, so that they last until their rank is at home again.
LONG = ("--steps", "120")


def served(service: Service, where: dict[int, int]) -> None:
    until(lambda: service.hosts() == where, RECOVERY_SECONDS, f"ranks are served by {where}")


def come_back(service: Service, workplace: Workplace, gpu: int) -> str:
    command = [str(BIN / "jitc"), "gpu", "return", str(gpu), "--socket", str(service.socket)]
    done = run_command(command, env=workplace.env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "name", ["gpt", *(pytest.param(one, marks=pytest.mark.slow) for one in ("fsdp", "cnn", "amp"))]
)
@pytest.mark.parametrize("phase", ["backward", pytest.param("optimizer", marks=pytest.mark.slow)])
def test_a_rank_is_away_and_comes_home(name: str, phase: str, workplace: Workplace, reference: Reference) -> None:
    """Beside the other rank, through a kill of both, and home again."""
    script = replace(JOBS[name].with_arguments(*LONG), around=PACED)
    service = workplace.service(2)
    service.inject(kill_at(2, phase, 3, kind="lose-gpu"), 1)
    running = PacedJob(workplace, script, service)
    running.grant(6)
    served(service, {0: 0, 1: 0})
    gpus = service.status()["gpus"]
    assert gpus[1]["state"] == "failed"
    assert gpus[0]["memory_used"] > gpus[1]["memory_used"] == 0
    until(lambda: service.report() or None, RECOVERY_SECONDS, "rank 1 is recovered")
    service.inject(control_pb2.Fault(kind="kill-worker"), 0)
    running.grant(running.granted + 6)
    until(lambda: len(service.report()) >= 2, RECOVERY_SECONDS, "both ranks are recovered")
    assert "GPU 1 is back; 1 sessions move" in come_back(service, workplace, 1)
    running.go_until(lambda: service.hosts() == {0: 0, 1: 1}, "rank 1 is at home")
    running.let_go()
    assert_identical(running.job.finish().successful().records, reference(script, "cuda"))
    assert {one["outcome"] for one in service.report()} == {"recovered"}


@pytest.mark.sampled
def test_a_spare_gpu_takes_the_place(workplace: Workplace, reference: Reference) -> None:
    """With the service killed while a rank is away: the next one knows where it is."""
    script = replace(JOBS["gpt"].with_arguments(*LONG), around=PACED)
    service = workplace.service(3, ("--spare-gpus", "1"))
    running = PacedJob(workplace, script, service)
    running.go_to(2)
    service.inject(control_pb2.Fault(kind="lose-gpu"), 0)
    running.grant(8)
    served(service, {0: 2, 1: 1})
    until(lambda: service.report() or None, RECOVERY_SECONDS, "it is recovered")
    service.kill()
    service.restart()
    assert service.hosts() == {0: 2, 1: 1}
    assert service.status()["gpus"][0]["state"] == "failed"
    come_back(service, workplace, 0)
    running.go_until(lambda: service.hosts() == {0: 0, 1: 1}, "rank 0 is at home")
    running.let_go()
    assert_identical(running.job.finish().successful().records, reference(script, "cuda"))
