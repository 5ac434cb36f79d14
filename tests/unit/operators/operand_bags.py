"""Bags of embeddings: operands and references (operand_cases.py)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from operand_cases import Case, Results, integers, reals

SUM, MEAN, MAX = 0, 1, 2
WORDS, WIDTH = 6, 3
BACKWARD_ALONE = "it says what the backward call does"
INDICES, OFFSETS = integers(1, 2, 4, 1, 5, 1), integers(0, 2, 6)


def bags_of(of: dict[str, Any]) -> list[list[int]]:
    """The positions in each bag, without those of the padding's index."""
    offsets, count = of["offsets"].tolist(), len(of["indices"])
    ends = [*offsets[1:], count]
    if of["include_last_offset"]:
        offsets, ends = offsets[:-1], offsets[1:]
    padding = of["padding_idx"]
    return [[i for i in range(a, b) if of["indices"][i] != padding] for a, b in zip(offsets, ends, strict=True)]


def bags(of: dict[str, Any], _: Results) -> Results:
    rows = []
    for bag in bags_of(of):
        found = of["weight"][of["indices"][bag]]
        if of["per_sample_weights"] is not None:
            found = found * of["per_sample_weights"][bag][:, None]
        if not bag:
            rows.append(torch.zeros(WIDTH, dtype=torch.float64))
        elif of["mode"] == MAX:
            rows.append(found.max(0).values)
        else:
            rows.append(found.sum(0) / (len(bag) if of["mode"] == MEAN else 1))
    return [torch.stack(rows)]


def dense_backward(of: dict[str, Any], _: Results) -> Results:
    made = torch.zeros(of["num_weights"], WIDTH, dtype=torch.float64)
    if of["mode"] == MAX:
        for bag, row in enumerate(of["maximum_indices"].tolist()):
            for i, word in enumerate(row):
                made[word, i] += of["grad"][bag, i]
        return [made]
    indices = of["indices"].tolist()
    for i, word in enumerate(indices):
        bag = int(of["offset2bag"][i])
        part = of["grad"][bag].clone()
        if word == of["padding_idx"]:
            continue
        if of["per_sample_weights"] is not None:
            part *= of["per_sample_weights"][i]
        if of["mode"] == MEAN:
            part /= of["bag_size"][bag]
        if of["scale_grad_by_freq"]:
            part /= indices.count(word)
        made[word] += part
    return [made]


def forward_cases() -> Iterator[Case]:
    base: dict[str, Any] = {
        "weight": reals(WORDS, WIDTH), "indices": INDICES, "offsets": OFFSETS, "scale_grad_by_freq": False, "mode": SUM,
        "sparse": False, "per_sample_weights": reals(6, seed=1), "include_last_offset": False, "padding_idx": -1,
    }  # fmt: skip
    others: dict[str, Any] = {
        "weight": reals(WORDS, WIDTH, seed=2), "indices": integers(1, 3, 4, 1, 5, 0), "offsets": integers(0, 3, 6),
        "per_sample_weights": reals(6, seed=3), "include_last_offset": True, "padding_idx": 1,
    }  # fmt: skip
    ignored = {name: (True, BACKWARD_ALONE) for name in ("scale_grad_by_freq", "sparse")}
    for name in ("_embedding_bag", "_embedding_bag_forward_only"):
        yield Case(f"aten::{name}", base, others, bags, ignored)
        plain = base | {"per_sample_weights": None}
        for mode in (MEAN, MAX):
            changed = {one: others[one] for one in ("weight", "indices", "offsets", "padding_idx")}
            yield Case(f"aten::{name}", plain, changed | {"mode": mode}, bags, name=f"to mode {mode}")
            yield Case(f"aten::{name}", plain | {"mode": mode}, changed, bags, name=f"mode {mode}")


def backward_cases() -> Iterator[Case]:
    base: dict[str, Any] = {
        "grad": reals(3, WIDTH, seed=4), "indices": INDICES, "offset2bag": integers(0, 0, 1, 1, 1, 2),
        "bag_size": integers(2, 3, 1), "maximum_indices": integers(), "num_weights": WORDS, "scale_grad_by_freq": True,
        "mode": SUM, "per_sample_weights": reals(6, seed=5), "padding_idx": -1,
    }  # fmt: skip
    others: dict[str, Any] = {
        "grad": reals(3, WIDTH, seed=6), "indices": integers(1, 3, 4, 1, 5, 0),
        "offset2bag": integers(0, 1, 1, 1, 2, 2), "num_weights": WORDS + 1,
        "scale_grad_by_freq": False, "per_sample_weights": reals(6, seed=7), "padding_idx": 1,
    }  # fmt: skip
    operator = "aten::_embedding_bag_dense_backward"
    yield Case(operator, base, others, dense_backward, name="sum")
    plain = base | {"per_sample_weights": None}
    yield Case(
        operator, plain | {"mode": MEAN}, {"bag_size": integers(1, 4, 2), "mode": SUM}, dense_backward, name="mean"
    )
    largest = {
        "mode": MAX,
        "maximum_indices": integers(1, 2, 1, 4, 1, 5, 0, 3, 2).reshape(3, 3),
        "scale_grad_by_freq": False,
    }
    changed = {"grad": others["grad"], "maximum_indices": integers(2, 2, 1, 4, 4, 5, 0, 0, 2).reshape(3, 3)}
    yield Case(operator, plain | largest, changed, dense_backward, name="max")


def cases() -> Iterator[Case]:
    yield from forward_cases()
    yield from backward_cases()
