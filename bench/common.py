"""What the benchmarks share: the test toolkit's private services and jobs, medians, JSON output.

Every benchmark measures both sides of its comparison in one run, interleaved, and reports medians.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = ROOT / "interpose" / "lib"
sys.path.insert(0, str(ROOT / "tests"))
if TYPE_CHECKING:
    from toolkit.workplace import Workplace


def workplace(name: str) -> AbstractContextManager[Workplace]:
    """Services and jobs of a benchmark; all of them have ended when the block is left."""
    from toolkit.workplace import opened

    return opened(f"bench_{name}")


def interposed_program(name: str) -> Path:
    """A C++ source of native/, compiled and linked with the interposer in place of NVIDIA's libraries."""
    return linked_program(name, name, LIBRARIES / "libjitc_interpose.so")


def linked_program(name: str, source: str, *libraries: Path) -> Path:
    """A C++ source of native/, compiled and linked with what serves its CUDA calls."""
    program = ROOT / "build" / "bench" / name
    program.parent.mkdir(parents=True, exist_ok=True)
    command = [
        "g++",
        "-std=c++20",
        "-O2",
        *(f"-I{ROOT / one / 'include'}" for one in ("interpose", "protos")),
        str(ROOT / "bench" / "native" / f"{source}.cpp"),
    ]
    link = [*map(str, libraries), *(f"-Wl,-rpath,{one.parent}" for one in libraries), "-ldl", "-o", str(program)]
    subprocess.run([*command, *link], check=True)
    return program


def parser(doc: str | None) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    made.add_argument("--json", metavar="FILE", help="also write the figures to FILE")
    return made


def summary(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "median": statistics.median(ordered),
        "low": ordered[len(ordered) // 10],
        "high": ordered[len(ordered) * 9 // 10],
        "count": len(ordered),
    }


def finish(args: argparse.Namespace, figures: dict[str, Any], met: dict[str, bool]) -> int:
    """Prints and writes the figures. Returns 0 when every goal is met."""
    machine = {
        "cores": len(os.sched_getaffinity(0)),
        "system": platform.platform(),
        "python": platform.python_version(),
    }
    document = {"figures": figures, "goals_met": met, "machine": machine}
    for goal, good in met.items():
        print(f"{'met   ' if good else 'MISSED'}  {goal}")
    if args.json:
        Path(args.json).write_text(json.dumps(document, indent=1) + "\n")
    return 0 if all(met.values()) else 1
