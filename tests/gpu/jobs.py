"""Jobs of the steps: ranks of a program with and without the proxy, asked the same, watched together, compared, timed.

Called by: the steps. Promise: a rank that ends ends the waiting for all at once, with what it said.
"""

from __future__ import annotations

import json
import math
import socket
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .lab import Lab, Program, StepFailed, first_lines
from .service import Service

Answers = list[dict[str, Any]]
#: Losses of a program that is not repeatable may differ by so much, and show nothing else.
LOOSE = 0.02
#: What the service says of a job whose state peers hold, and of one of which it has given that up.
PEERS, _COPIES = "peers give back what they hold", "copies of all blocks ("
#: Blocks of steps in which the service surely finds out.
_BLOCKS = 30


def two_workers(lab: Lab) -> tuple[str, ...]:
    """Options of a service for two ranks on one GPU."""
    return ("--gpus", "2") if lab.rehearsal else ("--gpus", "1", "--workers-per-gpu", "2")


def workers(lab: Lab, ranks: int) -> tuple[str, ...]:
    return two_workers(lab) if ranks == 2 else ("--gpus", "1")


@dataclass
class Job:
    """The ranks of a running program."""

    lab: Lab
    programs: list[Program]
    service: Service | None

    def tell(self, **request: Any) -> None:
        for program in self.programs:
            program.tell(**request)

    def ask(self, **request: Any) -> Answers:
        self.tell(**request)
        return self.answers()

    def answers(self) -> Answers:
        """The next of each rank. StepFailed as soon as a rank, or the service, has ended."""
        service = [self.service.program] if self.service else []
        lines = first_lines(self.programs, self.lab.left(), watched=service)
        if None in lines:
            ended = [one for one in (*service, *self.programs) if one.finished]
            raise StepFailed("; ".join(one.how_it_ended() for one in ended))
        return [json.loads(line or "") for line in lines]

    def end(self) -> None:
        for program in self.programs:
            program.close()


def meeting(ranks: int) -> dict[str, str]:
    """Where the ranks of a job find each other: the variables of torch.distributed's env:// that all have."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}


def start(lab: Lab, program: str, ranks: int, service: Service | None, **environ: str) -> Job:
    """The ranks of a job, ready. Without the proxy both ranks share GPU 0; NCCL must take them for two hosts."""
    common = meeting(ranks) | environ
    if lab.rehearsal:
        common |= {"SIZE": "tiny", "OMP_NUM_THREADS": "1"} | ({} if service else {"DEVICE": "cpu", "GROUP": "gloo"})
    job = Job(lab, [], service)
    for rank in range(ranks):
        own = {"RANK": str(rank), "GPU": str(rank if service else 0), "NCCL_HOSTID": f"native-{rank}"}
        job.programs.append(lab.program(program, socket=service.socket if service else "", **common, **own))
    for one, greeting in zip(job.programs, job.answers(), strict=True):
        one.greeting = greeting
    return job


def same(one: Answers, other: Answers) -> bool:
    """Losses and state of all ranks, to the last bit."""
    return [(answer["losses"], answer["state"]) for answer in one] == [
        (answer["losses"], answer["state"]) for answer in other
    ]


def largest_difference(one: Answers, other: Answers) -> float:
    """Of any loss, relative; infinite where one of two is no number."""
    pairs = [
        (float.fromhex(left), float.fromhex(right))
        for first, second in zip(one, other, strict=True)
        for left, right in zip(first["losses"], second["losses"], strict=True)
    ]
    if not all(math.isfinite(value) for pair in pairs for value in pair):
        return math.inf
    return max((abs(left - right) / max(abs(left), abs(right), 1e-30) for left, right in pairs), default=0.0)


@dataclass(frozen=True)
class Comparison:
    """Of two runs of a program; repeatable: what the control found, None where it was not run."""

    identical: bool
    difference: float
    repeatable: bool | None

    def text(self) -> str:
        if self.identical:
            return "identical to the last bit"
        judged = "not judged: native runs differ too" if self.repeatable is False else "DIFFERENT"
        return f"{judged} (losses by {self.difference:.2g})"

    def wrong(self) -> str:
        """Why it is a failure, or nothing. A program that differs from itself natively shows only gross errors."""
        if self.identical or (self.repeatable is False and self.difference <= LOOSE):
            return ""
        known = "" if self.repeatable is not None else "; the step control has not shown that native runs are equal"
        return f"losses or state differ (losses by {self.difference:.2g}{known})"


def compare(lab: Lab, setting: str, one: Answers, other: Answers) -> Comparison:
    repeatable: Mapping[str, bool] = lab.known.get("control", {}).get("repeatable", {})
    return Comparison(same(one, other), largest_difference(one, other), repeatable.get(f"{setting} x{len(one)}"))


@dataclass(frozen=True)
class Settled:
    """A job that has trained until the service relied on peers: the numbers of each rank's steps."""

    losses: list[list[str]]
    steps: int


def until_peers(job: Job, service: Service, block: int, **request: Any) -> Settled:
    """Trains from scratch until the service relies on peers. StepFailed where it gives that up, or takes too long."""
    losses = [list(one["losses"]) for one in job.ask(do="train", steps=block, **request)]
    for number in range(1, _BLOCKS):
        said = service.said()
        if PEERS in said:
            return Settled(losses, number * block)
        if _COPIES in said:
            break
        for told, answer in zip(losses, job.ask(do="more", steps=block, **request), strict=True):
            told.extend(answer["losses"])
    lines = [line for line in service.said().splitlines() if _COPIES in line]
    why = lines[-1] if lines else "no word of it"
    raise StepFailed(f"the service does not rely on peers after {len(losses[0])} steps: {why}")


def after(settled: Settled, answers: Answers) -> Answers:
    """What the whole job has said, with the answers to its newest request."""
    return [
        answer | {"losses": before + answer["losses"]}
        for before, answer in zip(settled.losses, answers, strict=True)
    ]  # fmt: skip


def from_peers(lab: Lab, recoveries: list[dict[str, Any]]) -> str:
    """What is wrong with the newest recovery, which should have had its state from a peer; or nothing."""
    if not recoveries:
        return "the fault did not fire, or nobody noticed"
    one = recoveries[-1]
    by = one["bytes_from_peers"]
    if "worker-death" not in one["cause"].split(", "):
        return f"the cause is {one['cause']}, not worker-death"
    if not by["nccl"] and not (lab.rehearsal and by["host"]):
        return f"nothing came from a peer over NCCL: {by}, {'; '.join(one['notes']) or 'no notes'}"
    return ""


def interleaved(sides: Mapping[str, Job], setting: str, rounds: int, steps: int) -> dict[str, Any]:
    """Medians of blocks that alternate between the sides, and ratios to native of the others."""
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    for number in range(rounds + 1):
        for side, job in sides.items():
            block = max(one["seconds"] for one in job.ask(do="time", setting=setting, steps=steps))
            if number:  # the first round warms up
                seconds[side].append(block)
    median = {side: statistics.median(values) for side, values in seconds.items()}
    ratios = {side: value / median["native"] for side, value in median.items() if side != "native"}
    return {"seconds": seconds, "median": median, "ratio": ratios["proxied"], "ratios": ratios}
