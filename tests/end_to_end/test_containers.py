"""Programs and the service in real containers of their own, as docker/ has them: they share a volume with the service's
socket and the user, and no processes. Workers and services are killed, services in other containers take over; the job
is identical.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from toolkit.containers import OUT, Container, Podman, children, namespace, private_podman, steps, why_not
from toolkit.job import ROOT, Script
from toolkit.jobs import JOBS
from toolkit.pace import PACE, PACED, Pace
from toolkit.record import Record, assert_identical, read_records
from toolkit.service import OTHER_VERSION
from toolkit.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(why_not()), reason=why_not() or "podman")]
Reference = Callable[[Script, str], list[Record]]
#: A question to a container takes a second, or many on a busy machine: so the job gets no further than it was let. It
#: is in the middle of a share of its steps when something happens to it, or stands still after them.
SHARE, SHARES = 100, 5
SCRIPT = JOBS["gpt"].with_arguments("--steps", str(SHARE * SHARES))
PROGRAM = [*PACED, "examples/train_gpt.py", "--device", "cuda", *SCRIPT.arguments, "--json", f"{OUT}/record.json"]
PACED_TORCHRUN = ["env", f"{PACE}={OUT}", "torchrun"]
TRAIN = [*PACED_TORCHRUN, "--standalone", "--nproc-per-node", str(SCRIPT.ranks), *PROGRAM]
OPTIONS = ["--device", "software", "--gpus", "2"]
#: How often a service takes over from one in another container, and the steps from one time to the next.
MOMENTS = 20
EACH = 15
READY = "jitc-proxyd ready"
POD = ROOT / "docker" / "pod.yaml"
WITHOUT_PRELOAD = ["env", "-u", "LD_PRELOAD", sys.executable]
#: The command of a service that crashes when it has taken over, before it serves.
CRASHES = """
import os, sys
from jitc.proxy.commands import proxyd
from jitc.proxy.node.take_over import TakeOver
run = TakeOver.run
TakeOver.run = lambda self: os._exit(len(run(self)) + 5)
sys.exit(proxyd.main())
"""


@pytest.fixture
def podman() -> Iterator[Podman]:
    with private_podman("jitc-pods-") as one:
        if reason := one.make_images():
            pytest.skip(f"podman cannot run a container here: {reason}")
        yield one


@pytest.fixture
def pace(podman: Podman) -> Pace:
    one = Pace(podman.out, SCRIPT.ranks)
    one.grant(SHARE)
    return one


def serving(service: Container) -> None:
    until(lambda: service.status() is not None or service.has_ended(), 90, "the service answers")
    assert not service.has_ended(), service.output()


def has_steps(train: Container, count: int) -> None:
    until(lambda: steps(train.output()) >= count or train.has_ended(), 120, f"{count} steps")
    assert not train.has_ended(), train.output()


def workers(service: Container) -> list[int]:
    """As the service sees them."""
    status = service.status()
    assert status is not None
    return [one["worker_pid"] for gpu in status["gpus"] for one in gpu["sessions"]]


def states(service: Container) -> list[str]:
    status = service.status()
    return [one["state"] for gpu in status["gpus"] for one in gpu["sessions"]] if status else []


def lost_workers(service: Container) -> int:
    """So many are recovered. A service that is killed right after that may begin the recovery once more, which is
    another report.
    """
    return sum(one["cause"] == "worker-death" for one in service.report())


def kill_worker(service: Container, rank: int) -> None:
    service.execute("sh", "-c", f"kill -9 {workers(service)[rank]}")


def kill_service(service: Container) -> None:
    """It is a child of the container's first process, which starts it again; the keeper is no longer one."""
    (proxyd,) = [
        one
        for one in children(service.pid())
        if b"jitc.proxy.commands.proxyd" in Path(f"/proc/{one}/cmdline").read_bytes()
    ]
    os.kill(proxyd, signal.SIGKILL)
    until(lambda: not Path(f"/proc/{proxyd}").exists(), 20, "it has ended")


def are_apart(*containers: Container) -> None:
    """No process of one sees those of another; none is root; their own files cannot be written to."""
    seen = [namespace(os.getpid()), *(namespace(one.pid()) for one in containers)]
    assert len(set(seen)) == len(seen)
    for one in containers:
        status = Path(f"/proc/{one.pid()}/status").read_text()
        assert "Uid:\t1000\t1000\t1000\t1000\n" in status
        assert "Read-only file system" in one.execute("sh", "-c", "touch /x 2>&1", check=False)
        own = {int(word) for word in one.execute("sh", "-c", "cd /proc; echo [0-9]*").split()}
        assert own
        assert not any(other.pid() in own for other in containers)


def is_identical(service: Container, train: Container, podman: Podman, reference: Reference) -> None:
    until(train.has_ended, 200, "the job is over")
    assert train.state()["ExitCode"] == 0, train.output()
    assert "not shared" not in train.output()
    assert {one["outcome"] for one in service.report()} == {"recovered"}
    assert_identical(read_records(podman.out), reference(SCRIPT, "cuda"))
    until(lambda: workers(service) == [], 30, "its sessions have ended")


def faults(service: Container, train: Container, pace: Pace) -> None:
    """A worker, then the service, then both. The job goes on after each."""
    has_steps(train, 2)
    are_apart(service, train)
    kill_worker(service, 1)
    until(lambda: lost_workers(service) == 1, 60, "the recovery is over")
    pace.grant(2 * SHARE)
    kill_service(service)
    pace.grant(3 * SHARE)
    has_steps(train, 3 * SHARE)
    serving(service)
    ranks = workers(service)
    pace.grant(4 * SHARE)
    kill_service(service)
    service.execute("sh", "-c", f"kill -9 {ranks[0]}")
    serving(service)
    until(lambda: lost_workers(service) == 2, 60, "the second recovery is over")
    pace.grant(SHARES * SHARE)


def test_two_containers(podman: Podman, pace: Pace, reference: Reference) -> None:
    service = podman.start("proxyd", "jitc-service", *OPTIONS)
    serving(service)
    train = podman.start("train", "jitc-train", *TRAIN)
    faults(service, train, pace)
    is_identical(service, train, podman, reference)
    podman.run("stop", "-t", "30", service.name)
    assert service.state()["ExitCode"] == 0, service.output()
    assert podman.in_volume() == []


@pytest.mark.usefixtures("pace")
def test_a_program_s_container_is_killed(podman: Podman) -> None:
    """Nobody says good-bye; another program begins on the same GPUs."""
    service = podman.start("proxyd", "jitc-service", *OPTIONS)
    serving(service)
    train = podman.start("train", "jitc-train", *TRAIN)
    has_steps(train, 2)
    assert len(workers(service)) == 2
    podman.run("kill", train.name)
    until(lambda: workers(service) == [], 30, "its sessions have ended")
    again = podman.start("again", "jitc-train", *TRAIN)
    has_steps(again, 2)


def test_a_pod(podman: Podman, pace: Pace, reference: Reference) -> None:
    """docker/pod.yaml, with a program that says what it has computed."""
    pod = yaml.safe_load(POD.read_text())
    (train_gpt,) = pod["spec"]["containers"]
    torchrun = train_gpt["command"]
    assert torchrun[0] == "torchrun" and torchrun[-1] == "examples/train_gpt.py"
    podman.play(pod, [*PACED_TORCHRUN, *torchrun[1:-1], *PROGRAM])
    service, train = Container(podman, "jitc-proxyd"), Container(podman, "jitc-train")
    serving(service)
    faults(service, train, pace)
    is_identical(service, train, podman, reference)
    podman.run("stop", "-t", "30", service.name)  # as Kubernetes does when only sidecars are left
    assert service.state()["ExitCode"] == 0, service.output()


def test_compose(podman: Podman, pace: Pace, reference: Reference) -> None:
    """docker/compose.yaml. This podman cannot wait for a service's health, so the test does."""
    compose = podman.compose({"proxyd": OPTIONS, "train": TRAIN})
    service = compose.up("proxyd")
    serving(service)
    train = compose.up("train")
    faults(service, train, pace)
    is_identical(service, train, podman, reference)
    compose.run("down", "-t", "30")
    assert podman.in_volume(f"{compose.NAME}_socket") == []


def processes(holder: Container, ranks: list[int]) -> list[int]:
    """The workers with these numbers in the container that holds the keeper, as this machine has them: a signal from
    here arrives at once, and a command in the container takes as long as a recovery."""
    inside: dict[int, int] = {}
    found = [holder.pid()]
    for one in found:
        with contextlib.suppress(FileNotFoundError):  # it has just ended
            found += children(one)
            (words,) = [line for line in Path(f"/proc/{one}/status").read_text().splitlines() if "NSpid:" in line]
            inside[int(words.split()[-1])] = one
    return [inside[one] for one in ranks]


def says(container: Container, text: str) -> Callable[[], bool]:
    return lambda: text in container.output() or container.has_ended()


class HandOver:
    """From one container to the next, with a worker that is lost at a moment of it. first: the one with the workers."""

    WHEN = ("never", "in a recovery", "before it asks", "meanwhile", "after")

    def __init__(self, first: Container, before: Container, chance: random.Random) -> None:
        ranks = until(lambda: all(found := workers(before)) and found, 60, "both ranks have workers")
        self._before, self._chance = before, chance
        self._silent, self._lost = processes(first, ranks)

    def hold_a_recovery(self) -> None:
        """One that cannot end before the next service serves: the other rank's worker does not answer until then."""
        os.kill(self._silent, signal.SIGSTOP)
        os.kill(self._lost, signal.SIGKILL)
        until(lambda: "lost" in states(self._before), 60, "the recovery has begun")

    def lose(self, when: str, service: Container) -> None:
        if when == "before it asks":
            threading.Event().wait(self._chance.uniform(0, 0.5))  # it asks after about as long
        elif when == "meanwhile":
            until(says(self._before, "another one takes over"), 120, "the hand-over begins")
        elif when == "after":
            until(says(service, READY), 120, "the next one serves")
        if when not in ("never", "in a recovery"):
            os.kill(self._lost, signal.SIGKILL)
        until(says(service, READY), 120, "the next one serves")
        os.kill(self._silent, signal.SIGCONT)


@pytest.mark.timeout(1800)
def test_services_of_other_containers_take_over(podman: Podman, pace: Pace, reference: Reference) -> None:
    """At random moments while the job runs or waits."""
    chance = random.Random(20)
    first = podman.start("proxyd0", "jitc-service", *OPTIONS)
    serving(first)
    train = podman.start("train", "jitc-train", *TRAIN)
    has_steps(train, 2)
    before = first
    moments = [*HandOver.WHEN] * (MOMENTS // len(HandOver.WHEN))
    chance.shuffle(moments)
    for number, when in enumerate(moments, 1):
        one = HandOver(first, before, chance)
        if when == "in a recovery":
            one.hold_a_recovery()
        service = podman.start(f"proxyd{number}", "jitc-service", *OPTIONS, "--replace")
        pace.grant(SHARE + number * EACH)
        one.lose(when, service)
        assert not service.has_ended() and not first.has_ended(), service.output()
        assert when != "in a recovery" or "of them to be recovered" in service.output(), service.output()
        if before is not first:
            until(before.has_ended, 60, "one that holds nothing goes")
            assert before.state()["ExitCode"] == 0, before.output()
            podman.run("rm", before.name)
        before = service
    assert lost_workers(before) > MOMENTS // 2, before.report()
    podman.run("kill", "-s", "TERM", first.name)
    until(says(first, "2 sessions are alive, which another service serves"), 30, "it says what it waits for")
    assert not first.has_ended()
    pace.grant(SHARES * SHARE)
    is_identical(before, train, podman, reference)
    until(first.has_ended, 60, "the first container has nothing to stay for")
    assert first.state()["ExitCode"] == 0, first.output()
    serving(before)  # with a keeper of its own
    podman.run("stop", "-t", "30", before.name)
    assert before.state()["ExitCode"] == 0, before.output()
    assert podman.in_volume() == []


def test_those_that_cannot_take_over(podman: Podman, pace: Pace, reference: Reference) -> None:
    """One that crashes at its start, one of another version, one of another user: as if nobody had asked."""
    first = podman.start("proxyd", "jitc-service", *OPTIONS)
    serving(first)
    train = podman.start("train", "jitc-train", *TRAIN)
    has_steps(train, 2)
    replaces = (*OPTIONS, "--replace")
    crash = podman.start("crash", "jitc-train", *WITHOUT_PRELOAD, "-c", CRASHES, *replaces)
    until(crash.has_ended, 120, "it crashes")
    assert crash.state()["ExitCode"] == 7, crash.output()
    until(says(first, "this one goes on"), 60, "the one before goes on")
    pace.grant(2 * SHARE)
    other = podman.start("other", "jitc-train", *WITHOUT_PRELOAD, "-c", OTHER_VERSION, *replaces)
    until(other.has_ended, 120, "it is refused")
    assert "another version of jitc serves" in other.output()
    foreign = podman.start("foreign", "jitc-service", *replaces, options=("--user", "1001"))
    until(foreign.has_ended, 120, "it is refused")
    assert "another user" in foreign.output() or "others can write" in foreign.output(), foreign.output()
    assert first.output().count("another one takes over") == 1, "only the first of them was let in"
    serving(first)
    kill_worker(first, 1)
    until(lambda: lost_workers(first) == 1, 60, "it recovers as before")
    pace.grant(SHARES * SHARE)
    is_identical(first, train, podman, reference)
