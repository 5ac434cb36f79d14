"""A rank that captures an all-reduce in a CUDA graph, and launches it when told to ({"do": "launch"}).

Called by: steps/libraries.py. Environment: as that of train.py.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import torch
import torch.distributed as dist

from . import answers

_COUNT = 1 << 16


def captured(values: torch.Tensor) -> torch.cuda.CUDAGraph:
    """Doubles, and adds up over the ranks."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        dist.all_reduce(values)  # makes the communicator, which cannot be done in a capture
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        values.mul_(2)
        dist.all_reduce(values)
    return graph


def launched(graph: torch.cuda.CUDAGraph, values: torch.Tensor) -> dict[str, Any]:
    ranks = dist.get_world_size()
    values.fill_(dist.get_rank() + 1.0)
    graph.replay()
    graph.replay()
    first = 2.0 * sum(range(1, ranks + 1))
    return {"got": values[0].item(), "wanted": 2 * first * ranks, "all": bool((values == values[0]).all().item())}


def main() -> int:
    out, gpu = answers(), int(os.environ["GPU"])
    torch.cuda.set_device(gpu)
    dist.init_process_group("nccl")
    print(json.dumps({"ready": True}), file=out)
    values = torch.ones(_COUNT, device=f"cuda:{gpu}")
    graph = captured(values)
    for _ in sys.stdin:
        print(json.dumps(launched(graph, values)), file=out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
