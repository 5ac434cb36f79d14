"""What the example training scripts share: start-up, text batches, and the record of a run.

Nothing here knows about jitc: these are ordinary PyTorch programs for ``torchrun``. The record (losses
as exact hexadecimal floats, SHA-256 of data, weights and optimizer state) is what the tests and
``jitc demo`` compare between a run with a fault and a run without.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

#: Real text that comes with these examples, always the same.
TEXT = Path(__file__).resolve().parent.parent / "LICENSE"


def arguments(
    doc: str | None, steps: int, layers: int = 5, width: int = 128, batch: int = 8
) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--layers", type=int, default=layers)
    parser.add_argument("--width", type=int, default=width)
    parser.add_argument("--batch", type=int, default=batch, help="samples per rank and step")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument(
        "--json", metavar="FILE", help="write the record of rank N to FILE with .rankN before its ending"
    )
    return parser


class Job:
    """One rank of the job: process group, device, seeds, and the record of what it computed."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.rank = int(os.environ.get("RANK", "0"))
        self.local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        self.losses: list[str] = []
        self.data = hashlib.sha256()
        self.started = self.last = time.monotonic()
        self.seconds: list[float] = []
        torch.manual_seed(args.seed)
        if args.device == "cuda":
            torch.cuda.set_device(self.local_rank)
            self.device = torch.device("cuda", self.local_rank)
            dist.init_process_group("nccl")
        else:
            self.device = torch.device("cpu")
            dist.init_process_group("gloo")
        self.world_size = dist.get_world_size()

    def saw(self, batch: torch.Tensor) -> None:
        """Takes a batch (still on the CPU) into the hash of the data order."""
        self.data.update(raw(batch))

    def step_done(self, loss: float) -> None:
        """Records a step's loss; rank 0 prints a line."""
        now = time.monotonic()
        self.seconds.append(now - self.last)
        self.last = now
        self.losses.append(loss.hex())
        if self.rank == 0:
            print(f"step {len(self.losses)}/{self.args.steps}  loss {loss:.6f}  {self.seconds[-1]:.3f} s", flush=True)

    def finish(self, weights: dict[str, Any], optimizer: torch.optim.Optimizer, **extra: Any) -> None:
        """Hashes the final state, writes the record, leaves the process group."""
        record = {
            "rank": self.rank,
            "world_size": self.world_size,
            "losses": self.losses,
            "data": self.data.hexdigest(),
            "weights": digest(weights),
            "optimizer": digest(optimizer.state_dict()["state"]),
            "parameters": sum(p.numel() for group in optimizer.param_groups for p in group["params"]),
            "seconds": self.seconds,
            **{name: digest(value) for name, value in extra.items()},
        }
        if self.args.json:
            path = Path(self.args.json)
            path.with_suffix(f".rank{self.rank}{path.suffix}").write_text(json.dumps(record, indent=1) + "\n")
        if self.rank == 0:
            total = time.monotonic() - self.started
            print(f"weights {record['weights'][:16]}  optimizer {record['optimizer'][:16]}  {total:.1f} s", flush=True)
        dist.destroy_process_group()


def raw(tensor: torch.Tensor) -> bytes:
    """The bytes of a tensor on the CPU. NumPy would give them too, but PyTorch comes without it."""
    tensor = tensor.contiguous()
    return ctypes.string_at(tensor.data_ptr(), tensor.nbytes)


def digest(state: Any) -> str:
    """SHA-256 of a nested state: every tensor's bytes, every number, with its place."""
    sha = hashlib.sha256()
    _feed(sha, "", state)
    return sha.hexdigest()


def _feed(sha: Any, place: str, value: Any) -> None:
    if isinstance(value, dict):
        for key in sorted(value, key=str):
            _feed(sha, f"{place}/{key}", value[key])
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            _feed(sha, f"{place}/{index}", item)
    elif isinstance(value, torch.Tensor):
        local = value.to_local() if hasattr(value, "to_local") else value  # a shard of FSDP
        local = local.detach().cpu().contiguous()
        sha.update(f"{place} {local.dtype} {tuple(local.shape)}\n".encode())
        sha.update(raw(local))
    else:
        sha.update(f"{place} {value!r}\n".encode())


class TextBatches:
    """Random windows of the text, as (input, target) byte tensors; each rank draws its own."""

    def __init__(self, job: Job, context: int) -> None:
        self.job = job
        self.context = context
        self.text = torch.frombuffer(bytearray(TEXT.read_bytes()), dtype=torch.uint8)
        self.random = torch.Generator().manual_seed(job.args.seed * 1000 + job.rank)

    def next(self) -> tuple[torch.Tensor, torch.Tensor]:
        starts = torch.randint(len(self.text) - self.context - 1, (self.job.args.batch,), generator=self.random)
        windows = torch.stack([self.text[s : s + self.context + 1] for s in starts.tolist()]).long()
        self.job.saw(windows)
        windows = windows.to(self.job.device)
        return windows[:, :-1], windows[:, 1:]


if __name__ == "__main__":
    sys.exit("common.py is a part of the examples; run one of the train_*.py with torchrun")
