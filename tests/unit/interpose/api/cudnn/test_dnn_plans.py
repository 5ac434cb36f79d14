"""Execution plans of cuDNN's graph API: named once per GPU, executed with the tensors of a variant pack."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from ctypes import byref, c_double, c_float, c_int32, c_int64, c_uint64
from typing import Any

import pytest
from interpose_call_ops import plan_of, sent, tensors_of
from interpose_dnn import (
    BAD_PARAM,
    COMPLEX_DOUBLE,
    DOUBLE,
    FLOAT,
    HALF,
    INT64,
    NOT_SUPPORTED,
    NULL_POINTER,
    SUCCESS,
    TENSOR,
    Dnn,
    enum,
    flag,
    integers,
    unique,
)  # fmt: skip


def test_a_plan_is_named_once_and_its_first_execution_waits(dnn: Dnn) -> None:
    plan, stream = dnn.plan(dnn.graph_tensor(1, 4)), c_uint64(dnn.gpu.make("cudaStreamCreateWithFlags", 1))
    described = sent(dnn.gpu.take()[-2]).objects
    dnn.ok("cudnnSetStream", dnn.handle, stream)
    assert dnn.execute(plan, dnn.pack({1: 0x1000, 7: 0x2000}, 0x9000)) == SUCCESS
    query, part, load, first = dnn.gpu.take()
    assert [op.name for op in (query, part, load, first)] == [
        "image_query", "image_part", "dnn_plan_load", "dnn_execute_try",
    ]  # fmt: skip
    assert plan_of(part) == described
    assert (load.fields["hash"], load.fields["bytes"]) == (query.fields["hash"], part.fields["bytes"])
    assert first.fields == {"plan": load.fields["plan"], "workspace": 0x9000, "count": 2}
    address = [struct.pack("<Q", at) for at in (0x1000, 0x2000, 0x5000)]
    assert tensors_of(first) == {1: ("address", address[0]), 7: ("address", address[1])}
    assert dnn.execute(plan, dnn.pack({1: 0x5000})) == SUCCESS
    (second,) = dnn.gpu.take()
    assert (second.name, first.stream, second.stream) == ("dnn_execute", stream.value, stream.value)
    assert second.fields == {"plan": load.fields["plan"], "workspace": 0, "count": 1}
    assert tensors_of(second) == {1: ("address", address[2])}


def test_a_refused_execution_is_tried_again(dnn: Dnn) -> None:
    plan, pack = dnn.plan(dnn.graph_tensor(1, 4)), dnn.pack({1: 0x1000})
    dnn.tell(b"workspace too small", NOT_SUPPORTED)
    assert (dnn.execute(plan, pack), dnn.last_words()) == (NOT_SUPPORTED, "workspace too small")
    dnn.gpu.take()
    assert [dnn.execute(plan, pack), dnn.execute(plan, pack)] == [SUCCESS] * 2
    assert dnn.names() == ["dnn_execute_try", "dnn_execute"]


def test_a_plan_is_given_up_with_its_descriptor(dnn: Dnn) -> None:
    plan, pack, unused = dnn.plan(dnn.graph_tensor(1, 4)), dnn.pack({1: 0x1000}), dnn.plan(dnn.graph_tensor(1, 4))
    assert dnn.execute(plan, pack) == SUCCESS
    load = dnn.gpu.take()[-2]
    for gone in (plan, unused):
        dnn.ok("cudnnBackendDestroyDescriptor", gone)
    (drop,) = dnn.gpu.take()
    assert (drop.name, drop.fields) == ("dnn_plan_drop", {"plan": load.fields["plan"]})


def test_a_captured_execution_does_not_wait_and_keeps_its_plan(dnn: Dnn) -> None:
    plan, pack = dnn.plan(dnn.graph_tensor(1, 4)), dnn.pack({1: 0x1000})
    dnn.gpu.take()
    with dnn.captured() as stream:
        assert dnn.execute(plan, pack) == SUCCESS
        op = dnn.gpu.take()[-1]
        assert (op.name, op.stream) == ("dnn_execute", stream.value)
    dnn.gpu.take()
    assert [dnn.execute(plan, pack), dnn.execute(plan, pack)] == [SUCCESS] * 2
    assert dnn.names() == ["dnn_execute_try", "dnn_execute"]  # nobody had heard of the captured one
    dnn.ok("cudnnBackendDestroyDescriptor", plan)
    assert dnn.names() == []


def test_a_plan_is_named_to_each_gpu(dnn: Dnn) -> None:
    plan, pack = dnn.plan(dnn.graph_tensor(1, 4)), dnn.pack({1: 0x1000})
    assert dnn.execute(plan, pack) == SUCCESS
    dnn.ok("cudaSetDevice", 1)
    first, dnn.handle = dnn.handle, dnn.make("cudnnCreate")
    dnn.gpu.take()
    assert dnn.execute(plan, pack) == SUCCESS
    assert dnn.names()[-2:] == ["dnn_plan_load", "dnn_execute_try"]
    dnn.ok("cudnnBackendDestroyDescriptor", plan)
    assert dnn.names() == ["dnn_plan_drop"] * 2
    dnn.ok("cudnnDestroy", dnn.handle)
    dnn.handle = first


@pytest.mark.parametrize(
    ("type_", "sizes", "value"),
    [
        (FLOAT, (1, 1, 1), c_float(0.5)),
        (DOUBLE, (1,), c_double(0.1)),
        (INT64, (), c_int64(-3)),
        (HALF, (1, 2), c_int32(0x01020304)),
        (COMPLEX_DOUBLE, (1,), (c_double * 2)(1, 2)),
    ],
)
def test_a_tensor_by_value_is_read_at_the_call(dnn: Dnn, type_: int, sizes: Sequence[int], value: Any) -> None:
    plan = dnn.plan(dnn.graph_tensor(1, 4), dnn.graph_tensor(2, *sizes, type_=type_, by_value=True))
    pack, before = dnn.pack({1: 0x1000, 2: ctypes.addressof(value)}), bytes(value)
    assert dnn.execute(plan, pack) == SUCCESS
    expected = ("address", struct.pack("<Q", 0x1000)), ("scalar", before)
    assert tuple(tensors_of(dnn.gpu.take()[-1]).values()) == expected
    ctypes.memset(byref(value), 0x55, len(before))
    assert dnn.execute(plan, pack) == SUCCESS
    assert tensors_of(dnn.gpu.take()[-1])[2] == ("scalar", b"\x55" * len(before))


def test_values_that_are_not_carried(dnn: Dnn, capfd: pytest.CaptureFixture[str]) -> None:
    size, memory = unique(), dnn.gpu.malloc(64)
    big, number = (dnn.graph_tensor(uid, *sizes, by_value=True) for uid, sizes in ((1, (1, size)), (2, (1,))))
    untyped = dnn.node(TENSOR, {902: integers(1), 906: integers(3), 908: flag(True)})
    plan, host = dnn.plan(big, number, untyped), ctypes.create_string_buffer(4)
    dnn.gpu.take()

    def execute(uid: int, pointer: int) -> int:
        return dnn.execute(plan, dnn.pack({uid: pointer}))

    assert execute(1, ctypes.addressof(host)) == NOT_SUPPORTED
    assert f"a tensor by value of {4 * size} bytes is not carried" in capfd.readouterr().err
    assert execute(3, ctypes.addressof(host)) == NOT_SUPPORTED
    assert [execute(2, memory), execute(2, 0)] == [BAD_PARAM, NULL_POINTER]
    assert dnn.names() == []
    unfinished = dnn.node(TENSOR, {908: flag(True), 901: enum(FLOAT)})
    assert dnn.execute(dnn.plan(unfinished), dnn.pack({0: memory})) == SUCCESS  # without a name it is no one's
