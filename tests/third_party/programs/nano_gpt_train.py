"""nano-gpt, a package after nanoGPT, with its own trainer: DDP, accumulation, bfloat16, fused AdamW, evaluation,
samples, checkpoints.

The tokenizer and the text are made here, since nothing may be downloaded.
"""

import torch
from nano_gpt import trainer
from nano_gpt.config import DatasetConfig, EvalConfig, GPTConfig, SampleConfig, TrainConfig
from nano_gpt.datasets.data_loader import ChunkingIterable
from nano_gpt.model import GPT
from nano_gpt.tokenizer import Tokenizer
from outcome import RANK, RANKS, Outcome, arguments

ROWS, SEQUENCE, LETTERS = 4, 32, 128
given = arguments()
outcome = Outcome(given.out)


class Letters(Tokenizer):
    def encode(self, text):
        return [ord(one) % LETTERS for one in text]

    def decode(self, tokens):
        return "".join(map(chr, tokens)).encode("unicode_escape").decode()


state = trainer.WorkerState(given.device)
model = GPT(GPTConfig(block_size=SEQUENCE, vocab_size=LETTERS, n_layer=2, n_head=4, n_embd=64), tokenizer=Letters())
config = TrainConfig(
    total_batch_size=2 * RANKS * ROWS * SEQUENCE, micro_batch_size=ROWS, sequence_length=SEQUENCE, warmup_steps=2,
    max_steps=given.steps, eval_steps=4, checkpoint_steps=5, checkpoint_dir=str(given.out / "checkpoints"),
)  # fmt: skip
dataset = DatasetConfig(micro_batch_size=ROWS, sequence_length=SEQUENCE)
optimizer = trainer.create_optimizer(model, config, None, state.is_cuda)
losses = [0.0]
compute_loss = trainer.compute_loss


def noted(*positional, backward):
    loss = compute_loss(*positional, backward=backward)
    if backward:
        losses.append(loss)
    return loss


trainer.compute_loss = noted
optimizer.register_step_post_hook(lambda *_: outcome.step(losses[-1]))
tokens = torch.randint(0, LETTERS, (64 * ROWS * SEQUENCE * RANKS,), generator=torch.Generator().manual_seed(3))
trainer.train(
    model, optimizer, state, config, ChunkingIterable(dataset, tokens, RANK, RANKS), EvalConfig(validation_steps=2),
    dataset, ChunkingIterable(dataset, tokens.flip(0), RANK, RANKS),
    sample_config=SampleConfig(num_return_sequences=2, max_length=16, text="one"),
)  # fmt: skip
outcome.done(list(model.state_dict().items()))
