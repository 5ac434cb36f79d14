"""A rank of two that frees memory which a stream still reads, behind a collective that the other one comes to late.

Run by test_freed_memory.py. `freed_steps.py RANK FOLDER WAY BYTES` does what each line of standard input says:

- rank 0, ``free``: a stream gets the collective, and copies of blocks of BYTES; these are freed by ``cudaFree`` in a
  thread, or by ``cudaFreeAsync``, as WAY says;
- rank 0, ``use``: three optimizer steps, then new blocks of the same size, which another stream fills;
- rank 0, ``check``: how many of the copies are not what the blocks had been filled with, when all is done;
- rank 1, ``come``: the collective, and three steps.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from ctypes import c_size_t, c_uint64
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from cuda_api import call, made
from promise_calls import copy, fill, synchronize

BLOCKS = 5
OLD, NEW = 3, 7


class Rank:
    def __init__(self, way: str, size: int) -> None:
        self.way, self.size = way, size
        self.first, self.second = torch.cuda.Stream(), torch.cuda.Stream()
        self.message = torch.ones(1000, device="cuda")
        self.weight = torch.nn.Parameter(torch.ones(8, device="cuda"))
        self.optimizer = torch.optim.SGD([self.weight], 0.1)
        self.copies = torch.zeros(BLOCKS, size, dtype=torch.uint8, device="cuda")
        self.freeing: threading.Thread | None = None
        self.kept = self.take(self.first.cuda_stream)  # small blocks share memory: it stays
        dist.all_reduce(self.message)
        self.steps()
        torch.cuda.synchronize()

    def steps(self) -> None:
        for _ in range(3):
            self.weight.grad = torch.ones(8, device="cuda")
            self.optimizer.step()

    def take(self, stream: int) -> int:
        more: tuple[Any, ...] = (c_uint64(stream),) if self.way == "cudaFreeAsync" else ()
        return made("cudaMallocAsync" if more else "cudaMalloc", c_size_t(self.size), *more)

    def free(self) -> str:
        stream = self.first.cuda_stream
        blocks = [self.take(stream) for _ in range(BLOCKS)]
        for one in blocks:
            fill(one, OLD, self.size, stream)
        with torch.cuda.stream(self.first):
            dist.all_reduce(self.message)
        for at, one in enumerate(blocks):
            copy(self.copies[at].data_ptr(), one, self.size, stream)
        self.freeing = threading.Thread(target=self.give_back, args=(blocks, stream))
        self.freeing.start()
        if self.way == "cudaFreeAsync":
            self.freeing.join()
        return "freed"

    def give_back(self, blocks: list[int], stream: int) -> None:
        for one in blocks:
            if self.way == "cudaFreeAsync":
                call("cudaFreeAsync", c_uint64(one), c_uint64(stream))
            else:
                call("cudaFree", c_uint64(one))

    def use(self) -> str:
        self.steps()
        stream = self.second.cuda_stream
        for _ in range(BLOCKS):
            fill(self.take(stream), NEW, self.size, stream)
        synchronize(stream)
        return "used" if not self.first.query() else "the other rank has come already"

    def check(self) -> str:
        assert self.freeing
        self.freeing.join()
        torch.cuda.synchronize()
        return str(int((self.copies != OLD).any(1).sum()))

    def come(self) -> str:
        dist.all_reduce(self.message)
        self.steps()
        torch.cuda.synchronize()
        return "came"


def main(rank: int, folder: Path, way: str, size: int) -> None:
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    job = Rank(way, size)
    what: dict[str, Callable[[], str]] = {"free": job.free, "use": job.use, "check": job.check, "come": job.come}
    for line in sys.stdin:
        print(what[line.strip()](), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
