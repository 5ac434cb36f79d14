"""jitc-proxyd is killed or replaced under training jobs: they go on, and end with the same bytes.

Real PyTorch jobs under torchrun. A fault that comes while there is no service is recovered by the next one.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from toolkit.job import Script, run_command
from toolkit.jobs import JOBS, STEPS
from toolkit.leaks import marked_processes
from toolkit.pace import PACE, PACED, Pace
from toolkit.peer_mode import PacedJob
from toolkit.record import Record, assert_identical, read_records
from toolkit.service import BIN, Service, kill_at
from toolkit.waiting import patient, until
from toolkit.workplace import Workplace

from jitc.v1 import control_pb2

Reference = Callable[[Script, str], list[Record]]
#: Steps of jobs during which services come and go; they stand still before their last ones until all have.
LONG = 80


def paced(script: Script) -> Script:
    return replace(script, around=PACED)


def states(service: Service) -> set[str]:
    return {one["state"] for gpu in service.status()["gpus"] for one in gpu["sessions"]}


def is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def causes(service: Service) -> list[str]:
    return [one["cause"] for one in service.report()]


def test_training_needs_no_service(workplace: Workplace, reference: Reference) -> None:
    """From its first step to its last; what is left is taken over, and ended."""
    service = workplace.service(2)
    running = PacedJob(workplace, paced(JOBS["gpt"]).with_arguments("--steps", str(STEPS)), service)
    running.go_to(1)
    service.kill()
    running.go_to(2)
    running.let_go()
    assert_identical(running.job.finish().successful().records, reference(JOBS["gpt"], "cuda"))
    until(lambda: not Path(f"{service.socket}.d").exists(), 30, "the keeper has ended, and removed what was there")


@pytest.mark.parametrize("job_name", ["gpt", *(pytest.param(one, marks=pytest.mark.slow) for one in ("fsdp", "amp"))])
def test_a_worker_is_lost_without_a_service(job_name: str, workplace: Workplace, reference: Reference) -> None:
    script = paced(JOBS[job_name]).with_arguments("--steps", str(LONG))
    service = workplace.service(script.ranks)
    running = PacedJob(workplace, script, service)
    running.go_to(3)
    worker = service.worker_pid(1)
    assert worker is not None
    service.kill()
    running.grant(LONG // 2)
    os.kill(worker, signal.SIGKILL)
    service.restart()
    service.survived(1)
    assert causes(service) == ["worker-death"]
    running.let_go()
    assert_identical(running.job.finish().successful().records, reference(script, "cuda"))


@pytest.mark.parametrize("phase", ["backward", pytest.param("optimizer", marks=pytest.mark.slow)])
def test_the_service_dies_with_the_worker(phase: str, workplace: Workplace, reference: Reference) -> None:
    """Killed in the midst of the recovery, which cannot end before: the other rank's worker does not answer until the
    service is gone. The next one begins it anew."""
    script = JOBS["gpt"]
    service = workplace.service(2)
    stopped, lost = service.worker_pid(0), service.worker_pid(1)
    assert stopped is not None and lost is not None
    service.inject(kill_at(2, phase, 5, kind="stop-worker"), 0)  # the other rank then waits for it in a later step
    job = workplace.job(script, service)
    until(lambda: is_stopped(stopped), 120, "the worker has stopped")  # else a recovery might be over before
    os.kill(lost, signal.SIGKILL)
    until(lambda: "lost" in states(service), 120, "a recovery has begun")
    assert service.worker_pid(0) == stopped and service.report() == []
    service.kill()
    os.kill(stopped, signal.SIGCONT)
    service.restart()
    assert_identical(job.finish().successful().records, reference(script, "cuda"))
    [one] = service.survived(1)
    assert one["cause"] == "worker-death", one


@pytest.mark.slow
def test_replaced_again_and_again(workplace: Workplace, reference: Reference) -> None:
    """Two jobs; each service takes over from the one before, which ends by itself; a worker is killed in between."""
    script = paced(JOBS["gpt"]).with_arguments("--steps", str(LONG))
    service = workplace.service(2)
    jobs = [PacedJob(workplace, script, service) for _ in range(2)]
    for steps in (3, 6, 9):
        for one in jobs:
            one.go_to(steps)
        for one in jobs:
            one.grant(steps + 2)
        before = service.process
        service.replace()
        assert before.wait(patient(30)) == 0
        service.inject(control_pb2.Fault(kind="kill-worker"), 0)
    for one in jobs:
        one.let_go()
    for job in [one.job for one in jobs]:
        assert_identical(job.finish().successful().records, reference(script, "cuda"))
    assert {one["outcome"] for one in service.report()} == {"recovered"}


def test_run_starts_its_service_again(workplace: Workplace, reference: Reference) -> None:
    """`jitc run`: its service is killed twice, with a worker once; the program sees nothing, and nothing is left."""
    folder = workplace.folder / "run"
    folder.mkdir()
    Pace(folder, 2).grant(STEPS // 2)
    script = paced(JOBS["gpt"]).with_arguments("--steps", str(STEPS))
    program = [*script.around, f"examples/{script.name}", "--device", "cuda", *script.arguments]
    launcher = ["torchrun", "--standalone", "--nproc-per-node", "2", *program]
    command = [str(BIN / "jitc"), "run", "--device", "software", "--gpus", "2", "--", "sh", "-c", RUN, "sh", *launcher]
    env = workplace.env | {PACE: str(folder)}
    done = run_command([*command, "--json", str(folder / "record.json")], env=env, timeout=200)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("jitc-proxyd: ended by SIGKILL; another one takes over") == 2, done.stderr
    assert_identical(read_records(folder), reference(script, "cuda"))
    until(lambda: not marked_processes(workplace.mark), 20, "nothing is left")


#: Runs a program, and kills the service that it is served by, twice; a worker as well, the second time. The program may
#: come to its end only then.
RUN = """
"$@" & program=$!
for time in 1 2; do
  until jitc status --json 2>/dev/null | grep -q '"boundary": [1-9]'; do kill -0 $program || exit 9; done
  [ $time = 1 ] || worker=$(jitc status --json | grep -o '"worker_pid": [0-9]*' | head -1 | grep -o '[0-9]*')
  kill -9 $(pgrep -f "jitc.proxy.commands.proxyd --socket $JITC_SOCKET")
  [ $time = 1 ] || kill -9 $worker
  until jitc status > /dev/null 2>&1; do kill -0 $program || exit 9; done
done
echo 1000 > $PACE/granted.part
mv $PACE/granted.part $PACE/granted
wait $program
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_services_and_workers_die_at_random(seed: int, workplace: Workplace, reference: Reference) -> None:
    """Eight times either or both, whatever is going on; the job is identical."""
    source = random.Random(seed)
    script = paced(JOBS[source.choice(("gpt", "cnn", "accumulate", "fsdp"))]).with_arguments("--steps", str(LONG))
    service = workplace.service(script.ranks)
    running = PacedJob(workplace, script, service)
    running.go_to(1)
    for turn in range(8):
        running.grant(running.granted + 1 + source.randrange(3))
        workers = [pid for gpu in range(script.ranks) if (pid := service.worker_pid(gpu))]
        what = source.choice(("service", "worker", "both"))
        workplace.note(f"turn {turn}: {what}")
        if what != "service" and workers:
            os.kill(source.choice(workers), signal.SIGKILL)
        if what != "worker":
            service.kill()
            service.restart()
        running.go_to(running.granted + 1)
    running.let_go()
    assert_identical(running.job.finish(300).successful().records, reference(script, "cuda"))
