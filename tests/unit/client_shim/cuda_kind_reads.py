"""Run by test_cuda_kind.py in lockstep: reads from a device that says it is a real GPU, a line of input each.

No kernel is launched; PyTorch's own operators read, and what they tell the interposer is to be seen in the ops.
"""

from __future__ import annotations

import sys

import torch
from cuda_kind_program import Copying

NUMBERS = (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64)
OTHERS = (torch.int64, torch.uint8, torch.bool)


def on_gpu(kind: torch.dtype, count: int = 1) -> torch.Tensor:
    return torch.ones(count, dtype=kind).to("cuda")


def read_all(kinds: tuple[torch.dtype, ...]) -> int:
    """How many reads there were."""
    for kind in kinds:
        assert on_gpu(kind).item() == 1
        assert on_gpu(kind, 5).cpu().tolist() == [1] * 5
        pinned = torch.empty(5, dtype=kind).pin_memory()
        pinned.copy_(on_gpu(kind, 5), non_blocking=True)
        torch.cuda.synchronize()
        assert pinned.tolist() == [1] * 5
    return 3 * len(kinds)


def main() -> None:
    weight = torch.nn.Parameter(torch.ones(64).to("cuda"))
    weight.grad = torch.ones(64).to("cuda")
    Copying([weight], {}).step()  # a boundary
    print("ready", flush=True)
    for line in sys.stdin:
        print(read_all(NUMBERS if line.strip() == "numbers" else OTHERS), flush=True)


if __name__ == "__main__":
    main()
