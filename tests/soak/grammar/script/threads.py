"""Models of one rank that are stepped in threads: at once, in turn, beside the others' work, by autograd's thread.

Called by: run.py. Promise: no two threads touch the same tensor without an order between them, and none draws from a
generator that others draw from, so that results do not depend on which thread comes first.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import torch
import torch.distributed as dist

from .job import Job, Part
from .models import model, optimizer, state

#: Of each thread, in each iteration.
STEPS = 2
WAIT_SECONDS = 200.0


class Trainer:
    """A model that is trained in a thread of its own, on a stream and a GPU that it may share with others."""

    def __init__(self, part: Threads, at: int) -> None:
        self.part, self.at, self.group = part, at, part.groups[at] if part.groups else None
        gpus = torch.cuda.device_count() if part.choices["gpus"] == "two" else 1
        self.device = torch.device("cuda", (part.job.rank + at % 2) % gpus if gpus > 1 else part.job.rank)
        self.stream = torch.cuda.Stream(self.device) if part.choices["stream"] == "own" else None
        self.pool = ThreadPoolExecutor(1)
        self.losses: list[Any] = []
        with self.context():  # nobody else may have its memory before that is done
            self.model = model(part.choices["model"], part.job.width).to(self.device)
        weights = list(self.model.parameters())
        self.optimizer = optimizer(part.choices["optimizer"], weights)

    @contextlib.contextmanager
    def context(self) -> Iterator[None]:
        with torch.cuda.device(self.device), torch.cuda.stream(self.stream):
            yield

    def compute(self, iteration: int, number: int) -> None:
        with self.context():
            rows = self.part.batch(iteration, self.at, number).to(self.device)
            loss = (self.model(rows) - rows.roll(1, -1)).square().mean()
            self.losses.append(loss.item() if self.part.choices["loss"] == "each" else loss.detach())
            loss.backward()
            if self.group:
                for one in self.model.parameters():
                    dist.all_reduce(one.grad, dist.ReduceOp.AVG, group=self.group)

    def step(self) -> None:
        with self.context():
            self.optimizer.step()

    def forget(self) -> None:
        with self.context():
            self.optimizer.zero_grad()

    def train(self, iteration: int) -> None:
        for number in range(STEPS):
            self.forget()
            self.compute(iteration, number)
            self.step()

    def only_compute(self, iteration: int) -> None:
        for number in range(STEPS):
            self.compute(iteration, number)

    def step_in_hooks(self) -> None:
        """Each weight is stepped as soon as its gradient is there, in autograd's thread."""
        name = self.part.choices["optimizer"]
        self.each = {one: optimizer(name, [one]) for one in self.model.parameters()}

        def hook(weight: torch.Tensor) -> None:
            self.each[weight].step()  # type: ignore[index]
            self.each[weight].zero_grad()  # type: ignore[index]

        for one in self.each:
            one.register_post_accumulate_grad_hook(hook)

    def meet(self, others: threading.Barrier) -> None:
        """Its steps have a middle, in which they wait for those of the others."""

        def wait(*_: Any) -> None:
            others.wait(WAIT_SECONDS)

        self.optimizer.register_step_pre_hook(wait)
        self.optimizer.register_step_post_hook(wait)

    def result(self) -> list[Any]:
        gradients = [one.grad for one in self.model.parameters()]
        states = [state(one) for one in self.each.values()] if hasattr(self, "each") else state(self.optimizer)
        return [self.model.state_dict(), gradients, states]


class Threads(Part):
    def __init__(self, job: Job, number: int, document: Mapping[str, Any]) -> None:
        # Of each thread, since ranks come to the collectives of their threads in different order.
        averaged = document["choices"]["together"] == "averaged"
        self.groups = [dist.new_group(document["ranks"]) for _ in range(averaged * document["choices"]["count"])]
        super().__init__(job, number, document)

    def prepare(self) -> None:
        self.seed_model()
        self.trainers = [Trainer(self, at) for at in range(self.choices["count"])]
        self.how: str = self.choices["steps"]
        self.under_way: list[Future[None]] = []
        self.met = threading.Barrier(len(self.trainers))
        for one in self.trainers:
            if self.how == "overlap":
                one.meet(self.met)
            elif self.how == "hooks":
                one.step_in_hooks()
        for group in self.groups:
            dist.barrier(group=group)
        for one in self.trainers:
            torch.cuda.synchronize(one.device)

    def iterate(self, iteration: int) -> None:
        self.wait()
        if self.how == "handed":
            self._hand_over(iteration)
        else:
            for one in self.trainers:
                self.under_way.append(one.pool.submit(self._run, one, iteration))
                if self.how == "turns":
                    self.wait()
        if self.how != "beside":
            self.wait()

    def _run(self, trainer: Trainer, iteration: int) -> None:
        only = self.how == "hooks" or (self.how == "backward" and trainer is self.trainers[-1])
        try:
            (trainer.only_compute if only else trainer.train)(iteration)
        except BaseException:
            self.met.abort()  # nobody waits for this one
            raise

    def _hand_over(self, iteration: int) -> None:
        """A thread makes the step, while this one computes the next model's gradients."""
        for number in range(STEPS):
            for one in self.trainers:
                one.forget()
                one.compute(iteration, number)
                self.under_way.append(one.pool.submit(one.step))
            self.wait()

    def wait(self) -> None:
        for one in self.under_way:
            one.result()
        self.under_way.clear()

    def finish(self) -> None:
        self.wait()
        for one in self.trainers:
            one.pool.shutdown()
            with one.context():  # the whole device may wait for a message that is sent when a later part ends
                torch.cuda.current_stream().synchronize()
            self.read += one.losses

    def result(self) -> dict[str, Any]:
        return {"trainers": [one.result() for one in self.trainers]}
