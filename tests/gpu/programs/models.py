"""What is trained: a GPT (by default GPT-2 with 124 million parameters); a residual CNN and an LSTM, which is what
cuDNN is for. Each gives the loss of a batch.

Called by: cases.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

CLASSES = 1000


@dataclass(frozen=True)
class Size:
    layers: int = 12
    heads: int = 12
    width: int = 768
    vocabulary: int = 50304
    context: int = 1024


class Block(nn.Module):
    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads = size.heads
        self.norm1, self.norm2 = nn.LayerNorm(size.width), nn.LayerNorm(size.width)
        self.qkv = nn.Linear(size.width, 3 * size.width)
        self.out = nn.Linear(size.width, size.width)
        self.up, self.down = nn.Linear(size.width, 4 * size.width), nn.Linear(4 * size.width, size.width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT(nn.Module):
    """Gives the loss; the head shares the embedding's weights."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.token = nn.Embedding(size.vocabulary, size.width)
        self.position = nn.Embedding(size.context, size.width)
        self.blocks = nn.ModuleList(Block(size) for _ in range(size.layers))
        self.norm = nn.LayerNorm(size.width)
        nn.init.normal_(self.token.weight, std=0.02)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        inputs, targets = tokens[:, :-1], tokens[:, 1:]
        x = self.token(inputs) + self.position(torch.arange(inputs.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.token.weight)
        return F.cross_entropy(logits.reshape(-1, logits.shape[-1]).float(), targets.reshape(-1))


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
