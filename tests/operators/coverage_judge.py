"""Compares two runs: results and what they have to do with the arguments, gradients, and every argument's memory.

Called by: operator_shard.py. Promise: memory that the CPU leaves as it was must be so on the GPU to the last bit.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from coverage_run import Memory, Run, same_bytes
from torch.testing import assert_close


class Differs(Exception):
    """What is not the same."""


def expect(holds: bool, text: str) -> None:
    if not holds:
        raise Differs(text)


def compare(mine: Run, reference: Run, values: bool) -> None:
    """Raises Differs. values: the numbers count; else only their form does."""
    compare_values("result", mine.results, reference.results, values)
    compare_values("gradient", mine.gradients, reference.gradients, values)
    for number, (one, other) in enumerate(zip(mine.links, reference.links, strict=True)):
        expect(one == other, f"result {number} is {one or 'new'!r} instead of {other or 'new'!r}")
    for number, (here, there) in enumerate(zip(mine.strides, reference.strides, strict=True)):
        expect(here == there, f"result {number}: strides {here} instead of {there}")
    expect(len(mine.memory) == len(reference.memory), "another number of arguments")
    for number, (here, there) in enumerate(zip(mine.memory, reference.memory, strict=True)):
        compare_memory(f"argument {number}", here, there, values)


def compare_values(kind: str, mine: list[Any], reference: list[Any], values: bool) -> None:
    expect(len(mine) == len(reference), f"{len(mine)} {kind}s instead of {len(reference)}")
    for number, (one, other) in enumerate(zip(mine, reference, strict=True)):
        what = f"{kind} {number}"
        expect(type(one) is type(other), f"{what}: {type(one)} instead of {type(other)}")
        if isinstance(other, torch.Tensor):
            compare_tensors(what, one, other, values)
        elif values and other is not None:
            same = one == other or (isinstance(other, float) and math.isnan(other) and math.isnan(one))
            expect(same, f"{what}: {one} instead of {other}")


def compare_tensors(what: str, one: torch.Tensor, other: torch.Tensor, values: bool) -> None:
    expect(one.shape == other.shape, f"{what}: shape {tuple(one.shape)} instead of {tuple(other.shape)}")
    expect(one.dtype == other.dtype, f"{what}: {one.dtype} instead of {other.dtype}")
    expect(one.layout == other.layout, f"{what}: {one.layout} instead of {other.layout}")
    if values:
        close(what, one, other)


def close(what: str, one: torch.Tensor, other: torch.Tensor) -> None:
    if one.layout == torch.strided and not one.is_nested and not one.is_quantized and same_bytes(one, other):
        return
    try:
        assert_close(one, other, equal_nan=True, check_stride=False)
    except AssertionError as error:
        raise Differs(f"{what}: {' '.join(str(error).split())}") from None


def compare_memory(what: str, mine: Memory, reference: Memory, values: bool) -> None:
    expect(mine.size == reference.size, f"{what}: size {mine.size} afterwards instead of {reference.size}")
    expect(mine.stride == reference.stride, f"{what}: strides {mine.stride} afterwards instead of {reference.stride}")
    if not reference.touched:
        expect(not mine.touched, f"{what} was written, which the CPU leaves as it was")
    elif values and len(reference.contents) == len(reference.before):
        close(f"{what} afterwards", mine.contents, reference.contents)
    # Resized memory is compared where it is a result; what lies between its elements was never written.
