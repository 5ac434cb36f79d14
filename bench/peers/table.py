"""The table "beside others" of bench/README.md: a row of each case, from all its runs.

Promises: a figure is the median, with the lowest and the highest where they differ; a run that did not finish is
counted and said, and is in no other figure; a process that ended against its library's promise is said in bold.
Nothing else of the page changes than what stands between its two marks, and the commit and the date above them.
Called by: __main__.py; tests/unit/test_peers_table.py.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from .log import Fault

BEGIN, END = "<!-- rows of peers: begin -->", "<!-- rows of peers: end -->"
_STAMP = re.compile(r"`peers`, (?:not run yet|[0-9a-f]+(?:-dirty)?, \d{4}-\d\d-\d\d, \d+ runs of each row)")


@dataclass(frozen=True)
class Row:
    name: str
    pytorch: str
    lines: int  # of the plain program that were changed, added or removed
    survives: bool  # its promise: a process that was not killed goes on
    plain_s: tuple[float, ...]  # a step of the plain program with the same PyTorch, in the same round as each run
    runs: tuple[Fault, ...]

    def cells(self) -> list[str]:
        ended = [one for one in self.runs if one.outcome != "did not finish"]
        firsts = [one.first_new_s for one in ended if one.first_new_s is not None]
        begun = [one.begun_s for one in ended if one.begun_s is not None]
        pairs = [(one.step_s, plain) for one, plain in zip(self.runs, self.plain_s, strict=True) if one.step_s]
        steps, ratios = [step * 1000 for step, _ in pairs], [step / plain for step, plain in pairs]
        back = [one.back_to for one in ended if one.back_to is not None]
        return [
            self.name,
            self.pytorch,
            f"{spread(steps, 1)} ms; {spread(ratios, 2)} times",
            f"{spread(firsts, 2)} s" + (f"; {spread(begun, 2)} s" if begun else "; -") if firsts else "never",
            f"step {spread(back, 0)}" if back else "where it was" if ended else "-",
            f"{spread([one.again for one in ended], 0)}; {spread([one.dropped for one in ended], 0)}",
            self.others(),
            self.weights(),
            str(self.lines),
        ]

    def others(self) -> str:
        """What becomes of a process that was not killed, and how many processes each rank has had."""
        bad = [one for one in self.runs if one.ended]
        started = "; ".join(
            f"{', '.join(map(str, counts))}" + (f" ({times} of {len(self.runs)})" if times < len(self.runs) else "")
            for counts, times in Counter(one.started for one in self.runs).most_common()
        )
        if not bad:
            return f"lives; {started}"
        if not self.survives:
            return f"ends with it; {started}"
        return f"**fails**, {len(bad)} of {len(self.runs)}: it ends ({_most(one.why for one in bad)}); {started}"

    def weights(self) -> str:
        found = Counter(one.outcome for one in self.runs).most_common()
        if len(found) == 1 and found[0][0] != "did not finish":
            return found[0][0]
        why = _most(one.why for one in self.runs if one.outcome == "did not finish")
        said = [f"{outcome} {times} of {len(self.runs)}" for outcome, times in found]
        return ", ".join(said) + (f" ({why})" if why else "")

    def fails(self) -> bool:
        return any(one.outcome == "did not finish" or (self.survives and one.ended) for one in self.runs)

    def line(self) -> str:
        return f"| {' | '.join(self.cells())} |"


def _most(words: object) -> str:
    found = Counter(words).most_common(1)  # type: ignore[call-overload]
    return str(found[0][0]) if found else ""


def spread(values: Sequence[float], digits: int) -> str:
    """The median, and the lowest and the highest where they are not the same when they are printed."""
    if not values:
        return "-"
    middle, low, high = (f"{one:.{digits}f}" for one in (statistics.median(values), min(values), max(values)))
    return middle if low == high else f"{middle} ({low} to {high})"


def plain_line(pytorch: str, steps: Sequence[float]) -> str:
    step = spread([one * 1000 for one in steps], 1)
    return f"| plain program, cpu/gloo | {pytorch} | {step} ms | | | | | | |"


def entered(page: str, rows: Sequence[str], commit: str, date: str, runs: int) -> str:
    """The page with these rows. ValueError where a mark, or the line with the commit, is not there."""
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        raise ValueError("the marks of the table are not there once")
    head, rest = page.split(BEGIN)
    old, tail = rest.split(END)
    titles = [line for line in old.splitlines() if line.startswith("|")][:2]
    head, count = _STAMP.subn(f"`peers`, {commit}, {date}, {runs} runs of each row", head)
    if count != 1 or len(titles) != 2:
        raise ValueError(f"{count} lines with the commit of the figures, {len(titles)} of the table's head")
    return head + "\n".join([BEGIN, "", *titles, *rows, "", END]) + tail
