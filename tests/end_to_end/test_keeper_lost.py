"""jitc-keeper is killed under training jobs: they go on with another keeper, and end with the same bytes.

All workers die with it. What it held, the service has open too; when both die at once, systemd's descriptor store has
it, here a process of the tests that speaks its protocol (test_systemd.py has the real one).
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from toolkit.descriptor_store import DescriptorStore
from toolkit.job import Script
from toolkit.jobs import JOBS
from toolkit.leaks import marked_processes
from toolkit.pace import PACED
from toolkit.peer_mode import PacedJob
from toolkit.record import Record, assert_identical
from toolkit.service import Service, kill_at
from toolkit.waiting import until
from toolkit.workplace import Workplace

Reference = Callable[[Script, str], list[Record]]
LONG = 60


def script_of(name: str, steps: int = LONG) -> Script:
    return Script(JOBS[name].name, JOBS[name].arguments, JOBS[name].ranks, PACED).with_arguments("--steps", str(steps))


def kill_keeper(service: Service) -> int:
    keeper = service.keeper_pid()
    os.kill(keeper, signal.SIGKILL)
    return keeper


def begun_anew(service: Service, times: int) -> bool:
    return service.said().count("sessions of the service before") >= times


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DescriptorStore]:
    one = DescriptorStore(tmp_path)
    yield one
    one.close()


@pytest.mark.parametrize(
    "name", ["gpt", *(pytest.param(one, marks=pytest.mark.slow) for one in ("fsdp", "amp", "cnn"))]
)
def test_the_keeper_is_killed(name: str, workplace: Workplace, reference: Reference) -> None:
    """Twice. The service is the same process, and its programs those that they were."""
    script = script_of(name)
    service = workplace.service(script.ranks)
    running = PacedJob(workplace, script, service)
    running.go_to(3)
    for turn in (1, 2):
        before = kill_keeper(service)
        until(lambda turn=turn: begun_anew(service, turn), 60, "the service has begun anew")
        running.go_to(3 + 3 * turn)
        assert service.keeper_pid() != before and service.process.poll() is None
    assert {one["outcome"] for one in service.report()} == {"recovered"}
    running.let_go()
    assert_identical(running.job.finish().successful().records, reference(script, "cuda"))
    assert service.stop() == 0
    assert not Path(f"{service.socket}.d").exists()
    until(lambda: not marked_processes(workplace.mark), 20, "nothing is left")


def test_it_is_killed_in_a_recovery(workplace: Workplace, reference: Reference) -> None:
    """Of a worker that dies at an op, with the other rank's."""
    script = script_of("gpt")
    service = workplace.service(2)
    running = PacedJob(workplace, script, service)
    running.go_to(2)
    service.inject(kill_at(3, "backward", 5), 1)
    running.grant(8)
    until(service.injected, 60, "the worker is dead")
    kill_keeper(service)
    until(lambda: begun_anew(service, 1), 60, "the service has begun anew")
    running.let_go()
    assert_identical(running.job.finish().successful().records, reference(script, "cuda"))


def test_both_are_killed(store: DescriptorStore, workplace: Workplace, reference: Reference) -> None:
    """In either order. The next service is given what systemd holds; at the end that holds nothing."""
    script = script_of("gpt")
    service = workplace.service(2, before=store.before, **store.env)
    running = PacedJob(workplace, script, service)
    running.go_to(2)
    assert len([one for one in store.names() if one.endswith("/journal")]) == 2
    for steps, first_the_keeper in ((5, True), (8, False)):
        keeper = service.keeper_pid()
        for one in (keeper, service.process.pid) if first_the_keeper else (service.process.pid, keeper):
            os.kill(one, signal.SIGKILL)
        service.kill()
        service.restart()
        running.go_to(steps)
    running.let_go()
    assert_identical(running.job.finish().successful().records, reference(script, "cuda"))
    assert service.stop() == 0
    assert store.names() == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_anything_dies_at_random(seed: int, store: DescriptorStore, workplace: Workplace, reference: Reference) -> None:
    """Keeper, service, worker, or some of them, eight times, whatever is going on."""
    source = random.Random(seed)
    script = script_of(source.choice(("gpt", "cnn", "accumulate", "fsdp")))
    service = workplace.service(script.ranks, before=store.before, **store.env)
    running = PacedJob(workplace, script, service)
    running.go_to(1)
    for turn in range(8):
        running.grant(running.granted + 1 + source.randrange(3))
        workers = [pid for gpu in range(script.ranks) if (pid := service.worker_pid(gpu))]
        those = {"keeper": service.keeper_pid(), "service": service.process.pid}
        if workers:
            those["worker"] = source.choice(workers)
        dies = source.sample(sorted(those), source.randrange(1, len(those) + 1))
        workplace.note(f"turn {turn}: {', '.join(dies)}")
        for one in dies:
            os.kill(those[one], signal.SIGKILL)
        if "service" in dies:
            service.kill()
            service.restart()
        running.go_to(running.granted + 1)
    running.let_go()
    assert_identical(running.job.finish(300).successful().records, reference(script, "cuda"))
