"""Opacus: a convolutional net with differential privacy, per-sample gradients and noise, in its own DDP."""

import torch
import torch.distributed as dist
from opacus import PrivacyEngine
from opacus.distributed import DifferentiallyPrivateDistributedDataParallel
from outcome import RANK, Outcome, arguments
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

given = arguments()
cuda = given.device == "cuda"
dist.init_process_group("nccl" if cuda else "gloo")
outcome = Outcome(given.out)
net = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(64, 10),
)  # fmt: skip
model = DifferentiallyPrivateDistributedDataParallel(net.to(given.device))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
source = torch.Generator().manual_seed(4)
data = TensorDataset(torch.randn(512, 1, 12, 12, generator=source), torch.randint(0, 10, (512,), generator=source))
engine = PrivacyEngine()
model, optimizer, loader = engine.make_private(
    module=model, optimizer=optimizer, data_loader=DataLoader(data, batch_size=32),
    noise_multiplier=1.1, max_grad_norm=1.0, noise_generator=torch.Generator(given.device).manual_seed(20 + RANK),
)  # fmt: skip
criterion = nn.CrossEntropyLoss()
done = 0
while done < given.steps:
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(images.to(given.device)), labels.to(given.device))
        loss.backward()
        optimizer.step()
        outcome.step(loss.item())
        done += 1
        if done == given.steps:
            break
outcome.done(list(net.state_dict().items()))
dist.destroy_process_group()
