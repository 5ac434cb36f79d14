"""What a program of the matrix leaves behind: its loss of every step, and the bytes of what it trained.

Called by: the programs of this folder. Each rank writes `OUT/rank<N>.json`; rank 0 prints a line a step, by which
matrix.py knows when to kill. Knows nothing of the proxy: the programs run alike on a GPU, on `cpu` and with the proxy.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import time
from collections.abc import Iterable
from pathlib import Path

import torch

RANK = int(os.environ.get("RANK", "0"))
RANKS = int(os.environ.get("WORLD_SIZE", "1"))
LOCAL_RANK = int(os.environ.get("LOCAL_RANK", "0"))


def arguments(*options: str) -> argparse.Namespace:
    """`--out DIR`, `--device cuda|cpu`, `--steps N`, and options of the program's own with a value each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--steps", type=int, default=12)
    for option in options:
        parser.add_argument(option)
    parsed = parser.parse_args()
    parsed.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(7)
    if os.environ.get("OUTCOME_DETERMINISTIC"):  # a GPU repeats itself then, as far as PyTorch can
        torch.use_deterministic_algorithms(True, warn_only=True)
    if parsed.device == "cuda":
        torch.cuda.set_device(LOCAL_RANK)
    return parsed


class Outcome:
    """Losses as they come, weights at the end."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._losses: list[float] = []

    def step(self, loss: float) -> None:
        """One optimizer step is done."""
        self._losses.append(float(loss))
        time.sleep(float(os.environ.get("OUTCOME_STEP_SECONDS", "0")))  # so that ops can be counted between two
        if RANK == 0:
            print(f"outcome: step {len(self._losses)} loss {float(loss)!r}", flush=True)

    def done(self, tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
        """Writes this rank's result. Sharded tensors count with the part that this rank holds."""
        digest = hashlib.sha256()
        total = 0.0
        for name, tensor in tensors:
            local = tensor.to_local() if hasattr(tensor, "to_local") else tensor
            local = local.detach().cpu().contiguous()
            digest.update(name.encode())
            digest.update(local.reshape(-1).view(torch.uint8).numpy().tobytes())
            if local.is_floating_point():
                total += float(local.double().abs().sum())
        record = {"losses": self._losses, "weights": digest.hexdigest(), "magnitude": total}
        (self._out / f"rank{RANK}.json").write_text(json.dumps(record))
