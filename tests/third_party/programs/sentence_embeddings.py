"""sentence-transformers: its trainer with in-batch negatives, on a small BERT with random weights, DDP."""

from pathlib import Path

import torch
from datasets import Dataset
from outcome import RANK, Outcome, arguments
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
    losses,
    models,
)
from small_language import sentence, tokenizer
from transformers import BertConfig, BertModel, TrainerCallback

given = arguments()
outcome = Outcome(given.out)


class Losses(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        if logs and "loss" in logs:
            outcome.step(logs["loss"])


def small_bert(folder: Path) -> str:
    torch.manual_seed(11)
    BertModel(BertConfig(
        vocab_size=32, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=64, pad_token_id=0,
    )).save_pretrained(folder)  # fmt: skip
    tokenizer().save_pretrained(folder)
    return str(folder)


words = models.Transformer(small_bert(given.out / f"bert{RANK}"), max_seq_length=32)
model = SentenceTransformer(modules=[words, models.Pooling(32)], device=given.device)
rows = Dataset.from_dict({
    "anchor": [sentence(number) for number in range(128)],
    "positive": [sentence(number)[:-1] + " now" for number in range(128)],
})  # fmt: skip
trainer = SentenceTransformerTrainer(
    model=model,
    args=SentenceTransformerTrainingArguments(
        output_dir=str(given.out / "trainer"), max_steps=given.steps, per_device_train_batch_size=8, logging_steps=1,
        save_strategy="no", report_to=[], seed=7, disable_tqdm=True, use_cpu=given.device == "cpu", learning_rate=1e-3,
    ),
    train_dataset=rows,
    loss=losses.MultipleNegativesRankingLoss(model),
    callbacks=[Losses()],
)  # fmt: skip
trainer.train()
embedded = model.encode([sentence(number) for number in range(8)], convert_to_tensor=True)
outcome.done([*model.state_dict().items(), ("embedded", embedded)])
