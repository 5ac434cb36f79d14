"""cuDNN's descriptors: kept in the program, sent with the calls that need them. See ``functions.py``.

Promise: an argument named ``data_type`` is the descriptor's cudnnDataType_t, and ``sizes`` its extents.
"""

from __future__ import annotations

from jitc.interpose.spec.api import Custom, Function
from jitc.interpose.spec.cudnn.shapes import ADVICE, KINDS, array, local

DESCRIPTORS: tuple[Function, ...] = (
    *(local(f"cudnnCreate{name}Descriptor", f"out made: descriptor[{kind}]") for kind, name in KINDS.items()),
    *(local(f"cudnnDestroy{name}Descriptor", f"gone: descriptor[{kind}]") for kind, name in KINDS.items()),
    local(
        "cudnnSetTensorNdDescriptor",
        "changed: descriptor[tensor]",
        "data_type: enum",
        "dimensions: int",
        *array("sizes strides", "dimensions"),
    ),
    Custom(
        "cudnnGetTensorNdDescriptor",
        "asked: descriptor[tensor]",
        "requested: int",
        "out data_type: enum",
        "out dimensions: int",
        "out sizes: opaque",
        "out strides: opaque",
        kernels=ADVICE,
        note="as cudnnSetTensorNdDescriptor set it",
    ),
    local(
        "cudnnSetFilterNdDescriptor",
        "changed: descriptor[filter]",
        "data_type: enum",
        "format: enum",
        "dimensions: int",
        *array("sizes", "dimensions"),
    ),
    Custom(
        "cudnnGetFilterNdDescriptor",
        "asked: descriptor[filter]",
        "requested: int",
        "out data_type: enum",
        "out format: enum",
        "out dimensions: int",
        "out sizes: opaque",
        kernels=ADVICE,
        note="as cudnnSetFilterNdDescriptor set it",
    ),
    local(
        "cudnnSetConvolutionNdDescriptor",
        "changed: descriptor[convolution]",
        "dimensions: int",
        *array("padding strides dilation", "dimensions"),
        "mode: enum",
        "data_type: enum",
    ),
    local("cudnnSetConvolutionGroupCount", "changed: descriptor[convolution]", "groups: int"),
    local("cudnnSetConvolutionMathType", "changed: descriptor[convolution]", "math: enum"),
    local(
        "cudnnSetActivationDescriptor",
        "changed: descriptor[activation]",
        "mode: enum",
        "nan: enum",
        "coefficient: double",
    ),
    local(
        "cudnnSetPooling2dDescriptor",
        "changed: descriptor[pooling]",
        "mode: enum",
        "nan: enum",
        *(f"{side}_{name}: int" for name in ("window", "padding", "stride") for side in ("vertical", "horizontal")),
    ),
    local(
        "cudnnRestoreDropoutDescriptor",
        "changed: descriptor[dropout]",
        "handle: dnn",
        "rate: float",
        "states: address",
        "bytes: size",
        "seed: u64",
    ),
    local(
        "cudnnSetRNNDescriptor_v8",
        "changed: descriptor[rnn]",
        *(f"{name}: enum" for name in ("algorithm", "cell", "bias", "direction", "input")),
        "data_type: enum",
        "precision: enum",
        "math: enum",
        *(f"{name}: int" for name in ("input_size", "hidden_size", "projection_size", "layers")),
        "dropout: descriptor[dropout]",
        "flags: uint",
    ),
    local(
        "cudnnSetRNNDataDescriptor",
        "changed: descriptor[rnn_data]",
        "data_type: enum",
        "layout: enum",
        "length: int",
        "batch: int",
        "width: int",
        "in lengths: int[batch]",
        "in padding: scalar[data_type]",
    ),
    local("cudnnSetCTCLossDescriptorEx", "changed: descriptor[ctc_loss]", "data_type: enum", "norm: enum", "nan: enum"),
    local(
        "cudnnSetCTCLossDescriptor_v9",
        "changed: descriptor[ctc_loss]",
        "data_type: enum",
        "norm: enum",
        "gradient: enum",
        "longest: int",
    ),
    local(
        "cudnnSetSpatialTransformerNdDescriptor",
        "changed: descriptor[transformer]",
        "sampler: enum",
        "data_type: enum",
        "dimensions: int",
        *array("sizes", "dimensions"),
    ),
)
