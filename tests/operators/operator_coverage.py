"""PyTorch's own operator samples (OpInfo) on the software device, compared with the CPU: results, gradients, and what
happens to every argument, as functions, in place and into given results; random operators by distribution.

    operator_coverage.py --page                      through a service; writes docs/operator-coverage.md
    operator_coverage.py --stand-in --json FILE 3 7  entries 3 and 7, in one process

The entries run in several processes one after another, so that an entry that crashes or hangs costs only itself.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import coverage_page  # with it toolkit is found
from toolkit import stand_in
from toolkit.campaign import documents, processes

#: Entries that must pass.
GOAL = 730
SHARD = Path(__file__).with_name("operator_shard.py")


def shard(
    numbers: list[int], env: dict[str, str], options: list[str], limit: float
) -> tuple[list[dict[str, Any]], int]:
    """Results of these entries up to the first that ends the process or takes longer than limit."""
    command = [sys.executable, str(SHARD), *options, *map(str, numbers)]
    results: list[dict[str, Any]] = []
    running: dict[str, Any] | None = None
    count, late, time_left = 0, False, processes.Limit(limit * 2)  # the start takes longer
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        with processes.started(command, env=env, stdout=subprocess.PIPE, stderr=errors) as process:
            try:
                for line in processes.lines(process, time_left):
                    time_left.begin(limit)
                    said = json.loads(line)
                    count = said.get("count", count)
                    running = None if "result" in said else said if "entry" in said else running
                    if "result" in said:
                        results.append(said)
            except subprocess.TimeoutExpired:
                late = True
        errors.seek(0)
        last = errors.readlines()
    if running is not None:
        ended = f"process ended with {process.returncode}: {''.join(last[-3:]).strip()}"
        why = f"no result after {limit:.0f} s" if late else ended
        results.append({**running, "result": "failed", "why": why, "failed": {"process": why}})
    elif process.returncode and not results:
        raise SystemExit(f"the comparison does not start:\n{''.join(last[-20:])}")
    return results, count


def run_all(env: dict[str, str], options: list[str], args: argparse.Namespace, known: Any) -> dict[str, Any]:
    """known: what there is already. Stops after a shard when the time is over; what each shard found is kept in --json
    at once, so that a run which is ended costs one shard. An entry that is run again keeps its result until then.
    """
    began, commit = time.monotonic(), coverage_page.commit()
    _, count = shard([], env, options, args.limit)
    results: dict[int, dict[str, Any]] = {one["entry"]: one for one in known["results"]}
    left = [number for number in args.entries or range(count) if args.again or number not in results]
    while left and time.monotonic() - began < args.seconds:
        done, _ = shard(left[: args.size], env, options, args.limit)
        results |= {one["entry"]: {**one, "commit": commit, "most_samples": args.samples} for one in done}
        finished = {one["entry"] for one in done}
        left = [number for number in left if number not in finished]
        passed = sum(one["result"] == "passed" for one in results.values())
        print(f"{len(results)} entries, {passed} passed, {len(left)} left", file=sys.stderr, flush=True)
        if args.json:
            documents.write(args.json, figures(known, results, left, time.monotonic() - began))
    return figures(known, results, left, time.monotonic() - began)


def figures(
    known: dict[str, Any], results: dict[int, dict[str, Any]], left: list[int], seconds: float
) -> dict[str, Any]:
    found = [results[number] for number in sorted(results)]
    return {**known, "left": len(left), "seconds": round(known["seconds"] + seconds), "results": found}


def report(results: list[dict[str, Any]]) -> int:
    """How many pass."""
    for one in results:
        if one["result"] != "passed":
            print(f"{one['result']:<8} {one['name']:<44} {one['why']}")
    counts = {kind: sum(one["result"] == kind for one in results) for kind in ("passed", "failed", "skipped")}
    print(f"{counts['passed']} of {len(results)} pass, {counts['failed']} fail, {counts['skipped']} skipped")
    return counts["passed"]


def options() -> argparse.Namespace:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    arguments.add_argument("--json", metavar="FILE", type=Path, help="also write the results to FILE")
    arguments.add_argument("--resume", action="store_true", help="go on with the results that FILE has")
    arguments.add_argument(
        "--page", action="store_true", help="write docs/operator-coverage.md when all entries are done"
    )
    arguments.add_argument(
        "--again", action="store_true",
        help="with --resume and entries: these once more, though the sources or the number of samples are others",
    )  # fmt: skip
    arguments.add_argument("--stand-in", action="store_true", help="without service and worker, in one process")
    arguments.add_argument("--limit", type=float, default=300.0, help="seconds that one entry may take")
    arguments.add_argument("--seconds", type=float, default=float("inf"), help="stop between two processes after this")
    arguments.add_argument("--size", type=int, default=40, help="entries per process")
    arguments.add_argument("--samples", type=int, default=64, help="samples per entry at most")
    arguments.add_argument("entries", type=int, nargs="*", help="numbers of entries, all by default")
    args = arguments.parse_args()
    if args.resume and not args.json:
        arguments.error("--resume needs --json FILE")
    if args.again and not (args.resume and args.entries):
        arguments.error("--again needs --resume and entries")
    return args


def resumed(before: dict[str, Any], now: dict[str, Any], again: bool) -> dict[str, Any]:
    """The earlier results, if they are of the same sources and samples, or some are made again from others."""
    if again:
        now = {**now, "commit": before["commit"], "most_samples": before["most_samples"]}
    other = [f"{key} {before[key]}" for key in ("commit", "torch", "device", "most_samples") if before[key] != now[key]]
    if other:
        raise SystemExit(f"the results that are there are of {', '.join(other)}: begin with another --json FILE")
    return before


def main() -> int:
    args = options()
    known: dict[str, Any] = {**coverage_page.origin(args.stand_in, args.samples), "seconds": 0, "results": []}
    if args.resume and (before := documents.read(args.json, None)):
        known = resumed(before, known, args.again)
    threads = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    shards = ["--samples", str(args.samples)]
    if args.stand_in:
        found = run_all(stand_in.environment(**threads), [*shards, "--matrix-products"], args, known)
    else:
        from toolkit.job import PRELOAD
        from toolkit.workplace import opened

        with opened("operator_coverage") as place:
            env = {**place.service(1).env, **threads, "LD_PRELOAD": str(PRELOAD)}
            found = run_all(env, shards, args, known)
    if args.json:
        documents.write(args.json, found)
    passed = report(found["results"])
    if found["left"]:
        print(f"{found['left']} entries left")
        return 3
    if args.page:
        coverage_page.write(found)
    wanted = GOAL if not args.entries else len(args.entries)
    print(f"{'met   ' if passed >= wanted else 'MISSED'}  at least {wanted} entries pass")
    return 0 if passed >= wanted else 1


if __name__ == "__main__":
    sys.exit(main())
