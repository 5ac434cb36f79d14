"""DeepSpeed, ZeRO stages 1 to 3: `--stage N`."""

import deepspeed
import torch
from outcome import LOCAL_RANK, RANK, Outcome, arguments
from torch import nn

given = arguments("--stage", "--local_rank")
outcome = Outcome(given.out)
deepspeed.init_distributed("nccl")
stage = int(given.stage)
model = nn.Sequential(*[nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64)) for _ in range(4)])
engine, optimizer, _, _ = deepspeed.initialize(
    model=model,
    model_parameters=model.parameters(),
    config={
        "train_micro_batch_size_per_gpu": 16,
        "gradient_accumulation_steps": 1,
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}},
        "zero_optimization": {"stage": stage},
        "bf16": {"enabled": True},
    },
)
data = torch.Generator().manual_seed(RANK)
for _ in range(given.steps):
    inputs = torch.randn(16, 64, generator=data).to(f"cuda:{LOCAL_RANK}", torch.bfloat16)
    loss = (engine(inputs) - inputs).float().square().mean()
    engine.backward(loss)
    engine.step()
    outcome.step(loss.item())
shards = [(name, getattr(one, "ds_tensor", one)) for name, one in model.named_parameters()]
outcome.done(shards)
torch.distributed.destroy_process_group()
