"""A program whose optimizer steps come from several threads, run by test_threaded_steps.py.

`threaded_steps.py SHAPE`: its threads do an iteration for every line on standard input, at the same time, and its
number is printed; at the end of input a hash of what all threads have. Each thread's numbers are its own, so that the
hash does not depend on who comes first. Nothing is read from the GPU before the end.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

WIDTH, LAYERS, STEPS = 32, 3, 3


class Meeting(torch.optim.AdamW):
    """Its step has a middle, at which it meets others."""

    meet: Callable[[], object] = staticmethod(lambda: None)

    def step(self, closure: Any = None) -> Any:
        self.meet()
        super().step(closure)
        self.meet()
        with torch.no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    parameter.mul_(0.999)
        self.meet()


class Trainer:
    """Training that one thread does, with a model, an optimizer and a stream of its own."""

    def __init__(self, seed: int, gpu: int = 0, own_stream: bool = False) -> None:
        torch.manual_seed(seed)
        self.seed, self.gpu = seed, gpu
        self.data = torch.Generator().manual_seed(100 + seed)
        layers = [torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]
        self.model = torch.nn.Sequential(*layers).to(f"cuda:{gpu}")
        self.optimizer = Meeting(self.model.parameters(), 1e-2)
        self.stream = torch.cuda.Stream(gpu) if own_stream else None

    def context(self) -> AbstractContextManager[object]:
        torch.cuda.set_device(self.gpu)
        return torch.cuda.stream(self.stream) if self.stream else nullcontext()

    def compute(self) -> None:
        batch = torch.randn(8, WIDTH, generator=self.data).to(f"cuda:{self.gpu}")
        self.model(batch).square().mean().backward()

    def iterate(self) -> None:
        with self.context():
            for _ in range(STEPS):
                self.optimizer.zero_grad()
                self.compute()
                self.optimizer.step()

    def result(self) -> Iterator[torch.Tensor]:
        for parameter in self.model.parameters():
            yield parameter
            if parameter.grad is not None:
                yield parameter.grad


class Worker(Trainer):
    """Computes gradients that add up, and never steps."""

    def iterate(self) -> None:
        with self.context():
            for _ in range(STEPS):
                self.compute()


class Copier(Trainer):
    """Launches kernels and copies, in memory that comes and goes and in memory that stays."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, own_stream=True)
        self.kept = torch.zeros(WIDTH, device="cuda")
        self.pinned = torch.zeros(4096).pin_memory()
        self.large = torch.zeros(4096, device="cuda")

    def iterate(self) -> None:
        with self.context():
            for _ in range(4 * STEPS):
                fresh = torch.randn(WIDTH, generator=self.data).cuda()
                self.kept.mul_(0.9).add_(fresh)
                self.large.add_(self.pinned.cuda(non_blocking=True)).add_(fresh.repeat(4096 // WIDTH))
            self.pinned.fill_(float(self.large.sum().cpu()) % 1)

    def result(self) -> Iterator[torch.Tensor]:
        yield from (self.kept, self.large)


Run = Callable[[list[Trainer]], None]
pool = ThreadPoolExecutor(4)


def at_once(trainers: Iterable[Trainer]) -> None:
    for one in [pool.submit(trainer.iterate) for trainer in trainers]:
        one.result()


def in_turn(trainers: Iterable[Trainer]) -> None:
    """Never at once, and now one is first, now the other."""
    for trainer in trainers:
        pool.submit(trainer.iterate).result()


class Engine:
    """Backward passes of two models that begin at once, in autograd's thread of the GPU; then both steps."""

    def __init__(self) -> None:
        self.begin = threading.Barrier(2)

    def __call__(self, trainers: list[Trainer]) -> None:
        def compute(trainer: Trainer) -> None:
            with trainer.context():
                for _ in range(STEPS):
                    trainer.optimizer.zero_grad()
                    self.begin.wait()
                    trainer.compute()
                    trainer.optimizer.step()

        for one in [pool.submit(compute, trainer) for trainer in trainers]:
            one.result()


def meeting(trainers: list[Trainer]) -> list[Trainer]:
    together = threading.Barrier(len(trainers))
    for one in trainers:
        one.optimizer.meet = together.wait
    return trainers


SHAPES: dict[str, tuple[Callable[[], list[Trainer]], Run]] = {
    "gpus": (lambda: [Trainer(0, 0), Trainer(1, 1)], at_once),
    "streams": (lambda: [Trainer(0, own_stream=True), Trainer(1, own_stream=True)], at_once),
    "stream": (lambda: [Trainer(0), Trainer(1)], at_once),
    "overlap": (lambda: meeting([Trainer(0), Trainer(1, own_stream=True)]), at_once),
    "gpus-overlap": (lambda: meeting([Trainer(0, 0), Trainer(1, 1)]), at_once),
    "backward": (lambda: [Trainer(0), Worker(1)], at_once),
    "engine": (lambda: [Trainer(0), Trainer(1)], Engine()),
    "copier": (lambda: [Trainer(0), Copier(1)], at_once),
    "turns": (lambda: [Trainer(0), Trainer(1)], in_turn),
}


def main(shape: str) -> None:
    make, run = SHAPES[shape]
    trainers = make()
    torch.cuda.synchronize()
    for number, _ in enumerate(sys.stdin):
        run(trainers)
        print(number, flush=True)
    pool.shutdown()
    torch.cuda.synchronize()
    content = b"".join(one.detach().cpu().numpy().tobytes() for trainer in trainers for one in trainer.result())
    print(hashlib.sha256(content).hexdigest(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
