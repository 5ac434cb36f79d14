"""diffusers: a U-Net or a DiT (`--model`) learns to remove noise; its scheduler, EMA and learning rates; DDP."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from diffusers import DDPMPipeline, DDPMScheduler, DiTTransformer2DModel, UNet2DModel
from diffusers.optimization import get_cosine_schedule_with_warmup
from diffusers.training_utils import EMAModel
from outcome import LOCAL_RANK, RANK, Outcome, arguments
from torch.nn.parallel import DistributedDataParallel

given = arguments("--model")
cuda = given.device == "cuda"
dist.init_process_group("nccl" if cuda else "gloo")
outcome = Outcome(given.out)
if given.model == "dit":
    net = DiTTransformer2DModel(
        num_attention_heads=2, attention_head_dim=16, in_channels=3, num_layers=2, sample_size=16, patch_size=4,
        num_embeds_ada_norm=10, norm_num_groups=4,
    )  # fmt: skip
else:
    net = UNet2DModel(
        sample_size=16, in_channels=3, out_channels=3, layers_per_block=1, block_out_channels=(16, 32),
        down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        norm_num_groups=4, attention_head_dim=8,
    )  # fmt: skip
net = net.to(given.device)
model = DistributedDataParallel(net, device_ids=[LOCAL_RANK] if cuda else None, find_unused_parameters=True)
scheduler = DDPMScheduler(num_train_timesteps=100)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
rates = get_cosine_schedule_with_warmup(optimizer, 2, given.steps)
average = EMAModel(net.parameters(), decay=0.9)
average.to(given.device)
data = torch.Generator().manual_seed(RANK)
for _ in range(given.steps):
    clean = torch.randn(4, 3, 16, 16, generator=data).to(given.device)
    noise = torch.randn(4, 3, 16, 16, generator=data).to(given.device)
    times = torch.randint(0, 100, (4,), generator=data).to(given.device)
    noisy = scheduler.add_noise(clean, noise, times)
    labels = (
        {"class_labels": torch.randint(0, 10, (4,), generator=data).to(given.device)} if given.model == "dit" else {}
    )
    predicted = model(noisy, times, return_dict=False, **labels)[0]
    loss = F.mse_loss(predicted, noise)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    rates.step()
    optimizer.zero_grad()
    average.step(net.parameters())
    outcome.step(loss.item())
tensors = list(net.state_dict().items()) + [(str(n), one) for n, one in enumerate(average.shadow_params)]
if given.model != "dit":
    pipeline = DDPMPipeline(unet=net.eval(), scheduler=scheduler)
    pipeline.set_progress_bar_config(disable=True)
    images = pipeline(batch_size=1, num_inference_steps=3, output_type="np", generator=torch.Generator().manual_seed(3))
    tensors.append(("image", torch.from_numpy(images.images)))
outcome.done(tensors)
dist.destroy_process_group()
