"""What the programs share: the GPT of the examples, its text, a log of steps, and the hash of what was trained.

A line of the log has the time, the rank, the process, and what that has done; bench/peers reads it (log.py). Nothing
here knows of any library that the programs try.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "examples"))
from model import CONTEXT, GPT, next_byte_loss  # noqa: E402

__all__ = ["GPT", "RANK", "WAIT", "Log", "arguments", "batch", "device", "next_byte_loss", "together"]

TEXT = torch.frombuffer(bytearray((ROOT / "LICENSE").read_bytes()), dtype=torch.uint8)
RANK = int(os.environ.get("RANK", "0"))
#: For a collective, and to connect. By itself gloo waits 30 minutes.
WAIT = datetime.timedelta(seconds=15)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--every", type=int, default=10, help="steps from one checkpoint to the next")
    parser.add_argument("--out", type=Path, required=True, help="for the log and checkpoints")
    return parser.parse_args()


def device() -> torch.device:
    if not torch.cuda.is_available():
        return torch.device("cpu")
    torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    return torch.device("cuda")


def batch(step: int, rank: int, place: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Always the same for a step and a rank."""
    random = torch.Generator().manual_seed(step * 1000 + rank)
    starts = torch.randint(len(TEXT) - CONTEXT - 1, (8,), generator=random)
    windows = torch.stack([TEXT[s : s + CONTEXT + 1] for s in starts.tolist()]).long().to(place)
    return windows[:, :-1], windows[:, 1:]


def together(out: Path, rank: int, ranks: int = 2) -> None:
    """Where a rank may train without the others: not before all have started."""
    (out / f"here-{rank}").touch()
    until = time.monotonic() + WAIT.total_seconds()
    while not all((out / f"here-{one}").exists() for one in range(ranks)) and time.monotonic() < until:
        time.sleep(0.01)


class Log:
    """Lines are whole, since each is one write to a file that is opened for appending."""

    def __init__(self, out: Path, rank: int = RANK) -> None:
        self._file = os.open(out / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._rank = rank
        self._line("start", 0)

    def _line(self, *words: object) -> None:
        text = " ".join(map(str, (time.time(), self._rank, os.getpid(), *words)))
        os.write(self._file, f"{text}\n".encode())

    def step(self, step: int, loss: float) -> None:
        self._line("step", step, loss.hex())

    def done(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        sha = hashlib.sha256()
        for tensor in (*model.state_dict().values(), *_tensors(optimizer.state_dict()["state"])):
            sha.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
        self._line("done", sha.hexdigest())


def _tensors(state: dict[int, dict[str, Any]]) -> list[torch.Tensor]:
    return [value for number in sorted(state) for _, value in sorted(state[number].items())]
