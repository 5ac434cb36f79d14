"""The rounds of `make soak`: what runs when, what is said of a failure, what the JSON file holds."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from soak import command
from soak.catalogue import programs
from soak.programs import CheckingCommand, PrintingProgram, TrainingJob
from soak.results import FAILED, PASSED, Results
from soak.ways import PLAIN, WAYS, Way, available
from toolkit.job import ROOT
from toolkit.workplace import EVIDENCE, Workplace

NAME = "of-a-test"
SEEDED, ONCE = Way("late", ("--late", "{seed}")), Way("watched", ("--watched",))


class Counting:
    """Notes how it was run; fails, or gives something else, with one seed."""

    def __init__(self, name: str, fails: int = 0, differs: int = 0, reference: bool = True) -> None:
        self.name, self.fails, self.differs, self.reference = name, fails, differs, reference
        self.calls: list[tuple[str, int | None]] = []

    def run(self, place: Workplace, way: Way, seed: int | None) -> Any:
        self.calls.append((" ".join(way.with_seed(seed or 0)), seed))
        (place.folder / "log").write_text("what was seen\n")
        if seed is not None and seed == self.fails:
            raise AssertionError("it broke")
        return "other" if seed is not None and seed == self.differs else "same"

    def compare(self, got: Any, expected: Any) -> None:
        assert got == expected, f"{got} instead of {expected}"


@pytest.fixture(autouse=True)
def no_evidence() -> Iterator[None]:
    yield
    for one in EVIDENCE.glob(f"soak-{NAME}*"):
        shutil.rmtree(one)


def soaked(folder: Path, chosen: list[Any], ways: list[Way], rounds: int) -> Results:
    results = Results(folder / "soak.json", 1.0)
    command.Soak(chosen, ways, results).run(5, rounds, time.monotonic() + 600)
    return results


def test_each_round_has_the_next_seed_and_what_needs_none_is_run_once(tmp_path: Path) -> None:
    first, second = Counting(NAME), Counting(f"{NAME}-2", reference=False)
    results = soaked(tmp_path, [first, second], [SEEDED, ONCE], 2)
    assert first.calls == [("", None), ("--late 5", 5), ("--watched", 5), ("--late 6", 6)]
    assert second.calls == [("--late 5", 5), ("--watched", 5), ("--late 6", 6)]
    assert {one.outcome for one in results.runs} == {PASSED} and not list(EVIDENCE.glob(f"soak-{NAME}*"))
    assert f"{NAME:<44}late              2       0" in results.table()


def test_rounds_without_anything_to_do_come_to_an_end(tmp_path: Path) -> None:
    one = Counting(NAME)
    results = Results(tmp_path / "soak.json", 1.0)
    command.Soak([one], [ONCE], results).run(1, 0, time.monotonic() + 600)
    assert one.calls == [("", None), ("--watched", 1)]


@pytest.mark.parametrize(("what", "why"), [("fails", "it broke"), ("differs", "other instead of same")])
def test_a_run_that_fails_is_kept_and_stops_nothing(tmp_path: Path, what: str, why: str) -> None:
    odd = Counting(NAME, **{what: 6})
    results = soaked(tmp_path, [odd], [SEEDED], 3)
    assert [one.outcome for one in results.runs] == [PASSED, PASSED, FAILED, PASSED]
    [failed] = results.failed()
    assert why in failed.why and why in failed.line() and failed.line() in results.table()
    assert f'make soak SOAK="--only {NAME} --ways late --seed 6 --rounds 1"' in failed.replay
    assert (ROOT / failed.evidence / "log").read_text() == "what was seen\n"
    document = json.loads(results.path.read_text())
    assert (document["passed"], document["failed"]) == (3, 1)
    assert [(one["way"], one["seed"]) for one in document["runs"]] == [
        (PLAIN.name, None), ("late", 5), ("late", 6), ("late", 7),
    ]  # fmt: skip


def test_without_something_to_compare_with_a_program_is_not_run(tmp_path: Path) -> None:
    class Broken(Counting):
        def run(self, place: Workplace, way: Way, seed: int | None) -> Any:
            if seed is None:
                raise AssertionError("also plainly")
            return super().run(place, way, seed)

    broken = Broken(NAME)
    results = soaked(tmp_path, [broken], [SEEDED], 3)
    assert [one.outcome for one in results.runs] == [FAILED] and broken.calls == []


def test_no_run_begins_when_the_time_is_up(tmp_path: Path) -> None:
    results = Results(tmp_path / "soak.json", 0.0)
    command.Soak([Counting(NAME)], [SEEDED], results).run(1, 0, time.monotonic())
    assert results.runs == []


def test_the_exit_status_says_whether_all_passed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--ways", "shuffle", "--seed", "5", "--rounds", "1", "--json", str(tmp_path / "soak.json")]
    for one, status in ((Counting(NAME), 0), (Counting(NAME, fails=5), 1)):
        monkeypatch.setattr(command, "programs", lambda one=one: [one])
        assert command.main(words) == status
        assert f"2 runs, {status} failed" in capsys.readouterr().out


def test_what_is_wrong_on_its_line_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--only", "nothing"], ["--ways", "calm"]):
        assert command.main(words) == command.WRONG_USE
        assert "--list" in capsys.readouterr().err
    assert command.main(["--list"]) == 0
    said = capsys.readouterr().out
    assert all(one in said for one in (*(program.name for program in programs()), *(way.name for way in available())))


def test_ways_are_those_that_the_service_has() -> None:
    names = [one.name for one in available()]
    assert "shuffle" in names and set(names) <= {one.name for one in WAYS}


def test_programs_have_names_of_their_own_and_are_there() -> None:
    names = [one.name for one in programs()]
    assert len(set(names)) == len(names) > 20
    for one in programs():
        if isinstance(one, TrainingJob):
            assert (ROOT / "examples" / one.script.name).exists()
        elif isinstance(one, PrintingProgram | CheckingCommand):
            assert all((ROOT / word).exists() for word in one.words if word.startswith("tests/"))


def test_workers_are_killed_only_in_phases_that_the_program_has() -> None:
    """A kill in another one never happens, and the run fails for that with each seed that draws it."""
    killed = [one for one in programs() if isinstance(one, PrintingProgram | TrainingJob) and one.kills.count]
    without = set()
    for one in killed:
        path = ROOT / one.words[0] if isinstance(one, PrintingProgram) else ROOT / "examples" / one.script.name
        if ".backward(" not in path.read_text():
            without.add(one.name)
            assert "backward" not in one.kills.phases, one.name
    assert without == {"lanes-killed", "pinned-killed"}
