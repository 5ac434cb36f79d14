"""`jitc report` as a table of recoveries with lines below each, and everything else of a report as lines.

Called by: colour.py, follow.py. Promise: all that the plain text says is there, at any width.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from ..questions.text import (
    from_peers,
    other_lines,
    places,
    recovery_details,
    recovery_lines,
    silent,
    size,
    validation_lines,
)
from ..questions.users import with_users
from .grid import Column, Grid, Row, line, shown

Numbered = tuple[int, Mapping[str, Any]]

_RECOVERIES = (
    Column("#", right=True), Column("time", leaves=1), Column("job", least=15), Column("GPU", leaves=2, least=8),
    Column("cause"), Column("decision", leaves=4), Column("restored", leaves=5, least=40),
    Column("seconds", right=True, leaves=3), Column("outcome", least=14),
)  # fmt: skip


def report(document: Mapping[str, Any]) -> RenderableType:
    """Returns the whole picture: a table for each day on which there were recoveries."""
    document = with_users(document)
    numbered: Sequence[Numbered] = list(enumerate(document["recoveries"], 1))
    parts: list[RenderableType] = [] if numbered else [line("no recoveries so far")]
    for day, some in groupby(numbered, key=lambda one: _local(one[1], "%Y-%m-%d")):
        parts += [Text(f"recoveries of {day}", "bold"), Grid(_RECOVERIES, [_row(*one) for one in some]), Text()]
    others = [*map(line, other_lines(document)), *(line(one, "red") for one in silent(document))]
    if not others and numbered:
        parts.pop()
    return Group(*parts, *others)


def _row(number: int, one: Mapping[str, Any]) -> Row:
    outcome = one["outcome"]
    brief = outcome.partition(":")[0].partition(",")[0]
    decision = one["decision"] if one["boundary"] is None else f"{one['decision']} to {one['boundary']}"
    gpus = places(one) or [str(one["gpu"])]
    cells = (
        shown(number), shown(_local(one, "%H:%M:%S")), shown(one["job"]), shown(", ".join(gpus)),
        shown(one["cause"]), shown(decision), shown(f"{size(one['bytes_restored'])}{from_peers(one)}"),
        shown(f"{one['seconds']:.3f}"), shown(brief, _style(outcome)),
    )  # fmt: skip
    whole = [] if brief == outcome else [shown(outcome, _style(outcome))]
    phases, *others = recovery_details(one)
    return Row(cells, [*whole, shown(phases, "dim"), *map(shown, others)])


def single(number: int, one: Mapping[str, Any]) -> RenderableType:
    """Returns one recovery as lines, the first of which begins with the time."""
    first, *others = recovery_lines(number, one)
    head = shown(f"{_local(one, '%H:%M:%S')}  {first}")
    head.highlight_words([shown(one["outcome"]).plain], _style(one["outcome"]))
    return Group(head, *map(line, others))


def validation(one: Mapping[str, Any]) -> RenderableType:
    """Returns the verdict of `jitc validate`."""
    first, *others = validation_lines(dict(one))
    verdict = one["outcome"]
    head = shown(first)
    head.highlight_words([verdict], {"identical": "green", "different": "red"}.get(verdict, "yellow"))
    return Group(head, *map(line, others))


def _style(outcome: str) -> str:
    if outcome.startswith(("not proven", "given up")):
        return "red"
    return "green" if outcome == "recovered" else "yellow"


def _local(one: Mapping[str, Any], form: str) -> str:
    """Returns the local time at which a recovery was reported."""
    return time.strftime(form, time.localtime(one["time"]))
