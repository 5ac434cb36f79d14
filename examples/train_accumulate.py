"""Gradient accumulation: several backward passes, one all-reduce (``no_sync``), one optimizer step.

torchrun --nproc-per-node 2 examples/train_accumulate.py --steps 10
"""

from __future__ import annotations

import contextlib

import torch
from common import Job, TextBatches, arguments
from model import CONTEXT, GPT, next_byte_loss
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    parser = arguments(__doc__, steps=10, layers=2, width=64)
    parser.add_argument("--accumulate", type=int, default=3, help="backward passes per optimizer step")
    args = parser.parse_args()
    job = Job(args)
    model = DistributedDataParallel(GPT(args.layers, args.width).to(job.device))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    batches = TextBatches(job, CONTEXT)
    for _ in range(args.steps):
        total = torch.zeros((), device=job.device)
        for part in range(args.accumulate):
            last = part == args.accumulate - 1
            with contextlib.nullcontext() if last else model.no_sync():
                tokens, target = batches.next()
                loss = next_byte_loss(model(tokens), target) / args.accumulate
                loss.backward()
            total += loss.detach()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)  # gradients stay allocated: live across steps
        job.step_done(total.item())
    job.finish(model.state_dict(), optimizer)


if __name__ == "__main__":
    main()
