"""A residual CNN and an LSTM, for the checks on a GPU: what cuDNN is for. Both give the loss of a batch.

Called by: gpu_cases.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

CLASSES = 1000


@dataclass(frozen=True)
class ConvSize:
    """Those of ResNet-18; a stage halves the picture."""

    widths: tuple[int, ...] = (64, 128, 256, 512)
    blocks: int = 2
    picture: int = 128
    batch: int = 256


@dataclass(frozen=True)
class RecurrentSize:
    width: int = 256
    hidden: int = 512
    layers: int = 2
    length: int = 128
    batch: int = 64


def convolution(channels: int, width: int, size: int, stride: int = 1) -> list[nn.Module]:
    """With its BatchNorm."""
    weights = nn.Conv2d(channels, width, size, stride, padding=size // 2, bias=False)
    return [weights, nn.BatchNorm2d(width)]


class Residual(nn.Module):
    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.main = nn.Sequential(
            *convolution(channels, width, 3, stride), nn.ReLU(inplace=True), *convolution(width, width, 3)
        )
        self.beside = nn.Sequential(*convolution(channels, width, 1, stride) if stride > 1 else [])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.main(x) + self.beside(x))


class ConvNet(nn.Module):
    def __init__(self, size: ConvSize) -> None:
        super().__init__()
        channels = size.widths[0]
        stem = [*convolution(3, channels, 3), nn.ReLU(inplace=True), nn.MaxPool2d(2)]
        stages: list[nn.Module] = []
        for width in size.widths:
            for number in range(size.blocks):
                stages.append(Residual(channels, width, stride=2 if number == 0 and width != channels else 1))
                channels = width
        self.features = nn.Sequential(*stem, *stages)
        self.head = nn.Linear(channels, CLASSES)

    def forward(self, pixels: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        logits = self.head(self.features(pixels).mean((2, 3)))
        return F.cross_entropy(logits.float(), labels)


class Recurrent(nn.Module):
    def __init__(self, size: RecurrentSize) -> None:
        super().__init__()
        self.recurrent = nn.LSTM(size.width, size.hidden, size.layers, batch_first=True)
        self.head = nn.Linear(size.hidden, CLASSES)

    def forward(self, values: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        states, _ = self.recurrent(values)
        return F.cross_entropy(self.head(states[:, -1]).float(), labels)
