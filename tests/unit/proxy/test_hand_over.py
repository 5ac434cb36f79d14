"""A service takes over from one in another container: they share the socket's folder, and see no process of the other.

Real services, each the first process of a namespace of its own, as containers have them; two ranks in this process.
Whatever becomes of the next service, the job is as it should be, and the one before goes only when the next one serves.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest
from client_rig import RealClient, check, train
from proxyd_rig import DYING, PLAIN, Proxyd, close, inner, worker_of
from toolkit.sandbox import pid_namespace
from toolkit.service import OTHER_VERSION
from toolkit.waiting import until

pytestmark = pytest.mark.timeout(240)
RESPAWN = "--respawn"
#: Records that a service writes to its log while it takes over from another one.
RECORDS = range(1, 7)


@pytest.fixture
def apart() -> list[str]:
    words = pid_namespace()
    if not words:
        pytest.skip("no namespace of processes can be made here")
    return list(words)


def gone(process: subprocess.Popen[str]) -> Callable[[], bool]:
    return lambda: process.poll() is not None


def says(proxyd: Proxyd, text: str, times: int = 1) -> Callable[[], bool]:
    return lambda: proxyd.log.read_text().count(text) >= times


def lose_one(ranks: list[RealClient], chance: random.Random) -> None:
    """A worker of one of them, unless that is lost already."""
    with contextlib.suppress(FileNotFoundError, ConnectionRefusedError, ProcessLookupError):
        os.kill(worker_of(chance.choice(ranks)), signal.SIGKILL)


@pytest.mark.sampled
@pytest.mark.parametrize("options", [(), (RESPAWN,)], ids=["alone", "respawn"])
def test_from_one_container_to_the_next(options: tuple[str, ...], apart: list[str], proxyd: Proxyd) -> None:
    """The one before stays for its memory and its workers, and goes with the last program."""
    first = proxyd.start([*apart, *PLAIN], *options)
    proxyd.ready(first)
    ranks = proxyd.begun()
    train(ranks, 2)
    second = proxyd.start([*apart, *PLAIN], "--replace", *options)
    proxyd.ready(second)
    train(ranks, 1)
    check(ranks, 3)
    os.kill(worker_of(ranks[1]), signal.SIGKILL)
    train(ranks, 1)
    check(ranks, 4)
    until(lambda: [one["outcome"] for one in proxyd.recoveries()] == ["recovered"], 30, "it is reported")
    third = proxyd.start([*apart, *PLAIN], "--replace", *options)
    proxyd.ready(third)
    until(gone(second), 30, "one that holds nothing goes at once")
    assert second.wait() == 0 and first.poll() is None
    train(ranks, 1)
    check(ranks, 5)
    if options:
        os.kill(inner(first), signal.SIGTERM)
        until(says(proxyd, "2 sessions are alive, which another service serves"), 20, "it says what it waits for")
    train(ranks, 1)
    check(ranks, 6)
    close(ranks)
    until(gone(first), 60, "the container that nothing needs has ended")
    assert first.wait() == 0
    proxyd.ready(third)  # anew, in its own
    assert [one["outcome"] for one in proxyd.recoveries()] == ["recovered"], "its reports are still there"
    ranks = proxyd.begun()
    train(ranks, 1)
    check(ranks, 1)
    close(ranks)


def test_the_container_before_is_killed(apart: list[str], proxyd: Proxyd) -> None:
    """Keeper and workers end with it: the service begins anew in its own container, with the memory that they had."""
    first = proxyd.start([*apart, *PLAIN])
    proxyd.ready(first)
    ranks = proxyd.begun()
    train(ranks, 1)
    second = proxyd.start([*apart, *PLAIN], "--replace")
    proxyd.ready(second)
    train(ranks, 1)
    os.kill(inner(first), signal.SIGKILL)
    until(gone(first), 30, "the container has ended")
    proxyd.ready(second)
    train(ranks, 1)
    check(ranks, 3)
    os.kill(worker_of(ranks[1]), signal.SIGKILL)
    train(ranks, 1)
    check(ranks, 4)
    assert second.poll() is None
    close(ranks)


@pytest.mark.parametrize("released", ["while it begins", "when it serves"])
def test_in_a_recovery(released: str, apart: list[str], proxyd: Proxyd) -> None:
    """Which cannot end before: the other rank's worker does not answer. The next service begins it anew."""
    first, ranks = proxyd.begin(*apart)
    train(ranks, 1)
    silent = worker_of(ranks[0])
    os.kill(silent, signal.SIGSTOP)
    os.kill(worker_of(ranks[1]), signal.SIGKILL)
    until(lambda: "lost" in proxyd.states(), 60, "a recovery has begun")
    second = proxyd.start([*apart, *PLAIN], "--replace")
    until(says(proxyd, "another one takes over"), 60, "the hand-over begins")
    if released == "while it begins":
        os.kill(silent, signal.SIGCONT)
    proxyd.ready(second)
    assert "of them to be recovered" in proxyd.log.read_text()
    os.kill(silent, signal.SIGCONT)
    train(ranks, 2)
    check(ranks, 3)
    until(lambda: [one["outcome"] for one in proxyd.recoveries()] == ["recovered"], 30, "it is reported")
    close(ranks)
    until(gone(first), 60, "the first container has ended")


@pytest.mark.parametrize("seed", [0, *(pytest.param(one, marks=pytest.mark.slow) for one in range(1, 12))])
def test_at_any_moment(seed: int, apart: list[str], proxyd: Proxyd) -> None:
    """Again and again, also while ranks are recovered, and with a worker killed right after."""
    chance = random.Random(seed)
    first, ranks = proxyd.begin(*apart)
    for steps in range(1, 5):
        train(ranks, 1)
        if chance.random() < 0.5:
            lose_one(ranks, chance)
        threading.Event().wait(chance.uniform(0, 0.3))  # a moment of the recovery, or none
        proxyd.ready(proxyd.start([*apart, *PLAIN], "--replace"))
        if chance.random() < 0.5:
            lose_one(ranks, chance)
        check(ranks, steps)
    assert first.poll() is None
    assert {one["outcome"] for one in proxyd.recoveries()} <= {"recovered"}
    close(ranks)
    until(gone(first), 60, "the first container has ended")


@pytest.mark.sampled
@pytest.mark.parametrize("apart_or_not", ["apart", "beside"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("count", [1, *(pytest.param(one, marks=pytest.mark.slow) for one in RECORDS[1:])])
def test_the_next_one_dies(count: int, when: str, apart_or_not: str, apart: list[str], proxyd: Proxyd) -> None:
    """At a record of its log: the one before goes on, or the next one has taken over by then and another one may."""
    words = apart if apart_or_not == "apart" else []
    first, ranks = proxyd.begin(*words)
    proxyd.serving = first
    train(ranks, 1)
    second = proxyd.start([*words, *DYING, str(count), when], "--replace")
    assert second.stdout is not None
    if second.stdout.readline():  # it serves: so many records are not written without a fault
        second.kill()
        second.wait()
        if not words:
            until(gone(first), 30, "it was let go")
        proxyd.serving = proxyd.start([*words, *PLAIN])
        proxyd.ready(proxyd.serving)
    else:
        until(says(proxyd, "this one goes on"), 30, "the one before goes on")
        proxyd.ready(first)
    train(ranks, 1)
    check(ranks, 2)
    os.kill(worker_of(ranks[0]), signal.SIGKILL)
    train(ranks, 1)
    check(ranks, 3)
    close(ranks)


def test_one_that_may_not_take_over_changes_nothing(apart: list[str], proxyd: Proxyd) -> None:
    """Of another version, or with other options."""
    first, ranks = proxyd.begin(*apart)
    proxyd.serving = first
    train(ranks, 1)
    assert proxyd.start([*apart, sys.executable, "-c", OTHER_VERSION], "--replace").wait(60) == 1
    assert "another version of jitc serves" in proxyd.log.read_text()
    assert "another one takes over" not in proxyd.log.read_text(), "it was not even asked"
    refused = proxyd.start([*apart, *PLAIN], "--replace", "--shuffle", "3")
    assert refused.wait(60) == 1
    assert "--shuffle 0, not 3" in proxyd.log.read_text()
    until(says(proxyd, "this one goes on"), 30, "the one before goes on")
    proxyd.ready(first)
    train(ranks, 1)
    os.kill(worker_of(ranks[0]), signal.SIGKILL)
    train(ranks, 1)
    check(ranks, 3)
    close(ranks)


@pytest.mark.slow
def test_one_that_stops_before_it_serves_is_given_up(proxyd: Proxyd, apart: list[str]) -> None:
    """It cannot be killed from where the keeper is. When it goes on, much later, it disturbs nobody."""
    first, ranks = proxyd.begin(*apart)
    proxyd.serving = first
    train(ranks, 1)
    second = proxyd.start([*apart, *PLAIN], "--replace")
    until(says(proxyd, "another one takes over"), 60, "the hand-over begins")
    stopped = inner(second)
    os.kill(stopped, signal.SIGSTOP)
    if says(proxyd, "takes over 2 sessions")():
        pytest.skip("it serves already")
    until(says(proxyd, "this one goes on"), 120, "the one before goes on")
    proxyd.ready(first)
    train(ranks, 1)
    os.kill(stopped, signal.SIGCONT)
    assert second.wait(60) == 1
    train(ranks, 1)
    os.kill(worker_of(ranks[1]), signal.SIGKILL)
    train(ranks, 1)
    check(ranks, 4)
    close(ranks)


@pytest.mark.slow
def test_one_that_does_not_make_room_is_left_behind(proxyd: Proxyd, apart: list[str]) -> None:
    """A service that is stopped, in another container. When it goes on it finds that it has been replaced."""
    first, ranks = proxyd.begin(*apart)
    train(ranks, 1)
    stopped = inner(first)
    os.kill(stopped, signal.SIGSTOP)
    # Its namespace holds the keeper: it is not the first process that has to stay, but the keeper's children.
    second = proxyd.start([*apart, *PLAIN], "--replace")
    proxyd.ready(second)
    train(ranks, 1)
    check(ranks, 2)
    os.kill(stopped, signal.SIGCONT)
    until(says(proxyd, "another one takes over"), 30, "it sees what it was asked for")
    train(ranks, 1)
    check(ranks, 3)
    assert first.poll() is None, "its workers serve on"
    close(ranks)
    until(gone(first), 60, "the container that nothing needs has ended")


def test_without_programs_the_next_one_begins_with_its_own(apart: list[str], proxyd: Proxyd) -> None:
    """And options of its own; the one before has nothing to stay for."""
    first = proxyd.start([*apart, *PLAIN])
    proxyd.ready(first)
    second = proxyd.start([*apart, *PLAIN], "--replace", "--gpus", "1")
    proxyd.ready(second)
    assert first.wait(60) == 0
    assert "goes on" not in proxyd.log.read_text()


def test_without_programs_the_next_one_dies(apart: list[str], proxyd: Proxyd) -> None:
    """It has ended the keeper already: the one before begins anew."""
    first = proxyd.start([*apart, *PLAIN])
    proxyd.ready(first)
    proxyd.serving = first
    second = proxyd.start([*apart, *DYING, "1", "after"], "--replace")
    second.wait(60)
    proxyd.ready(first)
    ranks = proxyd.begun()
    train(ranks, 1)
    check(ranks, 1)
    close(ranks)


def test_a_program_that_begins_meanwhile_waits(apart: list[str], proxyd: Proxyd) -> None:
    """In all of a hand-over: a program is served, by one or the other."""
    first, ranks = proxyd.begin(*apart)
    train(ranks, 1)
    second = proxyd.start([*apart, *PLAIN], "--replace")
    until(says(proxyd, "another one takes over"), 60, "the hand-over begins")
    one = RealClient(proxyd, 0)  # type: ignore[arg-type]
    one.start()
    proxyd.ready(second)
    one.step()
    one.close()
    train(ranks, 1)
    check(ranks, 2)
    close(ranks)
    until(gone(first), 60, "the first container has ended")
