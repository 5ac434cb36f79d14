"""`jitc doctor` as text: a heading for each group, a line for each check, the remedy below it, the counts at the end.

Called by: command.py. Promise: the same findings give the same text, on a terminal and in a pipe; no word is broken.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from .check import VERDICTS, Result

_WIDTH, _VERDICT, _NAME = 80, 9, 16
_HANGING = " " * (_VERDICT + _NAME)


def text(results: Sequence[Result]) -> str:
    """Returns all lines."""
    lines: list[str] = []
    group = ""
    for one in results:
        if one.group != group:
            group = one.group
            lines += [""] * bool(lines) + [group]
        lines += _of(one)
    counts = counted(results)
    return "\n".join([*lines, "", ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS)])


def counted(results: Sequence[Result]) -> dict[str, int]:
    """Returns how many checks have each verdict."""
    return {verdict: sum(one.finding.verdict == verdict for one in results) for verdict in VERDICTS}


def _of(result: Result) -> list[str]:
    head = f"{result.finding.verdict:{_VERDICT}}{result.name:{_NAME}}"
    lines = _wrapped(result.finding.says, head, _HANGING)
    return lines + (
        _wrapped(result.finding.remedy, f"{_HANGING}-> ", f"{_HANGING}   ") if result.finding.remedy else []
    )


def _wrapped(words: str, first: str, next_: str) -> list[str]:
    return textwrap.wrap(
        words, _WIDTH, initial_indent=first, subsequent_indent=next_, break_on_hyphens=False, break_long_words=False
    )
