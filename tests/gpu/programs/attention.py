"""Scaled dot product attention in bf16 by each of PyTorch's back ends, forward and backward: a JSON line each.

`attention DEVICE`. Called by: steps/with_torch.py, with and without the proxy. A back end that ends the process is the
last one that says "begins"; `attention DEVICE NAME` runs NAME and those after it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from . import answers

#: As in the GPT: batch, heads, length, width of a head. Longer than a tile of any of them.
SHAPE = (2, 4, 256, 64)
BACKENDS = ("MATH", "EFFICIENT_ATTENTION", "FLASH_ATTENTION", "CUDNN_ATTENTION")


def run(device: str, backend: str) -> list[torch.Tensor]:
    """The result, and the gradients of query, key and value."""
    random = torch.Generator().manual_seed(7)
    parts = [
        torch.randn(SHAPE, generator=random).to(device, torch.bfloat16).requires_grad_() for _ in range(3)
    ]  # fmt: skip
    with sdpa_kernel(getattr(SDPBackend, backend)):
        result = F.scaled_dot_product_attention(*parts, is_causal=True)
    result.float().square().mean().backward()
    return [one.detach().float().cpu() for one in (result, *(part.grad for part in parts))]  # type: ignore[union-attr]


def tried(device: str, backend: str, wanted: list[torch.Tensor]) -> dict[str, Any]:
    found = run(device, backend)
    again = run(device, backend)
    sha = hashlib.sha256()
    for one in found:
        sha.update(one.numpy().tobytes())
    largest = max(
        float((one - right).abs().max() / right.abs().max()) for one, right in zip(found, wanted, strict=True)
    )  # fmt: skip
    return {
        "hash": sha.hexdigest(), "difference": largest,
        "repeatable": all(torch.equal(one, other) for one, other in zip(found, again, strict=True)),
    }  # fmt: skip


def main(device: str, first: str = BACKENDS[0]) -> int:
    out = answers()
    wanted = run("cpu", "MATH")
    for backend in BACKENDS[BACKENDS.index(first) :]:
        print(json.dumps({"begins": backend}), file=out)
        try:
            answer = {"name": backend, "ok": True} | tried(device, backend, wanted)
        except Exception as error:  # one must not hide the others
            answer = {"name": backend, "ok": False, "error": f"{type(error).__name__}: {error}"[:600]}
        print(json.dumps(answer), file=out)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
