"""What a program of the grammar is: plain data that script/ executes, and JSON.

Called by: all of grammar/. Promises: what JSON gives back equals what was written; `fitting` makes a program of any
that was changed, or says that nothing is left of it, so that shrinking is to drop and to simplify.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from .kinds import KINDS

#: Of all workers of the job; any other number is a rank.
ALL = -1
KILL, INJECT = "kill -9", "inject"


@dataclass(frozen=True)
class Part:
    """Something that its ranks do in every so-many-th iteration; what the choices mean: kinds.py."""

    kind: str
    ranks: tuple[int, ...]
    choices: Mapping[str, str | int]
    every: int = 1


@dataclass(frozen=True)
class Fault:
    """When this rank comes to this iteration. KILL: its worker, so many milliseconds later. INJECT: `jitc inject`,
    before the rank goes on; the fault fires after so many ops, or so many of the phase."""

    what: str
    rank: int
    iteration: int
    after: int
    phase: str = ""
    fault: str = "kill-worker"  # what is injected

    def text(self) -> str:
        whose = "all workers" if self.rank == ALL else f"rank {self.rank}"
        if self.what == KILL:
            return f"iteration {self.iteration}: kill -9 of {whose} {self.after} ms later"
        return (
            f"iteration {self.iteration}: inject {self.fault} into {whose} after {self.after} ops {self.phase}".rstrip()
        )


@dataclass(frozen=True)
class Program:
    seed: int  # of weights and data
    ranks: int
    iterations: int
    width: int
    parts: tuple[Part, ...]
    faults: tuple[Fault, ...] = ()

    def text(self) -> str:
        return json.dumps(asdict(self), indent=1) + "\n"

    def summary(self) -> str:
        """For a line: ranks, and what the parts are when it is not the simplest."""
        return f"{self.ranks} ranks, {self.iterations} iterations: " + "; ".join(map(described, self.parts))


def described(part: Part) -> str:
    simplest = KINDS[part.kind].choices
    odd = [f"{value}" for name, value in part.choices.items() if value != simplest[name][0]]
    return " ".join([part.kind, *odd])


def read(text: str) -> Program:
    document: dict[str, Any] = json.loads(text)
    parts = tuple(Part(**{**one, "ranks": tuple(one["ranks"])}) for one in document.pop("parts"))
    return Program(parts=parts, faults=tuple(Fault(**one) for one in document.pop("faults")), **document)


def fitting(program: Program) -> Program | None:
    """The program without ranks and moments that it does not have; None: no part is left."""
    parts = []
    for one in program.parts:
        ranks = tuple(rank for rank in one.ranks if rank < program.ranks)
        if len(ranks) >= KINDS[one.kind].least:
            parts.append(replace(one, ranks=ranks, choices=_fitting(one, len(ranks))))
    faults = tuple(one for one in program.faults if one.rank < program.ranks and one.iteration < program.iterations)
    return replace(program, parts=_without_circles(parts), faults=faults) if parts else None


def _without_circles(parts: list[Part]) -> tuple[Part, ...]:
    """Memory given back to CUDA waits for all work of its GPU, also for other threads' collectives and messages that
    are sent later. Two ranks that give back would each wait for what the other does then, as on a GPU: one may."""
    giving = [one.ranks[0] for one in parts if _gives_back(one)]
    if not giving or not any(map(_others_wait, parts)):
        return tuple(parts)
    return tuple(_of_one_rank(one, giving[0]) if _gives_back(one) else one for one in parts)


def _of_one_rank(part: Part, rank: int) -> Part:
    if part.kind == "allocator" and rank in part.ranks:
        return replace(part, ranks=(rank,))
    return part if part.ranks == (rank,) else replace(part, choices={**part.choices, **_KEPT[part.kind]})


#: What gives no memory back to CUDA.
_KEPT: dict[str, dict[str, str | int]] = {"allocator": {"turned": "expandable"}, "buffer": {"memory": "caching"}}


def _gives_back(part: Part) -> bool:
    return "off" in (part.choices.get("turned"), part.choices.get("memory"))


def _others_wait(part: Part) -> bool:
    return part.kind in ("talk", "ahead") or (part.kind == "threads" and part.choices["together"] == "averaged")


def _fitting(part: Part, members: int) -> dict[str, str | int]:
    """Choices that exclude each other become the simplest ones."""
    chosen = {name: part.choices.get(name, values[0]) for name, values in KINDS[part.kind].choices.items()}
    if members < 2 and "together" in chosen:
        chosen["together"] = "alone"
    if part.kind == "learn":
        return _learn(chosen)
    if part.kind == "threads":
        return _threads(chosen)
    return _child(chosen) if part.kind == "child" else chosen


def _learn(chosen: dict[str, str | int]) -> dict[str, str | int]:
    if chosen["together"] in ("ddp", "averaged"):
        chosen["steps"] = "equal"  # these ranks step together
    if chosen["together"] == "join":
        chosen |= {"accumulate": 1, "optimizers": 1, "loss": "end", "clip": "no"}
    return chosen


def _threads(chosen: dict[str, str | int]) -> dict[str, str | int]:
    if chosen["steps"] == "hooks":  # there a backward pass makes the steps
        chosen["together"] = "alone"
    if chosen["together"] == "averaged":
        # Ranks come to the collectives of their threads in different order: on one stream they would wait in a circle.
        chosen |= {"stream": "own", "gpus": "one"}
    return chosen


def _child(chosen: dict[str, str | int]) -> dict[str, str | int]:
    if chosen["made"] in ("executor", "subprocess") or chosen["lives"] == "early":
        chosen["gives"] = "pipe"  # the others do not have the rank's memory
    if chosen["made"] == "executor":
        chosen |= {"ends": "well", "thread": "main"}  # it starts and ends its processes by itself
    return chosen
