"""Jobs for the checks on a GPU: ranks of gpu_train.py with and without the proxy, asked the same, compared and timed.

Called by: gpu_steps.py, gpu_cudnn.py.
"""

from __future__ import annotations

import socket
import statistics
from collections.abc import Mapping
from typing import Any

from gpu_lab import BENCH, Lab, Program, Service

Answers = list[dict[str, Any]]
FAULT_STEPS = 6


def two_workers(lab: Lab) -> tuple[str, ...]:
    """Options of a service for two ranks on one GPU."""
    return ("--gpus", "2") if lab.rehearsal else ("--gpus", "1", "--workers-per-gpu", "2")


def start(lab: Lab, ranks: int, service: Service | None, **environ: str) -> list[Program]:
    """The ranks of a job, ready. Without the proxy both ranks share GPU 0; NCCL must take them for two hosts."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), **environ}
    if lab.rehearsal:
        common["SIZE"] = "tiny"
        common |= {} if service else {"DEVICE": "cpu", "GROUP": "gloo"}
    programs = []
    for rank in range(ranks):
        own = {"RANK": str(rank), "GPU": str(rank if service else 0), "NCCL_HOSTID": f"native-{rank}"}
        programs.append(lab.program(str(BENCH / "gpu_train.py"), service=service, **common, **own))
    for program in programs:
        program.greeting = program.answer()
    return programs


def ask(programs: list[Program], **request: Any) -> Answers:
    for program in programs:
        program.tell(**request)
    return [program.answer() for program in programs]


def same(one: Answers, other: Answers, key: str) -> bool:
    return [answer[key] for answer in one] == [answer[key] for answer in other]


def interleaved(sides: Mapping[str, list[Program]], setting: str, rounds: int, steps: int) -> dict[str, Any]:
    """Medians of blocks that alternate between the two sides."""
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    for number in range(rounds + 1):
        for side, programs in sides.items():
            block = max(one["seconds"] for one in ask(programs, do="time", setting=setting, steps=steps))
            if number:  # the first round warms up
                seconds[side].append(block)
    median = {side: statistics.median(values) for side, values in seconds.items()}
    return {"seconds": seconds, "median": median, "ratio": median["proxied"] / median["native"]}


def fault_verdict(recoveries: list[dict[str, Any]], identical: bool) -> str:
    """What is wrong with a run with a fault, or nothing."""
    if not recoveries:
        return "the fault did not fire, or nobody noticed"
    if any(one["outcome"] != "recovered" for one in recoveries):
        return str(recoveries[-1]["outcome"])
    return "" if identical else "recovered, but losses or state differ"
