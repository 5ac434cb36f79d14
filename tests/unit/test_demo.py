"""The demo's verdict: it is good only when everything is identical and every fault was recovered."""

from __future__ import annotations

import argparse
import copy
import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from toolkit.documents import refusals
from toolkit.waiting import until

from jitc.proxy.commands.demo import command as demo
from jitc.proxy.commands.demo import text

RECORDS: list[dict[str, Any]] = [
    {"losses": ["0x1p+1", "0x1p+0", "0x1p-1"], "weights": "w", "optimizer": "o", "data": f"d{rank}", "parameters": 7}
    for rank in range(2)
]
RECOVERY = {
    "cause": "worker died", "decision": "roll-back to boundary 1", "gpu": 1, "seconds": 0.5,
    "phases": {"detect": 0.1, "replay": 0.4}, "bytes_restored": 4096, "more": "ignored",
}  # fmt: skip


def perform(monkeypatch: pytest.MonkeyPatch, spoil: Any = None) -> None:
    """Runs without processes; spoil changes the third run."""

    def pretend(one: demo.Run, steps: int) -> None:
        one.records = copy.deepcopy(RECORDS)
        one.recoveries = [dict(RECOVERY)] if one.fault is not None else []
        if spoil is not None and one.fault is not None and one.fault.phase == "optimizer":
            spoil(one)

    monkeypatch.setattr(demo, "perform", pretend)


def run(path: Path) -> tuple[int, dict[str, Any]]:
    status = demo.run(argparse.Namespace(json=str(path), steps=3))
    document: dict[str, Any] = json.loads(path.read_text())
    return status, document


def test_all_well(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    perform(monkeypatch)
    status, document = run(tmp_path / "demo.json")
    assert status == 0 and refusals(document, "demo") == []
    keys = ("cause", "decision", "gpu", "seconds", "phases", "bytes_restored")
    expected = {key: RECOVERY[key] for key in keys}
    assert document == {
        "identical": True, "faults_injected": 2, "faults_recovered": 2, "steps": 3, "recoveries": [expected, expected],
    }  # fmt: skip
    shown = capsys.readouterr().out
    assert "DIFFER" not in shown
    assert "roll-back to boundary 1" in shown


def set_record(rank: int, key: str, value: Any) -> Any:
    return lambda one: one.records[rank].__setitem__(key, value)


@pytest.mark.parametrize(
    ("spoil", "identical", "recovered"),
    [
        (set_record(1, "weights", "other"), False, 2),
        (set_record(0, "losses", ["0x1p+1", "0x1p+0", "0x1.8p-1"]), False, 2),
        (set_record(0, "optimizer", "other"), False, 2),
        (lambda one: one.records.pop(), False, 2),
        (lambda one: one.recoveries.clear(), True, 1),
    ],
)
def test_anything_wrong_is_a_failure(
    spoil: Any, identical: bool, recovered: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    perform(monkeypatch, spoil)
    status, document = run(tmp_path / "demo.json")
    assert status == 1
    assert (document["identical"], document["faults_recovered"]) == (identical, recovered)


LINES = [
    "step 1/20  loss 5.7",
    "rank 0: ignored",
    "step 12/20  loss 3.0",
    "jitc: a worker has died",
    "step 20/20  loss 2.6",
]


def follow(lines: list[str]) -> Iterator[None]:
    """Stops before each line."""
    with text.Progress(20) as progress:
        progress.say("starting torchrun")
        for line in lines:
            yield
            progress.line(line)
        yield


def test_progress_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    list(follow(LINES))
    kept = ["starting torchrun", LINES[2], LINES[3], LINES[4]]
    assert capsys.readouterr().out == "".join(f"   {line}\n" for line in kept)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bar of the steps; where nothing is said for long, also seconds."""
    monkeypatch.setattr(sys, "stdout", shown := Terminal())
    monkeypatch.setenv("COLUMNS", "60")
    steps = follow([*LINES, f"jitc: {'long ' * 20}"])
    next(steps)
    silent = r"\r\033\[K   \[ {20}\] starting torchrun  \(\d+ s\)"
    until(lambda: re.search(silent, shown.getvalue()), 60, "the line lives")
    list(steps)
    assert f"\033[K   [{'#' * 12:<20}] {LINES[2]}\r" in shown.getvalue()
    assert f"\033[K   [{'#' * 20}] {LINES[4]}\r" in shown.getvalue()
    assert shown.getvalue().endswith("\n")
    assert max(len(line) for line in shown.getvalue().rstrip().split("\r\033[K")) == 59


def test_too_few_steps_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.run(argparse.Namespace(json=None, steps=1)) == 2
    assert "--steps" in capsys.readouterr().err


def test_what_was_lost_and_replayed_is_measured() -> None:
    reference, run = (demo.Run("", records=copy.deepcopy(RECORDS)) for _ in range(2))
    assert (run.steps_lost(reference), run.minibatches_replayed()) == (0, 0)
    run.records[1]["losses"] = ["0x1p+1", "0x1.8p+0"]  # one of three differs, one is missing
    standings = [{"prepared": 4}, {"prepared": 5}]
    run.recoveries = [
        {"decision": "roll-back", "boundary": 4, "standings": standings},
        {"decision": "roll-forward", "boundary": 6, "standings": standings},
    ]
    assert (run.steps_lost(reference), run.minibatches_replayed()) == (2, 2)
