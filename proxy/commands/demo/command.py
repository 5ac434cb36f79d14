"""``jitc demo``: a training job loses a GPU's proxy server twice and never notices.

Trains examples/train_gpt.py three times on the software device: without a fault, with the worker of GPU 1 killed in the
middle of a backward pass, and in the middle of an optimizer step. Then it compares losses, weights and optimizer state
bit by bit. Called by: the jitc command (`run`), `make demo`. Promise: exit status 0 only when everything is identical
and every fault fired and was recovered.
"""

from __future__ import annotations

import argparse
import json
import operator
import sys
import tempfile
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import grpc

from jitc.client_shim.native_parts import torch_build
from jitc.client_shim.native_parts.installation import PACKAGES, remedy
from jitc.v1 import control_pb2

from ...common import operators
from ...common.paths import MissingLibrary
from ...common.rpc import status_of
from ...status.demo import Demo, DemoRecovery
from ...status.documents import document
from ..options import complain
from . import text
from .job import RANKS, DemoFailed, inject, report, service, train

SCRIPT = PACKAGES / "examples" / "train_gpt.py"
GPU = 1
#: Ops of the phase that go by before the kill: well inside it (a fused or foreach step is a dozen ops).
BACKWARD_SKIP, OPTIMIZER_SKIP = 60, 6
FEWEST_STEPS = 3


@dataclass
class Run:
    """One of the three trainings."""

    title: str
    fault: control_pb2.Fault | None = None
    records: list[dict[str, Any]] = field(default_factory=list)
    recoveries: list[dict[str, Any]] = field(default_factory=list)

    def same(self, other: Run, what: str) -> bool:
        mine, others = ([one[what] for one in run.records] for run in (self, other))
        return len(mine) == RANKS and mine == others

    def identical(self, other: Run) -> bool:
        return all(self.same(other, what) for what in ("losses", "weights", "optimizer", "data"))

    def minibatches_replayed(self) -> int:
        """Returns the number that the recoveries report: a rank that rolls back runs again what it had begun after the
        boundary."""
        return sum(
            max((rank["prepared"] - one["boundary"] + 1 for rank in one.get("standings", [])), default=0)
            for one in self.recoveries
            if one["decision"].startswith("roll-back")
        )

    def steps_lost(self, other: Run) -> int:
        """Returns the steps of the other run whose loss this one lacks, on the rank that lacks most."""
        pairs = zip(self.records, other.records, strict=False)
        lost = [
            len(theirs["losses"]) - sum(map(operator.eq, mine["losses"], theirs["losses"])) for mine, theirs in pairs
        ]
        return max(lost, default=0)


def planned(steps: int) -> list[Run]:
    middle = steps // 2

    def kill(phase: str, skip: int) -> control_pb2.Fault:
        return control_pb2.Fault(
            kind="kill-worker", boundary=middle - 1, armed_at_boundary=True, phase=phase, skip=skip
        )

    return [
        Run("without a fault"),
        Run(f"proxy server of GPU {GPU} killed in the backward pass of step {middle}", kill("backward", BACKWARD_SKIP)),
        Run(f"proxy server of GPU {GPU} killed in the optimizer step {middle}", kill("optimizer", OPTIMIZER_SKIP)),
    ]


def run(args: argparse.Namespace) -> int:
    if not SCRIPT.exists():
        return complain("jitc demo", f"{SCRIPT} is missing; {remedy()}")
    if torch_build.installed() is None:
        return complain("jitc demo", "it trains with PyTorch, which is not installed: pip install 'jitc[torch]'")
    if args.steps < FEWEST_STEPS:
        print(f"jitc demo: --steps must be at least {FEWEST_STEPS}", file=sys.stderr)
        return 2
    runs = planned(args.steps)
    try:
        operators.made_ready()
        for one in runs:
            perform(one, args.steps)
    except (DemoFailed, MissingLibrary, operators.CannotBuild, operators.UnsafeStore) as error:
        print(f"jitc demo: {error}", file=sys.stderr)
        return 1
    except grpc.RpcError as error:
        return complain("jitc demo", f"the node service: {status_of(error)[1]}")
    summary = summarize(runs, args.steps)
    text.show(runs, summary)
    if args.json:
        Path(args.json).write_text(json.dumps(summary, indent=1) + "\n")
    faults = summary["faults_injected"]
    return 0 if summary["identical"] and summary["faults_recovered"] == faults == len(runs) - 1 else 1


def perform(one: Run, steps: int) -> None:
    """Runs one training with its own service, so that the runs share nothing."""
    print(f"\n== {one.title}", flush=True)
    with tempfile.TemporaryDirectory(prefix="jitc-demo-") as name, text.Progress(steps) as progress:
        folder = Path(name)
        progress.say("starting the node service and its proxy servers")
        with service(folder, RANKS) as socket:
            if one.fault is not None:
                inject(socket, GPU, one.fault)
            progress.say("starting torchrun")
            one.records = train(SCRIPT, steps, socket, folder / "job", progress.line)
            one.recoveries = report(socket)


def summarize(runs: list[Run], steps: int) -> dict[str, Any]:
    """Returns the document of --json."""
    recoveries = [recovery for one in runs for recovery in one.recoveries]
    keys = [one.name for one in fields(DemoRecovery)]
    return document(
        Demo(
            identical=all(one.identical(runs[0]) for one in runs),
            faults_injected=sum(one.fault is not None for one in runs),
            faults_recovered=sum(len(one.recoveries) == 1 for one in runs if one.fault is not None),
            steps=steps,
            recoveries=[DemoRecovery(**{key: recovery[key] for key in keys}) for recovery in recoveries],
        )
    )
