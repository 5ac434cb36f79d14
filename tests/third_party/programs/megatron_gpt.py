"""Megatron-core's GPT: `--tensor N` or `--pipeline N` ranks, with its own schedules and its distributed wrapper."""

from collections.abc import Iterator
from functools import partial

import torch
from megatron.core import parallel_state, tensor_parallel
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.core.transformer.transformer_config import TransformerConfig
from outcome import LOCAL_RANK, Outcome, arguments

SEQUENCE, ROWS, MICROBATCHES = 32, 4, 2
given = arguments("--tensor", "--pipeline")
outcome = Outcome(given.out)
torch.distributed.init_process_group("nccl", device_id=torch.device("cuda", LOCAL_RANK))
tensor, pipeline = int(given.tensor or 1), int(given.pipeline or 1)
parallel_state.initialize_model_parallel(tensor, pipeline)
tensor_parallel.model_parallel_cuda_manual_seed(7)
config = TransformerConfig(
    num_layers=2 * pipeline, hidden_size=64, num_attention_heads=4, use_cpu_initialization=True,
    pipeline_dtype=torch.float32, tensor_model_parallel_size=tensor, pipeline_model_parallel_size=pipeline,
    gradient_accumulation_fusion=False, masked_softmax_fusion=False, bias_activation_fusion=False,
    bias_dropout_fusion=False, hidden_dropout=0.0, attention_dropout=0.0,
)  # fmt: skip
model = GPTModel(
    config, get_gpt_layer_local_spec(), vocab_size=128, max_sequence_length=SEQUENCE,
    pre_process=parallel_state.is_pipeline_first_stage(), post_process=parallel_state.is_pipeline_last_stage(),
).cuda()  # fmt: skip
model = DistributedDataParallel(config, DistributedDataParallelConfig(overlap_grad_reduce=False), model)
config.finalize_model_grads_func = partial(finalize_model_grads)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
data = torch.Generator().manual_seed(11)


def rows() -> Iterator[torch.Tensor]:
    while True:
        yield torch.randint(0, 128, (ROWS, SEQUENCE + 1), generator=data).cuda()


def mean(labels: torch.Tensor, losses: torch.Tensor) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    loss = losses.float().mean()
    return loss, {"loss": loss.detach()}


def forward(source, net):
    batch = next(source)
    positions = torch.arange(SEQUENCE, device="cuda").expand(ROWS, -1)
    mask = torch.ones(1, 1, SEQUENCE, SEQUENCE, dtype=torch.bool, device="cuda").triu(1)
    return net(batch[:, :-1], positions, mask, labels=batch[:, 1:].contiguous()), partial(mean, batch)


schedule, source = get_forward_backward_func(), rows()
for _ in range(given.steps):
    model.zero_grad_buffer()
    optimizer.zero_grad()
    losses = schedule(
        forward_step_func=forward, data_iterator=source, model=[model], num_microbatches=MICROBATCHES,
        seq_length=SEQUENCE, micro_batch_size=ROWS, forward_only=False,
    )  # fmt: skip
    for parameter in model.parameters():
        parameter.grad = parameter.main_grad.to(parameter.dtype)
    optimizer.step()
    total = torch.tensor([sum(one["loss"].item() for one in losses)], device="cuda", dtype=torch.float32)
    torch.distributed.all_reduce(total, torch.distributed.ReduceOp.MAX)
    outcome.step(total.item())
outcome.done([(name, one) for name, one in model.state_dict().items() if one is not None and torch.is_tensor(one)])
parallel_state.destroy_model_parallel()
torch.distributed.destroy_process_group()
