"""What LD_PRELOAD costs a program that never touches CUDA, what `import torch` costs with it, and how fast `jitc`
answers, beside Python alone."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from common import ROOT, finish, parser, summary

PRELOAD = ROOT / "interpose" / "lib" / "libjitc_interpose.so"
GOAL_MS = 1.0
#: At most so many times as long: the spread of the measurement.
IMPORT_GOAL = 1.05
JITC = str(Path(sys.executable).with_name("jitc"))
#: Seconds until `jitc --help` has ended.
HELP_GOAL = 0.2
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"], "jitc --help": [JITC, "--help"],
    "jitc preload-path": [JITC, "preload-path"],
}  # fmt: skip


def measure(command: list[str], rounds: int) -> dict[str, list[float]]:
    """Seconds of the command without and with the library, alternating."""
    plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    environments = {"without": plain, "with": {**plain, "LD_PRELOAD": str(PRELOAD)}}
    seconds: dict[str, list[float]] = {"without": [], "with": []}
    for _ in range(rounds):
        for name, env in environments.items():
            started = time.perf_counter()
            subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
            seconds[name].append(time.perf_counter() - started)
    return seconds


def answers(rounds: int) -> dict[str, list[float]]:
    """Seconds of each of our commands, and of Python alone, alternating."""
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(rounds):
        for name, command in COMMANDS.items():
            started = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            seconds[name].append(time.perf_counter() - started)
    return seconds


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=300)
    arguments.add_argument("--imports", type=int, default=7)
    arguments.add_argument("--answers", type=int, default=20)
    args = arguments.parse_args()
    empty = measure(["/bin/true"], args.rounds)
    measure([sys.executable, "-c", "import torch"], 1)  # file cache
    imports = measure([sys.executable, "-c", "import torch"], args.imports)
    added = (statistics.median(empty["with"]) - statistics.median(empty["without"])) * 1000
    ratio = statistics.median(imports["with"]) / statistics.median(imports["without"])
    print(f"/bin/true: +{added:.3f} ms")
    medians = {name: statistics.median(values) for name, values in imports.items()}
    print(f"import torch: {medians['without']:.3f} s without, {medians['with']:.3f} s with ({ratio:.3f} times)")
    answered = answers(args.answers)
    for name, values in answered.items():
        print(f"{name}: {statistics.median(values) * 1000:.0f} ms")
    figures = {
        "answers": {name: summary(values) for name, values in answered.items()},
        "true": {name: summary(values) for name, values in empty.items()},
        "added_ms": added,
        "import_torch": {name: summary(values) for name, values in imports.items()},
        "import_ratio": ratio,
    }
    met = {
        f"under {GOAL_MS} ms for a program without CUDA": added < GOAL_MS,
        f"import torch takes at most {IMPORT_GOAL} times as long": ratio < IMPORT_GOAL,
        f"jitc --help within {HELP_GOAL} s": statistics.median(answered["jitc --help"]) < HELP_GOAL,
    }
    return finish(args, figures, met)


if __name__ == "__main__":
    sys.exit(main())
