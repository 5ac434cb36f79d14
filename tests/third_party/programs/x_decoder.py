"""x-transformers: a decoder with rotary positions, RMS norms and gated feed-forward parts, on one GPU."""

import torch
from outcome import Outcome, arguments
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

given = arguments()
outcome = Outcome(given.out)
model = AutoregressiveWrapper(
    TransformerWrapper(
        num_tokens=128, max_seq_len=64,
        attn_layers=Decoder(dim=64, depth=2, heads=4, rotary_pos_emb=True, use_rmsnorm=True, ff_glu=True),
    )
).to(given.device)  # fmt: skip
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
data = torch.Generator().manual_seed(0)
for _ in range(given.steps):
    loss = model(torch.randint(0, 128, (8, 33), generator=data).to(given.device))
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    optimizer.zero_grad()
    outcome.step(loss.item())
outcome.done(list(model.state_dict().items()))
