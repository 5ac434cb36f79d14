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
    _wrap(torch.cuda.CUDAGraph, "capture_begin", torch.cuda._lazy_init, lambda _graph: True)
    _wrap_nested(torch)
    if torch.distributed.is_available() and torch.distributed.is_nccl_available():
        cuda = torch.device("cuda")

        def is_nccl(group: Any) -> bool:
            return cuda in group._device_types and bool(group._get_backend(cuda).name() == "nccl")

        _wrap(torch.distributed.ProcessGroup, "barrier", torch.cuda._lazy_init, is_nccl)
        _wrap(torch.distributed.ProcessGroupNCCL, "barrier", torch.cuda._lazy_init, lambda _group: True)


def _wrap_nested(torch: Any) -> None:
    make = torch._C._nested.nested_tensor

    @functools.wraps(make)
    def initialized(*arguments: Any, **keywords: Any) -> Any:
        device = keywords.get("device")
        if device is not None and torch.device(device).type == "cuda":
            torch.cuda._lazy_init()
        return make(*arguments, **keywords)

    torch._C._nested.nested_tensor = initialized


def _wrap(owner: Any, name: str, initialize: Callable[[], None], concerns_gpus: Callable[[Any], bool]) -> None:
    method = getattr(owner, name)

    @functools.wraps(method)
    def initialized(self: Any, *arguments: Any, **keywords: Any) -> Any:
        if concerns_gpus(self):
            initialize()
        return method(self, *arguments, **keywords)

    setattr(owner, name, initialized)
