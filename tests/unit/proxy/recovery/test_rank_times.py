"""What a report says of each rank's time: spans, waiting, attempts; a clock of the test's own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from jitc.proxy.recovery import phases, rank_times, report
from jitc.proxy.recovery.phases import PhaseEvent, Timeline
from jitc.proxy.recovery.rank_times import RankTimes
from jitc.proxy.status import documents


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now + 1_790_000_000

    def passes(self, seconds: float) -> float:
        self.now += seconds
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    one = Clock()
    monkeypatch.setattr(rank_times, "time", one)
    monkeypatch.setattr(phases, "time", one)
    return one


def rank(number: int) -> Any:
    return SimpleNamespace(
        number=number, rank=number, node="", gpu=number, computes_since=40.0, label=lambda: f"rank {number}"
    )


def described(times: RankTimes, timeline: Timeline, group: list[Any]) -> dict[str, Any]:
    """As the report has it."""
    found = times.described(timeline, group)
    return found | {name: [documents.document(one) for one in found[name]] for name in ("timeline", "ranks")}


def spans(document: dict[str, Any]) -> list[tuple[str, float, float]]:
    return [(one["phase"], one["at"], one["seconds"]) for one in document["spans"]]


def recovered(clock: Clock) -> dict[str, Any]:
    """Rank 1 is lost; noticed after half a second. Each step takes a second, and rank 0's part is half of it."""
    timeline, times, group = Timeline(0.5), RankTimes(), [rank(0), rank(1)]
    times.fenced(group, {1})
    begun = clock.now
    clock.passes(0.5)
    times.called(0, "Fence", begun)
    clock.passes(0.5)
    timeline.fire(PhaseEvent.FENCE)
    with times.rebuilds(1):
        clock.passes(1)
    timeline.fire(PhaseEvent.REBUILD)
    timeline.fire(PhaseEvent.DECIDE)
    begun = clock.now
    clock.passes(0.5)
    times.called(0, "Rollback", begun)
    times.called(0, "BoundaryTable", begun)  # only asks
    clock.passes(0.5)
    times.called(1, "Rollback", begun)
    timeline.fire(PhaseEvent.RESTORE)
    timeline.fire(PhaseEvent.RESUME)
    times.replays([0, 1])
    clock.passes(0.5)
    times.replayed([0])
    clock.passes(0.5)
    times.replayed([1])
    timeline.fire(PhaseEvent.REPLAY)
    clock.passes(3)  # until somebody has the report made
    return described(times, timeline, group)


def test_each_rank_has_its_spans_and_waits_in_between(clock: Clock) -> None:
    document = recovered(clock)
    assert document["began"] == pytest.approx(1_790_000_000 + 99.5)
    healthy, lost = document["ranks"]
    assert spans(healthy) == [("fence", 0.5, 0.5), ("restore", 2.5, 0.5), ("replay", 3.5, 0.5)]
    assert spans(lost) == [("rebuild", 1.5, 1.0), ("restore", 2.5, 1.0), ("replay", 3.5, 1.0)]
    assert (healthy["stopped"], healthy["waited"], healthy["computed"], healthy["lost"]) == (0.5, 2.0, 60.0, False)
    assert (lost["stopped"], lost["waited"], lost["computed"], lost["lost"]) == (0.0, 1.5, 59.5, True)


def test_time_in_which_a_rank_does_two_things_counts_once(clock: Clock) -> None:
    """It copies what only it holds while it gives blocks to another one."""
    timeline, times, group = Timeline(0.0), RankTimes(), [rank(0)]
    times.fenced(group, set())
    begun = clock.now
    clock.passes(1)
    times.called(0, "Export", begun)
    second = clock.now - 0.5
    clock.passes(1)
    times.called(0, "Keep", second)
    clock.passes(2)
    timeline.fire(PhaseEvent.FENCE)
    [one] = described(times, timeline, group)["ranks"]
    assert [(at, seconds) for _, at, seconds in spans(one)] == [(0.0, 1.0), (0.5, 1.5)]
    assert one["waited"] == 2.0


def test_the_phases_follow_each_other(clock: Clock) -> None:
    parts = recovered(clock)["timeline"]
    assert [(one["phase"], one["at"]) for one in parts] == [
        ("detect", 0.0), ("fence", 0.5), ("rebuild", 1.5), ("decide", 2.5), ("restore", 2.5), ("resume", 3.5),
        ("replay", 3.5),
    ]  # fmt: skip
    ends = [one["at"] + one["seconds"] for one in parts]
    assert ends[:-1] == [one["at"] for one in parts[1:]]


def test_a_second_fault_begins_another_attempt(clock: Clock) -> None:
    timeline, times, group = Timeline(0.0), RankTimes(), [rank(0), rank(1)]
    times.fenced(group, {1})
    for event in (PhaseEvent.FENCE, PhaseEvent.REBUILD, PhaseEvent.DECIDE, PhaseEvent.RESTORE, PhaseEvent.RESUME):
        clock.passes(1)
        timeline.fire(event)
    times.replays([0, 1])
    clock.passes(1)
    timeline.fire(PhaseEvent.FAULT)
    times.fenced(group, {0})
    clock.passes(1)
    timeline.fire(PhaseEvent.FENCE)
    document = described(times, timeline, group)
    assert [one["attempt"] for one in document["timeline"]] == [1, 1, 1, 1, 1, 1, 1, 2]
    assert [(one["phase"], one["seconds"]) for one in document["timeline"]][-2:] == [("replay", 1), ("fence", 1)]
    assert [spans(one) for one in document["ranks"]] == [[("replay", 5.0, 1.0)]] * 2
    assert [one["lost"] for one in document["ranks"]] == [True, True]
    assert sum(one["seconds"] for one in document["timeline"]) == pytest.approx(timeline.total())


def test_a_recovery_that_is_given_up_ends_with_it(clock: Clock) -> None:
    timeline, times = Timeline(0.0), RankTimes()
    times.fenced([rank(0)], {0})
    clock.passes(1)
    timeline.fire(PhaseEvent.FENCE)
    with times.rebuilds(0):
        clock.passes(5)
    timeline.fire(PhaseEvent.GIVE_UP)
    clock.passes(7)
    [one] = described(times, timeline, [rank(0)])["ranks"]
    assert (spans(one), one["waited"]) == ([("rebuild", 1.0, 5.0)], 1.0)


def test_spans_of_old_recoveries_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "KEPT_SPANS", 10)
    kept = [{"ranks": [{"spans": [{}] * 4}]} for _ in range(4)]
    before = list(kept)
    report._drop_old_spans(kept)
    assert [len(one["ranks"][0]["spans"]) for one in kept] == [0, 0, 4, 4]
    assert [len(one["ranks"][0]["spans"]) for one in before] == [4, 4, 4, 4], "somebody may be reading them"
