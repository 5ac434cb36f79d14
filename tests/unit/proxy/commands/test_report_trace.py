"""The trace of `jitc report --trace`: its form, what it says of each rank, clocks that were set, jobs side by side."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from made_report import STARTED, examples, many, recovery, report
from toolkit.trace import problems

from jitc.proxy.commands.timeline.trace import trace


def spans(document: dict[str, Any], tid: int) -> list[dict[str, Any]]:
    return [one for one in document["traceEvents"] if one["ph"] == "X" and one["tid"] == tid]


@pytest.mark.parametrize("document", [report(), many(1, 1), many(30, 8)], ids=["none", "one", "many"])
def test_form(document: dict[str, Any]) -> None:
    made = json.loads(json.dumps(trace(document)))
    assert set(made) == {"traceEvents", "displayTimeUnit", "otherData"}
    assert problems(made) == []


def test_a_rank_is_a_thread_and_its_line_has_no_gap() -> None:
    document = many(5, 3)
    made = trace(document)
    names = {one["args"]["name"] for one in made["traceEvents"] if one["name"] == "thread_name"}
    assert names == {"recovery", *(f"rank {rank} (pid {4800 + rank}), GPU {rank}" for rank in range(3))}
    for tid in (1, 2, 3):
        line = spans(made, tid)
        assert {one["name"] for one in line} >= {"compute", "waiting", "restore", "resume", "replay"}
        assert all(abs(one["ts"] + one["dur"] - after["ts"]) <= 1 for one, after in pairwise(line))


def test_times_are_those_of_the_report() -> None:
    one = recovery(began=STARTED + 60)
    made = trace(report(one))
    origin = float(made["otherData"]["unix time 0"])
    assert origin == pytest.approx(STARTED + 60 - 12.5)
    (whole, *phases) = spans(made, 0)
    assert whole["ts"] / 1e6 + origin == pytest.approx(STARTED + 60, abs=2e-6)
    for told, shown in zip(one["timeline"], phases, strict=True):
        assert (shown["name"], shown["dur"] / 1e6) == (told["phase"], pytest.approx(told["seconds"], abs=2e-6))


def test_rounded_times_cross_nothing() -> None:
    """As a service rounds them: each number to a microsecond by itself."""
    one = recovery()
    rows = [one["timeline"], *(rank["spans"] for rank in one["ranks"])]
    for row in rows:
        for late, part in enumerate(row):
            part["at"], part["seconds"] = round(part["at"], 6), round(part["seconds"], 6) + 1e-6 * (late % 2)
    assert problems(trace(report(one))) == []


def test_a_clock_that_was_set_back_crosses_nothing() -> None:
    first = recovery(began=STARTED + 60)
    second = recovery(began=STARTED + 60 + first["seconds"] / 2, seed=1)
    assert problems(trace(report(first, second))) == []


def test_jobs_of_one_name_are_recovered_side_by_side() -> None:
    """Ranks that no communicator connects have one job's name and recoveries of their own."""
    first, second = recovery(), recovery(began=STARTED + 60.05, seed=1)
    for rank in second["ranks"]:
        rank["session"] += 10
    made = trace(report(first, second))
    assert problems(made) == []
    assert len({one["tid"] for one in made["traceEvents"] if one["name"] == "detect"}) == 2
    assert len({one["pid"] for one in made["traceEvents"]}) == 1


def test_everything_else_is_an_instant() -> None:
    others = {kind: examples(kind) for kind in ("validations", "divergences", "races")}
    made = trace(report(recovery(), **others))
    assert problems(made) == []
    instants = [one["name"] for one in made["traceEvents"] if one["ph"] == "i"]
    assert instants == ["fault: worker-death", "validation: different", "replicas stopped agreeing", "race"]


def test_the_check_finds_what_is_wrong() -> None:
    made = trace(report(recovery()))
    late = spans(made, 1)[1]
    late["dur"] += 1_000_000
    assert any("crosses" in one for one in problems(made))
    late["dur"] = -1
    assert any("dur" in one for one in problems(made))
