"""The Python side of a training process: step boundaries, and PyTorch on the software device.

Called by: PyTorch, which calls autoload() at the end of `import torch` (entry point group
``torch.backends``). Promise: without the interposer in the process nothing happens; with it nothing
happens before the program first uses CUDA.
"""

from __future__ import annotations

import ctypes

__all__ = ["autoload"]

_SOFTWARE, _CUDA = 1, 2


def autoload() -> None:
    """Has PyTorch prepared for the device that the interposer serves; does nothing without an interposer."""
    if hasattr(ctypes.CDLL(None), "jitc_device_kind"):
        import torch

        torch.cuda._lazy_call(_prepare)  # type: ignore[no-untyped-call]


def _prepare() -> None:
    interposer = ctypes.CDLL(None)
    kind = interposer.jitc_device_kind()
    if kind in (_SOFTWARE, _CUDA):
        from jitc.client_shim import torch_device

        # PyTorch has one switch for all GPUs, and all GPUs of a service have the same libraries.
        torch_device.install(redirect=kind == _SOFTWARE, cudnn=kind == _CUDA and interposer.jitc_serves_cudnn(0) == 1)
