"""TRL: supervised fine-tuning, preferences (DPO) or reinforcement with group-relative rewards (GRPO), by `--method`."""

from datasets import Dataset
from outcome import RANK, Outcome, arguments
from small_language import model, sentence, tokenizer
from transformers import TrainerCallback
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

given = arguments("--method")
outcome = Outcome(given.out)


class Losses(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        if logs and "loss" in logs:
            outcome.step(logs["loss"])


def reward(completions: list[str], **kwargs: object) -> list[float]:
    """Long answers with many cats."""
    return [len(one) / 20 + one.count("cat") for one in completions]


common = {
    "output_dir": str(given.out / "trainer"), "max_steps": given.steps, "per_device_train_batch_size": 4,
    "logging_steps": 1, "save_strategy": "no", "report_to": [], "seed": 7, "disable_tqdm": True, "bf16": False,
    "use_cpu": given.device == "cpu", "learning_rate": 1e-3, "gradient_checkpointing": False,
}  # fmt: skip
policy, words, numbers = model(given.out / f"llama{RANK}"), tokenizer(), range(128)
shared = {"model": policy, "processing_class": words, "callbacks": [Losses()]}
if given.method == "sft":
    rows = Dataset.from_dict({"text": [sentence(number, 12) for number in numbers]})
    trainer = SFTTrainer(args=SFTConfig(max_length=32, packing=False, **common), train_dataset=rows, **shared)
elif given.method == "dpo":
    rows = Dataset.from_dict({
        "prompt": [sentence(number) for number in numbers],
        "chosen": [sentence(1000 + number) for number in numbers],
        "rejected": [sentence(2000 + number, 4) for number in numbers],
    })  # fmt: skip
    trainer = DPOTrainer(args=DPOConfig(max_length=32, beta=0.1, **common), train_dataset=rows, **shared)
else:
    rows = Dataset.from_dict({"prompt": [sentence(number) for number in numbers]})
    options = GRPOConfig(num_generations=4, max_completion_length=8, beta=0.04, **common)
    trainer = GRPOTrainer(args=options, reward_funcs=reward, train_dataset=rows, **shared)
trainer.train()
outcome.done(list(policy.state_dict().items()))
