"""make durations: the tests, and the files of tests, that took longest in the last `make test`.

    durations.py RESULTS.xml... [--most N]

Called by: `make durations`, of build/results. Promise: reads what is there, changes nothing. Seconds are those of the
machine as busy as it was: several tests run beside each other.
"""

from __future__ import annotations

import argparse
import sys
import xml.etree.ElementTree as xml
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple


class Test(NamedTuple):
    file: str  # as the module is called
    name: str
    seconds: float


def tests(path: Path) -> Iterator[Test]:
    for case in xml.parse(path).iter("testcase"):
        yield Test(case.get("classname", ""), case.get("name", ""), float(case.get("time", "0")))


def table(found: Sequence[Test], most: int) -> str:
    """The slowest tests, then the slowest files with how many tests each has; seconds and the share of the whole."""
    whole = sum(one.seconds for one in found) or 1.0
    lines = [f"{len(found)} tests, {whole:.0f} s in all", "", "seconds  share  test"]
    for one in sorted(found, key=lambda one: -one.seconds)[:most]:
        lines.append(_line(one.seconds, whole, f"{one.file}::{one.name}"))
    files: defaultdict[str, list[float]] = defaultdict(list)
    for one in found:
        files[one.file].append(one.seconds)
    lines += ["", "seconds  share  file"]
    for file, seconds in sorted(files.items(), key=lambda one: -sum(one[1]))[:most]:
        lines.append(_line(sum(seconds), whole, f"{file} ({len(seconds)})"))
    return "\n".join(lines)


def _line(seconds: float, whole: float, text: str) -> str:
    return f"{seconds:7.1f}  {seconds / whole:5.1%}  {text}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("results", nargs="*", type=Path, help="JUnit XML of a test run")
    parser.add_argument("--most", type=int, default=30, metavar="N", help="lines of each table (30)")
    given = parser.parse_args()
    found = [test for path in given.results for test in tests(path)]
    if not found:
        print("durations: there are no results: run `make test` first", file=sys.stderr)
        return 1
    print(table(found, given.most))
    return 0


if __name__ == "__main__":
    sys.exit(main())
