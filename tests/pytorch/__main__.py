"""PyTorch's own tests on the software device, compared with what is expected of each.

Called by: `make pytorch-tests`. Results are kept below build/pytorch-tests, so that a run can be continued.
Exit status: 0 all as expected, 1 not, 2 wrong use or no test files, 3 stopped before the end (--minutes).
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from toolkit.campaign import documents

from . import expected, fetch, table
from .processes import CannotRun, Place, Result, listed, results
from .suite import FILES, SuiteFile, named

RESULTS = fetch.BASE / "results"


class Run:
    """One test file: its tests, what of them is done, what is left."""

    def __init__(self, file: SuiteFile, sources: Path, packages: Path) -> None:
        self.file = file
        RESULTS.mkdir(parents=True, exist_ok=True)
        self._kept = RESULTS / f"{file.name}.jsonl"
        self._names = RESULTS / f"{file.name}.tests"
        self._sources, self._packages = sources, packages
        self._lock = threading.Lock()
        self.expectations = expected.read(file.name)
        self.done: dict[str, Result] = {}
        self.tests: list[str] = []
        self.all_tests: list[str] = []

    def prepare(self, continued: bool, only: list[str]) -> None:
        if not continued or not self._names.is_file():
            self._names.write_text("\n".join(listed(self._place("list"), self.file)))
        self.tests = self.all_tests = self._names.read_text().split()
        if only:
            unknown = [one for one in only if not any(_matches(one, name) for name in self.tests)]
            if unknown:
                raise CannotRun(f"{self.file.path} has no test {unknown[0]}")
            self.tests = [name for name in self.tests if any(_matches(one, name) for one in only)]
        if continued and self._kept.is_file():
            kept = [Result(**json.loads(line)) for line in self._kept.read_text().splitlines()]
            self.done = {one.test: one for one in kept if one.test in self.tests}
        elif not only:
            self._kept.unlink(missing_ok=True)

    def left(self) -> list[str]:
        return [one for one in self.tests if one not in self.done and self.expectations.of(one).outcome != "left out"]

    def go(self, tests: list[str], shard: int, until: float) -> None:
        """First what should pass; what should not may leave a mess, so that what ends in another way there is run again
        without the others."""
        place, again = self._place(str(shard)), []
        good = [one for one in tests if self.expectations.of(one) is expected.PASSES]
        bad = [one for one in tests if one not in good]
        for one in results(place, self.file, good, isolated=True):
            self._keep(one)
            if time.monotonic() > until:
                return
        for one in results(place, self.file, bad, isolated=False):
            if expected.agrees(self.expectations.of(one.test), one.outcome):
                self._keep(one)
            else:
                again.append(one.test)
            if time.monotonic() > until:
                return
        for name in again:
            for one in results(place, self.file, [name], isolated=True):
                self._keep(one)

    def _keep(self, one: Result) -> None:
        with self._lock:
            self.done[one.test] = one
            with self._kept.open("a") as out:
                out.write(json.dumps(asdict(one)) + "\n")
            line = self.expectations.of(one.test)
            note = "" if expected.agrees(line, one.outcome) else f"   EXPECTED: {line.outcome}"
            print(
                f"{len(self.done):>5}/{len(self.tests)} {one.outcome:<8}{one.test} {one.seconds:.0f} s{note}",
                flush=True,
            )

    def _place(self, shard: str) -> Place:
        logs = fetch.BASE / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        return Place(self._sources, self._packages, logs / f"{self.file.name}.{shard}.log")


def _matches(pattern: str, name: str) -> bool:
    import fnmatch

    return fnmatch.fnmatchcase(name, pattern) or name.rpartition(".")[2] == pattern


def chosen(words: list[str]) -> dict[SuiteFile, list[str]]:
    """Files and, of each, the tests that the user named; none: all."""
    if not words:
        return {file: [] for file in FILES}
    out: dict[SuiteFile, list[str]] = {}
    for word in words:
        name, _, test = word.partition("::")
        file = named(name)
        if file is None:
            raise fetch.FetchError(f"{name} is none of {', '.join(one.name for one in FILES)}")
        out.setdefault(file, [])
        if test:
            out[file].append(test.replace("::", "."))
    return out


def run_file(run: Run, shards: int, until: float) -> None:
    left = run.left()
    print(f"== {run.file.path}: {len(run.tests)} tests, {len(left)} to run", flush=True)
    parts = [part for number in range(shards) if (part := left[number::shards])]
    with ThreadPoolExecutor(max(len(parts), 1)) as pool:
        for one in [pool.submit(run.go, part, number, until) for number, part in enumerate(parts)]:
            one.result()


def report(run: Run, accept: bool) -> int:
    """What is not as expected; how many tests that is."""
    wrong = []
    for name, one in sorted(run.done.items()):
        line = run.expectations.of(name)
        if expected.agrees(line, one.outcome):
            continue
        wrong.append((name, one.outcome, one.why))
        new = line is expected.PASSES
        print(
            f"  {name}: {'' if new else f'expected {line.outcome} ({line.kind}), but '}{one.outcome}: {one.why[:200]}"
        )
    for line in run.expectations.unused(run.all_tests) if not run.left() else []:
        print(f"  expected/{run.file.name}.txt names {line.pattern}, which is no test")
    if accept:
        expected.add(run.file.name, [one for one in wrong if run.expectations.of(one[0]) is expected.PASSES])
    return len(wrong)


def options() -> argparse.Namespace:
    arguments = argparse.ArgumentParser(prog="python -m pytorch", description=(__doc__ or "").split("\n")[0])
    arguments.add_argument(
        "--only", metavar="FILE[::TEST]", action="append", default=[], help="a file, or tests of it (* stands for any)"
    )
    arguments.add_argument("--shards", type=int, default=2, help="processes that run tests of a file at once (2)")
    arguments.add_argument("--minutes", type=float, default=0, help="stop after so long; --continue goes on then")
    arguments.add_argument("--continue", action="store_true", dest="continued", help="keep the results that are there")
    arguments.add_argument("--failed", action="store_true", help="of the results that are there, run again what failed")
    arguments.add_argument("--source", metavar="PATH", help="sources of PyTorch (folder or tar) instead of Debian's")
    arguments.add_argument("--json", metavar="FILE", help="also write the results to FILE")
    arguments.add_argument(
        "--table", metavar="FILE", help="also write docs/pytorch-tests.md (of all results there are)"
    )
    arguments.add_argument(
        "--accept", action="store_true", help="add what newly fails to the expectations, as unexplained"
    )
    arguments.add_argument("--list", action="store_true", help="print the files and end")
    return arguments.parse_args()


def main() -> int:
    args = options()
    if args.list:
        print("\n".join(f"{one.name:<60}{one.gpus} GPU" for one in FILES))
        return 0
    try:
        files = chosen(args.only)
        sources, packages = fetch.sources(args.source), fetch.packages()
        until = time.monotonic() + args.minutes * 60 if args.minutes else float("inf")
        runs = [Run(file, sources, packages) for file in files]
        for run in runs:
            run.prepare(args.continued or args.failed, files[run.file])
            if args.failed:
                run.done = {name: one for name, one in run.done.items() if one.outcome in ("passed", "skipped")}
            if time.monotonic() < until:
                run_file(run, args.shards, until)
    except (fetch.FetchError, expected.BadExpectation, CannotRun) as error:
        print(f"pytorch-tests: {error}", file=sys.stderr)
        return 2
    return conclude(runs, args)


def conclude(runs: list[Run], args: argparse.Namespace) -> int:
    wrong = left = 0
    for run in runs:
        counts = table.counts(run.tests, run.done, run.expectations)
        print(f"== {run.file.name}: {table.in_words(counts)}")
        wrong += report(run, args.accept)
        left += len(run.left())
    if args.json:
        everything = {run.file.name: [asdict(one) for one in run.done.values()] for run in runs}
        documents.write(Path(args.json), everything)
    if args.table:
        table.write(Path(args.table), {run.file.name: (run.tests, run.done, run.expectations) for run in runs})
    if left:
        print(f"{left} tests are left: the same command with --continue goes on")
        return 3
    print("all as expected" if not wrong else f"{wrong} tests are not as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
