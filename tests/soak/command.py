"""make soak: the programs, in rounds, each round with another seed and each program with every set of options.

Called by: scripts/soak.py, tests/unit/test_soak.py. Promises: a program that fails stops nothing; equal options give
equal runs in equal order; nothing that a run started is alive after it; exit status 0 only if every run passed.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from toolkit.job import ROOT
from toolkit.workplace import EVIDENCE, Workplace

from .option_sets import OPTION_SETS, with_seed
from .programs import PROGRAMS, Program
from .results import FAILED, Results, Run

WRONG_USE = 2


class Expected(NamedTuple):
    """What a program gives without options."""

    content: Any
    seconds: float


class Soak:
    def __init__(self, programs: list[Program], sets: list[str], results: Results) -> None:
        self._programs, self._sets, self._results = programs, sets, results
        self._expected: dict[str, Expected | None] = {}

    def run(self, first: int, rounds: int, deadline: float) -> None:
        """Until the rounds or the time are over; 0 rounds: as many as there is time for."""
        for seed, program, options in self._turns(first, rounds):
            if time.monotonic() >= deadline:
                return
            if program.reference and program.name not in self._expected:
                self._expected[program.name] = self._reference(program)
            expected = self._expected.get(program.name)
            if program.reference and expected is None:
                continue  # its failure has been told
            self._one(program, options, seed, expected)

    def _turns(self, first: int, rounds: int) -> Iterator[tuple[int, Program, str]]:
        seed = first
        while not rounds or seed < first + rounds:
            for program in self._programs:
                for options in self._sets:
                    yield seed, program, options
            seed += 1

    def _reference(self, program: Program) -> Expected | None:
        run = Run(program.name, "", None)
        content = self._perform(program, run, (), None)
        return Expected(content, run.seconds) if run.outcome != FAILED else None

    def _one(self, program: Program, options: str, seed: int, expected: Expected | None) -> None:
        run = Run(program.name, options, seed, reference_seconds=expected.seconds if expected else 0.0)
        run.replay = f'make soak SOAK="--only {program.name}$ --sets {options} --seed {seed} --rounds 1"'
        self._perform(program, run, with_seed(options, seed), expected)

    def _perform(self, program: Program, run: Run, options: tuple[str, ...], expected: Expected | None) -> Any:
        name = "-".join(str(one) for one in ("soak", run.program, run.options, run.seed) if one not in ("", None))
        place = Workplace(name)
        begun, got, why = time.monotonic(), None, ""
        try:
            got = program.run(place, options, run.seed)
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
    programs = [one for one in PROGRAMS if re.match(arguments.only, one.name)]
    sets = arguments.sets.split(",") if arguments.sets else list(OPTION_SETS)
    unknown = [one for one in sets if one not in OPTION_SETS]
    if unknown or not programs:
        print(f"soak: no {'set of options' if unknown else 'program'} like that; --list names all", file=sys.stderr)
        return WRONG_USE
    if arguments.list:
        print("programs:", *(one.name for one in programs))
        for one in sets:
            print(f"{one}: {' '.join(OPTION_SETS[one])}")
        return 0
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)
    results = Results(Path(arguments.json).resolve(), arguments.minutes)
    try:
        Soak(programs, sets, results).run(arguments.seed, arguments.rounds, time.monotonic() + arguments.minutes * 60)
    except KeyboardInterrupt:
        print("soak: interrupted", file=sys.stderr)
    results.write()
    print(results.summary())
    return 1 if results.failed() or not results.runs else 0


def _interrupted(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="soak", description=(__doc__ or "").split("\n")[0])
    add = parser.add_argument
    add("--minutes", type=float, default=20.0, help="no run begins after so long (%(default)s)")
    add("--rounds", type=int, default=0, help="so many seeds at most; 0: as many as there is time for (%(default)s)")
    add("--seed", type=int, default=1, help="of the first round; each round has the next (%(default)s)")
    add("--only", default="", metavar="REGEX", help="programs whose names begin like this (all)")
    add("--sets", default="", metavar="NAME,...", help="sets of options (all)")
    add("--json", default=str(ROOT / "build" / "soak" / "soak.json"), metavar="FILE", help="results (%(default)s)")
    add("--list", action="store_true", help="names programs and sets of options, and runs nothing")
    return parser
