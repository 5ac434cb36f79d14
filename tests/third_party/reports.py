"""Shapes that were tried: public bug reports on distributed training, and the programs after them.

Called by: matrix.py (--reports runs tests/end_to_end/test_reports.py and keeps its results), table.py. A subject is in
our own words; the program has the shape of what is reported, not the reporter's code.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from toolkit.campaign import documents
from toolkit.tree import ROOT

RESULTS = ROOT / "build" / "third-party" / "reports.json"
TEST = ROOT / "tests" / "end_to_end" / "test_reports.py"
_PYTORCH = "https://github.com/pytorch/pytorch"


@dataclass(frozen=True)
class Report:
    shape: str  # in tests/end_to_end/reports
    subject: str
    link: str


def _of(shape: str, number: int, subject: str, kind: str = "issues") -> Report:
    return Report(shape, subject, f"{_PYTORCH}/{kind}/{number}")


REPORTS: tuple[Report, ...] = (
    _of("unused-parts", 69031, "parts used only in unsynchronized passes of an accumulated batch are not shared"),
    _of("static-graph", 24005, "reentrant checkpoints under DDP; static graph as the remedy"),
    _of("adversaries", 175024, "a discriminator with batch norm, called twice before its backward pass"),
    _of("synced-norm", 48988, "synchronized batch norm and an evaluation on one rank; a barrier after it (54059)"),
    _of("bucket-views", 43557, "gradients that are views of buckets, and how they are set to zero", "pull"),
    _of("averaged", 84053, "buffers of averaged models (SWA, EMA), with statistics made anew"),
    _of("mixed-precision", 76918, "an overflow on one rank: who skips the step", "pull"),
    _of("closures", 30439, "L-BFGS evaluates its closure as often as each rank likes, collectives in each"),
    _of("reloaded", 103256, "a fused optimizer whose state was mapped to the host is loaded again"),
    _of("in-backward", 124523, "an optimizer for each parameter, stepped by a hook within the backward pass"),
    _of("redundancy", 124133, "ZeroRedundancyOptimizer, its state consolidated on one rank after another"),
    _of("overlapped", 62157, "ZeroRedundancyOptimizer that steps in DDP's hook of each bucket", "pull"),
    _of("local-steps", 74737, "post-local SGD: when weights are averaged", "pull"),
    _of("batched", 174288, "batches of sends and receives under load"),
    _of("two-threads", 175145, "messages in one thread beside collectives in another"),
    _of("late-join", 175145, "the same, where the second thread is the one that joins the communicator"),
    _of("ahead", 109401, "a message that is received from early on, and waited for late"),
    Report(
        "across",
        "messages of two groups, whose order differs from rank to rank, around a wait for the GPU",
        "https://github.com/meta-pytorch/torchrec/pull/4149",
    ),
    _of("experts", 160285, "experts on ranks: uneven all-to-all and its gradient"),
    _of("objects", 75619, "objects that go over NCCL; here they say how the next step is made"),
    _of("groups", 119196, "the default group is destroyed and made again at once"),
    _of("side-stream", 115710, "a result that is used before an asynchronous reduction is waited for", "pull"),
    _of("loaders", 32162, "copies to the device between collectives; persistent loaders, pinned memory"),
    _of("fsdp2", 136861, "several backward passes behind each other under FSDP, mixed precision"),
    _of("hybrid", 154888, "hybrid sharding over a mesh of n by 1"),
    _of("fsdp1", 99174, "FSDP with original parameters, of which a rank may have no part"),
    Report(
        "tensor-parallel",
        "gradients of DTensors, clipped by a norm over all shards",
        "https://github.com/meta-pytorch/torchtune/issues/2420",
    ),
    _of("pipelined", 144535, "a pipeline's backward pass and what reads its gradients", "pull"),
    _of("interleaved", 164756, "interleaved stages"),
)


def run(origin: Callable[[], str]) -> int:
    """Runs all of them; adds their results, each with where it was run, to those that are there."""
    found = RESULTS.with_suffix(".xml")
    found.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", str(TEST), "-m", "slow or not slow", "--junitxml", str(found)]
    status = subprocess.run(command, check=False, cwd=ROOT).returncode
    keep(outcomes(found), origin())
    return status


def outcomes(path: Path) -> dict[str, str]:
    """By shape: equal, or the first line of what went wrong."""
    told = {}
    for case in ElementTree.parse(path).iter("testcase"):
        wrong = [part.get("message", "") for part in case if part.tag in ("failure", "error", "skipped")]
        told[case.get("name", "").partition("[")[2].rstrip("]")] = wrong[0].splitlines()[0] if wrong else "equal"
    return told


def keep(told: dict[str, str], origin: str) -> None:
    now = {shape: {"said": said, "origin": origin} for shape, said in told.items()}
    documents.write(RESULTS, documents.read(RESULTS, {}) | now)
