"""A model sharded with FSDP2 that is evaluated between trainings: PyTorch 2.11 races there (docs/finding-races.md).

Run by test_order.py with two ranks. After an evaluation a prefetch of the first backward pass gathers a group that
nobody waits for; its buffer goes to the next gather while it still runs. Each rank prints whether every loss is the
same as without the evaluation. `--late`: rank 0 comes late to that prefetch, as a straggler does.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

LATE_SECONDS = 1.0
late = False


def straggle(_: torch.Tensor) -> None:
    threading.Event().wait(LATE_SECONDS)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(64, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        if late and y.requires_grad:
            y.register_hook(straggle)
        return y.tanh()


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.block = nn.Embedding(256, 64), Block()
        self.head = nn.Linear(64, 256)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.block(self.embedding(x)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--late", action="store_true")
    arguments = parser.parse_args()
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    net = Net().cuda()
    for module in (net.embedding, net.block, net.head, net):
        fully_shard(module)
    x = torch.arange(256, device="cuda").view(8, 32)

    def loss() -> torch.Tensor:
        return nn.functional.cross_entropy(net(x).view(-1, 256), x.view(-1))

    def train(straggles: bool) -> list[float]:
        global late
        losses = []
        for micro in range(2):
            late = straggles and rank == 0 and micro == 0
            net.set_requires_gradient_sync(micro == 1)
            one = loss()
            losses.append(one.detach())
            (one / 2).backward()
        net.zero_grad()
        torch.cuda.synchronize()
        return [value.item() for value in losses]

    first, after = train(False), []
    for _ in range(3):
        with torch.no_grad():
            loss()
        torch.cuda.synchronize()
        dist.barrier()
        after += train(arguments.late)
    sys.stdout.write(
        f"rank {rank} {'right' if set(after) == set(first) else 'WRONG'}\n"
    )  # at once: ranks share the pipe
    sys.stdout.flush()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
