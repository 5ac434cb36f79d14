"""What grows with a job: boundaries, memory for copies and recoveries, over state, ranks and ops per step.

Three tables of a GPT that trains on the software device: of models that grow at one rank (copies in host memory) and at
two (peers), of ranks that join, and of layers that are added to a narrow model. Each job loses a worker in a backward
pass; a job is one row. Run from bench/: python -m faults.growth
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from common import finish, parser, workplace

if TYPE_CHECKING:
    from toolkit.job import Job
    from toolkit.service import Service
    from toolkit.workplace import Workplace

MB = 1e6
#: The goals of a boundary per megabyte that is live, of the memory for copies, and of a recovery.
BOUNDARY_MS, HELD, FELT = 0.005, 1.3, 1.0
#: First steps that do not count: memory is new, peers get to know each other and copy everything meanwhile.
SKIP = 25
#: More steps than a job lives for, and how many seconds ahead its fault is planned.
ENDLESS, AHEAD = 1_000_000, 0.5
#: Of examples/model.py.
VOCABULARY, CONTEXT = 256, 64
#: Phases of a boundary that are its own work; `drain` waits for the ops before it, which take their time anyway.
OWN_PHASES = ("hash", "copy", "record", "gather")


@dataclass(frozen=True)
class Cell:
    """A job to measure."""

    ranks: int
    layers: int
    width: int
    batch: int = 2

    def state_mb(self) -> float:
        """Weights, gradients and the optimizer's two moments, in float32."""
        block = 12 * self.width**2 + 13 * self.width
        return 16 * (self.layers * block + (2 * VOCABULARY + CONTEXT + 2) * self.width) / MB


@dataclass
class Row:
    """What was seen of it. Memory in megabytes, of rank 0."""

    ranks: int
    layers: int
    width: int
    ops_per_step: float
    state_mb: float
    boundary_ms: float
    held_mb: float
    step_ms: float
    recovery_s: float
    felt_s: float

    def job(self) -> str:
        return f"{self.ranks} ranks, {self.layers} layers, width {self.width}"

    def line(self) -> str:
        per_mb, held = self.boundary_ms / self.state_mb, self.held_mb / self.state_mb
        size = f"{self.ranks:5} {self.layers:6} {self.width:5} {self.ops_per_step:8.0f} {self.state_mb:9.1f}"
        steps = f"{self.step_ms:8.0f} {self.boundary_ms:9.2f} {per_mb:7.4f} {held:6.2f}"
        return f"{size} {steps} {self.recovery_s:9.2f} {self.felt_s:6.2f}"


HEAD = "ranks layers width ops/step  state MB  step ms  boundary   ms/MB   held  recovery   felt"


def tables(most_mb: float) -> dict[str, list[Cell]]:
    widths = [width for width in (256, 512, 1024, 1536) if 4 * 12 * width**2 * 16 / MB <= most_mb]
    return {
        "state, one rank": [Cell(1, 4, width) for width in widths],
        "state, two ranks": [Cell(2, 4, width) for width in widths],
        "ranks": [Cell(ranks, 4, 128) for ranks in (1, 2, 4)],
        "ops per step": [Cell(2, layers, 64) for layers in (2, 8, 24)],
    }


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--most-mb", type=float, default=2000.0, help="state of the largest model")
    arguments.add_argument("--steps", type=int, default=10, help="measured steps of each job")
    arguments.add_argument("--service", default="", help="options of the service, in one word")
    arguments.add_argument("--only", help="the tables whose name has this")
    args = arguments.parse_args()
    found: dict[str, list[Row]] = {}
    with workplace("growth") as place:
        for name, cells in tables(args.most_mb).items():
            if args.only and args.only not in name:
                continue
            print(f"== {name}\n{HEAD}", flush=True)
            found[name] = []
            for cell in cells:
                found[name].append(measured(place, cell, args))
                print(found[name][-1].line(), flush=True)
    rows = [one for each in found.values() for one in each]
    met = {
        f"a boundary takes at most {BOUNDARY_MS} ms per MB": all(
            one.boundary_ms <= BOUNDARY_MS * one.state_mb for one in rows
        ),
        f"copies hold at most {HELD} times the state": all(one.held_mb <= HELD * one.state_mb for one in rows),
        f"a recovery is felt for at most {FELT} s": all(one.felt_s <= FELT for one in rows),
    }
    return finish(args, {name: {one.job(): asdict(one) for one in each} for name, each in found.items()}, met)


def measured(place: Workplace, cell: Cell, args: argparse.Namespace) -> Row:
    from toolkit.job import Script
    from toolkit.service import kill_at

    words = ("--layers", cell.layers, "--width", cell.width, "--batch", cell.batch, "--steps", ENDLESS)
    service = place.service(cell.ranks, options=tuple(args.service.split()))
    job = place.job(Script("train_gpt.py", tuple(map(str, words)), cell.ranks), service)
    early = seen_at(job, service, SKIP)
    late = seen_at(job, service, SKIP + args.steps)
    usual = statistics.median(step_seconds(job)[SKIP:])
    killed = late["boundary"] + math.ceil(AHEAD / usual) + 1
    service.inject(kill_at(killed, "backward", 20), 0)
    seen_at(job, service, killed + 2)
    seconds = step_seconds(job)
    (report,) = service.report()
    job.kill()
    service.stop()
    made = late["boundary_phases"]["boundaries"] - early["boundary_phases"]["boundaries"]
    spent = sum(
        late["boundary_phases"]["seconds"][one] - early["boundary_phases"]["seconds"][one] for one in OWN_PHASES
    )
    return Row(
        cell.ranks,
        cell.layers,
        cell.width,
        (late["ops_executed"] - early["ops_executed"]) / max(late["boundary"] - early["boundary"], 1),
        cell.state_mb(),
        spent / max(made, 1) * 1000,
        late["copies_held_bytes"] / MB,
        usual * 1000,
        report["seconds"],
        max(seconds[killed - 1 : killed + 2]) - usual,
    )


def step_seconds(job: Job) -> list[float]:
    """As the job prints them."""
    return [float(line.split()[-2]) for line in job.output().splitlines() if line.startswith("step ")]


def wait_for_steps(job: Job, steps: int) -> int:
    """Returns how many there are then."""
    while job.steps() < steps:
        if job.process.poll() is not None:
            raise SystemExit(f"the job ended early:\n{job.output()}")
        time.sleep(0.02)
    return job.steps()


def seen_at(job: Job, service: Service, steps: int) -> dict[str, Any]:
    """What the service says of rank 0 once the job has done so many steps."""
    wait_for_steps(job, steps)
    sessions = [one for gpu in service.status()["gpus"] for one in gpu["sessions"]]
    return next(one for one in sessions if one["rank"] == 0)


if __name__ == "__main__":
    sys.exit(main())
