"""DistributedDataParallel, after bug reports."""

from __future__ import annotations

import contextlib

import torch
import torch.distributed as dist
from shape import WIDTH, Shape, batch, network, tensors_of
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint


class Halves(nn.Module):
    """Two parts, of which a pass may leave one out."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList([network(1), network(2)])

    def forward(self, data: torch.Tensor, which: int) -> torch.Tensor:
        whole: torch.Tensor = data + self.parts[which](data)
        return whole


class UnusedParts(Shape):
    """Parts that take turns within an accumulated batch, the synchronization left out for all passes but the last."""

    def prepare(self) -> None:
        self.model = DistributedDataParallel(Halves().cuda(), find_unused_parameters=True)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-2)

    def iterate(self, number: int) -> None:
        for part in range(3):
            with self.model.no_sync() if part < 2 else contextlib.nullcontext():
                self.model(batch(self.rank, 3 * number + part), (number + part) % 2).square().mean().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def result(self) -> list[torch.Tensor]:
        return [*self.model.parameters(), *tensors_of(self.optimizer)]


class Checkpointed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([network(seed) for seed in range(3)])

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        data = data.requires_grad_()
        for layer in self.layers:
            data = data + checkpoint(layer, nn.functional.dropout(data, 0.1), use_reentrant=True)
        return data


class StaticGraph(UnusedParts):
    """A static graph with reentrant checkpoints and dropout."""

    def prepare(self) -> None:
        self.model = DistributedDataParallel(Checkpointed().cuda(), static_graph=True)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-2)

    def iterate(self, number: int) -> None:
        self.model(batch(self.rank, number)).square().mean().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


class Adversaries(Shape):
    """A discriminator that is called twice before its backward pass, and a generator, each with an optimizer."""

    def prepare(self) -> None:
        judge = nn.Sequential(nn.Linear(WIDTH, 16), nn.BatchNorm1d(16), nn.LeakyReLU(), nn.Linear(16, 1)).cuda()
        self.judge = DistributedDataParallel(judge, broadcast_buffers=False)
        self.maker = DistributedDataParallel(network(3))
        self.optimizers = [torch.optim.Adam(one.parameters(), 1e-3) for one in (self.judge, self.maker)]

    def iterate(self, number: int) -> None:
        loss = nn.functional.softplus
        real, noise = batch(self.rank, number), batch(self.rank + 10, number)
        made = self.maker(noise)
        self.optimizers[0].zero_grad()
        (loss(-self.judge(real)).mean() + loss(self.judge(made.detach())).mean()).backward()
        self.optimizers[0].step()
        if number % 2:  # the generator learns half as often
            self.optimizers[1].zero_grad()
            loss(-self.judge(made)).mean().backward()
            self.optimizers[1].step()

    def result(self) -> list[torch.Tensor]:
        return [*self.judge.state_dict().values(), *self.maker.parameters()]


class SyncedNorm(UnusedParts):
    """SyncBatchNorm, batches of other sizes on each rank, and an evaluation that rank 0 alone makes."""

    def prepare(self) -> None:
        net = nn.Sequential(nn.Linear(WIDTH, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4)).cuda()
        self.model = DistributedDataParallel(nn.SyncBatchNorm.convert_sync_batchnorm(net))
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1, momentum=0.9)
        self.seen: list[torch.Tensor] = []

    def iterate(self, number: int) -> None:
        self.model(batch(self.rank, number, 6 + 4 * self.rank)).square().mean().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        if self.rank == 0 and number % 4 == 1:
            self.model.eval()
            with torch.no_grad():
                self.seen.append(self.model.module(batch(7, number)).mean())
            self.model.train()
        dist.barrier()

    def result(self) -> list[torch.Tensor]:
        return [*self.model.state_dict().values(), *tensors_of(self.optimizer), *self.seen]


class BucketViews(UnusedParts):
    """Gradients that are views of buckets, set to zero and not to None, clipped; a learning rate from a lost loss."""

    def prepare(self) -> None:
        self.model = DistributedDataParallel(network(4), gradient_as_bucket_view=True, bucket_cap_mb=0.002)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-2, amsgrad=True)
        self.rates = torch.optim.lr_scheduler.ReduceLROnPlateau(self.optimizer, patience=1, factor=0.5)

    def iterate(self, number: int) -> None:
        self.optimizer.zero_grad(set_to_none=False)
        loss = self.model(batch(self.rank, number)).square().mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 0.1)
        self.optimizer.step()
        shared = loss.detach()
        dist.all_reduce(shared, dist.ReduceOp.AVG)
        self.rates.step(shared.item())


class Averaged(UnusedParts):
    """Averages of weights (SWA and EMA), statistics of the norms made anew at the end by a forward pass over data."""

    def prepare(self) -> None:
        net = nn.Sequential(nn.Linear(WIDTH, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4)).cuda()
        self.model = DistributedDataParallel(net)
        average = torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)
        self.averages = [
            torch.optim.swa_utils.AveragedModel(net),
            torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=average, use_buffers=True),
        ]
        self.optimizer = torch.optim.NAdam(self.model.parameters(), 1e-2)

    def iterate(self, number: int) -> None:
        self.model(batch(self.rank, number)).square().mean().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        for one in self.averages:
            one.update_parameters(self.model.module)
        torch.optim.swa_utils.update_bn([batch(3, number)], self.averages[0])

    def result(self) -> list[torch.Tensor]:
        averages = [tensor for one in self.averages for tensor in one.state_dict().values()]
        return [*self.model.state_dict().values(), *averages]


class MixedPrecision(Shape):
    """Overflows of a GradScaler on one rank alone: its own head skips a step there, the shared model on all ranks."""

    def prepare(self) -> None:
        self.model, self.head = DistributedDataParallel(network(5)), network(6)
        self.optimizers = [torch.optim.AdamW(one.parameters(), 1e-2) for one in (self.model, self.head)]
        self.scalers = [torch.amp.GradScaler("cuda", init_scale=2.0**10, growth_interval=3) for _ in range(2)]

    def iterate(self, number: int) -> None:
        with torch.autocast("cuda", torch.float16):
            shared = self.model(batch(self.rank, number)).square().mean()
            own = self.head(batch(self.rank + 4, number)).square().mean()
        if number % 5 == 2 and self.rank == 1:
            shared = shared * float("inf")
        if number % 3 == self.rank:
            own = own * float("inf")
        for loss, optimizer, scaler in zip((shared, own), self.optimizers, self.scalers, strict=True):
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()

    def result(self) -> list[torch.Tensor]:
        scales = [torch.tensor(one.get_scale()) for one in self.scalers]
        return [*self.model.parameters(), *self.head.parameters(), *scales]


SHAPES = {
    "unused-parts": UnusedParts, "static-graph": StaticGraph, "adversaries": Adversaries, "synced-norm": SyncedNorm,
    "bucket-views": BucketViews, "averaged": Averaged, "mixed-precision": MixedPrecision,
}  # fmt: skip
