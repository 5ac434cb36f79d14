"""Graphs of the fake cuDNN: convolutions and their gradients against PyTorch, chains, values from the host."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import fake_dnn
import numpy as np
import pytest
import torch
from fake_dnn import Address, Array, Dnn, double, enum, integers, nodes, pointers, random, single

X, Y = fake_dnn.X, fake_dnn.Y
W, BIAS, SUM, BEFORE = 3, 4, 5, 6


@dataclass(frozen=True)
class Case:
    """A convolution: sizes, and how the filter moves."""

    x: tuple[int, ...] = (2, 4, 6, 5)
    w: tuple[int, ...] = (6, 4, 3, 2)
    moves: dict[str, Any] = field(default_factory=dict)
    layout: Callable[[Any], list[int]] = fake_dnn.strides_of

    def output(self) -> tuple[int, ...]:
        return tuple(self.forward(torch.zeros(self.x), torch.zeros(self.w)).shape)

    def forward(self, x: Any, w: Any) -> Any:
        return getattr(torch.nn.functional, f"conv{len(self.x) - 2}d")(x, w, **self.moves)

    def move(self, name: str, otherwise: int) -> list[int]:
        value = self.moves.get(name, otherwise)
        return [value] * (len(self.x) - 2) if isinstance(value, int) else list(value)

    def descriptor(self, dnn: Dnn) -> Address:
        padding = integers(*self.move("padding", 0))
        values = {100: fake_dnn.data_type(0), 101: enum(7, 1), 102: integers(*self.move("dilation", 1))}
        values |= {103: integers(*self.move("stride", 1)), 104: padding, 105: padding}
        return dnn.node(fake_dnn.CONVOLUTION, values | {106: integers(len(self.x) - 2)})

    def tensors(self, dnn: Dnn, **how: Any) -> list[Address]:
        shapes = {X: self.x, W: self.w, Y: self.output()}
        return [dnn.graph_tensor(uid, dims, strides=self.layout(dims), **how) for uid, dims in shapes.items()]

    def stored(self, array: Array) -> Array:
        """As it lies in memory."""
        return np.moveaxis(array, 1, -1) if self.layout is fake_dnn.channels_last else array

    def seen(self, array: Array) -> Array:
        return np.moveaxis(array, -1, 1) if self.layout is fake_dnn.channels_last else array


CASES = {
    "plain": Case(),
    "padded": Case(moves={"padding": (2, 1)}),
    "strided": Case(moves={"stride": (2, 3), "padding": 1}),
    "dilated": Case(moves={"dilation": (2, 1)}),
    "groups": Case(w=(6, 2, 3, 2), moves={"groups": 2, "padding": 1}),
    "depthwise": Case(w=(8, 1, 3, 2), moves={"groups": 4}),
    "channels_last": Case(moves={"stride": 2, "padding": 1}, layout=fake_dnn.channels_last),
    "one_dimension": Case((2, 4, 9), (6, 4, 3), {"stride": 2, "padding": 2}),
    "three_dimensions": Case((1, 2, 4, 5, 3), (2, 2, 2, 3, 2), {"padding": 1}),
}
FORWARD = (fake_dnn.FORWARD, (704, 703, 705), (700, 701, 702))
DATA = (fake_dnn.DATA_BACKWARD, (710, 709, 711), (706, 707, 708))
FILTER = (fake_dnn.FILTER_BACKWARD, (716, 715, 717), (712, 713, 714))


def operation(dnn: Dnn, case: Case, kind: Any, tensors: list[Address], blend: tuple[float, float] = (1, 0)) -> Address:
    node, names, (of_alpha, of_beta, convolution) = kind
    values = {name: nodes(each) for name, each in zip(names, tensors, strict=True)}
    values |= {of_alpha: single(blend[0]), of_beta: single(blend[1]), convolution: nodes(case.descriptor(dnn))}
    return dnn.node(node, values)


def expected(case: Case, x: Array, w: Array, dy: Array) -> list[Array]:
    """The output and the gradients."""
    inputs = [torch.from_numpy(each).requires_grad_() for each in (x, w)]
    out = case.forward(*inputs)
    out.backward(torch.from_numpy(dy))
    return [out.detach().numpy(), *(each.grad.numpy() for each in inputs if each.grad is not None)]


@pytest.mark.parametrize("engine", [0, 1])
@pytest.mark.parametrize("name", CASES)
def test_convolutions(dnn: Dnn, name: str, engine: int) -> None:
    case = CASES[name]
    x, w, dy = random(*case.x), random(*case.w), random(*case.output())
    wanted = expected(case, x, w, dy)
    content = {X: x, W: w, Y: dy}
    for kind, result, right in zip((FORWARD, DATA, FILTER), (Y, X, W), wanted, strict=True):
        places = {uid: dnn.put(case.stored(each)) for uid, each in content.items()}
        dnn.run(operation(dnn, case, kind, case.tensors(dnn)), places=places, engine=engine)
        got = case.seen(dnn.get(places[result], case.stored(content[result])))
        assert np.allclose(got, right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("type_,torch_type", [(fake_dnn.HALF, torch.float16), (fake_dnn.BFLOAT16, torch.bfloat16)])
def test_sixteen_bits_are_rounded_once(dnn: Dnn, type_: int, torch_type: torch.dtype) -> None:
    case = Case()
    x, w = (torch.from_numpy(random(*each)).to(torch_type) for each in (case.x, case.w))
    bits = [each.view(torch.int16).numpy() for each in (x, w)]
    places = dict(zip((X, W, Y), map(dnn.put, [*bits, np.zeros(case.output(), np.int16)]), strict=True))
    dnn.run(operation(dnn, case, FORWARD, case.tensors(dnn, type_=type_)), places=places)
    got = torch.from_numpy(dnn.get(places[Y], np.zeros(case.output(), np.int16)).copy()).view(torch_type)
    assert torch.allclose(got.float(), case.forward(x.float(), w.float()), rtol=1e-2, atol=1e-2)


def test_alpha_and_beta(dnn: Dnn) -> None:
    case = Case()
    x, w, old = random(*case.x), random(*case.w), random(*case.output())
    places = {X: dnn.put(x), W: dnn.put(w), Y: dnn.put(old)}
    dnn.run(operation(dnn, case, FORWARD, case.tensors(dnn), (0.5, 2)), places=places)
    right = 0.5 * expected(case, x, w, old)[0] + 2 * old
    assert np.allclose(dnn.get(places[Y], old), right, rtol=1e-4, atol=1e-5)


def test_the_engine_shows_in_the_result(dnn: Dnn) -> None:
    case = Case(x=(1, 64, 8, 8), w=(2, 64, 3, 3))
    places = {X: dnn.put(random(*case.x)), W: dnn.put(random(*case.w)), Y: dnn.space(2 * 36 * 4)}
    results = []
    for engine in (0, 1, 0):
        dnn.run(operation(dnn, case, FORWARD, case.tensors(dnn)), places=places, engine=engine)
        results.append(dnn.get(places[Y], np.zeros(case.output(), np.float32)).copy())
    assert np.allclose(results[0], results[1], rtol=1e-4, atol=1e-4)
    assert not np.array_equal(results[0], results[1]) and np.array_equal(results[0], results[2])


@pytest.mark.parametrize("engine", [0, 1])
def test_convolution_with_bias_and_relu_through_virtual_tensors(dnn: Dnn, engine: int) -> None:
    case = Case(moves={"padding": 1})
    x, w, bias = random(*case.x), random(*case.w), random(1, 6, 1, 1)
    before, plus = (dnn.graph_tensor(uid, case.output(), virtual=True) for uid in (BEFORE, SUM))
    inputs = case.tensors(dnn)
    y, of_bias = inputs[2], dnn.graph_tensor(BIAS, bias.shape)
    operations = [
        operation(dnn, case, FORWARD, [*inputs[:2], before]),
        dnn.pointwise(fake_dnn.ADD, before, plus, of_bias),
        dnn.pointwise(fake_dnn.RELU, plus, y),
    ]
    places = {X: dnn.put(x), W: dnn.put(w), BIAS: dnn.put(bias), Y: dnn.space(x.nbytes * 4)}
    dnn.run(*operations, places=places, engine=engine)
    right = np.maximum(expected(case, x, w, np.zeros(case.output(), np.float32))[0] + bias, 0)
    assert np.allclose(dnn.get(places[Y], right), right, rtol=1e-4, atol=1e-5)


def test_pointwise_operations(dnn: Dnn) -> None:
    x, b = random(2, 3, 4), random(2, 1, 4)
    tensors = [dnn.graph_tensor(uid, each.shape) for uid, each in ((X, x), (BIAS, b), (Y, x))]
    places = {X: dnn.put(x), BIAS: dnn.put(b), Y: dnn.put(x)}
    wanted = {
        fake_dnn.ADD: 2 * x + np.float32(0.5) * b,
        fake_dnn.MULTIPLY: (2 * x) * (np.float32(0.5) * b),
        fake_dnn.IDENTITY: x,
        fake_dnn.RELU: np.maximum(x, 0),
    }
    for mode, right in wanted.items():
        binary = mode in (fake_dnn.ADD, fake_dnn.MULTIPLY)
        scalars = {"alpha1": 2.0, "alpha2": 0.5} if binary else {}
        dnn.run(dnn.pointwise(mode, tensors[0], tensors[2], tensors[1] if binary else 0, **scalars), places=places)
        assert np.array_equal(dnn.get(places[Y], x), right)


def test_a_tensor_by_value_is_read_from_the_host_by_the_call(dnn: Dnn) -> None:
    x, value = random(1, 4, 1), ctypes.c_float(3)
    tensors = [dnn.graph_tensor(X, x.shape), dnn.graph_tensor(Y, x.shape)]
    by_value = dnn.graph_tensor(BIAS, (1, 1, 1), by_value=True)
    graph = dnn.graph(dnn.pointwise(fake_dnn.MULTIPLY, tensors[0], tensors[1], by_value))
    places = {X: dnn.put(x), Y: dnn.put(x), BIAS: ctypes.addressof(value)}
    gate = dnn.driver.gate(dnn.stream)
    assert dnn.execute(dnn.plan(dnn.configs(graph)[3]), places) == 0
    value.value = 5
    gate.open()
    assert np.array_equal(dnn.get(places[Y], x), 3 * x)


def test_what_operations_and_graphs_refuse(dnn: Dnn) -> None:
    case = Case()
    tensors = case.tensors(dnn)
    values = {name: nodes(each) for name, each in zip((704, 703, 705), tensors, strict=True)}
    other = replace(case, moves={"padding": 1}).descriptor(dnn)
    wrong = dnn.node(fake_dnn.FORWARD, values | {702: nodes(other), 700: double(1)}, False)
    assert dnn.call("cudnnBackendFinalize", wrong) == fake_dnn.SHAPE
    virtual = [dnn.graph_tensor(uid, (1, 4, 1), virtual=True) for uid in (X, Y)]
    copy = dnn.pointwise(fake_dnn.IDENTITY, *virtual)
    graph = dnn.node(fake_dnn.GRAPH, {800: pointers(dnn.handle, type_=0), 801: nodes(copy)}, False)
    assert dnn.call("cudnnBackendFinalize", graph) == fake_dnn.NOT_SUPPORTED
    how = dnn.node(fake_dnn.POINTWISE, {0: enum(14, 104), 1: fake_dnn.data_type(0)})
    gelu = dnn.node(
        fake_dnn.OPERATION_POINTWISE, {750: nodes(how), 751: nodes(virtual[0]), 753: nodes(virtual[1])}, False
    )
    assert dnn.call("cudnnBackendFinalize", gelu) == fake_dnn.NOT_SUPPORTED
