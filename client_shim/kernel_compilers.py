"""Triton, PyTorch's jiterator and CuPy on the software device: a program that has their kernels is told so, by name;
torch.compile makes other kernels there (inductor/).

Called by: torch_device.py, on the software device only. Promises: nothing is imported for it; a program that uses
neither notices nothing; Triton's own interpreter (TRITON_INTERPRET=1) stays as it is, and works.
"""

from __future__ import annotations

import importlib.abc
import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

from jitc.client_shim import context_parallel
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
    """From now on, and for modules that are imported later."""
    for name, change in _CHANGES.items():
        if name in sys.modules:
            change(sys.modules[name])
    sys.meta_path.insert(0, _Imports())


def _refusal(text: str, name: str) -> NoReturn:
    raise RuntimeError(f"jitc: {text.format(name)}")


def _triton_functions(module: ModuleType) -> None:
    def run(self: Any, *_arguments: Any, **_keywords: Any) -> NoReturn:
        _refusal(_TRITON, f"{self.__module__}.{self.__name__}")

    module.JITFunction.run = run


def _triton_driver(module: ModuleType) -> None:
    """Asked for by whoever compiles a kernel without calling it, as torch.compile does."""

    def init(_self: Any) -> NoReturn:
        _refusal(_TRITON, "the kernel that is compiled here")

    module.CudaDriver.__init__ = init


def _jiterator(module: ModuleType) -> None:
    def call(self: Any, *_arguments: Any, **_keywords: Any) -> NoReturn:
        _refusal(_JITERATOR, str(self.kernel_name))

    module._JittedFunction.__call__ = call


def _cupy(_module: ModuleType) -> None:
    """Said once, when it is imported: there is no one place through which its kernels go."""
    print(f"jitc: {_CUPY}", file=sys.stderr, flush=True)


_CHANGES: dict[str, Callable[[Any], None]] = {
    "triton.runtime.jit": _triton_functions,
    "triton.backends.nvidia.driver": _triton_driver,
    "torch.cuda.jiterator": _jiterator,
    "cupy": _cupy,
    **dict.fromkeys(context_parallel.MODULES, context_parallel.change),
}
if os.environ.get("JITC_COMPILE_ON_HOST") != "0":
    _CHANGES[registration.MODULE] = registration.change
    _CHANGES[attention.MODULE] = attention.change


class _Imports(importlib.abc.MetaPathFinder):
    """Has the others find a module, and changes it after it was executed."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        change = _CHANGES.get(name)
        if not change:
            return None
        found = (one.find_spec(name, path, target) for one in sys.meta_path if one is not self)
        spec = next((one for one in found if one is not None), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _Changed(spec.loader, change)
        return spec


class _Changed(importlib.abc.Loader):
    def __init__(self, loader: Any, change: Callable[[Any], None]) -> None:
        self._loader, self._change = loader, change

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._change(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)  # what else a loader can do, such as showing the source
