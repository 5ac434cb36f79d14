"""PyTorch on the GPU, one operation after the other, each compared with the CPU: a JSON line each.

`--from NAME` goes on after an operation that ended the process. The first failing one says most. Called by:
steps/with_torch.py.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as F

from . import answers

Result = Any


def _pair(*shape: int, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, generator=generator).to(dtype), torch.randn(*shape, generator=generator).to(dtype)


def _backward(module: Callable[[], torch.nn.Module], *shape: int) -> Callable[[str], Result]:
    def work(device: str) -> Result:
        torch.manual_seed(3)
        made = module().to(device)
        x = _pair(*shape)[0].to(device).requires_grad_()
        made(x).square().mean().backward()
        return [x.grad, *(parameter.grad for parameter in made.parameters())]

    return work


def _amp(device: str) -> Result:
    a, b = _pair(64, 64)
    with torch.autocast(device, torch.bfloat16):
        return (a.to(device) @ b.to(device)).float()


def _attention(device: str) -> Result:
    query, key = _pair(2, 4, 64, 32)
    q, k = query.to(device).requires_grad_(), key.to(device)
    F.scaled_dot_product_attention(q, k, k, is_causal=True).sum().backward()
    return q.grad


def _conv_bf16(device: str) -> Result:
    torch.manual_seed(3)
    made = torch.nn.Conv2d(8, 16, 3).to(device, torch.bfloat16, memory_format=torch.channels_last)
    x = _pair(2, 8, 16, 16, dtype=torch.bfloat16)[0].to(device, memory_format=torch.channels_last).requires_grad_()
    made(x).float().square().mean().backward()
    return [one.float() for one in (x.grad, *(parameter.grad for parameter in made.parameters()))]


def _lstm(device: str) -> Result:
    torch.manual_seed(3)
    made, x = torch.nn.LSTM(16, 32, 2).to(device), _pair(5, 4, 16)[0].to(device)
    made(x)[0].square().mean().backward()
    return [parameter.grad for parameter in made.parameters()]


def _adam(device: str) -> Result:
    weight = torch.nn.Parameter(_pair(128, 64)[0].to(device))
    optimizer = torch.optim.AdamW([weight], lr=0.1, fused=device == "cuda")
    for _ in range(3):
        optimizer.zero_grad()
        weight.square().sum().backward()
        optimizer.step()
    return weight.detach()


def _graph(device: str) -> Result:
    a = _pair(64, 64)[0].to(device)
    if device == "cpu":
        return a * 2 + 1
    out = torch.empty_like(a)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        out.copy_(a * 2 + 1)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out.copy_(a * 2 + 1)
    out.zero_()
    graph.replay()
    return out


def _pinned(device: str) -> Result:
    a = _pair(1 << 16)[0]
    return (a.pin_memory() if device == "cuda" else a).to(device, non_blocking=True)


def _dropout(device: str) -> Result:
    """The numbers differ from the CPU's by design; how many are kept does not."""
    torch.manual_seed(5)
    kept = (F.dropout(torch.ones(1 << 16, device=device), 0.25) > 0).float().mean()
    return (kept - 0.75).abs() < 0.02


OPERATIONS: dict[str, Callable[[str], Result]] = {
    "empty_and_copy": lambda d: torch.empty(1024, device=d).copy_(_pair(1024)[0]),
    "fill": lambda d: torch.full((1000,), 3.5, device=d),
    "add": lambda d: _pair(1000)[0].to(d) + _pair(1000)[1].to(d),
    "reduce": lambda d: _pair(100, 100)[0].to(d).sum(dim=1),
    "item": lambda d: torch.tensor(torch.arange(10, device=d).sum().item()),
    "arange_index": lambda d: torch.arange(100, device=d)[torch.tensor([5, 7, 90], device=d)],
    "sort": lambda d: _pair(5000)[0].to(d).sort().values,
    "nonzero": lambda d: (_pair(500)[0].to(d) > 0).nonzero(),
    "matmul_fp32": lambda d: _pair(96, 96)[0].to(d) @ _pair(96, 96)[1].to(d),
    "matmul_bf16": lambda d: (_pair(96, 96, dtype=torch.bfloat16)[0].to(d) @ _pair(96, 96)[1].bfloat16().to(d)).float(),
    "bmm": lambda d: torch.bmm(_pair(8, 32, 32)[0].to(d), _pair(8, 32, 32)[1].to(d)),
    "linear_bias": lambda d: F.linear(_pair(8, 64)[0].to(d), _pair(32, 64)[0].to(d), _pair(32)[0].to(d)),
    "autocast_matmul": _amp,
    "linear_backward": _backward(lambda: torch.nn.Linear(64, 32), 16, 64),
    "layer_norm_backward": _backward(lambda: torch.nn.LayerNorm(64), 16, 64),
    "conv_backward": _backward(lambda: torch.nn.Conv2d(3, 8, 3), 2, 3, 16, 16),
    "conv_bf16_channels_last": _conv_bf16,
    "lstm_backward": _lstm,
    "max_pool_backward": _backward(lambda: torch.nn.MaxPool2d(2), 2, 3, 16, 16),
    "batch_norm_backward": _backward(lambda: torch.nn.BatchNorm2d(3), 2, 3, 16, 16),
    "attention_backward": _attention,
    "softmax": lambda d: _pair(32, 100)[0].to(d).softmax(-1),
    "dropout": _dropout,
    "pinned_copy": _pinned,
    "adamw": _adam,
    "cuda_graph": _graph,
}
#: bf16 products are rounded differently by different kernels.
LOOSE = {
    "matmul_bf16": 0.2,
    "autocast_matmul": 0.2,
    "attention_backward": 0.01,
    "conv_backward": 0.01,
    "conv_bf16_channels_last": 0.05,
}


def compare(name: str, device: str) -> None:
    wanted, got = OPERATIONS[name]("cpu"), OPERATIONS[name](device)
    tolerance = LOOSE.get(name, 1e-4)
    wanted, got = (value if isinstance(value, list) else [value] for value in (wanted, got))
    for left, right in zip(wanted, got, strict=True):
        torch.testing.assert_close(right.cpu(), left, rtol=tolerance, atol=tolerance)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="first", default="", metavar="NAME")
    parser.add_argument("--device", default="cuda")
    arguments = parser.parse_args()
    out = answers()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    names = list(OPERATIONS)
    print(json.dumps({"names": names}), file=out)
    for name in names[names.index(arguments.first) if arguments.first else 0 :]:
        print(json.dumps({"begins": name}), file=out)
        before = time.perf_counter()
        error = ""
        try:
            compare(name, arguments.device)
        except Exception as caught:  # one operation must not hide the others
            error = f"{type(caught).__name__}: {caught}"[:600]
        seconds = round(time.perf_counter() - before, 4)
        print(json.dumps({"name": name, "ok": not error, "seconds": seconds, "error": error}), file=out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
