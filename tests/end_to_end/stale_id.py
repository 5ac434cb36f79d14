"""A job of two whose first attempt ends in the middle, run under torchrun with a restart: `stale_id.py [FIFO]`.

In the second attempt rank 1 is first, and finds the unique id of the first attempt in torchrun's store (test_joins.py).
With FIFO rank 0 comes when rank 1 has opened it (test_restarts.py), else never.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import torch
import torch.distributed as dist


def main() -> None:
    attempt, rank = int(os.environ["TORCHELASTIC_RESTART_COUNT"]), int(os.environ["RANK"])
    if attempt == 1 and len(sys.argv) > 1:
        Path(sys.argv[1]).open("rw"[rank]).close()  # waits for the other one
    elif attempt == 1 and rank == 0:
        threading.Event().wait()  # until torchrun ends it, as rank 1 has failed
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    numbers = torch.ones(4, device="cuda")
    dist.all_reduce(numbers)
    print(f"attempt {attempt} rank {rank}: {numbers[0].item()}", flush=True)
    if attempt == 0 and rank == 1:
        raise SystemExit(3)


if __name__ == "__main__":
    main()
