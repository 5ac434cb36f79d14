"""Layers that cuDNN computes in one call: normalisation, recurrence, losses, sampling. See ``functions.py``."""

from __future__ import annotations

from jitc.interpose.spec.api import Custom, Function
from jitc.interpose.spec.cudnn.shapes import ADVICE, RESERVE, WORKSPACE, ask, compute, tensors

_NORM = ("mode: enum", "ops: enum")

_BATCH_NORM: tuple[Function, ...] = (
    ask(
        "cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize",
        *_NORM,
        *(f"{name}: descriptor[tensor]" for name in ("x", "z", "y", "scale")),
        "activation: descriptor[activation]",
        "out bytes: size",
    ),
    ask(
        "cudnnGetBatchNormalizationBackwardExWorkspaceSize",
        *_NORM,
        *(f"{name}: descriptor[tensor]" for name in ("x", "y", "dy", "dz", "dx", "scale")),
        "activation: descriptor[activation]",
        "out bytes: size",
    ),
    ask(
        "cudnnGetBatchNormalizationTrainingExReserveSpaceSize",
        *_NORM,
        "activation: descriptor[activation]",
        "x: descriptor[tensor]",
        "out bytes: size",
    ),
    compute(
        "cudnnBatchNormalizationForwardTrainingEx",
        *_NORM,
        "in alpha: scalar[x]",
        "in beta: scalar[x]",
        *tensors("x z y"),
        "scale: descriptor[tensor]",
        "scale_data: address",
        "bias: address",
        "factor: double",
        "mean: address",
        "variance: address",
        "epsilon: double",
        "saved_mean: address",
        "saved_variance: address",
        "activation: descriptor[activation]",
        *WORKSPACE,
        *RESERVE,
    ),
    compute(
        "cudnnBatchNormalizationForwardInference",
        "mode: enum",
        "in alpha: scalar[x]",
        "in beta: scalar[x]",
        *tensors("x y"),
        "scale: descriptor[tensor]",
        *(f"{name}: address" for name in ("scale_data", "bias", "mean", "variance")),
        "epsilon: double",
    ),
    compute(
        "cudnnBatchNormalizationBackwardEx",
        *_NORM,
        *(f"in {name}: scalar[x]" for name in ("alpha_data", "beta_data", "alpha_parameter", "beta_parameter")),
        *tensors("x y dy dz dx"),
        "scale: descriptor[tensor]",
        *(f"{name}: address" for name in ("scale_data", "bias", "scale_gradient", "bias_gradient")),
        "epsilon: double",
        "saved_mean: address",
        "saved_variance: address",
        "activation: descriptor[activation]",
        *WORKSPACE,
        *RESERVE,
    ),
)

_DROPOUT: tuple[Function, ...] = (
    ask("cudnnDropoutGetStatesSize", "out bytes: size"),
    Custom(
        "cudnnSetDropoutDescriptor",
        "changed: descriptor[dropout]",
        "handle: dnn",
        "rate: float",
        "states: address",
        "bytes: size",
        "seed: u64",
        ops="dnn_call dnn_try",
        kernels=ADVICE,
        note="fills the states; the descriptor is one that cudnnRestoreDropoutDescriptor made",
    ),
)

_SPACES = (
    "weight_bytes: size",
    "weights: address",
    "workspace_bytes: size",
    "workspace: address",
    "reserve_bytes: size",
    "reserve: address",
)


def _sequence(name: str, data: str) -> tuple[str, ...]:
    return (f"{name}: descriptor[rnn_data]", *(f"{one}: address" for one in data.split()))


def _state(name: str, data: str) -> tuple[str, ...]:
    return (f"{name}: descriptor[tensor]", *(f"{one}: address" for one in data.split()))


_RNN: tuple[Function, ...] = (
    ask("cudnnGetRNNWeightSpaceSize", "rnn: descriptor[rnn]", "out bytes: size"),
    ask(
        "cudnnGetRNNTempSpaceSizes",
        "rnn: descriptor[rnn]",
        "mode: enum",
        "x: descriptor[rnn_data]",
        "out workspace: size",
        "out reserve: size",
    ),
    Custom(
        "cudnnGetRNNWeightParams",
        "handle: dnn",
        "rnn: descriptor[rnn]",
        "layer: int",
        "weight_bytes: size",
        "weights: address",
        "part: int",
        "matrix: descriptor[tensor]",
        "out matrix_data: address",
        "bias: descriptor[tensor]",
        "out bias_data: address",
        ops="dnn_ask",
        kernels=ADVICE,
        note="answers are kept",
    ),
    compute(
        "cudnnRNNForward",
        "rnn: descriptor[rnn]",
        "mode: enum",
        "lengths: address",
        *_sequence("x", "x_data"),
        *_sequence("y", "y_data"),
        *_state("h", "hx hy"),
        *_state("c", "cx cy"),
        *_SPACES,
    ),
    compute(
        "cudnnRNNBackwardData_v8",
        "rnn: descriptor[rnn]",
        "lengths: address",
        *_sequence("y", "y_data dy"),
        *_sequence("x", "dx"),
        *_state("h", "hx dhy dhx"),
        *_state("c", "cx dcy dcx"),
        *_SPACES,
    ),
    compute(
        "cudnnRNNBackwardWeights_v8",
        "rnn: descriptor[rnn]",
        "add: enum",
        "lengths: address",
        *_sequence("x", "x_data"),
        *_state("h", "hx"),
        *_sequence("y", "y_data"),
        *_SPACES,
    ),
)

#: Host arrays of a CTC loss: a length per sample, and all labels one after another.
_LABELS = (
    "in labels: int[sum_of(label_lengths, size_of(probabilities, 1))]",
    "in label_lengths: int[size_of(probabilities, 1)]",
    "in lengths: int[size_of(probabilities, 1)]",
)

_LOSSES: tuple[Function, ...] = (
    ask(
        "cudnnGetCTCLossWorkspaceSize",
        "probabilities: descriptor[tensor]",
        "gradients: descriptor[tensor]",
        *_LABELS,
        "algorithm: enum",
        "loss: descriptor[ctc_loss]",
        "out bytes: size",
    ),
    ask(
        "cudnnGetCTCLossWorkspaceSize_v8",
        "algorithm: enum",
        "loss: descriptor[ctc_loss]",
        "probabilities: descriptor[tensor]",
        "gradients: descriptor[tensor]",
        "out bytes: size",
    ),
    compute(
        "cudnnCTCLoss",
        *tensors("probabilities"),
        *_LABELS,
        "costs: address",
        *tensors("gradients"),
        "algorithm: enum",
        "loss: descriptor[ctc_loss]",
        *WORKSPACE,
    ),
    compute(
        "cudnnCTCLoss_v8",
        "algorithm: enum",
        "loss: descriptor[ctc_loss]",
        *tensors("probabilities"),
        "labels: address",
        "label_lengths: address",
        "lengths: address",
        "costs: address",
        *tensors("gradients"),
        "workspace_bytes: size",
        "workspace: address",
    ),
)

_TRANSFORMER: tuple[Function, ...] = (
    compute("cudnnSpatialTfGridGeneratorForward", "st: descriptor[transformer]", "theta: address", "grid: address"),
    compute("cudnnSpatialTfGridGeneratorBackward", "st: descriptor[transformer]", "dgrid: address", "dtheta: address"),
    compute(
        "cudnnSpatialTfSamplerForward",
        "st: descriptor[transformer]",
        "in alpha: scalar[x]",
        *tensors("x"),
        "grid: address",
        "in beta: scalar[x]",
        *tensors("y"),
    ),
    compute(
        "cudnnSpatialTfSamplerBackward",
        "st: descriptor[transformer]",
        "in alpha: scalar[x]",
        *tensors("x"),
        "in beta: scalar[x]",
        *tensors("dx"),
        "in alpha_grid: scalar[x]",
        *tensors("dy"),
        "grid: address",
        "in beta_grid: scalar[x]",
        "dgrid: address",
    ),
)

LAYERS: tuple[Function, ...] = (*_BATCH_NORM, *_DROPOUT, *_RNN, *_LOSSES, *_TRANSFORMER)
