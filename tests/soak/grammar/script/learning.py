"""Parts that train a model: alone, together in each way that PyTorch has, in a captured graph, with checkpoints.

Called by: run.py.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

from .job import BATCH, Part
from .models import model, optimizer, state

#: Batches that a worker of a loader makes before another is forked.
EPOCH = 4


class Rows(Dataset[torch.Tensor]):
    def __init__(self, part: Part, first: int, count: int) -> None:
        self._part, self._first, self._count = part, first, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, at: int) -> torch.Tensor:
        return self._part.batch(self._first + at, 7)


class Learn(Part):
    def prepare(self) -> None:
        self.seed_model()
        job, chosen = self.job, self.choices
        self.model = model(chosen["model"], job.width).to(job.device)
        self.together = chosen["together"] if self.group else "alone"
        self.forward: nn.Module = self.model
        if self.together in ("ddp", "join"):
            self.forward = DistributedDataParallel(self.model, process_group=self.group)
        weights = list(self.model.parameters())
        share = chosen["optimizers"]
        self.optimizers = [optimizer(chosen["optimizer"], weights[at::share]) for at in range(min(share, len(weights)))]
        self.scaler = torch.amp.GradScaler("cuda", init_scale=256.0) if chosen["loss"] == "scaled" else None
        self.stream = torch.cuda.Stream() if chosen["stream"] == "side" else None
        self.average = [one.detach().clone() for one in weights] if chosen["average"] == "yes" else []
        self.source = torch.Generator(job.device).manual_seed(job.seed + self.place)
        self.taken, self.rows = 0, iter(())
        self.loader: DataLoader[torch.Tensor] | None = None
        self.pinned = torch.empty(BATCH, job.width, pin_memory=True) if chosen["data"] == "pinned" else None
        torch.manual_seed(job.seed * 17 + job.rank)

    # ---- data -----------------------------------------------------------------------------------
    def data(self) -> torch.Tensor:
        self.taken += 1
        kind, device = self.choices["data"], self.job.device
        if kind == "device":
            return torch.randn(BATCH, self.job.width, device=device, generator=self.source)
        if kind.startswith("workers"):
            return self._loaded().to(device, non_blocking=True)
        if self.pinned is None:
            return self.batch(self.taken).to(device)
        torch.cuda.current_stream().synchronize()  # the copy before has been made
        self.pinned.copy_(self.batch(self.taken))
        return self.pinned.to(device, non_blocking=True)

    def _loaded(self) -> torch.Tensor:
        """From children made by fork: others for each epoch, or the same ones, which make the same rows again."""
        for rows in self.rows:
            return rows
        kind = self.choices["data"]
        if self.loader is None or kind != "workers-kept":
            self.loader = DataLoader(
                Rows(self, self.taken, EPOCH), batch_size=None, num_workers=1 if kind == "workers" else 2,
                pin_memory=kind == "workers-pinned", persistent_workers=kind == "workers-kept",
            )  # fmt: skip
        self.rows: Iterator[torch.Tensor] = iter(self.loader)
        return next(self.rows)

    def finish(self) -> None:
        self.rows, self.loader = iter(()), None  # its workers end

    # ---- steps ----------------------------------------------------------------------------------
    def steps(self) -> int:
        last = self.place == len(self.members) - 1
        counts = {"equal": 1, "first-more": 1 + 2 * (self.place == 0), "last-more": 1 + 2 * last}
        return counts.get(self.choices["steps"], int(self.place == 0 or self.together == "join"))

    def iterate(self, iteration: int) -> None:
        if self.stream:
            self.stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.stream):
                self._iterate()
            torch.cuda.current_stream().wait_stream(self.stream)
        else:
            self._iterate()

    def _iterate(self) -> None:
        with Join([self.forward]) if self.together == "join" else contextlib.nullcontext():  # type: ignore[list-item]
            for _ in range(self.steps()):
                self._step()
        if self.together == "local":
            for one in self.model.parameters():
                dist.all_reduce(one.data, dist.ReduceOp.AVG, group=self.group)
        if self.average:
            torch._foreach_lerp_(self.average, [one.detach() for one in self.model.parameters()], 0.1)

    def _step(self) -> None:
        for one in self.optimizers:
            one.zero_grad()
        count = self.choices["accumulate"]
        for number in range(count):
            held_back = isinstance(self.forward, DistributedDataParallel) and number < count - 1
            with self.forward.no_sync() if held_back else contextlib.nullcontext():  # type: ignore[operator]
                self._pass()
        if self.together == "averaged":
            for parameter in self.model.parameters():
                if parameter.grad is not None:
                    dist.all_reduce(parameter.grad, dist.ReduceOp.AVG, group=self.group)
        self._apply()

    def _pass(self) -> None:
        rows = self.data()
        with torch.autocast("cuda", torch.float16) if self.scaler else contextlib.nullcontext():
            loss = (self.forward(rows).float() - rows.roll(1, -1)).square().mean()
        self.read.append(loss.item() if self.choices["loss"] == "each" else loss.detach())
        (self.scaler.scale(loss) if self.scaler else loss).backward()

    def _apply(self) -> None:
        for one in self.optimizers:
            if self.scaler:
                self.scaler.unscale_(one)
        if self.choices["clip"] == "yes":
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for one in self.optimizers:
            if self.scaler:
                self.scaler.step(one)
            else:
                one.step()
        if self.scaler:
            self.scaler.update()

    def result(self) -> dict[str, Any]:
        return {
            "weights": self.model.state_dict(), "optimizer": [state(one) for one in self.optimizers],
            "average": self.average,
        }  # fmt: skip


class Checkpoint(Part):
    """Saves in one iteration, comes back to that three iterations later."""

    AGAIN = 3

    def prepare(self) -> None:
        self.seed_model()
        self.model = model("batch-norm", self.job.width).to(self.job.device)
        self.optimizer = optimizer(self.choices["optimizer"], list(self.model.parameters()))
        self.saved: Any = None
        self.done = 0

    def iterate(self, iteration: int) -> None:
        self.optimizer.zero_grad()
        loss = self.model(self.batch(iteration).to(self.job.device)).square().mean()
        loss.backward()
        self.optimizer.step()
        self.read.append(loss.detach())
        self.done += 1
        if self.done % (2 * self.AGAIN) == 1:
            self._save()
        elif self.done % (2 * self.AGAIN) == 1 + self.AGAIN:
            self._load()

    def _save(self) -> None:
        whole = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        if self.choices["to"] == "device":
            self.saved = copied(whole)
        elif self.choices["to"] == "memory":
            self.saved = copied(whole, "cpu")
        else:
            self.saved = self.job.folder / f"checkpoint.{self.number}.{self.job.rank}"
            torch.save(whole, self.saved)

    def _load(self) -> None:
        whole = torch.load(self.saved) if self.choices["to"] == "file" else copied(self.saved)
        self.model.load_state_dict(whole["model"])
        self.optimizer.load_state_dict(whole["optimizer"])

    def result(self) -> dict[str, Any]:
        return {"weights": self.model.state_dict(), "optimizer": state(self.optimizer)}


def copied(value: Any, device: str | None = None) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().to(device, copy=True) if device else value.detach().clone()
    if isinstance(value, dict):
        return {key: copied(one, device) for key, one in value.items()}
    return [copied(one, device) for one in value] if isinstance(value, list) else value


class Graph(Part):
    """Training whose pass, or whole step, is a captured graph."""

    def prepare(self) -> None:
        self.seed_model()
        self.model = model("norm", self.job.width).to(self.job.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 1e-2, momentum=0.9)
        self.rows = torch.zeros(BATCH, self.job.width, device=self.job.device)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                self._pass()
                self.optimizer.step()
        torch.cuda.current_stream().wait_stream(side)
        self.whole = self.choices["captured"] == "step"
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self._pass()
            if self.whole:
                self.optimizer.step()

    def _pass(self) -> None:
        self.optimizer.zero_grad()
        self.loss = self.model(self.rows).square().mean()
        self.loss.backward()

    def iterate(self, iteration: int) -> None:
        self.rows.copy_(self.batch(iteration))
        self.graph.replay()
        if not self.whole:
            self.optimizer.step()
        self.read.append(self.loss.detach().clone())

    def result(self) -> dict[str, Any]:
        return {"weights": self.model.state_dict(), "optimizer": state(self.optimizer)}
