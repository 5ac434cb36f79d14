"""FSDP, device meshes, tensor and pipeline parallelism, after bug reports."""

from __future__ import annotations

import torch
from shape import WIDTH, Shape, batch, network
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecisionPolicy, fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleInterleaved1F1B
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


def local(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


class Fsdp(Shape):
    """FSDP2 in mixed precision; two forward passes, then two backward passes; norms over all shards."""

    def prepare(self) -> None:
        self.model: nn.Module = nn.Sequential(network(1), network(2))
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        for layer in [*self.model.children(), self.model]:
            fully_shard(layer, mp_policy=policy)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-2)

    def iterate(self, number: int) -> None:
        losses = [self.model(batch(self.rank, 2 * number + part)).square().mean() for part in range(2)]
        for loss in losses:
            loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def result(self) -> list[torch.Tensor]:
        return [local(one) for one in self.model.parameters()]


class Hybrid(Fsdp):
    """Hybrid sharding over a mesh of two by one: each rank has all of the model."""

    def prepare(self) -> None:
        mesh = init_device_mesh("cuda", (2, 1), mesh_dim_names=("replicas", "shards"))
        self.model = nn.Sequential(network(1), network(2))
        for layer in [*self.model.children(), self.model]:
            fully_shard(layer, mesh=mesh)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-2)


class OldFsdp(Fsdp):
    """FSDP1 with original parameters and accumulation without synchronization."""

    def prepare(self) -> None:
        net = nn.Sequential(network(1), network(2))
        self.model = FullyShardedDataParallel(net, device_id=self.rank, use_orig_params=True)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-2)

    def iterate(self, number: int) -> None:
        assert isinstance(self.model, FullyShardedDataParallel)
        with self.model.no_sync():
            self.model(batch(self.rank, 2 * number)).square().mean().backward()
        self.model(batch(self.rank, 2 * number + 1)).square().mean().backward()
        self.model.clip_grad_norm_(0.5)
        self.optimizer.step()
        self.optimizer.zero_grad()


class Tensors(Fsdp):
    """Tensor parallelism with DTensor."""

    def prepare(self) -> None:
        mesh = init_device_mesh("cuda", (2,))
        self.model = parallelize_module(network(3), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-2, foreach=False)

    def iterate(self, number: int) -> None:
        self.model(batch(0, number)).square().mean().backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)
        self.optimizer.step()
        self.optimizer.zero_grad()


class Pipelined(Shape):
    """Stages in turn forward and backward (1F1B), one on each rank."""

    STAGES = 1

    def prepare(self) -> None:
        count = 2 * self.STAGES
        self.models = [network(20 + self.rank + 2 * part) for part in range(self.STAGES)]
        example = torch.empty(2, WIDTH, device="cuda")
        stages = [
            PipelineStage(one, self.rank + 2 * part, count, torch.device("cuda"), input_args=(example,),
                          output_args=(example,))
            for part, one in enumerate(self.models)
        ]  # fmt: skip
        loss = nn.functional.mse_loss
        if self.STAGES == 1:
            self.schedule: Schedule1F1B | ScheduleInterleaved1F1B = Schedule1F1B(stages[0], 4, loss)
        else:
            self.schedule = ScheduleInterleaved1F1B(stages, 4, loss)
        self.optimizer = torch.optim.AdamW([one for model in self.models for one in model.parameters()], 1e-2)

    def iterate(self, number: int) -> None:
        self.optimizer.zero_grad()
        if self.rank == 0:
            self.schedule.step(batch(0, number))
        else:
            self.schedule.step(target=batch(1, number))
        self.optimizer.step()

    def result(self) -> list[torch.Tensor]:
        return [one for model in self.models for one in model.parameters()]


class Interleaved(Pipelined):
    """The same with two stages on each rank."""

    STAGES = 2


SHAPES = {
    "fsdp2": Fsdp, "hybrid": Hybrid, "fsdp1": OldFsdp, "tensor-parallel": Tensors, "pipelined": Pipelined,
    "interleaved": Interleaved,
}  # fmt: skip
