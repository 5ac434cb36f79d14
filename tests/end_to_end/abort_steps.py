"""A rank of a job of two whose first rank gets stuck in a collective, and is freed by an abort from another thread.

Arguments: rank, file of the store. On a line of standard input it goes on and says a line: "ready" once both
communicators are there; then, for each step, what its numbers are in the middle of the minibatch and after it.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading

import torch
import torch.distributed as dist

STUCK = 2  # the step in which rank 1 does not come

rank, file = int(sys.argv[1]), sys.argv[2]


def numbers(*tensors: torch.Tensor) -> str:
    return hashlib.sha256(b"".join(one.detach().cpu().numpy().tobytes() for one in tensors)).hexdigest()


def answer(line: str) -> None:
    print(line, flush=True)
    sys.stdin.readline()


def abort(group: dist.ProcessGroup) -> None:
    group._get_backend(torch.device("cuda")).abort()


def together(step: int, extra: dist.ProcessGroup) -> torch.Tensor:
    """What both ranks' share of the step adds up to; rank 0's alone where rank 1 does not come."""
    share = torch.full((300_000,), 1.0 + rank + step / 8, device="cuda")
    if step != STUCK:
        dist.all_reduce(share, group=extra if step < STUCK else None)
    elif rank == 0:
        dist.all_reduce(share, group=extra, async_op=True).wait()
        thread = threading.Thread(target=abort, args=(extra,))
        thread.start()
        torch.cuda.synchronize()  # would last for ever
        thread.join()
    return share


def main() -> None:
    os.environ["TORCH_NCCL_ASYNC_ERROR_HANDLING"] = "0"  # an abort is no reason to end
    torch.cuda.set_device(rank)
    torch.manual_seed(0)
    dist.init_process_group("nccl", store=dist.FileStore(file, 2), rank=rank, world_size=2)
    extra = dist.new_group([0, 1])
    for group in (None, extra):
        dist.all_reduce(torch.ones(1, device="cuda"), group=group)
    weight = torch.nn.Parameter(torch.randn(64, device="cuda"))
    optimizer = torch.optim.Adam([weight], lr=0.1)
    torch.cuda.synchronize()
    answer("ready")
    for step in range(5):
        loss = (weight * weight).sum()
        loss.backward()
        assert weight.grad is not None
        share = together(step, extra)
        answer(numbers(share[:1], share[-1:], loss))
        dist.all_reduce(weight.grad)
        weight.grad.add_(share[:64])
        optimizer.step()
        optimizer.zero_grad()
        answer(numbers(weight))
    os._exit(0)  # destroying the group that was aborted is PyTorch's affair


if __name__ == "__main__":
    main()
