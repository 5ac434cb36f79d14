"""A program that takes more and more of a GPU's memory when it is told to.

Answers "state" (a hash of what it holds), "grow" (until it gets an error, which is the answer) and "again" (one more
call) with one line each.
"""

from __future__ import annotations

import hashlib
import sys

import torch

BLOCK = 16 << 20  # numbers of 4 bytes


def grow(held: list[torch.Tensor]) -> str:
    while True:
        held.append(torch.ones(BLOCK, device="cuda"))
        torch.cuda.synchronize()


def state(held: list[torch.Tensor]) -> str:
    return hashlib.sha256(held[0].cpu().numpy().tobytes()).hexdigest()


def again(held: list[torch.Tensor]) -> str:
    torch.cuda.synchronize()
    return "no error"


def main() -> None:
    torch.manual_seed(1)
    held = [torch.rand(64, 64, device="cuda")]
    actions = {"grow": grow, "state": state, "again": again}
    print("ready", flush=True)
    for line in sys.stdin:
        try:
            print(actions[line.strip()](held), flush=True)
        except RuntimeError as error:
            print(f"{type(error).__name__}: {str(error).splitlines()[0]}", flush=True)


if __name__ == "__main__":
    main()
