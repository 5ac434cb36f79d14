"""A program with much state and little to do: gigabytes that stay as they are, and one optimizer step per line.

Arguments: MiB of state. Answers each line on standard input with a hash of a sample of all blocks.
"""

from __future__ import annotations

import hashlib
import sys

import torch

BLOCK = 64 << 20


def main() -> None:
    torch.manual_seed(1)
    blocks = [torch.arange(BLOCK // 8, device="cuda") * (2 * n + 1) for n in range(int(sys.argv[1]) * 2**20 // BLOCK)]
    weight = torch.nn.Parameter(torch.ones(1024, device="cuda"))
    optimizer = torch.optim.SGD([weight], lr=0.5, momentum=0.9)
    print("ready", flush=True)
    for step, _ in enumerate(sys.stdin):
        weight.grad = torch.full_like(weight, float(step))
        optimizer.step()
        for block in blocks[step % 4 :: 4]:
            block.add_(step)
        sample = torch.cat([block[:: 1 << 16] for block in blocks])
        print(hashlib.sha256(sample.cpu().numpy().tobytes() + weight.detach().cpu().numpy().tobytes()).hexdigest(),
              flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
