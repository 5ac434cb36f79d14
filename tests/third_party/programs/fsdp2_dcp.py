"""FSDP2 with distributed checkpoints in the middle: `save`, `async_save`, and a `load` into what trains on."""

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from outcome import LOCAL_RANK, Outcome, arguments
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

given = arguments()
dist.init_process_group("cpu:gloo,cuda:nccl" if given.device == "cuda" else "gloo")
mesh = init_device_mesh(given.device, (dist.get_world_size(),))
model = nn.Sequential(*[nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64)) for _ in range(4)])
model = model.to(given.device)
for block in model:
    fully_shard(block, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
outcome = Outcome(given.out)
data = torch.Generator().manual_seed(dist.get_rank())


def state() -> dict[str, object]:
    weights, moments = get_state_dict(model, optimizer)
    return {"model": weights, "optimizer": moments}


pending = None
for step in range(given.steps):
    if step == 3:
        dcp.save(state(), checkpoint_id=str(given.out / "sync"))
    if step == 5:
        pending = dcp.async_save(state(), checkpoint_id=str(given.out / "async"))
    if step == 8:
        assert pending is not None
        pending.result()
        loaded = state()
        dcp.load(loaded, checkpoint_id=str(given.out / "async"))
        set_state_dict(
            model, optimizer, model_state_dict=loaded["model"], optim_state_dict=loaded["optimizer"]
        )  # fmt: skip
    inputs = torch.randn(16, 64, generator=data).to(given.device)
    loss = (model(inputs) - inputs).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    outcome.step(loss.item())
outcome.done(list(model.state_dict().items()))
dist.barrier(device_ids=[LOCAL_RANK] if given.device == "cuda" else None)
dist.destroy_process_group()
