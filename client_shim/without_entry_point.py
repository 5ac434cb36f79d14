"""Loads client_shim in a program that has turned PyTorch's entry points off (TORCH_DEVICE_BACKEND_AUTOLOAD=0).

Called by: the interposer, while Python loads PyTorch's extension module (`interpose/api/process/pytorch.cpp`). Promise:
autoload() is called where PyTorch would call it, at the end of `import torch`, once; other packages' entry points stay
off.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec

_INITIALIZING = "_initializing"  # importlib clears it when a module's own code has run


class _Watched(ModuleSpec):
    """The module's spec until its import has ended."""

    @property
    def _initializing(self) -> bool:
        return bool(self.__dict__[_INITIALIZING])

    @_initializing.setter
    def _initializing(self, value: bool) -> None:
        self.__dict__[_INITIALIZING] = value
        if value:
            return
        self.__class__ = ModuleSpec  # type: ignore[assignment]
        if _spec_of(self.name) is self:  # its import has not failed
            from jitc.client_shim import autoload

            autoload()


def load_after_import(name: str = "torch") -> None:
    """Calls autoload() once the module, which is being imported, is complete; does nothing for one that is not being
    imported."""
    spec = _spec_of(name)
    if type(spec) is ModuleSpec and spec.__dict__.get(_INITIALIZING):
        spec.__class__ = _Watched


def _spec_of(name: str) -> ModuleSpec | None:
    return getattr(sys.modules.get(name), "__spec__", None)
