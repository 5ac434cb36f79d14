"""The rounds of `make soak`: each round has another seed, and runs each program in every way.

Called by: __main__.py, tests/unit/test_soak_rounds.py. Promises: a program that fails stops nothing; equal options give
equal runs in equal order; nothing that a run started is alive after it; exit status 0 only if every run passed.
"""

from __future__ import annotations

import argparse
import fnmatch
import signal
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from toolkit.job import ROOT
from toolkit.workplace import EVIDENCE, Workplace

from . import generated
from .catalogue import programs
from .grammar import draw
from .grammar.kinds import KINDS
from .programs import Program
from .results import FAILED, Results, Run
from .ways import PLAIN, Way, available

WRONG_USE = 2


class Expected(NamedTuple):
    """What a program gives plainly."""

    content: Any
    seconds: float


class Soak:
    def __init__(self, programs: list[Program], ways: list[Way], results: Results) -> None:
        self._programs, self._ways, self._results = programs, ways, results
        self._expected: dict[str, Expected | None] = {}

    def run(self, first: int, rounds: int, deadline: float) -> None:
        """Until the rounds or the time are over; 0 rounds: as many as there is time for."""
        for seed, program, way in self._turns(first, rounds):
            if time.monotonic() >= deadline:
                return
            if program.reference and program.name not in self._expected:
                self._expected[program.name] = self._reference(program)
            expected = self._expected.get(program.name)
            if program.reference and expected is None:
                continue  # its failure has been told
            self._one(program, way, seed, expected)

    def _turns(self, first: int, rounds: int) -> Iterator[tuple[int, Program, Way]]:
        seed = first
        while not rounds or seed < first + rounds:
            ways = [one for one in self._ways if one.seeded or seed == first]
            if not ways:
                return
            for program in self._programs:
                for way in ways:
                    if way.under_faults == getattr(program, "under_faults", False):
                        yield seed, program, way
            seed += 1

    def _reference(self, program: Program) -> Expected | None:
        run = Run(program.name, PLAIN.name, None)
        content = self._perform(program, PLAIN, run, None)
        return Expected(content, run.seconds) if run.outcome != FAILED else None

    def _one(self, program: Program, way: Way, seed: int, expected: Expected | None) -> None:
        run = Run(program.name, way.name, seed, reference_seconds=expected.seconds if expected else 0.0)
        run.replay = f'make soak SOAK="--only {program.name} --ways {way.name} --seed {seed} --rounds 1"'
        self._perform(program, way, run, expected)

    def _perform(self, program: Program, way: Way, run: Run, expected: Expected | None) -> Any:
        name = "-".join(str(one) for one in ("soak", run.program, run.way, run.seed) if one is not None)
        place = Workplace(name)
        begun, got, why = time.monotonic(), None, ""
        try:
            got = program.run(place, way, run.seed)
            run.seconds = time.monotonic() - begun
            if expected is not None:
                program.compare(got, expected.content)
        except Exception as error:  # of any kind: the other programs run all the same
            why = str(error) or type(error).__name__
            run.seconds = time.monotonic() - begun
        finally:
            complaints = place.close(bool(why))
        if why or complaints:
            run.outcome, run.why = FAILED, why or "; ".join(complaints)
            run.evidence = str((EVIDENCE / name).relative_to(ROOT))
        self._results.add(run)
        return got


def main(argv: list[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    before = {number: signal.signal(number, _interrupted) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        return _generated(arguments) if arguments.programs or arguments.program else _rounds(arguments)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _generated(arguments: argparse.Namespace) -> int:
    """Programs of the grammar alone."""
    kinds = [one for one in arguments.having.split(",") if one]
    if unknown := [one for one in kinds if one not in KINDS]:
        print(f"soak: no kind {', '.join(unknown)}; known: {', '.join(KINDS)}", file=sys.stderr)
        return WRONG_USE
    if arguments.program:
        drawn = generated.of_file(ROOT / arguments.program)
    else:
        drawn = islice(draw.programs(arguments.seed, kinds), arguments.programs)
    return generated.campaign((ROOT / arguments.json).resolve(), drawn, not arguments.once)


def _rounds(arguments: argparse.Namespace) -> int:
    ways = {one.name: one for one in available()}
    chosen = [one for one in programs() if any(fnmatch.fnmatch(one.name, each) for each in arguments.only.split(","))]
    wanted = arguments.ways.split(",") if arguments.ways else list(ways)
    unknown = [one for one in wanted if one not in ways]
    if unknown or not chosen:
        print(f"soak: no {'way' if unknown else 'program'} like that; --list names all", file=sys.stderr)
        return WRONG_USE
    if arguments.list:
        print("programs:", *(one.name for one in chosen))
        for name in wanted:
            print(f"{name}: {' '.join(ways[name].options)}")
        return 0
    results = Results((ROOT / arguments.json).resolve(), arguments.minutes)
    deadline = time.monotonic() + arguments.minutes * 60
    try:
        Soak(chosen, [ways[name] for name in wanted], results).run(arguments.seed, arguments.rounds, deadline)
    except KeyboardInterrupt:
        print("soak: interrupted", file=sys.stderr)
    results.write()
    print(results.table())
    return 1 if results.failed() or not results.runs else 0


def _interrupted(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="soak", description=(__doc__ or "").split("\n")[0])
    add = parser.add_argument
    add("--minutes", type=float, default=20.0, help="no run begins after so long (%(default)s)")
    add("--rounds", type=int, default=0, help="so many seeds at most; 0: as many as there is time for (%(default)s)")
    add("--seed", type=int, default=1, help="of the first round; each round has the next (%(default)s)")
    add("--only", default="*", metavar="NAME,...", help="programs, with * for a part of their names (all)")
    add("--ways", default="", metavar="NAME,...", help="ways of running (all that this build has)")
    add("--json", type=Path, default=Path("build/soak/soak.json"), metavar="FILE", help="results (%(default)s)")
    add("--programs", type=int, default=0, metavar="N", help="instead: N programs of the grammar, from this seed on")
    add("--program", type=Path, metavar="FILE", help="instead: the program of the grammar that this file has")
    add("--having", default="", metavar="KIND,...", help="these: only those with a part of one of these kinds (all)")
    add("--once", action="store_true", help="these: a second run without faults only where the struck one differs")
    add("--list", action="store_true", help="names programs and ways, and runs nothing")
    return parser
