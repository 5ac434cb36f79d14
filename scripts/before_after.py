"""Benchmarks of another commit and of this one, alternately in one run, with their figures side by side.

    .venv/bin/python scripts/before_after.py --before COMMIT step_overhead copy_speed

The other commit is checked out and built in build/bench/before/COMMIT, once; --tree names a checkout that is built
already. Each round runs each benchmark there and here, so that a slower moment of the machine hits both. A figure that
only one of them has is shown as that; options after -- go to every benchmark.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: What `summary` of bench/common.py adds to a median; two runs are compared by their medians.
_BESIDE = {"low", "high", "count"}


def main() -> int:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    arguments.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    arguments.add_argument("names", nargs="+", metavar="NAME", help="a benchmark, such as step_overhead")
    which = arguments.add_mutually_exclusive_group(required=True)
    which.add_argument("--before", metavar="COMMIT", help="the commit to compare with")
    which.add_argument("--tree", type=Path, metavar="FOLDER", help="a built checkout to compare with")
    arguments.add_argument("--rounds", type=int, default=2)
    own, _, more = (list(part) for part in _split(sys.argv[1:]))
    args = arguments.parse_args(own)
    trees = {"before": args.tree or built(args.before), "after": ROOT}
    figures: dict[str, Any] = {"commits": {kind: _commit(tree) for kind, tree in trees.items()}}
    for name in args.names:
        found: dict[str, dict[str, list[float]]] = {kind: {} for kind in trees}
        for turn in range(args.rounds):
            for kind, tree in trees.items():
                print(f"round {turn + 1} {kind} {name}", flush=True)
                for what, value in run(tree, name, more).items():
                    found[kind].setdefault(what, []).append(value)
        figures[name] = _compared(name, found)
    if args.json:
        args.json.write_text(json.dumps({"figures": figures}, indent=1) + "\n")
    return 0


def _split(words: list[str]) -> tuple[list[str], list[str], list[str]]:
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at : at + 1], words[at + 1 :]


def built(commit: str) -> Path:
    """A checkout of it with everything built, made unless it is there."""
    name = _commit(ROOT, commit)
    tree = ROOT / "build" / "bench" / "before" / name
    if not tree.exists():
        tree.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "--quiet", "--no-checkout", str(ROOT), str(tree)], check=True)
        subprocess.run(["git", "checkout", "--quiet", name], cwd=tree, check=True)
    print(f"building {name} in {tree.relative_to(ROOT)}: some minutes the first time", flush=True)
    subprocess.run(["make", "build"], cwd=tree, check=True)
    return tree


def _commit(tree: Path, name: str = "HEAD") -> str:
    command = ["git", "rev-parse", "--short", f"{name}^{{commit}}"]
    return subprocess.run(command, cwd=tree, check=True, capture_output=True, text=True).stdout.strip()


def run(tree: Path, name: str, more: list[str]) -> dict[str, float]:
    """The benchmark of that checkout, in its environment; its figures by their path."""
    out = ROOT / "build" / "bench" / "round.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.unlink(missing_ok=True)
    (found,) = (tree / "bench").rglob(f"{name}.py")
    module = ".".join(found.relative_to(tree / "bench").with_suffix("").parts)
    command = [str(tree / ".venv/bin/python"), "-m", module, "--json", str(out), *more]
    done = subprocess.run(command, cwd=tree / "bench", capture_output=True, text=True, check=False)
    if not out.exists():  # a missed goal is an exit status too, and no failure
        raise SystemExit(f"{tree}: {module} of bench failed\n{done.stdout}{done.stderr}")
    return flat(json.loads(out.read_text())["figures"])


def flat(figures: Any, path: str = "") -> dict[str, float]:
    if isinstance(figures, dict):
        parts = [
            flat(value, f"{path}.{name}" if path else name) for name, value in figures.items() if name not in _BESIDE
        ]
        return {name: value for part in parts for name, value in part.items()}
    return {path.removesuffix(".median"): float(figures)} if isinstance(figures, int | float) else {}


def _compared(name: str, found: dict[str, dict[str, list[float]]]) -> dict[str, dict[str, float]]:
    medians = {kind: {what: statistics.median(one) for what, one in values.items()} for kind, values in found.items()}
    print(f"{name:<40} {'before':>12} {'after':>12} {'after/before':>13}")
    for what in {**medians["before"], **medians["after"]}:
        pair = [medians[kind].get(what) for kind in ("before", "after")]
        shown = [f"{one:12.5g}" if one is not None else f"{'-':>12}" for one in pair]
        ratio = f"{pair[1] / pair[0]:13.3f}" if pair[0] and pair[1] is not None else f"{'-':>13}"
        print(f"  {what:<38} {shown[0]} {shown[1]} {ratio}")
    return medians


if __name__ == "__main__":
    sys.exit(main())
