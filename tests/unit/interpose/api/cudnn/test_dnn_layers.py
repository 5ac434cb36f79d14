"""cuDNN's recurrent layers, dropout and losses: what their descriptors and calls carry beyond the others."""

from __future__ import annotations

import struct
from collections.abc import Callable
from ctypes import byref, c_float, c_int32, c_size_t, c_uint64
from typing import Any

import pytest
from interpose_call_ops import Call, Object, Sent, only
from interpose_dnn import (
    BAD_PARAM,
    DOUBLE,
    FAST_FLOAT,
    HALF,
    INTERNAL_ERROR,
    NOT_SUPPORTED,
    NULL_POINTER,
    SUCCESS,
    Dnn,
    i32,
    list_of,
    unique,
)  # fmt: skip

from jitc.ops import dnn as ops_dnn

PART = struct.Struct("<QIiiI16i")


@pytest.mark.parametrize(("type_", "size"), [(HALF, 2), (0, 4), (FAST_FLOAT, 4), (DOUBLE, 8)])
def test_the_padding_of_a_sequence_is_of_its_type(dnn: Dnn, type_: int, size: int) -> None:
    data, rnn, lengths, number = dnn.old("rnn_data"), dnn.old("rnn"), [unique(), 2], c_uint64(0x0102030405060708)
    dnn.ok("cudnnSetRNNDataDescriptor", data, type_, 0, 7, 2, 3, list_of(lengths), byref(number))
    dnn.ok("cudnnGetRNNTempSpaceSizes", dnn.handle, rnn, 1, data, byref(c_size_t()), byref(c_size_t()))
    (call,) = only(dnn.gpu).objects[1].calls
    assert call.slots[-2:] == (("array", i32(*lengths)), ("scalar", bytes(number)[:size]))


def test_one_of_two_results_may_not_be_wanted(dnn: Dnn) -> None:
    """PyTorch asks for the workspace alone in a backward pass."""
    data, rnn, size = dnn.old("rnn_data"), dnn.old("rnn"), c_size_t()
    asked = "cudnnGetRNNTempSpaceSizes", dnn.handle, rnn, 1, data
    dnn.ok(*asked, byref(size), None)
    assert dnn.call(*asked, None, None) == NULL_POINTER


def test_what_is_mentioned_stays_as_it_was(dnn: Dnn) -> None:
    """Also when the program changes or destroys it: cuDNN copies."""
    dropout, rnn, size = dnn.old("dropout"), dnn.old("rnn"), unique()

    def restore(rate: float) -> None:
        states = c_uint64(0x7000), c_size_t(64), c_uint64(5)
        dnn.ok("cudnnRestoreDropoutDescriptor", dropout, dnn.handle, c_float(rate), *states)

    def ask() -> tuple[Object, ...]:
        assert dnn.size("cudnnGetRNNWeightSpaceSize", rnn) == 0
        return only(dnn.gpu).objects

    restore(0.5)
    dnn.ok("cudnnSetRNNDescriptor_v8", rnn, *range(8), size, 9, 10, 11, dropout, 12)
    restore(0.25)
    slots = ("real", 0.5), ("address", 0x7000), ("number", 64), ("number", 5)
    settings = *(("number", value) for value in (*range(8), size, 9, 10, 11)), ("object", 0), ("number", 12)
    assert ask() == (
        Object("dropout", (Call("cudnnRestoreDropoutDescriptor", slots),)),
        Object("rnn", (Call("cudnnSetRNNDescriptor_v8", settings),)),
    )
    dnn.ok("cudnnSetRNNDescriptor_v8", rnn, *range(8), unique(), 9, 10, 11, dropout, 12)
    dnn.ok("cudnnDestroyDropoutDescriptor", dropout)
    first, _ = ask()
    assert first.calls[0].slots[0] == ("real", 0.25)


def test_labels_are_read_at_the_call(dnn: Dnn) -> None:
    """Their number is told by the batch and by the lengths."""
    batch, loss, size = 3, dnn.old("ctc_loss"), c_size_t()
    x = dnn.tensor(unique(), batch, 5)
    lengths, labels, longest = list_of([2, 0, 1, 99]), list_of([7, 8, 9, 99]), list_of([4, 4, 3, 99])

    def ask(*arrays: Any) -> int:
        return dnn.call("cudnnGetCTCLossWorkspaceSize", dnn.handle, x, x, *arrays, 0, loss, byref(size))

    assert ask(labels, lengths, longest) == SUCCESS
    arrays = i32(7, 8, 9), i32(2, 0, 1), i32(4, 4, 3)
    assert only(dnn.gpu).slots[2:5] == tuple(("array", one) for one in arrays)
    assert [ask(None, lengths, longest), ask(labels, None, longest)] == [NULL_POINTER] * 2
    assert ask(labels, list_of([2, -1, 1]), longest) == BAD_PARAM
    assert dnn.names() == []


def test_states_of_dropout_are_made_once_and_restored_by_what_uses_them(dnn: Dnn) -> None:
    dropout, rnn, seed = dnn.old("dropout"), dnn.old("rnn"), unique()
    settings = c_float(0.5), c_uint64(0x7000), c_size_t(64), c_uint64(seed)
    dnn.ok("cudnnSetDropoutDescriptor", dropout, dnn.handle, *settings)
    slots = ("real", 0.5), ("address", 0x7000), ("number", 64), ("number", seed)
    assert only(dnn.gpu) == Sent("dnn_try", 0, (), Call("cudnnSetDropoutDescriptor", slots))
    dnn.ok("cudnnSetRNNDescriptor_v8", rnn, *[0] * 12, dropout, 0)
    assert dnn.size("cudnnGetRNNWeightSpaceSize", rnn) == 0
    assert only(dnn.gpu).objects[0] == Object("dropout", (Call("cudnnRestoreDropoutDescriptor", slots),))
    dnn.tell(status=NOT_SUPPORTED)
    settings = c_float(0.5), c_uint64(0x7000), c_size_t(64), c_uint64(unique())
    assert dnn.call("cudnnSetDropoutDescriptor", dropout, dnn.handle, *settings) == NOT_SUPPORTED
    dnn.gpu.take()
    dnn.ok("cudnnSetRNNDescriptor_v8", rnn, *[1] * 12, dropout, 0)
    dnn.size("cudnnGetRNNWeightSpaceSize", rnn)
    assert only(dnn.gpu).objects[0].calls[0].slots == slots  # as it was


def part(offset: int, type_: int, *shape: int) -> bytes:
    sizes = [*shape, *[0] * (8 - len(shape))]
    return PART.pack(offset, 1, type_, len(shape), 0, *sizes, *sizes)


class Weights:
    """cudnnGetRNNWeightParams of a layer that no other test has."""

    def __init__(self, dnn: Dnn) -> None:
        self.dnn, self.rnn = dnn, dnn.old("rnn")
        self.matrix, self.bias, self.data = dnn.old("tensor"), dnn.old("tensor"), (c_uint64(7), c_uint64(7))
        dnn.ok("cudnnSetRNNDescriptor_v8", self.rnn, *[0] * 11, unique(), c_uint64(0), 0)

    def ask(self, weights: int, matrix: Callable[[Any], Any] = byref) -> int:
        where = (self.rnn, 1, c_size_t(4096), c_uint64(weights), 2)
        outs = (self.matrix, matrix(self.data[0]), self.bias, byref(self.data[1]))
        return self.dnn.call("cudnnGetRNNWeightParams", self.dnn.handle, *where, *outs)

    def shape(self, tensor: c_uint64) -> tuple[int, list[int]]:
        type_, count, sizes, strides = c_int32(), c_int32(), list_of([0] * 8), list_of([0] * 8)
        self.dnn.ok("cudnnGetTensorNdDescriptor", tensor, 8, byref(type_), byref(count), sizes, strides)
        assert list(sizes) == list(strides)
        return type_.value, list(sizes)[: count.value]


def test_parts_of_weights_are_told_by_offset(dnn: Dnn) -> None:
    assert PART.size == 88 and [name for name, _, _ in ops_dnn.DNN_RECORDS["DnnPart"]][:2] == ["offset", "found"]
    weights = Weights(dnn)
    dnn.tell(part(256, HALF, 1, 4, 3) + part(512, 0, 1, 4, 1))
    assert weights.ask(0x10000) == SUCCESS
    assert [one.value for one in weights.data] == [0x10100, 0x10200]
    assert weights.shape(weights.matrix) == (HALF, [1, 4, 3]) and weights.shape(weights.bias) == (0, [1, 4, 1])
    slots = ("object", 0), ("number", 1), ("number", 4096), ("number", 2), ("result", 2 * PART.size)
    assert only(dnn.gpu).call == Call("cudnnGetRNNWeightParams", slots)
    assert weights.ask(0x20000) == SUCCESS  # wherever the weights are
    assert [one.value for one in weights.data] == [0x20100, 0x20200]
    assert weights.ask(0x20000, lambda _: None) == SUCCESS  # PyTorch asks for one of the two
    assert dnn.names() == []


def test_a_part_that_is_not_there_has_no_address(dnn: Dnn) -> None:
    weights = Weights(dnn)
    dnn.tell(part(0, 0, 1, 2, 2) + bytes(PART.size))
    assert weights.ask(0x10000) == SUCCESS
    assert [one.value for one in weights.data] == [0x10000, 0]


def test_parts_that_nobody_could_mean_do_no_harm(dnn: Dnn) -> None:
    weights = Weights(dnn)
    wild = PART.pack(0, 1, 0, 99, 0, *[1] * 16)
    dnn.tell(wild + PART.pack(0, 1, 0, -5, 0, *[1] * 16))
    assert weights.ask(0x10000) == SUCCESS
    assert weights.shape(weights.matrix) == (0, [1] * 8)
    short = Weights(dnn)
    dnn.tell(bytes(PART.size))
    assert short.ask(0x10000) == INTERNAL_ERROR
