"""Convolutions and pooling of cuDNN's older API, before the graph API. See ``functions.py``."""

from __future__ import annotations

from jitc.interpose.spec.api import Function, Sync
from jitc.interpose.spec.cudnn.shapes import ADVICE, HANDLE, WORKSPACE, ask, compute, tensors

#: Bytes of cudnnConvolution...AlgoPerf_t.
_PERF = 48
#: direction -> descriptors of the two inputs and the output, with their kinds; names in Get and Find
_DIRECTIONS: dict[str, tuple[tuple[str, str], tuple[str, str], tuple[str, str]]] = {
    "Forward": (("x", "tensor"), ("w", "filter"), ("y", "tensor")),
    "BackwardData": (("w", "filter"), ("dy", "tensor"), ("dx", "tensor")),
    "BackwardFilter": (("x", "tensor"), ("dy", "tensor"), ("dw", "filter")),
}


def _convolution(direction: str) -> tuple[Function, ...]:
    """Returns functions of the older API; PyTorch uses them with TORCH_CUDNN_V8_API_DISABLED=1."""
    (a, kind_a), (b, kind_b), (c, kind_c) = _DIRECTIONS[direction]
    inputs = (f"{a}: descriptor[{kind_a}]", f"{b}: descriptor[{kind_b}]", "convolution: descriptor[convolution]")
    output = f"{c}: descriptor[{kind_c}]"
    found = ("requested: int", "out count: int", f"out found: bytes[requested * {_PERF}]")
    data_a, data_b = (f"{name}_data: address" for name in (a, b))
    return (
        ask(f"cudnnGetConvolution{direction}Algorithm_v7", *inputs, output, *found),
        ask(f"cudnnGetConvolution{direction}WorkspaceSize", *inputs, output, "algorithm: enum", "out bytes: size"),
        Sync(
            f"cudnnFindConvolution{direction}AlgorithmEx",
            HANDLE,
            *(inputs[0], data_a, inputs[1], data_b, inputs[2], output, f"{c}_data: address"),
            *found,
            *WORKSPACE,
            ops="dnn_ask",
            kernels=ADVICE,
            note="runs what it measures",
        ),
        compute(
            f"cudnnConvolution{direction}",
            f"in alpha: scalar[{a}]",
            *(inputs[0], data_a, inputs[1], data_b, inputs[2], "algorithm: enum"),
            *WORKSPACE,
            f"in beta: scalar[{a}]",
            *(output, f"{c}_data: address"),
        ),
    )


CONVOLUTIONS: tuple[Function, ...] = (
    *(function for direction in _DIRECTIONS for function in _convolution(direction)),
    compute(
        "cudnnConvolutionBiasActivationForward",
        "in alpha: scalar[x]",
        *tensors("x"),
        "w: descriptor[filter]",
        "w_data: address",
        "convolution: descriptor[convolution]",
        "algorithm: enum",
        *WORKSPACE,
        "in alpha_z: scalar[x]",
        *tensors("z bias"),
        "activation: descriptor[activation]",
        *tensors("y"),
    ),
    compute(
        "cudnnPoolingForward",
        "pooling: descriptor[pooling]",
        "in alpha: scalar[x]",
        *tensors("x"),
        "in beta: scalar[x]",
        *tensors("y"),
    ),
)
