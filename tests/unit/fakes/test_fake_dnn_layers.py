"""The fake cuDNN's handles, and its older API: descriptors, convolutions, batch normalization against PyTorch."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fake_dnn
import numpy as np
import pytest
import torch
from fake_dnn import Address, Array, Dnn, list_of, random, scalar
from fake_driver import Driver
from toolkit.fakes import fake_calls

SPATIAL, PERSISTENT = 1, 2
EPSILON, FACTOR = 1e-5, 0.25
NOTHING = Address(0)


def test_a_handle_needs_a_context(dnn: Dnn, driver: Driver) -> None:
    out = ctypes.c_uint64()
    driver.cuCtxSetCurrent(None)
    assert dnn.call("cudnnCreate", ctypes.byref(out)) == 1001
    assert "context" in dnn.last_error()


def test_handles_and_versions(dnn: Dnn) -> None:
    assert dnn.make("cudnnGetStream", dnn.handle) == dnn.stream
    assert (dnn.library.cudnnGetVersion(), dnn.library.cudnnGetCudartVersion()) == (91900, 13000)
    parts = ctypes.c_int()
    for each, right in enumerate((9, 19, 0)):
        dnn.ok("cudnnGetProperty", each, ctypes.byref(parts))
        assert parts.value == right
    dnn.library.cudnnGetErrorString.restype = ctypes.c_char_p
    assert dnn.library.cudnnGetErrorString(3000) == b"CUDNN_STATUS_NOT_SUPPORTED"
    tensor = dnn.tensor((1, 2))
    assert dnn.call("cudnnSetStream", tensor, Address(0)) == fake_dnn.BAD
    assert dnn.call("cudnnSetStream", NOTHING, Address(0)) == fake_dnn.NULL
    dnn.ok("cudnnDestroy", dnn.handle)
    assert dnn.call("cudnnDestroy", dnn.handle) == fake_dnn.BAD


def test_a_failure_that_was_asked_for(driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JITC_FAKE_CUDA", str(driver.path))
    monkeypatch.setenv("JITC_FAKE_FAIL", "cudnnSetStream:2=5000")
    dnn = Dnn(driver, tmp_path)
    assert [dnn.call("cudnnSetStream", dnn.handle, Address(0)) for _ in range(2)] == [5000, 0]


def test_tensors_and_filters_tell_what_was_set(dnn: Dnn) -> None:
    numbers = [ctypes.c_int() for _ in range(3)]
    dims, strides = list_of([0] * 8), list_of([0] * 8)
    one = dnn.tensor((2, 3, 4), (12, 1, 3), fake_dnn.HALF)
    kind, rank = (ctypes.byref(each) for each in numbers[:2])
    dnn.ok("cudnnGetTensorNdDescriptor", one, 2, kind, rank, dims, strides)
    assert [each.value for each in numbers[:2]] == [fake_dnn.HALF, 3]
    assert (list(dims)[:3], list(strides)[:3]) == ([2, 3, 0], [12, 1, 0])
    one = dnn.filter((5, 3, 2, 2), layout=1)
    dnn.ok("cudnnGetFilterNdDescriptor", one, 8, *map(ctypes.byref, numbers), dims)
    assert [each.value for each in numbers] == [fake_dnn.FLOAT, 1, 4] and list(dims)[:4] == [5, 3, 2, 2]


def test_what_descriptors_refuse(dnn: Dnn) -> None:
    one = dnn.tensor((2, 3))
    sizes = (list_of((2, 0)), list_of((3, 1)))
    assert dnn.call("cudnnSetTensorNdDescriptor", one, 0, 2, *sizes) == fake_dnn.BAD
    assert dnn.call("cudnnSetTensorNdDescriptor", one, 0, 9, *sizes) == fake_dnn.NOT_SUPPORTED
    assert dnn.call("cudnnSetTensorNdDescriptor", one, 0, 2, None, sizes[1]) == fake_dnn.NULL
    assert dnn.call("cudnnSetTensorNdDescriptor", one, 99, 2, sizes[1], sizes[1]) == fake_dnn.NOT_SUPPORTED
    many, wide = list_of([1 << 20] * 8), list_of((1, (1 << 30) + 1))
    assert dnn.call("cudnnSetTensorNdDescriptor", one, 0, 8, many, many) == fake_dnn.NOT_SUPPORTED
    assert dnn.call("cudnnSetTensorNdDescriptor", one, 0, 2, sizes[1], wide) == fake_dnn.NOT_SUPPORTED
    filter_ = dnn.filter((1, 1))
    for layout in (0, 1):
        assert dnn.call("cudnnSetFilterNdDescriptor", filter_, 0, layout, 8, many) == fake_dnn.NOT_SUPPORTED
        assert dnn.call("cudnnSetFilterNdDescriptor", filter_, 0, layout, 2, sizes[0]) == fake_dnn.BAD
    assert dnn.call("cudnnDestroyFilterDescriptor", one) == fake_dnn.BAD
    dnn.ok("cudnnDestroyTensorDescriptor", one)
    assert dnn.call("cudnnDestroyTensorDescriptor", one) == fake_dnn.BAD


@pytest.mark.parametrize("kind", ["Activation", "Pooling", "Convolution", "Dropout", "RNN", "RNNData", "CTCLoss"])
def test_every_kind_is_made_and_destroyed_once(dnn: Dnn, kind: str) -> None:
    one = dnn.make(f"cudnnCreate{kind}Descriptor")
    dnn.ok(f"cudnnDestroy{kind}Descriptor", one)
    assert dnn.call(f"cudnnDestroy{kind}Descriptor", one) == fake_dnn.BAD


def test_what_is_not_computed_is_refused_after_its_descriptors(dnn: Dnn) -> None:
    pooling = dnn.make("cudnnCreatePoolingDescriptor")
    dnn.ok("cudnnSetPooling2dDescriptor", pooling, 0, 0, 2, 2, 0, 0, 2, 2)
    x, y, place = dnn.tensor((1, 1, 4, 4)), dnn.tensor((1, 1, 2, 2)), dnn.space(64)
    run = (scalar(1), x, place, scalar(0), y, place)
    assert dnn.call("cudnnPoolingForward", dnn.handle, pooling, *run) == fake_dnn.NOT_SUPPORTED
    assert dnn.call("cudnnPoolingForward", dnn.handle, x, *run) == fake_dnn.BAD


@dataclass
class Older:
    """A convolution of the older API: two groups, padding, another stride; the filter by channels, or not."""

    dnn: Dnn
    layout: int = 0

    def __post_init__(self) -> None:
        self.x, self.w, self.dy = random(2, 4, 6, 5), random(6, 2, 3, 2), random(2, 6, 3, 2)
        arrays = (self.x, self.w, self.dy)
        self.places = [self.dnn.put(each) for each in arrays]
        if self.layout == 1:
            self.places[1] = self.dnn.put(np.moveaxis(self.w, 1, -1))
        self.shapes = [
            self.dnn.tensor(self.x.shape),
            self.dnn.filter(self.w.shape, self.layout),
            self.dnn.tensor(self.dy.shape),
        ]
        self.how = self.dnn.make("cudnnCreateConvolutionDescriptor")
        moves = [list_of(each) for each in ((1, 0), (2, 2), (1, 1))]
        self.dnn.ok("cudnnSetConvolutionNdDescriptor", self.how, 2, *moves, 1, 0)
        self.dnn.ok("cudnnSetConvolutionGroupCount", self.how, 2)
        self.dnn.ok("cudnnSetConvolutionMathType", self.how, 1)
        self.workspace = self.dnn.space(4096)

    def expected(self) -> list[Array]:
        x, w = (torch.from_numpy(each).requires_grad_() for each in (self.x, self.w))
        out = torch.nn.functional.conv2d(x, w, stride=2, padding=(1, 0), groups=2)
        torch.autograd.backward(out, torch.from_numpy(self.dy))
        gradients = [each.grad.numpy() for each in (x, w) if each.grad is not None]
        return [*gradients, out.detach().numpy()]

    def run(self, name: str, order: tuple[int, int, int], algorithm: int, size: int = 4096) -> int:
        first, second, result = ((self.shapes[each], self.places[each]) for each in order)
        middle = (self.how, algorithm, self.workspace, Address(size))
        inputs = (self.dnn.handle, scalar(2), *first, *second)
        return self.dnn.call(name, *inputs, *middle, scalar(0), *result)

    def suggestions(self, name: str, order: tuple[int, int, int], asked: int) -> list[tuple[int, int, int]]:
        """Algorithm, status and memory."""
        out, count = ctypes.create_string_buffer(48 * 4), ctypes.c_int()
        first, second, result = (self.shapes[each] for each in order)
        arguments = (first, second, self.how, result, asked, ctypes.byref(count), out)
        self.dnn.ok(name, self.dnn.handle, *arguments)
        found = [struct.unpack_from("<iif4xQ", out, 48 * each) for each in range(count.value)]
        return [(algorithm, status, memory) for algorithm, status, _, memory in found]


KINDS = {"Forward": (0, 1, 2), "BackwardData": (1, 2, 0), "BackwardFilter": (0, 2, 1)}


@pytest.mark.parametrize("algorithm", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_older_convolutions(dnn: Dnn, kind: str, algorithm: int) -> None:
    older, order = Older(dnn), KINDS[kind]
    assert older.run(f"cudnnConvolution{kind}", order, algorithm) == 0
    right = 2 * older.expected()[order[2]]
    assert np.allclose(dnn.get(older.places[order[2]], right), right, rtol=1e-4, atol=1e-5)


def test_a_filter_with_its_channels_last(dnn: Dnn) -> None:
    older = Older(dnn, layout=1)
    assert older.run("cudnnConvolutionForward", KINDS["Forward"], 0) == 0
    right = 2 * older.expected()[2]
    assert np.allclose(dnn.get(older.places[2], right), right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_algorithms_and_their_workspaces(dnn: Dnn, kind: str) -> None:
    older, order = Older(dnn), KINDS[kind]
    name = f"cudnnGetConvolution{kind}Algorithm_v7"
    assert older.suggestions(name, order, 1) == [(1, 0, 4096)]
    assert older.suggestions(name, order, 4) == [(1, 0, 4096), (0, 0, 0)]
    first, second, result = (older.shapes[each] for each in order)
    sizes = (f"cudnnGetConvolution{kind}WorkspaceSize", dnn.handle, first, second, older.how, result)
    assert [dnn.size(*sizes, each) for each in (0, 1)] == [0, 4096]
    assert dnn.call(*sizes, 5, ctypes.byref(ctypes.c_size_t())) == fake_dnn.NOT_SUPPORTED
    assert older.run(f"cudnnConvolution{kind}", order, 1, 100) == fake_dnn.BAD
    dnn.ok("cudnnSetConvolutionGroupCount", older.how, 1)
    assert older.run(f"cudnnConvolution{kind}", order, 0) == fake_dnn.SHAPE


def test_finding_gives_what_suggesting_gives(dnn: Dnn) -> None:
    older = Older(dnn)
    out, count = ctypes.create_string_buffer(48 * 2), ctypes.c_int()
    pairs = [each for pair in zip(older.shapes, older.places, strict=True) for each in pair]
    rest = (2, ctypes.byref(count), out, older.workspace, Address(4096))
    dnn.ok("cudnnFindConvolutionForwardAlgorithmEx", dnn.handle, *pairs[:4], older.how, *pairs[4:], *rest)
    assert count.value == 2 and [struct.unpack_from("<i", out, at)[0] for at in (0, 48)] == [1, 0]


@dataclass
class Norm:
    """A batch normalization of three channels."""

    dnn: Dnn
    mode: int = SPATIAL

    def __post_init__(self) -> None:
        put = self.dnn.put
        self.x, self.dy = random(4, 3, 2, 5), random(4, 3, 2, 5)
        self.scale, self.bias, self.mean, self.variance = random(3), random(3), random(3), abs(random(3)) + 1
        self.shape, self.channels = self.dnn.tensor(self.x.shape), self.dnn.tensor((1, 3, 1, 1))
        self.at = {name: put(getattr(self, name)) for name in ("x", "dy", "scale", "bias", "mean", "variance")}
        self.at |= {name: put(np.zeros_like(self.x)) for name in ("y", "dx")}
        self.at |= {name: put(np.zeros(3, np.float32)) for name in ("saved_mean", "inverse", "dscale", "dbias")}
        shape, channels = self.shape, self.channels
        kind = (self.dnn.handle, self.mode, 0)
        name, forward = "cudnnGetBatchNormalization", (shape, NOTHING, shape, channels, NOTHING)
        backward = (shape, shape, shape, NOTHING, shape, channels, NOTHING)
        self.forward_size = self.dnn.size(f"{name}ForwardTrainingExWorkspaceSize", *kind, *forward)
        self.backward_size = self.dnn.size(f"{name}BackwardExWorkspaceSize", *kind, *backward)
        self.reserve_size = self.dnn.size(f"{name}TrainingExReserveSpaceSize", *kind, NOTHING, shape)
        self.workspace = self.dnn.space(max(self.forward_size, self.backward_size))
        self.reserve = self.dnn.space(self.reserve_size)

    def spaces(self, size: Address) -> tuple[Any, ...]:
        return (NOTHING, self.workspace, size, self.reserve, self.reserve_size)

    def forward(self, ops: int = 0) -> int:
        at, shape = self.at, self.shape
        data = (shape, at["x"], NOTHING, NOTHING, shape, at["y"], self.channels, at["scale"], at["bias"])
        running = (FACTOR, at["mean"], at["variance"], EPSILON, at["saved_mean"], at["inverse"])
        start = (self.dnn.handle, self.mode, ops, scalar(1), scalar(0))
        spaces = self.spaces(self.forward_size)
        return self.dnn.call("cudnnBatchNormalizationForwardTrainingEx", *start, *data, *running, *spaces)

    def backward(self) -> int:
        at, shape = self.at, self.shape
        start = (self.dnn.handle, self.mode, 0, scalar(1), scalar(0), scalar(1), scalar(0), shape, at["x"])
        data = (NOTHING, NOTHING, shape, at["dy"], NOTHING, NOTHING, shape, at["dx"], self.channels)
        parameters = (at["scale"], NOTHING, at["dscale"], at["dbias"], EPSILON, at["saved_mean"], at["inverse"])
        spaces = self.spaces(self.backward_size)
        return self.dnn.call("cudnnBatchNormalizationBackwardEx", *start, *data, *parameters, *spaces)

    def inference(self) -> int:
        at, shape = self.at, self.shape
        data = (scalar(1), scalar(0), shape, at["x"], shape, at["y"], self.channels, at["scale"], at["bias"])
        rest = (at["mean"], at["variance"], EPSILON)
        return self.dnn.call("cudnnBatchNormalizationForwardInference", self.dnn.handle, self.mode, *data, *rest)

    def close(self, name: str, right: torch.Tensor | None) -> bool:
        assert right is not None
        wanted = right.detach().numpy()
        return bool(np.allclose(self.dnn.get(self.at[name], wanted), wanted, rtol=1e-4, atol=1e-5))


@pytest.mark.parametrize("mode", [SPATIAL, PERSISTENT])
def test_batch_normalization_in_training(dnn: Dnn, mode: int) -> None:
    norm = Norm(dnn, mode)
    assert norm.forward() == 0 and norm.backward() == 0
    x, scale, bias = (torch.from_numpy(each).requires_grad_() for each in (norm.x, norm.scale, norm.bias))
    mean, variance = torch.from_numpy(norm.mean.copy()), torch.from_numpy(norm.variance.copy())
    y = torch.nn.functional.batch_norm(x, mean, variance, scale, bias, True, FACTOR, EPSILON)
    torch.autograd.backward(y, torch.from_numpy(norm.dy))
    wanted: dict[str, torch.Tensor | None] = {
        "y": y,
        "mean": mean,
        "variance": variance,
        "saved_mean": x.mean((0, 2, 3)),
    }
    wanted |= {"dx": x.grad, "dscale": scale.grad, "dbias": bias.grad}
    for name, right in wanted.items():
        assert norm.close(name, right), name


def test_batch_normalization_in_inference(dnn: Dnn) -> None:
    norm = Norm(dnn)
    assert norm.inference() == 0
    x, *rest = map(torch.from_numpy, (norm.x, norm.mean, norm.variance, norm.scale, norm.bias))
    mean, variance, scale, bias = rest
    assert norm.close("y", torch.nn.functional.batch_norm(x, mean, variance, scale, bias, eps=EPSILON))


def test_backward_faults_without_its_reserve_space(dnn: Dnn) -> None:
    norm = Norm(dnn)
    assert norm.forward() == 0
    dnn.driver.synchronize(dnn.stream)
    dnn.driver.write(norm.reserve + 8, bytes(8))
    assert norm.backward() == 0
    assert dnn.fault() == fake_dnn.LAUNCH_FAILED


def test_what_batch_normalization_refuses(dnn: Dnn, fake_log: Path) -> None:
    norm = Norm(dnn)
    assert norm.forward(ops=1) == fake_dnn.NOT_SUPPORTED
    norm.mode = 0
    assert norm.forward() == fake_dnn.NOT_SUPPORTED
    norm.mode, norm.forward_size = SPATIAL, Address(norm.forward_size - 1)
    assert norm.forward() == fake_dnn.BAD
    norm.channels = dnn.tensor((1, 2, 1, 1))
    assert norm.forward() == fake_dnn.SHAPE
    lines = [each for each in fake_calls(fake_log) if each.name == "cudnnBatchNormalizationForwardTrainingEx"]
    assert [each.result for each in lines] == [3000, 3000, 2000, 2008]
    assert lines[0].args["factor"] == FACTOR and lines[0].args["x"] == hex(norm.at["x"])
