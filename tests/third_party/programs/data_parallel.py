"""nn.DataParallel: one process that replicates its model over all GPUs for each batch."""

import torch
from outcome import Outcome, arguments
from torch import nn

given = arguments()
cuda = given.device == "cuda"
outcome = Outcome(given.out)
net = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
    nn.Dropout(0.1), nn.Linear(128, 10),
).to(given.device)  # fmt: skip
model = nn.DataParallel(net) if cuda else net
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
data = torch.Generator().manual_seed(1)
for _ in range(given.steps):
    images = torch.randn(16, 3, 8, 8, generator=data).to(given.device)
    labels = torch.randint(0, 10, (16,), generator=data).to(given.device)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    outcome.step(loss.item())
outcome.done(list(net.state_dict().items()))
