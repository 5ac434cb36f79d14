"""What a program is told that gives an operator operands that do not go together, or places that are not there.

Before there was a check, each of these calls ended the worker or reached outside of its operands.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import operator_wire as wire
import pytest
import torch
from operator_values import TAGS, Items, pack_plain

ANSWERED, RAISED = 0, 1


def packed(value: Any) -> bytes:
    if isinstance(value, torch.Tensor):
        return wire.tensor(value)
    if not isinstance(value, Items):
        return pack_plain(value)
    values = value.values
    packers = {"T": lambda: b"".join(map(wire.tensor, values)), "B": lambda: bytes(values)}
    inside = packers.get(value.kind, lambda: wire.numbers(values))()
    return struct.pack("<BI", TAGS[value.kind], len(values)) + inside


def query(name: str, arguments: Sequence[Any]) -> tuple[int, bytes]:
    library = wire.Library()
    tensors = [one for one in arguments if isinstance(one, torch.Tensor)]
    tensors += [one for items in arguments if isinstance(items, Items) and items.kind == "T" for one in items.values]
    library.own(*tensors)
    return library.query(wire.call(f"aten::{name}", [packed(one) for one in arguments], None))


def integers(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int64)


def sizes(*values: int) -> Items:
    return Items("I", list(values))


IMAGE, SMALL = torch.zeros(1, 2, 4, 4), torch.zeros(1, 2, 2, 2)
FAR = torch.full((1, 2, 2, 2), 16)
ROWS = torch.zeros(5, 3)
BAG = (False, 0, False, None, False, -1)


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        (
            "max_pool2d_with_indices_backward",
            (SMALL, IMAGE, sizes(2, 2), sizes(2, 2), sizes(0, 0), sizes(1, 1), False, FAR),
            "'indices' is out of range: it has values from 16 to 16, but they must be at least 0 and less than 16",
        ),
        ("adaptive_max_pool2d_backward", (SMALL, IMAGE, FAR), "IndexError: Argument 'indices' is out of range"),
        ("adaptive_max_pool2d_backward", (SMALL, IMAGE, FAR[:, :1]), "'indices' and 'grad_output'"),
        ("embedding_dense_backward", (ROWS, integers(0, 1, 2, 3, 9), 5, -1, True), "'indices' is out of range"),
        ("_embedding_bag", (ROWS, integers(0, 1), integers(0, 7), *BAG), "'offsets' is out of range"),
        ("_embedding_bag", (ROWS, integers(0, 1), integers(0, 2, 1), *BAG), "'offsets' to be in ascending order"),
        ("_convert_indices_from_coo_to_csr", (integers(0, 7), 5, False), "'self' is out of range"),
        ("_convert_indices_from_csr_to_coo", (integers(0, 9), integers(0), False, False), "'crow_indices'"),
        (
            "_ctc_loss",
            (torch.zeros(5, 1, 3), integers(1, 7), Items("I", [5]), Items("I", [2]), 0, False),
            "'targets' is out of range",
        ),
        ("segment_reduce", (ROWS, "sum", None, None, integers(0, 9), 0, False, None), "'offsets' is out of range"),
        ("lu_unpack", (torch.eye(2), torch.tensor([1, 7], dtype=torch.int32), True, True), "'LU_pivots'"),
        ("_native_batch_norm_legit.no_stats", (SMALL, None, None, False, 0.1, 1e-5), "'running_mean'"),
        ("native_batch_norm", (SMALL, torch.zeros(3), None, None, None, True, 0.1, 1e-5), "'weight'"),
        ("_softmax_backward_data", (ROWS, ROWS[:2], 0, 6), "'grad_output' and 'output'"),
        ("reflection_pad2d_backward", (SMALL, SMALL, sizes(1, 1, 1, 1)), "'grad_output'"),
        ("_fft_c2c", (ROWS.to(torch.complex64), sizes(7), 0, True), "'dim'"),
        (
            "_scaled_dot_product_cudnn_attention",
            (IMAGE, IMAGE, IMAGE, torch.zeros(7, 1, 2, 4, 4), True, 0.0, False, False, None),
            "'attn_bias' to be expandable to",
        ),
        ("arange.start_out", (0, 2, 1e-5, integers(0, 0)), "step must be nonzero"),
        (
            "_fused_sgd_",
            (Items("T", [ROWS]), Items("T", [SMALL]), Items("T"), 0.0, 0.0, 0.1, 0.0, False, False, True, None, None),
            "'grads'",
        ),
        ("_thnn_fused_lstm_cell", (ROWS, ROWS, ROWS, None, None), "Expected the size 3 of the gates"),
    ],
)
def test_wrong_operands_are_named(name: str, arguments: Sequence[Any], text: str) -> None:
    status, said = query(name, arguments)
    assert status == RAISED, said
    assert text in said.decode()


PROBABILITIES, PADDED = torch.zeros(5, 1, 3), torch.tensor([[1, 2, -1]])
CHANNELS, NONE = torch.ones(2), torch.zeros(0)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("_ctc_loss", (PROBABILITIES, PADDED, sizes(5), sizes(2), 0, False)),  # behind a target may be anything
        (  # in evaluation nothing is saved
            "native_batch_norm_backward",
            (SMALL, SMALL, None, CHANNELS, CHANNELS, NONE, NONE, False, 1e-5, Items("B", [True, True, True])),
        ),
        ("multi_margin_loss_backward", (torch.tensor(1.0), torch.tensor(0.5), torch.tensor(0), 1, 1.0, None, 1)),
        ("_chunk_cat", (Items("T", [ROWS, ROWS]), -1, 1)),
        ("_embedding_bag", (ROWS, integers(0, 1), integers(0, 2, 2), *BAG)),  # bags without any
    ],
)
def test_unusual_operands_are_right(name: str, arguments: Sequence[Any]) -> None:
    status, text = query(name, arguments)
    assert status == ANSWERED, text
