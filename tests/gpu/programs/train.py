"""One rank of a training job that is told what to do, a JSON line at a time.

{"do": "train", "setting": NAME, "steps": N}   from scratch, deterministic: losses to the last bit, hash of all state
{"do": "more", "setting": NAME, "steps": N}    goes on where the newest "train" ended
{"do": "default", "setting": NAME, "steps": N} from scratch, as PyTorch does it by itself; looks at a loss at once
{"do": "time", "setting": NAME, "steps": N}    seconds per step of N steps of a model that is kept
{"do": "item", "count": N}                     what .item() and small operations cost

Called by: jobs.py. An ordinary PyTorch program: it does not know whether the proxy is there. Environment: RANK,
WORLD_SIZE, MASTER_ADDR, MASTER_PORT, GPU (index to use), SIZE (tiny: one for a CPU), DEVICE (cuda), GROUP (nccl). Its
first line says that it is ready, and which cuDNN it uses.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from . import answers
from .cases import case

#: PyTorch refuses operations that have no deterministic form; only where one does are they let pass, and it is told.
STRICT, NOT_STRICT = "strict", "not strict"


class Trainer:
    def __init__(self, setting: str, deterministic: str = "") -> None:
        tiny, rank = os.environ.get("SIZE") == "tiny", int(os.environ.get("RANK", "0"))
        self.case = case(setting, tiny)
        self.device = torch.device(os.environ.get("DEVICE", "cuda"), int(os.environ.get("GPU", "0")))
        # Attention is deterministic only when it is not merely warned about.
        torch.use_deterministic_algorithms(bool(deterministic), warn_only=deterministic == NOT_STRICT)
        torch.backends.cudnn.deterministic = bool(deterministic)
        torch.manual_seed(1)
        self.model = self.case.model().to(self.device, memory_format=self.layout())
        if dist.is_initialized():
            self.model = DistributedDataParallel(self.model, gradient_as_bucket_view=True)
        fused = self.device.type == "cuda" and not tiny
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-4, fused=fused)
        self.random = torch.Generator(self.device if self.case.drawn_on_gpu else "cpu").manual_seed(100 + rank)

    def layout(self) -> torch.memory_format:
        return torch.channels_last if self.case.channels_last else torch.preserve_format

    def step(self, look: bool = False) -> torch.Tensor:
        """look: at the loss, before it is used."""
        values, *labels = (one.to(self.device, non_blocking=True) for one in self.case.batch(self.random))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.case.bf16):
            loss: torch.Tensor = self.model(values.to(memory_format=self.layout()), *labels)
        if look:
            loss.item()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def steps(self, count: int, look: bool = False, digest: bool = True) -> dict[str, Any]:
        losses, seconds = [], []
        for number in range(count):
            before = time.perf_counter()
            losses.append(self.step(look).item().hex())
            seconds.append(time.perf_counter() - before)
            print(f"step {number + 1} of {count}", file=sys.stderr, flush=True)
        return {"losses": losses, "seconds": seconds, "state": self.digest() if digest else ""}

    def digest(self) -> str:
        """SHA-256 of weights, buffers and optimizer state."""
        sha = hashlib.sha256()
        state = self.optimizer.state
        kept = [state[parameter][key] for parameter in self.model.parameters() for key in sorted(state[parameter])]
        for tensor in (*self.model.parameters(), *self.model.buffers(), *kept):
            sha.update(torch.as_tensor(tensor).detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
        return sha.hexdigest()


_trained: list[Trainer] = []
_timed: dict[str, Trainer] = {}


def train(setting: str, steps: int) -> dict[str, Any]:
    for deterministic in (STRICT, NOT_STRICT):
        _timed.clear()
        _trained[:] = [Trainer(setting, deterministic)]
        try:
            return _trained[0].steps(steps) | {"deterministic": deterministic}
        except RuntimeError as error:
            if deterministic == NOT_STRICT or "deterministic" not in str(error):
                raise
            print(f"not strict from here on: {error}", file=sys.stderr, flush=True)
    raise AssertionError("the second way returns or raises")


def more(steps: int, setting: str = "", digest: bool = True) -> dict[str, Any]:
    return _trained[0].steps(steps, digest=digest)


def default(setting: str, steps: int) -> dict[str, Any]:
    _timed.clear()
    _trained[:] = [Trainer(setting)]
    return _trained[0].steps(steps, look=True)


def timed(setting: str, steps: int) -> dict[str, Any]:
    if setting not in _timed:
        _trained.clear()
        _timed.clear()
        _timed[setting] = Trainer(setting)
        _timed[setting].step()
    trainer = _timed[setting]
    trainer.step().item()
    before = time.perf_counter()
    for _ in range(steps):
        loss = trainer.step()
    loss.item()
    return {"seconds": (time.perf_counter() - before) / steps}


def item(count: int) -> dict[str, Any]:
    """Microseconds: of .item() on a number that is there, and of an operation whose result nobody looks at."""
    one = torch.ones(8, device=os.environ.get("DEVICE", "cuda"))
    each = []
    for _ in range(count):
        one.add_(1)
        before = time.perf_counter()
        one[0].item()
        each.append(time.perf_counter() - before)
    before = time.perf_counter()
    for _ in range(10 * count):
        one.add_(1)
    issued = time.perf_counter() - before
    one[0].item()
    done = time.perf_counter() - before
    return {
        "item_us": 1e6 * statistics.median(each), "operation_us": 1e5 * issued / count,
        "operation_done_us": 1e5 * done / count,
    }  # fmt: skip


ACTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    "train": train, "more": more, "default": default, "time": timed, "item": item
}  # fmt: skip


def main() -> None:
    out = answers()
    started = time.perf_counter()
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        if os.environ.get("DEVICE", "cuda") == "cuda":
            torch.cuda.set_device(int(os.environ.get("GPU", "0")))
        dist.init_process_group(os.environ.get("GROUP", "nccl"))
    else:
        torch.zeros(1, device=os.environ.get("DEVICE", "cuda"))
    cudnn = torch.backends.cudnn.version() if torch.backends.cudnn.enabled else None
    print(json.dumps({"ready": time.perf_counter() - started, "cudnn": cudnn}), file=out)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(ACTIONS[request.pop("do")](**request)), file=out)
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
