"""What programs after public bug reports have in common: an iteration at a time, and what a rank has in the end.

Called by: the other files of this folder. Promise: a shape that is made twice does the same both times.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

WIDTH = 32


def batch(rank: int, number: int, rows: int = 8, width: int = WIDTH) -> torch.Tensor:
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(2 * number + rank)).cuda()


def network(seed: int, width: int = WIDTH) -> torch.nn.Sequential:
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.Tanh(), torch.nn.Linear(width, width)).cuda()


def tensors_of(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    return [one for held in optimizer.state.values() for one in held.values() if isinstance(one, torch.Tensor)]


class Shape:
    """`iterate` is called with 0, 1, ...; `result` at the end: what must be the same with and without a loss."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        torch.manual_seed(5)
        self.prepare()

    def prepare(self) -> None:
        raise NotImplementedError

    def iterate(self, number: int) -> None:
        raise NotImplementedError

    def result(self) -> Iterable[torch.Tensor]:
        raise NotImplementedError
