"""PEFT: adapters (LoRA, or DoRA by `--dora 1`) on a frozen Llama, trained with DDP, merged at the end."""

import torch
import torch.distributed as dist
from outcome import LOCAL_RANK, RANK, Outcome, arguments
from peft import LoraConfig, PeftModel, get_peft_model
from small_language import model
from torch.nn.parallel import DistributedDataParallel

given = arguments("--dora")
cuda = given.device == "cuda"
base, other = (model(given.out / f"llama{RANK}") for _ in range(2))
dist.init_process_group("nccl" if cuda else "gloo")
outcome = Outcome(given.out)
options = LoraConfig(
    r=4, lora_alpha=8, lora_dropout=0.05, target_modules=["q_proj", "v_proj", "down_proj"], use_dora=bool(given.dora),
    task_type="CAUSAL_LM",
)  # fmt: skip
net = get_peft_model(base, options).to(given.device)
ddp = DistributedDataParallel(net, device_ids=[LOCAL_RANK] if cuda else None)
optimizer = torch.optim.AdamW([one for one in net.parameters() if one.requires_grad], lr=1e-2)
data = torch.Generator().manual_seed(RANK)
torch.manual_seed(100 + RANK)
for step in range(given.steps):
    rows = torch.randint(3, 32, (4, 16), generator=data).to(given.device)
    loss = ddp(input_ids=rows, labels=rows).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    outcome.step(loss.item())
    if step == given.steps // 2 and RANK == 0:
        net.save_pretrained(given.out / "adapter")
dist.barrier()
loaded = PeftModel.from_pretrained(other, given.out / "adapter").to(given.device)
adapters = [(f"loaded.{name}", one) for name, one in loaded.state_dict().items()]
merged = net.merge_and_unload()
outcome.done([*merged.state_dict().items(), *adapters])
dist.destroy_process_group()
