"""Mixed precision: float16 autocast with a GradScaler, whose scale is state that changes by itself.

torchrun --nproc-per-node 2 examples/train_amp.py --steps 10
"""

from __future__ import annotations

import torch
from common import Job, TextBatches, arguments
from model import CONTEXT, GPT, next_byte_loss
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    args = arguments(__doc__, steps=10, layers=2, width=64).parse_args()
    job = Job(args)
    model = DistributedDataParallel(GPT(args.layers, args.width).to(job.device))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    # A first scale that overflows, and growth every 3 steps: skipped steps and changes of scale both happen.
    scaler = torch.amp.GradScaler(args.device, init_scale=2.0**18, growth_interval=3)
    # What each rank has for itself: it is updated in place, and no step of the optimizer touches it.
    worst = torch.zeros((), device=job.device)
    batches = TextBatches(job, CONTEXT)
    for _ in range(args.steps):
        tokens, target = batches.next()
        with torch.autocast(args.device, dtype=torch.float16):
            loss = next_byte_loss(model(tokens), target)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        torch.maximum(worst, loss.detach(), out=worst)
        job.step_done(loss.item())
    job.finish(model.state_dict(), optimizer, scaler=scaler.state_dict(), worst=worst)


if __name__ == "__main__":
    main()
