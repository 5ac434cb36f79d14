"""Models and optimizers that parts choose by name. Called by: learning.py, exchange.py, beside.py."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

HEADS = 2


class Conv(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.norm, self.second = (
            nn.Conv1d(1, 3, 3, padding=1),
            nn.BatchNorm1d(3),
            nn.Linear(3 * width, width),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = self.second(torch.relu(self.norm(self.first(x.unsqueeze(1)))).flatten(1))
        return made


class Embedding(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.table, self.out = nn.Embedding(width, width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = self.out(self.table(x.argsort(-1)[:, :4]).mean(1) + x)
        return made


class Attention(nn.Module):
    """A batch is a sequence; the kernel is called by its name."""

    def __init__(self, width: int, kernel: str) -> None:
        super().__init__()
        self.kernel, self.mixed, self.out = kernel, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, width = x.shape
        split = self.mixed(x).view(1, rows, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4)
        q, k, v = (one.contiguous() for one in split)
        if self.kernel == "flash":
            half = [one.bfloat16() for one in (q, k, v)]
            mixed = torch.ops.aten._scaled_dot_product_flash_attention(*half)[0].float()
        elif self.kernel == "efficient":
            mixed = torch.ops.aten._scaled_dot_product_efficient_attention(q, k, v, None, True)[0]
        else:
            mixed = torch.ops.aten._scaled_dot_product_attention_math(q, k, v)[0]
        made: torch.Tensor = x + self.out(mixed.transpose(1, 2).reshape(rows, width).to(x.dtype))
        return made


def model(kind: str, width: int) -> nn.Module:
    """From a batch of rows to one of the same size."""
    if kind == "conv":
        return Conv(width)
    if kind == "embedding":
        return Embedding(width)
    if kind in ("flash", "efficient", "math"):
        return nn.Sequential(nn.Linear(width, width), Attention(width, kind), nn.Linear(width, width))
    between: dict[str, list[nn.Module]] = {
        "linear": [], "norm": [nn.LayerNorm(width)], "batch-norm": [nn.BatchNorm1d(width)],
        "dropout": [nn.Dropout(0.2)],
    }  # fmt: skip
    return nn.Sequential(nn.Linear(width, width), *between[kind], nn.Tanh(), nn.Linear(width, width))


def optimizer(name: str, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    style, _, kind = name.rpartition("-")
    chosen: dict[str, Any] = {style: True} if style else {}
    if kind in ("sgd", "momentum"):
        return torch.optim.SGD(parameters, 1e-2, momentum=0.9 if style or kind == "momentum" else 0.0, **chosen)
    made = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "rmsprop": torch.optim.RMSprop}[kind]
    return made(parameters, 1e-3, **chosen)


def state(one: torch.optim.Optimizer) -> Any:
    return one.state_dict()["state"]
