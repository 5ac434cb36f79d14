"""A rank of a data-parallel job of two that also uses the other rank's GPU, run by test_second_gpu.py.

`second_gpu_steps.py RANK FOLDER MODE`: does a step for every line on standard input and prints the step and a hash of
all weights. In step TOUCH rank 1 does with GPU 0 what MODE says; see TOUCHES.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.nn.parallel import DistributedDataParallel

TOUCH = 2
kept: list[object] = []


def use() -> None:
    kept.append(torch.ones(4, device="cuda:0"))
    torch.cuda.synchronize(0)


def in_thread(work: Callable[[], object]) -> None:
    """A new thread's current device is the first one."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def use_and_free() -> None:
    use()
    kept.clear()
    torch.cuda.empty_cache()


class Busy:
    """A thread that computes there all the time, in memory that is new each time."""

    ROUNDS = 4000

    def __init__(self) -> None:
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self) -> None:
        torch.cuda.set_device(0)
        numbers = torch.arange(1000, device="cuda", dtype=torch.float64)
        for _ in range(self.ROUNDS):
            numbers = numbers * 0.75 + numbers.roll(1)
            numbers = numbers / numbers.abs().max()
        self.result = numbers.sum().item()

    def finish(self) -> str:
        self.thread.join()
        return self.result.hex()


def load(folder: Path) -> None:
    """What rank 0 has saved comes back to where it was."""
    kept.append(torch.load(folder / "saved"))


TOUCHES: dict[str, Callable[[Path], object]] = {
    "none": lambda folder: None,
    "main": lambda folder: use(),
    "thread": lambda folder: in_thread(use),
    "pin": lambda folder: in_thread(lambda: torch.ones(4).pin_memory()),
    "free": lambda folder: use_and_free(),
    "load": load,
    "busy": lambda folder: kept.append(Busy()),
    "save": lambda folder: None,
}


def main(rank: int, folder: Path, mode: str) -> None:
    torch.cuda.set_device(rank)
    backend = "cpu:gloo,cuda:nccl" if mode == "save" else "nccl"
    dist.init_process_group(backend, init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(64, 64).cuda())
    optimizer = torch.optim.AdamW(model.parameters())
    for step, _ in enumerate(sys.stdin):
        torch.manual_seed(2 * step + rank)
        model(torch.randn(8, 64, device="cuda")).square().mean().backward()
        if step == TOUCH - 1 and rank == 0:
            torch.save(torch.ones(4, device="cuda"), folder / "saved")
        if step == TOUCH and rank == 1:
            TOUCHES[mode](folder)
        if step == TOUCH and mode == "save":  # a thread of PyTorch's own does it
            kept.append(dcp.async_save(model.state_dict(), checkpoint_id=str(folder / "checkpoint")))
        optimizer.step()
        optimizer.zero_grad()
        weights = b"".join(parameter.detach().cpu().numpy().tobytes() for parameter in model.parameters())
        print(step, hashlib.sha256(weights).hexdigest(), flush=True)
    for one in kept:
        if isinstance(one, Busy):
            print(one.finish(), flush=True)
        if mode == "save":
            one.result()  # type: ignore[attr-defined]
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
