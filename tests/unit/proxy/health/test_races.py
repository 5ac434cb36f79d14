"""Reports of races: each pair once, whichever ranks and workers find it; their text and their document."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest
from toolkit.documents import differences, example

from jitc.proxy.commands.questions import text as cli_text
from jitc.proxy.health.races import KEPT, Races, lines
from jitc.proxy.node.registry import Registry
from jitc.v1.control_pb2 import RaceReport, RaceSide


class Ranks:
    """Two sessions of one job, and one that is gone."""

    changed = threading.Condition()

    def __init__(self) -> None:
        self.sessions = {number: SimpleNamespace(label=lambda number=number: f"rank {number - 1}") for number in (1, 2)}

    def job_of(self, _: Any) -> str:
        return "run-7"


def races() -> Races:
    return Races(cast("Registry", Ranks()))


def report(session: int = 1, line: int = 14, sequence: int = 812) -> RaceReport:
    first = RaceSide(op="aten::add_.Tensor", operator="aten::add_", place=f"train.py:{line} in load\n", stream=3,
                     sequence=sequence, writes=True)  # fmt: skip
    second = RaceSide(op="a copy to the host", place="", sequence=sequence + 3)
    return RaceReport(session=session, first=first, second=second, address=4096, bytes=512)


def test_a_pair_is_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    found = races()
    for one in (report(), report(2), report(sequence=4000), report(2), report(line=15)):
        found.add(one)
    first, second = found.documents()
    assert first["sessions"] == ["rank 0", "rank 1"]
    assert second["sessions"] == ["rank 0"]
    assert [found.count(number) for number in (1, 2, 3)] == [2, 1, 0]
    said = capsys.readouterr().err
    assert said.count("jitc-proxyd: race in job run-7") == 2


def test_what_a_program_says_steers_no_log(capsys: pytest.CaptureFixture[str]) -> None:
    found, evil = races(), "a\x1b[2J\x07\njitc-proxyd: forged\u202e"
    one = report()
    one.first.op = one.first.operator = one.first.place = evil
    found.add(one)
    said = capsys.readouterr().err.splitlines()
    assert all(line.isprintable() for line in said)
    assert [line for line in said if line.startswith("jitc-proxyd: ")] == said[:1]


def test_a_session_that_is_gone() -> None:
    found = races()
    found.add(report(9))
    [one] = found.documents()
    assert (one["job"], one["sessions"]) == ("", ["session 9"])


def test_a_program_that_races_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    found = races()
    for line in range(KEPT - 1):
        found.add(report(line=line))
    assert "are not shown" not in capsys.readouterr().err
    for line in range(KEPT + 5):
        found.add(report(line=line))
    assert len(found.documents()) == KEPT
    assert capsys.readouterr().err.count(f"{KEPT} races have been reported; more are not shown") == 1


def test_text_and_document() -> None:
    found = races()
    found.add(report())
    [one] = found.documents()
    assert lines(one) == [
        "race in job run-7, rank 0: no order between two operators that touch the same memory",
        "  aten::add_.Tensor (aten::add_) writes on stream 0x3",
        "      train.py:14 in load",
        "  a copy to the host reads on the default stream",
        "      (no Python code called it)",
        "  512 bytes at 0x1000",
    ]
    assert differences([one], example("jitc report --json")["races"]) == []
    document: dict[str, Any] = {"recoveries": [], "validations": [], "divergences": [], "races": [one]}
    assert "\n".join(lines(one)) in cli_text.report(document)
