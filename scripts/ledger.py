"""make ledger: writes into docs/ledger.md when, and at which commit, the tests of its rows last passed.

    ledger.py RESULTS.xml... [--slow]  the results of `make test`, or of `make test-all`
    ledger.py --ran "make demo"        a command that rows name, run by hand at the commit that is checked out

Called by: `make ledger`. Promises: a row gets a commit only when every test file that it names was run there and all of
their tests passed, and one that names a command only when that was run, whatever tests passed meanwhile; results of a
tree with uncommitted changes are refused; nothing but the last column changes.
"""

from __future__ import annotations

import argparse
import functools
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEDGER = ROOT / "docs" / "ledger.md"
#: A cell of the last column: the quick tests of the row, and the slow ones where it has any.
RUN = re.compile(r"(?P<quick>[0-9a-f]{7,} \d{4}-\d\d-\d\d|not recorded)(?:; slow: (?P<slow>.+))?")

#: What shows a row's claim beside tests; its target.
COMMAND = re.compile(r"make (?!test)(?P<target>[a-z-]+)")


class Refused(Exception):
    """The results cannot be entered; the text says why."""


def names(evidence: str) -> list[str]:
    """Test files, folders and commands in a cell. `make test` and `make test-all` run what else is named there."""
    quoted = [one for text in re.findall(r"`([^`]+)`", evidence) for one in _expanded(text)]
    return [one for one in quoted if COMMAND.match(one) or re.fullmatch(r"tests/.*|test_\w+\.py", one)]


def _expanded(text: str) -> Iterator[str]:
    """Braces become alternatives, as in a shell."""
    parts = [one[1:-1].split(",") if one.startswith("{") else [one] for one in re.split(r"(\{[^}]*\})", text)]
    return ("".join(chosen) for chosen in product(*parts))


def files(name: str) -> list[str]:
    """The test files behind a name, from the root; none behind a command."""
    if name.startswith("make "):
        return []
    path = ROOT / name
    if path.is_dir():
        found: Iterable[Path] = path.rglob("test_*.py")
    else:
        found = [path] if "/" in name else (ROOT / "tests").rglob(name)
    return sorted(str(one.relative_to(ROOT)) for one in found)


@functools.cache
def _slow(file: str) -> bool:
    return "pytest.mark.slow" in (ROOT / file).read_text()


def has_slow(rows_names: Iterable[str]) -> bool:
    return any(_slow(file) for name in rows_names for file in files(name))


def results(path: Path) -> tuple[str, str, dict[str, bool]]:
    """Commit, date, and the files of which tests were run: whether all of them passed. Raises Refused."""
    suite = xml.parse(path).getroot().find("testsuite")
    if suite is None:
        raise Refused(f"{path} has no results")
    commit, date = suite.get("name", ""), suite.get("timestamp", "")[:10]
    if not re.fullmatch("[0-9a-f]{7,}", commit):
        raise Refused(f"{path} is of {commit!r}: commit first, then run the tests")
    passed: dict[str, bool] = {}
    for case in suite.iter("testcase"):
        file = _file(case.get("classname", ""))
        if case.find("failure") is not None or case.find("error") is not None:
            passed[file] = False
        elif case.find("skipped") is None:
            passed.setdefault(file, True)
    return commit, date, passed


def results_of_all(paths: Sequence[Path]) -> tuple[str, str, dict[str, bool]]:
    """As results(), of several runs at one commit; the date is that of the last one."""
    runs = [results(path) for path in paths]
    if len({commit for commit, _, _ in runs}) != 1:
        raise Refused("one run's results, or those of several at one commit, are needed: run the tests again")
    passed: dict[str, bool] = {}
    for _, _, files_of_run in runs:
        for file, good in files_of_run.items():
            passed[file] = good and passed.get(file, True)
    return runs[0][0], max(date for _, date, _ in runs), passed


def _file(classname: str) -> str:
    """tests.unit.test_x, or tests.unit.test_x.TestClass."""
    parts = classname.split(".")
    for count in range(len(parts), 0, -1):
        file = "/".join(parts[:count]) + ".py"
        if (ROOT / file).exists():
            return file
    return classname


def stamped(text: str, done: Callable[[str], bool], when: str, slow: bool) -> str:
    """The ledger with this commit and date in the rows of which everything named is done."""
    lines, previous, inside = [], list[str](), False
    for line in text.split("\n"):
        inside = line.startswith("| claim |") or (inside and line.startswith("|"))
        cells = line.split(" | ")
        if not inside or line.startswith(("| claim |", "|---")):
            lines.append(line)
            continue
        previous = [*(previous if "the same" in cells[1] else []), *names(cells[1])]
        if previous and all(map(done, previous)):
            cells[-1] = _cell(cells[-1].removesuffix(" |"), when, slow, has_slow(previous)) + " |"
        lines.append(" | ".join(cells))
    return "\n".join(lines)


def _cell(old: str, when: str, slow_ran: bool, has_slow_tests: bool) -> str:
    if not has_slow_tests:
        return when
    found = RUN.fullmatch(old)
    before = found["slow"] if found and found["slow"] else "not recorded"
    return f"{when}; slow: {when if slow_ran else before}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("results", nargs="*", type=Path, help="JUnit XML of a test run")
    parser.add_argument("--slow", action="store_true", help="the run included the slow tests")
    parser.add_argument("--ran", metavar="COMMAND", help="a command that rows name")
    given = parser.parse_args()
    try:
        if given.ran:
            commit, date, passed = _checked_out(), time.strftime("%Y-%m-%d"), dict[str, bool]()
        else:
            commit, date, passed = results_of_all(given.results)
    except (Refused, OSError) as error:
        print(f"ledger: {error}", file=sys.stderr)
        return 1

    def done(name: str) -> bool:
        behind = files(name)
        return name == given.ran or (bool(behind) and all(passed.get(file, False) for file in behind))

    text = LEDGER.read_text()
    LEDGER.write_text(stamped(text, done, f"{commit} {date}", given.slow))
    return 0


def _checked_out() -> str:
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]
    commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    if commit.endswith("-dirty"):
        raise Refused("the tree has uncommitted changes: commit first, then run the command")
    return commit


if __name__ == "__main__":
    sys.exit(main())
