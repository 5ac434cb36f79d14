"""A program that lives on pinned memory: loaders that pin, copies both ways, buffers used again at once.

Prints one line per step: a hash of what came back. Equal runs print equal lines. Arguments: steps.
"""

from __future__ import annotations

import hashlib
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

WIDTH = 64 << 10  # more than the interposer sends along with an op


def batches(steps: int) -> DataLoader[tuple[torch.Tensor, ...]]:
    random = torch.Generator().manual_seed(1)
    data = TensorDataset(torch.randint(0, 97, (steps * 2, WIDTH), generator=random, dtype=torch.int32))
    return DataLoader(data, batch_size=2, pin_memory=True, num_workers=1)


def main() -> None:
    steps = int(sys.argv[1])
    weight = torch.nn.Parameter(torch.zeros(WIDTH, device="cuda"))
    optimizer = torch.optim.SGD([weight], lr=0.5, momentum=0.9)
    scratch = torch.empty(WIDTH, dtype=torch.float32, pin_memory=True)
    out = torch.empty(WIDTH, dtype=torch.float32, pin_memory=True)
    stream = torch.cuda.Stream()
    for step, (batch,) in enumerate(batches(steps)):
        assert batch.is_pinned()
        moved = batch.to("cuda", non_blocking=True).float().sum(0)
        del batch  # its block goes to the next batch as soon as the copy is done
        scratch.fill_(step + 1)
        factor = scratch.to("cuda")  # blocking: the program may write there at once
        scratch.fill_(-1)
        weight.grad = moved * factor
        optimizer.step()
        with torch.cuda.stream(stream):
            stream.wait_stream(torch.cuda.default_stream())
            out.copy_(weight.detach(), non_blocking=True)
        stream.synchronize()
        print(step, hashlib.sha256(out.numpy().tobytes()).hexdigest(), flush=True)
        out.fill_(float("nan"))  # a late write of an old result would show
        torch.cuda.current_stream().wait_stream(stream)
        temporary = torch.full((WIDTH,), step, dtype=torch.float32).pin_memory()
        weight.data.add_(temporary.to("cuda", non_blocking=True))
        del temporary
    shared = [line for line in open("/proc/self/maps") if "memfd:jitc-pinned" in line]  # noqa: SIM115
    print("shared" if shared else "not shared")


if __name__ == "__main__":
    main()
