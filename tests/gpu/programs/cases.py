"""What train.py trains: models with their batches, by the name of a setting; tiny: for a CPU.

Called by: train.py. Promise: a generator with the same seed gives the same batches, with and without the proxy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from .models import CLASSES, GPT, ConvNet, ConvSize, Recurrent, RecurrentSize, Size

Batch = tuple[torch.Tensor, ...]

_SMALL = Size(layers=2, heads=4, width=256, vocabulary=4096, context=256)
#: The GPT's settings, with batch and length: the GPU is the limit, launching, nothing (for faults), memory.
GPT_SETTINGS = {
    "gpu-bound": (Size(), 16, 1024),
    "launch-bound": (Size(), 1, 32),
    "small": (_SMALL, 4, 128),
    "large": (Size(layers=48, heads=25, width=1600), 4, 1024),
}
_TINY = Size(layers=2, heads=2, width=32, vocabulary=256, context=64), 2, 16
#: Those of the networks with cuDNN; "-large" ones are timed.
CONVNETS = {"convnet": ConvSize(widths=(32, 64), blocks=1, picture=32, batch=16), "convnet-large": ConvSize()}
RECURRENT = {"lstm": RecurrentSize(width=64, hidden=128, length=32, batch=16), "lstm-large": RecurrentSize()}


@dataclass(frozen=True)
class Case:
    """The model gives the loss of a batch."""

    model: Callable[[], torch.nn.Module]
    batch: Callable[[torch.Generator], Batch]
    drawn_on_gpu: bool = False  # else on the host and copied, as data comes to a training loop
    bf16: bool = False
    channels_last: bool = False


def gpt(setting: str, tiny: bool) -> Case:
    size, batch, length = _TINY if tiny else GPT_SETTINGS[setting]
    shape = (batch, length + 1)
    return Case(lambda: GPT(size), lambda random: (torch.randint(size.vocabulary, shape, generator=random),), bf16=True)


def convnet(setting: str, tiny: bool, bf16: bool) -> Case:
    size = ConvSize(widths=(8, 16), blocks=1, picture=16, batch=4) if tiny else CONVNETS[setting]
    shape = (size.batch, 3, size.picture, size.picture)
    return Case(lambda: ConvNet(size), _labelled(shape), drawn_on_gpu=not tiny, bf16=bf16, channels_last=bf16)


def lstm(setting: str, tiny: bool) -> Case:
    size = RecurrentSize(width=8, hidden=16, length=5, batch=4) if tiny else RECURRENT[setting]
    return Case(lambda: Recurrent(size), _labelled((size.batch, size.length, size.width)), drawn_on_gpu=not tiny)


def case(setting: str, tiny: bool) -> Case:
    """A convnet's setting ends with -bf16 where it is trained in that, with its channels last."""
    if setting in RECURRENT:
        return lstm(setting, tiny)
    if (plain := setting.removesuffix("-bf16")) in CONVNETS:
        return convnet(plain, tiny, bf16=plain != setting)
    return gpt(setting, tiny)


def _labelled(shape: tuple[int, ...]) -> Callable[[torch.Generator], Batch]:
    """Noise of this shape, with a class each."""

    def draw(random: torch.Generator) -> Batch:
        values = torch.randn(shape, generator=random, device=random.device)
        return values, torch.randint(CLASSES, shape[:1], generator=random, device=random.device)

    return draw
