"""Run by test_cuda_kind.py: a training loop of copies alone, on a device that says it is a real GPU.

No kernel is launched, so that any device serves it; allocator, autograd, optimizer hooks and boundaries are real.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import torch

SIZE, STEPS = 1 << 16, 5


class Double(torch.autograd.Function):
    """Its gradient is made on the host and copied: an op of the backward pass."""

    @staticmethod
    def forward(ctx: Any, value: torch.Tensor) -> torch.Tensor:
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return (gradient.cpu() * 2).to("cuda")


class Copying(torch.optim.Optimizer):
    """Takes the gradient for the parameter."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.copy_(parameter.grad)


def check_cudnn(before: tuple[bool, bool]) -> None:
    """As it was where the service has the library, else off."""
    served = os.environ["CUDNN"] == "served"
    assert before == (True, True)
    assert (torch.backends.cudnn.enabled, torch.backends.cuda.cudnn_sdp_enabled()) == (served, served)
    assert torch.backends.cuda.flash_sdp_enabled()


def main() -> None:
    cudnn = (torch.backends.cudnn.enabled, torch.backends.cuda.cudnn_sdp_enabled())
    weight = torch.nn.Parameter(torch.arange(SIZE, dtype=torch.float32).to("cuda"))
    optimizer = Copying([weight], {})
    for _ in range(STEPS):
        optimizer.zero_grad()
        output = Double.apply(weight)
        output.backward(gradient=output.detach().clone())
        optimizer.step()
    assert torch.equal(weight.detach().cpu(), torch.arange(SIZE, dtype=torch.float32) * 2**STEPS)
    check_cudnn(cudnn)
    print("done", file=sys.stderr)


if __name__ == "__main__":
    main()
