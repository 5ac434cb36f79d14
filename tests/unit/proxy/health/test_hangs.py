"""A rank that hangs is found by its peers, which wait for it; one that is only slow is left alone.

Two ranks of a job on the real executor. The looks of the service's watch are made by hand, each of which counts as a
second; so nothing here depends on how fast anything is.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from client_rig import RealClient, check, inject, reduce, serving, together, train
from standin_client import wait_until, worker_of
from toolkit.waiting import patient, stop_process, until

from jitc.ops.options.table import HANG_SECONDS
from jitc.proxy.health.gaps import LEAST_SECONDS, OP, TIMES
from jitc.proxy.ranks.states import SessionState
from jitc.proxy.ranks.stats import session_stats
from jitc.proxy.service import Service

STEPS = 4
SOON = LEAST_SECONDS + 10
LONG = 20 * LEAST_SECONDS


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with serving(tmp_path) as one:
        yield one


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[Service]:
    with serving(tmp_path, hang_seconds=patient(3)) as one:
        yield one


class Looks:
    """Those of the watch, whose own thread has ended."""

    def __init__(self, service: Service) -> None:
        self.service, self.watch = service, service.own.hangs
        self.watch.stop()
        self.stopped: set[int] = set()  # GPUs whose worker does not answer

    def look(self) -> None:
        self.watch.look(1.0)
        until(self._answered, 30, "the workers have answered")

    def _answered(self) -> bool:
        pulses = list(self.watch._pulses.values())
        return all(one._stats is None or one._stats.done() or one.session.gpu in self.stopped for one in pulses)

    def _held_up(self) -> bool:
        """Each worker that answers is at an op, and one of them waits in a collective."""
        sessions = [one for one in self.service.registry.sessions.values() if one.gpu not in self.stopped]
        work = [session_stats(one).get("under_way") or {} for one in sessions]
        return all(one.get("sequence") for one in work) and any(one["entered"] for one in work)

    def until_judged(self) -> int:
        """Looks until there is a verdict; time begins when the ranks have come as far as they can."""
        until(self._held_up, 30, "a rank waits for another one")
        for count in range(1, int(SOON) + 1):
            self.look()
            if any(one.judged for one in self.watch._pulses.values()):
                return count
        raise AssertionError(f"no verdict in {SOON:g} looks")

    def limit(self) -> float:
        [history] = self.watch._histories.values()
        return history.limit(OP)


@pytest.fixture
def ranks(service: Service) -> Iterator[list[RealClient]]:
    found = together(service)
    yield found
    for one in found:
        one.close()


@pytest.fixture
def looks(service: Service, ranks: list[RealClient]) -> Looks:
    """Of a job that is known by now."""
    one = Looks(service)
    one.look()
    assert one.limit() == HANG_SECONDS, "nothing is known of it yet"
    train(ranks, STEPS)
    check(ranks, STEPS)
    until(lambda: one.look() or one.limit() == LEAST_SECONDS, 30, "the steps are seen")
    return one


def recovered(service: Service, ranks: list[RealClient], steps: int) -> dict[str, Any]:
    check(ranks, steps)
    wait_until(service, lambda: bool(service.own.recoveries()))
    [found] = service.own.recoveries()
    assert found["outcome"] == "recovered", found
    return found


def pids(service: Service) -> list[int]:
    return [worker_of(service, gpu).pid for gpu in (0, 1)]


def test_stopped_worker(service: Service, ranks: list[RealClient], looks: Looks) -> None:
    before = pids(service)
    stop_process(before[1])
    looks.stopped.add(1)
    train(ranks)
    assert looks.until_judged() >= LEAST_SECONDS
    found = recovered(service, ranks, STEPS + 1)
    assert (found["cause"], found["gpus"], found["culprits"]) == ("hung-worker", [1], [f"rank 1 (pid {os.getpid()})"])
    assert "rank 0" in found["message"], found
    assert [old == new for old, new in zip(before, pids(service), strict=True)] == [True, False]


def test_kernel_that_never_ends(service: Service, ranks: list[RealClient], looks: Looks) -> None:
    before = pids(service)
    at = ranks[1].sequence + 2  # after its part of the all-reduce: the other rank waits in the next one
    inject(ranks[1], "endless-kernel", sequence=at)
    train(ranks, 2)
    assert looks.until_judged() >= LEAST_SECONDS
    found = recovered(service, ranks, STEPS + 2)
    assert (found["cause"], found["culprits"]) == ("hung-kernel", [f"rank 1 (pid {os.getpid()})"])
    assert f"op {at} " in found["message"], found
    assert [old == new for old, new in zip(before, pids(service), strict=True)] == [True, False]


def test_rank_that_does_not_come_to_a_collective(service: Service, ranks: list[RealClient], looks: Looks) -> None:
    before = pids(service)
    inject(ranks[1], "hung-collective")
    train(ranks)
    assert looks.until_judged() >= LEAST_SECONDS
    found = recovered(service, ranks, STEPS + 1)
    assert (found["cause"], found["culprits"]) == ("hung-collective", [f"rank 1 (pid {os.getpid()})"])
    assert pids(service) == before, "no worker is to blame"


def test_program_that_takes_its_time(service: Service, ranks: list[RealClient], looks: Looks) -> None:
    """However long: its worker has nothing to do."""
    reduce(ranks[0])
    ranks[0].step()
    for _ in range(int(LONG)):
        looks.look()
    assert looks.watch.late(next(iter(service.registry.sessions.values()))) == [
        f"rank 1 (pid {os.getpid()}): its program gives it nothing to do"
    ]
    reduce(ranks[1])
    ranks[1].step()
    check(ranks, STEPS + 1)
    assert service.own.recoveries() == []


def epochs(service: Service) -> set[int]:
    return {one.epoch for one in service.registry.sessions.values()}


def test_wrong_verdict_costs_one_recovery_and_is_learned(
    service: Service, ranks: list[RealClient], looks: Looks
) -> None:
    """The op takes as long in the replay: it is only slow."""
    at = ranks[1].sequence + 2
    for _ in range(2):
        inject(ranks[1], "endless-kernel", sequence=at)
    train(ranks, 2)
    looks.until_judged()
    wait_until(service, lambda: worker_of(service, 1) is not None and epochs(service) == {1})
    until(lambda: looks.look() or at in [one.standing.sequence for one in looks.watch._pulses.values()], 60, "again")
    for _ in range(int(LONG)):
        looks.look()
    assert epochs(service) == {1}, "the same op is judged early once"
    os.kill(pids(service)[1], signal.SIGKILL)  # what ends it, here
    check(ranks, STEPS + 2)
    until(lambda: looks.look() or looks.limit() > LEAST_SECONDS, 60, "the op has ended")
    assert looks.limit() >= min(HANG_SECONDS, TIMES * LONG)


def test_what_a_device_reports_names_the_rank_that_it_waited_for(impatient: Service) -> None:
    """Longer than --hang-seconds is a hang whatever is usual; it counts from when progress ended."""
    ranks = together(impatient)
    train(ranks)
    check(ranks, 1)
    [first, _] = impatient.registry.sessions.values()
    epoch = first.epoch
    reduce(ranks[0])
    ranks[0].step()
    # The replay comes to the same collective, and waits there as well.
    wait_until(impatient, lambda: first.epoch > epoch and first.state is SessionState.SERVING)
    reduce(ranks[1])
    ranks[1].step()
    check(ranks, 2)
    until(lambda: impatient.own.recoveries() or None, 20, "the recovery is over")
    found = impatient.own.recoveries()[0]
    assert (found["cause"], found["culprits"]) == ("hung-collective", [f"rank 1 (pid {os.getpid()})"])
    assert "its program gives it nothing to do" in found["message"], found
    assert found["phases"]["detect"] >= impatient.config.hang_seconds
    for one in ranks:
        one.close()


def test_the_watch_ends_with_the_service(service: Service) -> None:
    assert any(one.name == "jitc-hangs" for one in threading.enumerate())
    service.own.hangs.stop()
    assert not any(one.name == "jitc-hangs" for one in threading.enumerate())
