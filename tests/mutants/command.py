"""`make mutants`: puts each defect in, runs the tests that must notice it, and says which defects they let pass.

Called by: __main__.py, test_mutants_exist.py. Promises: the same tests are run without a defect first, and must pass; a
mutant counts as found only when each of its tests has failed, and a run that ends in another way (no such test, a
module that cannot be imported, no end in time) counts for nothing; exit status 0 only if all were found.
"""

from __future__ import annotations

import argparse
import fnmatch
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from toolkit.campaign import documents, processes
from toolkit.tree import ROOT, commit

from . import native, overlay
from .catalogue import MUTANTS
from .mutant import Mutant, Stale

FOUND, SURVIVES, STALE, BROKEN = "found", "SURVIVES", "STALE", "BROKEN"
#: Of pytest: all tests have passed, some have failed.
PASSED, FAILED = 0, 1
#: For one run of pytest, and for each test in it. Tests have limits of their own.
START_SECONDS, TEST_SECONDS = 120, 120
#: Mutants at a time.
JOBS = 2
WRONG_USE = 2


@dataclass
class Outcome:
    name: str
    says: str
    outcome: str
    seconds: float
    why: str = ""


def run(mutant: Mutant) -> Outcome:
    """Each of its tests, with the defect."""
    begun = time.monotonic()
    outcome, why = FOUND, ""
    try:
        for test, (status, said) in tested(mutant):
            if status == PASSED:
                outcome, why = SURVIVES, f"{test} passes with it"
            elif status != FAILED:
                outcome, why = BROKEN, f"{test}: pytest ended with {status}\n{said[-2000:]}"
            if outcome != FOUND:
                break
    except Stale as error:
        outcome, why = STALE, str(error)
    except SyntaxError as error:
        outcome, why = BROKEN, f"with it {mutant.file} is no Python: {error}"
    except native.NotBuilt as error:
        outcome, why = BROKEN, f"with it {mutant.file} is not built: {error}"
    return Outcome(mutant.name, mutant.says, outcome, round(time.monotonic() - begun, 1), why)


def tested(mutant: Mutant) -> Iterator[tuple[str, tuple[int, str]]]:
    """Each test, and how it ended with the defect."""
    content = mutant.content()
    with tempfile.TemporaryDirectory(prefix="jitc-native-") as folder:
        changed: Mapping[str, str | Path] = {mutant.file: content}
        if native.is_native(mutant.file):
            changed = native.changed(mutant.file, content, Path(folder))
        else:
            compile(content, mutant.file, "exec")
        for test in mutant.tests:
            yield test, pytest_with([test], changed)


def pytest_with(tests: Sequence[str], changed: Mapping[str, str | Path], *, jobs: int = 1) -> tuple[int, str]:
    """Exit status and output of the tests, where these files are others; -1: they did not end."""
    beside = ["-n", str(jobs), "--dist", "loadfile"] if jobs > 1 else []
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *beside, *tests]
    limit = START_SECONDS + TEST_SECONDS * len(tests)
    with tempfile.TemporaryDirectory(prefix="jitc-mutant-") as folder:
        overlay.make(Path(folder), changed)
        env = overlay.environment(Path(folder))
        try:
            done = processes.finished(command, limit, cwd=ROOT, env=env, stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired:
            return -1, f"no end within {limit} s"
    return done.returncode, done.stdout


def without_defect(mutants: Sequence[Mutant], jobs: int) -> str:
    """Empty when all tests pass in the same surroundings, with nothing changed."""
    tests = sorted({test for one in mutants for test in one.tests})
    print(f"without a defect: {len(tests)} tests ... ", end="", flush=True)
    status, said = pytest_with(tests, {}, jobs=jobs)
    print("pass" if status == PASSED else "FAIL", flush=True)
    return "" if status == PASSED else said[-6000:]


def chosen(patterns: Sequence[str]) -> list[Mutant]:
    """Whose name, or file, is like one of the patterns; all of them without a pattern."""
    if not patterns:
        return list(MUTANTS)
    return [one for one in MUTANTS if any(fnmatch.fnmatch(name, p) for name in (one.name, one.file) for p in patterns)]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", metavar="NAMES", help="of these names or files (patterns, with commas)")
    parser.add_argument("--list", action="store_true", help="names, files, and what each would be for a user")
    parser.add_argument("--json", metavar="FILE", type=Path, help="results go there as well")
    parser.add_argument("--jobs", metavar="COUNT", type=int, default=JOBS, help=f"so many at a time ({JOBS})")
    arguments = parser.parse_args(argv)
    mutants = chosen([one for one in (arguments.only or "").split(",") if one])
    if not mutants:
        print(f"mutants: none is called {arguments.only}; --list shows them", file=sys.stderr)
        return WRONG_USE
    if arguments.list:
        print("\n".join(f"{one.name}  ({one.file}): {one.says}" for one in mutants))
        return 0
    if said := without_defect(mutants, arguments.jobs):
        print(said, file=sys.stderr)
        return 1
    outcomes = []
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for number, one in enumerate(pool.map(run, mutants), 1):
            outcomes.append(one)
            _tell(f"[{number}/{len(mutants)}]", one)
    if arguments.json is not None:
        documents.write(arguments.json, {"commit": commit(), "mutants": [asdict(one) for one in outcomes]})
    left = [one.name for one in outcomes if one.outcome != FOUND]
    print(f"{len(outcomes) - len(left)} of {len(outcomes)} are found" + (f"; not {', '.join(left)}" * bool(left)))
    return 1 if left else 0


def _tell(where: str, one: Outcome) -> None:
    print(f"{where} {one.name}: {one.outcome} ({one.seconds} s)", flush=True)
    if one.outcome != FOUND:
        print(f"    a user would meet: {one.says}\n    {one.why}", flush=True)
