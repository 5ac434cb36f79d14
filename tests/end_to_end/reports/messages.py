"""Collectives, messages and groups that a program uses by itself, after bug reports."""

from __future__ import annotations

import threading
from typing import Any

import torch
import torch.distributed as dist
from shape import WIDTH, Shape, batch, network, tensors_of
from torch.distributed._functional_collectives import all_to_all_single_autograd
from torch.utils.data import DataLoader, TensorDataset


def share(model: torch.nn.Module, group: dist.ProcessGroup | None = None) -> None:
    for one in model.parameters():
        assert one.grad is not None
        dist.all_reduce(one.grad, dist.ReduceOp.AVG, group)


def join(group: dist.ProcessGroup, rank: int) -> None:
    """A message is sent: the communicator for messages is there then."""
    one = torch.zeros(1, device="cuda")
    if rank:
        dist.recv(one, 0, group)
    else:
        dist.send(one, 1, group)


class Own(Shape):
    """A model and an optimizer, gradients shared by hand."""

    def prepare(self) -> None:
        self.model = network(1)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-2)
        self.more: list[torch.Tensor] = []

    def learn(self, loss: torch.Tensor) -> None:
        self.optimizer.zero_grad()
        loss.backward()
        share(self.model)
        self.optimizer.step()

    def result(self) -> list[torch.Tensor]:
        return [*self.model.parameters(), *tensors_of(self.optimizer), *self.more]


class Batched(Own):
    """A ring of several sends and receives at once, whose order differs from rank to rank."""

    def iterate(self, number: int) -> None:
        out = self.model(batch(self.rank, number))
        sent = [out.detach()[:, part::4].contiguous() for part in range(4)]
        came = [torch.empty_like(one) for one in sent]
        other = 1 - self.rank
        calls = [dist.P2POp(dist.isend, one, other) for one in sent]
        gets = [dist.P2POp(dist.irecv, one, other) for one in came]
        for one in dist.batch_isend_irecv(calls + gets if self.rank else gets + calls):
            one.wait()
        self.learn((out - 0.1 * torch.cat(came, 1)).square().mean())


class TwoThreads(Own):
    """Messages in a thread with a group and a stream of its own, beside collectives of the main thread."""

    def prepare(self) -> None:
        super().prepare()
        self.group, self.stream = dist.new_group([0, 1]), torch.cuda.Stream()
        self.value = torch.full((WIDTH,), float(self.rank), device="cuda")
        self.meet()

    def meet(self) -> None:
        """Joins the group's communicator before there is a second thread."""
        dist.barrier(self.group)

    def exchange(self, number: int) -> None:
        with torch.cuda.stream(self.stream):
            for _ in range(3):
                came = torch.empty_like(self.value)
                calls = [dist.P2POp(dist.isend, self.value, 1 - self.rank, self.group),
                         dist.P2POp(dist.irecv, came, 1 - self.rank, self.group)]  # fmt: skip
                for one in dist.batch_isend_irecv(calls):
                    one.wait()
                self.value = (self.value + 0.5 * came + number).remainder(17)
        self.stream.synchronize()

    def iterate(self, number: int) -> None:
        torch.cuda.synchronize()
        beside = threading.Thread(target=self.exchange, args=(number,))
        beside.start()
        for part in range(2):
            self.learn(self.model(batch(self.rank, 2 * number + part)).square().mean())
        beside.join()

    def result(self) -> list[torch.Tensor]:
        return [*super().result(), self.value]


class LateJoin(TwoThreads):
    """The same, with a communicator that is joined in the second thread."""

    def meet(self) -> None:
        pass


class Ahead(Own):
    """A message is received from before an optimizer step on; its sender waits for what comes only after that step."""

    def prepare(self) -> None:
        super().prepare()
        self.there, self.back = dist.new_group([0, 1]), dist.new_group([0, 1])
        self.value = torch.full((1 << 20,), 1.0, device="cuda")
        for one in (self.there, self.back):
            join(one, self.rank)

    def iterate(self, number: int) -> None:
        loss = self.model(batch(self.rank, number)).square().mean()
        if number % 3 == 0:
            self.learn(loss)
        elif self.rank:
            came = torch.empty_like(self.value)
            coming = dist.irecv(came, 0, self.there)
            self.learn(loss)
            dist.send(self.value + number, 0, self.back)
            coming.wait()
            self.value = came
        else:
            self.learn(loss)
            came = torch.empty_like(self.value)
            dist.recv(came, 1, self.back)
            self.value = came * 0.5 + came.mean().item()
            dist.send(self.value, 1, self.there)

    def result(self) -> list[torch.Tensor]:
        return [*super().result(), self.value]


class Across(Own):
    """Each rank's message is under way across an optimizer step, and is received only after it."""

    def prepare(self) -> None:
        super().prepare()
        self.ways = [dist.new_group([0, 1]), dist.new_group([0, 1])]
        self.value = torch.full((3 << 20,), 1.0 + self.rank, device="cuda")
        for one in self.ways:
            join(one, self.rank)

    def iterate(self, number: int) -> None:
        sent = dist.isend(self.value, 1 - self.rank, self.ways[self.rank])
        self.learn(self.model(batch(self.rank, number)).square().mean())
        came = torch.empty_like(self.value)
        dist.recv(came, 1 - self.rank, self.ways[1 - self.rank])
        sent.wait()
        self.value = 0.5 * self.value + 0.25 * came + number

    def result(self) -> list[torch.Tensor]:
        return [*super().result(), self.value]


class Experts(Own):
    """An expert on each rank; tokens go there and back by all-to-all, of other numbers each time."""

    def prepare(self) -> None:
        super().prepare()
        self.expert = network(10 + self.rank)
        self.own = torch.optim.AdamW(self.expert.parameters(), 1e-2)

    def iterate(self, number: int) -> None:
        tokens = self.model(batch(self.rank, number, 16))
        there = tokens[:, 0] > 0
        order = torch.argsort(there.int(), stable=True)
        counts = torch.bincount(there.int(), minlength=2)
        theirs = torch.empty_like(counts)
        dist.all_to_all_single(theirs, counts)
        give, get = counts.tolist(), theirs.tolist()
        world = dist.group.WORLD
        sent = all_to_all_single_autograd(tokens[order], get, give, world)
        back = all_to_all_single_autograd(self.expert(sent), give, get, world)
        self.own.zero_grad()
        self.learn((tokens[order] + back).square().mean())
        self.own.step()

    def result(self) -> list[torch.Tensor]:
        return [*super().result(), *self.expert.parameters()]


class Objects(Own):
    """Objects go from rank to rank by NCCL and say how the next step is made; gloo is there for tensors of the host."""

    def prepare(self) -> None:
        super().prepare()
        self.host = dist.new_group([0, 1], backend="gloo")

    def iterate(self, number: int) -> None:
        loss = self.model(batch(self.rank, number)).square().mean()
        told: list[Any] = [None, None]
        dist.all_gather_object(told, {"loss": loss.item(), "rank": self.rank})
        said: list[Any] = [{"rate": 0.01 + min(one["loss"] for one in told) / 100} if self.rank == 0 else None]
        dist.broadcast_object_list(said, 0)
        self.optimizer.param_groups[0]["lr"] = said[0]["rate"]
        self.learn(loss)
        known = torch.tensor([said[0]["rate"]])
        dist.all_reduce(known, group=self.host)
        self.more = [known]
        dist.barrier()


class Groups(Own):
    """The default group is destroyed and made again while training goes on, as elastic programs do."""

    made = 0

    def iterate(self, number: int) -> None:
        self.learn(self.model(batch(self.rank, number)).square().mean())
        if number % 4 == 3:
            store = dist.distributed_c10d._get_default_store()
            dist.barrier()
            dist.destroy_process_group()
            Groups.made += 1
            store = dist.PrefixStore(f"again{Groups.made}", store)
            dist.init_process_group("nccl", store=store, rank=self.rank, world_size=2)


class SideStream(Own):
    """Gradients are scattered and weights gathered by hand on a stream of their own, as in a sharded optimizer."""

    def prepare(self) -> None:
        self.model = network(2)
        self.flat = torch.cat([one.detach().reshape(-1) for one in self.model.parameters()])
        self.part = torch.nn.Parameter(self.flat.chunk(2)[self.rank].clone())
        self.optimizer = torch.optim.AdamW([self.part], 1e-2)
        self.stream, self.more = torch.cuda.Stream(), []

    def iterate(self, number: int) -> None:
        self.model(batch(self.rank, number)).square().mean().backward()
        flat = torch.cat([one.grad.reshape(-1) for one in self.model.parameters() if one.grad is not None])
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            self.part.grad = torch.empty_like(self.part)
            dist.reduce_scatter_tensor(self.part.grad, flat, dist.ReduceOp.AVG)
            flat.record_stream(self.stream)
            self.optimizer.step()
            dist.all_gather_into_tensor(self.flat, self.part.detach())
        torch.cuda.current_stream().wait_stream(self.stream)
        at = 0
        with torch.no_grad():
            for one in self.model.parameters():
                one.copy_(self.flat[at : at + one.numel()].view_as(one))
                one.grad = None
                at += one.numel()


class Loaders(Own):
    """Batches from persistent loader processes, through pinned memory, one ahead."""

    def prepare(self) -> None:
        super().prepare()
        data = TensorDataset(torch.randn(40, WIDTH, generator=torch.Generator().manual_seed(self.rank)))
        self.loader = DataLoader(data, 10, pin_memory=True, num_workers=1, persistent_workers=True, prefetch_factor=2,
                                 multiprocessing_context="fork")  # fmt: skip
        self.batches = iter(self.loader)

    def iterate(self, number: int) -> None:
        try:
            [rows] = next(self.batches)
        except StopIteration:
            self.batches = iter(self.loader)
            [rows] = next(self.batches)
        self.learn(self.model(rows.cuda(non_blocking=True)).square().mean())


SHAPES = {
    "batched": Batched, "two-threads": TwoThreads, "late-join": LateJoin, "ahead": Ahead, "across": Across,
    "experts": Experts, "objects": Objects, "groups": Groups,
    "side-stream": SideStream, "loaders": Loaders,
}  # fmt: skip
