"""A rank of a program: its place among the others, its data, and what it leaves to be compared.

Called by: run.py, and each kind of part. Promises: equal programs compute equal bytes on each rank, whenever
they run; ranks make their communicators in the same order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

BATCH = 8


def numbers(seed: int, *more: int) -> torch.Generator:
    """Other ones for other numbers."""
    for one in more:
        seed = (seed * 1_000_003 + one + 1) % (1 << 31)
    return torch.Generator().manual_seed(seed)


class Job:
    def __init__(self, program: dict[str, Any], rank: int, folder: Path, early: Mapping[int, Any]) -> None:
        """early: what parts have begun before CUDA was used, by their numbers."""
        self.program, self.rank, self.folder, self.early = program, rank, folder, early
        self.ranks, self.width, self.seed = program["ranks"], program["width"], program["seed"]
        self.device = torch.device("cuda", rank)
        torch.cuda.set_device(rank)
        torch.manual_seed(self.seed)
        if self.ranks > 1:
            meeting = f"file://{folder}/meeting"
            split = any(one["choices"].get("made") == "split" for one in program["parts"])
            eager = {"device_id": self.device} if split else {}  # what can be split is there from the start
            dist.init_process_group("nccl", init_method=meeting, rank=rank, world_size=self.ranks, **eager)

    def close(self) -> None:
        if self.ranks > 1:
            dist.destroy_process_group()


class Part:
    """What one part does on this rank. number: of the part in its program; place: of this rank among its members."""

    #: Whether ranks that are no members have something to do as well.
    everyone = False

    def __init__(self, job: Job, number: int, document: Mapping[str, Any]) -> None:
        self.job, self.number, self.every = job, number, document["every"]
        self.choices: dict[str, Any] = document["choices"]
        self.members: list[int] = document["ranks"]
        self.member = job.rank in self.members
        self.place = self.members.index(job.rank) if self.member else -1
        self.read: list[Any] = []  # losses and the like: numbers, or tensors that are read at the end
        self.group = dist.new_group(self.members) if len(self.members) > 1 else None
        if self.member:
            self.prepare()

    @classmethod
    def begin(cls, program: Mapping[str, Any], rank: int, number: int) -> Any:
        """On members, before CUDA is used; what it gives is in the job's `early`."""

    def prepare(self) -> None:
        """Before the first iteration, on members."""

    def iterate(self, iteration: int) -> None:
        raise NotImplementedError

    def finish(self) -> None:
        """After the last iteration, on members."""

    def result(self) -> dict[str, Any]:
        """Nested tensors, by what they are."""
        return {}

    # ---- for kinds ----------------------------------------------------------------------------------
    def numbers(self, iteration: int, *more: int) -> torch.Generator:
        """Other ones for each part, rank and iteration."""
        return numbers(self.job.seed, self.number, self.job.rank, iteration, *more)

    def batch(self, iteration: int, *more: int) -> torch.Tensor:
        """On the host."""
        return torch.randn(BATCH, self.job.width, generator=self.numbers(iteration, *more))

    def seed_model(self) -> None:
        """Ranks begin with the same weights."""
        torch.manual_seed(self.job.seed * 31 + self.number)

    def record(self) -> dict[str, Any]:
        values = [one.item() if isinstance(one, torch.Tensor) else one for one in self.read]
        hashes = {name: digest(value) for name, value in self.result().items()}
        return {"losses": [float(one).hex() for one in values], **hashes}


def tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield from tensors(value[key])
    elif isinstance(value, list | tuple):
        for one in value:
            yield from tensors(one)


def digest(value: Any) -> str:
    total = hashlib.sha256()
    for one in tensors(value):
        total.update(str((one.dtype, tuple(one.shape))).encode())
        total.update(one.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return total.hexdigest()


def write(folder: Path, rank: int, records: list[dict[str, Any]]) -> None:
    part = folder / f"rank{rank}.part"
    part.write_text(json.dumps(records, indent=1) + "\n")
    part.rename(folder / f"rank{rank}.json")
