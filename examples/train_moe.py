"""A mixture of experts over bytes: which expert gets how many tokens goes to the host, and steers what it does.

torchrun --nproc-per-node 2 examples/train_moe.py --steps 10
"""

from __future__ import annotations

import torch
from common import Job, TextBatches, arguments
from model import CONTEXT, VOCABULARY, next_byte_loss
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Experts(nn.Module):
    """Each token goes through the expert that the router finds best, weighted with its probability."""

    def __init__(self, width: int, count: int) -> None:
        super().__init__()
        self.router = nn.Linear(width, count, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)) for _ in range(count)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        probability, choice = self.router(x).softmax(-1).max(-1)
        order = choice.argsort(stable=True)
        counts = torch.bincount(choice, minlength=len(self.experts)).tolist()  # the host waits for it
        parts = x[order].split(counts)
        out = torch.cat([expert(part) for expert, part in zip(self.experts, parts, strict=True)])
        return x + torch.zeros_like(x).index_copy(0, order, out) * probability.unsqueeze(-1)


class MixtureOfExperts(nn.Module):
    def __init__(self, layers: int, width: int, experts: int) -> None:
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, width)
        self.mix = nn.Linear(4 * width, width)
        self.layers = nn.ModuleList(Experts(width, experts) for _ in range(layers))
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.token(tokens)
        x = self.mix(torch.cat([x.roll(shift, 1) for shift in range(4)], -1))  # each byte with the three before it
        x = x.flatten(0, 1)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def main() -> None:
    parser = arguments(__doc__, steps=10, layers=2, width=64)
    parser.add_argument("--experts", type=int, default=4)
    args = parser.parse_args()
    job = Job(args)
    model = MixtureOfExperts(args.layers, args.width, args.experts).to(job.device)
    model = DistributedDataParallel(model, find_unused_parameters=True)  # an expert may get nothing
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    batches = TextBatches(job, CONTEXT)
    for _ in range(args.steps):
        tokens, target = batches.next()
        loss = next_byte_loss(model(tokens), target)
        read = loss.item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        job.step_done(read)
    job.finish(model.state_dict(), optimizer)


if __name__ == "__main__":
    main()
