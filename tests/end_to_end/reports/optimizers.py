"""Optimizers and how they are stepped, after bug reports."""

from __future__ import annotations

import io

import torch
import torch.distributed as dist
from shape import Shape, batch, network, tensors_of
from torch.distributed.algorithms.ddp_comm_hooks import ddp_zero_hook, default_hooks
from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState, post_localSGD_hook
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.optim import PostLocalSGDOptimizer, ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel


class Closures(Shape):
    """LBFGS: the loss, and the collectives of its gradients, are computed within the step, as often as it wants."""

    def prepare(self) -> None:
        self.model = DistributedDataParallel(network(1))
        self.optimizer = torch.optim.LBFGS(self.model.parameters(), 0.5, max_iter=4, line_search_fn="strong_wolfe")

    def iterate(self, number: int) -> None:
        def closure() -> float:
            self.optimizer.zero_grad()
            loss = self.model(batch(self.rank, number)).square().mean()
            loss.backward()
            shared = loss.detach().clone()
            dist.all_reduce(shared, dist.ReduceOp.AVG)
            return shared.item()

        self.optimizer.step(closure)

    def result(self) -> list[torch.Tensor]:
        return list(self.model.parameters())


class Reloaded(Shape):
    """A fused optimizer whose state is saved, mapped to the host, and loaded again in the middle of training."""

    def prepare(self) -> None:
        self.model = DistributedDataParallel(network(2))
        self.optimizer = self.made()

    def made(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.model.parameters(), 1e-2, fused=True, weight_decay=0.1)

    def iterate(self, number: int) -> None:
        self.model(batch(self.rank, number)).square().mean().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        if number % 4 == 2:
            kept = io.BytesIO()
            torch.save([self.model.state_dict(), self.optimizer.state_dict()], kept)
            kept.seek(0)
            weights, state = torch.load(kept, map_location="cpu")
            self.model.load_state_dict(weights)
            self.optimizer = self.made()
            self.optimizer.load_state_dict(state)

    def result(self) -> list[torch.Tensor]:
        return [*self.model.parameters(), *tensors_of(self.optimizer)]


class InBackward(Shape):
    """Each parameter has an optimizer that steps as soon as its gradient is there, within the backward pass."""

    def prepare(self) -> None:
        self.model = network(3)
        self.optimizers = {one: torch.optim.Adam([one], 1e-2) for one in self.model.parameters()}
        for parameter in self.model.parameters():
            parameter.register_post_accumulate_grad_hook(self.learn)

    def learn(self, parameter: torch.Tensor) -> None:
        assert parameter.grad is not None
        dist.all_reduce(parameter.grad, dist.ReduceOp.AVG)
        self.optimizers[parameter].step()
        self.optimizers[parameter].zero_grad()

    def iterate(self, number: int) -> None:
        self.model(batch(self.rank, number)).square().mean().backward()

    def result(self) -> list[torch.Tensor]:
        return [*self.model.parameters(), *(held for one in self.optimizers.values() for held in tensors_of(one))]


class Redundancy(Shape):
    """ZeroRedundancyOptimizer: each rank steps its part of the parameters and sends them to the others."""

    def prepare(self) -> None:
        self.model = DistributedDataParallel(network(4))
        self.optimizer = ZeroRedundancyOptimizer(self.model.parameters(), torch.optim.AdamW, lr=1e-2)

    def iterate(self, number: int) -> None:
        self.optimizer.zero_grad()
        self.model(batch(self.rank, number)).square().mean().backward()
        self.optimizer.step()
        if number % 5 == 3:
            self.optimizer.consolidate_state_dict(to=number % 2)

    def result(self) -> list[torch.Tensor]:
        return [*self.model.parameters(), *tensors_of(self.optimizer.optim)]


class Overlapped(Redundancy):
    """The same, with steps in the hook of each gradient bucket, beside the rest of the backward pass."""

    def prepare(self) -> None:
        self.model = DistributedDataParallel(network(5), bucket_cap_mb=0.002, gradient_as_bucket_view=True)
        self.optimizer = ZeroRedundancyOptimizer(
            self.model.parameters(), torch.optim.SGD, overlap_with_ddp=True, lr=0.1, momentum=0.9
        )  # fmt: skip
        hook = ddp_zero_hook.hook_with_zero_step(default_hooks.allreduce_hook, self.model, self.optimizer)
        self.model.register_comm_hook(None, hook)

    def iterate(self, number: int) -> None:
        self.optimizer.zero_grad()
        self.model(batch(self.rank, number)).square().mean().backward()
        self.optimizer.step()


class LocalSteps(Shape):
    """Post-local SGD: gradients are shared at first, then weights now and then."""

    def prepare(self) -> None:
        self.model = DistributedDataParallel(network(6))
        alone = dist.new_group([self.rank], use_local_synchronization=True)
        state = PostLocalSGDState(process_group=None, subgroup=alone, start_localSGD_iter=3)
        self.model.register_comm_hook(state, post_localSGD_hook)
        averager = PeriodicModelAverager(period=3, warmup_steps=3)
        self.optimizer = PostLocalSGDOptimizer(torch.optim.SGD(self.model.parameters(), 0.1, momentum=0.9), averager)

    def iterate(self, number: int) -> None:
        self.optimizer.zero_grad()
        self.model(batch(self.rank, number)).square().mean().backward()
        self.optimizer.step()

    def result(self) -> list[torch.Tensor]:
        return list(self.model.parameters())


SHAPES = {
    "closures": Closures, "reloaded": Reloaded, "in-backward": InBackward, "redundancy": Redundancy,
    "overlapped": Overlapped, "local-steps": LocalSteps,
}  # fmt: skip
