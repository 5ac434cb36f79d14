"""A job of two that fails once and is started again by torchrun, run by test_restarts.py: `restarted_steps.py FOLDER`.

In the first attempt rank 1 raises an error after FAILS steps, while rank 0 goes on to a collective. Each rank writes a
line for each step, with a hash of its weights, to FOLDER/ATTEMPT-RANK.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STEPS, FAILS = 30, 8


def main(folder: Path) -> None:
    attempt, rank = int(os.environ["TORCHELASTIC_RESTART_COUNT"]), int(os.environ["RANK"])
    device = torch.device("cuda", rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    torch.manual_seed(1)
    model = DistributedDataParallel(torch.nn.Linear(16, 16).to(device), device_ids=[rank])
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    with (folder / f"{attempt}-{rank}").open("w") as lines:
        for step in range(STEPS):
            torch.manual_seed(2 * step + rank)
            model(torch.randn(8, 16, device=device)).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            weights = b"".join(one.detach().cpu().numpy().tobytes() for one in model.parameters())
            print(step, hashlib.sha256(weights).hexdigest(), file=lines, flush=True)
            if (attempt, rank, step + 1) == (0, 1, FAILS):
                raise ValueError("once")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
