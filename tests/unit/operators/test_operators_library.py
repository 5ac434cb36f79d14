"""libjitc_operators.so on its own: results in place, malformed calls, memory that it was not given, matmul."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import operator_wire as wire
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from jitc.ops import generated_names as generated_ops
from jitc.ops import table as ops

DONE, RAISED, MALFORMED, ASSERTED = 0, 1, 2, 3


@pytest.fixture(scope="module")
def library() -> wire.Library:
    return wire.Library()


ADDITION = wire.call("aten::add.Tensor", [], [])


@pytest.fixture(autouse=True)
def default_type() -> Iterator[None]:
    """Each call sets it, spoiled ones any."""
    before = torch.get_default_dtype()
    yield
    torch.set_default_dtype(before)


def addition(x: torch.Tensor, y: torch.Tensor, out: torch.Tensor) -> bytes:
    return wire.call("aten::add.Tensor", [wire.tensor(x), wire.tensor(y), wire.integer(1)], [wire.tensor(out)])


def test_result_goes_into_the_given_memory(library: wire.Library) -> None:
    x, y, out = torch.arange(6.0).reshape(2, 3), torch.ones(3), torch.full((2, 3), torch.nan)
    library.own(x, y, out)
    assert library.call(addition(x, y, out)) == (DONE, b"")
    assert torch.equal(out, x + y)


def test_result_in_memory_with_other_strides(library: wire.Library) -> None:
    x, out = torch.arange(6.0).reshape(2, 3), torch.full((3, 2), torch.nan).t()
    library.own(x, out)
    assert library.call(addition(x, x, out))[0] == DONE
    assert torch.equal(out, x + x)


def test_two_results_of_one_size_are_not_mixed_up(library: wire.Library) -> None:
    x = torch.randn(4, 5)
    outputs = [torch.empty(4, 5), torch.empty(4, 1), torch.empty(4, 1)]
    library.own(x, *outputs)
    shape = struct.pack("<BI", 10, 1) + wire.numbers([5])
    arguments = [wire.tensor(x), shape, b"\0", b"\0", wire.real(1e-5)]
    status, text = library.call(wire.call("aten::native_layer_norm", arguments, [wire.tensor(o) for o in outputs]))
    assert status == DONE, text
    for mine, right in zip(outputs, torch.native_layer_norm(x, [5], None, None, 1e-5), strict=True):
        assert torch.equal(mine, right)


def test_query_changes_nothing(library: wire.Library) -> None:
    x = torch.ones(3)
    library.own(x)
    status, reply = library.query(wire.call("aten::mul_.Tensor", [wire.tensor(x), wire.tensor(x)], None))
    assert (status, reply) == (DONE, b"\x01\0\0\x01\0\0")
    twice = wire.call("aten::exp.out", [wire.tensor(x), struct.pack("<BH", 3, 0)], None)  # in and out are one tensor
    assert library.query(twice)[0] == DONE
    assert torch.equal(x, torch.ones(3))


def test_operator_error_names_its_class(library: wire.Library) -> None:
    x = torch.ones(3)
    library.own(x)
    query = wire.call("aten::cumsum", [wire.tensor(x), wire.integer(5), b"\0"], None)
    status, text = library.query(query)
    assert status == RAISED
    assert text.decode().startswith("IndexError: Dimension out of range")


@pytest.mark.parametrize(
    ("text", "payload"),
    [
        ("format 9", wire.call("aten::add.Tensor", [], [], version=9)),
        ("unknown operator", wire.call("aten::no_such_thing", [], [])),
        ("outside aten", wire.call("c10d::barrier", [], [])),
        ("number of arguments", wire.call("aten::add.Tensor", [], [])),
        ("ends in the middle", wire.call("aten::add.Tensor", [b"\x01", b"\0", b"\0"], [])[:40]),
        ("ends in the middle", b""),
        ("default type", b"%b\x01%b" % (ADDITION[:2], ADDITION[3:])),
    ],
)
def test_malformed_calls_are_named(library: wire.Library, text: str, payload: bytes) -> None:
    status, said = library.call(payload)
    assert (status, text in said.decode()) == (MALFORMED, True), said


def test_memory_that_is_not_allocated_is_refused(library: wire.Library) -> None:
    x, out = torch.ones(3), torch.zeros(3)
    library.own(x)
    status, said = library.call(addition(x, x, out))
    assert (status, b"not allocated" in said) == (MALFORMED, True)
    assert torch.equal(out, torch.zeros(3))


@pytest.mark.parametrize(
    ("sizes", "strides"),
    [((4,), (1,)), ((2,), (3,)), ((-1,), (1,)), ((2,), (-1,)), ((2**62, 2**62), (1, 1)), ((2**40,), (2**40,))],
)
def test_extent_is_checked(library: wire.Library, sizes: tuple[int, ...], strides: tuple[int, ...]) -> None:
    x = torch.ones(3)
    library.own(x)
    head = struct.pack("<BbBBQ", 1, 6, len(sizes), 0, x.data_ptr()) + wire.numbers(sizes) + wire.numbers(strides)
    status, said = library.query(wire.call("aten::neg", [head], None))
    assert status == MALFORMED, said


BASE = torch.arange(12.0).reshape(3, 4)
OUT = torch.zeros(3, 4)


@settings(max_examples=400, derandomize=True, deadline=None, database=None)
@given(data=st.data())
def test_no_bytes_crash_it_or_reach_other_memory(data: Any) -> None:
    library = wire.Library()
    library.own(BASE, OUT)
    payload = bytearray(addition(BASE, BASE, OUT))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(payload) - 1))
        payload[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.none(), st.integers(0, len(payload))))
    for function in (library.call, library.query):
        status, _ = function(bytes(payload[:cut]))
        assert status in (DONE, RAISED, MALFORMED, ASSERTED)


FIELDS = tuple(name for op in ops.OPS if op.name == "matmul" for name, _, _ in op.fields)
FORMAT = generated_ops.FORMATS["matmul"]
HALF, FLOAT = 2, 0  # cudaDataType_t
BIAS, RELU_BIAS, GELU_AUX = 4, 6, 160  # cublasLtEpilogue_t


def product(**given: float) -> bytes:
    """A matmul op of 3 x 4 by 4 x 2, column major, single precision, where nothing else is given."""
    operands: dict[str, float] = dict.fromkeys(FIELDS, 0)
    operands |= {
        "m": 3,
        "n": 2,
        "k": 4,
        "batch": 1,
        "lda": 3,
        "ldb": 4,
        "ldc": 3,
        "ldd": 3,
        "alpha": 1.0,
        "epilogue": 1,
    }
    operands |= given
    header = struct.pack("<IHHQQ", 24 + struct.calcsize(FORMAT), generated_ops.IDS["matmul"], 0, 0, 1)
    return header + struct.pack(FORMAT, *(operands[name] for name in FIELDS))


def column_major(rows: int, columns: int, dtype: torch.dtype = torch.float32, batch: int = 0) -> torch.Tensor:
    shape = (batch, columns, rows) if batch else (columns, rows)
    return torch.randn(shape).to(dtype).transpose(-1, -2)


@pytest.mark.parametrize(
    ("dtype", "kind"), [(torch.float32, FLOAT), (torch.float64, 1), (torch.float16, HALF), (torch.bfloat16, 14)]
)
def test_product_does_not_read_c(library: wire.Library, dtype: torch.dtype, kind: int) -> None:
    a, b, d = column_major(3, 4, dtype), column_major(4, 2, dtype), column_major(3, 2, dtype).fill_(torch.nan)
    library.own(a, b, d)
    types = dict.fromkeys(("type_a", "type_b", "type_c", "type_d"), kind)
    assert library.matmul(product(a=a.data_ptr(), b=b.data_ptr(), c=d.data_ptr(), d=d.data_ptr(), **types)) == (
        DONE,
        b"",
    )
    torch.testing.assert_close(d, a @ b)


def test_product_accumulates_with_scalars_on_the_device(library: wire.Library) -> None:
    a, b, c, d = column_major(4, 3), column_major(2, 4), column_major(3, 2), torch.empty(2, 3).t()
    scalars = torch.tensor([2.0, 0.5])
    library.own(a, b, c, d, scalars)
    payload = product(
        a=a.data_ptr(), b=b.data_ptr(), c=c.data_ptr(), d=d.data_ptr(), lda=4, ldb=2, transpose_a=1, transpose_b=1,
        alpha_address=scalars.data_ptr(), beta_address=scalars.data_ptr() + 4,
    )  # fmt: skip
    assert library.matmul(payload) == (DONE, b"")
    torch.testing.assert_close(d, 2 * (a.t() @ b.t()) + 0.5 * c)


def test_batched_product_with_one_shared_operand(library: wire.Library) -> None:
    a, b, d = column_major(3, 4, batch=5), column_major(4, 2), torch.empty(5, 2, 3).transpose(1, 2)
    library.own(a, b, d)
    payload = product(a=a.data_ptr(), b=b.data_ptr(), d=d.data_ptr(), batch=5, stride_a=12, stride_b=0, stride_d=6)
    assert library.matmul(payload) == (DONE, b"")
    torch.testing.assert_close(d, a @ b)


def test_bias_epilogues(library: wire.Library) -> None:
    a, b, d, bias = column_major(3, 4), column_major(4, 2), torch.empty(2, 3).t(), torch.randn(3)
    library.own(a, b, d, bias)
    addresses = {"a": a.data_ptr(), "b": b.data_ptr(), "d": d.data_ptr(), "bias": bias.data_ptr()}
    assert library.matmul(product(**addresses, epilogue=BIAS)) == (DONE, b"")
    torch.testing.assert_close(d, a @ b + bias[:, None])
    assert library.matmul(product(**addresses, epilogue=RELU_BIAS)) == (DONE, b"")
    torch.testing.assert_close(d, (a @ b + bias[:, None]).relu())
    status, text = library.matmul(product(**addresses, epilogue=GELU_AUX))
    assert (status, b"epilogue 160" in text) == (MALFORMED, True)


@pytest.mark.parametrize(
    "wrong", [{"m": -1}, {"batch": 0}, {"lda": 2}, {"ldb": 2**62}, {"m": 2**40, "lda": 2**40}, {"type_a": 3}, {"a": 8}]
)
def test_bad_products_are_refused(library: wire.Library, wrong: dict[str, int]) -> None:
    a, b, d = column_major(3, 4), column_major(4, 2), torch.zeros(2, 3).t()
    library.own(a, b, d)
    given = {"a": a.data_ptr(), "b": b.data_ptr(), "c": d.data_ptr(), "d": d.data_ptr(), **wrong}
    assert library.matmul(product(**given))[0] == MALFORMED
    assert torch.equal(d, torch.zeros(3, 2))
