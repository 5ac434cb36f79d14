"""timm: a vision transformer or a ResNet (`--model`), timm's optimizers, mixed precision, EMA, DDP."""

import timm
import torch
import torch.distributed as dist
from outcome import LOCAL_RANK, RANK, Outcome, arguments
from timm.loss import LabelSmoothingCrossEntropy
from timm.optim import create_optimizer_v2
from timm.utils import ModelEmaV3
from torch.nn.parallel import DistributedDataParallel

given = arguments("--model")
cuda = given.device == "cuda"
dist.init_process_group("nccl" if cuda else "gloo")
outcome = Outcome(given.out)
options = {"img_size": 32, "patch_size": 8, "depth": 3} if given.model.startswith("vit") else {}
model = timm.create_model(given.model, num_classes=10, **options).to(given.device)
ema = ModelEmaV3(model, decay=0.9)
ddp = DistributedDataParallel(model, device_ids=[LOCAL_RANK] if cuda else None)
optimizer = create_optimizer_v2(model, opt="lamb", lr=2e-3, weight_decay=0.05)
criterion = LabelSmoothingCrossEntropy(0.1)
data = torch.Generator().manual_seed(RANK)
for _ in range(given.steps):
    images = torch.randn(8, 3, 32, 32, generator=data).to(given.device)
    labels = torch.randint(0, 10, (8,), generator=data).to(given.device)
    with torch.autocast(given.device, dtype=torch.bfloat16, enabled=cuda):
        loss = criterion(ddp(images), labels)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    ema.update(model)
    outcome.step(loss.item())
outcome.done(list(model.state_dict().items()) + list(ema.module.state_dict().items()))
dist.destroy_process_group()
