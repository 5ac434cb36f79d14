"""Clocks, and threads that take steps by them."""

from __future__ import annotations

import math
import threading

import pytest
from engine_rig import LIMIT, Seen, threads
from toolkit.clock import OwnedClock
from toolkit.waiting import patient, until

from jitc.proxy.cluster.store.clock import BootClock
from jitc.proxy.cluster.store.steps import RETRY_SECONDS, Steps

NAME = "the steps of a test"


def test_the_machine_s_clock_goes_on_and_can_be_waited_for() -> None:
    clock, condition = BootClock(), threading.Condition()
    before = clock.now()
    with condition:
        while clock.now() < before + 0.01:
            clock.wait(condition, before + 0.01)
        clock.wait(condition, before)  # a time that is over
    assert clock.now() >= before + 0.01


def test_a_wait_without_a_limit_ends_when_it_is_notified() -> None:
    clock, condition, done = BootClock(), threading.Condition(), threading.Event()

    def wait() -> None:
        with condition:
            clock.wait(condition, math.inf)
        done.set()

    thread = threading.Thread(target=wait)
    thread.start()

    def notified() -> bool:
        with condition:
            condition.notify_all()
        return done.is_set()

    until(notified, LIMIT, "it has ended")
    thread.join()


def test_steps_come_when_they_are_due_or_woken_and_not_before() -> None:
    clock, taken = OwnedClock(), Seen[float]()

    def step() -> float:
        taken(clock.now())
        return clock.now() + 10

    steps = Steps(NAME, clock, step)
    steps.start()
    for number in range(1, 4):
        until(lambda number=number: len(taken.all) == number or None, LIMIT, "a step")  # type: ignore[misc]
        until(lambda: clock.is_waited_for(10) or None, LIMIT, "it waits")
        clock.advance(9.5)
        assert len(taken.all) == number
        clock.advance(0.5)
    until(lambda: len(taken.all) == 4 or None, LIMIT, "a step")
    steps.wake()
    until(lambda: len(taken.all) == 5 or None, LIMIT, "a step that was woken")
    steps.stop()
    steps.wake()
    assert taken.all == [1000.0, 1010.0, 1020.0, 1030.0, 1030.0]


def test_a_wake_in_a_step_is_not_lost() -> None:
    taken, begun, go_on = Seen[int](), threading.Event(), threading.Event()

    def step() -> float:
        taken(1)
        begun.set()
        assert go_on.wait(patient(LIMIT))
        return math.inf

    steps = Steps(NAME, OwnedClock(), step)
    steps.start()
    assert begun.wait(patient(LIMIT))
    steps.wake()
    go_on.set()
    until(lambda: len(taken.all) == 2 or None, LIMIT, "another step")
    steps.stop()


def test_an_error_ends_a_step_and_not_the_steps(capfd: pytest.CaptureFixture[str]) -> None:
    clock, taken = OwnedClock(), Seen[int]()

    def step() -> float:
        taken(1)
        if len(taken.all) < 3:
            raise RuntimeError("made by the test")
        return math.inf

    steps = Steps(NAME, clock, step)
    steps.start()
    for _ in range(2):
        until(lambda: clock.is_waited_for(RETRY_SECONDS) or None, LIMIT, "it pauses")
        clock.advance(RETRY_SECONDS)
    until(lambda: len(taken.all) == 3 or None, LIMIT, "a third step")
    steps.stop()
    assert capfd.readouterr().err.count("made by the test") == 1


def test_steps_may_be_stopped_from_one_and_before_they_begin() -> None:
    made: list[Steps] = []
    taken = Seen[int]()

    def step() -> float:
        taken(1)
        made[0].stop()
        return 0.0

    made.append(Steps(NAME, OwnedClock(), step))
    made[0].start()
    until(lambda: not threads() or None, LIMIT, "they have ended")
    assert taken.all == [1] and made[0].stopped
    never = Steps(NAME, OwnedClock(), step)
    never.stop()
    never.start()
    until(lambda: not threads() or None, LIMIT, "they have ended")
    assert taken.all == [1]
