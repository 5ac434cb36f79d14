"""Triton, PyTorch's jiterator and CuPy on the software device: their kernels are refused by name; torch.compile makes
other kernels there (inductor/).

Called by: torch_device.py, on the software device only. Promises: nothing is imported for it; a program that uses none
of them notices nothing; Triton's own interpreter (TRITON_INTERPRET=1) is unchanged, and works.
"""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any, NoReturn

from jitc.client_shim import context_parallel, late_modules
from jitc.client_shim.inductor import attention, registration

_WHERE = '(docs/guarantees.md, "Operators that the software device does not have")'
_TRITON = (
    "the software device runs no GPU kernels, and {} is one of Triton's. TRITON_INTERPRET=1 in the environment has "
    "Triton run its kernels on the CPU (those with loops: with numpy below 2.4); torch.compile works unless "
    "JITC_COMPILE_ON_HOST=0, and without kernels with "
    f"TORCHDYNAMO_DISABLE=1; or use a GPU (jitc-proxyd --device cuda) {_WHERE}"
)
_JITERATOR = (
    "the software device runs no GPU kernels, and {} is one that torch.cuda.jiterator compiles. Write it with "
    f"operators of PyTorch, or use a GPU (jitc-proxyd --device cuda) {_WHERE}"
)

_CUPY = (
    "the software device runs no GPU kernels, and CuPy has nothing else: its calls fail with its own errors. "
    f"Use operators of PyTorch, or a GPU (jitc-proxyd --device cuda) {_WHERE}"
)


def refuse_kernels() -> None:
    """Refuses kernels from now on, also of modules that are imported later."""
    late_modules.change(_CHANGES)


def _refusal(text: str, name: str) -> NoReturn:
    raise RuntimeError(f"jitc: {text.format(name)}")


def _triton_functions(module: ModuleType) -> None:
    def run(self: Any, *_arguments: Any, **_keywords: Any) -> NoReturn:
        _refusal(_TRITON, f"{self.__module__}.{self.__name__}")

    module.JITFunction.run = run


def _triton_driver(module: ModuleType) -> None:
    """Handles requests for the driver by code that compiles a kernel without calling it, as torch.compile does."""

    def init(_self: Any) -> NoReturn:
        _refusal(_TRITON, "the kernel that is compiled here")

    module.CudaDriver.__init__ = init


def _jiterator(module: ModuleType) -> None:
    def call(self: Any, *_arguments: Any, **_keywords: Any) -> NoReturn:
        _refusal(_JITERATOR, str(self.kernel_name))

    module._JittedFunction.__call__ = call


def _cupy(_module: ModuleType) -> None:
    """Prints a line once, when CuPy is imported: there is no single place through which its kernels go."""
    print(f"jitc: {_CUPY}", file=sys.stderr, flush=True)


_CHANGES: dict[str, late_modules.Change] = {
    "triton.runtime.jit": _triton_functions,
    "triton.backends.nvidia.driver": _triton_driver,
    "torch.cuda.jiterator": _jiterator,
    "cupy": _cupy,
    **dict.fromkeys(context_parallel.MODULES, context_parallel.change),
}
if os.environ.get("JITC_COMPILE_ON_HOST") != "0":
    _CHANGES[registration.MODULE] = registration.change
    _CHANGES[attention.MODULE] = attention.change
