"""What gpu_train.py trains: models with their batches, by the name of a setting, in two sizes.

Called by: gpu_train.py. Promise: a generator with the same seed gives the same batches, with and without the proxy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from gpu_model import GPT, Size
from gpu_networks import CLASSES, ConvNet, ConvSize, Recurrent, RecurrentSize

Batch = tuple[torch.Tensor, ...]

#: Batch and length of the GPT's settings: the GPU is the limit, or launching is.
GPT_SETTINGS = {"gpu-bound": (16, 1024), "launch-bound": (1, 32), "small": (4, 256)}


@dataclass(frozen=True)
class Case:
    """The model gives the loss of a batch."""

    model: Callable[[], torch.nn.Module]
    batch: Callable[[torch.Generator], Batch]
    drawn_on_gpu: bool = False  # else on the host and copied, as data comes to a training loop
    bf16: bool = False
    channels_last: bool = False


def gpt(setting: str, tiny: bool) -> Case:
    size = Size(layers=2, heads=2, width=32, vocabulary=256, context=64) if tiny else Size()
    batch, length = (2, 16) if tiny else GPT_SETTINGS[setting]
    shape = (batch, length + 1)
    return Case(lambda: GPT(size), lambda random: (torch.randint(size.vocabulary, shape, generator=random),), bf16=True)


def convnet(tiny: bool, bf16: bool) -> Case:
    size = ConvSize(widths=(8, 16), blocks=1, picture=16, batch=4) if tiny else ConvSize()
    shape = (size.batch, 3, size.picture, size.picture)
    return Case(lambda: ConvNet(size), _labelled(shape), drawn_on_gpu=not tiny, bf16=bf16, channels_last=bf16)


def lstm(tiny: bool) -> Case:
    size = RecurrentSize(width=8, hidden=16, length=5, batch=4) if tiny else RecurrentSize()
    return Case(lambda: Recurrent(size), _labelled((size.batch, size.length, size.width)), drawn_on_gpu=not tiny)


def case(setting: str, tiny: bool) -> Case:
    if setting == "lstm":
        return lstm(tiny)
    if setting in ("convnet", "convnet-bf16"):
        return convnet(tiny, bf16=setting == "convnet-bf16")
    return gpt(setting, tiny)


def _labelled(shape: tuple[int, ...]) -> Callable[[torch.Generator], Batch]:
    """Noise of this shape, with a class each."""

    def draw(random: torch.Generator) -> Batch:
        values = torch.randn(shape, generator=random, device=random.device)
        return values, torch.randint(CLASSES, shape[:1], generator=random, device=random.device)

    return draw
