"""Compiled functions as programs have them, run by test_compiled_training.py: each function prints what it found.

Equal runs print equal lines: hashes are those of all bytes.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

STEPS, WIDTH, BATCH = 6, 48, 16


def digest(*tensors: torch.Tensor) -> str:
    sha = hashlib.sha256()
    for tensor in tensors:
        sha.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return sha.hexdigest()[:16]


def said(found: BaseException) -> str:
    """The line of ours in a message of PyTorch's."""
    lines = [line for line in str(found).splitlines() if "jitc: " in line]
    return lines[0][lines[0].index("jitc: ") :] if lines else f"{type(found).__name__}: {str(found).splitlines()[0]}"


def _normalized(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return F.gelu(F.layer_norm(x, (x.shape[-1],)) @ weight).softmax(-1).var(0)


def _embedded(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Gradients of the same rows from several threads' places."""
    index = (x.detach().abs() * 7).long() % weight.shape[0]
    return F.embedding(index, weight).tanh().sum((0, 1)) * x.mean()


def _attended(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    q = (x @ weight).view(2, -1, 4, WIDTH // 4).transpose(1, 2)
    return F.scaled_dot_product_attention(q, q, q, is_causal=True).sum((0, 2))


def _convolved(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    picture = F.conv2d(x.view(1, 1, BATCH, WIDTH), weight[:9].reshape(-1, 1, 3, 3))
    return F.max_pool2d(picture.relu(), 2).cumsum(-1).flip(-1)


FUNCTIONS = (_normalized, _embedded, _attended, _convolved)


def same() -> None:
    """Of each function, whether results and gradients are those without compiling; then what they are."""
    for function in FUNCTIONS:
        runs = []
        for one in (function, torch.compile(function)):
            torch.manual_seed(2)
            x = torch.randn(BATCH, WIDTH, device="cuda", requires_grad=True)
            weight = torch.randn(WIDTH, WIDTH, device="cuda", requires_grad=True)
            result = one(x, weight)
            (result * torch.linspace(-1, 1, result.numel(), device="cuda").view_as(result)).sum().backward()
            assert x.grad is not None and weight.grad is not None
            runs.append((result.detach(), x.grad, weight.grad))
        close = [torch.allclose(a, b, 1e-4, 1e-4) for a, b in zip(*runs, strict=True)]
        print(function.__name__, close, digest(*runs[1]), flush=True)


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Embedding(64, WIDTH)
        layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), nn.GELU(), nn.Dropout(0.2)) for _ in "ab"]
        self.layers = nn.Sequential(*layers, nn.Linear(WIDTH, 64))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.layers(self.token(tokens))  # type: ignore[no-any-return]


def train(**options: Any) -> None:
    """A line per step: the loss, and a hash of weights and optimizer state."""
    torch.manual_seed(3)
    model = Network().cuda()
    compiled: Callable[[torch.Tensor], torch.Tensor] = torch.compile(model, **options)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    random = torch.Generator().manual_seed(5)
    for _ in range(STEPS):
        tokens = torch.randint(0, 64, (BATCH, 9), generator=random).cuda()
        loss = F.cross_entropy(compiled(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        state = [one for kept in optimizer.state.values() for one in kept.values()]
        print(loss.item().hex(), digest(*model.parameters(), *state), flush=True)


def graphs() -> None:
    """The same with CUDA graphs; then how many graphs were refused."""
    from torch._dynamo.utils import counters

    train(mode="reduce-overhead")
    print("refused", counters["inductor"]["cudagraph_skips"], flush=True)


def streams() -> None:
    """A compiled function on two streams, with an event between them, and then without one where none is needed."""

    @torch.compile
    def step(x: torch.Tensor) -> torch.Tensor:
        return (x.sin() + 1).cumsum(0)

    torch.manual_seed(3)
    x = torch.randn(256, 64, device="cuda")
    step(x)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = step(x)
    other = step(x * 2)
    torch.cuda.current_stream().wait_stream(side)
    print(digest(step(y), other), flush=True)


def race() -> None:
    """On another stream, without waiting for what makes its input."""
    step = torch.compile(lambda x: x * 2 + 1)
    x = torch.randn(256, 64, device="cuda")
    step(x)
    torch.cuda.synchronize()
    x.add_(1)
    with torch.cuda.stream(torch.cuda.Stream()):
        step(x)
    torch.cuda.synchronize()


def shapes() -> None:
    """Of dynamic sizes, compiled once."""
    from torch._dynamo.utils import counters

    def function(x: torch.Tensor) -> torch.Tensor:
        return (x * x.shape[0]).softmax(1).sum(0) + x[::2].mean()

    compiled = torch.compile(function, dynamic=True)
    inputs = [torch.randn(size, 33, device="cuda") for size in (3, 7, 130)]
    print([torch.allclose(function(x), compiled(x), 1e-4, 1e-5) for x in inputs])
    print(counters["stats"]["unique_graphs"], flush=True)


def random() -> None:
    """By seed: whether it is the same with an equal one, and not with another."""
    drop = torch.compile(lambda x: F.dropout(x, 0.4) + torch.rand_like(x) + torch.randn_like(x))
    x = torch.ones(300, device="cuda")
    results = []
    for seed in (7, 7, 8):
        torch.manual_seed(seed)
        results.append(drop(x))
    print(torch.equal(results[0], results[1]), torch.equal(results[1], results[2]), digest(*results), flush=True)


def wrong_index() -> None:
    """Found by the kernel: an error of the device, as on a GPU."""
    pick = torch.compile(lambda table, index: table[index] * 2)
    table, index = torch.randn(5, 8, device="cuda"), torch.tensor([1, 4], device="cuda")
    print(torch.equal(pick(table, index), table[index] * 2), flush=True)
    index[1] = 9
    try:
        print(pick(table, index).sum().item())
    except RuntimeError as error:
        print(str(error).splitlines()[0], flush=True)


def plain() -> None:
    """One function; where it cannot be compiled, the line that says so. Then whether the device still answers."""
    x = torch.arange(3.0, device="cuda")
    try:
        print(torch.compile(lambda x: x.sin() + 1)(x).sum().item() > 0)
    except Exception as error:
        print(said(error), flush=True)
    print(x.sum().item(), flush=True)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
