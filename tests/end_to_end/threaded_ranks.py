"""A rank of a job of two in which another thread has a part in optimizer steps, run by test_threaded_steps.py.

`threaded_ranks.py RANK FOLDER`: does an iteration for every line on standard input, and prints its number; at the end
of input a hash of what the rank has. In an iteration whose line is "feeds" another thread writes the next batch while
the step is made, over the one before; with "steps" it makes a step of its own first, with a model of its own.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

WIDTH = 32
pool = ThreadPoolExecutor(1)


class Interrupted(torch.optim.AdamW):
    """In the midst of its step it has another thread do something, and waits for that."""

    act: Callable[[], object] | None = None

    def step(self, closure: Any = None) -> Any:
        super().step(closure)
        if self.act:
            pool.submit(self.act).result()
        with torch.no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    parameter.mul_(0.999)


def network(seed: int) -> torch.nn.Module:
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh(), torch.nn.Linear(WIDTH, WIDTH)).cuda()


class Rank:
    def __init__(self, rank: int) -> None:
        self.rank, self.fed = rank, False
        model = network(1)
        self.model = DistributedDataParallel(model)
        self.optimizer = Interrupted(model.parameters(), 1e-2)
        self.other = network(2)
        self.alone = torch.optim.SGD(self.other.parameters(), 0.1)
        self.buffer = torch.zeros(8, WIDTH, device="cuda")

    def batch(self, number: int) -> torch.Tensor:
        return torch.randn(8, WIDTH, generator=torch.Generator().manual_seed(2 * number + self.rank))

    def feed(self, number: int) -> None:
        torch.cuda.set_device(self.rank)
        self.buffer.copy_(self.batch(number))
        self.fed = True

    def step_alone(self) -> None:
        torch.cuda.set_device(self.rank)
        self.alone.zero_grad()
        self.other(torch.ones(1, WIDTH, device="cuda")).square().mean().backward()
        self.alone.step()

    def iterate(self, number: int, line: str) -> None:
        if not self.fed:
            self.feed(number)
        self.fed = False
        self.optimizer.zero_grad()
        self.model(self.buffer).square().mean().backward()
        self.optimizer.act = {"feeds": lambda: self.feed(number + 1), "steps": self.step_alone}.get(line)
        self.optimizer.step()

    def result(self) -> list[torch.Tensor]:
        state = [value for one in self.optimizer.state.values() for value in one.values()]
        return [*self.model.parameters(), *self.other.parameters(), *state]


def main(rank: int, folder: Path) -> None:
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    job = Rank(rank)
    for number, line in enumerate(sys.stdin):
        job.iterate(number, line.strip())
        print(number, flush=True)
    pool.shutdown()
    content = b"".join(one.detach().cpu().numpy().tobytes() for one in job.result())
    print(hashlib.sha256(content).hexdigest(), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
