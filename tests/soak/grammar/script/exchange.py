"""Parts in which ranks exchange something: pipelines, actors, collectives, groups that come and go.

Called by: run.py.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from .job import BATCH, Part
from .models import model, optimizer, state


class Pipeline(Part):
    """A stage on each member; activations and gradients are sent."""

    def prepare(self) -> None:
        self.seed_model()
        self.model = model("linear", self.job.width).to(self.job.device)
        self.optimizer = optimizer(self.choices["optimizer"], list(self.model.parameters()))
        self.last = self.place == len(self.members) - 1
        seldom = {"last-seldom": self.last, "first-seldom": self.place == 0}
        self.seldom, self.done = seldom.get(self.choices["steps"], False), 0

    def iterate(self, iteration: int) -> None:
        for number in range(self.choices["batches"]):
            self._batch(iteration, number)
        self.done += 1
        if self.done % 2 or not self.seldom:
            self.optimizer.step()
            self.optimizer.zero_grad()

    def _batch(self, iteration: int, number: int) -> None:
        if self.place == 0:
            given = self.batch(iteration, number).to(self.job.device)
        else:
            given = torch.empty(BATCH, self.job.width, device=self.job.device)
            dist.recv(given, self.members[self.place - 1], group=self.group)
            given.requires_grad_()
        made = self.model(given)
        if self.last:
            loss = made.square().mean()
            self.read.append(loss.detach())
            loss.backward()
        else:
            dist.send(made.detach(), self.members[self.place + 1], group=self.group)
            gradient = torch.empty_like(made)
            dist.recv(gradient, self.members[self.place + 1], group=self.group)
            made.backward(gradient)
        if self.place:
            assert given.grad is not None
            dist.send(given.grad, self.members[self.place - 1], group=self.group)

    def result(self) -> dict[str, Any]:
        return {"weights": self.model.state_dict(), "optimizer": state(self.optimizer)}


class Actor(Part):
    """The last member tries weights out that the first one gives it, and sends a reward that steers the learners."""

    def prepare(self) -> None:
        self.seed_model()
        self.model = model("norm", self.job.width).to(self.job.device)
        self.acts = self.place == len(self.members) - 1
        if not self.acts:
            self.optimizer = optimizer(self.choices["optimizer"], list(self.model.parameters()))
        self.learner, self.actor = self.members[0], self.members[-1]

    def iterate(self, iteration: int) -> None:
        for one in self.model.parameters():
            self._give(one.data, self.learner)
        reward = torch.zeros(1, device=self.job.device)
        rows = self.batch(iteration).to(self.job.device)
        if self.acts:
            with torch.no_grad():
                reward += self.model(rows).square().mean()
        self._give(reward, self.actor)
        self.read.append(reward.clone())
        if not self.acts:
            self.optimizer.zero_grad()
            (self.model(rows).square().mean() * (1 + reward)).backward()
            self.optimizer.step()

    def _give(self, tensor: torch.Tensor, whose: int) -> None:
        if self.choices["transfer"] == "broadcast":
            dist.broadcast(tensor, whose, group=self.group)
        elif self.job.rank in (self.learner, self.actor):
            if self.job.rank == whose:
                dist.send(tensor.contiguous(), self.learner if self.acts else self.actor, group=self.group)
            else:
                dist.recv(tensor, whose, group=self.group)

    def result(self) -> dict[str, Any]:
        return {"weights": self.model.state_dict(), "optimizer": None if self.acts else state(self.optimizer)}


class Collect(Part):
    """State that each iteration mixes with that of the others."""

    def prepare(self) -> None:
        self.count = len(self.members)
        self.state = self.batch(0)[: self.count * (BATCH // self.count)].to(self.job.device)

    def iterate(self, iteration: int) -> None:
        given = self.state * 0.5 + self.batch(iteration)[: len(self.state)].to(self.job.device)
        taken, work = getattr(self, "_" + self.choices["operation"].replace("-", "_"))(given)
        if self.choices["waits"] == "later":
            given.add_(0.0) if work is None else torch.ones(64, device=self.job.device).cumsum(0)
        if work is not None:
            work.wait()
        self.state = self.state * 0.5 + taken

    def _all_reduce(self, given: torch.Tensor) -> tuple[torch.Tensor, Any]:
        return given, dist.all_reduce(given, group=self.group, async_op=True)

    def _broadcast(self, given: torch.Tensor) -> tuple[torch.Tensor, Any]:
        return given, dist.broadcast(given, self.members[-1], group=self.group, async_op=True)

    def _reduce(self, given: torch.Tensor) -> tuple[torch.Tensor, Any]:
        work = dist.reduce(given, self.members[0], group=self.group, async_op=True)
        return (given if self.place == 0 else torch.zeros_like(given)), work

    def _all_gather(self, given: torch.Tensor) -> tuple[torch.Tensor, Any]:
        all_ = given.new_empty(self.count * len(given), given.shape[1])
        work = dist.all_gather_into_tensor(all_, given, group=self.group, async_op=True)
        work.wait()
        return all_.view(self.count, *given.shape).mean(0), None

    def _reduce_scatter(self, given: torch.Tensor) -> tuple[torch.Tensor, Any]:
        mine = given.new_empty(len(given) // self.count, given.shape[1])
        dist.reduce_scatter_tensor(mine, given, group=self.group)
        return mine.repeat(self.count, 1), None

    def _all_to_all(self, given: torch.Tensor) -> tuple[torch.Tensor, Any]:
        taken = torch.empty_like(given)
        return taken, dist.all_to_all_single(taken, given, group=self.group, async_op=True)

    def _exchange(self, given: torch.Tensor) -> tuple[torch.Tensor, Any]:
        taken = torch.empty_like(given)
        after, before = self.members[(self.place + 1) % self.count], self.members[self.place - 1]
        both = [dist.P2POp(dist.isend, given, after, self.group), dist.P2POp(dist.irecv, taken, before, self.group)]
        for one in dist.batch_isend_irecv(both):
            one.wait()
        return taken, None

    def _barrier(self, given: torch.Tensor) -> tuple[torch.Tensor, Any]:
        dist.barrier(group=self.group)
        return given, None

    def result(self) -> dict[str, Any]:
        return {"state": self.state}


class Group(Part):
    """Makes a communicator, uses it once, and destroys it; all ranks of the job take part in the making."""

    everyone = True
    total: torch.Tensor

    def prepare(self) -> None:
        self.total = torch.zeros(4, device=self.job.device)

    def iterate(self, iteration: int) -> None:
        made = self._made()
        if self.member:
            given = torch.full((4,), float(iteration + self.place), device=self.job.device)
            dist.all_reduce(given, group=made)
            self.total = self.total * 0.5 + given
            dist.destroy_process_group(made)

    def _made(self) -> Any:
        if self.choices["made"] == "new":
            return dist.new_group(self.members)
        made = dist.split_group(split_ranks=[self.members], group_desc=f"{self.number}")
        return made if self.member else None

    def result(self) -> dict[str, Any]:
        return {"total": self.total}
