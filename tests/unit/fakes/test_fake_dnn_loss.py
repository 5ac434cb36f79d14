"""The fake cuDNN's CTC loss and spatial transformers."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fake_dnn
import numpy as np
import torch
from fake_dnn import Address, Array, Dnn, list_of, random, scalar
from toolkit.fakes import fake_calls


@dataclass
class Loss:
    """The loss of 2 sequences: 4 steps, 3 classes."""

    dnn: Dnn

    def __post_init__(self) -> None:
        dnn = self.dnn
        self.probabilities = abs(random(4, 2, 3))
        self.labels, self.label_lengths, self.input_lengths = (1, 2, 1), (2, 1), (4, 3)
        self.descriptor = dnn.make("cudnnCreateCTCLossDescriptor")
        dnn.ok("cudnnSetCTCLossDescriptor_v9", self.descriptor, 0, 1, 0, 8)
        self.shape = dnn.tensor((4, 2, 3))
        self.input = dnn.put(self.probabilities)
        self.costs, self.gradients = dnn.space(8), dnn.space(4 * 24)
        self.size = dnn.size("cudnnGetCTCLossWorkspaceSize_v8", dnn.handle, 0, self.descriptor, self.shape, self.shape)
        self.workspace = dnn.space(self.size)

    def lists(self) -> list[Any]:
        return [list_of(each) for each in (self.labels, self.label_lengths, self.input_lengths)]

    def on_host(self, lists: list[Any]) -> int:
        result = (self.costs, self.shape, self.gradients, 0, self.descriptor, self.workspace, self.size)
        return self.dnn.call("cudnnCTCLoss", self.dnn.handle, self.shape, self.input, *lists, *result)

    def on_device(self) -> int:
        lists = [self.dnn.put(np.array(each, np.int32)) for each in self.lists()]
        start = (self.dnn.handle, 0, self.descriptor, self.shape, self.input)
        rest = (self.costs, self.shape, self.gradients, self.size, self.workspace)
        return self.dnn.call("cudnnCTCLoss_v8", *start, *lists, *rest)

    def results(self) -> tuple[Array, Array]:
        get = self.dnn.get
        return get(self.costs, np.zeros(2, np.float32)).copy(), get(self.gradients, self.probabilities).copy()


def test_the_loss_with_lists_on_the_host_and_on_the_device(dnn: Dnn, fake_log: Path) -> None:
    loss = Loss(dnn)
    lists = loss.lists()
    gate = dnn.driver.gate(dnn.stream)
    assert loss.on_host(lists) == 0
    for each in lists:
        ctypes.memset(each, 0, ctypes.sizeof(each))
    gate.open()
    costs, gradients = loss.results()
    p = loss.probabilities
    assert np.allclose(costs, [4 - p[0, 0, 1] - p[1, 0, 2] - p[2, 0, 1] - p[3, 0, 2], 3 - p[:3, 1, 1].sum()])
    assert not gradients[3, 1].any() and gradients[0, 0, 1] == p[0, 0, 1] - 1
    assert loss.on_device() == 0
    assert all(np.array_equal(a, b) for a, b in zip((costs, gradients), loss.results(), strict=True))
    (line,) = [each.args for each in fake_calls(fake_log) if each.name == "cudnnCTCLoss"]
    assert line["labels_bytes"] == np.array(loss.labels, np.int32).tobytes().hex()


def test_labels_that_there_are_not(dnn: Dnn) -> None:
    loss = Loss(dnn)
    loss.labels = (1, 3, 1)
    assert loss.on_host(loss.lists()) == fake_dnn.BAD
    assert loss.on_device() == 0 and dnn.fault() == fake_dnn.LAUNCH_FAILED


def transformer(dnn: Dnn, dims: tuple[int, ...]) -> Address:
    one = dnn.make("cudnnCreateSpatialTransformerDescriptor")
    dnn.ok("cudnnSetSpatialTransformerNdDescriptor", one, 0, fake_dnn.FLOAT, len(dims), list_of(dims))
    return one


def test_grids(dnn: Dnn) -> None:
    dims = (2, 3, 4, 5)
    one, theta, slopes = transformer(dnn, dims), random(2, 2, 3), random(2, 4, 5, 2)
    grid, dtheta = dnn.put(slopes), dnn.put(theta)
    dnn.ok("cudnnSpatialTfGridGeneratorForward", dnn.handle, one, dnn.put(theta), grid)
    dnn.ok("cudnnSpatialTfGridGeneratorBackward", dnn.handle, one, dnn.put(slopes), dtheta)
    of = torch.from_numpy(theta).requires_grad_()
    right = torch.nn.functional.affine_grid(of, list(dims), align_corners=True)
    torch.autograd.backward(right, torch.from_numpy(slopes))
    assert of.grad is not None
    assert np.allclose(dnn.get(grid, slopes), right.detach().numpy(), rtol=1e-4, atol=1e-5)
    assert np.allclose(dnn.get(dtheta, theta), of.grad.numpy(), rtol=1e-4, atol=1e-4)


def test_samplers(dnn: Dnn) -> None:
    dims, size = (2, 3, 4, 5), (2, 3, 4, 7)
    one, shape, other = transformer(dnn, dims), dnn.tensor(dims), dnn.tensor(size)
    x, dy, grid = random(*size), random(*dims), random(2, 4, 5, 2)
    at_x, at_grid, y, dx, dgrid = (dnn.put(each) for each in (x, grid, dy, x, grid))
    weight = (1 + grid[..., 0] / 2 + grid[..., 1] / 4)[:, None]
    dnn.ok("cudnnSpatialTfSamplerForward", dnn.handle, one, scalar(2), other, at_x, at_grid, scalar(1), shape, y)
    assert np.allclose(dnn.get(y, dy), 2 * x[..., :5] * weight + dy, rtol=1e-4, atol=1e-5)
    start = (dnn.handle, one, scalar(1), other, at_x, scalar(0), other, dx, scalar(3))
    dnn.ok("cudnnSpatialTfSamplerBackward", *start, shape, dnn.put(dy), at_grid, scalar(0), dgrid)
    right = np.concatenate([dy * weight, np.zeros((2, 3, 4, 2))], -1)
    assert np.allclose(dnn.get(dx, x), right, rtol=1e-4, atol=1e-5)
    slope = 3 * (dy * x[..., :5]).sum(1)
    assert np.allclose(dnn.get(dgrid, grid), np.stack([slope / 2, slope / 4], -1), rtol=1e-4, atol=1e-4)
