"""The Python side of a training process: step boundaries, and PyTorch on the software device.

Called by: PyTorch, which calls autoload() at the end of `import torch` (entry point group ``torch.backends``), or
without_entry_point.py in its place. Promise: without the interposer in the process it does nothing; with it, it does
nothing before the program first uses CUDA. Only in torchrun it checks at once whether the native part belongs to this
PyTorch, and gives each attempt of a job a store (attempt_stores.py).
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Any

__all__ = ["autoload"]

_SOFTWARE, _CUDA = 1, 2


def autoload() -> None:
    """Prepares PyTorch for the device that the interposer serves; does nothing without an interposer."""
    interposer = ctypes.CDLL(None)
    if hasattr(interposer, "jitc_device_kind"):
        interposer.jitc_expect_steps()
        import torch

        from jitc.client_shim import attempt_stores, first_use

        attempt_stores.give_each_its_own()
        torch.cuda._lazy_call(_prepare)  # type: ignore[no-untyped-call]
        first_use.initialize_before(torch)
        if _is_launcher():
            from jitc.client_shim import torch_device

            torch_device.load()  # a wrong build ends it here, before it has started ranks that would each end so
        _count_devices_as_served(torch.cuda, interposer)
        _answer_as_nvml()


def _is_launcher() -> bool:
    """Returns whether this process is torchrun, which imports PyTorch as its ranks do, but uses no CUDA."""
    said = sys.orig_argv[:3]
    return any(Path(one).name == "torchrun" for one in said) or "torch.distributed.run" in said


def _count_devices_as_served(cuda: Any, interposer: Any) -> None:
    """Makes torch.cuda.device_count(), and functions built on it (manual_seed_all, device indices), count the service's
    GPUs.

    PyTorch queries NVML, which counts the machine's GPUs, not those of the service: these may be virtual, fewer, or in
    another order. As with NVML, a program that has only counted may fork and use CUDA in its children, and may still
    change CUDA_VISIBLE_DEVICES.
    """

    def count() -> int:
        return int(interposer.jitc_device_count())  # negative: PyTorch asks the runtime itself, and says what is wrong

    cuda._device_count_nvml = count


def _answer_as_nvml() -> None:
    """Answers NVML queries (pynvml, torch.cuda.memory_usage) from the service's GPUs if the machine has no NVML: they
    find the library that is loaded under that name."""
    if _loads("libnvidia-ml.so.1"):
        return
    own = Path(__file__).resolve().parents[1] / "interpose" / "lib" / "libjitc_nvml.so"
    if own.is_file():
        _loads(str(own))


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _prepare() -> None:
    interposer = ctypes.CDLL(None)
    kind = interposer.jitc_device_kind()
    if kind in (_SOFTWARE, _CUDA):
        from jitc.client_shim import refused_libraries, torch_device

        refused_libraries.explain_errors(interposer)
        # PyTorch has one switch for all GPUs, and all GPUs of a service have the same libraries.
        torch_device.install(
            redirect=kind == _SOFTWARE,
            cudnn=kind == _CUDA and interposer.jitc_serves_cudnn(0) == 1,
            order=interposer.jitc_checks_order() == 1,
        )
