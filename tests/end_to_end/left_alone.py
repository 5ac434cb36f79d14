"""A job of two of which rank 1 ends once and rank 0 is not ended for it, run under torchrun by test_restarts.py.

In the first attempt rank 1 does its part in a process of its own, of whose end torchrun does not hear. So rank 0 waits
in a collective until it has an error by itself; PyTorch then asks all ranks for dumps, through torchrun's store. When
the request is there rank 0 fails, and torchrun starts both again.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from datetime import timedelta

import torch
import torch.distributed as dist

REQUEST = "exception_dump"  # in PyTorch's ProcessGroupNCCL, without any prefix
ALONE = "LEFT_ALONE_CHILD"


def main() -> None:
    attempt, rank = int(os.environ["TORCHELASTIC_RESTART_COUNT"]), int(os.environ["RANK"])
    if (attempt, rank) == (0, 1) and ALONE not in os.environ:
        subprocess.run([sys.executable, *sys.argv], env={**os.environ, ALONE: "1"}, check=True)
        threading.Event().wait()  # until torchrun ends it, as rank 0 has failed
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)
    print(f"attempt {attempt} rank {rank}: request {store.check([REQUEST])}", flush=True)
    dist.init_process_group("nccl")
    torch.cuda.set_device(rank)
    numbers = torch.ones(4, device="cuda")
    dist.all_reduce(numbers)
    print(f"attempt {attempt} rank {rank}: {numbers[0].item()}", flush=True)
    if (attempt, rank) == (0, 1):
        os._exit(0)  # without leaving the communicator, as a program that has failed
    if attempt == 0:
        try:
            dist.all_reduce(numbers)
            torch.cuda.synchronize()
        except RuntimeError:
            store.wait([REQUEST], timedelta(seconds=60))
            raise
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
