"""A rank of a job of two that does what docs/guarantees.md assumes nobody does, run by test_assumptions_held.py.

`assumption_steps.py RANK FOLDER WAY`: does a step for every line on standard input, and prints a hash of its weights.
`plain`: nothing of the kind. `forks`: a child that was forked from it uses CUDA, and its error is printed first.
`by-hand`: weights are changed without an optimizer, so that no boundary is made.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

WIDTH, RATE, FORKS = 32, 0.05, 2


def batch(rank: int, number: int) -> torch.Tensor:
    return torch.randn(8, WIDTH, generator=torch.Generator().manual_seed(2 * number + rank)).cuda()


def use_cuda() -> int:
    """What the runtime says to a program that asks for memory."""
    address = ctypes.c_void_p()
    return int(ctypes.CDLL(None).cudaMalloc(ctypes.byref(address), ctypes.c_size_t(4096)))


def child_status() -> int:
    """Of a child that asks for memory; it ends without PyTorch's own ending."""
    child = os.fork()
    if not child:
        os._exit(use_cuda())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def by_optimizer(model: DistributedDataParallel) -> Callable[[], None]:
    optimizer = torch.optim.SGD(model.parameters(), RATE, momentum=0.9)

    def step() -> None:
        optimizer.step()
        optimizer.zero_grad()

    return step


def by_hand(model: DistributedDataParallel) -> Callable[[], None]:
    def step() -> None:
        with torch.no_grad():
            for one in model.parameters():
                assert one.grad is not None
                one.sub_(RATE * one.grad)
                one.grad = None

    return step


def main() -> None:
    rank, folder, way = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", store=dist.FileStore(str(folder / "store"), 2), rank=rank, world_size=2)
    torch.manual_seed(1)
    model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh()).cuda())
    step = by_hand(model) if way == "by-hand" else by_optimizer(model)
    for number, _ in enumerate(sys.stdin):
        if way == "forks" and number == FORKS:
            print(child_status(), flush=True)
        model(batch(rank, number)).square().mean().backward()
        step()
        content = b"".join(one.detach().cpu().numpy().tobytes() for one in model.parameters())
        print(hashlib.sha256(content).hexdigest(), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
