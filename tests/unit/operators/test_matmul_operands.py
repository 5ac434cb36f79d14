"""Every operand of a matrix product counts as cuBLAS counts it, or has the reason why not: each is changed in turn.

The operands are those of the op's table: a new one without a place here fails.
"""

from __future__ import annotations

import struct
from typing import Any

import operator_wire as wire
import pytest
import torch

from jitc.ops import generated_names as generated_ops
from jitc.ops import table as ops

FIELDS = next(tuple(name for name, _, _ in op.fields) for op in ops.OPS if op.name == "matmul")
FORMAT = generated_ops.FORMATS["matmul"]
DONE, MALFORMED = 0, 2
TYPES = {0: torch.float32, 1: torch.float64, 2: torch.float16, 14: torch.bfloat16}  # cudaDataType_t
FLOAT, DOUBLE, HALF, BFLOAT = TYPES
RELU, BIAS, GELU = 2, 4, 32  # cublasLtEpilogue_t
WORDS = 256
PARTS = ("a", "b", "c", "d", "bias", "alpha_address", "beta_address")

BASE: dict[str, float] = {
    "m": 3, "n": 2, "k": 4, "batch": 2, "lda": 5, "ldb": 6, "ldc": 4, "ldd": 5, "stride_a": 40, "stride_b": 44,
    "stride_c": 24, "stride_d": 28, "alpha": 2.0, "beta": 0.5, "epilogue": BIAS,
    "transpose_a": 0, "transpose_b": 0, "alpha_address": 0,
    "beta_address": 0, "auxiliary": 0, "auxiliary_ld": 0, "compute": 68, "scale_type": FLOAT,
    **{f"type_{one}": FLOAT for one in ("a", "b", "c", "d", "bias")},
}  # fmt: skip
#: Another value for each; addresses are those of the part, and so many bytes more.
OTHERS: dict[str, float] = {
    "m": 2, "n": 1, "k": 3, "batch": 1, "lda": 6, "ldb": 7, "ldc": 5, "ldd": 6, "stride_a": 44, "stride_b": 40,
    "stride_c": 28, "stride_d": 36, "alpha": 3.0, "beta": 0.25, "epilogue": BIAS | RELU,
    "transpose_a": 1, "transpose_b": 1,
    "type_a": HALF, "type_b": BFLOAT, "type_c": BFLOAT, "type_bias": HALF, **{one: 8 for one in PARTS},
}  # fmt: skip
#: What counts in other calls alone: operands of the call, and another value.
ELSEWHERE: dict[str, tuple[dict[str, float], float]] = {
    "scale_type": ({"alpha_address": 8, "beta_address": 16}, DOUBLE),
    "type_d": ({"type_a": HALF, "type_b": HALF, "type_c": HALF}, HALF),
}
IGNORED: dict[str, tuple[float, str]] = {
    "auxiliary": (64, "the epilogues that have it are refused"),
    "auxiliary_ld": (8, "the epilogues that have it are refused"),
    "compute": (77, "how exact sums are: the CPU's kernels add in float32 or more, whatever is asked for"),
}


def memory() -> dict[str, torch.Tensor]:
    """Bytes that are moderate numbers in each of the types; those of the bias, of the other sign in part."""
    made = {}
    for number, part in enumerate(PARTS):
        halves = torch.rand(2 * WORDS, generator=torch.Generator().manual_seed(number)) + 1
        if part in ("b", "bias"):
            halves[1::2] *= (-1.0) ** torch.arange(WORDS)
        made[part] = halves.half().view(torch.uint8)
    return made


def numbers(
    part: torch.Tensor, kind: float, start: float, sizes: tuple[int, ...], strides: tuple[int, ...]
) -> torch.Tensor:
    """A view of what lies there."""
    dtype = TYPES[int(kind)]
    return part[int(start) :].view(dtype).as_strided(sizes, strides)


def matrix(of: dict[str, float], part: torch.Tensor, name: str, rows: str, columns: str) -> torch.Tensor:
    """op(matrix), with the batch in front."""
    turned = of.get(f"transpose_{name}", 0)
    across, down = int(of[f"ld{name}"]), 1
    sizes = int(of["batch"]), int(of[rows]), int(of[columns])
    strides = int(of[f"stride_{name}"]), across if turned else down, down if turned else across
    return numbers(part, of[f"type_{name}"], of[name], sizes, strides)


def scalar(of: dict[str, float], parts: dict[str, torch.Tensor], name: str) -> float:
    start = of[f"{name}_address"]
    return numbers(parts[f"{name}_address"], of["scale_type"], start, (1,), (1,)).item() if start else of[name]


def reference(of: dict[str, float]) -> torch.Tensor:
    """All of d's memory afterwards, in the type of d."""
    parts = memory()
    product = matrix(of, parts["a"], "a", "m", "k").double() @ matrix(of, parts["b"], "b", "k", "n").double()
    made = scalar(of, parts, "alpha") * product
    if beta := scalar(of, parts, "beta"):
        made = made + beta * matrix(of, parts["c"], "c", "m", "n").double()
    if int(of["epilogue"]) & BIAS:
        made = made + numbers(parts["bias"], of["type_bias"], of["bias"], (int(of["m"]), 1), (1, 1)).double()
    if int(of["epilogue"]) & RELU:
        made = made.relu()
    if int(of["epilogue"]) & GELU:
        made = torch.nn.functional.gelu(made, approximate="tanh")
    matrix(of, parts["d"], "d", "m", "n").copy_(made)
    return parts["d"].view(TYPES[int(of["type_d"])])


def multiplied(of: dict[str, float]) -> torch.Tensor:
    library, parts = wire.Library(), memory()
    library.own(*parts.values())
    given = dict(of)
    for part in PARTS:
        if not part.endswith("_address") or of[part]:
            given[part] = parts[part].data_ptr() + of[part]
    header = struct.pack("<IHHQQ", 24 + struct.calcsize(FORMAT), generated_ops.IDS["matmul"], 0, 0, 1)
    status, said = library.matmul(header + struct.pack(FORMAT, *(given[name] for name in FIELDS)))
    assert status == DONE, said
    return parts["d"].view(TYPES[int(of["type_d"])])


def operands(**changed: float) -> dict[str, float]:
    return BASE | dict.fromkeys(PARTS, 0) | changed


def close(of: dict[str, float]) -> bool:
    bound = 1e-3 if of["type_d"] == HALF else 1e-6
    return torch.allclose(multiplied(of), reference(of), rtol=bound, atol=bound)


def test_no_operand_is_left_out() -> None:
    assert {*OTHERS, *ELSEWHERE, *IGNORED} == {*FIELDS}
    assert all(reason for _, reason in IGNORED.values())


@pytest.mark.parametrize("name", [*OTHERS, *ELSEWHERE])
def test_each_operand_counts(name: str) -> None:
    around, value = ELSEWHERE.get(name, ({}, OTHERS.get(name, 0)))
    before, after = operands(**around), operands(**around, **{name: value})
    assert close(before) and close(after)
    one, other = reference(before), reference(after)
    assert one.dtype != other.dtype or not torch.allclose(one, other, rtol=1e-3)


@pytest.mark.parametrize("name", IGNORED)
def test_what_is_ignored_changes_nothing(name: str) -> None:
    assert torch.equal(multiplied(operands()), multiplied(operands(**{name: IGNORED[name][0]})))


@pytest.mark.parametrize("epilogue", [0, 1, RELU, BIAS, BIAS | RELU, GELU, GELU | BIAS])
@pytest.mark.parametrize("scalars", [{}, {"alpha": 1.0, "beta": 0.0}, {"beta": 0.0}], ids=str)
def test_each_epilogue(epilogue: int, scalars: dict[str, float]) -> None:
    assert close(operands(epilogue=epilogue, **scalars))


def test_what_the_reference_does_not_use_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_bias(of: dict[str, Any]) -> torch.Tensor:
        return whole(of | {"epilogue": int(of["epilogue"]) & ~BIAS})

    whole = reference
    monkeypatch.setattr("test_matmul_operands.reference", without_bias)
    assert not close(operands())
