"""PyTorch's PowerSGD as DDP's communication hook, with a model that takes several buckets."""

import torch
import torch.distributed as dist
from outcome import LOCAL_RANK, RANK, Outcome, arguments
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

given = arguments("--width", "--bucket", "--keep")
cuda = given.device == "cuda"
dist.init_process_group("nccl" if cuda else "gloo")
outcome = Outcome(given.out)
width = int(given.width or 64)
net = nn.Sequential(*(layer for _ in range(6) for layer in (nn.Linear(width, width), nn.Tanh())), nn.Linear(width, 8))
net = net.to(given.device)
# In MB: one layer of 64 by 64 takes 16 KiB.
model = DistributedDataParallel(
    net, device_ids=[LOCAL_RANK] if cuda else None, bucket_cap_mb=float(given.bucket or 0.04)
)  # fmt: skip
state = powerSGD_hook.PowerSGDState(
    process_group=None, matrix_approximation_rank=2, start_powerSGD_iter=3, min_compression_rate=1
)  # fmt: skip
model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
copies: list[torch.Tensor] = []
if given.keep:  # the hook's own copies, which it lets go while a callback on another stream still reads them
    clone = torch.Tensor.clone

    def kept_clone(tensor: torch.Tensor, **options: torch.memory_format) -> torch.Tensor:
        copies.append(clone(tensor, **options))
        return copies[-1]

    torch.Tensor.clone = kept_clone
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
data = torch.Generator().manual_seed(RANK)
for _ in range(given.steps):
    rows = torch.randn(16, width, generator=data).to(given.device)
    labels = torch.randint(0, 8, (16,), generator=data).to(given.device)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(rows), labels)
    loss.backward()
    optimizer.step()
    if given.keep:
        torch.cuda.synchronize()
        copies.clear()
    outcome.step(loss.item())
outcome.done(list(net.state_dict().items()))
dist.destroy_process_group()
