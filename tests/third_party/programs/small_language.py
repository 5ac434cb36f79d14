"""A tokenizer and a small Llama with random weights, made on the spot.

Called by: trl_train.py, peft_adapters.py.
"""

from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

WORDS = (
    "red",
    "green",
    "blue",
    "cat",
    "dog",
    "bird",
    "runs",
    "sleeps",
    "sings",
    "and",
    "the",
    "a",
    "now",
    "why",
    "how",
)


def tokenizer() -> PreTrainedTokenizerFast:
    """Words, with a template for conversations."""
    vocabulary = {word: number for number, word in enumerate(("<pad>", "<s>", "</s>", "<unk>", "user", "bot", *WORDS))}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokens = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    whole = PreTrainedTokenizerFast(tokenizer_object=made, **tokens)
    whole.chat_template = "{% for m in messages %}{{ m['role'] }} {{ m['content'] }} </s> {% endfor %}"
    return whole


def model(folder: Path) -> LlamaForCausalLM:
    """The same weights in each process; from the folder, since some trainers load it from there once more.

    To be called before ranks know of each other: one of them alone would write.
    """
    torch.manual_seed(11)
    LlamaForCausalLM(LlamaConfig(
        vocab_size=32, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )).save_pretrained(folder)  # fmt: skip
    return LlamaForCausalLM.from_pretrained(folder)


def sentence(number: int, words: int = 6) -> str:
    source = torch.Generator().manual_seed(number)
    return " ".join(WORDS[at] for at in torch.randint(0, len(WORDS), (words,), generator=source).tolist())
