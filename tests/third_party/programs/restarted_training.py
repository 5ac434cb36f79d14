"""A job that torchrun starts again: rank 1 raises once in the middle, the next attempt goes on from a checkpoint."""

import os

import torch
import torch.distributed as dist
from outcome import LOCAL_RANK, RANK, Outcome, arguments
from torch import nn
from torch.nn.parallel import DistributedDataParallel

given = arguments()
cuda = given.device == "cuda"
attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
dist.init_process_group("nccl" if cuda else "gloo")
outcome = Outcome(given.out)
net = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 8)).to(given.device)
model = DistributedDataParallel(net, device_ids=[LOCAL_RANK] if cuda else None)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
kept = given.out / "checkpoint.pt"
first = 0
if attempt:
    loaded = torch.load(kept, map_location=given.device)
    net.load_state_dict(loaded["model"])
    optimizer.load_state_dict(loaded["optimizer"])
    first = loaded["steps"]
fails_at, saves_every = given.steps // 2 + 1, 4
for step in range(first, given.steps):
    if not attempt and RANK == 1 and step == fails_at:
        raise RuntimeError("this rank fails once")
    data = torch.Generator().manual_seed(2 * step + RANK)
    rows = torch.randn(16, 32, generator=data).to(given.device)
    labels = torch.randint(0, 8, (16,), generator=data).to(given.device)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(rows), labels)
    loss.backward()
    optimizer.step()
    outcome.step(loss.item())
    if (step + 1) % saves_every == 0:
        if RANK == 0:
            torch.save({"model": net.state_dict(), "optimizer": optimizer.state_dict(), "steps": step + 1}, kept)
        dist.barrier()
outcome.done(list(net.state_dict().items()))
dist.destroy_process_group()
