"""Models that are compiled in the ways that PyTorch offers, run by test_compiled_models.py.

compiled_models.py NAME prints a line per step: the loss, and a hash of the weights. With "both" behind it, the last
line says whether losses and weights are those without compiling.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

STEPS, WIDTH, BATCH = 3, 32, 8
Step = Callable[[torch.Tensor], torch.Tensor]
#: The weights, and what gives the loss of a batch; compiled where asked to be.
Case = tuple[nn.Module, Step]


def digest(*tensors: torch.Tensor) -> str:
    sha = hashlib.sha256()
    for tensor in tensors:
        sha.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return sha.hexdigest()[:16]


def layers(*more: nn.Module) -> nn.Module:
    made = [nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.LayerNorm(2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH), *more]
    return nn.Sequential(*made).cuda()


def compiled(function: Any, asked: bool, **options: Any) -> Any:
    return torch.compile(function, **options) if asked else function


def autotuned(asked: bool) -> Case:
    model = layers()
    run = compiled(model, asked, mode="max-autotune")
    return model, lambda x: run(x).square().mean()


def one_graph(asked: bool) -> Case:
    model = layers()

    def loss(x: torch.Tensor) -> torch.Tensor:
        return (model(x) - x).abs().mean()

    return model, compiled(loss, asked, fullgraph=True)


def any_size(asked: bool) -> Case:
    """Another batch size in each step."""
    model = layers()
    run = compiled(model, asked, dynamic=True)
    sizes = iter((3, 5, 8))
    return model, lambda x: run(x[: next(sizes)]).square().mean()


def in_bfloat16(asked: bool) -> Case:
    model = layers()

    def loss(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return model(x).square().mean()

    return model, compiled(loss, asked)


def broken(asked: bool) -> Case:
    """With a print and a number of the device's in the middle: graph breaks."""
    model = layers()

    def loss(x: torch.Tensor) -> torch.Tensor:
        y = model(x)
        torch._dynamo.graph_break()
        scale = 2.0 if y.sum().item() > 0 else 3.0
        return (y * scale).square().mean()

    return model, compiled(loss, asked)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        ctx.save_for_backward(x)
        return x.sin() * 2

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        (x,) = ctx.saved_tensors
        return grad * x.cos() * 2 + grad.sum() * 1e-3  # not the true one


def own_gradient(asked: bool) -> Case:
    model = layers()
    return model, compiled(lambda x: Doubled.apply(model(x)).square().mean(), asked)


class Pictures(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 8, 3, stride=2)
        )
        self.upwards = nn.ConvTranspose2d(8, 1, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.upwards(self.convolutions(x.view(BATCH, 1, 4, -1).repeat(1, 1, 2, 2)))  # type: ignore[no-any-return]


def pictures(asked: bool) -> Case:
    """With statistics that are updated."""
    model = Pictures().cuda()
    run = compiled(model, asked)
    return model, lambda x: run(x).square().mean()


class Scattered(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(12, WIDTH)
        self.bags = nn.EmbeddingBag(12, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        index = (x.abs() * 5).long() % 12
        rows = self.table(index).sum(1) + self.bags(index)
        counts = torch.zeros(12, WIDTH, device=x.device).index_put((index[:, 0],), rows, accumulate=True)
        return counts.scatter_add(0, index, x.sin()).index_add(0, index[0, :4], rows[:4])


def scattered(asked: bool) -> Case:
    """Several values for one place, in the forward pass and in gradients."""
    model = Scattered().cuda()
    run = compiled(model, asked)
    return model, lambda x: run(x).square().mean()


def whole_step(asked: bool) -> Case:
    """The optimizer's step is compiled: see run()."""
    return one_graph(asked)


def attention(asked: bool) -> Case:
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    model = layers()
    run = compiled(flex_attention, asked)
    mask = create_block_mask(lambda _b, _h, q, k: q >= k, None, None, BATCH, BATCH, device="cuda")

    def loss(x: torch.Tensor) -> torch.Tensor:
        q = model(x).view(1, BATCH, 2, WIDTH // 2).transpose(1, 2)
        return run(q, q, q, score_mod=lambda s, _b, h, i, j: s + h * (i - j), block_mask=mask).square().mean()  # type: ignore[no-any-return]

    return model, loss


def matrices(asked: bool) -> Case:
    """Decompositions and transforms, whose results lie otherwise on a CPU."""
    model = layers()

    def loss(x: torch.Tensor) -> torch.Tensor:
        y = model(x)
        spectrum = torch.fft.rfft2(y.view(2, 4, WIDTH), dim=(0, 1)).abs().mean()
        return torch.linalg.svdvals(y).sum() + spectrum + torch.cdist(y[:4], y[4:], p=3.0).mean()

    return model, compiled(loss, asked)


CASES = (
    autotuned, one_graph, any_size, in_bfloat16, broken, own_gradient, pictures, scattered, whole_step, attention,
    matrices,
)  # fmt: skip


def run(case: Callable[[bool], Case], asked: bool) -> list[tuple[float, str, list[torch.Tensor]]]:
    torch.manual_seed(4)
    torch._dynamo.reset()
    model, loss_of = case(asked)
    # AdamW makes a whole step of a gradient that is nothing but rounding.
    kind: Any = torch.optim.AdamW if case is whole_step else torch.optim.SGD
    optimizer = kind(model.parameters(), lr=1e-3)
    step = compiled(optimizer.step, asked and case is whole_step)
    random = torch.Generator().manual_seed(6)
    steps = []
    for _ in range(STEPS):
        x = torch.randn(BATCH, WIDTH, generator=random).cuda()
        optimizer.zero_grad()
        loss = loss_of(x)
        loss.backward()
        step()
        state = [*model.parameters(), *model.buffers()]
        steps.append((loss.item(), digest(*state), [one.detach().cpu().float() for one in state]))
    return steps


def main(name: str, both: bool) -> None:
    [case] = [one for one in CASES if one.__name__ == name]
    found = run(case, True)
    for loss, weights, _ in found:
        print(loss.hex(), weights, flush=True)
    if both:
        near = 3e-2 if case is in_bfloat16 else 2e-3
        close = [
            abs(one[0] - other[0]) <= 1e-2 * abs(other[0])
            and all(torch.allclose(a, b, near, near) for a, b in zip(one[2], other[2], strict=True))
            for one, other in zip(found, run(case, False), strict=True)
        ]
        print("as without compiling:", close, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], "both" in sys.argv[2:])
