"""A CNN with BatchNorm, dropout, SGD with momentum and an EMA of the weights updated after the step.

torchrun --nproc-per-node 2 examples/train_cnn.py --steps 10
"""

from __future__ import annotations

import copy

import torch
from common import Job, arguments
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

CLASSES = 10


def network(width: int, layers: int, dropout: float) -> nn.Module:
    parts: list[nn.Module] = []
    channels = 3
    for _ in range(layers):
        parts += [nn.Conv2d(channels, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
        channels = width
    parts += [nn.MaxPool2d(2), nn.Dropout(dropout), nn.Flatten(), nn.Linear(width * 64, CLASSES)]
    return nn.Sequential(*parts)


def images(seed: int, count: int) -> TensorDataset:
    """Noisy copies of one random picture per class."""
    random = torch.Generator().manual_seed(seed)
    pictures = torch.randn(CLASSES, 3, 16, 16, generator=random)
    labels = torch.randint(CLASSES, (count,), generator=random)
    return TensorDataset(pictures[labels] + 0.5 * torch.randn(count, 3, 16, 16, generator=random), labels)


def main() -> None:
    parser = arguments(__doc__, steps=10, layers=2, width=16)
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--amp", action="store_true", help="bfloat16 autocast")
    args = parser.parse_args()
    job = Job(args)
    model = DistributedDataParallel(network(args.width, args.layers, args.dropout).to(job.device))
    ema = copy.deepcopy(model.module)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    dataset = images(args.seed, 8 * args.batch * job.world_size)
    sampler = DistributedSampler(dataset, seed=args.seed)
    loader = DataLoader(dataset, args.batch, sampler=sampler, pin_memory=args.device == "cuda")
    epoch = 0
    while len(job.losses) < args.steps:
        sampler.set_epoch(epoch)
        epoch += 1
        for pixels, labels in loader:
            job.saw(labels)
            with torch.autocast(args.device, dtype=torch.bfloat16, enabled=args.amp):
                output = model(pixels.to(job.device, non_blocking=True))
                loss = F.cross_entropy(output, labels.to(job.device, non_blocking=True))
            read = loss.item()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for average, value in zip(ema.parameters(), model.module.parameters(), strict=True):
                    average.lerp_(value, 0.1)
            job.step_done(read)
            if len(job.losses) == args.steps:
                break
    job.finish(model.state_dict(), optimizer, ema=ema.state_dict())


if __name__ == "__main__":
    main()
