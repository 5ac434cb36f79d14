"""Sharded training with FSDP2 (``fully_shard``): no rank holds a copy of another's parameters.

torchrun --nproc-per-node 2 examples/train_fsdp.py --steps 10
"""

from __future__ import annotations

import torch
from common import Job, TextBatches, arguments
from model import CONTEXT, GPT, next_byte_loss
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def main() -> None:
    args = arguments(__doc__, steps=10, layers=2, width=64).parse_args()
    job = Job(args)
    mesh = init_device_mesh(args.device, (job.world_size,))
    model = GPT(args.layers, args.width).to(job.device)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    batches = TextBatches(job, CONTEXT)
    for _ in range(args.steps):
        tokens, target = batches.next()
        loss = next_byte_loss(model(tokens), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        job.step_done(loss.item())
    job.finish(model.state_dict(), optimizer)


if __name__ == "__main__":
    main()
