"""A training loop of one's own with Accelerate: gradient accumulation, clipping, a schedule, gathered metrics."""

import torch
from accelerate import Accelerator
from outcome import Outcome, arguments
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

given = arguments()
outcome = Outcome(given.out)
accelerator = Accelerator(cpu=given.device == "cpu", gradient_accumulation_steps=2)
source = torch.Generator().manual_seed(5)
data = TensorDataset(torch.randint(0, 64, (512, 16), generator=source))
model = nn.Sequential(
    nn.Embedding(64, 64), nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True), nn.Linear(64, 64)
)  # fmt: skip
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, DataLoader(data, batch_size=8), schedule)
done = 0
while done < given.steps:
    for (rows,) in loader:
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(rows).flatten(0, 1), rows.flatten())
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            outcome.step(accelerator.gather(loss.detach()).mean().item())
            done += 1
            if done == given.steps:
                break
outcome.done(list(accelerator.unwrap_model(model).state_dict().items()))
accelerator.end_training()
