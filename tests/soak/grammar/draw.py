"""Draws a program, and what happens to it, from a seed.

Called by: campaign.py, tests. Promises: equal seeds give equal programs, on every machine; each is one that
guarantees.md promises to recover; a few seconds at most on two cores.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import count

from .kinds import KINDS
from .model import ALL, INJECT, KILL, Fault, Part, Program, fitting

PHASES = ("forward", "backward", "optimizer", "collective", "copy", "boundary")
#: How many ranks, parts and faults, by how often.
RANKS, PARTS, FAULTS = (1, 2, 2, 2, 3, 3), (1, 2, 2, 3, 3, 4), (1, 1, 2, 2, 3)
SIMPLE = 0.25  # how often a choice is the simplest one, beside when it is drawn anyway


def program(seed: int) -> Program:
    source = random.Random(seed)
    ranks, iterations = source.choice(RANKS), source.randint(6, 16)
    width = source.choice((16, 32, 64))
    kinds = ["learn", *_kinds(source, ranks)]
    source.shuffle(kinds)
    parts = tuple(_part(source, kind, ranks) for kind in kinds)
    faults = tuple(_fault(source, ranks, iterations) for _ in range(source.choice(FAULTS)))
    made = fitting(Program(seed, ranks, iterations, width, parts, faults))
    assert made
    return made


def programs(first: int, kinds: Sequence[str] = ()) -> Iterator[tuple[int, Program]]:
    """Of the seeds from this one on, those that have a part of one of these kinds; of no kinds: all."""
    for seed in count(first):
        made = program(seed)
        if not kinds or any(one.kind in kinds for one in made.parts):
            yield seed, made


def _kinds(source: random.Random, ranks: int) -> list[str]:
    possible = [name for name, kind in KINDS.items() if kind.least <= ranks]
    weights = [KINDS[name].weight for name in possible]
    return source.choices(possible, weights, k=source.choice(PARTS) - 1)


def _part(source: random.Random, kind: str, ranks: int) -> Part:
    least = KINDS[kind].least
    members = tuple(range(ranks))
    if ranks > least and source.random() < 0.35:
        members = tuple(sorted(source.sample(members, source.randint(least, ranks - 1))))
    chosen = {
        name: values[0] if source.random() < SIMPLE else source.choice(values)
        for name, values in KINDS[kind].choices.items()
    }
    return Part(kind, members, chosen, source.choice((1, 1, 1, 2, 3)))


def _fault(source: random.Random, ranks: int, iterations: int) -> Fault:
    rank, iteration = source.randrange(ranks), source.randrange(1, iterations)
    kind = source.random()
    if kind < 0.5:
        victim = ALL if source.random() < 0.15 else rank
        return Fault(KILL, victim, iteration, source.randrange(40))
    iteration = min(iteration, iterations - 3)  # what does not fire is in the way of the next program
    if kind < 0.8:
        fault = "sticky-error" if source.random() < 0.2 else "kill-worker"
        return Fault(INJECT, rank, iteration, source.randrange(1, 80), fault=fault)
    return Fault(INJECT, rank, iteration, source.randrange(6), source.choice(PHASES))
