"""The library of PyTorch's CPU kernels, which the workers of the software device load: a checkout's, or that of the
native part for the PyTorch that is here.

Called by: the software device (`made_ready`, once, before its workers start), workers (`library`), `jitc run` and the
demo. Promise: only `made_ready` may take minutes, and says so.
"""

from __future__ import annotations

from pathlib import Path

from jitc.client_shim.native_parts import installation, supply, torch_build
from jitc.client_shim.native_parts.supply import CannotBuild, UnsafeStore

__all__ = ["CannotBuild", "UnsafeStore", "library", "made_ready"]

_NAME = "libjitc_operators.so"


def library() -> Path | None:
    """Returns the library; None in an installation without PyTorch, or without a part for it. Raises CannotBuild,
    UnsafeStore."""
    if (own := _own()).exists() or installation.is_checkout():
        return own if own.exists() else None
    torch = torch_build.installed()
    part = supply.find(torch) if torch is not None else None
    return part / _NAME if part is not None else None


def made_ready() -> Path | None:
    """Returns the library, and builds it where this PyTorch has none; None without PyTorch. Raises CannotBuild,
    UnsafeStore."""
    torch = torch_build.installed()
    if _own().exists() or installation.is_checkout() or torch is None:
        return library()
    return supply.provide(torch) / _NAME


def _own() -> Path:
    return installation.PACKAGES / "proxy" / "lib" / _NAME
