"""Hugging Face Trainer: a small Llama, DDP or FSDP2 as `accelerate` configures it."""

import torch
from outcome import Outcome, arguments
from torch.utils.data import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainerCallback, TrainingArguments

given = arguments("--fsdp", "--evaluate")
outcome = Outcome(given.out)


class Tokens(Dataset):
    def __len__(self) -> int:
        return 256

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        row = torch.randint(0, 128, (32,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": row, "labels": row}


class Losses(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        if logs and "loss" in logs:
            outcome.step(logs["loss"])


sharded = {"fsdp": "full_shard", "fsdp_config": {"version": 2, "transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"]}}
config = LlamaConfig(
    vocab_size=128, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=64,
)  # fmt: skip
trainer = Trainer(
    model=LlamaForCausalLM(config),
    args=TrainingArguments(
        output_dir=str(given.out / "trainer"), max_steps=given.steps, per_device_train_batch_size=4, logging_steps=1,
        save_strategy="no", report_to=[], seed=7, use_cpu=given.device == "cpu", disable_tqdm=True,
        eval_strategy="steps" if given.evaluate else "no", eval_steps=4, **(sharded if given.fsdp else {}),
    ),
    train_dataset=Tokens(),
    eval_dataset=Tokens(),
    callbacks=[Losses()],
)  # fmt: skip
trainer.train()
outcome.done(list(trainer.model.state_dict().items()))
