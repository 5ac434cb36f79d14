"""Trains a small GPT on text, data parallel: an ordinary PyTorch script.

torchrun --nproc-per-node 2 examples/train_gpt.py --steps 20
"""

from __future__ import annotations

import torch
from common import Job, TextBatches, arguments
from model import CONTEXT, GPT, next_byte_loss
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    parser = arguments(__doc__, steps=20)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--compile", action="store_true", help="the model with torch.compile")
    args = parser.parse_args()
    job = Job(args)
    network = GPT(args.layers, args.width, args.dropout).to(job.device)
    if args.compile:
        network.compile()
    model = DistributedDataParallel(network)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    batches = TextBatches(job, CONTEXT)
    for _ in range(args.steps):
        tokens, target = batches.next()
        loss = next_byte_loss(model(tokens), target)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        job.step_done(loss.item())
    job.finish(model.state_dict(), optimizer)


if __name__ == "__main__":
    main()
