"""A program as a notebook is one: it holds state on the GPU, is idle most of the time, and has no optimizer.

Answers each line on standard input with a hash of its state after one more small computation.
"""

from __future__ import annotations

import hashlib
import sys

import torch


def main() -> None:
    torch.manual_seed(1)
    state = torch.randn(256, 256, device="cuda")
    print("ready", flush=True)
    for _ in sys.stdin:
        state = torch.tanh(state @ state.T / 16) + torch.randn(256, 256, device="cuda")
        print(hashlib.sha256(state.cpu().numpy().tobytes()).hexdigest(), flush=True)


if __name__ == "__main__":
    main()
