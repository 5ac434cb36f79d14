"""A second worker is killed at every part of a recovery: the next attempt begins at once, and nothing is lost.

Two ranks of a job on the real executor. The first fault is the loss of rank 1's worker. The second one comes from
within the recovery, right before or after what a phase does, and hits the worker that is being brought back, or the
survivor's. The recovery goes on when that worker has ended and its end is told; so each case is where it says. Nothing
here may wait for a time-out: the limit of a test is far below the one for hangs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from client_rig import check, inject, serving, together, train
from standin_client import wait_until
from toolkit.waiting import until

from jitc.proxy.node.session import Session
from jitc.proxy.node.workers.worker import Worker
from jitc.proxy.ranks.events import Event, WorkerDied
from jitc.proxy.recovery import phases
from jitc.proxy.recovery import recovery as recovery_module
from jitc.proxy.recovery.recovery import Recovery
from jitc.proxy.recovery.replay import Replay
from jitc.proxy.recovery.worker_calls import WorkerCalls
from jitc.proxy.service import Service

pytestmark = pytest.mark.timeout(100)
SURVIVOR, REBUILT = 0, 1
#: Of each phase what it does, by the name of the call to workers or of our function, and who has a worker then.
PLACES = {
    "fence": [("Fence", "before", (SURVIVOR,)), ("Fence", "after", (SURVIVOR,))],
    "rebuild": [
        ("OpenSession", "before", (SURVIVOR, REBUILT)), ("OpenSession", "after", (SURVIVOR, REBUILT)),
        ("Fence", "before", (SURVIVOR, REBUILT)), ("Fence", "after", (SURVIVOR, REBUILT)),
    ],
    "decide": [("decide", "before", (SURVIVOR, REBUILT)), ("decide", "after", (SURVIVOR, REBUILT))],
    "restore": [("Rollback", "before", (SURVIVOR, REBUILT)), ("Rollback", "after", (SURVIVOR, REBUILT))],
    "resume": [("Resume", "before", (SURVIVOR, REBUILT)), ("Resume", "after", (SURVIVOR, REBUILT))],
    "replay": [
        ("replay", "before", (SURVIVOR, REBUILT)), ("replay", "after", (SURVIVOR, REBUILT)),
        ("replay", "end", (SURVIVOR, REBUILT)),
    ],
}  # fmt: skip
STEPS = 4
KILL_SECONDS = 30


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with serving(tmp_path, spares=2) as one:
        yield one


class Second:
    """Kills a rank's worker, the first time that a recovery comes to this place in this phase."""

    def __init__(self, service: Service, victim: int, phase: str, place: tuple[str, str]) -> None:
        self.service, self.victim, self.phase, self.place = service, victim, phase, place
        self.killed: Worker | None = None
        self._caught_up: set[int] = set()

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        begin, answers, look, decide = WorkerCalls.begin, WorkerCalls.answers, Replay.__init__, recovery_module.decide

        def begun(calls: WorkerCalls, requests: Any, seconds: float) -> Any:
            self.at("before", *requests)
            return begin(calls, requests, seconds)

        def answered(calls: WorkerCalls, asked: Any) -> Any:
            replies = answers(calls, asked)
            self.at("after", *(method for _, method in asked.sessions.values()))
            return replies

        def replaying(replay: Replay, calls: WorkerCalls, progress: Any, times: Any) -> None:
            look(replay, calls, self.around("replay", lambda session: self.looked(session, progress(session))), times)

        monkeypatch.setattr(WorkerCalls, "begin", begun)
        monkeypatch.setattr(WorkerCalls, "answers", answered)
        monkeypatch.setattr(Replay, "__init__", replaying)
        monkeypatch.setattr(recovery_module, "decide", self.around("decide", decide))

    def around(self, name: str, act: Callable[..., Any]) -> Callable[..., Any]:
        def acted(*arguments: Any, **keywords: Any) -> Any:
            self.at("before", name)
            found = act(*arguments, **keywords)
            self.at("after", name)
            return found

        return acted

    def looked(self, session: Session, found: tuple[int, bool]) -> tuple[int, bool]:
        """At how far its replay is. When all ranks are where they were, nothing is left but to say so."""
        [job] = self.service.own.coordinator._jobs
        if found[0] >= job.recovery._replay_end(session):
            self._caught_up.add(session.number)
        if self._caught_up >= {one.number for one in job.recovery.group}:
            self.at("end", "replay")
        return found

    def at(self, when: str, *names: str) -> None:
        """In the recovery's own thread."""
        [job] = self.service.own.coordinator._jobs
        phase = phases.NAMES[job.recovery.timeline.machine.state]
        if self.killed is None and phase == self.phase and self.place in [(name, when) for name in names]:
            self.killed = self.kill(job.recovery)

    def kill(self, recovery: Recovery) -> Worker:
        [session] = [one for one in recovery.group if one.rank == self.victim]
        worker = session.worker
        assert worker is not None and worker.alive(), "it has no worker here"

        def told(event: Event) -> bool:
            return isinstance(event, WorkerDied) and event.worker is worker

        worker.kill()
        worker.wait()
        until(lambda: recovery._events.any(told), KILL_SECONDS, "the recovery is told that the worker has ended")
        return worker


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("phase", "place", "victim"),
    [
        pytest.param(phase, (name, when), victim, id=f"{phase}-{when}-{name}-{('survivor', 'rebuilt')[victim]}")
        for phase, places in PLACES.items()
        for name, when, victims in places
        for victim in victims
    ],
)
def test_kill_in_a_recovery(
    phase: str, place: tuple[str, str], victim: int, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranks = together(service)
    train(ranks, 2)
    second = Second(service, victim, phase, place)
    second.install(monkeypatch)
    inject(ranks[1], "kill-worker")
    train(ranks, STEPS - 2)
    check(ranks, STEPS)
    wait_until(service, lambda: bool(service.own.recoveries()) and not service.own.coordinator._jobs)
    assert second.killed is not None, "no recovery came to this place"
    [found] = service.own.recoveries()
    assert (found["outcome"], found["cause"], found["attempts"]) == ("recovered", "worker-death", 2), found
    assert found["gpus"] == [1, *{victim} - {1}], found
    # A worker with all of its state is used again, one that may have a part of it is made anew. That a worker has
    # ended is found by the next call to workers, which after the restore is the resume's.
    whole = phase in ("resume", "replay") or place == ("Rollback", "after")
    lost = [victim == SURVIVOR, victim == REBUILT or not whole]
    assert [one["lost"] for one in found["standings"]] == lost, found
    begun = [one["phase"] for one in found["timeline"] if one["attempt"] == 1]
    assert phase in begun, f"the first attempt ended in {begun[-1]}"
    check(ranks, STEPS)
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
    wait_until(service, lambda: bool(service.own.recoveries()) and not service.own.coordinator._jobs)
    assert sum(one["attempts"] for one in service.own.recoveries()) == 2
    assert service.own.coordinator._faults.take_fired_at(service.registry.sessions.values()) is None
    for client in ranks:
        client.close()
