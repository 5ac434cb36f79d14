"""Building blocks of the tables of cuDNN's functions. See ``functions.py``."""

from __future__ import annotations

from jitc.interpose.spec.api import Function, Local, Op, Sync

ADVICE = "the software device has no cuDNN: leave torch.backends.cudnn.enabled off"
#: kind of descriptor -> its name in Create and Destroy
KINDS: dict[str, str] = {
    "tensor": "Tensor",
    "filter": "Filter",
    "convolution": "Convolution",
    "activation": "Activation",
    "pooling": "Pooling",
    "dropout": "Dropout",
    "rnn": "RNN",
    "rnn_data": "RNNData",
    "ctc_loss": "CTCLoss",
    "transformer": "SpatialTransformer",
}
#: The first argument of functions that query or compute.
HANDLE = "handle: dnn"


def local(name: str, *args: str, returns: str = "status", note: str = "") -> Function:
    return Local(name, *args, returns=returns, kernels="" if returns != "status" else ADVICE, note=note)


def ask(name: str, *args: str, note: str = "") -> Function:
    return Sync(name, HANDLE, *args, ops="dnn_ask", kernels=ADVICE, note=note or "answers are kept")


def compute(name: str, *args: str, note: str = "") -> Function:
    return Op(name, HANDLE, *args, ops="dnn_call dnn_try", kernels=ADVICE, note=note)


def array(names: str, size: str) -> tuple[str, ...]:
    return tuple(f"in {name}: int[{size}]" for name in names.split())


def tensors(names: str) -> tuple[str, ...]:
    """Returns pairs of a tensor's descriptor and its data, ``x`` and ``x_data``."""
    return tuple(text for name in names.split() for text in (f"{name}: descriptor[tensor]", f"{name}_data: address"))


WORKSPACE = ("workspace: address", "workspace_bytes: size")
RESERVE = ("reserve: address", "reserve_bytes: size")
