"""A training whose steps are CUDA graphs, and the same without them; test_captured_training.py runs it in lockstep.

Arguments: what is captured, "graph" or "eager", steps. What is captured is one of "step" (the whole step, as PyTorch's
documentation captures a network), "optimizer" (with a forked stream, and AdamW), "callables"
(torch.cuda.make_graphed_callables around the layers) and "data" (the whole step of DistributedDataParallel; two more
arguments: the rank, and a file in which the two ranks meet).

Each line on standard input has it go on to the next point: "warm", "capturing", "captured", "launched". Each launch is
followed by a line of its own, with the loss and a hash of all weights. Equal runs print equal lines.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

WIDTH, BATCH, WARM = 96, 64, 3
Step = Callable[[], torch.Tensor]


def point(text: str) -> None:
    """Says where the program is, once it is told to go on."""
    sys.stdin.readline()
    print(text, flush=True)


def digest(*tensors: torch.Tensor) -> str:
    sha = hashlib.sha256()
    for tensor in tensors:
        sha.update(tensor.detach().cpu().numpy().tobytes())
    return sha.hexdigest()[:16]


def network(parts: int = 3) -> nn.Sequential:
    layers = [
        nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), nn.GELU(), nn.Dropout(0.2)) for _ in range(parts)
    ]
    return nn.Sequential(*layers, nn.Linear(WIDTH, 10)).cuda()


class Training:
    def __init__(self, what: str, rank: int) -> None:
        torch.manual_seed(3)
        self.distributed = what == "data"
        self.fork = what == "optimizer"
        self.model: nn.Module = network()
        self.input = torch.zeros(BATCH, WIDTH, device="cuda")
        self.target = torch.zeros(BATCH, dtype=torch.long, device="cuda")
        self.side = torch.cuda.Stream()
        self.extra = torch.zeros(WIDTH, device="cuda")
        if self.distributed:
            with torch.cuda.stream(self.side):
                self.model = nn.parallel.DistributedDataParallel(self.model)
            torch.cuda.current_stream().wait_stream(self.side)
        parameters = list(self.model.parameters())
        if what == "optimizer":
            self.optimizer: torch.optim.Optimizer = torch.optim.AdamW(parameters, lr=1e-3, capturable=True)
        else:
            self.optimizer = torch.optim.SGD(parameters, lr=0.05, momentum=0.9)
        self.random = torch.Generator().manual_seed(5 + rank)

    def next_batch(self) -> None:
        self.input.copy_(torch.randn(BATCH, WIDTH, generator=self.random))
        self.target.copy_(torch.randint(0, 10, (BATCH,), generator=self.random))

    def forward(self, model: nn.Module) -> torch.Tensor:
        """On a second stream, something that forward and backward do not wait for."""
        if self.fork:
            self.side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.side):
                self.extra.add_(self.input.sum(0)).mul_(0.5)
        loss = nn.functional.cross_entropy(model(self.input), self.target)
        if self.fork:
            torch.cuda.current_stream().wait_stream(self.side)
        return loss

    def step(self) -> torch.Tensor:
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.forward(self.model)
        loss.backward()
        self.optimizer.step()
        return loss

    def warm_up(self, steps: int) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(steps):
                self.next_batch()
                self.step()
        torch.cuda.current_stream().wait_stream(side)

    def state(self) -> str:
        return digest(*self.model.parameters(), self.extra, torch.cuda.get_rng_state())


def captured(training: Training) -> Step:
    """The whole step, as in PyTorch's documentation."""
    graph = torch.cuda.CUDAGraph()
    training.optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        loss = training.forward(training.model)
        point("capturing")
        loss.backward()
        training.optimizer.step()
    point("captured")

    def run() -> torch.Tensor:
        graph.replay()
        return loss

    return run


def with_callables(training: Training) -> Step:
    assert isinstance(training.model, nn.Sequential)
    layers = tuple(training.model)
    sample = torch.randn(BATCH, WIDTH, device="cuda")
    samples = [(sample.clone().requires_grad_(index > 0),) for index in range(len(layers))]
    point("capturing")
    made: Any = torch.cuda.make_graphed_callables(layers, tuple(samples))
    point("captured")
    model = nn.Sequential(*made)

    def run() -> torch.Tensor:
        training.optimizer.zero_grad(set_to_none=True)
        loss = training.forward(model)
        loss.backward()
        training.optimizer.step()
        return loss

    return run


def steps_of(what: str, kind: str, training: Training) -> Step:
    if kind == "graph":
        return with_callables(training) if what == "callables" else captured(training)
    point("capturing")
    point("captured")
    return training.step


def main() -> None:
    what, kind, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
    rank = int(sys.argv[4]) if what == "data" else 0
    if what == "data":
        os.environ["TORCH_NCCL_ASYNC_ERROR_HANDLING"] = "0"  # as PyTorch wants it for captures
        torch.cuda.set_device(rank)
        torch.distributed.init_process_group("nccl", f"file://{sys.argv[5]}", rank=rank, world_size=2)
    training = Training(what, rank)
    if what != "callables":
        training.warm_up(11 if what == "data" else WARM)
    torch.cuda.synchronize()
    point("warm")
    run = steps_of(what, kind, training)
    torch.cuda.manual_seed(17)
    for step in range(steps):
        training.next_batch()
        loss = run()
        point("launched")
        print(step, float(loss.item()).hex(), training.state(), flush=True)
    if what == "data":
        torch.cuda.synchronize()
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
