"""Changes modules that a program may import later, or has imported, without importing anything for it.

Called by: attempt_stores.py, kernel_compilers.py. Promises: a module is changed once, when its own code has run; each
import costs the look-up of a name; finders and loaders of modules are unchanged.
"""

from __future__ import annotations

import importlib.abc
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Change = Callable[[Any], None]

_changes: dict[str, Change] = {}


def change(changes: Mapping[str, Change]) -> None:
    """Registers changes by the modules' full names, from now on."""
    if not _changes:
        sys.meta_path.insert(0, _Imports())
    _changes.update(changes)
    for name, one in changes.items():
        if name in sys.modules:
            one(sys.modules[name])


class _Imports(importlib.abc.MetaPathFinder):
    """A finder that lets the others find a module, and changes it after it was executed."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        wanted = _changes.get(name)
        if not wanted:
            return None
        found = (one.find_spec(name, path, target) for one in sys.meta_path if one is not self)
        spec = next((one for one in found if one is not None), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _Changed(spec.loader, wanted)
        return spec


class _Changed(importlib.abc.Loader):
    def __init__(self, loader: Any, change: Change) -> None:
        self._loader, self._change = loader, change

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._change(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)  # what else a loader can do, such as showing the source
