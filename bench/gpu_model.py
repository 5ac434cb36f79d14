"""A model, no measurement of a GPU: how long would steps of a 124 M GPT take on an H100, with jitc and without?

The device is a stand-in with a clock (tests/fakes/cuda/pace.h): kernels and copies take stated times, engines work side
by side, the host's time is real. Both sides make the same calls, in turns (native/gpu_model.cpp).

What is assumed: the counts of calls (`COUNTS`: of nanoGPT's GPT-2 in eager mode, by its layers; not recorded from a
GPU), the times of `PROGRAMS`, PyTorch's own time per call, the figures of pace.h. The state is smaller by `--scale`,
and so are the bandwidths: what the host does per byte of state counts less than it would, what it does per block
counts whole.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import LIBRARIES, finish, linked_program, parser, workplace

if TYPE_CHECKING:
    from toolkit.service import Service
    from toolkit.workplace import Workplace

GOAL = 1.003
PARAMETER_BYTES = 124_439_808 * 4
BUS, MEMORY = 64.0, 3350.0  # GB/s, as in pace.h
COUNTS = {"forward": 400, "backward": 830, "updates": 30, "tensors": 148, "look": 10, "buckets": 5}
#: Nanoseconds of PyTorch's own per call: assumed.
HOST = 6000
#: Of an all-reduce of one of five buckets between two GPUs over NVLink (100 MB at 300 GB/s).
LINK = 330_000
#: 12 sequences of 1024 tokens: 27 ms of products at 40 % of the peak; and kernels so small that launching them counts.
PROGRAMS = {"bound by the GPU": 22_000, "bound by launches": 3_000}


@dataclass(frozen=True)
class Steps:
    """Means of a run, in milliseconds: a step, what of it was spent in calls, and in the optimizer's hooks."""

    step: float
    calls: float
    hooks: float
    phases: dict[str, float] = field(default_factory=dict)  # of a boundary, with jitc


@dataclass(frozen=True)
class Side:
    """With jitc or without: the program, and what it is run in."""

    program: Path
    environment: dict[str, str]
    service: Service | None

    def phases(self) -> dict[str, float]:
        """Milliseconds of a boundary, of the rank that took longest."""
        if not self.service:
            return {}
        sessions = [one for gpu in self.service.status()["gpus"] for one in gpu["sessions"]]
        times = [one["boundary_phases"] for one in sessions]
        return {
            name: max(one["seconds"][name] / one["boundaries"] for one in times) * 1000 for name in times[0]["seconds"]
        }

    def run(self, counts: dict[str, int], ranks: int) -> Steps:
        lines, phases = self._measured(counts, ranks)
        return dataclasses.replace(_slowest([_steps(one) for one in lines]), phases=phases)

    def steps(self, counts: dict[str, int], ranks: int) -> list[float]:
        """Seconds of each step, of rank 0."""
        lines, _ = self._measured(counts, ranks)
        return [int(line.split()[0]) / 1e9 for line in lines[0]]

    def _measured(self, counts: dict[str, int], ranks: int) -> tuple[list[list[str]], dict[str, float]]:
        """What each rank prints, and the phases of a boundary."""
        words = [str(self.program), *(f"{name}={value}" for name, value in {**counts, "ranks": ranks}.items())]
        with tempfile.TemporaryDirectory(prefix="jitc-model-") as folder:
            env = {**self.environment, "JITC_MODEL_ID": str(Path(folder) / "id")}
            started = [_start([*words, f"rank={rank}"], env) for rank in range(ranks)]
            try:
                lines = [_lines(one) for one in started]
                phases = self.phases()
                for one in started:
                    _finish(one)
            finally:
                for one in started:
                    one.kill()
                    one.wait()
        return lines, phases


def _start(command: Sequence[str], env: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def _lines(one: subprocess.Popen[str]) -> list[str]:
    """What it prints until it is done; then it waits."""
    assert one.stdout and one.stderr
    lines = []
    for line in one.stdout:
        if line == "done\n":
            return lines
        lines.append(line)
    sys.exit(f"gpu_model: a program ended: {one.stderr.read()[-2000:]}")


def _finish(one: subprocess.Popen[str]) -> None:
    _, errors = one.communicate(timeout=60)
    if one.returncode:
        sys.exit(f"gpu_model: a program ended with {one.returncode}: {errors[-2000:]}")


def _steps(output: list[str]) -> Steps:
    """Of the second half, in which the service has chosen how far apart boundaries are. Means, since some steps have a
    boundary and others have none; of whole rounds between two reads of the loss, as the program is ahead of the device
    in between."""
    lines = [[int(word) / 1e6 for word in line.split()] for line in output]
    every = COUNTS["look"]
    first = -(-len(lines) // 2 // every) * every
    whole = lines[first : len(lines) - len(lines) % every]
    return Steps(*(statistics.fmean(line[column] for line in whole) for column in range(3)))


def _slowest(ranks: list[Steps]) -> Steps:
    return max(ranks, key=lambda rank: rank.step)


@contextlib.contextmanager
def sides(place: Workplace, scale: float, options: tuple[str, ...], gpus: int = 2) -> Iterator[dict[str, Side]]:
    from toolkit.fakes import fake_library, fake_options, fake_system

    driver = place.folder / "driver"
    driver.mkdir()
    pace = f"h100,bus={BUS / scale},memory={MEMORY / scale}"
    environment = fake_system(driver, place.env, DEVICES=str(gpus), PACE=pace)
    service: Service = place.service(
        gpus, ("--device", "cuda", *fake_options("nccl", "nvrtc"), *options), **environment
    )
    interposer = LIBRARIES / "libjitc_interpose.so"
    with_jitc = linked_program("gpu_model_jitc", "gpu_model", interposer)
    without = linked_program("gpu_model_alone", "gpu_model", fake_library("cuda"), fake_library("nccl"))
    yield {
        "without": Side(without, {**os.environ, **environment}, None),
        "with": Side(with_jitc, {**service.env, "LD_PRELOAD": str(interposer)}, service),
    }


def compare(both: dict[str, Side], counts: dict[str, int], ranks: int, rounds: int) -> dict[str, Steps]:
    """The medians of several runs of each side, in turns."""
    runs: dict[str, list[Steps]] = {name: [] for name in both}
    for _ in range(rounds):
        for name, side in both.items():
            runs[name].append(side.run(counts, ranks))
    return {name: sorted(of, key=lambda one: one.step)[len(of) // 2] for name, of in runs.items()}


def counts_of(name: str, scale: float, steps: int) -> dict[str, int]:
    """Of a program of `PROGRAMS`."""
    times = {"kernel": PROGRAMS[name], "host": HOST, "link": LINK, "bytes": int(PARAMETER_BYTES / scale)}
    return {**COUNTS, **times, "steps": steps}


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--scale", type=float, default=256, help="the state is smaller by it (256)")
    arguments.add_argument("--steps", type=int, default=240, help="of a run, of which the second half counts (240)")
    arguments.add_argument("--rounds", type=int, default=3, help="runs of each side (3)")
    arguments.add_argument("--ranks", type=int, nargs="+", default=[1, 2], help="(1 2)")
    arguments.add_argument("--service", default="", help="further options of jitc-proxyd, such as '--validate-every 0'")
    args = arguments.parse_args()
    print(f"a model of an H100 (assumptions: {Path(__file__).name}), not a measurement of one")
    figures: dict[str, Any] = {}
    met: dict[str, bool] = {}
    with workplace("gpu_model") as place, sides(place, args.scale, tuple(args.service.split())) as both:
        for ranks in args.ranks:
            for name in PROGRAMS:
                counts = counts_of(name, args.scale, args.steps)
                found = compare(both, counts, ranks, args.rounds)
                ratio = found["with"].step / found["without"].step
                what = f"{ranks} rank{'s' * (ranks > 1)}, {name}"
                print(f"{what}: {ratio:.3f} times the step without jitc")
                for side, one in found.items():
                    print(
                        f"  {side:<8} {one.step:8.2f} ms a step; in calls {one.calls:7.2f}, in hooks {one.hooks:7.2f}"
                    )
                phases = ", ".join(f"{phase} {taken:.2f}" for phase, taken in found["with"].phases.items())
                print(f"  of it, milliseconds of a boundary: {phases}")
                figures[what] = {"ratio": ratio} | {side: vars(one) for side, one in found.items()}
                met[f"model, {what}: at most {GOAL} times"] = ratio <= GOAL
    return finish(args, figures, met)


if __name__ == "__main__":
    sys.exit(main())
