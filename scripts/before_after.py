"""Benchmarks of another commit and of this one, alternately in one run, with their figures side by side.

    .venv/bin/python scripts/before_after.py --before COMMIT step_overhead copy_speed

The other commit is checked out and built in build/bench/before/COMMIT, once; --tree names a checkout that is built
already. Each round runs each benchmark there and here, so that a slower moment of the machine hits both. A figure that
only one of them has is shown as that, and so is a benchmark that the other commit lacks; then come the goals, met in
every round or missed. Options after -- go to every benchmark. `make bench BEFORE=COMMIT` calls it for all of them.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: What `summary` of bench/common.py adds to a median; two runs are compared by their medians.
_BESIDE = {"low", "high", "count"}
#: What was measured, behind a goal.
_FIGURE = re.compile(r" \([^()]*\)$")


@dataclass
class Seen:
    """Of one benchmark in one of the trees, over the rounds."""

    figures: dict[str, list[float]] = field(default_factory=dict)
    goals: dict[str, list[bool]] = field(default_factory=dict)

    def add(self, document: dict[str, Any]) -> None:
        for what, value in flat(document["figures"]).items():
            self.figures.setdefault(what, []).append(value)
        for goal, met in document.get("goals_met", {}).items():
            self.goals.setdefault(_FIGURE.sub("", goal), []).append(met)

    def medians(self) -> dict[str, float]:
        return {what: statistics.median(one) for what, one in self.figures.items()}

    def standing(self, goal: str) -> str:
        return "-" if goal not in self.goals else "met" if all(self.goals[goal]) else "MISSED"


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
    trees = {"before": args.tree.resolve() if args.tree else built(args.before), "after": ROOT}
    figures: dict[str, Any] = {"commits": {kind: _commit(tree) for kind, tree in trees.items()}}
    for name in args.names:
        found = {kind: Seen() for kind in trees}
        for turn in range(args.rounds):
            for kind, tree in trees.items():
                print(f"round {turn + 1} {kind} {name}", flush=True)
                found[kind].add(run(tree, name, more))
        figures[name] = {kind: one.medians() for kind, one in found.items()}
        _show(name, found["before"], found["after"])
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


def run(tree: Path, name: str, more: list[str]) -> dict[str, Any]:
    """What the benchmark of that checkout writes, in its environment; empty where the other one has none of that name,
    or something else."""
    out = ROOT / "build" / "bench" / "round.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.unlink(missing_ok=True)
    found = list((tree / "bench").rglob(f"{name.rpartition('.')[2]}.py"))
    if not found and tree != ROOT:
        return {"figures": {}}
    if len(found) != 1:
        raise SystemExit(f"{name}: no benchmark of that name in {tree / 'bench'}")
    module = ".".join(found[0].relative_to(tree / "bench").with_suffix("").parts)
    command = [str(tree / ".venv/bin/python"), "-m", module, "--json", str(out), *more]
    done = subprocess.run(command, cwd=tree / "bench", capture_output=True, text=True, check=False)
    if not out.exists() and tree != ROOT:
        print(f"  {module} of the other commit wrote no figures (status {done.returncode}): {done.stderr[-400:]}")
        return {"figures": {}}
    if not out.exists():  # a missed goal is an exit status too, and no failure
        raise SystemExit(f"{tree}: {module} of bench failed\n{done.stdout}{done.stderr}")
    document: dict[str, Any] = json.loads(out.read_text())
    return document


def flat(figures: Any, path: str = "") -> dict[str, float]:
    if isinstance(figures, dict):
        parts = [
            flat(value, f"{path}.{name}" if path else name) for name, value in figures.items() if name not in _BESIDE
        ]
        return {name: value for part in parts for name, value in part.items()}
    return {path.removesuffix(".median"): float(figures)} if isinstance(figures, int | float) else {}


def _show(name: str, before: Seen, after: Seen) -> None:
    old, new = before.medians(), after.medians()
    print(f"{name:<40} {'before':>12} {'after':>12} {'after/before':>13}")
    for what in _either(old, new):
        shown = [f"{one[what]:12.5g}" if what in one else f"{'-':>12}" for one in (old, new)]
        ratio = f"{new[what] / old[what]:13.3f}" if old.get(what) and what in new else f"{'-':>13}"
        print(f"  {what:<38} {shown[0]} {shown[1]} {ratio}")
    for goal in _either(before.goals, after.goals):
        print(f"  goal: {goal}: {before.standing(goal)} before, {after.standing(goal)} after", flush=True)


def _either(one: Iterable[str], other: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*one, *other]))


if __name__ == "__main__":
    sys.exit(main())
