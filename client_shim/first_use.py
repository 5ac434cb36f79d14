"""Initializes CUDA where PyTorch would use it below Python without doing so.

Called by: autoload(). PyTorch initializes CUDA when Python creates the first tensor, and client_shim prepares it then.
A capture, a barrier and a nested tensor create tensors in C++: as the first use of CUDA in a program they would find
nothing prepared. Promise: calls without a GPU (a barrier of gloo) initialize nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def initialize_before(torch: Any) -> None:
    """Installs this once per process, before CUDA is used."""
    cuda = torch.device("cuda")

    def is_on_cuda(*_: Any, device: Any = None, **__: Any) -> bool:
        return device is not None and torch.device(device).type == cuda.type

    def is_nccl(group: Any, *_: Any, **__: Any) -> bool:
        return cuda in group._device_types and bool(group._get_backend(cuda).name() == "nccl")

    def always(*_: Any, **__: Any) -> bool:
        return True

    _wrap(torch.cuda.CUDAGraph, "capture_begin", torch.cuda._lazy_init, always)
    _wrap(torch._C._nested, "nested_tensor", torch.cuda._lazy_init, is_on_cuda)
    if torch.distributed.is_available() and torch.distributed.is_nccl_available():
        _wrap(torch.distributed.ProcessGroup, "barrier", torch.cuda._lazy_init, is_nccl)
        _wrap(torch.distributed.ProcessGroupNCCL, "barrier", torch.cuda._lazy_init, always)


def _wrap(owner: Any, name: str, initialize: Callable[[], None], concerns_gpus: Callable[..., bool]) -> None:
    """Replaces a function or method by one that initializes first if its arguments concern GPUs."""
    function = getattr(owner, name)

    @functools.wraps(function)
    def initialized(*arguments: Any, **keywords: Any) -> Any:
        if concerns_gpus(*arguments, **keywords):
            initialize()
        return function(*arguments, **keywords)

    setattr(owner, name, initialized)
