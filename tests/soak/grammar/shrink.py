"""Makes a failing program small: without ranks, parts, iterations and faults that the failure does not need.

Called by: campaign.py, tests. Promises: it tries in an order that only the program decides, and no more often than it
may; what it gives fails, and when it had tries left no single change of `smaller` fails any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from .kinds import KINDS
from .model import Part, Program, fitting


def shrink(program: Program, fails: Callable[[Program], bool], tries: int) -> tuple[Program, int]:
    """The smallest program found, and how many tries were needed."""
    used, found, seen = 0, program, {program.text()}
    while True:
        for one in smaller(found):
            if one.text() in seen:
                continue
            if used == tries:
                return found, used
            seen.add(one.text())
            used += 1
            if fails(one):
                found = one
                break
        else:
            return found, used


def smaller(program: Program) -> Iterator[Program]:
    """Programs that are simpler in one place, those that lose most first."""
    for one in _candidates(program):
        fit = fitting(one)
        if fit and fit != program and (fit.faults or not program.faults):
            yield fit


def _candidates(program: Program) -> Iterator[Program]:
    for parts in _without_one(program.parts):
        yield replace(program, parts=parts)
    if len(program.faults) > 1:  # without any, nothing of it is left to be compared
        for faults in _without_one(program.faults):
            yield replace(program, faults=faults)
    if program.ranks > 1:
        yield replace(program, ranks=program.ranks - 1)
        yield _without_first_rank(program)
    for iterations in (program.iterations // 2, program.iterations - 1):
        if iterations > max((one.iteration for one in program.faults), default=1):
            yield replace(program, iterations=iterations)
    for at, part in enumerate(program.parts):
        for simpler in _simpler(part):
            yield replace(program, parts=(*program.parts[:at], simpler, *program.parts[at + 1 :]))
    if program.width > 16:
        yield replace(program, width=16)
    for at, fault in enumerate(program.faults):
        for change in ({"iteration": fault.iteration // 2}, {"after": fault.after // 2}):
            if change.get("iteration", 1):
                faults = (*program.faults[:at], replace(fault, **change), *program.faults[at + 1 :])  # type: ignore[arg-type]
                yield replace(program, faults=faults)


def _without_one(some: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    return (some[:at] + some[at + 1 :] for at in range(len(some)))


def _without_first_rank(program: Program) -> Program:
    """The others have the next smaller number."""
    parts = tuple(replace(one, ranks=tuple(rank - 1 for rank in one.ranks if rank)) for one in program.parts)
    faults = tuple(replace(one, rank=one.rank - 1) if one.rank > 0 else one for one in program.faults)
    return replace(program, ranks=program.ranks - 1, parts=parts, faults=faults)


def _simpler(part: Part) -> Iterator[Part]:
    if part.every > 1:
        yield replace(part, every=1)
    for members in _without_one(part.ranks):
        if len(members) >= KINDS[part.kind].least:
            yield replace(part, ranks=members)
    for name, values in KINDS[part.kind].choices.items():
        for value in values[: values.index(part.choices[name])]:
            yield replace(part, choices={**part.choices, name: value})
