"""LitGPT's model, trained with Lightning Fabric."""

import torch
from lightning.fabric import Fabric
from lightning.fabric.strategies import DDPStrategy
from litgpt.config import Config
from litgpt.model import GPT
from litgpt.utils import chunked_cross_entropy
from outcome import RANKS, Outcome, arguments

given = arguments()
outcome = Outcome(given.out)
fabric = Fabric(accelerator=given.device, devices=RANKS, strategy=DDPStrategy())
fabric.launch()
fabric.seed_everything(7)
config = Config(block_size=32, vocab_size=128, padded_vocab_size=128, n_layer=2, n_head=4, n_embd=64)
model = GPT(config)
model.apply(model._init_weights)
model = fabric.setup_module(model)
optimizer = fabric.setup_optimizers(torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95)))
data = torch.Generator().manual_seed(fabric.global_rank)
for _ in range(given.steps):
    rows = torch.randint(0, 128, (4, 33), generator=data).to(fabric.device)
    loss = chunked_cross_entropy(model(rows[:, :-1]), rows[:, 1:], chunk_size=0)
    fabric.backward(loss)
    fabric.clip_gradients(model, optimizer, max_norm=1.0)
    optimizer.step()
    optimizer.zero_grad()
    outcome.step(fabric.all_reduce(loss.detach()).item())
outcome.done(list(model.state_dict().items()))
