"""A job of two whose first attempt ends in the middle, run under torchrun with a restart: `stale_id.py [FIFO]`.

With FIFO rank 1 comes first in each attempt: rank 0 imports PyTorch, which takes seconds, when rank 1 has looked
into the store and has nothing left to do but to join (test_restarts.py). Without it rank 0 never comes in the second
attempt (test_joins.py). A rank that comes before rank 0 takes the unique id that it finds, if it finds one.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path


def main() -> None:
    attempt, rank = int(os.environ["TORCHELASTIC_RESTART_COUNT"]), int(os.environ["RANK"])
    if rank == 0 and len(sys.argv) > 1:
        Path(sys.argv[1]).open("r").close()  # waits for rank 1
    elif rank == 0 and attempt == 1:
        threading.Event().wait()  # until torchrun ends it, as rank 1 has failed

    import torch
    import torch.distributed as dist

    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    numbers = torch.ones(4, device="cuda")
    if rank == 1 and len(sys.argv) > 1:
        keys = dist.distributed_c10d._get_default_store().num_keys()
        print(f"attempt {attempt}: the first rank finds {keys} keys", flush=True)
        Path(sys.argv[1]).open("w").close()
    dist.all_reduce(numbers)
    print(f"attempt {attempt} rank {rank}: {numbers[0].item()}", flush=True)
    if attempt == 0 and rank == 1:
        raise SystemExit(3)


if __name__ == "__main__":
    main()
