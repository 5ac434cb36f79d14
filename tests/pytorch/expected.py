"""What is expected of each test: expected/NAME.txt names the tests that do not pass, and why a device without a GPU's
kernels cannot, or why it does not yet.

Called by: __main__.py, table.py. A line is `TEST | OUTCOME | CLASS: REASON`; TEST may have * in it; OUTCOME is one of
OUTCOMES. What no line names passes, or skips itself.
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "expected"
#: `left out`: it is not even started. `unsteady`: passes or fails, by what the machine does meanwhile.
OUTCOMES = ("failed", "crashed", "hung", "left out", "unsteady")
#: The classes of reasons. The first ones excuse a test; `not served yet` and `unexplained` do not.
EXCUSES = {
    "custom kernel": "it runs machine code for a GPU (Triton, inductor, its own kernels)",
    "real GPU": "it measures or queries properties that only a physical GPU has",
    "release differs": "the test is of another release of PyTorch than the wheel",
    "machine": "it needs resources that this machine lacks (memory, GPUs, network, a package)",
    "refused": "docs/guarantees.md lists it as refused",
    "CPU kernel": "PyTorch's CPU kernel differs from its CUDA kernel (message, type, rounding)",
    "own race": "the test's threads race with each other, whatever the device",
}
OPEN = {"not served yet": "to be done", "unexplained": "not investigated yet"}


class BadExpectation(Exception):
    """A line of a file of expectations that cannot be read."""


@dataclass(frozen=True)
class Line:
    pattern: str
    outcome: str
    kind: str
    reason: str

    @property
    def excused(self) -> bool:
        return self.kind in EXCUSES


PASSES = Line("*", "passed", "", "")


class Expectations:
    def __init__(self, lines: list[Line]) -> None:
        self.lines = lines
        self._exact = {one.pattern: one for one in lines}
        self._patterns = [one for one in lines if "*" in one.pattern]

    def of(self, test: str) -> Line:
        if test in self._exact:
            return self._exact[test]
        return next((one for one in self._patterns if fnmatch.fnmatchcase(test, one.pattern)), PASSES)

    def unused(self, tests: list[str]) -> list[Line]:
        return [one for one in self.lines if not any(fnmatch.fnmatchcase(name, one.pattern) for name in tests)]


def read(name: str) -> Expectations:
    path = FOLDER / f"{name}.txt"
    lines = path.read_text().splitlines() if path.is_file() else []
    return Expectations([_parse(path.name, number, line) for number, line in enumerate(lines, 1) if _holds(line)])


def _holds(line: str) -> bool:
    return bool(line.strip()) and not line.startswith("#")


def _parse(file: str, number: int, line: str) -> Line:
    parts = [one.strip() for one in line.split("|", 2)]
    if len(parts) != 3 or parts[1] not in OUTCOMES:
        raise BadExpectation(f"{file}:{number}: not `TEST | {' or '.join(OUTCOMES)} | CLASS: REASON`")
    kind, _, reason = parts[2].partition(":")
    if kind not in EXCUSES and kind not in OPEN:
        raise BadExpectation(f"{file}:{number}: the class {kind!r} is none of {', '.join([*EXCUSES, *OPEN])}")
    return Line(parts[0], parts[1], kind, reason.strip())


def agrees(line: Line, outcome: str) -> bool:
    """A test that skips itself contradicts nothing."""
    if line.outcome == "unsteady":
        return outcome in ("passed", "failed", "skipped")
    return outcome in (line.outcome, "skipped")


def add(name: str, found: list[tuple[str, str, str]]) -> None:
    """Appends (test, outcome, text) as unexplained lines, for somebody to explain."""
    path = FOLDER / f"{name}.txt"
    head = "" if path.is_file() else f"# What does not pass of PyTorch's {name}, and why. See ../expected.py.\n"
    words = [f"{test} | {outcome} | unexplained: {' '.join(why.split())[:160]}" for test, outcome, why in found]
    with path.open("a") as out:
        out.write(head + "".join(line + "\n" for line in words))
