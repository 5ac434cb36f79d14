"""Fused attention: operands and references (operand_cases.py).

Forward, CUDA's kernels give the log-sum-exp of the scores and the weighted sum of the values; backward, weights are
exp(score - log-sum-exp), and what a row has in common is the sum of gradient times output, both of the operands that
are given.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from operand_cases import Case, Reference, Results, integers, reals

BATCH, HEADS, QUERIES, KEYS, WIDTH = 2, 4, 6, 7, 8
DROPOUT = 0.25
VARLEN = "sequences of several lengths in one tensor are not served"
DEBUG_MASK = "the weights as a result are not served"
SIZES = "the kernel takes sizes from the operands"


def spread(tensor: torch.Tensor, heads: int) -> torch.Tensor:
    return tensor.repeat_interleave(heads // tensor.shape[1], 1)


def scores_of(of: dict[str, Any], from_end: bool) -> torch.Tensor:
    q, k = of["query"], of["key"]
    scale = of["scale"] if of.get("scale") is not None else 1 / math.sqrt(q.shape[-1])
    scores = scale * q @ spread(k, q.shape[1]).transpose(-2, -1)
    if of.get("attn_bias") is not None:
        scores = scores + of["attn_bias"]
    if of["is_causal"]:
        queries, keys = scores.shape[-2:]
        seen = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries if from_end else 0)
        scores = scores.masked_fill(~seen, -math.inf)
    return scores


def mask_of(kernel: str, sizes: tuple[int, ...], dropout: float, seed: Any, offset: Any) -> Any:
    """What the backward operator keeps with this random state, times 1 / (1 - dropout): asked of the operator itself,
    with equal weights and a gradient of ones, one query at a time."""
    if not dropout:
        return 1.0
    batch, heads, queries, keys = sizes
    zeros = torch.zeros(batch, heads, queries, 8, device="cuda")
    none = torch.zeros(batch, heads, keys, 8, device="cuda")
    value = torch.zeros(batch, heads, keys, queries, device="cuda")
    grad = torch.eye(queries, device="cuda").expand(batch, heads, queries, queries).contiguous()
    sums = torch.full((batch, heads, queries), 0.0, device="cuda")
    state = torch.as_tensor(seed).cuda(), torch.as_tensor(offset).cuda()
    aten = torch.ops.aten
    if kernel == "flash":
        flash = aten._scaled_dot_product_flash_attention_backward
        got = flash(grad, zeros, none, value, grad, sums, None, None, queries, keys, dropout, False, *state)
    elif kernel == "efficient":
        efficient = aten._scaled_dot_product_efficient_attention_backward
        got = efficient(grad, zeros, none, value, None, grad, sums, *state, dropout, [True, True, True, False])
    else:
        cudnn = aten._scaled_dot_product_cudnn_attention_backward
        got = cudnn(grad, zeros, none, value, grad, sums, *state, None, None, None, queries, keys, dropout, False)
    mask = got[2].transpose(-2, -1).double().cpu()
    kept = mask != 0
    assert torch.allclose(mask[kept], torch.tensor(1 / (1 - dropout), dtype=torch.float64))
    spread_of_mean = 5 * math.sqrt(dropout * (1 - dropout) / mask.numel())
    assert abs(kept.double().mean().item() - (1 - dropout)) < spread_of_mean, "another share is dropped"
    return kept.double() / (1 - dropout)


def forward(kernel: str, state: tuple[int, int]) -> Reference:
    """state: which results are the random state."""

    def reference(of: dict[str, Any], results: Results) -> Results:
        scores = scores_of(of, kernel == "flash")
        mask = mask_of(kernel, scores.shape, of["dropout_p"], *(results[one] for one in state))
        sums = scores.logsumexp(-1)
        output = ((scores - sums[..., None]).exp() * mask) @ spread(of["value"], scores.shape[1])
        if not of.get("compute_log_sumexp", True):
            return [output, sums[..., :0] if kernel == "efficient" else None]
        if kernel == "efficient":
            more = torch.full((*sums.shape[:2], -sums.shape[2] % 32), math.inf, dtype=torch.float64)
            sums = torch.cat([sums, more], -1)
        return [output, sums[..., None] if kernel == "cudnn" else sums]

    return reference


def backward(kernel: str, grad_name: str = "grad_out") -> Reference:
    def reference(of: dict[str, Any], _: Results) -> Results:
        scores, grad = scores_of(of, kernel == "flash"), of[grad_name]
        heads = scores.shape[1]
        sums = of["logsumexp"].reshape(*scores.shape[:2], -1)[..., : scores.shape[2]]
        weights = (scores - sums[..., None]).exp()
        mask = mask_of(kernel, scores.shape, of["dropout_p"], of["philox_seed"], of["philox_offset"])
        to_weights = (grad @ spread(of["value"], heads).transpose(-2, -1)) * mask
        to_scores = weights * (to_weights - (grad * of["out"]).sum(-1, keepdim=True))
        scale = of["scale"] if of["scale"] is not None else 1 / math.sqrt(of["query"].shape[-1])
        to_query = scale * to_scores @ spread(of["key"], heads)
        to_key = scale * to_scores.transpose(-2, -1) @ of["query"]
        to_value = (weights * mask).transpose(-2, -1) @ grad
        groups = of["key"].shape[1]
        to_key, to_value = (one.unflatten(1, (groups, heads // groups)).sum(2) for one in (to_key, to_value))
        if kernel != "efficient":
            return [to_query, to_key, to_value]
        wants_bias = of["attn_bias"] is not None and of["grad_input_mask"][3]
        return [to_query, to_key, to_value, to_scores.sum_to_size(of["attn_bias"].shape) if wants_bias else None]

    return reference


def operands(seed: int, groups: int) -> dict[str, Any]:
    return {
        "query": reals(BATCH, HEADS, QUERIES, WIDTH, seed=seed),
        "key": reals(BATCH, groups, KEYS, WIDTH, seed=seed + 1),
        "value": reals(BATCH, groups, KEYS, WIDTH, seed=seed + 2),
    }


def bias(seed: int) -> torch.Tensor:
    return reals(BATCH, HEADS, QUERIES, KEYS, seed=seed)


def given(seed: int, grad_name: str, rows: tuple[int, ...]) -> dict[str, Any]:
    """What a backward call has beside the forward's operands. Output and log-sum-exp are not those of these operands,
    as in ring attention; the log-sum-exp is of float32, as the kernels want it."""
    result = reals(BATCH, HEADS, QUERIES, WIDTH, seed=seed), reals(BATCH, HEADS, QUERIES, WIDTH, seed=seed + 1)
    return {
        grad_name: result[0],
        "out": result[1],
        "logsumexp": (2 + reals(BATCH, HEADS, *rows, seed=seed + 2)).float(),
    }


def in_order(names: str, *parts: dict[str, Any]) -> dict[str, Any]:
    every = {name: value for part in parts for name, value in part.items()}
    return {name: every[name] for name in names.split() if name in every}


def cases() -> Iterator[Case]:
    settings: dict[str, Any] = {"dropout_p": DROPOUT, "is_causal": False, "scale": None}
    other_settings: dict[str, Any] = {"dropout_p": 0.5, "is_causal": True, "scale": 0.7}
    bfloat, single = {torch.bfloat16: 2e-2, torch.float32: 2e-6}, {torch.float32: 2e-6}
    mask = {"return_debug_mask": (True, DEBUG_MASK)}
    cumulated = {name: (torch.tensor([0, 3], dtype=torch.int32), VARLEN) for name in ("cum_seq_q", "cum_seq_k")}
    longest = {name: (3, SIZES) for name in ("max_q", "max_k")}
    varlen = {"cum_seq_q": None, "cum_seq_k": None, "max_q": QUERIES, "max_k": KEYS}
    numbers = {"philox_seed": torch.tensor(5), "philox_offset": torch.tensor(9)}
    other_numbers = {"philox_seed": torch.tensor(5 + 2**40), "philox_offset": torch.tensor(10)}
    biased = {"attn_bias": bias(7)}
    prefix = "aten::_scaled_dot_product_"

    yield Case(
        f"{prefix}flash_attention",
        operands(0, 2) | settings | {"return_debug_mask": False}, operands(10, 2) | other_settings,
        forward("flash", (6, 7)), refused=mask, bound=1e-6, types=bfloat,
    )  # fmt: skip
    yield Case(
        f"{prefix}flash_attention_backward",
        operands(0, 2) | settings | varlen | given(20, "grad_out", (QUERIES,))
        | {"philox_seed": integers(5, 9), "philox_offset": torch.tensor(0)},
        operands(10, 2) | other_settings | given(30, "grad_out", (QUERIES,)) | {"philox_seed": integers(5, 10)},
        backward("flash"), refused=cumulated,
        ignored=longest | {"philox_offset": (torch.tensor(7), "the kernel has both numbers in its random state")},
        types=bfloat,
    )  # fmt: skip
    yield Case(
        f"{prefix}efficient_attention",
        operands(0, HEADS) | settings | biased | {"compute_log_sumexp": True},
        operands(10, HEADS) | other_settings | {"attn_bias": bias(17), "compute_log_sumexp": False},
        forward("efficient", (2, 3)), bound=1e-6, types=bfloat | single,
    )  # fmt: skip
    yield Case(
        f"{prefix}efficient_attention_backward",
        operands(0, HEADS) | settings | biased | given(20, "grad_out_", (32,)) | numbers
        | {"grad_input_mask": [True, True, True, True]},
        operands(10, HEADS) | other_settings | {"attn_bias": bias(17)} | given(30, "grad_out_", (32,)) | other_numbers
        | {"grad_input_mask": [False, False, False, False]},  # of which the kernel looks at the last one alone
        backward("efficient", "grad_out_"), types=bfloat | single,
    )  # fmt: skip
    yield Case(
        f"{prefix}cudnn_attention",
        operands(0, HEADS) | settings | biased | {"compute_log_sumexp": True, "return_debug_mask": False},
        operands(10, HEADS) | other_settings | {"attn_bias": bias(17), "compute_log_sumexp": False},
        forward("cudnn", (6, 7)), refused=mask, bound=1e-6, types=bfloat,
    )  # fmt: skip
    yield Case(
        f"{prefix}cudnn_attention_backward",
        operands(0, HEADS) | settings | biased | varlen | given(20, "grad_out", (QUERIES, 1)) | numbers,
        operands(10, HEADS) | other_settings | {"attn_bias": bias(17)} | given(30, "grad_out", (QUERIES, 1))
        | other_numbers,
        backward("cudnn"), refused=cumulated, ignored=longest, types=bfloat,
    )  # fmt: skip
