"""PyTorch's own operator samples (OpInfo, float32) on the software device: results and gradients against the CPU.

The entries run in several processes one after another, so that an entry that crashes or hangs costs only itself.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
#: Entries that must pass.
GOAL = 640
PRELOAD = ROOT / "interpose" / "lib" / "libjitc_interpose.so"
STAND_IN = ROOT / "build" / "lib" / "libjitc_loop.so"
SHARD = Path(__file__).with_name("operator_shard.py")


def shard(
    numbers: list[int], env: dict[str, str], options: list[str], limit: float
) -> tuple[list[dict[str, Any]], int]:
    """Results of these entries up to the first that ends the process or takes longer than limit."""
    command = [sys.executable, str(SHARD), *options, *map(str, numbers)]
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    errors: list[str] = []
    reader = threading.Thread(target=lambda stream=process.stderr: errors.extend(stream), daemon=True)
    reader.start()
    results: list[dict[str, Any]] = []
    running: int | None = None
    count = 0
    late = False

    def too_late() -> None:
        nonlocal late
        late = True
        process.kill()

    timer = threading.Timer(limit * 2, too_late)  # the start takes longer
    timer.start()
    for line in process.stdout:
        timer.cancel()
        timer = threading.Timer(limit, too_late)
        timer.start()
        said = json.loads(line)
        count = said.get("count", count)
        running = None if "result" in said else said.get("entry", running)
        if "result" in said:
            results.append(said)
    timer.cancel()
    status = process.wait()
    reader.join(10)
    if running is not None:
        why = (
            f"no result after {limit:.0f} s" if late else f"process ended with {status}: {''.join(errors[-3:]).strip()}"
        )
        results.append({"entry": running, "name": f"entry {running}", "result": "failed", "why": why})
    elif status and not results:
        raise SystemExit(f"the comparison does not start:\n{''.join(errors[-20:])}")
    return results, count


def run_all(env: dict[str, str], options: list[str], limit: float, size: int, only: list[int]) -> list[dict[str, Any]]:
    _, count = shard([], env, options, limit)
    left = only or list(range(count))
    results: list[dict[str, Any]] = []
    while left:
        done, _ = shard(left[:size], env, options, limit)
        results += done
        finished = {one["entry"] for one in done}
        left = [number for number in left if number not in finished]
        passed = sum(one["result"] == "passed" for one in results)
        print(f"{len(results)} of {len(results) + len(left)} entries, {passed} passed", file=sys.stderr, flush=True)
    return results


def report(results: list[dict[str, Any]]) -> dict[str, Any]:
    for one in results:
        if one["result"] != "passed":
            print(f"{one['result']:<8} {one['name']:<44} {one['why']}")
    counts = {kind: sum(one["result"] == kind for one in results) for kind in ("passed", "failed", "skipped")}
    print(f"{counts['passed']} of {len(results)} pass, {counts['failed']} fail, {counts['skipped']} skipped")
    return {**counts, "entries": len(results), "results": results}


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    arguments.add_argument("--json", metavar="FILE", help="also write the results to FILE")
    arguments.add_argument("--stand-in", action="store_true", help="without service and worker, in one process")
    arguments.add_argument("--limit", type=float, default=90.0, help="seconds that one entry may take")
    arguments.add_argument("--size", type=int, default=60, help="entries per process")
    arguments.add_argument("entries", type=int, nargs="*", help="numbers of entries, all by default")
    args = arguments.parse_args()
    threads = {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    if args.stand_in:
        operators = {"JITC_TEST_OPERATORS": str(ROOT / "proxy" / "lib" / "libjitc_operators.so")}
        env = {**os.environ, **threads, **operators, "LD_PRELOAD": os.environ.get("JITC_TEST_STAND_IN", str(STAND_IN))}
        results = run_all(env, ["--matrix-products"], args.limit, args.size, args.entries)
    else:
        results = through_a_service(threads, args)
    figures = report(results)
    if args.json:
        Path(args.json).write_text(json.dumps(figures, indent=1) + "\n")
    wanted = GOAL if not args.entries else len(args.entries)
    print(f"{'met   ' if figures['passed'] >= wanted else 'MISSED'}  at least {wanted} entries pass")
    return 0 if figures["passed"] >= wanted else 1


def through_a_service(threads: dict[str, str], args: argparse.Namespace) -> list[dict[str, Any]]:
    sys.path.insert(0, str(ROOT / "tests"))
    from toolkit.workplace import Workplace

    place, failed = Workplace("operator_coverage"), True
    try:
        env = {**place.service(1).env, **threads, "LD_PRELOAD": str(PRELOAD)}
        results = run_all(env, [], args.limit, args.size, args.entries)
        failed = False
        return results
    finally:
        for complaint in place.close(failed):
            print(f"warning: {complaint}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
