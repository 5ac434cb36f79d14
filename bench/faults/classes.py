"""Seconds of each class of faults, all of one commit: tests of whole jobs, and three other benchmarks.

Each figure is entered into the table of docs/guarantees.md ("Fault classes"), where the class has its row, with the
commit and the date above it. Nothing is entered when a test or a benchmark fails. A goal that one misses is told, and
its figure entered all the same. Run from bench/, on a quiet machine, 4 minutes: python -m faults.classes
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from common import ROOT, finish, parser

PAGE = ROOT / "docs" / "guarantees.md"
#: In tests/end_to_end: those that leave their seconds.
TESTS = (
    "test_hung_jobs.py::test_rank_that_hangs", "test_links.py::test_link_that_is_cut",
    "test_sick_device.py::test_no_replica_is_needed", "test_own_errors.py::test_illegal_access",
    "test_all_replicas_lost.py::test_again_and_again[gpt]",
)  # fmt: skip
BENCHMARKS: Mapping[str, tuple[str, ...]] = {
    "recovery_time": (),
    "rehoming": ("--ranks", "2", "4", "--devices", "software"),
    "restart": (),
}
Figures = dict[str, Any]
#: First words of a row -> what stands in its third column. A row that is not here keeps what it has.
ROWS: Mapping[str, Callable[[Figures, dict[str, float]], str]] = {
    "a worker that dies": lambda figures, _: (
        f"{_median(figures['recovery_time']['reported'])} (median of {figures['recovery_time']['reported']['count']}; "
        f"found in {figures['recovery_time']['detect']['low']:.2f} to {figures['recovery_time']['detect']['high']:.2f})"
    ),
    "all workers of a job at once": lambda _, tests: f"{tests['test_again_and_again[gpt]']:.1f} (all replays)",
    "a GPU that is gone": lambda figures, _: ", ".join(
        f"{figures['rehoming'][f'{ranks} ranks, software']['recovery']:.2f} ({ranks} ranks)" for ranks in (2, 4)
    ),
    "the service dies, or is replaced": lambda figures, _: (
        f"{_felt(figures, 'killed, started again')}, {_felt(figures, 'replaced')} (a step is longer by that; a "
        f"service is back after {_median(figures['restart']['killed, started again']['service_away'])})"
    ),
    "the service and a worker die together": lambda figures, _: f"{_felt(figures, 'killed, with a worker')} (the same)",
    "a worker that is stopped or deadlocked": lambda _, tests: _of(tests, "test_rank_that_hangs[hung-worker", 1),
    "a kernel that never ends": lambda _, tests: _of(tests, "test_rank_that_hangs[hung-kernel", 1),
    "a rank that does not come": lambda _, tests: _of(tests, "test_rank_that_hangs[hung-collective", 1),
    "a connection that is cut": lambda _, tests: _of(tests, "test_link_that_is_cut", 2),
    "a device that refuses work": lambda _, tests: _of(tests, "test_no_replica_is_needed", 2),
    "an illegal access": lambda _, tests: _of(tests, "test_illegal_access", 2),
}
_STAMP = re.compile(r"They are of [0-9a-f]+(-dirty)?, \d{4}-\d\d-\d\d\.")


def _median(summary: Mapping[str, float]) -> str:
    return f"{summary['median']:.2f}"


def _felt(figures: Figures, name: str) -> str:
    return _median(figures["restart"][name]["felt_by_the_job"])


def _of(tests: Mapping[str, float], name: str, digits: int) -> str:
    """The longest of the cases of a test."""
    return f"{max(seconds for case, seconds in tests.items() if case.startswith(name)):.{digits}f}"


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--print", action="store_true", help="only print the rows, enter nothing")
    args = arguments.parse_args()
    from toolkit.tree import commit

    with tempfile.TemporaryDirectory(prefix="jitc-classes-") as made:
        tests = _tests(Path(made))
        figures = {name: _benchmark(Path(made), name, options) for name, options in BENCHMARKS.items()}
    cells = {row: cell(figures, tests) for row, cell in ROWS.items()}
    for row, cell in cells.items():
        print(f"{row:<40} {cell}")
    if not args.print:
        PAGE.write_text(entered(PAGE.read_text(), cells, commit(), time.strftime("%Y-%m-%d", time.gmtime())))
    return finish(args, {"tests": tests, **figures}, {})


def _tests(folder: Path) -> dict[str, float]:
    """Of each test that has the property, its seconds. SystemExit where one fails."""
    results = folder / "tests.xml"
    tests = [f"tests/end_to_end/{one}" for one in TESTS]
    command = [sys.executable, "-m", "pytest", "-q", *tests, "--junitxml", str(results)]
    if subprocess.run(command, cwd=ROOT, check=False).returncode:
        sys.exit("classes: tests failed; nothing is entered")
    found = {}
    for case in ElementTree.parse(results).getroot().iter("testcase"):
        for one in case.iter("property"):
            if one.get("name") == "seconds":
                found[str(case.get("name"))] = float(one.get("value", ""))
    return found


def _benchmark(folder: Path, name: str, options: tuple[str, ...]) -> Figures:
    file = folder / f"{name}.json"
    command = [sys.executable, "-m", f"faults.{name}", *options, "--json", str(file)]
    subprocess.run(command, cwd=ROOT / "bench", check=False)  # 1: a goal was missed
    if not file.exists():
        sys.exit(f"classes: {name} failed; nothing is entered")
    figures: Figures = json.loads(file.read_text())["figures"]
    return figures


def entered(page: str, cells: Mapping[str, str], commit: str, date: str) -> str:
    """The page with these figures. ValueError where a row, or the line with the commit, is not there."""
    lines = page.split("\n")
    for row, cell in cells.items():
        at = [number for number, line in enumerate(lines) if line.startswith(f"| {row}")]
        if len(at) != 1:
            raise ValueError(f"{len(at)} rows begin with {row!r}")
        columns = lines[at[0]].split(" | ")
        columns[2] = cell
        lines[at[0]] = " | ".join(columns)
    text, count = _STAMP.subn(f"They are of {commit}, {date}.", "\n".join(lines))
    if count != 1:
        raise ValueError(f"{count} lines with the commit of the figures")
    return text


if __name__ == "__main__":
    sys.exit(main())
