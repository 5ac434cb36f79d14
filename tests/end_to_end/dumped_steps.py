"""A program with bytes that are found wherever they are, run in lockstep by test_core_dumps.py.

Each line on standard input has it make a step and answer with their sum. They are in a tensor of the device, and in the
copies of its boundaries; on their way they have never been.
"""

from __future__ import annotations

import sys

import torch

#: Said here by its parts, so that only data has the whole.
PATTERN = bytes(reversed(b"!resu a ot gnoleb taht setyb"))
COUNT = 200_000


def main() -> None:
    made = torch.zeros(COUNT * len(PATTERN), dtype=torch.uint8, device="cuda")
    for at, value in enumerate(PATTERN):  # on the device alone
        made[at :: len(PATTERN)] = value
    weight = torch.nn.Parameter(torch.zeros(4, device="cuda"))
    optimizer = torch.optim.SGD([weight], lr=0.5)
    for _ in sys.stdin:
        weight.grad = torch.ones_like(weight)
        optimizer.step()
        print(int(made.sum(dtype=torch.int64)), weight.sum().item(), flush=True)


if __name__ == "__main__":
    main()
