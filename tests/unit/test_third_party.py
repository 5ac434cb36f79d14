"""The matrix of third-party programs: a difference is seen, and the page says no more than the results do."""

from __future__ import annotations

from math import nan
from pathlib import Path
from typing import Any

import pytest
from third_party.cases import CASES, Case
from third_party.environments import PINS
from third_party.execution import PROGRAMS, Run
from third_party.matrix import agree
from third_party.reports import REPORTS, TEST, outcomes
from third_party.table import write

BOUND = 1e-3


def outcome(*losses: float, weights: str = "ab") -> Run:
    return Run([{"losses": [1.0, 2.0], "weights": "ab"}, {"losses": list(losses), "weights": weights}])


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (outcome(3.0, 4.0), ""),
        (outcome(3.0, 4.000001), "losses of rank 1 differ"),
        (outcome(3.0), "losses of rank 1 differ"),
        (outcome(3.0, 4.0, weights="cd"), "weights of rank 1 differ"),
    ],
)
def test_runs_are_compared_to_the_last_bit(other: Run, said: str) -> None:
    assert agree(outcome(3.0, 4.0), other, None) == said


def test_losses_are_compared_with_the_cpus_within_the_bound() -> None:
    assert agree(outcome(3.0, 4.0), outcome(3.0, 4.001, weights="cd"), BOUND) == ""
    assert agree(outcome(3.0, 4.0), outcome(3.0, 4.1), BOUND) == "losses of rank 1 differ from the CPU's by 2.5e-02"
    assert agree(outcome(3.0, 4.0), outcome(3.0, nan), BOUND) == "losses of rank 1 differ from the CPU's by inf"
    assert agree(outcome(3.0, 4.0), outcome(3.0), BOUND) == "rank 1 has 2 losses, on the CPU 1"


def result(case: Case, **ways: str) -> dict[str, Any]:
    return {
        "case": case.name,
        "pins": PINS[case.environment],
        "ranks": case.ranks,
        "origin": "abc, today",
        "ways": ways,
    }


def test_the_page_counts_what_it_is_given(tmp_path: Path) -> None:
    [alone, *_] = [one for one in CASES if one.cpu is None]
    [whole, no_cpu, *_] = [one for one in CASES if one.cpu is not None]
    equal = {"plain": "equal", "shuffle": "equal"}
    results = [
        result(no_cpu, **equal, kills="equal"),
        result(whole, **equal, kills="equal", cpu="equal"),
        result(alone, **equal, kills="weights of rank 1 differ; see there"),
    ]
    write(results, tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text()
    assert f"1 of {len(CASES)} programs are equal in every way" in page
    assert (
        f"| {whole.name} | {', '.join(PINS[whole.environment])} | {whole.ranks} | equal | equal | equal | within "
        in page
    )
    assert "| equal | equal | equal | not run | abc, today |" in page
    assert "| equal | equal | **no**: weights of rank 1 differ | no: " in page
    assert page.count("\nNot run: ") == len(CASES) - len(results)


def test_each_case_has_its_program_and_its_pins() -> None:
    assert [one.name for one in CASES if one.environment not in PINS] == []
    assert [one.name for one in CASES if not (PROGRAMS / f"{one.program}.py").is_file()] == []
    assert len({one.name for one in CASES}) == len(CASES)
    assert [pin for pins in PINS.values() for pin in pins if "==" not in pin] == []


def test_rows_that_were_not_run_again_stay(tmp_path: Path) -> None:
    """The page is written where only some of the cases were run."""
    first, second = CASES[0], CASES[1]
    page = tmp_path / "page.md"
    equal = {"plain": "equal", "shuffle": "equal", "kills": "equal", "cpu": "equal"}
    write([result(first, **equal)], page, {"closures": {"said": "equal", "origin": "abc, today"}})
    write([result(second, **equal)], page, {"groups": {"said": "ranks differ", "origin": "def, tomorrow"}})
    text = page.read_text()
    assert f"2 of {len(CASES)} programs are equal in every way" in text
    assert f"| {first.name} | " in text and f"| {second.name} | " in text
    assert "| equal | abc, today |" in text and "| **no**: ranks differ | def, tomorrow |" in text
    assert text.count("| not run | |") == len(REPORTS) - 2


def test_each_report_has_a_program_and_a_link() -> None:
    sources = "".join(path.read_text() for path in (TEST.parent / "reports").glob("*.py"))
    test = TEST.read_text()
    assert [one.shape for one in REPORTS if f'"{one.shape}": ' not in sources] == []
    assert [one.shape for one in REPORTS if f'"{one.shape}"' not in test] == []
    assert len({one.shape for one in REPORTS}) == len(REPORTS)
    assert [one.link for one in REPORTS if not one.link.startswith("https://github.com/")] == []


def test_outcomes_are_read_from_the_results_of_pytest(tmp_path: Path) -> None:
    found = tmp_path / "results.xml"
    failure = '<testcase name="t[groups]"><failure message="AssertionError: it differs&#10;more">x</failure></testcase>'
    found.write_text(f'<testsuites><testsuite><testcase name="t[closures]"/>{failure}</testsuite></testsuites>')
    assert outcomes(found) == {"closures": "equal", "groups": "AssertionError: it differs"}
