"""The fake cuDNN's dropout states and recurrent networks."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field

import fake_dnn
import numpy as np
import pytest
from fake_dnn import Address, Array, Dnn, list_of

RELU, LSTM, GRU = 0, 2, 3
UNPACKED, PACKED, BY_BATCH = 0, 1, 2
NO_BIAS, BOTH_BIASES = 0, 2
INFERENCE, TRAINING = 0, 1
ADD, SET = 0, 1
STATES = 4096
NOTHING = Address(0)


def dropout(dnn: Dnn, states: Address, seed: int, rate: float = 0.5, how: str = "Set") -> Address:
    one = dnn.make("cudnnCreateDropoutDescriptor")
    arguments = (one, dnn.handle, ctypes.c_float(rate), states, Address(STATES if states else 0), Address(seed))
    dnn.ok(f"cudnn{how}DropoutDescriptor", *arguments)
    return one


def content(dnn: Dnn, states: Address) -> bytes:
    return bytes(dnn.get(states, np.zeros(STATES, np.uint8)))


def test_dropout_states(dnn: Dnn) -> None:
    assert dnn.size("cudnnDropoutGetStatesSize", dnn.handle) == STATES
    states = [dnn.space(STATES) for _ in range(4)]
    for place, seed in zip(states, (1, 1, 2), strict=False):
        dropout(dnn, place, seed)
    dropout(dnn, states[3], 1, how="Restore")
    first, same, other, untouched = (content(dnn, each) for each in states)
    assert first == same != other and untouched == bytes(STATES)
    one = dnn.make("cudnnCreateDropoutDescriptor")
    refused = (one, dnn.handle, ctypes.c_float(0.5), states[0], Address(STATES - 1), Address(1))
    assert dnn.call("cudnnSetDropoutDescriptor", *refused) == fake_dnn.BAD


@dataclass
class Rnn:
    """A network of 2 layers: vectors of 3 in, 4 out; 2 sequences of 3 steps at most."""

    dnn: Dnn
    cell: int = LSTM
    layout: int = UNPACKED
    lengths: tuple[int, int] = (3, 2)
    bias: int = BOTH_BIASES
    dropout: Address = NOTHING
    at: dict[str, Address] = field(default_factory=dict)

    def __post_init__(self) -> None:
        dnn = self.dnn
        self.descriptor = dnn.make("cudnnCreateRNNDescriptor")
        kind = (0, self.cell, self.bias, 0, 0, fake_dnn.FLOAT, fake_dnn.FLOAT, 0)
        dnn.ok("cudnnSetRNNDescriptor_v8", self.descriptor, *kind, 3, 4, 4, 2, self.dropout, 0)
        self.rows = sum(self.lengths) if self.layout == PACKED else 6
        self.x_shape, self.y_shape = self.data(3), self.data(4)
        self.state = dnn.tensor((2, 2, 4))
        self.weight_size = dnn.size("cudnnGetRNNWeightSpaceSize", dnn.handle, self.descriptor)
        self.numbers = self.weight_size // 4
        rng = np.random.default_rng(5)
        sizes = {"x": self.rows * 3, "dy": self.rows * 4, "weights": self.numbers}
        sizes |= dict.fromkeys(("hx", "cx", "dhy", "dcy"), 16)
        for name, size in sizes.items():
            self.at[name] = dnn.put(rng.standard_normal(size).astype(np.float32))
        sizes = {"y": self.rows * 4, "dx": self.rows * 3, "dweights": self.numbers}
        sizes |= dict.fromkeys(("hy", "cy", "dhx", "dcx"), 16)
        for name, size in sizes.items():
            self.at[name] = dnn.put(np.zeros(size, np.float32))
        self.at["lengths"] = dnn.put(np.array(self.lengths, np.int32))
        work, reserve = self.spaces(TRAINING)
        self.space = (Address(work), dnn.space(work), Address(reserve), dnn.space(reserve))

    def data(self, vector: int) -> Address:
        one, fill = self.dnn.make("cudnnCreateRNNDataDescriptor"), ctypes.c_float(-1)
        shape = (fake_dnn.FLOAT, self.layout, 3, 2, vector)
        self.dnn.ok("cudnnSetRNNDataDescriptor", one, *shape, list_of(self.lengths), ctypes.byref(fill))
        return one

    def spaces(self, mode: int) -> tuple[int, int]:
        sizes = [ctypes.c_size_t() for _ in range(2)]
        arguments = (self.dnn.handle, self.descriptor, mode, self.x_shape, *map(ctypes.byref, sizes))
        self.dnn.ok("cudnnGetRNNTempSpaceSizes", *arguments)
        return sizes[0].value, sizes[1].value

    def forward(self, mode: int = TRAINING) -> int:
        at = self.at
        data = (at["lengths"], self.x_shape, at["x"], self.y_shape, at["y"])
        states = (self.state, at["hx"], at["hy"], self.state, at["cx"], at["cy"])
        weights = (self.weight_size, at["weights"])
        start = (self.dnn.handle, self.descriptor, mode)
        return self.dnn.call("cudnnRNNForward", *start, *data, *states, *weights, *self.space)

    def backward_data(self) -> int:
        at = self.at
        data = (at["lengths"], self.y_shape, at["y"], at["dy"], self.x_shape, at["dx"])
        h = (self.state, at["hx"], at["dhy"], at["dhx"])
        c = (self.state, at["cx"], at["dcy"], at["dcx"])
        weights = (self.weight_size, at["weights"])
        start = (self.dnn.handle, self.descriptor)
        return self.dnn.call("cudnnRNNBackwardData_v8", *start, *data, *h, *c, *weights, *self.space)

    def backward_weights(self, mode: int = ADD) -> int:
        at = self.at
        data = (at["lengths"], self.x_shape, at["x"], self.state, at["hx"], self.y_shape, at["y"])
        start = (self.dnn.handle, self.descriptor, mode)
        return self.dnn.call("cudnnRNNBackwardWeights_v8", *start, *data, self.weight_size, at["dweights"], *self.space)

    def all(self) -> dict[str, bytes]:
        """Everything that a step writes."""
        assert [self.forward(), self.backward_data(), self.backward_weights()] == [0, 0, 0]
        sizes = {"y": self.rows * 4, "dx": self.rows * 3, "dweights": self.numbers}
        sizes |= dict.fromkeys(("hy", "cy", "dhx", "dcx"), 16)
        return {name: self.numbers_at(name, size).tobytes() for name, size in sizes.items()}

    def numbers_at(self, name: str, size: int) -> Array:
        return self.dnn.get(self.at[name], np.zeros(size, np.float32))

    def change(self, name: str) -> None:
        before = self.numbers_at(name, 1)
        self.dnn.driver.write(self.at[name], (before + 1).tobytes())


@pytest.mark.parametrize("layout", [UNPACKED, PACKED, BY_BATCH])
def test_a_network_gives_the_same_again(dnn: Dnn, layout: int) -> None:
    first, again = Rnn(dnn, layout=layout).all(), Rnn(dnn, layout=layout).all()
    assert first == again and all(any(each) for each in first.values())
    rows = np.frombuffer(first["y"], np.float32).reshape(-1, 4)
    padding = {UNPACKED: [5], PACKED: [], BY_BATCH: [5]}[layout]
    assert [row for row in range(len(rows)) if np.all(rows[row] == -1)] == padding


@pytest.mark.parametrize("name", ["x", "hx", "cx", "weights"])
def test_every_input_of_forward_shows(dnn: Dnn, name: str) -> None:
    usual, other = Rnn(dnn).all(), Rnn(dnn)
    other.change(name)
    changed = other.all()
    assert all(changed[each] != usual[each] for each in ("y", "hy", "cy", "dx", "dweights"))


@pytest.mark.parametrize("name", ["dy", "dhy", "dcy"])
def test_every_input_of_backward_shows(dnn: Dnn, name: str) -> None:
    usual, other = Rnn(dnn).all(), Rnn(dnn)
    other.change(name)
    assert other.all()["dx"] != usual["dx"]


def test_weight_gradients_are_added_or_set(dnn: Dnn) -> None:
    rnn = Rnn(dnn)
    once = np.frombuffer(rnn.all()["dweights"], np.float32)
    assert rnn.backward_weights() == 0
    assert np.array_equal(rnn.numbers_at("dweights", rnn.numbers), once + once)
    assert rnn.backward_weights(SET) == 0
    assert np.array_equal(rnn.numbers_at("dweights", rnn.numbers), once)


@pytest.mark.parametrize("cell,parts", [(RELU, 2), (LSTM, 8), (GRU, 6)])
@pytest.mark.parametrize("bias", [NO_BIAS, BOTH_BIASES])
def test_weights_lie_one_after_the_other(dnn: Dnn, cell: int, parts: int, bias: int) -> None:
    rnn = Rnn(dnn, cell=cell, bias=bias)
    matrix, vector = (dnn.make("cudnnCreateTensorDescriptor") for _ in range(2))
    matrices, vectors = [], []
    for layer in range(2):
        for part in range(parts):
            places = [ctypes.c_uint64() for _ in range(2)]
            where = (dnn.handle, rnn.descriptor, layer, rnn.weight_size, rnn.at["weights"], part)
            outputs = (matrix, ctypes.byref(places[0]), vector, ctypes.byref(places[1]))
            dnn.ok("cudnnGetRNNWeightParams", *where, *outputs)
            columns = 3 if layer == 0 and part < parts // 2 else 4
            assert dims_of(dnn, matrix) == [1, 4, columns]
            assert dims_of(dnn, vector) == ([1, 4, 1] if bias else [])
            matrices.append((places[0].value, 4 * 4 * columns))
            vectors.append((places[1].value, 4 * 4))
    assert bias or not any(place for place, _ in vectors)
    end = rnn.at["weights"]
    for place, size in [*matrices, *(vectors if bias else [])]:
        assert place == end
        end = Address(end + size)
    assert end == rnn.at["weights"] + rnn.weight_size


def dims_of(dnn: Dnn, tensor: Address) -> list[int]:
    kind, rank, dims, strides = ctypes.c_int(), ctypes.c_int(), list_of([0] * 8), list_of([0] * 8)
    dnn.ok("cudnnGetTensorNdDescriptor", tensor, 8, ctypes.byref(kind), ctypes.byref(rank), dims, strides)
    return list(dims)[: rank.value]


def test_dropout_comes_of_the_states_and_moves_them_on(dnn: Dnn) -> None:
    states = dnn.space(STATES)
    descriptor = dropout(dnn, states, 7)
    before = content(dnn, states)
    first = Rnn(dnn, dropout=descriptor).all()
    after = content(dnn, states)
    second = Rnn(dnn, dropout=descriptor).all()
    dnn.driver.write(states, before)
    again = Rnn(dnn, dropout=descriptor).all()
    assert before != after and first == again != second
    assert Rnn(dnn, dropout=descriptor).forward(INFERENCE) == 0
    assert content(dnn, states) == after


def test_backward_faults_when_forward_left_something_else(dnn: Dnn) -> None:
    rnn = Rnn(dnn)
    assert rnn.forward() == 0
    rnn.change("y")
    assert rnn.backward_data() == 0 and dnn.fault() == fake_dnn.LAUNCH_FAILED


def test_weights_fault_before_the_data_gradient(dnn: Dnn) -> None:
    rnn = Rnn(dnn)
    assert rnn.forward() == 0 and rnn.backward_weights() == 0
    assert dnn.fault() == fake_dnn.LAUNCH_FAILED


def test_lengths_on_the_device_are_those_of_the_descriptor(dnn: Dnn) -> None:
    rnn = Rnn(dnn)
    dnn.driver.write(rnn.at["lengths"], np.array([3, 3], np.int32).tobytes())
    assert rnn.forward() == 0 and dnn.fault() == fake_dnn.LAUNCH_FAILED


def test_what_networks_refuse(dnn: Dnn) -> None:
    rnn = Rnn(dnn)
    assert rnn.spaces(INFERENCE)[1] == 0 < rnn.spaces(TRAINING)[1]
    rnn.space = (Address(rnn.space[0] - 1), *rnn.space[1:])
    assert rnn.forward() == fake_dnn.BAD
    rnn.x_shape = rnn.y_shape
    assert rnn.forward() == fake_dnn.SHAPE
    one, shape = dnn.make("cudnnCreateRNNDataDescriptor"), (fake_dnn.FLOAT, PACKED, 3, 2, 4)
    assert dnn.call("cudnnSetRNNDataDescriptor", one, *shape, list_of((2, 3)), None) == fake_dnn.BAD
