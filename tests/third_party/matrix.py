"""`make third-party`: programs built on libraries that nobody here wrote, on the software device.

Each case runs without faults, then once for every further way (`--shuffle`, each worker killed twice), and, where the
program has such a run, on the CPU. Losses of every step and the bytes of all weights must be those of the run without
faults; losses are compared with the CPU's within a bound. Results go to JSON, `--table` writes docs/third-party.md.
Output and results of a run that went wrong stay in build/third-party/runs/CASE/WAY, with the command that repeats it.
"""

from __future__ import annotations

import argparse
import sys
import time
from math import inf, isfinite
from pathlib import Path
from typing import Any

from toolkit.campaign import documents
from toolkit.tree import ROOT, commit

from . import reports
from .cases import CASES, Case
from .environments import PINS, CannotInstall, python_of
from .execution import Run, Way, Wrong, execute

RESULTS = ROOT / "build" / "third-party" / "results.json"
WAYS = {
    one.name: one
    for one in (Way("plain"), Way("shuffle", ("--shuffle", "7")), Way("kills", kills=2), Way("cpu", device="cpu"))
}


def agree(reference: Run, other: Run, bound: float | None) -> str:
    """Empty when the runs agree: to the last bit, or within the bound for the losses alone."""
    for rank, (mine, theirs) in enumerate(zip(reference.ranks, other.ranks, strict=True)):
        if bound is None:
            if mine != theirs:
                what = "losses" if mine["losses"] != theirs["losses"] else "weights"
                return f"{what} of rank {rank} differ"
            continue
        if len(mine["losses"]) != len(theirs["losses"]):
            return f"rank {rank} has {len(mine['losses'])} losses, on the CPU {len(theirs['losses'])}"
        pairs = zip(mine["losses"], theirs["losses"], strict=True)
        # Infinite where one of them is no number, which no comparison would notice.
        apart = (abs(a - b) / max(abs(a), 1e-9) if isfinite(a - b) else inf for a, b in pairs)
        if (worst := max(apart, default=0.0)) > bound:
            return f"losses of rank {rank} differ from the CPU's by {worst:.1e}"
    return ""


def origin() -> str:
    """Of a result: the sources that it is of, and the day."""
    return f"{commit()}, {documents.today()}"


def one_case(case: Case, ways: list[str], limit: float) -> dict[str, Any]:
    """What each way of running the case came to."""
    found: dict[str, Any] = {"case": case.name, "pins": PINS[case.environment], "ranks": case.ranks, "ways": {}}
    found["origin"] = origin()
    try:
        python = python_of(case.environment)
    except CannotInstall as error:
        found["ways"] = {"plain": f"cannot be installed: {error}"}
        return found
    reference: Run | None = None
    for way in ["plain", *(one for one in ways if one != "plain")]:
        started = time.monotonic()
        try:
            run = execute(case, python, WAYS[way], limit, reference)
            reference = reference or run
            said = agree(reference, run, case.cpu if way == "cpu" else None)
            found["struck"] = run.struck or found.get("struck", ())
        except Wrong as error:
            said = str(error)
        found["ways"][way] = said or "equal"
        print(f"   {way}: {said or 'equal'} ({time.monotonic() - started:.0f} s)", flush=True)
        if reference is None:
            break
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="TEXT", help="cases whose name or environment contains this")
    parser.add_argument("--ways", default="shuffle,kills,cpu", help="of shuffle, kills, cpu (all)")
    parser.add_argument("--limit", type=float, default=300, metavar="S", help="seconds that one run may take (300)")
    parser.add_argument("--json", type=Path, default=RESULTS, help="where the results go (build/third-party)")
    parser.add_argument("--table", action="store_true", help="write docs/third-party.md from the results; runs nothing")
    parser.add_argument("--reports", action="store_true", help="run the programs after public bug reports instead")
    parser.add_argument("--list", action="store_true", help="the cases; runs nothing")
    given = parser.parse_args()
    if given.table:
        from .table import write

        write(documents.read(given.json, []), ROOT / "docs" / "third-party.md", documents.read(reports.RESULTS, {}))
        return 0
    if given.reports:
        return reports.run(origin)
    wanted = [one for one in CASES if not given.only or given.only in one.name or given.only in one.environment]
    if given.list or not wanted:
        print("\n".join(f"{one.environment}: {one.name}" for one in wanted or CASES))
        return 0 if wanted else 2
    results = {one["case"]: one for one in documents.read(given.json, [])}
    for number, case in enumerate(wanted, 1):
        print(f"== {number} of {len(wanted)}: {case.name} ({case.environment})", flush=True)
        ways = [one for one in given.ways.split(",") if one != "cpu" or case.cpu is not None]
        results[case.name] = one_case(case, ways, given.limit)
        documents.write(given.json, list(results.values()))
    bad = [one.name for one in wanted if any(way != "equal" for way in results[one.name]["ways"].values())]
    print(f"{len(wanted) - len(bad)} passed, {len(bad)} failed" + "".join(f"\n   {name}" for name in bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
