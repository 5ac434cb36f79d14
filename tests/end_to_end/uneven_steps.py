"""A rank of a job whose ranks make different optimizer steps, run by test_uneven_steps.py.

`uneven_steps.py RANK FOLDER SHAPE`: does an iteration for every line on standard input, and prints its number; at the
end of input a hash of what the rank has. Nothing is read from the GPU before, so that work may be under way at any
time.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel

WIDTH = 32


def batch(rank: int, number: int) -> torch.Tensor:
    return torch.randn(8, WIDTH, generator=torch.Generator().manual_seed(2 * number + rank)).cuda()


def network(seed: int) -> torch.nn.Module:
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh(), torch.nn.Linear(WIDTH, WIDTH)).cuda()


def learn(model: torch.nn.Module, optimizer: torch.optim.Optimizer, data: torch.Tensor) -> None:
    optimizer.zero_grad()
    model(data).square().mean().backward()
    optimizer.step()


class Shape:
    """One kind of job; `iterate` is called with 0, 1, ..., `result` at the end. line: what standard input said last."""

    line = ""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.model = network(1)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-2)
        learn(self.model, self.optimizer, batch(9, 0))  # what the optimizer keeps has the same ordinals on both ranks

    def iterate(self, number: int) -> None:
        raise NotImplementedError

    def result(self) -> list[torch.Tensor]:
        state = [value for one in self.optimizer.state.values() for value in one.values()]
        return [*self.model.parameters(), *(one for one in state if isinstance(one, torch.Tensor))]


class Ahead(Shape):
    """Rank 0 makes steps alone before the common training."""

    ALONE = 3

    def __init__(self, rank: int) -> None:
        super().__init__(rank)
        if rank == 0:
            head = network(2)
            alone = torch.optim.SGD(head.parameters(), 0.1)
            for number in range(self.ALONE):
                learn(head, alone, batch(7, number))
        self.common = DistributedDataParallel(self.model)

    def iterate(self, number: int) -> None:
        learn(self.common, self.optimizer, batch(self.rank, number))


class Uneven(Ahead):
    """Rank 1 makes an additional step alone now and then."""

    ALONE = 0

    def __init__(self, rank: int) -> None:
        super().__init__(rank)
        self.head = network(3)
        self.alone = torch.optim.SGD(self.head.parameters(), 0.1)

    def iterate(self, number: int) -> None:
        super().iterate(number)
        if self.rank == 1 and number % 3 == 1:
            learn(self.head, self.alone, batch(5, number))

    def result(self) -> list[torch.Tensor]:
        return [*super().result(), *self.head.parameters()]


class Joined(Ahead):
    """An iteration is an epoch, in which rank 1 has fewer batches: it shadows the others' collectives (DDP's Join)."""

    ALONE, BATCHES = 0, (5, 2)

    def iterate(self, number: int) -> None:
        with Join([self.common]):
            for one in range(self.BATCHES[self.rank]):
                learn(self.common, self.optimizer, batch(self.rank, 10 * number + one))


class Late(Joined):
    """Ranks make the same steps as long as the lines say "even"."""

    def iterate(self, number: int) -> None:
        if self.line == "even":
            learn(self.common, self.optimizer, batch(self.rank, 10 * number))
        else:
            super().iterate(number)


class Local(Shape):
    """Local SGD: weights are averaged after steps of which rank 0 makes more."""

    def iterate(self, number: int) -> None:
        for one in range(3 - self.rank):
            learn(self.model, self.optimizer, batch(self.rank, 10 * number + one))
        for parameter in self.model.parameters():
            dist.all_reduce(parameter.data, dist.ReduceOp.AVG)


class Pipeline(Shape):
    """A stage per rank, each with an optimizer of its own; the second one steps once for every two of the first."""

    def iterate(self, number: int) -> None:
        for half in range(2):
            if self.rank == 0:
                out = self.model(batch(0, 2 * number + half))
                dist.send(out.detach(), 1)
                gradient = torch.empty_like(out)
                dist.recv(gradient, 1)
                self.optimizer.zero_grad()
                out.backward(gradient)
                self.optimizer.step()
            else:
                given = torch.empty(8, WIDTH, device="cuda", requires_grad=True)
                dist.recv(given.data, 0)
                self.model(given).square().mean().backward()
                assert given.grad is not None
                dist.send(given.grad, 0)
        if self.rank == 1:
            self.optimizer.step()
            self.optimizer.zero_grad()


class Server(Shape):
    """Rank 0 alone has an optimizer: rank 1 gives it gradients and gets weights, and never makes a step."""

    def iterate(self, number: int) -> None:
        self.model.zero_grad()
        self.model(batch(self.rank, number)).square().mean().backward()
        for parameter in self.model.parameters():
            dist.reduce(parameter.grad, 0)
        if self.rank == 0:
            self.optimizer.step()
        for parameter in self.model.parameters():
            dist.broadcast(parameter.data, 0)


class Groups(Ahead):
    """Communicators are made and destroyed all the time, and rank 0 makes more steps."""

    ALONE = 2

    def iterate(self, number: int) -> None:
        group = dist.new_group([0, 1])
        total = torch.full([4], float(number + self.rank), device="cuda")
        dist.all_reduce(total, group=group)
        super().iterate(number)
        dist.destroy_process_group(group)
        self.model[0].bias.data[:4].add_(total * 1e-3)  # type: ignore[operator, index, union-attr]


SHAPES: dict[str, Callable[[int], Shape]] = {
    one.__name__.lower(): one for one in (Ahead, Uneven, Joined, Late, Local, Pipeline, Server, Groups)
}


def main(rank: int, folder: Path, shape: str) -> None:
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    job = SHAPES[shape](rank)
    for number, line in enumerate(sys.stdin):
        job.line = line.strip()
        job.iterate(number)
        print(number, flush=True)
    content = b"".join(one.detach().cpu().numpy().tobytes() for one in job.result())
    print(hashlib.sha256(content).hexdigest(), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
