"""The Python side of a training process: step boundaries, and PyTorch on the software device.

Called by: PyTorch, which calls autoload() at the end of `import torch` (entry point group
``torch.backends``). Promise: without the interposer in the process nothing happens, and nothing but
this file is imported.
"""

from __future__ import annotations

import ctypes

__all__ = ["autoload"]

_SOFTWARE, _CUDA = 1, 2


def autoload() -> None:
    """Prepares PyTorch for the device that the interposer serves; does nothing without an interposer."""
    try:
        device_kind = ctypes.CDLL(None).jitc_device_kind
    except AttributeError:
        return
    device_kind.restype = ctypes.c_int
    kind = device_kind()
    if kind in (_SOFTWARE, _CUDA):
        from jitc.client_shim import torch_device

        torch_device.install(redirect=kind == _SOFTWARE)
