"""What the hang watch judges at a look, with ranks of which a test says what they are at."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from jitc.proxy.health.gaps import ENOUGH, LEAST_SECONDS
from jitc.proxy.health.hang_watch import HangWatch
from jitc.proxy.health.suspects import Standing, State
from jitc.proxy.health.verdict import Hang

MOST = 60.0


class Watched:
    """A job of two ranks; rank 1 computes, rank 2 waits for it."""

    def __init__(self) -> None:
        registry: Any = SimpleNamespace(changed=threading.Condition(), communicators=[SimpleNamespace(members={1, 2})])
        self.found: list[Hang] = []
        self.watch = HangWatch(registry, MOST, self.found.append)
        self.pulses: list[Any] = [self.pulse(1, State.COMPUTES), self.pulse(2, State.WAITS)]
        for boundary in range(1, ENOUGH + 1):  # what is usual is known
            self.look(0.0, boundary)

    def pulse(self, number: int, state: State) -> Any:
        session = SimpleNamespace(number=number, gpu=number, epoch=0, label=lambda: f"rank {number}", hang_seconds=0.0)
        return SimpleNamespace(
            session=session, standing=Standing(number, state, sequence=7), boundary=0, executed=6, judged=False,
            since=0.0,
        )  # fmt: skip

    def look(self, still: float, boundary: int = ENOUGH) -> None:
        for one in self.pulses:
            one.boundary = boundary
            one.standing = Standing(one.session.number, one.standing.state, still, one.standing.sequence)
        self.watch._judge(self.pulses)


def test_a_rank_that_stands_still_for_too_long() -> None:
    job = Watched()
    job.look(LEAST_SECONDS / 2)
    assert job.found == []
    job.look(LEAST_SECONDS + 1)
    [hang] = job.found
    assert (hang.session.number, hang.cause, hang.culprit) == (1, "hung-kernel", True)


def test_one_verdict_at_a_time() -> None:
    """Its recovery is on its way."""
    job = Watched()
    for _ in range(3):
        job.look(LEAST_SECONDS + 1)
    assert len(job.found) == 1
    job.pulses[0].standing = Standing(1, State.COMPUTES, sequence=8)  # another op
    job.look(LEAST_SECONDS + 1)
    assert len(job.found) == 1


def test_beyond_the_longest_time_devices_and_the_heartbeat_say_so() -> None:
    job = Watched()
    job.look(MOST)
    assert job.found == []


def test_time_in_which_the_service_stood_still_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was stopped, or had no processor: a look counts for two pauses at most, however long ago the one before is."""
    job = Watched()
    counted: list[float] = []
    monkeypatch.setattr(job.watch, "look", counted.append)
    job.watch._looked -= 10 * MOST
    job.watch._round()
    assert counted == [2 * job.watch._pause]
    assert job.watch._pause < LEAST_SECONDS
