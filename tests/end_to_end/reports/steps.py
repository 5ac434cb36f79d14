"""A rank of a program after a public bug report; run by toolkit/reports.py.

`steps.py RANK FOLDER SHAPE`: does an iteration for each empty line on standard input and answers with its number; at
"end" answers with a hash of what the rank has, and begins anew with the next line.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import data_parallel
import messages
import optimizers
import sharded
import torch
import torch.distributed as dist
from shape import Shape

SHAPES: dict[str, type[Shape]] = {
    **data_parallel.SHAPES, **optimizers.SHAPES, **messages.SHAPES, **sharded.SHAPES
}  # fmt: skip


def digest(shape: Shape) -> str:
    held = hashlib.sha256()
    for one in shape.result():
        held.update(one.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return held.hexdigest()


def main(rank: int, folder: Path, name: str) -> None:
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    shape, number = SHAPES[name](rank), 0
    for line in sys.stdin:
        if line.strip() == "end":
            print(digest(shape), flush=True)
            shape, number = SHAPES[name](rank), 0
            continue
        shape.iterate(number)
        print(number, flush=True)
        number += 1
    del shape
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
