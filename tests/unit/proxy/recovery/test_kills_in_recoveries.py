"""A second worker is killed at every part of a recovery: the next attempt begins at once, and nothing is lost.

Two ranks of a job on the real executor. The first fault is the loss of rank 1's worker. The second one comes so many
milliseconds after a phase has begun, and hits the worker that is being brought back, or the survivor's. Nothing here
may wait for a time-out: the limit of a test is far below the one for hangs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_client import check, inject, serving, together, train
from standin_client import wait_until
from toolkit.waiting import until

from jitc.proxy.node.workers.worker import Worker
from jitc.proxy.recovery.phases import PhaseEvent, Timeline
from jitc.proxy.service import Service

pytestmark = pytest.mark.timeout(100)
#: What begins a phase, and how long the phase takes about, in seconds.
PHASES = {
    "fence": (None, 0.004),
    "rebuild": (PhaseEvent.FENCE, 0.2),
    "decide": (PhaseEvent.REBUILD, 0.001),
    "restore": (PhaseEvent.DECIDE, 0.006),
    "resume": (PhaseEvent.RESTORE, 0.004),
    "replay": (PhaseEvent.RESUME, 0.04),
}
POINTS = 20
QUICK = (5,)
STEPS = 4
KILL_SECONDS = 30


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with serving(tmp_path, spares=2) as one:
        yield one


class Second:
    """Kills a worker once, some time after the phase has begun. Its thread ends with its `with`."""

    def __init__(self, service: Service, victim: int, begins: PhaseEvent | None, delay: float) -> None:
        self.service, self.victim, self.begins = service, victim, begins
        self.fired = threading.Event()
        self.killed = 0
        self.killer = threading.Timer(delay, self.kill)

    def __enter__(self) -> Second:
        return self

    def __exit__(self, *_: object) -> None:
        self.killer.cancel()  # where the test has failed before it was due
        if self.killer.ident is not None:  # it was started
            self.killer.join(KILL_SECONDS + 10)
            assert not self.killer.is_alive(), "the thread that kills the worker does not end"

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        fire, begin = Timeline.fire, Timeline.__init__

        def fired(timeline: Timeline, event: PhaseEvent) -> None:
            fire(timeline, event)
            if event is self.begins:
                self.arm()

        def begun(timeline: Timeline, detect_seconds: float) -> None:
            begin(timeline, detect_seconds)
            if self.begins is None:
                self.arm()

        monkeypatch.setattr(Timeline, "fire", fired)
        monkeypatch.setattr(Timeline, "__init__", begun)

    def arm(self) -> None:
        if not self.fired.is_set():
            self.fired.set()
            self.killer.start()

    def kill(self) -> None:
        """At once, or as soon as there is one again."""
        worker = until(self.living, KILL_SECONDS, f"rank {self.victim} has a worker")
        self.killed = worker.pid
        worker.kill()

    def living(self) -> Worker | None:
        sessions = [one for one in self.service.registry.sessions.values() if one.rank == self.victim]
        workers = [one.worker for one in sessions if one.worker is not None and one.worker.alive()]
        return workers[0] if workers else None


@pytest.mark.parametrize("victim", [0, 1], ids=["survivor", "rebuilt"])
@pytest.mark.parametrize(
    ("phase", "point"),
    [
        pytest.param(phase, point, marks=() if point in QUICK else pytest.mark.slow)
        for phase in PHASES
        for point in range(POINTS)
    ],
)
def test_kill_in_a_recovery(
    phase: str, point: int, victim: int, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranks = together(service)
    train(ranks, 2)
    begins, length = PHASES[phase]
    with Second(service, victim, begins, length * point / POINTS) as second:
        second.install(monkeypatch)
        inject(ranks[1], "kill-worker")
        train(ranks, STEPS - 2)
        check(ranks, STEPS)
        until(lambda: second.killed, KILL_SECONDS, "the second fault")
    check(ranks, STEPS)
    wait_until(service, lambda: not service._coordinator._jobs)
    assert all(one["outcome"] == "recovered" for one in service.recoveries()), service.recoveries()
    for client in ranks:
        client.close()


def test_a_fault_that_fires_in_a_recovery_begins_no_later_one(service: Service) -> None:
    """Else its time would be the begin of that one's detection."""
    ranks = together(service)
    train(ranks, 2)
    check(ranks, 2)  # nothing is under way, so the first fault waits for the replay
    inject(ranks[1], "kill-worker", operations=1)
    inject(ranks[1], "kill-worker")
    train(ranks, STEPS - 2)
    check(ranks, STEPS)
    wait_until(service, lambda: not service._coordinator._jobs)
    assert sum(one["attempts"] for one in service.recoveries()) == 2
    assert service._coordinator._faults.take_fired_at(service.registry.sessions.values()) is None
    for client in ranks:
        client.close()
