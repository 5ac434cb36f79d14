"""cuDNN's older API: what is sent with a call, what waits, what is asked once."""

from __future__ import annotations

import ctypes
import struct
from ctypes import byref, c_double, c_float, c_int32, c_size_t, c_uint64
from typing import Any

import pytest
from interpose_call_ops import Call, Object, Sent, only, sent
from interpose_dnn import (
    BAD_PARAM,
    DOUBLE,
    EXECUTION_FAILED,
    HALF,
    INTERNAL_ERROR,
    NOT_SUPPORTED,
    SUCCESS,
    Dnn,
    i32,
    unique,
)  # fmt: skip

from jitc.ops import generated_names as generated_ops

ONE, ZERO = c_float(1), c_float(0)
F32_ONE, F32_ZERO = struct.pack("<f", 1), bytes(4)


def tensor_set(*sizes: int, type_: int = 0) -> Call:
    """What a descriptor of Dnn.tensor is."""
    slots = ("number", type_), ("number", len(sizes)), ("array", i32(*sizes)), ("array", i32(*[1] * len(sizes)))
    return Call("cudnnSetTensorNdDescriptor", slots)


class Pooling:
    """cudnnPoolingForward of a size that no other test has."""

    def __init__(self, dnn: Dnn, sizes: tuple[int, ...] = ()) -> None:
        self.dnn, self.sizes = dnn, sizes or (1, unique())
        self.how, self.x, self.y = dnn.old("pooling"), dnn.tensor(*self.sizes), dnn.tensor(*self.sizes)
        dnn.ok("cudnnSetPooling2dDescriptor", self.how, 1, 0, 2, 3, 0, 0, 1, 1)

    def run(self, x: int = 0x1000, y: int = 0x2000, alpha: Any = ONE, beta: Any = ZERO) -> int:
        scalars = [one if one is None else byref(one) for one in (alpha, beta)]
        data, out = (self.x, c_uint64(x)), (self.y, c_uint64(y))
        name = "cudnnPoolingForward"
        return self.dnn.call(name, self.dnn.handle, self.how, scalars[0], *data, scalars[1], *out)

    def names(self, **arguments: Any) -> list[str]:
        assert self.run(**arguments) == SUCCESS
        return self.dnn.names()


def test_a_call_travels_with_its_descriptors(dnn: Dnn) -> None:
    pooling = Pooling(dnn)
    assert pooling.run(x=0x1000, y=0) == SUCCESS
    how = "number", "number", "number", "number", "number", "number", "number", "number"
    values = zip(how, (1, 0, 2, 3, 0, 0, 1, 1), strict=True)
    assert only(dnn.gpu) == Sent(
        "dnn_try",
        0,
        (
            Object("pooling", (Call("cudnnSetPooling2dDescriptor", tuple(values)),)),
            Object("tensor", (tensor_set(*pooling.sizes),)),
            Object("tensor", (tensor_set(*pooling.sizes),)),
        ),
        Call(
            "cudnnPoolingForward",
            (
                ("object", 0),
                ("scalar", F32_ONE),
                ("object", 1),
                ("address", 0x1000),
                ("scalar", F32_ZERO),
                ("object", 2),
                ("null", 0),
            ),
        ),
    )


def test_the_first_call_of_a_shape_waits(dnn: Dnn) -> None:
    one, other = Pooling(dnn), Pooling(dnn)
    assert one.names() == ["dnn_try"]
    assert [one.names(), one.names(x=0x5000, y=0x6000)] == [["dnn_call"]] * 2
    assert other.names() == ["dnn_try"]
    assert one.names(beta=c_float(2)) == ["dnn_try"]  # another call, as far as the library is concerned
    assert one.names(y=0) == ["dnn_try"]
    assert Pooling(dnn, one.sizes).names() == ["dnn_call"]  # descriptors made again are the same
    dnn.ok("cudaSetDevice", 1)  # its library may be another
    dnn.handle, first = dnn.make("cudnnCreate"), dnn.handle
    dnn.gpu.take()
    assert one.names() == ["dnn_try"]
    dnn.ok("cudnnDestroy", dnn.handle)
    dnn.handle = first
    dnn.ok("cudaSetDevice", 0)
    assert one.names() == ["dnn_call"]


def test_a_call_goes_to_the_handles_stream(dnn: Dnn) -> None:
    pooling, stream = Pooling(dnn), c_uint64(dnn.gpu.make("cudaStreamCreateWithFlags", 1))
    dnn.gpu.take()
    dnn.ok("cudnnSetStream", dnn.handle, stream)
    for name in ("dnn_try", "dnn_call"):
        assert pooling.run() == SUCCESS
        op = only(dnn.gpu)
        assert (op.name, op.stream) == (name, stream.value)


def test_a_refused_call_is_tried_again(dnn: Dnn) -> None:
    pooling = Pooling(dnn)
    dnn.tell(b"window too large", NOT_SUPPORTED)
    assert (pooling.run(), dnn.last_words()) == (NOT_SUPPORTED, "window too large")
    assert dnn.names() == ["dnn_try"]
    assert pooling.names() == ["dnn_try"]
    assert pooling.names() == ["dnn_call"]


def test_what_the_worker_could_not_do_is_an_internal_error(dnn: Dnn) -> None:
    pooling = Pooling(dnn)
    dnn.gpu.jitc_fake_next_status(generated_ops.IDS["dnn_try"], 801)
    assert pooling.run() == INTERNAL_ERROR
    assert pooling.names() == ["dnn_try"] * 2
    dnn.gpu.jitc_fake_over(700)
    assert pooling.run() == EXECUTION_FAILED


def test_while_a_stream_is_captured_no_call_waits(dnn: Dnn) -> None:
    pooling = Pooling(dnn)
    with dnn.captured() as stream:
        assert pooling.run() == SUCCESS
        op = sent(dnn.gpu.take()[-1])
        assert (op.name, op.stream) == ("dnn_call", stream.value)
    dnn.gpu.take()
    assert pooling.names() == ["dnn_try"]  # nobody has heard of the captured one


@pytest.mark.parametrize(("type_", "size"), [(0, 4), (HALF, 4), (DOUBLE, 8)])
def test_scalars_go_with_the_data(dnn: Dnn, type_: int, size: int) -> None:
    pooling = Pooling(dnn)
    assert dnn.set_tensor(pooling.x, [1, unique()], type_) == SUCCESS
    number = c_double(0.1)
    assert pooling.run(alpha=number, beta=None) == SUCCESS
    slots = only(dnn.gpu).slots
    assert (slots[1], slots[4]) == (("scalar", bytes(number)[:size]), ("null", 0))


def test_a_setter_called_again_is_sent_once_with_the_last_values(dnn: Dnn) -> None:
    convolution, x, size = dnn.old("convolution"), dnn.tensor(1, unique()), c_size_t()
    filters = dnn.old("filter")

    def ask() -> Object:
        args = dnn.handle, x, filters, convolution, x, 1, byref(size)
        dnn.ok("cudnnGetConvolutionForwardWorkspaceSize", *args)
        return only(dnn.gpu).objects[2]

    for groups in (2, 3):
        dnn.ok("cudnnSetConvolutionMathType", convolution, groups)
        dnn.ok("cudnnSetConvolutionGroupCount", convolution, groups)
    expected = [("cudnnSetConvolutionMathType", 3), ("cudnnSetConvolutionGroupCount", 3)]
    assert ask() == Object("convolution", tuple(Call(name, (("number", value),)) for name, value in expected))
    dnn.ok("cudnnSetConvolutionMathType", convolution, 7)
    assert [call.slots for call in ask().calls] == [(("number", 3),), (("number", 7),)]


def test_an_object_is_sent_once_however_often_it_is_mentioned(dnn: Dnn) -> None:
    x, scale = dnn.tensor(1, unique()), dnn.tensor(1, 1)
    asked = "cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize"
    dnn.tell(struct.pack("<Q", 640))
    assert dnn.size(asked, 1, 2, x, c_uint64(0), x, scale, c_uint64(0)) == 640
    op = only(dnn.gpu)
    assert len(op.objects) == 2
    places = ("object", 0), ("null", 0), ("object", 0), ("object", 1), ("null", 0)
    assert op.slots == (("number", 1), ("number", 2), *places, ("result", 8))


def test_a_question_is_asked_once(dnn: Dnn) -> None:
    asked, sizes = "cudnnGetBatchNormalizationTrainingExReserveSpaceSize", (1, unique())

    def ask(mode: int, x: c_uint64) -> int:
        return dnn.size(asked, mode, 0, c_uint64(0), x)

    for size in (64, 128, 256):
        dnn.tell(struct.pack("<Q", size))
    first, again = dnn.tensor(*sizes), dnn.tensor(*sizes)
    assert [ask(0, first), ask(0, first), ask(0, again)] == [64] * 3
    assert [ask(1, first), ask(1, again), ask(0, first)] == [128, 128, 64]
    assert dnn.set_tensor(first, (1, unique())) == SUCCESS
    assert [ask(0, first), ask(0, again)] == [256, 64]
    assert dnn.names() == ["dnn_ask"] * 3


def test_a_refusal_is_kept_with_its_words(dnn: Dnn) -> None:
    asked, size = "cudnnGetBatchNormalizationTrainingExReserveSpaceSize", c_size_t(7)
    first, second = ((dnn.handle, 0, 0, c_uint64(0), dnn.tensor(1, unique()), byref(size)) for _ in range(2))
    dnn.tell(b"not this shape", NOT_SUPPORTED)
    dnn.tell(b"nor that one", BAD_PARAM)
    assert (dnn.call(asked, *first), dnn.last_words()) == (NOT_SUPPORTED, "not this shape")
    assert (dnn.call(asked, *second), dnn.last_words()) == (BAD_PARAM, "nor that one")
    assert (dnn.call(asked, *first), dnn.last_words()) == (NOT_SUPPORTED, "not this shape")
    assert size.value == 7 and dnn.names() == ["dnn_ask"] * 2


def test_several_results_come_in_their_order(dnn: Dnn) -> None:
    x, w, count = dnn.tensor(1, unique()), dnn.old("filter"), c_int32()
    found = ctypes.create_string_buffer(3 * 48)
    descriptors = x, w, dnn.old("convolution"), x
    dnn.tell(i32(2) + bytes(range(144)))
    name = "cudnnGetConvolutionForwardAlgorithm_v7"
    dnn.ok(name, dnn.handle, *descriptors, 3, byref(count), found)
    assert (count.value, found.raw) == (2, bytes(range(144)))
    assert only(dnn.gpu).slots[-3:] == (("number", 3), ("result", 4), ("result", 144))


def test_measuring_carries_addresses_and_a_workspace(dnn: Dnn) -> None:
    x, w, found = dnn.tensor(1, unique()), dnn.old("filter"), ctypes.create_string_buffer(48)
    name, count = "cudnnFindConvolutionForwardAlgorithmEx", c_int32()
    data = [c_uint64(at) for at in (0x1000, 0x2000, 0x3000, 0x9000)]
    arguments = (x, data[0], w, data[1], dnn.old("convolution"), x, data[2], 1, byref(count), found)
    dnn.ok(name, dnn.handle, *arguments, data[3], c_size_t(77))
    slots = only(dnn.gpu).slots
    assert [value for kind, value in slots if kind == "address"] == [0x1000, 0x2000, 0x3000, 0x9000]
    assert slots[-1] == ("number", 77)
