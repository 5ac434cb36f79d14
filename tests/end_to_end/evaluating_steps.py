"""One rank of a training script takes far longer for a step than usual. Called by: paced_steps.py.

EVALUATE has the rank, the step after which it does so, and how: "device" (operators on the GPU, one after the other: an
evaluation), "host" (the program does something else: a checkpoint, a data loader) or "operator" (a single one that
takes so long).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch

#: Longer than a rank may stand still that others wait for.
SECONDS = 8.0
PIECES = 40
#: Of the clock that torch.cuda._sleep counts in.
CYCLES = 1_000_000_000


def on_device(pieces: int) -> None:
    for _ in range(pieces):
        torch.cuda._sleep(int(SECONDS * CYCLES / pieces))
    torch.cuda.synchronize()


def on_host() -> None:
    threading.Event().wait(SECONDS)


WAYS: dict[str, Callable[[], None]] = {
    "device": lambda: on_device(PIECES), "operator": lambda: on_device(1), "host": on_host,
}  # fmt: skip


def slow_down(text: str) -> None:
    from common import Job

    rank, step, way = text.split()
    step_done = Job.step_done

    def slow(job: Any, loss: float) -> None:
        step_done(job, loss)
        if (job.rank, len(job.losses)) == (int(rank), int(step)):
            WAYS[way]()

    Job.step_done = slow
