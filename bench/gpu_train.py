"""One rank of a training job that is told what to do, a JSON line at a time (scripts/gpu_check.py talks to it).

{"do": "train", "setting": NAME, "steps": N}   from scratch, deterministic: losses to the last bit, hash of all state
{"do": "time", "setting": NAME, "steps": N}    seconds per step of N steps of a model that is kept
An answer is a JSON line; what else the program prints goes to standard error. An ordinary PyTorch program: it does
not know whether the proxy is there. Environment: RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, GPU (index to use), SIZE
(tiny: one for a CPU), DEVICE (cuda), GROUP (nccl). Its first line says that it is ready, and which cuDNN it uses.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from gpu_cases import case
from torch.nn.parallel import DistributedDataParallel


class Trainer:
    def __init__(self, setting: str, deterministic: bool) -> None:
        tiny, rank = os.environ.get("SIZE") == "tiny", int(os.environ.get("RANK", "0"))
        self.case = case(setting, tiny)
        self.device = torch.device(os.environ.get("DEVICE", "cuda"), int(os.environ.get("GPU", "0")))
        torch.use_deterministic_algorithms(deterministic, warn_only=True)
        torch.backends.cudnn.deterministic = deterministic
        torch.manual_seed(1)
        self.model = self.case.model().to(self.device, memory_format=self.layout())
        if dist.is_initialized():
            self.model = DistributedDataParallel(self.model, gradient_as_bucket_view=True)
        fused = self.device.type == "cuda" and not tiny
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-4, fused=fused)
        self.random = torch.Generator(self.device if self.case.drawn_on_gpu else "cpu").manual_seed(100 + rank)

    def layout(self) -> torch.memory_format:
        return torch.channels_last if self.case.channels_last else torch.preserve_format

    def step(self) -> torch.Tensor:
        values, *labels = (one.to(self.device, non_blocking=True) for one in self.case.batch(self.random))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.case.bf16):
            loss: torch.Tensor = self.model(values.to(memory_format=self.layout()), *labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def digest(self) -> str:
        """SHA-256 of weights, buffers and optimizer state."""
        sha = hashlib.sha256()
        state = self.optimizer.state
        kept = [state[parameter][key] for parameter in self.model.parameters() for key in sorted(state[parameter])]
        for tensor in (*self.model.parameters(), *self.model.buffers(), *kept):
            sha.update(torch.as_tensor(tensor).detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
        return sha.hexdigest()


_kept: dict[str, Trainer] = {}


def train(setting: str, steps: int) -> dict[str, Any]:
    _kept.clear()
    trainer, losses, seconds = Trainer(setting, deterministic=True), [], []
    for number in range(steps):
        before = time.perf_counter()
        losses.append(trainer.step().item().hex())
        seconds.append(time.perf_counter() - before)
        print(f"step {number + 1} of {steps}", file=sys.stderr, flush=True)
    return {"losses": losses, "seconds": seconds, "state": trainer.digest()}


def timed(setting: str, steps: int) -> dict[str, Any]:
    if setting not in _kept:
        _kept.clear()
        _kept[setting] = Trainer(setting, deterministic=False)
        _kept[setting].step()
    trainer = _kept[setting]
    trainer.step().item()
    before = time.perf_counter()
    for _ in range(steps):
        loss = trainer.step()
    loss.item()
    return {"seconds": (time.perf_counter() - before) / steps}


ACTIONS: dict[str, Callable[..., dict[str, Any]]] = {"train": train, "time": timed}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    started = time.perf_counter()
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        if os.environ.get("DEVICE", "cuda") == "cuda":
            torch.cuda.set_device(int(os.environ.get("GPU", "0")))
        dist.init_process_group(os.environ.get("GROUP", "nccl"))
    else:
        torch.zeros(1, device=os.environ.get("DEVICE", "cuda"))
    cudnn = torch.backends.cudnn.version() if torch.backends.cudnn.enabled else None
    print(json.dumps({"ready": time.perf_counter() - started, "cudnn": cudnn}), file=answers)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(ACTIONS[request.pop("do")](**request)), file=answers)
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
