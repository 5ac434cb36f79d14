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
from soak.option_sets import OPTION_SETS, with_seed
from soak.programs import PROGRAMS, CheckingCommand, PrintingProgram, TrainingJob
from soak.results import FAILED, PASSED, Results
from toolkit.job import ROOT
from toolkit.workplace import EVIDENCE, Workplace

NAME = "of-a-test"


class Counting:
    """Gives how often it was run; fails, or gives something else, with one seed."""

    def __init__(self, name: str, fails: int = 0, differs: int = 0, reference: bool = True) -> None:
        self.name, self.fails, self.differs, self.reference = name, fails, differs, reference
        self.calls: list[tuple[tuple[str, ...], int | None]] = []

    def run(self, place: Workplace, options: tuple[str, ...], seed: int | None) -> Any:
        self.calls.append((options, seed))
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


def soaked(folder: Path, programs: list[Any], sets: list[str], rounds: int) -> Results:
    results = Results(folder / "soak.json", 1.0)
    command.Soak(programs, sets, results).run(5, rounds, time.monotonic() + 600)
    return results


def test_each_round_has_the_next_seed_and_each_program_every_set(tmp_path: Path) -> None:
    first, second = Counting(NAME), Counting(f"{NAME}-2", reference=False)
    sets = list(OPTION_SETS)
    results = soaked(tmp_path, [first, second], sets, 2)
    wanted = [(with_seed(one, seed), seed) for seed in (5, 6) for one in sets]
    assert first.calls == [((), None), *wanted]
    assert second.calls == wanted
    assert ("--shuffle", "5") in [options[:2] for options, _ in wanted]
    assert {one.outcome for one in results.runs} == {PASSED} and not list(EVIDENCE.glob(f"soak-{NAME}*"))


@pytest.mark.parametrize(("what", "why"), [("fails", "it broke"), ("differs", "other instead of same")])
def test_a_run_that_fails_is_kept_and_stops_nothing(tmp_path: Path, what: str, why: str) -> None:
    odd = Counting(NAME, **{what: 6})
    results = soaked(tmp_path, [odd], ["shuffle"], 3)
    assert [one.outcome for one in results.runs] == [PASSED, PASSED, FAILED, PASSED]
    [failed] = results.failed()
    assert why in failed.why and why in failed.line()
    assert f"--only {NAME}$ --sets shuffle --seed 6 --rounds 1" in failed.replay
    assert (ROOT / failed.evidence / "log").read_text() == "what was seen\n"
    document = json.loads(results.path.read_text())
    assert (document["passed"], document["failed"]) == (3, 1)
    assert [one["seed"] for one in document["runs"]] == [None, 5, 6, 7]


def test_without_something_to_compare_with_a_program_is_not_run(tmp_path: Path) -> None:
    class Broken(Counting):
        def run(self, place: Workplace, options: tuple[str, ...], seed: int | None) -> Any:
            if seed is None:
                raise AssertionError("also without options")
            return super().run(place, options, seed)

    broken = Broken(NAME)
    results = soaked(tmp_path, [broken], ["shuffle"], 3)
    assert [one.outcome for one in results.runs] == [FAILED] and broken.calls == []


def test_no_run_begins_when_the_time_is_up(tmp_path: Path) -> None:
    results = Results(tmp_path / "soak.json", 0.0)
    command.Soak([Counting(NAME)], ["shuffle"], results).run(1, 0, time.monotonic())
    assert results.runs == []


def test_what_is_wrong_on_its_line_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--only", "nothing"], ["--sets", "calm"]):
        assert command.main(words) == command.WRONG_USE
        assert "--list" in capsys.readouterr().err
    assert command.main(["--list"]) == 0
    said = capsys.readouterr().out
    assert all(one in said for one in (*(program.name for program in PROGRAMS), *OPTION_SETS))


def test_programs_have_names_of_their_own_and_are_there() -> None:
    names = [one.name for one in PROGRAMS]
    assert len(set(names)) == len(names) > 20
    for one in PROGRAMS:
        if isinstance(one, TrainingJob):
            assert (ROOT / "examples" / one.script.name).exists()
        elif isinstance(one, PrintingProgram):
            assert (ROOT / "tests" / "end_to_end" / one.file).exists()
        else:
            assert isinstance(one, CheckingCommand)
            assert all((ROOT / word).exists() for word in one.words if word.startswith("tests/"))
